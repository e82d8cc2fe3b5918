//! What a person reads who applies something that cannot work, in kubectl's own output; and that nobody else
//! hears of us.

mod disruption;
mod irrelevant;
mod pods;
mod templates;

use super::gate::Gate;
use crate::harness::groups::Group;
use crate::stories;

/// Every story of this folder.
pub fn group() -> Group {
    Group::new::<Gate>(
        "refusals",
        stories![
            pods::a_request_that_differs_from_its_limit_is_refused_before_we_could,
            pods::a_limit_that_differs_from_what_the_engine_needs_is_refused,
            pods::an_affinity_that_no_node_meets_is_refused,
            pods::a_probe_that_kills_a_loading_model_is_warned_about,
            templates::a_missing_priority_class_is_told_to_who_applies_the_deployment,
            templates::a_deployment_shows_every_finding_of_its_template,
            disruption::a_budget_that_blocks_every_drain_is_warned_about,
            disruption::a_new_mig_layout_for_a_node_with_tenants_is_warned_about,
            irrelevant::what_does_not_concern_us_never_reaches_us,
        ],
    )
}
