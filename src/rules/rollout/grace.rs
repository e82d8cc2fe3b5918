//! `grace-too-short`: a Pod that is killed while it finishes its requests.

use crate::{
    k8s::object::{Container, Hook, Pod},
    policy::{Class, Severity},
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, startup},
    subject::{demand, engine::Arguments},
};

/// `grace-too-short`
pub static GRACE_TOO_SHORT: Rule = Rule {
    id: "grace-too-short",
    family: Family::ProbesAndRollout,
    summary: "the grace period covers preStop and drain, and no more than the class allows",
    why: "The grace period covers the preStop hook and the time after SIGTERM together; then comes SIGKILL, and streaming answers are cut. One that is far too long keeps a preemptor waiting.",
    remedy: "Set terminationGracePeriodSeconds above preStop plus drain.",
    severity: Severity::Warn,
    severity_because: "only requests in flight at the end are lost",
    applies: Applies::Pods,
    needs: &[],
    sources: &["Kubernetes: termination of Pods"],
    check: Check::Case(check),
};

/// Seconds where a Pod says nothing.
const DEFAULT: i64 = 30;

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, pod, class, placement, .. } in &case.pods {
        if !placement.asks_gpu {
            continue;
        }
        findings.under(prefix);
        let path = "spec.terminationGracePeriodSeconds";
        let has = pod.spec.termination_grace_period_seconds.unwrap_or(DEFAULT);
        let slowest = demand::containers(&pod.spec)
            .filter(|(place, container)| startup::is_main(*place, container))
            .map(|(_, container)| (Needed::of(container), container))
            .max_by_key(|(needed, _)| needed.seconds());
        if let Some((needed, container)) =
            slowest.filter(|(needed, _)| needed.seconds() > 0 && has <= needed.seconds())
        {
            findings
                .add(
                    rule,
                    path,
                    format!("{has} s"),
                    needed.in_words(),
                    format!("set terminationGracePeriodSeconds: {}", needed.seconds().saturating_add(15)),
                )
                .in_container(&container.name);
        }
        killed_at_once(pod, class.as_deref(), rule, findings);
        let most = class.as_ref().and_then(|class| class.disruption.max_grace);
        if let Some(most) = most.and_then(|most| i64::try_from(most).ok()).filter(|most| has > *most) {
            findings.add(
                rule,
                path,
                format!("{has} s, which who preempts it has to wait"),
                format!("at most {most} s, the class's longest grace period"),
                format!("set terminationGracePeriodSeconds: {most}"),
            );
        }
    }
}

/// A server that is given no time at all.
fn killed_at_once(pod: &Pod, class: Option<&Class>, rule: &'static Rule, findings: &mut Findings) {
    let serves = class.is_some_and(|class| !class.runs_to_end && class.startup_budget.is_some());
    let Some(has) = pod.spec.termination_grace_period_seconds.filter(|has| serves && *has <= 1) else {
        return;
    };
    findings.add(
        rule,
        "spec.terminationGracePeriodSeconds",
        format!("{has} s: killed without a chance to finish its requests"),
        format!("{DEFAULT} s, the default, or more"),
        format!("set terminationGracePeriodSeconds: {DEFAULT}, or leave it out"),
    );
}

/// Seconds that a container is known to need.
struct Needed {
    hook: i64,
    drain: i64,
}

impl Needed {
    fn of(container: &Container) -> Self {
        Self {
            hook: container.lifecycle.pre_stop.as_ref().map_or(0, duration),
            drain: Arguments::of(container).drain_seconds().unwrap_or(0).max(0),
        }
    }

    fn in_words(&self) -> String {
        format!("more than {} s: preStop {} s and drain {} s", self.seconds(), self.hook, self.drain)
    }

    fn seconds(&self) -> i64 {
        self.hook.saturating_add(self.drain)
    }
}

/// How long a hook sleeps, as far as it can be read: `sleep`, or the first `sleep N` of a command.
fn duration(hook: &Hook) -> i64 {
    if let Some(sleep) = &hook.sleep {
        return sleep.seconds.max(0);
    }
    let Some(exec) = &hook.exec else { return 0 };
    let words: Vec<&str> =
        exec.command.iter().flat_map(|part| part.split(|c: char| c.is_whitespace() || c == ';')).collect();
    let at = words.iter().position(|word| *word == "sleep" || word.ends_with("/sleep"));
    let seconds = at.and_then(|at| words.get(at + 1)).map(|word| word.trim_end_matches('s'));
    seconds.and_then(|word| word.parse().ok()).filter(|seconds: &i64| *seconds > 0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::k8s::object::{Exec, Sleep};

    #[test]
    fn the_sleep_of_a_hook_is_read_from_any_form() {
        let exec = |command: &[&str]| Hook {
            exec: Some(Exec { command: command.iter().map(|&word| word.to_owned()).collect() }),
            sleep: None,
        };
        for (hook, seconds) in [
            (exec(&["sleep", "15"]), 15),
            (exec(&["/bin/sleep", "15s"]), 15),
            (exec(&["/bin/sh", "-c", "echo bye; sleep 15; kill 1"]), 15),
            (exec(&["sh", "-c", "drain.sh"]), 0),
            (exec(&["sleep", "infinity"]), 0),
            (Hook { exec: None, sleep: Some(Sleep { seconds: 5 }) }, 5),
        ] {
            assert_eq!(duration(&hook), seconds, "{hook:?}");
        }
    }
}
