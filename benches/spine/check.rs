//! What `sluice check` costs beside parsing the same text: the program itself, with everything that it prints.

use std::{
    fmt::Write as _,
    hint::black_box,
    process::{Command, Stdio},
    time::Instant,
};

use sluice::k8s::yaml;

use crate::pairs::compare;

const DOCUMENTS: usize = 10_000;

/// A run over files as teams have them: Deployments, Pods, Services and PodDisruptionBudgets of 20 namespaces.
pub fn documents(name: &str) {
    let text = text();
    let folder = std::env::temp_dir().join(format!("sluice-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("documents.yaml");
    std::fs::write(&file, &text).expect("a file");
    let run = |form: &str| {
        let start = Instant::now();
        let status = Command::new(env!("CARGO_BIN_EXE_sluice"))
            .args(["check", "-o", form])
            .arg(&file)
            .stdout(Stdio::null())
            .status();
        assert!(status.expect("the program runs").success(), "nothing is refused");
        milliseconds(start)
    };
    let parse = || {
        let start = Instant::now();
        let read = yaml::documents(&text).filter(|document| black_box(document).is_ok()).count();
        assert_eq!(read, DOCUMENTS);
        milliseconds(start)
    };
    compare(name, "aim <= 3, ms, table", || run("table"), parse);
    compare(name, "aim <= 3, ms, json", || run("json"), parse);
    std::fs::remove_dir_all(&folder).expect("the folder goes");
}

fn milliseconds(start: Instant) -> f64 {
    start.elapsed().as_secs_f64() * 1e3
}

fn text() -> String {
    let mut text = String::new();
    for index in 0..DOCUMENTS {
        text.push_str("---\n");
        document(&mut text, index);
    }
    text
}

fn document(text: &mut String, index: usize) {
    let metadata = format!("metadata: {{name: app-{index}, namespace: team-{}}}", index % 20);
    // A budget and two Services for each Deployment's four neighbours.
    let app = format!("app: app-{}", index.saturating_sub(4));
    let _ = match index % 10 {
        0..=2 => write!(text, "apiVersion: v1\nkind: Pod\n{metadata}\nspec:\n{}", server(2)),
        3..=6 => write!(
            text,
            "apiVersion: apps/v1\nkind: Deployment\n{metadata}\nspec:\n  replicas: 2\n  selector: {{matchLabels: \
             {{app: app-{index}}}}}\n  template:\n    metadata: {{labels: {{app: app-{index}}}}}\n    spec:\n{}",
            server(6)
        ),
        7 | 8 => write!(
            text,
            "apiVersion: v1\nkind: Service\n{metadata}\nspec:\n  selector: {{{app}}}\n  ports:\n  - name: http\n    \
             port: 80\n    targetPort: 8000\n"
        ),
        _ => write!(
            text,
            "apiVersion: policy/v1\nkind: PodDisruptionBudget\n{metadata}\nspec:\n  minAvailable: 1\n  selector:\n    \
             matchLabels:\n      {app}\n"
        ),
    };
}

/// The spec of a model server, so far to the right.
fn server(indent: usize) -> String {
    const SPEC: &str = "containers:
- name: server
  image: vllm/vllm-openai:v0.11.0
  args: [--model, meta-llama/Llama-3.1-8B-Instruct, --max-model-len, \"8192\"]
  ports:
  - containerPort: 8000
  readinessProbe:
    httpGet: {path: /health, port: 8000}
    periodSeconds: 5
  resources:
    requests:
      cpu: 8
      memory: 64Gi
    limits:
      nvidia.com/gpu: 1
      memory: 64Gi
";
    SPEC.lines().map(|line| format!("{:indent$}{line}\n", "")).collect()
}
