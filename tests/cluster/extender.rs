//! Stories of the extender in depth: a real kube-scheduler with the shipped configuration, and `sluice serve`
//! beside it, whose road to the API server a story may make long.

mod ground;
mod preempting;
mod promises;
mod rights;
mod waking;

use crate::harness::groups::Group;
use crate::stories;
use ground::Ground;

/// Every story of this folder.
pub fn group() -> Group {
    Group::new::<Ground>(
        "extender",
        stories![
            promises::one_room_is_given_once,
            promises::two_rooms_are_given_once,
            promises::eight_rooms_are_given_once,
            preempting::a_loading_model_is_spared_and_a_job_goes,
            waking::a_picture_that_was_behind_wakes_whom_it_turned_away,
            waking::a_changed_policy_wakes,
            waking::the_agents_word_wakes,
            rights::the_wake_up_may_change_one_annotation_and_nothing_else,
        ],
    )
}
