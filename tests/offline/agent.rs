//! The node agent over recorded and constructed hardware: what each state of a node becomes.

use std::{collections::BTreeMap, fs, path::PathBuf};

use sluice::{
    agent::{
        Cards, Inventory, Unreadable,
        handed::Handed,
        kubelet::{Allocatable, Assigned, ContainerDevices, Devices, PodDevices},
        ready::{NodeSays, NotReady, not_ready},
        recorded::{Origin, Recorded, Recording},
        status::{Seen, status},
    },
    gpu::{AgentDevice, GpuNodeStatus, MigMode},
};

use crate::sources;

const CARD: &str = "GPU-8d455752-e7a2-dc11-d90a-7c36819cca91";

fn path(name: &str) -> PathBuf {
    sources::root().join("tests/fixtures/agent").join(name)
}

fn inventory(name: &str) -> Result<Inventory, Unreadable> {
    Recorded::new(path(name)).inventory()
}

/// A kubelet that hands out these ids.
fn handed(ids: &[(&str, &[&str])]) -> Handed {
    let devices = |&(resource, ids): &(&str, &[&str])| Devices {
        resource: resource.to_owned(),
        ids: ids.iter().map(|&id| id.to_owned()).collect(),
    };
    Handed::new(Allocatable { devices: ids.iter().map(devices).collect() }, Assigned::default())
}

/// A node whose allocatable is what the kubelet hands out.
fn agrees(handed: &Handed) -> NodeSays {
    let allocatable: BTreeMap<String, u64> =
        handed.ids.iter().map(|(resource, ids)| (resource.clone(), ids.len() as u64)).collect();
    NodeSays { allocatable, ..NodeSays::default() }
}

fn words(reasons: &[NotReady]) -> Vec<&'static str> {
    reasons.iter().map(NotReady::word).collect()
}

fn published(name: &str, handed: Option<&Handed>) -> GpuNodeStatus {
    let inventory = inventory(name);
    let sample = Recorded::new(path(name)).sample().ok();
    let seen = Seen {
        now: "2026-12-01T00:00:00Z",
        heartbeat: 60,
        boot_id: Some("boot"),
        inventory: &inventory,
        sample: sample.as_ref(),
        handed,
        mps_daemon: Some(false),
        not_ready: &[],
    };
    status(&seen, None)
}

fn first(status: &GpuNodeStatus) -> &AgentDevice {
    &status.devices[0]
}

#[test]
fn a_recording_names_card_driver_date_and_command_and_anything_else_is_constructed() {
    let mut seen = 0;
    for folder in ["recorded", "constructed"] {
        for entry in fs::read_dir(path(folder)).unwrap() {
            let file = entry.unwrap().path();
            let recording = Recording::open(&file).unwrap_or_else(|error| panic!("{error}"));
            match recording.origin {
                Origin::Recorded { card, driver, date, command } => {
                    assert_eq!(folder, "recorded", "{}", file.display());
                    let found = recording.inventory.unwrap();
                    assert_eq!(found.cards[0].product.value(), Some(&card));
                    assert_eq!(found.driver_version.value(), Some(&driver));
                    assert_eq!(date.len(), "2026-12-01".len(), "{date}");
                    assert!(command.starts_with("sluice agent --record "), "{command}");
                }
                Origin::Constructed { because } => {
                    assert_eq!(folder, "constructed", "{}", file.display());
                    assert!(!because.is_empty());
                }
            }
            seen += 1;
        }
    }
    assert!(seen >= 10, "{seen} recordings");
}

#[test]
fn a_recording_without_an_origin_is_refused() {
    let text = fs::read_to_string(path("recorded/h200-idle.json")).unwrap();
    let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
    value["origin"] = serde_json::json!({"recorded": {"card": "NVIDIA H200"}});
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nameless.json");
    fs::write(&file, value.to_string()).unwrap();
    let error = Recording::open(&file).unwrap_err().to_string();
    assert!(error.contains("missing field `driver`"), "{error}");
}

#[test]
fn no_mig_is_a_fact_with_its_reason() {
    let table = [
        ("recorded/h200-idle.json", MigMode::Disabled, "capable, disabled"),
        ("constructed/l4.json", MigMode::NotSupported, "not capable"),
        ("constructed/h200-mig-mixed.json", MigMode::Enabled, "enabled, 5 MIG devices"),
        (
            "constructed/h200-mig-off-pending.json",
            MigMode::Enabled,
            "enabled, 0 MIG devices; disabled after the next reset of the card",
        ),
    ];
    for (name, mode, reason) in table {
        let status = published(name, None);
        assert_eq!(first(&status).mig, mode, "{name}");
        assert_eq!(status.mig.as_deref(), Some(reason), "{name}");
    }
    let lost = published("constructed/one-card-lost.json", None);
    assert_eq!(lost.devices[1].mig, MigMode::Unknown, "a lost card is not a card without MIG");
    assert_eq!(lost.mig.as_deref(), Some("1 × capable, disabled; 1 × unknown: the card does not answer"));
}

#[test]
fn true_memory_of_a_profile_is_published_and_not_the_number_in_its_name() {
    let status = published("recorded/h200-idle.json", None);
    let sizes: Vec<(&str, u64, u32)> = first(&status)
        .mig_profiles
        .iter()
        .map(|profile| (profile.profile.as_str(), profile.memory.0, profile.max_instances))
        .collect();
    assert!(sizes.contains(&("1g.18gb", 16384, 7)), "{sizes:?}");
    assert!(sizes.contains(&("3g.71gb", 71424, 2)), "{sizes:?}");
    assert_eq!(first(&status).memory.unwrap().0, 143_771);
    assert_eq!(first(&status).usable.unwrap().0, 143_155, "less what driver and firmware keep");
}

#[test]
fn mig_devices_have_the_profile_of_their_instance() {
    let status = published("constructed/h200-mig-mixed.json", None);
    let profiles: Vec<String> =
        first(&status).mig_devices.iter().map(|device| device.profile.to_string()).collect();
    assert_eq!(profiles, ["3g.71gb", "1g.18gb", "1g.18gb", "1g.18gb", "1g.18gb"]);
}

#[test]
fn memory_in_use_is_told_in_whole_gibibytes() {
    let status = published("recorded/h200-two-tenants.json", None);
    assert_eq!(first(&status).memory_used.unwrap().to_string(), "2Gi", "1730 MiB, rounded up");
}

#[test]
fn tenants_are_the_containers_that_the_kubelet_gave_a_part_of_the_card() {
    let unit = format!("{CARD}::1");
    let container = ContainerDevices {
        name: "server".to_owned(),
        devices: vec![Devices { resource: "nvidia.com/gpu".to_owned(), ids: vec![unit] }],
        claims: Vec::new(),
    };
    let pod =
        PodDevices { name: "emb-0".to_owned(), namespace: "ml".to_owned(), containers: vec![container] };
    let ids = [format!("{CARD}::0"), format!("{CARD}::1")];
    let devices = Devices { resource: "nvidia.com/gpu".to_owned(), ids: ids.to_vec() };
    let handed = Handed::new(Allocatable { devices: vec![devices] }, Assigned { pods: vec![pod] });
    let status = published("recorded/h200-idle.json", Some(&handed));
    assert_eq!(status.sharing.as_deref(), Some("time-slicing × 2"));
    assert_eq!(status.sharing_replicas, Some(2));
    assert_eq!(first(&status).tenants.len(), 1);
    assert_eq!(first(&status).tenants[0].pod, "emb-0");
}

#[test]
fn a_node_is_ready_when_the_kubelet_advertises_what_the_hardware_is() {
    let whole = handed(&[("nvidia.com/gpu", &[CARD])]);
    assert_eq!(not_ready(&inventory("recorded/h200-idle.json"), Ok(&whole), &agrees(&whole)), []);
    let shared = handed(&[("nvidia.com/gpu", &[&format!("{CARD}::0"), &format!("{CARD}::1")])]);
    assert_eq!(not_ready(&inventory("recorded/h200-idle.json"), Ok(&shared), &agrees(&shared)), []);
    let slices: Vec<String> =
        [1, 7, 8, 9, 10].iter().map(|id| format!("MIG-{id:08}-0000-0000-0000-000000000000")).collect();
    let slices: Vec<&str> = slices.iter().map(String::as_str).collect();
    let mixed = handed(&[("nvidia.com/mig-3g.71gb", &slices[..1]), ("nvidia.com/mig-1g.18gb", &slices[1..])]);
    assert_eq!(not_ready(&inventory("constructed/h200-mig-mixed.json"), Ok(&mixed), &agrees(&mixed)), []);
}

#[test]
fn everything_that_is_wrong_keeps_a_node_from_being_ready_and_is_named() {
    let whole = handed(&[("nvidia.com/gpu", &[CARD])]);
    let agreed = agrees(&whole);
    let h200 = "recorded/h200-idle.json";
    let check = |name: &str, handed: Result<&Handed, &str>, node: &NodeSays| {
        words(&not_ready(&inventory(name), handed, node))
    };
    assert_eq!(check("constructed/no-driver.json", Ok(&whole), &agreed), ["Unreadable"]);
    assert_eq!(check("constructed/driver-not-loaded.json", Ok(&whole), &agreed), ["Unreadable"]);
    assert_eq!(check("constructed/no-card.json", Ok(&whole), &agreed), ["NoCard"]);
    assert_eq!(check("constructed/one-card-lost.json", Ok(&whole), &agreed), ["CardLost"]);
    assert_eq!(check(h200, Err("no such socket"), &agreed), ["NoKubelet"]);
    assert_eq!(check(h200, Ok(&Handed::default()), &NodeSays::default()), ["NothingAdvertised"]);
    let dra = NodeSays { dra: true, ..NodeSays::default() };
    assert_eq!(check(h200, Ok(&Handed::default()), &dra), [""; 0], "a DRA driver registers no plugin");
    let pending = NodeSays { mig_state: Some("pending".to_owned()), ..agreed.clone() };
    assert_eq!(check(h200, Ok(&whole), &pending), ["MigLayoutPending"]);
    let stale = NodeSays { allocatable: [("nvidia.com/gpu".to_owned(), 8)].into(), ..NodeSays::default() };
    assert_eq!(check(h200, Ok(&whole), &stale), ["AllocatableDiffers"]);
    // MIG was turned off; the plugin goes on handing out its slices.
    let slice = handed(&[("nvidia.com/mig-1g.18gb", &["MIG-gone"])]);
    assert_eq!(check(h200, Ok(&slice), &agrees(&slice)), ["DevicesMissing", "DevicesGone"]);
    let off = check("constructed/h200-mig-off-pending.json", Ok(&whole), &agreed);
    assert_eq!(off, ["MigModePending", "DevicesGone"]);
}

#[test]
fn a_node_that_cannot_be_read_says_so_and_claims_nothing() {
    let status = published("constructed/no-driver.json", None);
    assert!(status.devices.is_empty());
    assert_eq!(status.mig, None, "unknown is not no");
    let readable = &status.conditions[0];
    assert_eq!((readable.kind.as_str(), readable.status.as_str()), ("Readable", "False"));
    assert_eq!(readable.reason, "NoLibrary");
    assert!(readable.message.contains("no NVIDIA driver on this node"), "{}", readable.message);
}

#[test]
fn a_condition_keeps_the_time_since_when_it_holds() {
    let before = published("recorded/h200-idle.json", None);
    let inventory = inventory("recorded/h200-idle.json");
    let reasons = [NotReady::NothingAdvertised];
    let seen = Seen {
        now: "2026-12-01T01:00:00Z",
        heartbeat: 60,
        boot_id: None,
        inventory: &inventory,
        sample: None,
        handed: None,
        mps_daemon: None,
        not_ready: &reasons,
    };
    let after = status(&seen, Some(&before));
    let since: Vec<&str> = after.conditions.iter().map(|one| one.last_transition_time.as_str()).collect();
    assert_eq!(
        since,
        ["2026-12-01T00:00:00Z", "2026-12-01T01:00:00Z"],
        "Readable as before, Ready no longer"
    );
}

#[test]
fn faults_of_a_card_are_named() {
    let status = published("constructed/row-remap-failed.json", None);
    assert_eq!(first(&status).faults, ["row-remap-failed", "row-remap-pending", "ecc-uncorrected"]);
    assert_eq!(published("constructed/one-card-lost.json", None).devices[1].faults, ["lost"]);
    assert!(first(&published("recorded/h200-idle.json", None)).faults.is_empty());
}
