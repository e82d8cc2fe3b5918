use std::fs;

use super::{sluice, without_ids};
use crate::{golden::assert_same, sources};

#[test]
fn the_demo_goes_as_its_cases_expect() {
    let run = sluice(&["demo", "--once"], "");
    assert_eq!((run.status, run.err.as_str()), (0, ""), "{}", run.out);
    assert_same("tests/offline/command_line/demo.txt", &without_ids(&run.out));
}

#[test]
fn one_other_taint_of_the_sample_cluster_makes_another_demo() {
    let sample = sources::read("policies/tests/clusters/four-pools.yaml");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cluster.yaml");
    let node = sample.find("name: l4-shared-1").expect("the node");
    let (before, after) = sample.split_at(node);
    let edited = after.replacen("key: nvidia.com/gpu,", "key: example.com/maintenance,", 1);
    assert_ne!(after, edited);
    fs::write(&file, format!("{before}{edited}")).expect("written");

    let as_shipped = sluice(&["demo", "--once"], "");
    let run = sluice(&["demo", "--once", "--cluster", &file.to_string_lossy()], "");
    assert_ne!(run.out, as_shipped.out);
    assert_eq!(run.status, 1, "the cases expect both L4 nodes:\n{}", run.out);
    assert!(
        run.out.contains("asr: nodes: expected l4-shared-1, l4-shared-2, got l4-shared-2"),
        "{}",
        run.out
    );
}
