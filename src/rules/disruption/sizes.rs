//! How many Pods a budget selects: of the workloads that the picture shows, or of the one that is judged.

use crate::{
    cluster::Workload,
    k8s::{
        disruption,
        object::{IntOrText, PodDisruptionBudget},
        rollout,
    },
    rules::{Case, scale},
    subject::Body,
};

/// Sizes at which a budget without a known workload is tried: what holds at all of them holds at any.
pub const ANY_SIZE: [i64; 3] = [1, 2, 100];

/// Smallest and largest number of Pods that a budget selects, and whose.
#[derive(Default)]
pub struct Sizes {
    pub least: i64,
    pub most: i64,
    pub whose: String,
    /// A kind among them that has no scale.
    kind_without_scale: Option<&'static str>,
}

/// Kinds whose controllers have no scale: of their Pods only a whole number in `minAvailable` can be counted.
const WITHOUT_SCALE: [(&str, &str); 9] = [
    ("Job", "Job"),
    ("CronJob", "Job"),
    ("DaemonSet", "DaemonSet"),
    ("JobSet", "Job"),
    ("TrainJob", "Job"),
    ("RayCluster", "RayCluster"),
    ("RayJob", "RayCluster"),
    ("RayService", "RayCluster"),
    ("PyTorchJob", "PyTorchJob"),
];

impl Sizes {
    /// The kind for whose Pods the controller cannot compute the budget.
    pub fn unscalable(&self, budget: &PodDisruptionBudget) -> Option<&'static str> {
        self.kind_without_scale.filter(|_| disruption::needs_scale(&budget.spec))
    }
}

/// The workloads that a budget selects, as far as they ask for GPUs; `None` where there is none.
pub fn of_selected(case: &Case<'_>, budget: &PodDisruptionBudget) -> Option<Sizes> {
    let selector = budget.spec.selector.as_ref()?;
    let mut sizes = Sizes::default();
    let mut names = Vec::new();
    for workload in case.world.cluster.workloads(&case.subject.namespace) {
        if workload.object.metadata.controller().is_some() || !selector.selects(&workload.pod_labels) {
            continue;
        }
        let (least, most) = reach(case, workload);
        sizes.least = sizes.least.saturating_add(least);
        sizes.most = sizes.most.saturating_add(most);
        sizes.kind_without_scale = sizes.kind_without_scale.or_else(|| without_scale(&workload.object.kind));
        names.push(format!("{} {}", workload.object.kind, workload.object.metadata.name));
    }
    sizes.whose = names.join(", ");
    (!names.is_empty()).then_some(sizes)
}

/// An autoscaler whose target the budget means by name, where the target itself is not in the picture.
pub fn of_namesake(case: &Case<'_>, budget: &PodDisruptionBudget) -> Option<Sizes> {
    let selector = budget.spec.selector.as_ref()?;
    let mut hpas = case.world.cluster.hpas(&case.subject.namespace);
    let hpa = hpas.find(|hpa| {
        let target = &hpa.spec.scale_target_ref;
        case.world.cluster.workload(&target.kind, &case.subject.namespace, &target.name).is_none()
            && selector.match_labels.values().any(|value| *value == target.name)
    })?;
    Some(Sizes {
        least: hpa.spec.min_replicas.unwrap_or(1),
        most: hpa.spec.max_replicas,
        whose: format!("{} {}", hpa.spec.scale_target_ref.kind, hpa.spec.scale_target_ref.name),
        kind_without_scale: None,
    })
}

/// A workload with every budget of its namespace that selects Pods of it.
pub fn of_template(case: &Case<'_>, mut look: impl FnMut(&PodDisruptionBudget, &Sizes)) {
    let Body::Template(template) = &case.subject.body else { return };
    let scaled = scale::bounds(case, &case.subject.kind, &case.subject.name);
    for budget in case.world.cluster.budgets(&case.subject.namespace) {
        let Some(selector) = &budget.spec.selector else { continue };
        let selected = template.groups.iter().filter(|group| selector.selects(&group.pod.metadata.labels));
        let mut selected = selected.peekable();
        if selected.peek().is_none() {
            continue;
        }
        // What is set elsewhere cannot be counted here.
        let count = selected.map(|group| group.count).try_fold(0_i64, |sum, count| Some(sum + count?));
        let kind_without_scale = without_scale(&case.subject.kind);
        let (least, most) = match (scaled, count) {
            (Some(bounds), _) => bounds,
            (None, Some(count)) => (count, count),
            (None, None) if kind_without_scale.is_some() => (0, 0),
            (None, None) => continue,
        };
        look(budget, &Sizes { least, most, whose: String::new(), kind_without_scale });
    }
}

/// The bound that counts, as it is written.
pub fn bound(budget: &PodDisruptionBudget) -> (&'static str, String) {
    let (field, value) = match (&budget.spec.max_unavailable, &budget.spec.min_available) {
        (Some(value), _) => ("maxUnavailable", Some(value)),
        (None, value) => ("minAvailable", value.as_ref()),
    };
    let text = match value {
        Some(IntOrText::Int(number)) => number.to_string(),
        Some(IntOrText::Text(text)) => text.clone(),
        None => "absent".to_owned(),
    };
    (field, text)
}

/// Fewest and most Pods of a workload: the autoscaler's bounds, else its replicas.
fn reach(case: &Case<'_>, workload: &Workload) -> (i64, i64) {
    let spec = &workload.object.spec;
    let count =
        if workload.object.kind == "Job" { spec.parallelism.unwrap_or(1) } else { rollout::replicas(spec) };
    scale::bounds(case, &workload.object.kind, &workload.object.metadata.name).unwrap_or((count, count))
}

fn without_scale(kind: &str) -> Option<&'static str> {
    WITHOUT_SCALE.iter().find(|(own, _)| *own == kind).map(|(_, controller)| *controller)
}
