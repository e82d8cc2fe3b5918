//! What an inference engine is told on its command line and by its environment: how many GPUs it works on
//! together, which part of a card's memory it takes, how long it drains.
//!
//! Nothing is guessed: a value that cannot be read here (a shell variable, a `valueFrom`) is unknown, and so
//! is a flag that the engine does not say. Flags as of vLLM, SGLang, TGI, TensorRT-LLM and LMDeploy.

use crate::k8s::object::Container;

/// Command, arguments and literal environment of one container.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// Words of the command line, flags cut at `=`.
    words: Vec<String>,
    env: Vec<(String, String)>,
}

/// Engines whose defaults are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// vLLM.
    Vllm,
    /// SGLang.
    Sglang,
    /// Hugging Face text-generation-inference.
    Tgi,
    /// Another, or none.
    Other,
}

/// Which part of a card's memory an engine takes for itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryShare {
    /// 0 to 1.
    pub part: f64,
    /// The flag or variable that says so; `None` for the engine's default.
    pub said_by: Option<&'static str>,
}

/// Most words of one command line that are looked at: real ones have tens.
const MOST_WORDS: usize = 4096;

const TENSOR: [&str; 5] = ["--tensor-parallel-size", "-tp", "--tp", "--tp-size", "--num-shard"];
const TENSOR_ENV: [&str; 4] =
    ["TENSOR_PARALLEL_SIZE", "NIM_TENSOR_PARALLEL_SIZE", "VLLM_TENSOR_PARALLEL_SIZE", "NUM_SHARD"];
const PIPELINE: [&str; 4] = ["--pipeline-parallel-size", "-pp", "--pp", "--pp-size"];
const PIPELINE_ENV: [&str; 2] = ["PIPELINE_PARALLEL_SIZE", "NIM_PIPELINE_PARALLEL_SIZE"];
const MEMORY: [&str; 5] = [
    "--gpu-memory-utilization",
    "--mem-fraction-static",
    "--cuda-memory-fraction",
    "--kv-cache-free-gpu-memory-fraction",
    "--cache-max-entry-count",
];
const MEMORY_ENV: [&str; 2] = ["VLLM_GPU_MEMORY_UTILIZATION", "CUDA_MEMORY_FRACTION"];
/// An amount in bytes overrules the fraction (vLLM).
const MEMORY_BYTES: &str = "--kv-cache-memory-bytes";
const DRAIN: [&str; 3] = ["--shutdown-timeout", "--timeout-graceful-shutdown", "--graceful-timeout"];
/// Signs that one model runs over several Pods, so that its sizes are those of the group.
const SEVERAL_PODS: [&str; 7] = [
    "--nnodes",
    "--node-rank",
    "--dist-init-addr",
    "--master-addr",
    "--headless",
    "--data-parallel-address",
    "ray",
];
const SEVERAL_PODS_ENV: [&str; 4] = ["LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "NNODES", "MASTER_ADDR"];

impl Arguments {
    /// Reads a container.
    #[must_use]
    pub fn of(container: &Container) -> Self {
        let parts = container.command.iter().chain(&container.args);
        let words = parts.flat_map(|part| part.split_whitespace()).flat_map(cut).take(MOST_WORDS).collect();
        let literal = |variable: &crate::k8s::object::EnvVar| {
            variable.value.as_ref().map(|value| (variable.name.clone(), value.clone()))
        };
        Self { words, env: container.env.iter().filter_map(literal).collect() }
    }

    /// The engine that is started, by its program; `Other` where the image alone decides.
    #[must_use]
    pub fn engine(&self) -> Engine {
        let has = |word: &str| self.words.iter().any(|own| own.contains(word));
        if has("vllm") || (self.words.first().is_some_and(|word| word == "serve")) {
            Engine::Vllm
        } else if has("sglang") {
            Engine::Sglang
        } else if has("text-generation-launcher") {
            Engine::Tgi
        } else {
            Engine::Other
        }
    }

    /// GPUs over which each layer is cut; `None` where nothing says so.
    #[must_use]
    pub fn tensor_parallel(&self) -> Option<i64> {
        self.number(&TENSOR, &TENSOR_ENV)
    }

    /// Groups of layers that run on different GPUs.
    #[must_use]
    pub fn pipeline_parallel(&self) -> Option<i64> {
        self.number(&PIPELINE, &PIPELINE_ENV)
    }

    /// GPUs that one copy of the model works on together: tensor times pipeline size. `None` where neither
    /// is said.
    #[must_use]
    pub fn gpus_together(&self) -> Option<i64> {
        match (self.tensor_parallel(), self.pipeline_parallel()) {
            (None, None) => None,
            (tensor, pipeline) => Some(tensor.unwrap_or(1).saturating_mul(pipeline.unwrap_or(1))),
        }
    }

    /// Whether one model may run over several Pods: then its sizes say nothing of one container.
    #[must_use]
    pub fn may_span_pods(&self) -> bool {
        self.words.iter().any(|word| SEVERAL_PODS.contains(&word.as_str()))
            || self.env.iter().any(|(name, _)| SEVERAL_PODS_ENV.contains(&name.as_str()))
    }

    /// The part of a card's memory that the engine takes: as it is told, else its default. `None` where it
    /// takes a fixed amount, or nobody knows.
    ///
    /// Defaults: vLLM 0.9 (0.92 in newer releases, so at least 0.9), SGLang about 0.85 to 0.9, TGI 1.
    #[must_use]
    pub fn memory_share(&self) -> Option<MemoryShare> {
        if self.value(&[MEMORY_BYTES]).is_some() {
            return None;
        }
        let part = |text: &str| text.parse::<f64>().ok().filter(|part| (0.0..=1.0).contains(part));
        if let Some((flag, value)) = self.value(&MEMORY) {
            return Some(MemoryShare { part: part(value)?, said_by: Some(flag) });
        }
        if let Some((name, value)) = self.variable(&MEMORY_ENV) {
            return Some(MemoryShare { part: part(value)?, said_by: Some(name) });
        }
        let part = match self.engine() {
            Engine::Vllm => 0.9,
            Engine::Sglang => 0.85,
            Engine::Tgi => 1.0,
            Engine::Other => return None,
        };
        Some(MemoryShare { part, said_by: None })
    }

    /// Seconds that the engine takes to finish running requests after SIGTERM, where it is told.
    #[must_use]
    pub fn drain_seconds(&self) -> Option<i64> {
        self.value(&DRAIN).and_then(|(_, value)| value.parse().ok())
    }

    fn number(&self, flags: &[&'static str], variables: &[&'static str]) -> Option<i64> {
        let found = self.value(flags).or_else(|| self.variable(variables));
        found.and_then(|(_, value)| value.parse().ok()).filter(|number| *number > 0)
    }

    /// The last word after one of the flags: engines let the last one win.
    fn value(&self, flags: &[&'static str]) -> Option<(&'static str, &str)> {
        let at = self.words.iter().rposition(|word| flags.contains(&word.as_str()))?;
        let flag = flags.iter().find(|flag| **flag == self.words[at])?;
        Some((flag, self.words.get(at + 1)?))
    }

    fn variable(&self, names: &[&'static str]) -> Option<(&'static str, &str)> {
        names.iter().find_map(|name| {
            let (_, value) = self.env.iter().rfind(|(own, _)| own == name)?;
            Some((*name, value.as_str()))
        })
    }
}

/// `--flag=value` as two words; `_` in flags as `-`, because the engines' parsers take both.
fn cut(word: &str) -> Vec<String> {
    let word = word.trim_matches(['"', '\'', ';', '\\']);
    if !word.starts_with('-') {
        return vec![word.to_owned()];
    }
    match word.split_once('=') {
        Some((flag, value)) => {
            vec![flag.replace('_', "-"), value.trim_matches(['"', '\'']).to_owned()]
        }
        // A negative number is a value, not a flag.
        None if word[1..].starts_with(|c: char| c.is_ascii_digit()) => vec![word.to_owned()],
        None => vec![word.replace('_', "-")],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::k8s::object::EnvVar;

    fn told(words: &[&str]) -> Arguments {
        let args = words.iter().map(|&word| word.to_owned()).collect();
        Arguments::of(&Container { args, ..Container::default() })
    }

    fn env(name: &str, value: Option<&str>) -> Arguments {
        let variable = EnvVar { name: name.into(), value: value.map(str::to_owned), value_from: None };
        Arguments::of(&Container { env: vec![variable], ..Container::default() })
    }

    #[test]
    fn a_size_is_read_however_it_is_written() {
        for words in [
            &["serve", "m", "--tensor-parallel-size", "2"][..],
            &["serve", "m", "--tensor-parallel-size=2"],
            &["-m", "vllm.entrypoints.openai.api_server", "--tensor_parallel_size=2"],
            &["-tp", "2"],
            &["--tp=2"],
            &["--tp-size", "2"],
            &["--num-shard", "2"],
            &["-c", "exec vllm serve m --tensor-parallel-size 2 --port 80"],
            &["--tp", "4", "--tp", "2"],
        ] {
            assert_eq!(told(words).tensor_parallel(), Some(2), "{words:?}");
        }
        assert_eq!(env("NIM_TENSOR_PARALLEL_SIZE", Some("2")).tensor_parallel(), Some(2));
    }

    #[test]
    fn what_cannot_be_read_is_unknown() {
        for words in
            [&["--tensor-parallel-size", "$(TP)"][..], &["--tensor-parallel-size"], &["--tp", "0"], &[]]
        {
            assert_eq!(told(words).tensor_parallel(), None, "{words:?}");
        }
        assert_eq!(env("TENSOR_PARALLEL_SIZE", None).tensor_parallel(), None);
    }

    #[test]
    fn tensor_and_pipeline_sizes_multiply() {
        assert_eq!(told(&["-tp", "4", "-pp", "2"]).gpus_together(), Some(8));
        assert_eq!(told(&["--pp-size=2"]).gpus_together(), Some(2));
        assert_eq!(told(&["serve", "m"]).gpus_together(), None);
        assert_eq!(told(&["-tp", &i64::MAX.to_string(), "-pp", "9"]).gpus_together(), Some(i64::MAX));
    }

    #[test]
    fn a_group_over_several_pods_is_seen() {
        assert!(told(&["--nnodes", "2"]).may_span_pods());
        assert!(told(&["--distributed-executor-backend", "ray"]).may_span_pods());
        assert!(env("LWS_GROUP_SIZE", Some("2")).may_span_pods());
        assert!(!told(&["serve", "m"]).may_span_pods());
    }

    #[test]
    fn the_memory_share_is_the_flags_or_the_engines() {
        let share = |words: &[&str]| told(words).memory_share().map(|share| (share.part, share.said_by));
        assert_eq!(
            share(&["serve", "m", "--gpu-memory-utilization", "0.45"]),
            Some((0.45, Some("--gpu-memory-utilization")))
        );
        assert_eq!(share(&["--mem-fraction-static=.4"]), Some((0.4, Some("--mem-fraction-static"))));
        assert_eq!(share(&["serve", "m"]), Some((0.9, None)));
        assert_eq!(share(&["text-generation-launcher"]), Some((1.0, None)));
        for unknown in [&["uvicorn", "app"][..], &["serve", "m", "--kv-cache-memory-bytes", "4G"]] {
            assert_eq!(share(unknown), None, "{unknown:?}");
        }
        assert_eq!(share(&["serve", "--gpu-memory-utilization", "9"]), None, "no part of a card");
    }

    #[test]
    fn the_time_to_drain_is_read() {
        assert_eq!(told(&["--shutdown-timeout=45"]).drain_seconds(), Some(45));
        assert_eq!(told(&["--timeout-graceful-shutdown", "60"]).drain_seconds(), Some(60));
        assert_eq!(told(&[]).drain_seconds(), None);
    }
}
