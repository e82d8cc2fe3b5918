//! `GpuPool`.

mod mig;

use std::sync::Arc;

use super::{Place, selectors, units};
use crate::{
    gpu::Mode,
    k8s::{names, object},
    policy::{
        error::Faults,
        raw::{self, GpuPoolSpec, SharedUnits},
        set::{Autoscaling, Pool, Requires},
    },
};

/// Most replicas of a card under MPS (device plugin v0.20, `cmd/mps-control-daemon`).
const MPS_REPLICAS: u32 = 48;

/// Compiles a pool.
pub fn compile(raw: &raw::GpuPool, place: Place<'_>, faults: &mut Faults<'_>) -> Pool {
    let (spec, place) = (&raw.spec, place.key("spec"));
    modes(spec, place, faults);
    let shared = shared_units(spec, place, faults);
    Pool {
        name: Arc::from(raw.metadata.name.as_str()),
        nodes: selectors::nodes(&spec.nodes, place.key("nodes"), faults),
        mode: spec.mode,
        resource: spec.resource.clone().inspect(|name| resource(name, place.key("resource"), faults)),
        device_class: spec.device_class.clone(),
        replicas: shared.map(|units| units.replicas),
        fail_requests_greater_than_one: shared.and_then(|units| units.fail_requests_greater_than_one),
        mig: mig::layout(spec, place, faults),
        cards_per_node: spec.cards_per_node,
        taints: taints(&spec.taints, place.key("taints"), faults),
        autoscaling: autoscaling(spec, place, faults),
        requires: requires(spec.requires.as_ref(), place.key("requires"), faults),
        cost: spec.cost,
    }
}

/// Blocks of parameters that do not go with the mode, or with each other.
fn modes(spec: &GpuPoolSpec, place: Place<'_>, faults: &mut Faults<'_>) {
    let mps = spec.mode == Mode::Mps || spec.mps.is_some();
    let mig = spec.mode == Mode::Mig || spec.mig.is_some();
    let slicing = spec.mode == Mode::TimeSlicing || spec.time_slicing.is_some();
    if mps && mig {
        let at = place.name_of(if spec.mode == Mode::Mps { "mig" } else { "mps" });
        let why = "the device plugin serves MPS on whole cards only; its daemon fails on cards in MIG mode";
        faults.push(at, "mps-with-mig: the pool has both MPS and MIG".to_owned(), why, None);
    }
    if mps && slicing {
        let at = place.name_of(if spec.mode == Mode::Mps { "timeSlicing" } else { "mps" });
        let why = "a node has one sharing method; the device plugin ignores time-slicing where MPS is set";
        faults.push(at, "time-slicing-with-mps: the pool has both".to_owned(), why, None);
    }
    let unused = [
        ("mps", spec.mps.is_some() && !mig && !slicing && spec.mode != Mode::Mps, Mode::Mps),
        (
            "timeSlicing",
            spec.time_slicing.is_some() && !mps && spec.mode != Mode::TimeSlicing,
            Mode::TimeSlicing,
        ),
        ("mig", spec.mig.is_some() && !mps && !matches!(spec.mode, Mode::Mig | Mode::TimeSlicing), Mode::Mig),
    ];
    for (block, _, mode) in unused.into_iter().filter(|(_, wrong, _)| *wrong) {
        let what = format!("`{block}` in a pool of mode {}", spec.mode);
        let why = match (spec.mode, block) {
            (Mode::Mig, "timeSlicing") => {
                "inside a slice that is time-sliced nothing is isolated, so the pool's mode is time-slicing"
            }
            _ => "these are parameters of another mode",
        };
        faults.push(place.name_of(block), what, why, Some(format!("`mode: {mode}`")));
    }
}

fn shared_units(spec: &GpuPoolSpec, place: Place<'_>, faults: &mut Faults<'_>) -> Option<SharedUnits> {
    for (units, block) in [(spec.time_slicing, "timeSlicing"), (spec.mps, "mps")] {
        let Some(units) = units else { continue };
        let at = place.key(block).key("replicas").at();
        if units.replicas < 2 {
            let what = format!("{block}.replicas is {}", units.replicas);
            let why = "a shared card has at least 2 units; the device plugin refuses less";
            faults.push(at, what, why, None);
        }
        if block == "mps" && units.replicas > MPS_REPLICAS {
            let what = format!("mps.replicas is {}", units.replicas);
            faults.push(at, what, format!("MPS serves at most {MPS_REPLICAS} clients of a card"), None);
        }
    }
    match spec.mode {
        Mode::Mps => spec.mps,
        _ => spec.time_slicing,
    }
}

fn resource(name: &str, place: Place<'_>, faults: &mut Faults<'_>) {
    for problem in names::label_key_problems(name) {
        faults.push(place.at(), format!("bad resource name `{name}`"), problem.to_string(), None);
    }
    if !name.contains('/') {
        let why = "an extended resource has a domain before its name";
        let suggestion = Some(format!("`nvidia.com/{name}`"));
        faults.push(place.at(), format!("bad resource name `{name}`"), why, suggestion);
    }
}

fn taints(raw: &[raw::Taint], place: Place<'_>, faults: &mut Faults<'_>) -> Vec<object::Taint> {
    let taint = |(index, taint): (usize, &raw::Taint)| {
        for problem in names::label_key_problems(&taint.key) {
            let at = place.item(index).key("key").at();
            faults.push(at, format!("bad taint key `{}`", taint.key), problem.to_string(), None);
        }
        for problem in names::label_value_problems(&taint.value) {
            let at = place.item(index).key("value").at();
            faults.push(at, format!("bad taint value `{}`", taint.value), problem.to_string(), None);
        }
        let effect = taint.effect.as_str().to_owned();
        object::Taint { key: taint.key.clone(), value: taint.value.clone(), effect }
    };
    raw.iter().enumerate().map(taint).collect()
}

fn autoscaling(spec: &GpuPoolSpec, place: Place<'_>, faults: &mut Faults<'_>) -> Option<Autoscaling> {
    let bounds = spec.autoscaling?;
    let place = place.key("autoscaling");
    if bounds.min > bounds.max {
        let what = format!("autoscaling.min is {} and max is {}", bounds.min, bounds.max);
        faults.push(place.key("min").at(), what, "the pool can never have that many nodes", None);
    }
    if bounds.min == 0 && spec.mode.is_software_shared() {
        let what = format!("a {} pool that starts from 0 nodes", spec.mode);
        let why = "the autoscaler counts physical cards until a node has registered, so it starts too many \
                   nodes; keep min at 1 or tell the node template the shared count";
        faults.doubt("autoscaler-unaware-of-sharing", place.key("min").at(), what, why);
    }
    Some(Autoscaling { min: bounds.min, max: bounds.max })
}

fn requires(raw: Option<&raw::Requires>, place: Place<'_>, faults: &mut Faults<'_>) -> Requires {
    let Some(raw) = raw else { return Requires::default() };
    super::check_patterns(&raw.models, place.key("models"), faults);
    let capability = place.key("computeCapability");
    Requires {
        models: raw.models.clone(),
        compute_capability: units::version_pair(raw.compute_capability.as_ref(), capability, faults),
        memory: units::memory(raw.memory.as_ref(), place.key("memory"), faults),
        driver: units::version(raw.driver.as_ref(), place.key("driver"), faults),
        kubernetes: units::version_pair(raw.kubernetes.as_ref(), place.key("kubernetes"), faults),
        dra: raw.dra,
    }
}
