//! Lists, watches, and what goes wrong with them.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use serde_json::{Value, json};

use super::server::Server;
use crate::{
    cluster::Kind,
    live::{
        KindState, KindStatus, Picture,
        policies::{PolicyState, Rejected},
    },
    policy::PolicySet,
    world::World,
};

const LONG: Duration = Duration::from_secs(20);

fn policies() -> Option<Arc<PolicySet>> {
    Some(Arc::default())
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "resourceVersion": "7"}})
}

/// A picture that has been complete once.
async fn ready(server: &Server) -> Picture {
    let picture = Picture::watch(&server.client(), policies());
    let told = &mut picture.subscribe();
    while !picture.is_ready() {
        tokio::time::timeout(LONG, told.changed()).await.expect("it becomes ready").expect("somebody tells");
    }
    picture
}

fn status(picture: &Picture, kind: Kind) -> KindStatus {
    picture.statuses().into_iter().find(|(other, _)| *other == kind).expect("every kind has one").1
}

fn has(name: &'static str) -> impl Fn(&World) -> bool + Send + Sync {
    move |world| world.cluster.namespace(name).is_some()
}

/// Waits until a kind stands so.
async fn stands(picture: &Picture, kind: Kind, state: KindState) {
    let told = &mut picture.subscribe();
    while status(picture, kind).state != state {
        tokio::time::timeout(LONG, told.changed()).await.expect("it comes to that").expect("somebody tells");
    }
}

#[tokio::test]
async fn a_picture_is_ready_when_every_kind_was_listed_in_all_its_pages() {
    let server = Server::default();
    server.hold(Kind::Namespace, ["a", "b", "c", "d", "e"].map(namespace));
    server.page(Kind::Namespace, 2);
    let picture = ready(&server).await;
    let world = picture.load();
    assert!(["a", "b", "c", "d", "e"].iter().all(|name| world.cluster.namespace(name).is_some()));
    assert!(Kind::ALL.iter().all(|kind| world.cluster.is_synced(*kind)));
    assert_eq!(server.asked("/namespaces?&limit=250"), 3, "three pages");
    assert!(picture.readiness().missing.is_empty());
    assert!(world.cluster.as_of().is_some());
}

#[tokio::test]
async fn events_reach_readers_that_wait_for_them() {
    let server = Server::default();
    let picture = ready(&server).await;
    server.watched(Kind::Namespace).await;
    let waiting = tokio::spawn({
        let picture = picture.clone();
        async move { picture.wait_for(has("new"), LONG).await }
    });
    server.tell(Kind::Namespace, "ADDED", &namespace("new"));
    assert!(has("new")(&waiting.await.expect("it does not panic")));
    server.tell(Kind::Namespace, "DELETED", &namespace("new"));
    let gone = picture.wait_for(|world| world.cluster.namespace("new").is_none(), LONG).await;
    assert!(gone.cluster.namespace("new").is_none());
}

#[tokio::test]
async fn who_waits_in_vain_gets_the_newest_world_in_time() {
    let picture = ready(&Server::default()).await;
    let start = tokio::time::Instant::now();
    let world = picture.wait_for(has("never"), Duration::from_millis(50)).await;
    assert!(world.cluster.namespace("never").is_none());
    assert!(start.elapsed() >= Duration::from_millis(50));
    let at_once = picture.wait_for(|_| true, LONG).await;
    assert!(Arc::ptr_eq(&at_once.policies, &world.policies));
}

#[tokio::test]
async fn a_watch_that_ends_goes_on_and_misses_nothing() {
    let server = Server::default();
    let picture = ready(&server).await;
    server.watched(Kind::Namespace).await;
    server.hang_up(Kind::Namespace);
    server.watched(Kind::Namespace).await;
    server.tell(Kind::Namespace, "ADDED", &namespace("later"));
    assert!(has("later")(&*picture.wait_for(has("later"), LONG).await));
    assert_eq!(server.asked("/namespaces?&limit"), 1, "there was no need to list again");
    assert_eq!(status(&picture, Kind::Namespace).state, KindState::Watched);
}

#[tokio::test]
async fn a_broken_watch_keeps_the_picture_and_its_age_and_recovers() {
    let server = Server::default();
    server.hold(Kind::Namespace, [namespace("kept")]);
    let picture = ready(&server).await;
    server.watched(Kind::Namespace).await;
    server.refuse(Kind::Namespace, Some(500));
    server.hang_up(Kind::Namespace);
    stands(&picture, Kind::Namespace, KindState::Broken).await;

    let broken = status(&picture, Kind::Namespace);
    let heard = broken.last_contact.expect("it was heard of");
    assert_eq!(broken.as_of(heard + 1_000), Some(heard), "its age grows");
    assert!(broken.error.is_some_and(|error| error.contains("the test says so")));
    assert!(has("kept")(&picture.load()));
    assert!(picture.load().cluster.is_synced(Kind::Namespace));
    assert!(picture.is_ready(), "it was complete once");
    let notes = picture.readiness().notes;
    assert!(notes.iter().any(|note| note.starts_with("Namespace: watch broken: ")), "{notes:?}");

    server.refuse(Kind::Namespace, None);
    stands(&picture, Kind::Namespace, KindState::Watched).await;
    let well = status(&picture, Kind::Namespace);
    let heard = well.last_contact.expect("it was heard of");
    assert_eq!(well.as_of(heard + 30), Some(heard + 30), "an open watch is up to date");
    assert_eq!(well.as_of(heard + 1_000), Some(heard), "unless it is silent for too long");
    assert_eq!(well.error, None);
}

#[tokio::test]
async fn after_410_gone_a_new_list_takes_out_what_is_gone_and_leaves_no_gap() {
    let server = Server::default();
    server.hold(Kind::Namespace, [namespace("stays"), namespace("goes")]);
    let picture = ready(&server).await;
    server.watched(Kind::Namespace).await;
    let blank = tokio::spawn({
        let picture = picture.clone();
        async move { picture.wait_for(|world| !has("stays")(world), Duration::from_secs(2)).await }
    });
    server.hold(Kind::Namespace, [namespace("stays"), namespace("comes")]);
    let gone = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 410,
        "reason": "Expired", "message": "too old resource version"});
    server.tell(Kind::Namespace, "ERROR", &gone);
    let world = picture.wait_for(has("comes"), LONG).await;
    let world = if has("goes")(&world) { picture.wait_for(|w| !has("goes")(w), LONG).await } else { world };
    assert!(has("comes")(&world) && has("stays")(&world) && !has("goes")(&world));
    assert!(has("stays")(&blank.await.expect("it does not panic")), "never missing in between");
    assert_eq!(server.asked("/namespaces?&limit"), 2);
}

#[tokio::test]
async fn a_kind_that_the_server_does_not_have_blocks_nobody_and_is_asserted_by_nobody() {
    let server = Server::default();
    server.refuse(Kind::GpuNode, Some(404));
    server.refuse(Kind::ResourceClaim, Some(404));
    let picture = ready(&server).await;
    for kind in [Kind::GpuNode, Kind::ResourceClaim] {
        assert_eq!(status(&picture, kind).state, KindState::Unavailable);
        assert!(!picture.load().cluster.is_synced(kind));
    }
    assert!(server.asked("/resource.k8s.io/v1beta2/resourceclaims") > 0, "the older version was tried too");
    let notes = picture.readiness().notes;
    assert!(notes.contains(&"GpuNode: not served by this API server".to_owned()), "{notes:?}");
}

#[tokio::test]
async fn a_kind_that_appears_later_is_found() {
    let server = Server::default();
    server.refuse(Kind::GpuNode, Some(404));
    let often = [Duration::from_millis(10); 2];
    let picture = Picture::watch_at(&server.client(), policies(), often);
    stands(&picture, Kind::GpuNode, KindState::Unavailable).await;
    server.refuse(Kind::GpuNode, None);
    stands(&picture, Kind::GpuNode, KindState::Watched).await;
    assert!(picture.load().cluster.is_synced(Kind::GpuNode));
}

#[tokio::test]
async fn a_kind_that_may_not_be_listed_is_told_and_blocks() {
    let server = Server::default();
    server.refuse(Kind::Pod, Some(403));
    let picture = Picture::watch(&server.client(), policies());
    let told = &mut picture.subscribe();
    let only_pods = |picture: &Picture| {
        let missing = picture.readiness().missing;
        missing.len() == 1 && missing[0].starts_with("Pod: forbidden: ")
    };
    while !only_pods(&picture) {
        tokio::time::timeout(LONG, told.changed()).await.expect("all others come").expect("somebody tells");
    }
    assert!(!picture.is_ready());
    server.refuse(Kind::Pod, None);
    while !picture.is_ready() {
        tokio::time::timeout(LONG, told.changed()).await.expect("it becomes ready").expect("somebody tells");
    }
}

#[tokio::test]
async fn a_picture_without_policies_is_not_ready_until_they_come() {
    let server = Server::default();
    let picture = Picture::watch(&server.client(), None);
    let told = &mut picture.subscribe();
    picture.note_policy_errors(vec!["pools.yaml:3:1: unknown field".to_owned()]);
    while picture.readiness().missing.iter().any(|missing| missing.contains("not listed yet")) {
        tokio::time::timeout(LONG, told.changed()).await.expect("lists come").expect("somebody tells");
    }
    assert_eq!(picture.readiness().missing, ["policies: not loaded yet", "pools.yaml:3:1: unknown field"],);
    assert!(!picture.is_ready());
    let set = PolicySet { revision: "r2".to_owned(), ..PolicySet::default() };
    picture.set_policies(Arc::new(set)).await;
    let world = picture.wait_for(|world| world.revision() == "r2", LONG).await;
    assert_eq!(world.revision(), "r2");
    assert!(picture.is_ready());
}

#[tokio::test]
async fn the_policies_of_a_folder_come_into_force_and_its_faults_are_told() {
    let set = |revision: &str| Arc::new(PolicySet { revision: revision.to_owned(), ..PolicySet::default() });
    let state = |current, rejected| PolicyState { current, rejected, reloaded: std::time::UNIX_EPOCH };
    let (folder, states) = tokio::sync::watch::channel(state(Some(set("r1")), None));
    let picture = Picture::watch(&Server::default().client(), None);
    let told = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let counted = Arc::clone(&told);
    picture.follow_policies(states, move |_| {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let first = picture.wait_for(|world| world.revision() == "r1", LONG).await;
    assert_eq!(first.revision(), "r1");

    let broken = Rejected { revision: "r2".to_owned(), errors: Vec::new() };
    folder.send_replace(state(Some(Arc::clone(&first.policies)), Some(broken)));
    while told.load(Ordering::Relaxed) < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(picture.load().revision(), "r1", "the last good one stays");
    folder.send_replace(state(Some(set("r3")), None));
    assert_eq!(picture.wait_for(|world| world.revision() == "r3", LONG).await.revision(), "r3");
}

#[tokio::test]
async fn an_object_that_cannot_be_read_is_counted_and_leaves_what_was_known() {
    let server = Server::default();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n", "resourceVersion": "1",
        "labels": {"v": "1"}}});
    server.hold(Kind::Node, [node.clone()]);
    let picture = ready(&server).await;
    server.watched(Kind::Node).await;
    let mut broken = node;
    broken["spec"] = json!("text");
    server.tell(Kind::Node, "MODIFIED", &broken);
    server.watched(Kind::Namespace).await;
    let unreadable = || picture.counters().unreadable.load(Ordering::Relaxed);
    while unreadable() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(picture.load().cluster.node("n").map(|node| node.labels["v"].as_str()), Some("1"));
}

#[tokio::test]
async fn a_followed_file_is_read_again_and_a_broken_version_changes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("cluster.yaml");
    let write = |text: &str| std::fs::write(&path, text).expect("it can be written");
    assert!(Picture::of_file(&path, policies()).is_err(), "there is none yet");
    write("apiVersion: v1\nkind: Namespace\nmetadata: {name: one}\n");
    let picture = Picture::of_file(&path, policies()).expect("it can be read");
    let world = picture.wait_for(has("one"), LONG).await;
    assert_eq!(world.cluster.as_of(), None, "the file says no time");
    assert!(world.cluster.is_synced(Kind::Namespace) && !world.cluster.is_synced(Kind::PriorityClass));
    assert!(picture.is_ready());
    write("apiVersion: v1\nkind: Namespace\nmetadata: {name: [half");
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    assert!(has("one")(&picture.load()));
    write("apiVersion: v1\nkind: Namespace\nmetadata: {name: two}\n");
    let world = picture.wait_for(has("two"), LONG).await;
    assert!(has("two")(&world) && !has("one")(&world));
}
