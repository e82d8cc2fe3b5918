//! The decision id: a hash of revision and changed object, without stamp and without what the API server
//! gives to every object anew, and without the copy of the manifest that kubectl keeps. Equal Pods have equal ids;
//! no request, clock or chance is in it.

use std::collections::BTreeMap;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::subject::stamp;

/// Hexadecimal digits of an id: short enough to read aloud, long enough not to meet twice in a cluster.
const DIGITS: usize = 16;

/// Where `kubectl apply` keeps what it was given, name and all.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The id of a decision on `changed` (the object with every change applied).
pub(super) fn id(revision: &str, changed: &Value) -> String {
    let mut hash = Sha256::new();
    hash.update(revision.as_bytes());
    hash.update([0]);
    for key in ["apiVersion", "kind", "spec"] {
        feed(&mut hash, changed.get(key).unwrap_or(&Value::Null));
    }
    let meta = changed.get("metadata");
    feed(&mut hash, meta.and_then(|m| m.get("namespace")).unwrap_or(&Value::Null));
    feed(&mut hash, meta.and_then(|m| m.get("labels")).unwrap_or(&Value::Null));
    let annotations = meta.and_then(|m| m.get("annotations")).and_then(Value::as_object);
    let own = |key: &str| key != LAST_APPLIED && !stamp::KEYS.contains(&key);
    let sorted: BTreeMap<_, _> = annotations.into_iter().flatten().filter(|(key, _)| own(key)).collect();
    for (key, value) in sorted {
        hash.update(key.len().to_le_bytes());
        hash.update(key.as_bytes());
        feed(&mut hash, value);
    }
    let digest = hash.finalize();
    digest.iter().flat_map(|byte| [byte >> 4, byte & 15]).take(DIGITS).map(hex).collect()
}

fn hex(digit: u8) -> char {
    char::from_digit(u32::from(digit), 16).unwrap_or('0')
}

/// Feeds a value so that the order of keys makes no difference and no two values look alike.
fn feed(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Null => hash.update(b"n"),
        Value::Bool(bool) => hash.update(if *bool { b"t" } else { b"f" }),
        Value::Number(number) => {
            hash.update(b"#");
            hash.update(number.to_string().as_bytes());
        }
        Value::String(text) => {
            hash.update(b"\"");
            hash.update(text.len().to_le_bytes());
            hash.update(text.as_bytes());
        }
        Value::Array(items) => {
            hash.update(b"[");
            hash.update(items.len().to_le_bytes());
            items.iter().for_each(|item| feed(hash, item));
        }
        Value::Object(map) => {
            hash.update(b"{");
            hash.update(map.len().to_le_bytes());
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            for key in keys {
                hash.update(key.len().to_le_bytes());
                hash.update(key.as_bytes());
                feed(hash, &map[key.as_str()]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_pods_have_equal_ids_whatever_their_names_and_stamps() {
        let one = json!({"metadata": {"name": "a", "uid": "1", "annotations": {"sluice.dev/decision": "x"}},
            "spec": {"a": 1, "b": 2}});
        let two = json!({"metadata": {"generateName": "a-", "annotations": {}}, "spec": {"b": 2, "a": 1}});
        assert_eq!(id("r", &one), id("r", &two));
    }

    #[test]
    fn annotations_count_in_any_order_and_kubectl_s_copy_of_the_manifest_does_not() {
        let of = |annotations: Value| id("r", &json!({"metadata": {"annotations": annotations}}));
        let plain = of(json!({"a": "1", "b": "2"}));
        assert_eq!(plain, of(json!({"b": "2", LAST_APPLIED: "{}", "a": "1"})));
        assert_ne!(plain, of(json!({"a": "1", "b": "3"})));
    }

    #[test]
    fn another_spec_revision_or_label_is_another_id() {
        let pod = json!({"metadata": {"labels": {}}, "spec": {"a": 1}});
        let ids = [
            id("r", &pod),
            id("q", &pod),
            id("r", &json!({"metadata": {"labels": {}}, "spec": {"a": 2}})),
            id("r", &json!({"metadata": {"labels": {"x": "y"}}, "spec": {"a": 1}})),
        ];
        let distinct: std::collections::BTreeSet<&String> = ids.iter().collect();
        assert_eq!(distinct.len(), ids.len());
    }
}
