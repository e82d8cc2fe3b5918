//! Room of which only we keep the account is given once: a class that sits alone on a card, on nodes where the
//! scheduler counts eight shares.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::ground::{Beside, Ground, pod};
use crate::harness::eventually::{A_WHILE, eventually, throughout};
use crate::stories::fleet::sliced_t4;

/// One tenant a card, which no resource name tells.
const ALONE: &str = "apiVersion: sluice.dev/v1alpha1
kind: WorkloadClass
metadata: { name: alone }
spec:
  pools: [{ mode: time-slicing }]
  sharing: { maxTenants: 1 }
";

/// How far the picture is behind.
const LATE: Duration = Duration::from_millis(500);
const WITHIN: Duration = Duration::from_secs(10);
const WAKING: &str = "--wake-up-lease=sluice-system/sluice-wake-up";

pub fn one_room_is_given_once(ground: &mut Ground) {
    is_given_once(ground, 1);
}

pub fn two_rooms_are_given_once(ground: &mut Ground) {
    is_given_once(ground, 2);
}

pub fn eight_rooms_are_given_once(ground: &mut Ground) {
    is_given_once(ground, 8);
}

fn is_given_once(ground: &mut Ground, rooms: usize) {
    ground.policy(ALONE);
    // The control: without an account one room is given to several.
    let (beside, namespace) = begin(ground, rooms, "--promise=0");
    crowd(ground, &namespace, rooms);
    eventually(WITHIN, "too many Pods to run", || ground.bound(&namespace).len() > rooms);
    ground.end(beside);

    let (beside, namespace) = begin(ground, rooms, "--promise=3");
    crowd(ground, &namespace, rooms);
    exactly(ground, &namespace, rooms, "undisturbed");
    ground.end(beside);

    let (mut beside, namespace) = begin(ground, rooms, "--promise=3");
    crowd(ground, &namespace, rooms);
    eventually(A_WHILE, "the first Pod to be bound", || !ground.bound(&namespace).is_empty());
    beside.sluice.kill();
    beside.sluice.start();
    exactly(ground, &namespace, rooms, "after a restart");
    ground.end(beside);
}

/// So many nodes with one room each, and an extender that has been asked before.
fn begin(ground: &mut Ground, rooms: usize, flag: &str) -> (Beside, String) {
    let nodes = (0..rooms).map(|room| sliced_t4(&format!("room-{room}"), 1));
    ground.plane.create_nodes(nodes.collect());
    let namespace = ground.plane.namespace("rooms");
    let beside = ground.schedule(LATE, &[flag, WAKING], |_| {});
    beside.until_nodes(rooms);
    ground.create(&namespace, &[pod("earlier", "alone")]);
    eventually(A_WHILE, "an earlier Pod to be bound", || !ground.bound(&namespace).is_empty());
    let kubectl = ground.plane.kubectl();
    kubectl.run(&["delete", "pod", "earlier", "-n", &namespace, "--force", "--grace-period=0"]).succeeded();
    eventually(A_WHILE, "its room to be free", || {
        beside.sluice.metric("sluice_picture_objects", &[("kind", "GpuPod")]) as usize == 0
    });
    (beside, namespace)
}

/// One Pod more than there are rooms, all at once.
fn crowd(ground: &Ground, namespace: &str, rooms: usize) {
    let pods: Vec<_> = (0..=rooms).map(|index| pod(&format!("pod-{index}"), "alone")).collect();
    ground.create(namespace, &pods);
}

fn exactly(ground: &Ground, namespace: &str, rooms: usize, when: &str) {
    let started = Instant::now();
    eventually(WITHIN, &format!("{rooms} Pods to run"), || {
        let bound = ground.bound(namespace).len();
        if bound >= rooms { Ok(()) } else { Err(format!("{bound} {when}")) }
    });
    eprintln!("{rooms} rooms, {when}: {:.1} s", started.elapsed().as_secs_f64());
    throughout(Duration::from_secs(3), "each to have a room of its own", || {
        let bound = ground.bound(namespace);
        let rooms: BTreeSet<&String> = bound.iter().collect();
        if rooms.len() == bound.len() { Ok(()) } else { Err(format!("{bound:?}")) }
    });
}
