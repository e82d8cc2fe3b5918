use std::{
    io::Read,
    process::{Command, Stdio},
};

use super::sluice;

const CLUSTER: &str = "policies/tests/clusters/four-pools.yaml";

#[test]
fn a_rule_is_explained_and_a_misspelt_one_suggested() {
    let run = sluice(&["explain", "request-limit-mismatch"], "");
    assert_eq!(run.status, 0);
    for word in ["request-limit-mismatch: ", "fix:", "severity:", "judges:"] {
        assert!(run.out.contains(word), "{word}: {}", run.out);
    }
    let all = sluice(&["explain"], "");
    assert!(sluice::rules::ids().iter().all(|id| all.out.contains(id)));
    let misspelt = sluice(&["explain", "request-limit"], "");
    assert_eq!((misspelt.status, misspelt.out.as_str()), (2, ""));
    assert!(misspelt.err.contains("did you mean request-limit-mismatch"), "{}", misspelt.err);
}

#[test]
fn pools_as_policy_files_are_read_back_as_the_same_pools() {
    let folder = tempfile::tempdir().expect("a folder");
    let found = sluice(&["pools", "--cluster", CLUSTER, "-o", "yaml"], "");
    assert_eq!(found.status, 0, "{}", found.err);
    std::fs::write(folder.path().join("pools.yaml"), &found.out).expect("written");
    let policies = folder.path().to_string_lossy().into_owned();
    let pools = |arguments: &[&str]| -> Vec<(String, String, String)> {
        let run = sluice(&[&["pools", "--cluster", CLUSTER, "-o", "json"], arguments].concat(), "");
        let report: serde_json::Value = serde_json::from_str(&run.out).expect("JSON");
        let pools = report["pools"].as_array().expect("pools").iter();
        let text = |pool: &serde_json::Value, key: &str| pool[key].to_string();
        pools.map(|pool| (text(pool, "name"), text(pool, "nodes"), text(pool, "usable"))).collect()
    };
    let (discovered, declared) = (pools(&[]), pools(&["--policies", &policies]));
    assert_eq!(discovered.len(), 4);
    assert!(discovered.iter().all(|(_, _, usable)| usable == "true"), "{discovered:?}");
    assert_eq!(discovered, declared);
    let without = sluice(&["pools"], "");
    assert_eq!(without.status, 2);
    assert!(without.err.starts_with("error: no cluster: give --context NAME"), "{}", without.err);
}

#[test]
fn the_scheduler_configuration_asks_the_extender_by_names_only() {
    let run = sluice(&["scheduler-config", "--cluster", CLUSTER], "");
    assert_eq!(run.status, 0, "{}", run.err);
    let config = sluice::k8s::yaml::documents(&run.out).next().expect("a document").expect("YAML").value;
    let extender = &config["extenders"][0];
    assert_eq!(extender["nodeCacheCapable"], true);
    assert_eq!(extender["prioritizeVerb"], "prioritize");
    assert_eq!(extender["ignorable"], false);
    assert!(extender.get("bindVerb").is_none() && extender.get("managedResources").is_none());
    assert!(run.err.contains("nvidia.com/gpu is ambiguous"), "{}", run.err);
    let bare = sluice(&["scheduler-config", "--url", "https://127.0.0.1:8444/scheduler"], "");
    assert_eq!(bare.status, 2);
    assert!(bare.err.contains("https without --ca-file"), "{}", bare.err);
}

#[test]
fn certificates_come_with_the_configurations_that_trust_them() {
    let run = sluice(&["certs", "-n", "gate"], "");
    assert_eq!(run.status, 0);
    let documents: Vec<serde_json::Value> =
        sluice::k8s::yaml::documents(&run.out).map(|document| document.expect("YAML").value).collect();
    let kinds: Vec<&str> = documents.iter().filter_map(|document| document["kind"].as_str()).collect();
    assert_eq!(kinds, ["Secret", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"]);
    let authority = &documents[0]["data"]["ca.crt"];
    for webhook in documents[1..].iter().flat_map(|document| document["webhooks"].as_array().expect("a list"))
    {
        assert_eq!(&webhook["clientConfig"]["caBundle"], authority);
        assert_eq!(webhook["clientConfig"]["service"]["namespace"], "gate");
    }
    assert_eq!(sluice(&["certs", "-n", "no name"], "").status, 2);
}

#[test]
fn shells_get_their_completion() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let run = sluice(&["completion", shell], "");
        assert!(run.status == 0 && run.out.contains("scheduler-config"), "{shell}");
    }
}

#[test]
fn every_command_has_a_manual_page_with_its_flags_and_examples() {
    let folder = tempfile::tempdir().expect("a folder");
    let into = folder.path().join("man1");
    let run = sluice(&["man", &into.to_string_lossy()], "");
    assert_eq!((run.status, run.out.as_str()), (0, ""), "{}", run.err);
    let help = sluice(&["--help"], "").out;
    let commands =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<&str> = commands
        .filter_map(|line| {
            line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '))?.split_whitespace().next()
        })
        .filter(|name| *name != "help")
        .collect();
    assert!(commands.contains(&"check") && commands.len() >= 12, "{commands:?}");
    for command in &commands {
        let page = std::fs::read_to_string(into.join(format!("sluice-{command}.1"))).unwrap_or_default();
        assert!(
            page.starts_with(".ie") && page.contains(".SH NAME") && page.contains("Examples:"),
            "{command}: {page}"
        );
        let help = sluice(&[command, "--help"], "").out;
        for flag in help.split_whitespace().filter_map(|word| word.strip_prefix("--")) {
            let flag = flag.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
            assert!(page.contains(&flag.replace('-', "\\-")) || page.contains(flag), "{command}: {flag}");
        }
    }
    assert!(into.join("sluice.1").exists());
    assert_eq!(sluice(&["man", "/proc/none"], "").status, 2);
}

#[test]
fn who_reads_only_the_beginning_gets_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sluice"))
        .args(["completion", "bash"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut said).expect("text");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(said, "");
}
