//! Manifests as people write them, put together from few words.

use serde_json::{Value, json};

/// Engines by which the shipped classes recognise a Pod.
pub mod image {
    /// Class `llm`.
    pub const LLM: &str = "vllm/vllm-openai:v0.11.0";
    /// Class `embedding`.
    pub const EMBEDDING: &str = "ghcr.io/huggingface/text-embeddings-inference:1.8";
    /// Class `asr`.
    pub const ASR: &str = "ghcr.io/speaches-ai/speaches:0.8";
    /// No class.
    pub const PLAIN: &str = "registry.example/server:1";
}

/// A manifest.
#[derive(Debug, Clone)]
pub struct Sample(pub Value);

/// A Pod with one container that asks for `gpus` cards by a limit alone.
pub fn pod(name: &str, image: &str, gpus: u32) -> Sample {
    Sample(json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name },
        "spec": { "containers": [{
            "name": "server",
            "image": image,
            "resources": { "limits": { "nvidia.com/gpu": gpus } },
        }] },
    }))
}

/// A Deployment of this Pod.
pub fn deployment(name: &str, replicas: u32, pod: &Sample) -> Sample {
    let labels = json!({ "app": name });
    let template = Sample(json!({ "metadata": pod.0["metadata"], "spec": pod.0["spec"] }));
    let template = template.with(&json!({ "metadata": { "name": null, "labels": labels } }));
    Sample(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": name },
        "spec": { "replicas": replicas, "selector": { "matchLabels": labels }, "template": template.0 },
    }))
}

/// A Job that runs this Pod once.
pub fn job(name: &str, pod: &Sample) -> Sample {
    let once =
        pod.clone().with(&json!({ "metadata": { "name": null }, "spec": { "restartPolicy": "Never" } }));
    Sample(json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": name },
        "spec": { "template": { "metadata": once.0["metadata"], "spec": once.0["spec"] } },
    }))
}

impl Sample {
    /// With the fields of a JSON merge patch (RFC 7386); lists are replaced.
    pub fn with(mut self, fields: &Value) -> Sample {
        json_patch::merge(&mut self.0, fields);
        self
    }

    /// With fields in the Pod's first container.
    pub fn with_container(mut self, fields: &Value) -> Sample {
        let pointers = ["/spec/containers/0", "/spec/template/spec/containers/0"];
        let at = pointers.into_iter().find(|at| self.0.pointer(at).is_some()).expect("a container");
        json_patch::merge(self.0.pointer_mut(at).expect("just found"), fields);
        self
    }

    /// Asking for this much CPU and memory.
    pub fn asking(self, cpu: &str, memory: &str) -> Sample {
        self.with_container(&json!({ "resources": { "requests": { "cpu": cpu, "memory": memory } } }))
    }

    /// Under another name.
    pub fn named(self, name: &str) -> Sample {
        self.with(&json!({ "metadata": { "name": name } }))
    }

    /// The manifest in a namespace.
    pub fn within(&self, namespace: &str) -> String {
        self.clone().with(&json!({ "metadata": { "namespace": namespace } })).0.to_string()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.0["metadata"]["name"].as_str().expect("a sample has a name")
    }
}
