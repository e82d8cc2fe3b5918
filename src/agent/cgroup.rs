//! Which container a process belongs to, from `/proc/PID/cgroup`.
//!
//! The kubelet names a Pod's cgroup after its UID: `kubepods-besteffort-pod<uid with underscores>.slice`
//! under the systemd driver, `kubepods/besteffort/pod<uid>` under cgroupfs. Static Pods have a hash of 32
//! digits as UID. Container runtimes add one level: `cri-containerd-<id>.scope`, `crio-<id>.scope`, or the
//! bare id (Kubernetes `pkg/kubelet/cm/helpers_linux.go`, containerd and CRI-O cgroup paths).

/// A container of a Pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Container {
    /// UID of the Pod, with dashes where it has any.
    pub pod_uid: String,
    /// Id that the runtime gave the container; absent for a process of the Pod's own cgroup.
    pub id: Option<String>,
}

/// The container in the text of a process's `/proc/PID/cgroup`; `None` for a process of no Pod.
///
/// cgroup v2 has one line, `0::PATH`; v1 one line a controller, of which any that names a Pod will do, as
/// a process is in the same container everywhere.
#[must_use]
pub fn container(text: &str) -> Option<Container> {
    text.lines().filter_map(|line| line.splitn(3, ':').nth(2)).find_map(in_path)
}

fn in_path(path: &str) -> Option<Container> {
    // Under CRI-O and old containerd, levels are also divided by colons: `…pod<uid>.slice:crio:<id>`.
    let levels: Vec<&str> = path.split(['/', ':']).filter(|level| !level.is_empty()).collect();
    // The innermost Pod: on a cluster inside a cluster (kind) there are two.
    let at = levels.iter().rposition(|level| pod_uid(level).is_some())?;
    let pod_uid = pod_uid(levels.get(at)?)?;
    let id = levels.get(at + 1..)?.iter().find_map(|level| container_id(level));
    Some(Container { pod_uid, id })
}

fn pod_uid(level: &str) -> Option<String> {
    let level = level.strip_suffix(".slice").unwrap_or(level);
    // `kubepods` may stand behind the name of a cgroup root.
    let uid = match level.rsplit_once("-pod") {
        Some((parent, uid)) if parent.contains("kubepods") => uid,
        _ => level.strip_prefix("pod")?,
    };
    let uid = uid.replace('_', "-");
    let digits = uid.chars().filter(char::is_ascii_hexdigit).count();
    let dashes = uid.chars().filter(|&c| c == '-').count();
    (digits == 32 && (dashes == 4 || dashes == 0) && digits + dashes == uid.len()).then_some(uid)
}

fn container_id(level: &str) -> Option<String> {
    let level = level.strip_suffix(".scope").unwrap_or(level);
    let id = level.rsplit('-').next()?;
    (id.len() == 64 && id.chars().all(|c| c.is_ascii_hexdigit())).then(|| id.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const UID: &str = "8f3e2c1a-1b2c-4d5e-8f90-a1b2c3d4e5f6";
    const ID: &str = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

    fn found(text: &str) -> (String, Option<String>) {
        let container = container(text).unwrap_or_else(|| panic!("nothing in {text}"));
        (container.pod_uid, container.id)
    }

    #[test]
    fn every_runtime_and_driver_names_the_same_container() {
        let under = UID.replace('-', "_");
        let samples = [
            format!(
                "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{under}.slice/cri-containerd-{ID}.scope\n"
            ),
            format!("0::/kubepods.slice/kubepods-pod{under}.slice/cri-containerd-{ID}.scope\n"),
            format!(
                "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{under}.slice/crio-{ID}.scope/container\n"
            ),
            format!("0::/kubepods/burstable/pod{UID}/{ID}\n"),
            format!(
                "12:pids:/kubepods/besteffort/pod{UID}/{ID}\n4:memory:/kubepods/besteffort/pod{UID}/{ID}\n1:name=systemd:/init\n"
            ),
            format!(
                "11:devices:/system.slice/containerd.service/kubepods-besteffort-pod{under}.slice:cri-containerd:{ID}\n"
            ),
            format!(
                "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod{under}.slice/cri-containerd-{ID}.scope\n"
            ),
        ];
        // The last is a kubelet with --cgroup-root=/kubelet, whose slices carry that prefix.
        let (last, usual) = samples.split_last().unwrap();
        for sample in usual {
            assert_eq!(found(sample), (UID.to_owned(), Some(ID.to_owned())), "{sample}");
        }
        assert_eq!(found(last), (UID.to_owned(), Some(ID.to_owned())), "{last}");
    }

    #[test]
    fn a_static_pod_has_a_hash_instead_of_a_uid() {
        let hash = "5d1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b";
        let sample = format!(
            "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{hash}.slice/cri-containerd-{ID}.scope"
        );
        assert_eq!(found(&sample).0, hash);
    }

    #[test]
    fn of_a_cluster_in_a_cluster_the_inner_pod_counts() {
        let outer = "11111111-2222-3333-4444-555555555555";
        let sample = format!("0::/kubepods/pod{outer}/{ID}/kubelet/kubepods/besteffort/pod{UID}/{ID}");
        assert_eq!(found(&sample).0, UID);
    }

    #[test]
    fn a_process_of_the_host_is_in_no_container() {
        for text in ["", "0::/", "0::/system.slice/sshd.service", "0::/user.slice/podman-1.scope", "nonsense"]
        {
            assert_eq!(container(text), None, "{text}");
        }
    }
}
