use serde_json::json;

use super::*;
use crate::{cluster::Cluster, policy, rules};

const LASTS: Duration = Duration::from_secs(3);

/// A World with GPU Pods, each by its UID and the node to which it is bound.
fn world(pods: &[(&str, Option<&str>)]) -> World {
    let pods = pods.iter().map(|(uid, node)| {
        let limits = json!({"nvidia.com/gpu": "1"});
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": uid, "namespace": "n", "uid": uid},
            "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"limits": limits}}]}
        })
    });
    let cluster = Cluster::from_documents(pods).unwrap();
    World::new(Arc::new(policy::built_in(&rules::ids())), cluster)
}

fn offered(uid: &str, nodes: &[&str]) -> Promise {
    promise(uid, None, nodes.iter().map(|node| Arc::from(*node)).collect())
}

/// A ledger past its first questions, at the time that is given back.
fn ledger() -> (Ledger, Instant) {
    let (ledger, start) = (Ledger::new(LASTS), Instant::now());
    let _ = ledger.open(&world(&[]), "", start);
    (ledger, start + LASTS)
}

fn enter(ledger: &Ledger, promise: Promise, now: Instant) {
    let page = ledger.open(&world(&[]), &promise.uid.clone(), now);
    assert!(ledger.promise(promise, page.version, now));
}

/// The Pods that a node is promised to.
fn on(page: &Page, node: &str) -> Vec<String> {
    page.promised.on(node).map(|promise| promise.uid.to_string()).collect()
}

#[test]
fn a_pod_is_assumed_on_every_offered_node_until_its_binding_shows() {
    let (ledger, now) = ledger();
    enter(&ledger, offered("a", &["n1", "n2"]), now);
    let page = ledger.open(&world(&[("a", None)]), "b", now);
    assert_eq!(
        (on(&page, "n1"), on(&page, "n2"), on(&page, "n3").len()),
        (vec!["a".into()], vec!["a".into()], 0)
    );
    assert!(!ledger.would_settle(&world(&[("a", None)])));
    assert!(ledger.would_settle(&world(&[("a", Some("n1"))])));
    let page = ledger.open(&world(&[("a", Some("n1"))]), "b", now);
    assert_eq!((on(&page, "n2").len(), ledger.len()), (0, 0), "the other node is free again");
}

#[test]
fn a_pod_is_not_in_its_own_way_and_asking_again_replaces_what_it_was_offered() {
    let (ledger, now) = ledger();
    enter(&ledger, offered("a", &["n1", "n2"]), now);
    assert_eq!(on(&ledger.open(&world(&[]), "a", now), "n1").len(), 0);
    enter(&ledger, offered("a", &["n2"]), now);
    assert_eq!(ledger.len(), 1);
    let page = ledger.open(&world(&[]), "b", now);
    assert_eq!((on(&page, "n1").len(), on(&page, "n2").len()), (0, 1));
    enter(&ledger, offered("a", &[]), now);
    assert!(ledger.is_empty());
}

#[test]
fn a_deleted_pod_frees_its_room_but_one_that_was_never_seen_is_only_late() {
    let (ledger, now) = ledger();
    enter(&ledger, offered("a", &["n1"]), now);
    assert_eq!(on(&ledger.open(&world(&[]), "b", now), "n1").len(), 1, "the picture is behind");
    let _ = ledger.open(&world(&[("a", None)]), "b", now);
    assert_eq!(on(&ledger.open(&world(&[]), "b", now), "n1").len(), 0, "deleted");
}

#[test]
fn a_promise_expires() {
    let (ledger, now) = ledger();
    enter(&ledger, offered("a", &["n1"]), now);
    let before = ledger.open(&world(&[]), "b", now + LASTS - Duration::from_millis(1));
    assert_eq!(on(&before, "n1").len(), 1);
    assert_eq!(on(&ledger.open(&world(&[]), "b", now + LASTS), "n1").len(), 0);
}

#[test]
fn an_answer_from_an_older_ledger_is_made_anew() {
    let (ledger, now) = ledger();
    let (one, other) = (ledger.open(&world(&[]), "a", now), ledger.open(&world(&[]), "b", now));
    assert!(ledger.promise(offered("a", &["n1"]), one.version, now));
    assert!(!ledger.promise(offered("b", &["n1"]), other.version, now));
    // Who was offered nothing that we keep the account of changes nothing for others.
    let page = ledger.open(&world(&[]), "c", now);
    assert!(ledger.promise(offered("c", &[]), page.version, now));
    assert!(ledger.promise(offered("d", &["n2"]), page.version, now));
}

#[test]
fn a_new_instance_takes_all_such_room_for_promised_as_long_as_a_promise_lasts() {
    let (ledger, start) = (Ledger::new(LASTS), Instant::now());
    // It may have run beside a scheduler that led nothing for long: the first question counts.
    let later = start + Duration::from_secs(3600);
    assert!(ledger.open(&world(&[]), "a", later).promised.unknown);
    assert!(ledger.open(&world(&[]), "a", later + LASTS / 2).promised.unknown);
    assert!(!ledger.open(&world(&[]), "a", later + LASTS).promised.unknown);
}

#[test]
fn a_ledger_whose_promises_do_not_last_keeps_none() {
    let (ledger, now) = (Ledger::new(Duration::ZERO), Instant::now());
    enter(&ledger, offered("a", &["n1"]), now);
    let page = ledger.open(&world(&[]), "b", now);
    assert!(!page.promised.unknown && page.promised.pods.is_empty() && ledger.is_empty());
}

#[test]
fn room_is_shared_out_only_while_somebody_waits_and_never_to_a_single_node() {
    let (ledger, now) = ledger();
    assert_eq!(ledger.open(&world(&[]), "a", now).sharers, 1);
    ledger.waits("b", now);
    ledger.waits("c", now);
    assert_eq!(ledger.open(&world(&[]), "a", now).sharers, 3);
    assert_eq!(ledger.open(&world(&[]), "b", now).sharers, 2, "it does not share with itself");
    assert_eq!(ledger.open(&world(&[]), "a", now + MEMORY).sharers, 1, "forgotten");
    let shares = [(1000, 1, 1000), (1000, 2, 500), (8, 9, 2), (2, 9, 2), (1, 9, 1), (0, 3, 0)];
    for (open, sharers, want) in shares {
        assert_eq!(fair_share(open, sharers), want, "{open} nodes, {sharers} Pods");
    }
}
