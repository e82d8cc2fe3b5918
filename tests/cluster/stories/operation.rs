//! What happens while somebody changes policies and certificates, and while a part of sluice is down.

mod outages;
mod policies;

use super::gate::Gate;
use crate::harness::groups::Group;
use crate::stories;

/// Every story of this folder.
pub fn group() -> Group {
    Group::new::<Gate>(
        "operation",
        stories![
            policies::an_edit_takes_effect_within_seconds_and_a_broken_one_changes_nothing,
            outages::without_the_extender_gpu_pods_wait_and_others_do_not,
            outages::availability_lets_an_unjudged_pod_in_and_keeps_it_off_wrong_nodes,
        ],
    )
}
