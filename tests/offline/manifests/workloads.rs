//! The Deployments: what they are allowed to do, and that they outlive a node.

use std::process::Command;

use serde_json::{Value, json};
use sluice::{
    cluster::Kind,
    policy::{self, Severity, SourceFile},
    rules,
    serve::Options,
    subject::templates::TEMPLATE_KINDS,
};

use super::{documents, items, name, shipped, words};
use crate::sources;

fn pod(deployment: &Value) -> &Value {
    &deployment["spec"]["template"]["spec"]
}

fn container<'a>(deployment: &'a Value, image: &str) -> Option<&'a Value> {
    items(&pod(deployment)["containers"]).find(|container| container["image"] == image)
}

fn deployments() -> Vec<Value> {
    let found = shipped("Deployment");
    assert_eq!(found.iter().map(name).collect::<Vec<_>>(), ["sluice-scheduler", "sluice", "sluice-extender"]);
    found
}

#[test]
fn every_deployment_outlives_the_loss_of_one_node() {
    let budgets = shipped("PodDisruptionBudget");
    for deployment in deployments() {
        let selector = &deployment["spec"]["selector"]["matchLabels"];
        assert!(deployment["spec"]["replicas"].as_i64() >= Some(2), "{}", name(&deployment));
        assert_eq!(deployment["spec"]["template"]["metadata"]["labels"], *selector);
        assert_eq!(pod(&deployment)["priorityClassName"], "system-cluster-critical");
        let spread: Vec<&Value> = items(&pod(&deployment)["topologySpreadConstraints"])
            .map(|spread| &spread["topologyKey"])
            .collect();
        assert_eq!(spread, ["kubernetes.io/hostname", "topology.kubernetes.io/zone"]);
        for constraint in items(&pod(&deployment)["topologySpreadConstraints"]) {
            assert_eq!(constraint["labelSelector"]["matchLabels"], *selector, "{}", name(&deployment));
        }
        let budget = budgets.iter().find(|budget| budget["spec"]["selector"]["matchLabels"] == *selector);
        let budget = budget.unwrap_or_else(|| panic!("no budget for {}", name(&deployment)));
        assert_eq!(budget["spec"]["maxUnavailable"], 1, "a drain must never be blocked");
    }
}

#[test]
fn containers_have_no_rights_on_their_node() {
    for deployment in deployments() {
        let context = &pod(&deployment)["securityContext"];
        assert_eq!(context["runAsNonRoot"], true, "{}", name(&deployment));
        assert_eq!(context["seccompProfile"], json!({"type": "RuntimeDefault"}));
        for container in items(&pod(&deployment)["containers"]) {
            let context = &container["securityContext"];
            assert_eq!(context["readOnlyRootFilesystem"], true);
            assert_eq!(context["allowPrivilegeEscalation"], false);
            assert_eq!(context["capabilities"], json!({"drop": ["ALL"]}));
            let resources = &container["resources"];
            assert!(resources["requests"]["cpu"].is_string() && resources["limits"]["memory"].is_string());
            assert!(resources["limits"]["cpu"].is_null(), "throttled is late, and late is no answer");
        }
        for volume in items(&pod(&deployment)["volumes"]) {
            assert!(volume["hostPath"].is_null());
        }
    }
    let labels = &documents("deploy/base/namespace.yaml")[0]["metadata"]["labels"];
    assert_eq!(labels["pod-security.kubernetes.io/enforce"], "restricted");
}

#[test]
fn the_agent_sees_its_node_and_can_change_nothing_on_it() {
    let agent = shipped("DaemonSet").remove(0);
    for container in items(&pod(&agent)["containers"]) {
        let context = &container["securityContext"];
        assert_eq!(context["readOnlyRootFilesystem"], true);
        assert_eq!(context["allowPrivilegeEscalation"], false);
        assert_eq!(context["capabilities"], json!({"drop": ["ALL"]}));
        assert!(context["privileged"].is_null());
        for mount in items(&container["volumeMounts"]) {
            assert_eq!(mount["readOnly"], true, "{mount}");
        }
        assert_eq!(words(&container["args"]), ["agent"]);
    }
    let paths: Vec<&Value> =
        items(&pod(&agent)["volumes"]).map(|volume| &volume["hostPath"]["path"]).collect();
    assert_eq!(paths, ["/var/lib/kubelet/pod-resources"]);
    assert_eq!(
        pod(&agent)["tolerations"],
        json!([{"operator": "Exists"}]),
        "our own taint must not keep it off"
    );
}

#[test]
fn ports_probes_and_grace_are_those_of_the_server() {
    let options = Options::default();
    let status = options.status.expect("the server has a status port by default").port();
    let end = (options.keep_serving + options.drain).as_secs();
    for deployment in deployments() {
        let grace = pod(&deployment)["terminationGracePeriodSeconds"].as_u64().expect("a grace period");
        assert!(grace >= end + 5, "{}: {grace} s for a drain of {end} s", name(&deployment));
        let server = container(&deployment, "sluice").expect("each has a sluice container");
        let port = |name: &str| {
            items(&server["ports"])
                .find(|port| port["name"] == name)
                .and_then(|port| port["containerPort"].as_u64())
        };
        assert_eq!(port("status"), Some(status.into()), "{}", name(&deployment));
        // The extender beside the scheduler listens on loopback only.
        let https = (name(&deployment) != "sluice-scheduler").then_some(u64::from(options.address.port()));
        assert_eq!(port("https"), https, "{}", name(&deployment));
        for (probe, path) in
            [("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")]
        {
            assert_eq!(server[probe]["httpGet"], json!({"path": path, "port": "status"}), "{probe}");
        }
    }
}

#[test]
fn the_program_takes_the_arguments_that_it_is_given() {
    let run = |arguments: &[&str]| {
        let program = Command::new(env!("CARGO_BIN_EXE_sluice")).args(arguments).arg("--help").output();
        program.expect("the program runs").status.success()
    };
    for deployment in deployments() {
        let server = container(&deployment, "sluice").expect("each has a sluice container");
        let arguments = words(&server["args"]);
        assert_eq!(arguments[0], "serve");
        assert!(run(&arguments), "{}: {arguments:?}", name(&deployment));
        let mounted: Vec<&str> =
            items(&server["volumeMounts"]).filter_map(|mount| mount["mountPath"].as_str()).collect();
        for path in arguments.iter().filter_map(|argument| argument.split_once("=/")).map(|(_, path)| path) {
            assert!(mounted.contains(&format!("/{path}").as_str()), "{path} is not mounted");
        }
    }
    assert!(!run(&["serve", "--no-such-flag"]), "the control");
}

#[test]
fn the_network_policy_lets_in_whoever_cannot_be_named() {
    let policies = shipped("NetworkPolicy");
    let ports: Vec<&Value> =
        items(&policies[0]["spec"]["ingress"][0]["ports"]).map(|port| &port["port"]).collect();
    assert_eq!(ports, [8443, 8080, 10259]);
    assert!(policies[0]["spec"]["ingress"][0]["from"].is_null(), "the API server has no labels");
    assert_eq!(
        policies[0]["spec"]["policyTypes"],
        json!(["Ingress"]),
        "the way to the API server stays open"
    );
}

#[test]
fn services_select_the_deployment_of_their_name() {
    let deployments = deployments();
    for service in shipped("Service") {
        let deployment = deployments.iter().find(|deployment| name(deployment) == name(&service));
        let deployment = deployment.unwrap_or_else(|| panic!("no Deployment {}", name(&service)));
        assert_eq!(service["spec"]["selector"], deployment["spec"]["selector"]["matchLabels"]);
        assert_eq!(service["spec"]["ports"][0]["targetPort"], "https");
    }
}

#[test]
fn rights_are_to_read_the_kinds_of_the_picture() {
    let role = documents("deploy/base/picture-role.yaml").remove(0);
    let mut allowed: Vec<(String, String)> = Vec::new();
    for rule in items(&role["rules"]) {
        assert_eq!(words(&rule["verbs"]), ["list", "watch"]);
        let group = words(&rule["apiGroups"])[0];
        allowed
            .extend(words(&rule["resources"]).iter().map(|plural| (group.to_owned(), (*plural).to_owned())));
    }
    let mut wanted: Vec<(String, String)> =
        Kind::ALL.map(Kind::row).map(|row| (row.group.to_owned(), row.plural.to_owned())).to_vec();
    wanted.sort();
    allowed.sort();
    assert_eq!(allowed, wanted);
    for row in TEMPLATE_KINDS.iter().filter(|row| row.is_core()) {
        let kind = (row.group.to_owned(), row.plural.to_owned());
        assert!(wanted.contains(&kind), "owners of Pods are looked up: {kind:?}");
    }
}

#[test]
fn nothing_else_is_written_or_read() {
    for role in shipped("Role").iter().chain(&shipped("ClusterRole")) {
        for rule in items(&role["rules"]) {
            let resources = words(&rule["resources"]);
            assert!(!resources.iter().any(|resource| resource.contains("secrets") || resource.contains('*')));
            let verbs = words(&rule["verbs"]);
            let reads = verbs.iter().all(|verb| ["list", "watch"].contains(verb));
            // What the agent writes is bounded further by deploy/agent/writes.yaml.
            let agents = name(role) == "sluice-agent"
                && matches!(resources[..], ["nodes"] | ["gpunodes"] | ["gpunodes/status"]);
            // What a patch of a Node may hold is limited by a policy beside it.
            let wakes = name(role) == "sluice-wake-up" && resources == ["nodes"] && verbs == ["patch"];
            let allowed = reads || agents || wakes || resources == ["leases"];
            assert!(allowed, "{}: {verbs:?} of {resources:?}", name(role));
        }
    }
}

#[test]
fn images_have_the_versions_of_this_repository() {
    let module = sources::read("tests/controlplane/go.mod");
    let version =
        |line: &str| line.trim().strip_prefix("k8s.io/kubernetes ")?.split(' ').next().map(str::to_owned);
    let kubernetes = module.lines().find_map(version).expect("the control plane has a version");
    for path in ["deploy/base/kustomization.yaml", "deploy/overlays/availability/kustomization.yaml"] {
        for image in items(&documents(path)[0]["images"]) {
            let want = match image["name"].as_str() {
                Some("sluice") => env!("CARGO_PKG_VERSION"),
                _ => kubernetes.as_str(),
            };
            assert_eq!(image["newTag"], want, "{path}: {image}");
        }
    }
}

#[test]
fn policies_of_the_overlays_compile_and_act_as_their_overlay_is_called() {
    for (overlay, action) in [("observe", Severity::Audit), ("enforce", Severity::Deny)] {
        let path = format!("deploy/overlays/{overlay}/admission.yaml");
        let file = SourceFile { text: sources::read(&path), path };
        let set = policy::compile(&[file], "test", &rules::ids());
        let set = set.unwrap_or_else(|errors| panic!("{overlay}: {errors:?}"));
        assert_eq!(set.policies.iter().map(|policy| policy.action).collect::<Vec<_>>(), [action]);
        assert!(set.classes.len() >= 4, "the built-in classes are used");
    }
}
