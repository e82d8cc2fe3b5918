use serde_json::{Value, json};

use super::*;
use crate::{
    cluster::Cluster,
    policy, rules,
    subject::{Facts, Reading, Stage, read},
};

fn node(name: &str, gpus: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node",
           "metadata": {"name": name, "labels": {
               "nvidia.com/gpu.product": "NVIDIA-L4", "nvidia.com/gpu.count": "1",
               "nvidia.com/gpu.replicas": "1", "nvidia.com/gpu.memory": "23034",
               "nvidia.com/gpu.sharing-strategy": "none"}},
           "status": {"allocatable": {"cpu": "16", "pods": "110", "nvidia.com/gpu": gpus}}})
}

fn pod(uid: &str, node: Option<&str>) -> Value {
    let gpu = json!({"nvidia.com/gpu": "1"});
    json!({"apiVersion": "v1", "kind": "Pod",
           "metadata": {"name": uid, "namespace": "n", "uid": uid, "labels": {"sluice.dev/class": "batch"}},
           "spec": {"nodeName": node, "containers": [
               {"name": "c", "image": "i", "resources": {"requests": gpu, "limits": gpu}}]}})
}

fn world(objects: Vec<Value>) -> World {
    let cluster = Cluster::from_documents(objects).unwrap();
    World::new(Arc::new(policy::built_in(&rules::ids())), cluster)
}

fn sleeping(uids: &[&str]) -> Vec<(Arc<str>, Rejected)> {
    let questions = Questions::new(Duration::ZERO);
    for uid in uids {
        let facts = Facts::new(Stage::Schedule);
        let Reading::Subject(subject) = read(Arc::new(pod(uid, None)), None, facts) else { panic!("a Pod") };
        questions.reject(uid, subject.into(), Instant::now());
    }
    questions.sleeping(Instant::now())
}

#[test]
fn a_node_is_changed_only_where_there_is_room_for_somebody() {
    let asleep = sleeping(&["a", "b"]);
    let full = world(vec![node("g", "1"), pod("other", Some("g"))]);
    assert_eq!(room(&full, &Promised::NONE, &asleep), None);
    let open = world(vec![node("g", "1"), node("h", "0")]);
    let (found, uids) = room(&open, &Promised::NONE, &asleep).unwrap();
    assert_eq!((&*found, uids.len()), ("g", 2), "one node for both");
    assert_eq!(room(&open, &Promised::NONE, &[]), None);
}

#[test]
fn who_is_bound_or_deleted_sleeps_no_more() {
    let asleep = sleeping(&["a"]);
    let (uid, rejected) = &asleep[0];
    let gone = |objects, after: u64| {
        has_gone(&world(objects), uid, rejected, rejected.at + Duration::from_secs(after))
    };
    assert!(!gone(vec![pod("a", None)], 600));
    assert!(gone(vec![pod("a", Some("g"))], 0));
    assert!(!gone(vec![], 5), "the picture may be late");
    assert!(gone(vec![], 31));
}
