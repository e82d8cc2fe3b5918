//! Whether nodes prove what a pool says of them: the mode by evidence, and the pool's conditions of use.

use crate::{
    cluster::Shape,
    gpu::{Assessment, Isolation, Standing as Evidence, is_at_least, model_matches},
    policy::{Pool, Requires},
};

/// What a pool can be used for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Some of its nodes prove the mode and meet the conditions.
    Proven,
    /// It has no node.
    Empty {
        /// An autoscaler may give it some.
        autoscaled: bool,
    },
    /// No node proves the mode; why.
    Unproven(Vec<String>),
    /// What its nodes say of themselves does not agree; what and who says it.
    Contradicted(Vec<String>),
    /// Conditions of use (`requires`) that do not hold, in the inventory's words.
    Unmet(Vec<String>),
}

/// What nodes of one shape are to a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShapeStanding {
    /// They prove the mode and meet the conditions.
    Usable,
    /// They do not prove the mode.
    Unproven(String),
    /// What they say of themselves does not agree.
    Contradicted(String),
    /// Conditions of use that they do not meet.
    Unmet(Vec<String>),
}

impl Standing {
    /// Of a pool whose nodes stand so: one good shape is enough.
    pub(super) fn of<'a>(shapes: impl Iterator<Item = &'a ShapeStanding> + Clone, autoscaled: bool) -> Self {
        let mut reasons = [const { Vec::new() }; 3];
        let mut any = false;
        for shape in shapes {
            any = true;
            let (class, texts) = match shape {
                ShapeStanding::Usable => return Self::Proven,
                ShapeStanding::Contradicted(text) => (0, std::slice::from_ref(text)),
                ShapeStanding::Unmet(texts) => (1, texts.as_slice()),
                ShapeStanding::Unproven(text) => (2, std::slice::from_ref(text)),
            };
            for text in texts.iter().filter(|text| !text.is_empty()) {
                if !reasons[class].contains(text) {
                    reasons[class].push(text.clone());
                }
            }
        }
        let [contradicted, unmet, unproven] = reasons;
        match (any, contradicted.is_empty(), unmet.is_empty()) {
            (false, ..) => Self::Empty { autoscaled },
            (true, false, _) => Self::Contradicted(contradicted),
            (true, true, false) => Self::Unmet(unmet),
            (true, true, true) => Self::Unproven(unproven),
        }
    }
}

impl ShapeStanding {
    /// Whether nodes of the shape serve the pool.
    #[must_use]
    pub const fn is_usable(&self) -> bool {
        matches!(self, Self::Usable)
    }

    /// Asks a shape whether it is what the pool says.
    pub(super) fn of(pool: &Pool, shape: &Shape) -> Self {
        let assessment = &shape.assessment;
        if assessment.mode.standing == Evidence::Contradicted {
            return Self::Contradicted(assessment.mode.explanation.clone());
        }
        if let Some(reason) = unproven(pool, assessment) {
            return Self::Unproven(reason);
        }
        let unmet = unmet(&pool.requires, shape);
        if unmet.is_empty() { Self::Usable } else { Self::Unmet(unmet) }
    }
}

fn unproven(pool: &Pool, assessment: &Assessment) -> Option<String> {
    let mode = &assessment.mode;
    if mode.mode != Some(pool.mode) {
        let mut reason = match mode.mode {
            Some(_) => format!("declared {}, the nodes show {}", pool.mode, mode.explanation),
            None => format!("declared {}, not proven: {}", pool.mode, mode.explanation),
        };
        if pool.mode == crate::gpu::Mode::Mig && !reason.contains(&assessment.mig.explanation) {
            reason = format!("{reason} ({})", assessment.mig.explanation);
        }
        return Some(reason);
    }
    // A mode that isolates nothing promises nothing, so nothing has to be proven.
    if mode.standing == Evidence::Unverified && pool.mode.isolation() != Isolation::default() {
        return Some(format!("{} is not verified: {}", pool.mode, mode.explanation));
    }
    let resource = pool.resource.as_ref()?;
    let offered = assessment.units.iter().any(|unit| unit.resource == *resource);
    (!offered).then(|| format!("{resource} is declared, and no node advertises it"))
}

/// The conditions that the shape does not meet; what nobody knows is not met.
pub(super) fn unmet(requires: &Requires, shape: &Shape) -> Vec<String> {
    let known = &shape.assessment;
    let mut unmet = Vec::new();
    if !requires.models.is_empty() && !requires.models.iter().any(|model| is_model(known, model)) {
        let is = known.product.clone().or_else(|| known.model.map(|model| model.to_string()));
        unmet.push(needs("model", requires.models.join(" or "), is));
    }
    if let Some(least) = requires.compute_capability
        && known.compute_capability.is_none_or(|has| has < least)
    {
        let is = known.compute_capability.map(dotted);
        unmet.push(needs("compute capability", format!("{} or higher", dotted(least)), is));
    }
    if let Some(least) = requires.memory
        && known.memory.is_none_or(|has| has < least)
    {
        unmet.push(needs("memory", format!("{least} or more"), known.memory.map(|has| has.to_string())));
    }
    if let Some(least) = &requires.driver
        && known.driver.as_ref().is_none_or(|has| !is_at_least(has, least))
    {
        let is = known.driver.as_deref().map(version);
        unmet.push(needs("driver", format!("{} or newer", version(least)), is));
    }
    if let Some(least) = requires.kubernetes
        && shape.kubernetes.is_none_or(|has| has < least)
    {
        unmet.push(needs("kubelet", format!("{} or newer", dotted(least)), shape.kubernetes.map(dotted)));
    }
    if requires.dra && !known.dra {
        unmet.push("needs DRA; no GPU driver publishes ResourceSlices for these nodes".to_owned());
    }
    unmet
}

/// Whether the cards are of a model as a policy writes it.
pub(super) fn is_model(assessment: &Assessment, pattern: &str) -> bool {
    assessment.product.as_deref().is_some_and(|product| model_matches(pattern, product))
        || assessment.model.is_some_and(|model| model_matches(pattern, model.as_str()))
}

fn needs(what: &str, wanted: String, is: Option<String>) -> String {
    format!("needs {what} {wanted}; the nodes have {}", is.unwrap_or_else(|| "an unknown one".to_owned()))
}

fn dotted((major, minor): (u32, u32)) -> String {
    format!("{major}.{minor}")
}

fn version(parts: &[u32]) -> String {
    parts.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
}
