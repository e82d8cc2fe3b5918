//! `AdmissionPolicy`.

use std::sync::Arc;

use super::{Known, Place, check_patterns, check_rule, selectors, units};
use crate::policy::{
    error::Faults,
    raw,
    set::{AdmissionPolicy, DEFAULT_PICTURE_AGE, NamespaceScope, TemplateKind},
};

/// Compiles an admission policy.
pub fn compile(
    raw: &raw::AdmissionPolicy,
    known: &Known<'_>,
    place: Place<'_>,
    faults: &mut Faults<'_>,
) -> AdmissionPolicy {
    let (spec, place) = (&raw.spec, place.key("spec"));
    for rule in spec.rules.keys() {
        check_rule(rule, known, place.key("rules").name_of(rule), faults);
    }
    for (index, rule) in spec.suppressible.iter().enumerate() {
        check_rule(rule, known, place.key("suppressible").item(index).at(), faults);
    }
    for (index, account) in spec.exempt_service_accounts.iter().enumerate() {
        let parts: Vec<&str> = account.split('/').collect();
        if parts.len() != 2 || parts.iter().any(|part| part.is_empty()) {
            let what = format!("bad ServiceAccount `{account}`");
            let why = "a ServiceAccount is written namespace/name";
            faults.push(place.key("exemptServiceAccounts").item(index).at(), what, why, None);
        }
    }
    let age = units::seconds(spec.max_picture_age.as_ref(), place.key("maxPictureAge"), faults);
    AdmissionPolicy {
        name: Arc::from(raw.metadata.name.as_str()),
        namespaces: scope(&spec.namespaces, place.key("namespaces"), faults),
        action: spec.action,
        rules: spec.rules.clone(),
        suppressible: spec.suppressible.iter().cloned().collect(),
        max_picture_age: age.unwrap_or(DEFAULT_PICTURE_AGE),
        exempt_service_accounts: spec.exempt_service_accounts.iter().cloned().collect(),
        scheduler_name: spec.scheduler_name.clone(),
        gpu_nodes_only_for_gpu: spec.gpu_nodes_only_for_gpu,
        template_kinds: spec
            .template_kinds
            .iter()
            .enumerate()
            .map(|(index, kind)| template_kind(kind, place.key("templateKinds").item(index), faults))
            .collect(),
    }
}

fn template_kind(raw: &raw::TemplateKind, place: Place<'_>, faults: &mut Faults<'_>) -> TemplateKind {
    if raw.group.contains('/') {
        let what = format!("bad group `{}`", raw.group);
        faults.push(place.key("group").at(), what, "a group is written without its version", None);
    }
    for (index, template) in raw.templates.iter().enumerate() {
        let place = place.key("templates").item(index);
        let paths = [("path", Some(&template.path)), ("count", template.count.as_ref())];
        for (key, path) in paths.into_iter().filter_map(|(key, path)| Some((key, path?))) {
            if path.is_empty() || path.starts_with('.') || path.contains("..") || path.contains('*') {
                let what = format!("bad path `{path}`");
                let why = "a path is written as in spec.groups[].template, `[]` for every entry";
                faults.push(place.key(key).at(), what, why, None);
            }
        }
    }
    let templates = raw.templates.iter().map(|template| (template.path.clone(), template.count.clone()));
    TemplateKind { group: raw.group.clone(), kind: raw.kind.clone(), templates: templates.collect() }
}

fn scope(raw: &raw::Namespaces, place: Place<'_>, faults: &mut Faults<'_>) -> NamespaceScope {
    check_patterns(&raw.names, place.key("names"), faults);
    check_patterns(&raw.except, place.key("except"), faults);
    NamespaceScope {
        names: raw.names.clone(),
        except: raw.except.clone(),
        labels: selectors::labels(raw.labels.as_ref(), place.key("labels"), faults),
    }
}
