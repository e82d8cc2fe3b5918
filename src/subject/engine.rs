//! What an inference engine is told on its command line and by its environment: how many GPUs it works on
//! together, which part of a card's memory it takes, how long it drains.
//!
//! Nothing is guessed: a value that cannot be read here (a `valueFrom`, what a script computes) is unknown, and
//! so is a flag that the engine does not say. Flags as of vLLM, SGLang, TGI, TensorRT-LLM and LMDeploy.

mod command;

use crate::k8s::{
    expansion::{environment, value_of},
    object::Container,
};
use command::{Environment, program, words};

/// Command, arguments and environment of one container.
#[derive(Clone, Debug, Default)]
pub struct Arguments {
    /// Words of the command line, flags cut at `=`.
    words: Vec<String>,
    environment: Environment,
    /// The program is the image's own.
    image: Option<Engine>,
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

/// How much of a card's memory an engine takes for itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryShare {
    /// How much.
    pub taken: Taken,
    /// The flag or variable that says so; `None` for the engine's default.
    pub said_by: Option<&'static str>,
}

/// An amount of a card's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Taken {
    /// A part of the card: 0 to 1, or what was written in place of one.
    Part(f64),
    /// MiB of it, whatever the card.
    Mebibytes(u64),
}

const TENSOR: [&str; 6] =
    ["--tensor-parallel-size", "-tp", "--tp", "--tp-size", "--num-shard", "--tensor-parallel"];
const TENSOR_ENV: [&str; 4] =
    ["TENSOR_PARALLEL_SIZE", "NIM_TENSOR_PARALLEL_SIZE", "VLLM_TENSOR_PARALLEL_SIZE", "NUM_SHARD"];
const PIPELINE: [&str; 4] = ["--pipeline-parallel-size", "-pp", "--pp", "--pp-size"];
const PIPELINE_ENV: [&str; 2] = ["PIPELINE_PARALLEL_SIZE", "NIM_PIPELINE_PARALLEL_SIZE"];
/// Copies of the model in one container come before copies of it anywhere.
const DATA_LOCAL: [&str; 2] = ["--data-parallel-size-local", "-dpl"];
const DATA: [&str; 4] = ["--data-parallel-size", "-dp", "--dp-size", "--dp"];
const DATA_ENV: [&str; 1] = ["DATA_PARALLEL_SIZE"];
/// SGLang cuts the attention by data over the same GPUs: no further copies.
const DATA_INSIDE: &str = "--enable-dp-attention";
/// Processes of a launcher, each of which takes a GPU (torchrun, accelerate, deepspeed).
const PROCESSES: [&str; 3] = ["--nproc-per-node", "--num-processes", "--num-gpus"];
const MEMORY: [&str; 6] = [
    "--gpu-memory-utilization",
    "--mem-fraction-static",
    "--cuda-memory-fraction",
    "--kv-cache-free-gpu-memory-fraction",
    "--free-gpu-memory-fraction",
    "--cache-max-entry-count",
];
const MEMORY_ENV: [&str; 2] = ["VLLM_GPU_MEMORY_UTILIZATION", "CUDA_MEMORY_FRACTION"];
/// An amount in bytes overrules the fraction (vLLM).
const MEMORY_BYTES: [&str; 1] = ["--kv-cache-memory-bytes"];
const DRAIN: [&str; 3] = ["--shutdown-timeout", "--timeout-graceful-shutdown", "--graceful-timeout"];
/// Signs that one model runs over several Pods, so that its sizes are those of the group.
const SEVERAL_PODS: [&str; 9] = [
    "--nnodes",
    "--node-rank",
    "--num-machines",
    "--dist-init-addr",
    "--master-addr",
    "--headless",
    "--data-parallel-address",
    "--hostfile",
    "ray",
];
const SEVERAL_PODS_ENV: [&str; 4] = ["LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "NNODES", "MASTER_ADDR"];
/// A file that may say anything.
const CONFIG: &str = "--config";

impl Arguments {
    /// Reads a container.
    #[must_use]
    pub fn of(container: &Container) -> Self {
        let environment = environment(&container.env);
        let image = container.command.is_empty().then(|| of_image(&container.image)).flatten();
        Self { words: words(container, &environment), environment, image }
    }

    /// The engine that is started: by its program, or by an image that starts its own.
    #[must_use]
    pub fn engine_or_image(&self) -> Engine {
        match self.engine() {
            Engine::Other => self.image.unwrap_or(Engine::Other),
            engine => engine,
        }
    }

    /// The engine that is started, by its program; `Other` where the image alone decides.
    #[must_use]
    pub fn engine(&self) -> Engine {
        let runs = |name: &str, module: &str| {
            self.words.iter().any(|word| program(word) == name || word.starts_with(module))
        };
        if runs("vllm", "vllm.entrypoints") || self.serves_a_model() {
            Engine::Vllm
        } else if runs("sglang", "sglang.launch") {
            Engine::Sglang
        } else if runs("text-generation-launcher", "text_generation_launcher") {
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

    /// Copies of the model that the container runs side by side, each on GPUs of its own.
    #[must_use]
    pub fn copies(&self) -> Option<i64> {
        if self.words.iter().any(|word| word == DATA_INSIDE) {
            return None;
        }
        self.number(&DATA_LOCAL, &[]).or_else(|| self.number(&DATA, &DATA_ENV))
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

    /// GPUs that the container needs for all copies of the model. `None` where no size is said.
    #[must_use]
    pub fn gpus_needed(&self) -> Option<i64> {
        match (self.gpus_together(), self.copies()) {
            (None, None) => None,
            (together, copies) => Some(together.unwrap_or(1).saturating_mul(copies.unwrap_or(1))),
        }
    }

    /// Processes that a launcher of training starts, each for a GPU of its own.
    #[must_use]
    pub fn processes(&self) -> Option<i64> {
        self.number(&PROCESSES, &[])
    }

    /// Whether the engine works on one GPU because nothing tells it otherwise: of an engine whose default that
    /// is, without a size, also none that cannot be read, and without a file of settings.
    #[must_use]
    pub fn uses_one_gpu(&self) -> bool {
        let flags = || TENSOR.iter().chain(&PIPELINE).chain(&DATA).chain(&DATA_LOCAL).chain([&CONFIG]);
        let variables = || TENSOR_ENV.iter().chain(&PIPELINE_ENV).chain(&DATA_ENV);
        matches!(self.engine_or_image(), Engine::Vllm | Engine::Sglang)
            && !self.words.is_empty()
            && !self.may_span_pods()
            && !flags().any(|flag| self.words.iter().any(|word| word == flag))
            && !variables().any(|name| self.environment.iter().any(|(own, _)| own == name))
            // What a script computes may be a flag.
            && !self.words.iter().any(|word| word.contains('$'))
    }

    /// Whether one model may run over several Pods: then its sizes say nothing of one container.
    #[must_use]
    pub fn may_span_pods(&self) -> bool {
        self.words.iter().any(|word| SEVERAL_PODS.contains(&word.as_str()))
            || self.environment.iter().any(|(name, _)| SEVERAL_PODS_ENV.contains(&name.as_str()))
    }

    /// How much of a card's memory the engine takes: as it is told, else its default. `None` where nobody knows.
    ///
    /// Defaults: vLLM 0.9 (0.92 in newer releases, so at least 0.9), SGLang about 0.85 to 0.9, TGI 1.
    #[must_use]
    pub fn memory_share(&self) -> Option<MemoryShare> {
        if let Some((flag, value)) = self.value(&MEMORY_BYTES) {
            return Some(MemoryShare { taken: Taken::Mebibytes(mebibytes(value)?), said_by: Some(flag) });
        }
        if let Some((by, value)) = self.value(&MEMORY).or_else(|| self.variable(&MEMORY_ENV)) {
            let part = value?.parse().ok().filter(|part: &f64| part.is_finite() && *part > 0.0)?;
            return Some(MemoryShare { taken: Taken::Part(part), said_by: Some(by) });
        }
        let part = match self.engine_or_image() {
            Engine::Vllm => 0.9,
            Engine::Sglang => 0.85,
            Engine::Tgi => 1.0,
            Engine::Other => return None,
        };
        Some(MemoryShare { taken: Taken::Part(part), said_by: None })
    }

    /// Seconds that the engine takes to finish running requests after SIGTERM, where it is told.
    #[must_use]
    pub fn drain_seconds(&self) -> Option<i64> {
        self.value(&DRAIN).and_then(|(_, value)| value?.parse().ok())
    }

    /// `serve MODEL`, what an image whose program is vLLM is given; `serve run` is Ray's.
    fn serves_a_model(&self) -> bool {
        let model = |word: &String| !matches!(word.as_str(), "run" | "deploy" | "build");
        self.words.first().is_some_and(|word| word == "serve") && self.words.get(1).is_some_and(model)
    }

    fn number(&self, flags: &[&'static str], variables: &[&'static str]) -> Option<i64> {
        let found = self.value(flags).or_else(|| self.variable(variables));
        found.and_then(|(_, value)| value?.parse().ok()).filter(|number| *number > 0)
    }

    /// The last word after one of the flags: engines let the last one win. `None` inside where nothing follows.
    fn value(&self, flags: &[&'static str]) -> Option<(&'static str, Option<&str>)> {
        let at = self.words.iter().rposition(|word| flags.contains(&word.as_str()))?;
        let flag = flags.iter().find(|flag| **flag == self.words[at])?;
        Some((flag, self.words.get(at + 1).map(String::as_str)))
    }

    fn variable(&self, names: &[&'static str]) -> Option<(&'static str, Option<&str>)> {
        let here = |name: &&&'static str| self.environment.iter().any(|(own, _)| own == *name);
        names.iter().find(here).map(|name| (*name, value_of(&self.environment, name)))
    }
}

/// Engines of images that start them without a command.
fn of_image(image: &str) -> Option<Engine> {
    let repository = image.split(['@']).next().unwrap_or(image);
    let (folder, name) = repository.rsplit_once('/').unwrap_or(("", repository));
    let name = name.split(':').next().unwrap_or(name);
    match name {
        "vllm-openai" => Some(Engine::Vllm),
        _ if name.starts_with("vllm-openai-") || (name == "vllm" && folder.ends_with("vllm")) => {
            Some(Engine::Vllm)
        }
        "text-generation-inference" => Some(Engine::Tgi),
        _ => None,
    }
}

/// MiB of an amount as vLLM reads it: bytes, or a number with a letter, small for decimal and large for binary.
fn mebibytes(text: Option<&str>) -> Option<u64> {
    let text = text?;
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let number: f64 = digits.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)?;
    let unit = match &text[digits.len()..] {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        "K" | "Ki" | "KiB" => 1024.0,
        "M" | "Mi" | "MiB" => 1024.0_f64.powi(2),
        "G" | "Gi" | "GiB" => 1024.0_f64.powi(3),
        "T" | "Ti" | "TiB" => 1024.0_f64.powi(4),
        _ => return None,
    };
    let mebibytes = number * unit / f64::from(1 << 20);
    // A card has far less than 2^52 MiB; a float beyond that is none.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive and bounded here")]
    (mebibytes < 4e15).then_some(mebibytes as u64)
}

#[cfg(test)]
mod tests;
