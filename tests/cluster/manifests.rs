//! Stories of what is shipped for a cluster, with no sluice behind it: what a real API server makes of the
//! manifests, whom the webhooks would be asked about, and what holds while nobody answers.

mod apply;
mod backstop;
mod pods;
mod reach;
mod recorder;

use std::path::Path;

use crate::harness::controlplane::ControlPlane;
use crate::harness::groups::{Fixture, Group};
use crate::harness::scheduling::Scheduler;
use crate::stories;

/// Every group of this file.
pub fn group() -> Group {
    Group::new(
        "manifests",
        stories![
            reach::whatever_rust_calls_relevant_reaches_us,
            reach::templates_reach_us_as_their_pods_would,
            reach::only_what_can_matter_in_a_change_reaches_us,
            reach::debug_containers_and_resizes_reach_us_where_they_can_matter,
            backstop::a_gpu_pod_that_nobody_judged_is_refused_with_a_way_out,
            backstop::a_record_is_not_edited,
            backstop::a_mirror_pod_is_exempt_for_its_own_node_only,
            backstop::availability_admits_what_nobody_judged,
            backstop::observe_refuses_nothing,
            apply::every_overlay_is_applied_with_strict_validation,
            apply::the_documented_commands_install_and_renew,
            apply::the_cluster_comes_up_with_nothing_of_ours_running,
            apply::accounts_may_do_what_they_need_and_nothing_else,
            apply::the_gpu_scheduler_runs_with_its_own_account_and_lease,
        ],
    )
}

/// A whole control plane.
pub struct Installed(pub ControlPlane);

impl Fixture for Installed {
    fn start() -> Installed {
        let builder = ControlPlane::builder().with_scheduler(Scheduler::default());
        Installed(builder.with_controller_manager().with_kwok().start())
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn report(&self) -> String {
        self.0.report()
    }
}

/// A file of the repository.
fn shipped(path: &str) -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path}: {error}"))
}
