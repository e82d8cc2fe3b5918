//! What we may do in the cluster: read the kinds of the picture.

use std::collections::BTreeMap;

use super::yaml;
use crate::cluster::Kind;

/// `deploy/base/picture-role.yaml`: list and watch of exactly the kinds that the picture holds.
#[must_use]
pub fn picture_role() -> String {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in Kind::ALL.map(Kind::row) {
        groups.entry(row.group).or_default().push(row.plural);
    }
    let rules: String = groups
        .iter()
        .map(|(group, plurals)| {
            let resources: String = plurals.iter().map(|plural| format!("  - {plural}\n")).collect();
            format!("- apiGroups: [\"{group}\"]\n  verbs: [list, watch]\n  resources:\n{resources}")
        })
        .collect();
    format!(
        "{}apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: sluice-picture\nrules:\n{rules}",
        yaml::header("The kinds of the picture, and no others: nothing is written, no Secret is read.")
    )
}
