//! Who is it: the class of a Pod, or why there is none.

use std::sync::Arc;

use serde_json::Value;

use super::Recognized;
use crate::{
    k8s::object::Pod,
    policy::{
        Class,
        recognize::{self, Answer, Match, Seen},
    },
    subject::CLASS_LABEL,
    world::World,
};

/// What recognition came to.
#[derive(Clone, Debug)]
pub(super) enum Classification {
    /// One class.
    One(Arc<Class>, Recognized),
    /// Several, equally strong.
    Ambiguous(Vec<Match>),
    /// The label names a class that no policy has.
    UnknownName(String),
    /// Nothing recognised it.
    None,
}

/// Finds the class of a Pod. `raw` is the Pod, or template, as JSON: what CEL expressions look at.
pub(super) fn classify(world: &World, pod: &Pod, raw: &Value, owner: Option<&str>) -> Classification {
    let class_label = pod.metadata.labels.get(CLASS_LABEL).map(String::as_str);
    if let Some(name) = class_label
        && world.policies.class(name).is_none()
    {
        return Classification::UnknownName(name.to_owned());
    }
    let seen = Seen { pod, raw: Some(raw), owner, class_label };
    let recognition = recognize::recognize(&world.policies, &seen);
    match recognition.answer() {
        Answer::Unknown => Classification::None,
        Answer::Ambiguous(several) => Classification::Ambiguous(several.to_vec()),
        Answer::One(found) => match world.policies.class(&found.class) {
            Some(class) => {
                let recognized = Recognized { class: found.class.clone(), by: found.by.clone() };
                Classification::One(class.clone(), recognized)
            }
            None => Classification::None,
        },
    }
}
