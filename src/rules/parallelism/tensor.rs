//! GPUs that an engine works on together, against what its container asks for and what the pool hands out.
//! One computation, four rules: MIG slices, shares of a card, too few cards, several slices for nobody.

use crate::{
    cluster::Kind,
    gpu::{Mode, resource::GpuResource},
    k8s::object::PodSpec,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, offers},
    subject::{
        demand::{self, Ask},
        engine::Arguments,
    },
};

const SOURCES: &[&str] = &[
    "NVIDIA MIG user guide: no peer-to-peer between MIG devices; a CUDA process uses one",
    "NCCL: one communicator does not take a device twice",
    "vLLM: tensor and pipeline parallel size",
];

const fn rule(
    id: &'static str,
    summary: &'static str,
    why: &'static str,
    remedy: &'static str,
    severity: Severity,
    severity_because: &'static str,
    check: fn(&Case<'_>, &'static Rule, &mut Findings),
) -> Rule {
    Rule {
        id,
        family: Family::Parallelism,
        summary,
        why,
        remedy,
        severity,
        severity_because,
        applies: Applies::Pods,
        needs: &[],
        sources: SOURCES,
        check: Check::Case(check),
    }
}

/// `tp-on-mig`
pub static TP_ON_MIG: Rule = rule(
    "tp-on-mig",
    "an engine that works on several GPUs together gets cards, not MIG slices",
    "MIG devices have no peer-to-peer, and a CUDA process sees only one of them: an engine with a parallel size above 1 does not start on slices.",
    "Use whole cards, or a parallel size of 1 on one larger slice.",
    Severity::Deny,
    "the engine cannot start",
    on_mig,
);

/// `tp-on-shared`
pub static TP_ON_SHARED: Rule = rule(
    "tp-on-shared",
    "an engine that works on several GPUs together gets cards, not shares of one",
    "Two units of a shared pool may be one device, and collectives refuse the same device twice: the engine hangs or fails while it starts.",
    "Use whole cards, or a parallel size of 1.",
    Severity::Deny,
    "each process of the engine needs a card of its own",
    on_shared,
);

/// `tp-gpu-mismatch`
pub static TP_GPU_MISMATCH: Rule = rule(
    "tp-gpu-mismatch",
    "a container asks for as many GPUs as its engine works on, over all copies of the model",
    "With fewer the engine does not start; with more that it cannot divide, some are paid for and never used.",
    "Make tensor × pipeline × data parallel size and the number of GPUs equal.",
    Severity::Deny,
    "with fewer GPUs than the parallel sizes come to the engine cannot start; GPUs that are left over, and processes that may do without one, only warn",
    mismatch,
);

/// `mig-slices-gt-one`
pub static MIG_SLICES_GT_ONE: Rule = rule(
    "mig-slices-gt-one",
    "a container asks for one MIG slice",
    "A CUDA process sees one MIG device, however many the container has: the others stay idle unless the container starts a process for each.",
    "Ask for one larger slice, or one slice in each of several Pods.",
    Severity::Warn,
    "a container may start one process for each slice",
    several_slices,
);

fn on_mig(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for_each_engine(case, findings, |pod, ask, arguments, findings| {
        let Some(together) = together(arguments) else { return };
        if !modes(case, pod, ask).all_are(|mode| mode == Mode::Mig) {
            return;
        }
        findings
            .add(
                rule,
                format!("{}.resources", ask.path),
                format!("{}, MIG slices, for an engine that works on {together} GPUs together", ask.resource),
                "whole cards, or a parallel size of 1",
                whole_cards(case, together),
            )
            .in_container(&ask.container.name);
    });
}

fn on_shared(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for_each_engine(case, findings, |pod, ask, arguments, findings| {
        // Copies of the model are processes of their own, and each wants a card of its own too.
        let Some(together) = arguments.gpus_needed().filter(|needed| *needed > 1) else { return };
        if !modes(case, pod, ask).all_are(Mode::is_software_shared) {
            return;
        }
        findings
            .add(
                rule,
                format!("{}.resources", ask.path),
                format!(
                    "{}, shares of a card, for an engine that works on {together} GPUs together",
                    ask.resource
                ),
                "whole cards, or a parallel size of 1",
                whole_cards(case, together),
            )
            .in_container(&ask.container.name);
    });
}

fn mismatch(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for_each_engine(case, findings, |pod, ask, arguments, findings| {
        let Some(count) = ask.count() else { return };
        let cards = modes(case, pod, ask).0.iter().all(|mode| *mode == Mode::Exclusive);
        if !cards || arguments.may_span_pods() {
            return;
        }
        let Some(Mismatch { is, should, remedy, certain }) = against(arguments, count) else { return };
        let path = format!("{}.resources.limits[{}]", ask.path, ask.resource);
        let finding = findings.add(rule, path, is, should, remedy);
        finding.in_container(&ask.container.name);
        if !certain {
            finding.at_most(Severity::Warn);
        }
    });
}

/// What speaks against a number of GPUs.
struct Mismatch {
    is: String,
    should: String,
    remedy: String,
    /// The engine cannot start; otherwise something is probably wrong, or wasted.
    certain: bool,
}

fn against(arguments: &Arguments, count: i64) -> Option<Mismatch> {
    let needed = arguments.gpus_needed().filter(|needed| *needed > 1);
    if let Some(needed) = needed.filter(|needed| count % needed != 0) {
        let copies = arguments.copies().filter(|copies| *copies > 1 && needed % copies == 0);
        let engine = match (copies, arguments.gpus_together()) {
            (Some(copies), Some(together)) => {
                format!("{copies} copies of a model that works on {together} GPUs together")
            }
            (Some(copies), None) => format!("{copies} copies of a model"),
            _ => format!("an engine that works on {needed} GPUs together"),
        };
        return Some(Mismatch {
            is: format!("{count} for {engine}"),
            should: format!("{needed}, or a multiple of it"),
            remedy: format!("ask for {needed}, or make the parallel sizes come to {count}"),
            certain: count < needed,
        });
    }
    if let Some(processes) = arguments.processes().filter(|processes| *processes > count) {
        return Some(Mismatch {
            is: format!("{count} for {processes} processes, each of which takes a GPU"),
            should: format!("{processes}, one for each process"),
            remedy: format!("ask for {processes}, or start {count} processes"),
            certain: false,
        });
    }
    (count > 1 && arguments.uses_one_gpu()).then(|| Mismatch {
        is: format!("{count} for an engine that is told no parallel size and so uses 1"),
        should: format!("1, or a parallel size of {count}"),
        remedy: format!("add --tensor-parallel-size={count}, or ask for 1"),
        certain: false,
    })
}

fn several_slices(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for_each_engine(case, findings, |pod, ask, arguments, findings| {
        let Some(count) = ask.count().filter(|count| *count > 1) else { return };
        // A parallel engine on slices is the worse problem, and said by its own rule.
        if together(arguments).is_some() || !modes(case, pod, ask).all_are(|mode| mode == Mode::Mig) {
            return;
        }
        findings
            .add(
                rule,
                format!("{}.resources.limits[{}]", ask.path, ask.resource),
                format!("{count} MIG slices in one container"),
                "1: a CUDA process uses one of them",
                "ask for 1 larger slice, or run one Pod a slice",
            )
            .in_container(&ask.container.name);
    });
}

/// A parallel size above 1.
fn together(arguments: &Arguments) -> Option<i64> {
    arguments.gpus_together().filter(|together| *together > 1)
}

fn for_each_engine<'a>(
    case: &Case<'a>,
    findings: &mut Findings,
    say: impl Fn(&PodCase<'a>, &Ask<'_>, &Arguments, &mut Findings),
) {
    for pod in &case.pods {
        findings.under(&pod.prefix);
        for ask in demand::asks(&pod.pod.spec).iter().filter(|ask| !ask.is_zero()) {
            say(pod, ask, &Arguments::of(ask.container), findings);
        }
    }
}

/// Modes in which the Pod may get what it asks for; none where nobody knows.
struct Modes(Vec<Mode>);

impl Modes {
    fn all_are(&self, is: impl Fn(Mode) -> bool) -> bool {
        !self.0.is_empty() && self.0.iter().all(|mode| is(*mode))
    }
}

/// Where the name decides, by the name; else by the pools that the Pod may land on.
fn modes(case: &Case<'_>, pod: &PodCase<'_>, ask: &Ask<'_>) -> Modes {
    if let Some(resource) = GpuResource::parse(ask.resource) {
        if resource.is_renamed() {
            return Modes(vec![Mode::TimeSlicing]);
        }
        if resource.profile().is_some() {
            return Modes(vec![Mode::Mig]);
        }
    }
    if !case.world.cluster.is_synced(Kind::Node) {
        return Modes(selected_mode(&pod.written.spec).into_iter().collect());
    }
    Modes(offers::reachable(case.world, &pod.placement, ask.resource).map(|live| live.pool.mode).collect())
}

/// The mode that the author's own selector asks for, where no node is known.
fn selected_mode(spec: &PodSpec) -> Option<Mode> {
    const LABELS: [&str; 2] =
        ["nvidia.com/gpu.sharing-strategy", "cloud.google.com/gke-gpu-sharing-strategy"];
    let mode = |value: &str| match value {
        "time-slicing" | "time-sharing" => Some(Mode::TimeSlicing),
        "mps" => Some(Mode::Mps),
        _ => None,
    };
    LABELS.iter().find_map(|label| spec.node_selector.get(*label)).and_then(|value| mode(value))
}

fn whole_cards(case: &Case<'_>, count: i64) -> String {
    let exclusive = |live: &&crate::world::LivePool| live.pool.mode == Mode::Exclusive;
    match case.world.pools.iter().find(exclusive) {
        Some(live) => {
            format!("ask for {count} whole cards (pool {}), or set the parallel size to 1", live.pool.name)
        }
        None => "set the parallel size to 1; no pool of this cluster is known to have whole cards".to_owned(),
    }
}
