//! [`relevance`](crate::subject::relevant::relevance) in CEL, for the API server: it asks us only about Pods
//! that concern us, also while nobody of us is there to say so.
//!
//! The words and paths come from the predicate's own tables; that it lets through all that Rust calls relevant
//! is held by 2 000 Pods on a real API server (`tests/cluster`, group `manifests`). Entry (a) must match
//! exactly what `AsksForGpu` means, the rest may let more through.
//!
//! Written for Kubernetes 1.30 and later, where match conditions are stable and CEL has optional fields. An
//! expression that errs falls to the failure policy, so every field is read as one that may be absent.

use crate::{
    gpu::resource::{DEVICE_MAKERS, NETWORK_WORDS},
    subject::{
        CLASS_LABEL,
        relevant::{
            COMMON_NODE_LABELS, DEVICE_FILES, DEVICE_PATHS, LIFECYCLE_TAINTS, RUNTIME, VISIBLE_DEVICES,
        },
    },
};

/// Whether the Pod (or template) that the CEL variable `pod` holds asks for a GPU-like resource, even for
/// none of it: `Relevance::AsksForGpu`.
#[must_use]
pub fn asks_for_gpu(pod: &str) -> String {
    // The Pod's own `resources` stand in its spec as a container's stand in the container.
    let holders = lists(pod, &format!("dyn([{pod}.spec]), "));
    let names = "[c.?resources.?limits.orValue({}), c.?resources.?requests.orValue({})]";
    format!(
        "{holders}.exists(cs, cs.exists(c,\n  {names}.exists(names, names.exists(name,\n{}))))",
        gpu_like(4)
    )
}

/// Whether the container that the CEL variable `container` holds is given a GPU: a claim, or a GPU-like
/// resource of which it wants more than none.
#[must_use]
pub fn container_asks_for_gpu(container: &str) -> String {
    let names = format!(
        "[{container}.?resources.?limits.orValue({{}}), {container}.?resources.?requests.orValue({{}})]"
    );
    format!(
        "size({container}.?resources.?claims.orValue([])) > 0\n    || {names}.exists(names, names.exists(name, names[name] != '0' && (\n{})))",
        gpu_like(6)
    )
}

/// Whether it could reach a GPU without asking for one: every other
/// [`Relevance`](crate::subject::relevant::Relevance) but `NamesNode`, which `names_node` answers.
#[must_use]
pub fn could_reach_gpu(pod: &str) -> String {
    [
        format!("size({pod}.spec.?resourceClaims.orValue([])) > 0"),
        format!("'{CLASS_LABEL}' in {pod}.?metadata.?labels.orValue({{}})"),
        format!(
            "{}.exists(cs, cs.exists(c,\n  c.?env.orValue([]).exists(e, e.name in [{}])\n  || c.?securityContext.?privileged.orValue(false)))",
            lists(pod, ""),
            quoted(&VISIBLE_DEVICES)
        ),
        mounts_devices(pod),
        format!(
            "{pod}.spec.?tolerations.orValue([]).exists(t,\n  !t.?key.orValue('').startsWith('{LIFECYCLE_TAINTS}'))"
        ),
        chooses_nodes(pod),
        format!("{pod}.spec.?runtimeClassName.orValue('').contains('{RUNTIME}')"),
    ]
    .join("\n|| ")
}

/// Whether it goes around the scheduler. Says so only of a Pod that is being created, or of a template:
/// the scheduler names a node too.
#[must_use]
pub fn names_node(pod: &str) -> String {
    format!("{pod}.spec.?nodeName.orValue('') != ''")
}

/// Whether nodeSelector or required node affinity choose a kind of node:
/// [`chooses_nodes`](crate::subject::relevant::chooses_nodes). Which nodes those are only the picture says.
fn chooses_nodes(pod: &str) -> String {
    let common = quoted(&COMMON_NODE_LABELS);
    format!(
        "{pod}.spec.?nodeSelector.orValue({{}}).exists(key, !(key in [{common}]))\n\
         || {pod}.spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution\n  \
         .?nodeSelectorTerms.orValue([]).exists(t, t.?matchExpressions.orValue([]).exists(e,\n  \
         !(e.?key.orValue('') in [{common}])))"
    )
}

/// Whether a volume leads to devices, drivers or plugin sockets of the node:
/// [`reaches_devices`](crate::subject::relevant::reaches_devices) of its path, however it is spelt.
#[must_use]
pub fn mounts_devices(pod: &str) -> String {
    // Segments without the empty ones and `.`; a path with `..` counts, wherever it leads.
    format!(
        "{pod}.spec.?volumes.orValue([]).exists(v, has(v.hostPath)\n  \
         && [v.hostPath.?path.orValue('').split('/').filter(s, !(s in ['', '.']))].exists(path,\n    \
         '..' in path || path.join('/').matches('{}')))",
        device_paths()
    )
}

/// A regular expression (RE2) for such paths without their first slash.
fn device_paths() -> String {
    let mut parents = vec![String::new()];
    let mut below = Vec::new();
    for path in DEVICE_PATHS.map(|path| &path[1..]) {
        parents.extend(path.match_indices('/').map(|(end, _)| path[..end].to_owned()));
        // Of what lies below /dev only GPUs count.
        if path == "dev" { parents.push(path.to_owned()) } else { below.push(path) }
    }
    parents.sort();
    parents.dedup();
    let files = DEVICE_FILES.join("|");
    format!("^({})$|^({})(/|$)|^dev/({files})", parents.join("|"), below.join("|"))
}

/// The Pod's lists of containers, `first` before them; `dyn` because a list literal holds one type only.
fn lists(pod: &str, first: &str) -> String {
    let of = |field: &str| format!("dyn({pod}.spec.?{field}.orValue([]))");
    format!("[{first}{},\n {},\n {}]", of("containers"), of("initContainers"), of("ephemeralContainers"))
}

/// [`is_gpu_like`](crate::gpu::resource::is_gpu_like) of the CEL variable `name`.
fn gpu_like(indent: usize) -> String {
    let pad = " ".repeat(indent);
    let makers = DEVICE_MAKERS.map(|domain| domain.replace('.', "[.]")).join("|");
    format!(
        "{pad}name.matches('(?i:gpu|^[^/]*/(.*-)?mig-|^(.*-)?mig-[^/]*$)|^habana[.]ai/gaudi$')\n{pad}\
         || name.matches('^(?i:deviceclass[.][^/]*/(.*[.-])?mig([.-]|$))')\n{pad}\
         || name.matches('^(?i:{makers})/') && !name.matches('(?i)/.*({})')",
        NETWORK_WORDS.join("|")
    )
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(", ")
}
