//! `limitrange-defaults-gpu`: a LimitRange that hands GPUs to containers which ask for none.

use std::collections::BTreeSet;

use crate::{
    gpu::resource,
    k8s::object::LimitRangeItem,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule},
    subject::{Body, demand},
};

/// `limitrange-defaults-gpu`
pub static LIMITRANGE_DEFAULTS_GPU: Rule = Rule {
    id: "limitrange-defaults-gpu",
    family: Family::Quota,
    summary: "a LimitRange gives no container a GPU that it did not ask for",
    why: "A max (or min) of type Container is copied into default and defaultRequest where these are absent, and the LimitRanger fills them into every container: sidecars included, each gets that many GPUs.",
    remedy: "Bound GPUs by a ResourceQuota with requests.nvidia.com/gpu.",
    severity: Severity::Deny,
    severity_because: "from then on every new container of the namespace takes GPUs that others need",
    applies: Applies::Limits,
    needs: &[],
    sources: &["Kubernetes pkg/apis/core/v1/defaults.go: SetDefaults_LimitRangeItem"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Body::Limits(limits) = &case.subject.body else { return };
    for (index, item) in limits.spec.limits.iter().enumerate().filter(|(_, item)| item.kind == "Container") {
        for (name, field) in handed_out(item) {
            findings.add(
                rule,
                format!("spec.limits[{index}].{field}[{name}]"),
                format!("{name} for every container that asks for none{}", why(field)),
                format!("no {name} in a LimitRange of type Container"),
                format!("remove it, and bound the namespace by a ResourceQuota with requests.{name}"),
            );
        }
    }
}

fn why(field: &str) -> &'static str {
    if field.starts_with("default") { "" } else { ": a bound becomes the default where none is written" }
}

/// GPU names that containers without a request are given, with the field that does it: `max` is copied to
/// `default`, that to `defaultRequest`, and `min` to a `defaultRequest` that is still absent.
fn handed_out(item: &LimitRangeItem) -> Vec<(&str, &'static str)> {
    let lists = [
        ("default", &item.default),
        ("max", &item.max),
        ("defaultRequest", &item.default_request),
        ("min", &item.min),
    ];
    let names: BTreeSet<&String> = lists.iter().flat_map(|(_, list)| list.keys()).collect();
    let gives = |name: &String, sources: &[usize]| {
        let (field, list) = sources.iter().map(|at| lists[*at]).find(|(_, list)| list.contains_key(name))?;
        let some = list.get(name).and_then(demand::whole) != Some(0);
        some.then_some(field)
    };
    names
        .into_iter()
        .filter(|name| resource::is_gpu_like(name))
        .filter_map(|name| {
            Some((name.as_str(), gives(name, &[0, 1]).or_else(|| gives(name, &[2, 0, 1, 3]))?))
        })
        .collect()
}
