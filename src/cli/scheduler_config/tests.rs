use std::sync::Arc;

use clap::Parser;

use super::*;
use crate::{cluster::Cluster, policy, world::World};

#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    arguments: Arguments,
}

const SAMPLE: &str = include_str!("../../../policies/tests/clusters/four-pools.yaml");

/// The sample cluster without the nodes whose names begin so.
fn world_without(left_out: &[&str]) -> World {
    let documents = yaml::documents(SAMPLE).map(|document| document.expect("YAML").value);
    let kept = documents.filter(|document| {
        let name = document["metadata"]["name"].as_str().unwrap_or_default();
        !left_out.iter().any(|prefix| name.starts_with(prefix))
    });
    let cluster = Cluster::from_documents(kept).expect("the sample can be read");
    World::new(Arc::new(policy::built_in(&rules::ids())), cluster)
}

#[test]
fn a_name_that_means_two_modes_or_no_pool_at_all_needs_every_pod() {
    let Managed::Everything { because } = Managed::of(&world_without(&[])) else { panic!("a list") };
    assert_eq!(because, "nvidia.com/gpu is ambiguous: it means exclusive here and time-slicing");
    let Managed::Everything { because } = Managed::of(&world_without(&["h100", "l4"])) else {
        panic!("a list")
    };
    assert!(because.starts_with("no pool is known"), "{because}");
}

#[test]
fn a_name_is_left_out_where_every_class_may_go_wherever_it_is_advertised() {
    let managed = Managed::of(&world_without(&["l4", "h100-mig"]));
    let Managed::Names { names, omitted } = &managed else { panic!("{managed:?}") };
    assert_eq!(names, &Vec::<String>::new());
    assert_eq!(omitted.len(), 1, "{omitted:?}");
    assert_eq!(omitted[0].0, "nvidia.com/gpu");
    assert!(omitted[0].1.starts_with("pool h100-80gb-exclusive is open to every class"), "{omitted:?}");
    let notes = explain(&managed, true).join("\n");
    assert!(notes.contains("nobody enforces") && notes.contains("mig-config-pending"), "{notes}");
}

#[test]
fn a_name_is_listed_where_some_class_must_keep_away_from_some_of_its_nodes() {
    let class = "apiVersion: sluice.dev/v1alpha1\nkind: WorkloadClass\nmetadata: {name: large}\n\
                 spec: {pools: [{mode: exclusive, memory: 60Gi}]}\n";
    let files = [policy::SourceFile { path: "large.yaml".into(), text: class.into() }];
    let policies = policy::compile(&files, "test", &rules::ids()).expect("policies");
    let world = world_without(&["l4-", "h100-mig"]).with_policies(Arc::new(policies));
    let managed = Managed::of(&world);
    assert_eq!(managed, Managed::Names { names: vec!["nvidia.com/gpu".into()], omitted: vec![] });
}

#[test]
fn scores_are_asked_for_where_some_class_likes_one_node_better() {
    let only_whole = world_without(&["l4", "h100-mig"]);
    assert!(scores_matter(&only_whole), "the built-in classes pack");
    let class = |more: &str| {
        format!(
            "apiVersion: sluice.dev/v1alpha1\nkind: WorkloadClass\nmetadata: {{name: only}}\n\
             spec: {{pools: [{more}], placement: spread}}\n"
        )
    };
    let under = |terms: &str| {
        let files = [policy::SourceFile { path: "only.yaml".into(), text: class(terms) }];
        let policies = policy::compile(&files, "test", &rules::ids()).expect("policies");
        only_whole.with_policies(Arc::new(policies))
    };
    let spreads = under("{mode: exclusive}");
    assert!(!scores_matter(&spreads), "in-tree scoring spreads too");
    let arguments = Line::parse_from(["scheduler-config"]).arguments;
    let managed = Managed::of(&only_whole);
    for scores in [true, false] {
        let names = Managed::Names { names: vec!["nvidia.com/gpu".into()], omitted: vec![] };
        let extender = configuration(&arguments, &names, scores)["extenders"][0].clone();
        assert_eq!(extender["prioritizeVerb"].is_null(), !scores, "{extender}");
        assert_eq!(extender["weight"].is_null(), !scores, "{extender}");
        let told = explain(&managed, scores).join("\n").contains("prioritizeVerb is left out");
        assert_eq!(told, !scores);
    }
}
