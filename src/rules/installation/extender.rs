//! Extenders in a KubeSchedulerConfiguration.

use crate::{
    k8s::{duration, object::Extender},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule},
    subject::{Body, Installation},
};

/// `extender-not-cache-capable`
pub static EXTENDER_NOT_CACHE_CAPABLE: Rule = rule(
    "extender-not-cache-capable",
    "an extender is sent names of nodes, not whole Nodes",
    "The scheduler takes Nodes that come back from an extender for nodes without Pods: every score by resources is blind for the Pods that pass it, and each request carries megabytes.",
    "Set nodeCacheCapable: true.",
    "Pods are placed, only not where they should be",
    &["kubernetes/kubernetes#141919"],
    Check::Case(cache),
);

/// `extender-unverified`
pub static EXTENDER_UNVERIFIED: Rule = rule(
    "extender-unverified",
    "the scheduler knows that it is the extender that answers",
    "enableHTTPS does not change the address: all it does is switch verification off where no CA is given. Whoever answers in the extender's place decides where every GPU Pod goes.",
    "Write https:// in urlPrefix and give tlsConfig.caFile or caData, or keep the extender on loopback.",
    "it works until somebody answers in its place",
    &["kube-scheduler pkg/scheduler/extender.go: makeTransport"],
    Check::Case(verified),
);

/// `extender-slow`
pub static EXTENDER_SLOW: Rule = rule(
    "extender-slow",
    "an extender that does not answer holds the scheduler up for a moment only",
    "Scheduling is serial and an extender is asked within it: one late answer delays every Pod behind it. Where no httpTimeout is written it is five seconds.",
    "Set httpTimeout: 2s.",
    "it costs nothing while the extender answers",
    &["kube-scheduler pkg/scheduler/extender.go"],
    Check::Case(slow),
);

/// `extender-ignorable`
pub static EXTENDER_IGNORABLE: Rule = rule(
    "extender-ignorable",
    "an extender that filters is not skipped where it does not answer",
    "With ignorable: true an error lets every node pass: GPU Pods land on pools that cannot serve them, exactly while nobody is there to see it.",
    "Set ignorable: false, and name the GPU resources under managedResources so that other Pods do not wait.",
    "the webhook's placement still holds for Pods that it saw",
    &["kube-scheduler: findNodesThatPassExtenders"],
    Check::Case(ignorable),
);

/// `extender-takes-over`
pub static EXTENDER_TAKES_OVER: Rule = rule(
    "extender-takes-over",
    "binding and the counting of GPUs stay with the scheduler",
    "An extender that binds does so within the scheduling of each Pod and under its own locks: many Pods at once take minutes. With ignoredByScheduler nobody but the extender counts a GPU, and after its restart nobody does.",
    "Remove bindVerb, and ignoredByScheduler.",
    "an extender that was made to bind may need it",
    &["kube-scheduler: extender bind", "Project-HAMi/HAMi#1367"],
    Check::Case(takes_over),
);

const fn rule(
    id: &'static str,
    summary: &'static str,
    why: &'static str,
    remedy: &'static str,
    severity_because: &'static str,
    sources: &'static [&'static str],
    check: Check,
) -> Rule {
    Rule {
        id,
        family: Family::Installation,
        summary,
        why,
        remedy,
        severity: Severity::Warn,
        severity_because,
        applies: Applies::Installation,
        needs: &[],
        sources,
        check,
    }
}

/// Milliseconds: the scheduler's default, and the most that we hold right.
const DEFAULT_TIMEOUT: i64 = 5_000;
const LONGEST_TIMEOUT: i64 = 3_000;

fn extenders<'a>(case: &'a Case<'_>) -> impl Iterator<Item = (String, &'a Extender)> {
    let extenders = match &case.subject.body {
        Body::Installation(installation) => match &**installation {
            Installation::Scheduler(configuration) => &configuration.extenders[..],
            _ => &[],
        },
        _ => &[],
    };
    extenders.iter().enumerate().map(|(index, extender)| (format!("extenders[{index}]"), extender))
}

fn cache(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for (path, extender) in extenders(case) {
        let asked = !extender.filter_verb.is_empty() || !extender.prioritize_verb.is_empty();
        if asked && !extender.node_cache_capable {
            let is = "false: whole Nodes go to the extender and back";
            let (path, set) = (format!("{path}.nodeCacheCapable"), "set nodeCacheCapable: true");
            findings.add(rule, path, is, "true, if the extender answers with names", set);
        }
    }
}

fn verified(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for (path, extender) in extenders(case) {
        let tls = extender.tls_config.clone().unwrap_or_default();
        let has_ca = !tls.ca_file.is_empty() || !tls.ca_data.is_empty();
        let (field, is) = if tls.insecure {
            ("tlsConfig.insecure", "true: nothing is verified".to_owned())
        } else if extender.enable_https && !has_ca {
            ("tlsConfig", "without a CA beside enableHTTPS: nothing is verified".to_owned())
        } else if extender.url_prefix.starts_with("http://") && !is_loopback(&extender.url_prefix) {
            ("urlPrefix", format!("{}, in plain text over the network", extender.url_prefix))
        } else {
            continue;
        };
        findings.add(
            rule,
            format!("{path}.{field}"),
            is,
            "https with the CA that the extender's certificate is of",
            "write https:// in urlPrefix and set tlsConfig.caFile",
        );
    }
}

fn slow(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for (path, extender) in extenders(case) {
        let written = extender.http_timeout.as_deref();
        let read = written.map_or(Some(0), duration::milliseconds);
        let Some(read) = read else { continue };
        let timeout = if read == 0 { DEFAULT_TIMEOUT } else { read };
        if timeout > LONGEST_TIMEOUT {
            let default = if read == 0 { ", the default" } else { "" };
            findings.add(
                rule,
                format!("{path}.httpTimeout"),
                format!("{} s{default}", timeout / 1000),
                format!("{} s at most", LONGEST_TIMEOUT / 1000),
                "set httpTimeout: 2s",
            );
        }
    }
}

fn ignorable(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for (path, extender) in extenders(case) {
        if extender.ignorable && !extender.filter_verb.is_empty() {
            findings.add(
                rule,
                format!("{path}.ignorable"),
                "true: every node passes while it does not answer",
                "false",
                "set ignorable: false, and managedResources to the GPU names so that other Pods do not wait",
            );
        }
    }
}

fn takes_over(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for (path, extender) in extenders(case) {
        if !extender.bind_verb.is_empty() {
            findings.add(
                rule,
                format!("{path}.bindVerb"),
                format!("{}: each Pod is bound by a call to the extender", extender.bind_verb),
                "absent: the scheduler binds",
                "remove bindVerb",
            );
        }
        let resources = extender.managed_resources.iter().enumerate();
        for (index, resource) in resources.filter(|(_, resource)| resource.ignored_by_scheduler) {
            findings.add(
                rule,
                format!("{path}.managedResources[{index}].ignoredByScheduler"),
                format!("true: nobody but the extender counts {}", resource.name),
                "false",
                "remove ignoredByScheduler",
            );
        }
    }
}

fn is_loopback(url: &str) -> bool {
    let host = url.trim_start_matches("http://");
    ["127.", "localhost", "[::1]"].iter().any(|local| host.starts_with(local))
}
