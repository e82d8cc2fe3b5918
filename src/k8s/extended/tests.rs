use super::*;

#[test]
fn extended_resources_have_a_domain_that_is_not_kubernetes() {
    for name in
        ["nvidia.com/gpu", "nvidia.com/mig-1g.10gb", "nvidia.com/gpu.shared", "amd.com/gpu", "a.b/C_d"]
    {
        assert!(is_extended(name), "{name}");
        assert!(!is_native(name), "{name}");
    }
    for name in [
        "cpu",
        "gpu",
        "hugepages-2Mi",
        "requests.nvidia.com/gpu",
        "kubernetes.io/gpu",
        "alpha.kubernetes.io/nvidia-gpu",
        "deviceclass.resource.kubernetes.io/gpu",
        "/gpu",
        "nvidia.com/",
        "Nvidia.com/gpu",
        "nvidia.com/gpu/0",
        "nvidia.com/big gpu",
    ] {
        assert!(!is_extended(name), "{name}");
    }
}

#[test]
fn the_prefix_must_leave_room_for_the_quota_key() {
    let prefixed = |length: usize| format!("{}/gpu", "a".repeat(length));
    assert!(is_extended(&prefixed(244)));
    assert!(!is_extended(&prefixed(245)));
}

#[test]
fn only_native_resources_but_not_hugepages_may_be_overcommitted() {
    for (name, allowed) in [
        ("cpu", true),
        ("memory", true),
        ("example.kubernetes.io/x", true),
        ("hugepages-1Gi", false),
        ("nvidia.com/gpu", false),
    ] {
        assert_eq!(is_overcommit_allowed(name), allowed, "{name}");
    }
    assert!(is_attachable_volume("attachable-volumes-aws-ebs"));
    assert!(is_extended_or_device_class("deviceclass.resource.kubernetes.io/gpu"));
}

fn demand(requests: &[(&str, &str)], limits: &[(&str, &str)]) -> Demand {
    let amounts = |pairs: &[(&str, &str)]| {
        pairs.iter().map(|(name, text)| ((*name).to_owned(), text.parse().expect("a quantity"))).collect()
    };
    Demand { requests: amounts(requests), limits: amounts(limits) }
}

fn found(requests: &[(&str, &str)], limits: &[(&str, &str)]) -> Vec<(Side, ResourceProblemKind)> {
    container_problems(&demand(requests, limits)).into_iter().map(|p| (p.side, p.kind)).collect()
}

const GPU: &str = "nvidia.com/gpu";

#[test]
fn a_whole_number_of_gpus_with_an_equal_limit_is_fine() {
    for (request, limit) in [("1", "1"), ("1000m", "1"), ("1e0", "1.0"), ("0", "0"), ("2", "2000m")] {
        assert_eq!(found(&[(GPU, request)], &[(GPU, limit)]), [], "{request} {limit}");
    }
    assert_eq!(found(&[], &[(GPU, "1")]), [], "the request will be filled in");
    assert_eq!(found(&[("cpu", "500m"), ("memory", "1Gi")], &[("cpu", "2")]), []);
}

#[test]
fn each_way_to_ask_wrongly_is_named() {
    use ResourceProblemKind::*;
    use Side::{Limits, Requests};
    let whole = Quantity::whole;
    assert_eq!(found(&[(GPU, "1")], &[]), [(Requests, LimitMissing)]);
    assert_eq!(found(&[(GPU, "1")], &[(GPU, "2")]), [(Requests, UnequalToLimit { limit: whole(2) })]);
    assert_eq!(found(&[(GPU, "2")], &[(GPU, "1")]), [(Requests, UnequalToLimit { limit: whole(1) })]);
    assert_eq!(found(&[(GPU, "0.5")], &[(GPU, "500m")]), [(Limits, NotInteger), (Requests, NotInteger)]);
    assert_eq!(found(&[], &[(GPU, "-1")]), [(Limits, Negative)]);
    assert_eq!(found(&[("cpu", "2")], &[("cpu", "1")]), [(Requests, AboveLimit { limit: whole(1) })]);
    assert_eq!(found(&[("hugepages-2Mi", "2Mi")], &[]), [(Requests, LimitMissing)]);
    assert_eq!(found(&[("gpu", "1")], &[]), [(Requests, NotStandard)]);
    assert_eq!(found(&[("requests.cpu", "1")], &[]), [(Requests, NotStandard)]);
    assert_eq!(found(&[], &[("requests.nvidia.com/gpu", "1")]), [(Limits, NotExtended)]);
    let bad_name = names::NameProblem::Characters(names::NamePart::Name);
    assert_eq!(found(&[], &[("nvidia.com/big gpu", "1")]), [(Limits, Name(bad_name))]);
}

#[test]
fn whole_numbers_are_read_after_rounding_up_to_thousandths() {
    let rows = [
        ("1", Some(1)),
        ("1000m", Some(1)),
        ("3e0", Some(3)),
        ("0.9999999", Some(1)),
        ("1.001", None),
        ("1.0001", None),
        ("500m", None),
        ("1n", None),
        ("10E", Some(i64::MAX)),
    ];
    for (text, expected) in rows {
        assert_eq!(whole_number(text.parse().expect("a quantity")), expected, "{text}");
    }
}

#[test]
fn only_request_keys_count_extended_resources() {
    let rows = [
        ("requests.nvidia.com/gpu", QuotaKey::Extended(GPU)),
        ("requests.nvidia.com/mig-1g.10gb", QuotaKey::Extended("nvidia.com/mig-1g.10gb")),
        ("nvidia.com/gpu", QuotaKey::Nothing),
        ("limits.nvidia.com/gpu", QuotaKey::Nothing),
        ("requests.kubernetes.io/gpu", QuotaKey::Nothing),
        ("requests.deviceclass.resource.kubernetes.io/h100", QuotaKey::DeviceClass("h100")),
        ("h100.deviceclass.resource.k8s.io/devices", QuotaKey::DeviceClass("h100")),
        ("cpu", QuotaKey::Native),
        ("requests.memory", QuotaKey::Native),
        ("limits.ephemeral-storage", QuotaKey::Native),
        ("hugepages-2Mi", QuotaKey::Native),
        ("requests.hugepages-2Mi", QuotaKey::Native),
        ("limits.hugepages-2Mi", QuotaKey::Nothing),
        ("requests.storage", QuotaKey::Native),
        ("fast.storageclass.storage.k8s.io/requests.storage", QuotaKey::Native),
        ("pods", QuotaKey::Objects),
        ("count/jobs.batch", QuotaKey::Objects),
        ("services.loadbalancers", QuotaKey::Objects),
        ("gpus", QuotaKey::Nothing),
    ];
    for (key, counts) in rows {
        assert_eq!(quota_key_counts(key), counts, "{key}");
    }
    assert_eq!(quota_key_counts(&quota_key(GPU)), QuotaKey::Extended(GPU));
}
