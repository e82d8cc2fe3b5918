use serde_json::{Value, json};

use super::*;
use crate::{
    k8s::object::Pod,
    policy::{built_in, compile, load::SourceFile},
};

fn pod(spec: Value, labels: Value) -> (Pod, Value) {
    let raw = json!({"metadata": {"labels": labels}, "spec": spec});
    (serde_json::from_value(raw.clone()).unwrap(), raw)
}

fn container(image: &str, command: &[&str]) -> Value {
    json!({"containers": [{"name": "c", "image": image, "args": command}]})
}

fn seen<'a>(pod: &'a (Pod, Value), owner: Option<&'a str>) -> Seen<'a> {
    let class_label = pod.0.metadata.labels.get("sluice.dev/class").map(String::as_str);
    Seen { pod: &pod.0, raw: Some(&pod.1), owner, class_label }
}

/// `class by sign`, `-` for nothing, `class|class` where it is ambiguous.
fn answer(set: &PolicySet, seen: &Seen<'_>) -> String {
    match recognize(set, seen).answer() {
        Answer::One(found) => format!("{} by {}", found.class, found.by),
        Answer::Ambiguous(found) => found.iter().map(|m| &*m.class).collect::<Vec<_>>().join("|"),
        Answer::Unknown => "-".to_owned(),
    }
}

#[test]
fn the_built_in_classes_know_what_people_run() {
    let set = built_in(&[]);
    let table = include_str!("tests/known.tsv");
    let mut lines = 0;
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let [expected, owner, image, command]: [&str; 4] =
            line.split('\t').collect::<Vec<_>>().try_into().expect("four columns");
        let command: Vec<&str> = command.split(' ').filter(|word| !word.is_empty()).collect();
        let pod = pod(container(image, &command), json!({}));
        let owner = (owner != "-").then_some(owner);
        let found = answer(&set, &seen(&pod, owner));
        let class = found.split(' ').next().unwrap_or_default();
        assert_eq!(class, expected, "{line}: {found}");
        lines += 1;
    }
    assert!(lines > 60, "{lines}");
}

#[test]
fn labels_of_platforms_are_known() {
    let set = built_in(&[]);
    for (labels, expected) in [
        (json!({"llm-d.ai/inferenceServing": "true"}), "llm by label llm-d.ai/inferenceServing"),
        (
            json!({"app.kubernetes.io/part-of": "llminferenceservice"}),
            "llm by label app.kubernetes.io/part-of",
        ),
        (
            json!({"serving.kserve.io/inferenceservice": "x"}),
            "llm by label serving.kserve.io/inferenceservice",
        ),
        (json!({"ray.io/originated-from-crd": "RayService"}), "llm by label ray.io/originated-from-crd"),
        (json!({"ray.io/originated-from-crd": "RayJob"}), "batch by label ray.io/originated-from-crd"),
        (json!({"training.kubeflow.org/job-name": "x"}), "batch by label training.kubeflow.org/job-name"),
        (json!({"app": "vllm"}), "-"),
    ] {
        let pod = pod(container("registry.example/team/app:1", &[]), labels);
        assert_eq!(answer(&set, &seen(&pod, None)), expected);
    }
}

#[test]
fn the_class_label_beats_everything_and_an_unknown_one_says_nothing() {
    let set = built_in(&[]);
    let known =
        pod(container("vllm/vllm-openai", &["--task", "embed"]), json!({"sluice.dev/class": "batch"}));
    assert_eq!(answer(&set, &seen(&known, Some("Job"))), "batch by label sluice.dev/class");
    let unknown = pod(container("vllm/vllm-openai", &[]), json!({"sluice.dev/class": "lmm"}));
    assert_eq!(answer(&set, &seen(&unknown, None)), "llm by image vllm/vllm-openai");
}

#[test]
fn a_stronger_sign_wins_and_equal_ones_are_ambiguous() {
    let set = built_in(&[]);
    let flag =
        pod(container("vllm/vllm-openai", &["vllm", "serve", "BAAI/bge-m3", "--task", "embed"]), json!({}));
    assert_eq!(answer(&set, &seen(&flag, None)), "embedding by arguments --task embed");
    let both = pod(
        json!({"containers": [{"name": "a", "image": "vllm/vllm-openai"}, {"name": "b", "image": "x/whisperx"}]}),
        json!({}),
    );
    assert_eq!(answer(&set, &seen(&both, None)), "asr|llm");
    // An engine in a Job computes to an end, whatever it is told.
    assert_eq!(answer(&set, &seen(&both, Some("Job"))), "batch by owner Job");
    assert_eq!(answer(&set, &seen(&flag, Some("Job"))), "batch by owner Job");
    assert_eq!(answer(&set, &seen(&flag, Some("ReplicaSet"))), "embedding by arguments --task embed");
}

#[test]
fn a_hint_counts_only_where_nothing_else_does() {
    let set = built_in(&[]);
    let labels = json!({"serving.kserve.io/inferenceservice": "x"});
    let embedding = pod(container("huggingface/text-embeddings-inference", &[]), labels);
    assert_eq!(
        answer(&set, &seen(&embedding, None)),
        "embedding by image huggingface/text-embeddings-inference"
    );
}

#[test]
fn init_containers_do_not_name_a_class_and_native_sidecars_do() {
    let set = built_in(&[]);
    let with = |restart: &str| {
        let init = json!({"name": "i", "image": "vllm/vllm-openai", "restartPolicy": restart});
        pod(json!({"containers": [{"name": "c", "image": "team/app"}], "initContainers": [init]}), json!({}))
    };
    assert_eq!(answer(&set, &seen(&with(""), None)), "-");
    assert_eq!(answer(&set, &seen(&with("Always"), None)), "llm by image vllm/vllm-openai");
}

#[test]
fn what_runs_on_the_cpu_beside_a_gpu_container_does_not_name_the_class() {
    let set = built_in(&[]);
    let gpu = json!({"limits": {"nvidia.com/gpu": "1"}});
    let two = |first: Value, second: Value| {
        let llm = json!({"name": "a", "image": "vllm/vllm-openai", "resources": first});
        let embedding = json!({"name": "b", "image": "michaelf34/infinity", "resources": second});
        pod(json!({"containers": [llm, embedding]}), json!({}))
    };
    assert_eq!(answer(&set, &seen(&two(gpu.clone(), json!({})), None)), "llm by image vllm/vllm-openai");
    assert_eq!(
        answer(&set, &seen(&two(json!({}), gpu.clone()), None)),
        "embedding by image michaelf34/infinity"
    );
    let claim = json!({"claims": [{"name": "card"}]});
    assert_eq!(answer(&set, &seen(&two(claim, json!({})), None)), "llm by image vllm/vllm-openai");
    assert_eq!(answer(&set, &seen(&two(gpu.clone(), gpu), None)), "embedding|llm");
}

fn with_cel(source: &str) -> PolicySet {
    let text = format!(
        "apiVersion: sluice.dev/v1alpha1\nkind: WorkloadClass\nmetadata: {{name: own}}\nspec:\n  \
         recognize:\n    - cel: {source}\n  pools: [{{mode: exclusive}}]\n"
    );
    compile(&[SourceFile { path: "own.yaml".to_owned(), text }], "r", &[]).unwrap()
}

#[test]
fn an_expression_sees_the_whole_pod() {
    let source =
        "\"pod.spec.containers.exists(c, c.image.startsWith('team/')) && has(pod.metadata.labels.app)\"";
    let set = with_cel(source);
    let ours = pod(container("team/app", &[]), json!({"app": "x"}));
    assert!(answer(&set, &seen(&ours, None)).starts_with("own by expression pod.spec"));
    let other = pod(container("other/app", &[]), json!({"app": "x"}));
    assert_eq!(answer(&set, &seen(&other, None)), "-");
}

#[test]
fn an_expression_that_fails_or_is_no_boolean_recognises_nothing() {
    for source in
        ["pod.spec.missing == 'x'", "pod.spec.containers.size()", "pod.spec.containers[9].image == 'x'"]
    {
        let set = with_cel(source);
        let any = pod(container("team/app", &[]), json!({}));
        assert_eq!(answer(&set, &seen(&any, None)), "-", "{source}");
        let blind = Seen { raw: None, ..seen(&any, None) };
        assert_eq!(answer(&set, &blind), "-", "{source}");
    }
}
