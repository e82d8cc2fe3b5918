//! `mig-layout-impossible`: a MIG layout asked of cards that have no such profile.

use crate::{
    gpu::MigProfile,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule, offers},
    subject::Body,
};

const CONFIG: &str = "nvidia.com/mig.config";

/// `mig-layout-impossible`
pub static MIG_LAYOUT_IMPOSSIBLE: Rule = Rule {
    id: "mig-layout-impossible",
    family: Family::Mig,
    summary: "the MIG layout that a node is told to have is one of its cards'",
    why: "Profile names carry the slice's memory and differ by card. The MIG manager stops the node's GPU services, finds that it cannot apply the layout, and leaves the node in state failed: it hands out nothing until somebody comes.",
    remedy: "Use a layout of this card; `nvidia-smi mig -lgip` on the node lists its profiles.",
    severity: Severity::Warn,
    severity_because: "a layout is named freely in the MIG manager's configuration; only its usual names (all-1g.10gb) tell the profile",
    applies: Applies::NodeChanges,
    needs: &[],
    sources: &["NVIDIA mig-parted: default configuration", "NVIDIA MIG user guide: profiles"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Body::Node(change) = &case.subject.body else { return };
    let (old, new) = (change.old.as_ref(), &change.new.metadata.labels);
    let Some(wanted) = new
        .get(CONFIG)
        .filter(|wanted| old.is_none_or(|old| old.metadata.labels.get(CONFIG) != Some(*wanted)))
    else {
        return;
    };
    let profile = wanted.strip_prefix("all-").and_then(|profile| profile.parse::<MigProfile>().ok());
    let (Some(profile), Some(node)) = (profile, case.world.cluster.node(&case.subject.name)) else { return };
    let shape = &node.shape;
    let Some(model) = shape.assessment.model.and_then(|name| name.model()) else { return };
    if model.has_profile(profile) != Some(false) {
        return;
    }
    let mut known: Vec<String> = model
        .mig_table()
        .map(|table| table.profiles.keys().map(ToString::to_string).collect())
        .unwrap_or_default();
    known.sort_by(|a, b| {
        let alike = |text: &str| strsim::jaro_winkler(text, &profile.to_string());
        alike(b).total_cmp(&alike(a)).then_with(|| a.cmp(b))
    });
    let (should, remedy) = match known.first() {
        Some(nearest) => (
            format!("a profile of it: {}", known.join(", ")),
            format!("set the label to all-{nearest}, or to a layout of your own of such profiles"),
        ),
        None => (
            "no MIG layout".to_owned(),
            "set the label to all-disabled, or remove it; share the card by time-slicing or MPS".to_owned(),
        ),
    };
    let is = format!("{wanted} on {}, which has no profile {profile}", offers::model_in_words(shape));
    findings.add(rule, format!("metadata.labels[{CONFIG}]"), is, should, remedy);
}
