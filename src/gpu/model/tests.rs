//! The table is held to its own rules, and to product names as their writers write them.

use super::*;

fn name(product: &str) -> Option<&'static str> {
    lookup(product).map(|model| model.name().as_str())
}

/// As NVML and DRA write them (with blanks), as GFD does, and as clouds do.
const PRODUCTS: &[(&str, &str)] = &[
    ("NVIDIA-A30", "A30"),
    ("NVIDIA-A100-SXM4-40GB", "A100-40GB"),
    ("NVIDIA A100-SXM4-40GB", "A100-40GB"),
    ("A100-SXM4-40GB-MIG-1g.5gb-SHARED", "A100-40GB"),
    ("NVIDIA-A100-PCIE-40GB", "A100-40GB"),
    ("nvidia-tesla-a100", "A100-40GB"),
    ("NVIDIA-A100-SXM4-80GB-MIG-INVALID", "A100-80GB"),
    ("NVIDIA-A100-80GB-PCIe-MIG-1g.10gb", "A100-80GB"),
    ("nvidia-a100-80gb", "A100-80GB"),
    ("a100", "A100"),
    ("NVIDIA-H100-80GB-HBM3", "H100-80GB"),
    ("NVIDIA-H100-PCIe", "H100-80GB"),
    ("nvidia-h100-mega-80gb", "H100-80GB"),
    ("NVIDIA-H100-NVL", "H100-94GB"),
    ("NVIDIA-GH200-480GB", "GH200-96GB"),
    ("NVIDIA-GH200-144G-HBM3e", "GH200-144GB"),
    ("NVIDIA-H20", "H20"),
    ("NVIDIA-H200", "H200"),
    ("NVIDIA H200 NVL", "H200"),
    ("nvidia-h200-141gb", "H200"),
    ("NVIDIA-B200", "B200"),
    ("NVIDIA-GB200", "GB200"),
    ("NVIDIA-B300-SXM6-AC", "B300"),
    ("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition", "RTX-PRO-6000"),
    ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "RTX-PRO-6000"),
    ("Tesla-V100-SXM2-16GB", "V100"),
    ("Tesla-V100-DGXS-32GB", "V100"),
    ("Tesla-T4", "T4"),
    ("NVIDIA-A10", "A10"),
    ("NVIDIA-A10G-SHARED", "A10G"),
    ("nvidia-l4", "L4"),
    ("NVIDIA-L40", "L40"),
    ("NVIDIA-L40S", "L40S"),
    ("NVIDIA-RTX-A6000", "RTX-A6000"),
    ("NVIDIA-RTX-6000-Ada-Generation", "RTX-6000-Ada"),
    ("Quadro-RTX-6000", "Quadro-RTX"),
    ("NVIDIA-GeForce-RTX-4090", "GeForce-RTX-40"),
    ("NVIDIA GeForce RTX 5090", "GeForce-RTX-50"),
    ("NVIDIA-GB10", "GB10"),
];

#[test]
fn products_are_found_under_every_name_that_they_go_by() {
    for (product, model) in PRODUCTS {
        assert_eq!(name(product), Some(*model), "{product}");
    }
}

#[test]
fn a_variant_that_nobody_has_looked_at_is_unknown() {
    for product in [
        "",
        "NVIDIA",
        "NVIDIA-A100-SXM-64GB",
        "NVIDIA-A100X",
        "GRID-A100-40C",
        "NVIDIA-L40S-48C",
        "NVIDIA-H100-PCIe-96GB-Special",
        "NVIDIA-H20-3e",
        "NVIDIA-R100",
        "amd-instinct-mi300x",
    ] {
        assert_eq!(name(product), None, "{product}");
    }
}

#[test]
fn no_model_hides_behind_another() {
    for model in models() {
        for pattern in &model.products {
            let product = pattern.to_string().replace('*', "80");
            assert_eq!(name(&product), Some(&*model.name), "{product}");
        }
        for alias in &model.aliases {
            assert_eq!(name(alias), Some(&*model.name), "{alias}");
        }
        assert_eq!(model.name().model(), Some(model));
    }
    let names: std::collections::BTreeSet<_> = models().iter().map(|model| &model.name).collect();
    assert_eq!(names.len(), models().len(), "a name stands twice");
}

#[test]
fn every_table_of_profiles_is_possible() {
    let capable = models().iter().filter_map(|model| Some((model, model.mig_table()?)));
    for (model, table) in capable {
        let name = &model.name;
        assert_eq!(
            table.min_driver.is_some(),
            table.min_driver().is_some(),
            "{name}: its driver is no version"
        );
        assert!(!table.complete || !table.profiles.is_empty(), "{name}: complete and empty");
        for (profile, facts) in &table.profiles {
            let most = u32::from(table.slots.compute / profile.slices());
            assert!((1..=most).contains(&facts.max), "{name} {profile}: {} of {most}", facts.max);
            let (Some(usable), Some(gb)) = (facts.usable_mib, model.memory_gb) else { continue };
            let card = u64::from(gb) * 1024;
            assert!(usable.0 * u64::from(facts.max) <= card, "{name} {profile}: more than the card has");
        }
    }
}

#[test]
fn compute_capability_is_no_test_for_mig() {
    let of = |product: &str| lookup(product).unwrap();
    let (geforce, pro) = (of("NVIDIA-GeForce-RTX-5090"), of("NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"));
    assert_eq!(geforce.compute_capability, pro.compute_capability);
    assert_eq!(geforce.mig, ModelMig::None);
    assert!(pro.mig_table().is_some());
}

#[test]
fn a_card_in_no_list_is_left_to_nvml() {
    assert_eq!(lookup("NVIDIA-B100").unwrap().mig, ModelMig::Unknown);
}

#[test]
fn cards_without_mig_say_so() {
    for product in
        ["Tesla-V100-SXM2-16GB", "Tesla-T4", "NVIDIA-A10", "NVIDIA-A10G", "NVIDIA-L4", "NVIDIA-L40S"]
    {
        let model = lookup(product).unwrap();
        assert_eq!(model.mig, ModelMig::None, "{product}");
        assert_eq!(model.has_profile("1g.10gb".parse().unwrap()), Some(false), "{product}");
    }
}

#[test]
fn the_same_profile_is_another_part_on_another_model() {
    let max = |product: &str, profile: &str| {
        let table = lookup(product).unwrap().mig_table().unwrap();
        table.profiles.get(&profile.parse().unwrap()).map(|facts| facts.max)
    };
    assert_eq!(max("NVIDIA-A100-SXM4-80GB", "1g.10gb"), Some(7));
    assert_eq!(max("NVIDIA-A100-SXM4-40GB", "1g.10gb"), Some(4));
    assert_eq!(max("NVIDIA-H200", "1g.35gb"), Some(4));
    assert_eq!(max("NVIDIA-GB300", "1g.35gb"), Some(7));
    assert_eq!(max("NVIDIA-H200", "1g.10gb"), None);
}

#[test]
fn a_profile_that_is_not_listed_exists_perhaps_where_the_list_is_not_complete() {
    let has = |product: &str, profile: &str| lookup(product).unwrap().has_profile(profile.parse().unwrap());
    assert_eq!(has("NVIDIA-H100-80GB-HBM3", "1g.5gb"), Some(false));
    assert_eq!(has("NVIDIA-H100-80GB-HBM3", "1g.10gb"), Some(true));
    assert_eq!(has("NVIDIA-GB200", "3g.95gb"), None);
    assert_eq!(has("NVIDIA-B100", "1g.10gb"), None);
}

#[test]
fn a_card_has_at_least_what_is_promised_of_it() {
    // As nvidia-smi shows them, T4 and A10G with older drivers.
    for (product, shown) in [
        ("T4", 15109),
        ("A10G", 22731),
        ("L4", 23034),
        ("H100-80GB", 81559),
        ("H200", 143_771),
        ("L40S", 46068),
    ] {
        let least = lookup(product).unwrap().memory_at_least().unwrap();
        assert!(least.0 <= shown && least.0 * 100 > shown * 90, "{product}: {least} of {shown}");
    }
}

#[test]
fn a_pattern_matches_whole_words_in_a_row() {
    for (pattern, product) in [
        ("H100", "NVIDIA-H100-80GB-HBM3"),
        ("h100", "NVIDIA H100 PCIe"),
        ("NVIDIA-L4", "NVIDIA-L4-SHARED"),
        ("L4", "nvidia-l4"),
        ("A100-SXM4-80GB", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb-SHARED"),
        ("A100-80GB", "NVIDIA-A100-SXM4-80GB"),
        ("H100-80GB", "NVIDIA-H100-PCIe"),
        ("RTX PRO 6000", "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"),
        ("X900", "NVIDIA-X900-SXM9"),
    ] {
        assert!(model_matches(pattern, product), "{pattern} {product}");
    }
    for (pattern, product) in [
        ("L4", "NVIDIA-L40S"),
        ("L40", "NVIDIA-L40S"),
        ("A10", "NVIDIA-A10G"),
        ("A10", "NVIDIA-A100-SXM4-80GB"),
        ("H100", "NVIDIA-GH200-480GB"),
        ("A100-40GB", "NVIDIA-A100-SXM4-80GB"),
        ("RTX 6000", "NVIDIA-RTX-PRO-6000-Blackwell-Server-Edition"),
        ("1g.10gb", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb"),
        ("SHARED", "NVIDIA-L4-SHARED"),
        ("", "NVIDIA-L4"),
        ("-", "NVIDIA-L4"),
        ("H100", ""),
    ] {
        assert!(!model_matches(pattern, product), "{pattern} {product}");
    }
}

#[test]
fn suffixes_for_sharing_and_mig_stack_and_come_off() {
    let read = Product::read("A100-SXM4-40GB-MIG-1g.5gb.me-SHARED");
    assert_eq!((read.name, read.shared), ("A100-SXM4-40GB", true));
    assert_eq!(read.mig, Some(MigSuffix::Profile("1g.5gb+me".parse().ok())));
    assert_eq!(Product::read("X-MIG-INVALID").mig, Some(MigSuffix::Invalid));
    assert_eq!(Product::read("X-MIG-what").mig, Some(MigSuffix::Profile(None)));
    assert_eq!(Product::read("NVIDIA-L4"), Product { name: "NVIDIA-L4", mig: None, shared: false });
}
