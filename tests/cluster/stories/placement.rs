//! Where Pods land: as they are written without sluice, and where their class can be served with it.

mod affinity;
mod again;
mod classes;
mod drain;
mod fallback;
mod mig;
mod worlds;

use super::gate::Gate;
use crate::harness::groups::Group;
use crate::stories;

/// Every story of this folder.
pub fn group() -> Group {
    Group::new::<Gate>(
        "placement",
        stories![
            classes::each_class_lands_on_a_pool_that_can_serve_it,
            mig::mixed_slices_are_reached_by_rewriting,
            mig::slices_under_the_name_of_cards_need_no_rewriting,
            mig::shares_under_their_own_name_are_reached_by_rewriting,
            mig::a_class_that_forbids_rewriting_is_refused_with_that_reason,
            fallback::where_no_card_has_mig_the_next_choice_is_taken_and_told,
            affinity::two_terms_stay_a_choice_between_the_same_two,
            again::a_pod_that_was_changed_once_is_not_changed_again,
            again::after_an_injector_only_its_container_is_touched,
            worlds::what_was_legal_a_moment_ago_is_not_refused,
            drain::the_replacement_of_a_drained_pod_goes_through_the_same_gate,
        ],
    )
}
