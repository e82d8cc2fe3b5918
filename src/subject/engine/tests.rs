//! What engines are told, however it is written.

use super::*;
use crate::k8s::object::EnvVar;

fn told(words: &[&str]) -> Arguments {
    let args = words.iter().map(|&word| word.to_owned()).collect();
    Arguments::of(&Container { args, ..Container::default() })
}

fn part(part: f64, said_by: Option<&'static str>) -> Option<MemoryShare> {
    Some(MemoryShare { taken: Taken::Part(part), said_by })
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
    for words in [&["--tensor-parallel-size", "$(TP)"][..], &["--tensor-parallel-size"], &["--tp", "0"], &[]]
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
    let share = |words: &[&str]| told(words).memory_share();
    assert_eq!(
        share(&["serve", "m", "--gpu-memory-utilization", "0.45"]),
        part(0.45, Some("--gpu-memory-utilization"))
    );
    assert_eq!(share(&["--mem-fraction-static=.4"]), part(0.4, Some("--mem-fraction-static")));
    assert_eq!(
        share(&["trtllm-serve", "m", "--kv_cache_free_gpu_memory_fraction", "0.3"]),
        part(0.3, Some("--kv-cache-free-gpu-memory-fraction"))
    );
    assert_eq!(share(&["serve", "m"]), part(0.9, None));
    assert_eq!(share(&["text-generation-launcher"]), part(1.0, None));
    // No part of a card, and still what the engine is told.
    assert_eq!(
        share(&["serve", "--gpu-memory-utilization", "90"]),
        part(90.0, Some("--gpu-memory-utilization"))
    );
    for unknown in [
        &["uvicorn", "app"][..],
        &["serve", "m", "--gpu-memory-utilization", "$(PART)"],
        &["serve", "m", "--gpu-memory-utilization", "-1"],
        &["serve", "m", "--gpu-memory-utilization"],
        &["serve", "m", "--kv-cache-memory-bytes", "much"],
    ] {
        assert_eq!(share(unknown), None, "{unknown:?}");
    }
    assert_eq!(
        env("CUDA_MEMORY_FRACTION", Some("0.4")).memory_share(),
        part(0.4, Some("CUDA_MEMORY_FRACTION"))
    );
}

#[test]
fn an_amount_in_bytes_overrules_the_part() {
    for (written, want) in [("4G", 4096), ("4294967296", 4096), ("1.5Gi", 1536), ("1g", 953)] {
        let words = ["serve", "m", "--gpu-memory-utilization", "0.9", "--kv-cache-memory-bytes", written];
        let share = told(&words).memory_share().map(|share| share.taken);
        assert_eq!(share, Some(Taken::Mebibytes(want)), "{written}");
    }
}

#[test]
fn an_engine_is_known_by_its_program_or_by_an_image_that_starts_it() {
    let of = |image: &str, command: &[&str], args: &[&str]| {
        let list = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        let (command, args) = (list(command), list(args));
        Arguments::of(&Container { image: image.into(), command, args, ..Container::default() })
            .engine_or_image()
    };
    for (image, command, args, want) in [
        ("x", &["vllm", "serve", "m"][..], &[][..], Engine::Vllm),
        ("x", &["/usr/bin/vllm", "serve"], &[], Engine::Vllm),
        ("x", &["python3", "-m", "vllm.entrypoints.openai.api_server"], &[], Engine::Vllm),
        ("x", &[], &["serve", "m"], Engine::Vllm),
        ("x", &["bash", "-c", "exec vllm serve m"], &[], Engine::Vllm),
        ("vllm/vllm-openai:v0.9", &[], &["--model", "m"], Engine::Vllm),
        ("mirror.example:5000/hub/vllm/vllm-openai@sha256:00", &[], &[], Engine::Vllm),
        ("x", &["python3", "-m", "sglang.launch_server"], &[], Engine::Sglang),
        ("ghcr.io/huggingface/text-generation-inference:3", &[], &["--model-id", "m"], Engine::Tgi),
        ("ollama/ollama", &[], &["serve"], Engine::Other),
        ("rayproject/ray-llm", &[], &["serve", "run", "app:app"], Engine::Other),
        // Another program of the image, and a model that is called like an engine.
        ("vllm/vllm-openai:v0.9", &["huggingface-cli", "download", "m"], &[], Engine::Other),
        ("x", &["python3", "serve.py", "--model", "/models/vllm-tests/m"], &[], Engine::Other),
    ] {
        assert_eq!(of(image, command, args), want, "{image} {command:?} {args:?}");
    }
}

#[test]
fn copies_of_the_model_need_gpus_of_their_own() {
    for (words, want) in [
        (&["-tp", "2", "-dp", "4"][..], Some(8)),
        (&["-tp", "2", "-dp", "4", "--data-parallel-size-local", "2"], Some(4)),
        (&["--tp", "4", "--dp", "4", "--enable-dp-attention"], Some(4)),
        (&["--data-parallel-size=8"], Some(8)),
        (&["serve", "m"], None),
    ] {
        assert_eq!(told(words).gpus_needed(), want, "{words:?}");
    }
}

#[test]
fn an_engine_without_a_size_uses_one_gpu_unless_something_unread_may_say_more() {
    assert!(told(&["vllm", "serve", "m"]).uses_one_gpu());
    for other in [
        &["vllm", "serve", "m", "-tp", "2"][..],
        &["vllm", "serve", "m", "-tp", "$(TP)"],
        &["vllm", "serve", "m", "--config", "/etc/vllm.yaml"],
        &["vllm", "serve", "m", "--nnodes", "2"],
        &["sh", "-c", "vllm serve m $ARGS"],
        &["uvicorn", "app"],
    ] {
        assert!(!told(other).uses_one_gpu(), "{other:?}");
    }
}

#[test]
fn the_time_to_drain_is_read() {
    assert_eq!(told(&["--shutdown-timeout=45"]).drain_seconds(), Some(45));
    assert_eq!(told(&["--timeout-graceful-shutdown", "60"]).drain_seconds(), Some(60));
    assert_eq!(told(&[]).drain_seconds(), None);
}
