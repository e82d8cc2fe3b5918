//! One file of `testdata` for each trap: a node as observed, and what must be said of it.

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::*;
use crate::gpu::{is_gpu_like, model::ModelMig};

macro_rules! nodes {
    ($($name:ident,)*) => {
        $(
            #[test]
            fn $name() {
                check(include_str!(concat!("testdata/", stringify!($name), ".yaml")));
            }
        )*

        const NODES: &[&str] = &[$(include_str!(concat!("testdata/", stringify!($name), ".yaml"))),*];
    };
}

nodes! {
    whole_cards_with_discovery_labels_are_exclusive,
    the_plain_name_alone_proves_nothing,
    renamed_time_slicing_leaves_no_suffix_on_the_product,
    unrenamed_time_slicing_shows_in_the_product_and_in_the_count,
    more_units_than_cards_contradict_a_label_that_says_none,
    a_wrong_replicas_label_loses_against_allocatable,
    renamed_shares_without_a_label_may_be_time_slicing_or_mps,
    mps_capable_means_that_mps_is_active,
    mps_capable_false_does_not_say_that_a_card_could_not,
    mig_capable_is_an_or_over_the_cards_and_no_proof_for_one,
    a_card_that_has_mig_is_not_a_node_that_does_mig,
    mixed_counts_cards_in_mig_mode_that_nobody_can_have,
    a_slice_has_the_memory_that_was_measured_not_the_number_in_its_name,
    a_slice_that_nobody_measured_has_at_least_its_part_of_the_card,
    a_slice_of_an_unknown_card_that_nobody_measured_has_unknown_memory,
    strategy_single_hides_slices_behind_the_plain_name,
    time_sliced_slices_are_no_mig_isolation,
    time_sliced_slices_under_their_own_name_show_in_their_labels_only,
    an_invalid_single_layout_has_no_mode,
    strategy_none_with_mig_on_advertises_cards_that_nobody_can_have_whole,
    a_layout_that_is_wanted_but_not_in_place_hides_the_truth,
    slices_that_are_about_to_be_cut_anew_are_not_verified,
    a_failed_layout_is_no_evidence,
    a_layout_in_place_that_nobody_advertises_is_contradicted,
    gke_partitions_are_slices_under_the_plain_name,
    gke_time_sharing_of_partitions_is_time_slicing,
    gke_time_sharing_hides_behind_the_plain_name,
    gke_mps_is_mps,
    gke_without_a_sharing_label_gives_whole_cards,
    gke_labels_say_nothing_of_another_device_plugin,
    a_node_is_known_by_its_resource_slices_alone,
    dra_serves_the_plain_name_with_none_in_allocatable,
    static_mig_devices_of_dra_bring_their_own_memory,
    dynamic_mig_offers_slices_while_mig_mode_is_off,
    device_plugin_and_dra_on_one_node_hand_out_the_same_cards_twice,
    compute_domains_are_no_second_allocator,
    a_node_with_two_models_is_of_unknown_model,
    a_card_outside_the_table_is_unknown,
    the_model_table_vetoes_slices_on_a_card_without_mig,
    nvml_not_supported_vetoes_every_other_source,
    a_card_with_mig_off_has_no_mig_devices_and_is_capable_all_the_same,
    a_stale_agent_is_no_evidence,
    an_mps_daemon_contradicts_a_label_of_time_slicing,
    the_agent_alone_tells_slices_of_strategy_single,
    the_old_whole_count_lingers_after_a_switch_to_renaming,
    slices_beside_shared_cards_make_the_node_as_weak_as_the_shares,
    a_driver_older_than_the_model_s_mig_has_none,
    a_label_that_denies_mig_contradicts_slices,
    karpenter_s_labels_name_the_card_where_nobody_else_does,
    memory_and_core_amounts_belong_to_another_project,
    a_card_of_another_maker_is_counted_and_not_judged,
    a_card_without_mig_says_so,
    a_label_that_denies_mig_is_enough_for_a_card_outside_the_table,
    a_layout_in_place_after_a_reboot_that_lost_it_is_contradicted,
    a_node_without_gpus_has_no_mode,
    labels_without_a_device_are_not_verified,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fixture {
    observed: Observed,
    expect: Map<String, Value>,
}

fn read(text: &str) -> Fixture {
    serde_saphyr::from_str(text).unwrap()
}

/// Compares every key that the file expects; the file leaves out what it is not about.
fn check(text: &str) {
    let Fixture { observed, expect } = read(text);
    let seen = view(&assess(&observed));
    for (key, wanted) in &expect {
        let found = seen.get(key).unwrap_or_else(|| panic!("no such key: {key}"));
        assert_eq!(found, wanted, "{key}\n{seen:#}");
    }
}

fn view(node: &Assessment) -> Value {
    let mode = &node.mode;
    json!({
        "model": node.model.map(ModelName::as_str),
        "product": node.product,
        "memory": node.memory,
        "mode": mode.mode,
        "standing": mode.standing,
        "source": mode.source,
        "explanation": mode.explanation,
        "against": mode.against.iter().map(|(source, _)| source).collect::<Vec<_>>(),
        "units": node.units.iter().map(unit).collect::<Vec<_>>(),
        "cards": node.cards,
        "replicas": node.replicas,
        "renamed": node.renamed,
        "dra": node.dra,
        "doubleAllocator": node.double_allocator,
        "wholeCountStale": node.whole_count_stale,
        "driver": node.driver,
        "computeCapability": node.compute_capability,
        "remarks": node.remarks,
        "mig": node.mig.explanation,
        "migCapability": capability(&node.mig.capability),
        "migEnabled": node.mig.enabled,
        "migStrategy": node.mig.strategy,
        "layout": layout(&node.mig.layout),
    })
}

fn unit(unit: &Unit) -> String {
    let profile = |profile: Option<MigProfile>| profile.map_or("?".to_owned(), |profile| profile.to_string());
    let kind = match unit.kind {
        UnitKind::Card => "card".to_owned(),
        UnitKind::SharedCard => "shared-card".to_owned(),
        UnitKind::Slice(of) => format!("slice({})", profile(of)),
        UnitKind::SharedSlice(of) => format!("shared-slice({})", profile(of)),
        UnitKind::Other => "other".to_owned(),
    };
    let memory = unit.memory.map_or("?".to_owned(), |memory| format!("{}Mi", memory.0));
    let class = unit.device_class.as_ref().map_or(String::new(), |class| format!(" by {class}"));
    format!("{} {} {kind} {memory}{class}", unit.resource, unit.count)
}

fn capability(capability: &MigCapability) -> &'static str {
    match capability {
        MigCapability::Capable => "capable",
        MigCapability::NotCapable(_) => "not-capable",
        MigCapability::Unknown => "unknown",
    }
}

fn layout(layout: &MigLayoutState) -> String {
    match layout {
        MigLayoutState::Settled => "settled".to_owned(),
        MigLayoutState::Pending(state) => format!("pending({state})"),
        MigLayoutState::Failed => "failed".to_owned(),
        MigLayoutState::Invalid => "invalid".to_owned(),
    }
}

/// Values that labels really have, and that they should not have.
const WORDS: &[&str] = &[
    "",
    "0",
    "1",
    "7",
    "18446744073709551616",
    "-3",
    "true",
    "false",
    "none",
    "single",
    "mixed",
    "time-slicing",
    "mps",
    "success",
    "pending",
    "failed",
    "all-disabled",
    "all-1g.10gb",
    "NVIDIA-L4",
    "NVIDIA-H200-MIG-1g.18gb-SHARED",
    "-MIG-",
    "-SHARED",
    "NVIDIA-A100-SXM4-80GB-MIG-INVALID",
    "550.90.07",
    "\u{fc}",
];

/// Some fixture with some labels and counts replaced or removed.
fn mutated() -> impl Strategy<Value = Observed> {
    let nodes: Vec<Observed> = NODES.iter().map(|text| read(text).observed).collect();
    let keys: Vec<String> = nodes.iter().flat_map(|node| node.labels.keys().cloned()).collect();
    let names: Vec<String> = nodes.iter().flat_map(|node| node.allocatable.keys().cloned()).collect();
    let label = (proptest::sample::select(keys), proptest::sample::select(WORDS));
    let count = (proptest::sample::select(names), prop_oneof![Just(0), 1_u64..20, Just(u64::MAX)]);
    let labels = proptest::collection::vec(label, 0..6);
    let counts = proptest::collection::vec(count, 0..4);
    (proptest::sample::select(nodes), labels, counts, any::<bool>()).prop_map(
        |(node, labels, counts, less)| {
            let mut observed = node;
            observed.labels.extend(labels.into_iter().map(|(key, value)| (key, value.to_owned())));
            observed.allocatable.extend(counts);
            if less {
                observed.agent = None;
                observed.labels.pop_first();
            }
            observed
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1024,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_node_gets_an_assessment_that_keeps_its_promises(observed in mutated()) {
        let node = assess(&observed);
        let mode = &node.mode;
        prop_assert!(!mode.explanation.is_empty() && !node.mig.explanation.is_empty());
        prop_assert_eq!(mode.standing == Standing::Contradicted, !mode.against.is_empty());
        if mode.standing == Standing::Verified {
            prop_assert!(mode.mode.is_some());
        }
        if mode.mode == Some(Mode::Mig) && mode.standing == Standing::Verified {
            prop_assert_eq!(&node.mig.capability, &MigCapability::Capable);
            prop_assert_eq!(&node.mig.layout, &MigLayoutState::Settled);
        }
        if node.model.and_then(ModelName::model).is_some_and(|model| model.mig == ModelMig::None) {
            prop_assert!(mode.mode != Some(Mode::Mig), "the table denies it: {}", mode.explanation);
        }
        prop_assert!(node.units.iter().all(|unit| unit.count > 0 && is_gpu_like(&unit.resource)));
        prop_assert!(node.units.is_sorted_by(|a, b| a.resource < b.resource));
    }

    #[test]
    fn labels_that_are_no_evidence_change_nothing(
        observed in mutated(),
        key in "[a-z.]{1,12}/[a-z.-]{1,12}",
    ) {
        prop_assume!(!is_evidence_label(&key));
        let mut more = observed.clone();
        more.labels.insert(key, "true".to_owned());
        more.labels.insert("nvidia.com/gpu.clique".to_owned(), "3".to_owned());
        prop_assert_eq!(assess(&more), assess(&observed));
    }

    #[test]
    fn labels_that_are_evidence_are_enough(observed in mutated()) {
        let mut fewer = observed.clone();
        fewer.labels.retain(|key, _| is_evidence_label(key));
        prop_assert_eq!(assess(&fewer), assess(&observed));
    }
}

#[test]
fn every_fixture_without_its_labels_and_agent_is_never_verified_mig_by_a_plain_name() {
    for text in NODES {
        let mut observed = read(text).observed;
        observed.labels.clear();
        observed.agent = None;
        observed.slices.clear();
        observed.allocatable.retain(|name, _| name == "nvidia.com/gpu");
        let mode = assess(&observed).mode;
        assert!(mode.mode != Some(Mode::Mig) && mode.standing != Standing::Verified, "{}", mode.explanation);
    }
}
