//! Whether an MPS daemon runs on the node, from the host's process table. NVML does not tell: it lists the
//! clients of a server, and an idle daemon has neither.

use std::{fs, path::Path};

/// First 15 bytes of `nvidia-cuda-mps-control` and `nvidia-cuda-mps-server`: the kernel keeps no more of a
/// name (TASK_COMM_LEN, proc(5)).
const NAME: &str = "nvidia-cuda-mps";

/// Whether one runs; `None` where only our own processes can be seen, as without `hostPID`.
#[must_use]
pub fn daemon_runs(proc: &Path) -> Option<bool> {
    // Process 1 of the host is its init; in a container of its own it is this program.
    let name = |pid: &str| fs::read_to_string(proc.join(pid).join("comm")).ok();
    let first = name("1")?;
    if first.trim_end() == "sluice" {
        return None;
    }
    let pids = fs::read_dir(proc).ok()?.filter_map(Result::ok);
    let pids = pids.filter_map(|entry| entry.file_name().into_string().ok());
    let mut pids = pids.filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()));
    Some(pids.any(|pid| name(&pid).is_some_and(|name| name.trim_end() == NAME)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(processes: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (pid, name) in processes {
            fs::create_dir(folder.path().join(pid)).unwrap();
            fs::write(folder.path().join(pid).join("comm"), format!("{name}\n")).unwrap();
        }
        folder
    }

    #[test]
    fn a_daemon_is_seen_among_the_processes_of_the_host() {
        let with = table(&[("1", "systemd"), ("42", "nvidia-cuda-mps"), ("self", "sluice")]);
        assert_eq!(daemon_runs(with.path()), Some(true));
        let without = table(&[("1", "systemd"), ("42", "python3")]);
        assert_eq!(daemon_runs(without.path()), Some(false));
    }

    #[test]
    fn who_sees_only_itself_does_not_say_that_there_is_none() {
        assert_eq!(daemon_runs(table(&[("1", "sluice")]).path()), None);
        assert_eq!(daemon_runs(table(&[]).path()), None);
    }
}
