//! `shm-unsuitable`: a `/dev/shm` of the Pod's own that does not do for an engine on several GPUs.

use crate::{
    gpu::Mode,
    k8s::{
        object::{EmptyDir, QuantityText, Volume},
        quantity::Quantity,
    },
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, offers},
    subject::{
        demand::{self, Ask},
        engine::Arguments,
    },
};

/// Where shared memory is mounted.
pub const SHM: &str = "/dev/shm";
/// The volume that the engine adds itself.
pub const SHM_VOLUME: &str = "sluice-shm";

/// `shm-unsuitable`
pub static SHM_UNSUITABLE: Rule = Rule {
    id: "shm-unsuitable",
    family: Family::Parallelism,
    summary: "a /dev/shm that the Pod mounts is in memory, larger than the default, and fits its memory limit",
    why: "Collectives keep their segments in /dev/shm. On the node's disk they are slow; in 64 MiB they do not fit; what is written to memory counts as the container's own, so that a size above the memory limit ends in an OOM kill. Under MPS the device plugin mounts its own /dev/shm over it.",
    remedy: "Mount an emptyDir with medium Memory and a sizeLimit below the memory limit.",
    severity: Severity::Warn,
    severity_because: "how much of it the engine uses nobody knows beforehand",
    applies: Applies::Pods,
    needs: &[],
    sources: &["Kubernetes: emptyDir, medium Memory", "NVIDIA device plugin: MPS mounts"],
    check: Check::Case(check),
};

/// The size that a container has without any mount.
const DEFAULT_BYTES: i64 = 64 << 20;

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for pod in &case.pods {
        findings.under(&pod.prefix);
        for ask in demand::asks(&pod.written.spec).iter().filter(|ask| !ask.is_zero()) {
            let Some((mount, index, volume)) = mounted(pod, ask) else { continue };
            let Some(empty_dir) = volume.empty_dir.as_ref().filter(|_| volume.name != SHM_VOLUME) else {
                continue;
            };
            let problem = if is_under_mps(case, pod, ask) {
                Some(Problem {
                    path: format!("{}.volumeMounts[{mount}]", ask.path),
                    is: format!("a volume at {SHM} on a pool that shares cards by MPS"),
                    should: "none: the device plugin mounts its own there".to_owned(),
                    remedy: "remove the mount".to_owned(),
                })
            } else if is_several(ask) {
                unsuitable(empty_dir, ask, index)
            } else {
                None
            };
            if let Some(Problem { path, is, should, remedy }) = problem {
                findings.add(rule, path, is, should, remedy).in_container(&ask.container.name);
            }
        }
    }
}

struct Problem {
    path: String,
    is: String,
    should: String,
    remedy: String,
}

/// The mount at `/dev/shm` and its volume, both with their index.
fn mounted<'a>(pod: &'a PodCase<'_>, ask: &Ask<'_>) -> Option<(usize, usize, &'a Volume)> {
    let mounts = &ask.container.volume_mounts;
    let mount = mounts.iter().position(|mount| mount.mount_path.trim_end_matches('/') == SHM)?;
    let volumes = &pod.written.spec.volumes;
    let index = volumes.iter().position(|volume| volume.name == mounts[mount].name)?;
    Some((mount, index, &volumes[index]))
}

fn is_several(ask: &Ask<'_>) -> bool {
    let together = Arguments::of(ask.container).gpus_together().is_some_and(|gpus| gpus > 1);
    together || ask.count().is_some_and(|count| count > 1)
}

fn is_under_mps(case: &Case<'_>, pod: &PodCase<'_>, ask: &Ask<'_>) -> bool {
    let mut pools = offers::reachable(case.world, &pod.placement, ask.resource).peekable();
    pools.peek().is_some() && pools.all(|live| live.pool.mode == Mode::Mps)
}

fn unsuitable(dir: &EmptyDir, ask: &Ask<'_>, index: usize) -> Option<Problem> {
    let path = |field: &str| format!("spec.volumes[{index}].emptyDir.{field}");
    if dir.medium != "Memory" {
        return Some(Problem {
            path: path("medium"),
            is: format!("a {SHM} on the node's disk"),
            should: "Memory".to_owned(),
            remedy: "set medium: Memory".to_owned(),
        });
    }
    let size = dir.size_limit.as_ref().and_then(bytes)?;
    if size <= DEFAULT_BYTES {
        return Some(Problem {
            path: path("sizeLimit"),
            is: format!("{}, no more than a container has without it", written(dir)),
            should: "some GiB".to_owned(),
            remedy: "set sizeLimit: 8Gi, or as much as the engine's documentation says".to_owned(),
        });
    }
    let limit = ask.container.resources.limits.get("memory")?;
    (size >= bytes(limit)?).then(|| Problem {
        path: path("sizeLimit"),
        is: format!("{}, with a memory limit of {} in which it is counted", written(dir), limit.0),
        should: "less than the memory limit".to_owned(),
        remedy: "raise the memory limit, or lower sizeLimit".to_owned(),
    })
}

fn written(dir: &EmptyDir) -> &str {
    dir.size_limit.as_ref().map_or("no size", |size| size.0.as_str())
}

fn bytes(text: &QuantityText) -> Option<i64> {
    Some(text.0.parse::<Quantity>().ok()?.value())
}
