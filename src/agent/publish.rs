//! When a status is written: what a node can do at once, what moves all the time in steps, and a sign of
//! life otherwise. Pure: time comes in as seconds.

use crate::gpu::{AgentTenant, GpuNodeStatus, Mebibytes};

/// Seconds between two writes that only tell of memory and tenants.
pub const STEP: u64 = 10;

/// What was written last.
#[derive(Clone, Debug, Default)]
pub struct Publication {
    last: Option<(GpuNodeStatus, u64)>,
}

impl Publication {
    /// What was written last.
    #[must_use]
    pub fn last(&self) -> Option<&GpuNodeStatus> {
        self.last.as_ref().map(|(status, _)| status)
    }

    /// Whether `status` is to be written at `now` (seconds of any clock that only grows).
    #[must_use]
    pub fn is_due(&self, status: &GpuNodeStatus, now: u64) -> bool {
        let Some((last, at)) = &self.last else { return true };
        let silent = now.saturating_sub(*at);
        if lasting(status) != lasting(last) {
            return true;
        }
        if moving(status) != moving(last) && silent >= STEP {
            return true;
        }
        silent >= u64::from(status.heartbeat_seconds.unwrap_or(u32::MAX))
    }

    /// `status` was written at `now`.
    pub fn written(&mut self, status: GpuNodeStatus, now: u64) {
        self.last = Some((status, now));
    }
}

/// A status without what moves all the time.
fn lasting(status: &GpuNodeStatus) -> GpuNodeStatus {
    let mut status = GpuNodeStatus { observed_at: None, ..status.clone() };
    for condition in &mut status.conditions {
        // A hung driver counts its seconds in the message; the reason is what counts.
        condition.message.clear();
    }
    for device in &mut status.devices {
        device.memory_used = None;
        device.tenants.clear();
    }
    status
}

/// Only what moves all the time.
fn moving(status: &GpuNodeStatus) -> Vec<(Option<Mebibytes>, &[AgentTenant])> {
    status.devices.iter().map(|device| (device.memory_used, device.tenants.as_slice())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{AgentDevice, MigMode};

    fn status(mig: MigMode, used: u64, at: &str) -> GpuNodeStatus {
        let device =
            AgentDevice { mig, memory_used: Some(Mebibytes::from_gib(used)), ..AgentDevice::default() };
        GpuNodeStatus {
            observed_at: Some(at.to_owned()),
            heartbeat_seconds: Some(60),
            devices: vec![device],
            ..GpuNodeStatus::default()
        }
    }

    #[test]
    fn a_change_of_what_the_node_can_do_is_written_at_once() {
        let mut publication = Publication::default();
        let first = status(MigMode::Enabled, 3, "1");
        assert!(publication.is_due(&first, 100), "the first");
        publication.written(first, 100);
        assert!(publication.is_due(&status(MigMode::Disabled, 3, "2"), 100));
    }

    #[test]
    fn memory_in_use_is_written_at_most_every_ten_seconds() {
        let mut publication = Publication::default();
        publication.written(status(MigMode::Enabled, 3, "1"), 100);
        let more = status(MigMode::Enabled, 4, "2");
        assert!(!publication.is_due(&more, 109));
        assert!(publication.is_due(&more, 110));
    }

    #[test]
    fn nothing_new_is_a_sign_of_life_once_a_heartbeat() {
        let mut publication = Publication::default();
        publication.written(status(MigMode::Enabled, 3, "1"), 100);
        let same = status(MigMode::Enabled, 3, "2");
        assert!(!publication.is_due(&same, 159));
        assert!(publication.is_due(&same, 160));
    }
}
