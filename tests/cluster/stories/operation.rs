//! What happens while somebody changes policies and certificates, and while a part of sluice is down.

mod bundle;
mod certificates;
mod outages;
mod picture;
mod policies;
mod watch;

use super::gate::Gate;
use crate::harness::groups::Group;
use crate::stories;

/// Every story of this folder.
pub fn group() -> Group {
    Group::new::<Gate>(
        "operation",
        stories![
            policies::an_edit_takes_effect_within_seconds_and_a_broken_one_changes_nothing,
            certificates::a_certificate_is_renewed_while_reviews_go_on,
            picture::a_snapshot_reads_back_to_the_same_answers,
            bundle::what_is_applied_together_is_never_missed,
            bundle::the_labels_of_a_namespace_count_from_its_creation,
            watch::a_broken_watch_keeps_the_picture_and_its_age_is_known,
            outages::without_the_extender_gpu_pods_wait_and_others_do_not,
            outages::availability_lets_an_unjudged_pod_in_and_keeps_it_off_wrong_nodes,
        ],
    )
}
