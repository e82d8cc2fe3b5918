use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

fn q(text: &str) -> Quantity {
    text.parse().unwrap_or_else(|e| panic!("{e}"))
}

/// Text, canonical form, whole units, thousandths; observed with apimachinery 0.37.2.
const READ: &[(&str, &str, i64, i64)] = &[
    ("0", "0", 0, 0),
    ("-0", "0", 0, 0),
    ("00.00Gi", "0", 0, 0),
    ("1", "1", 1, 1000),
    ("+1", "1", 1, 1000),
    ("01", "1", 1, 1000),
    ("1.", "1", 1, 1000),
    (".5", "500m", 1, 500),
    ("1.5", "1500m", 2, 1500),
    ("-1.5", "-1500m", -2, -1500),
    ("1.000", "1", 1, 1000),
    ("1500", "1500", 1500, 1_500_000),
    ("1000", "1k", 1000, 1_000_000),
    ("100m", "100m", 1, 100),
    ("2000m", "2", 2, 2000),
    ("1n", "1n", 1, 1),
    ("1u", "1u", 1, 1),
    ("1001u", "1001u", 1, 2),
    ("0.5n", "1n", 1, 1),
    ("-0.5n", "-1n", -1, -1),
    ("1.0000000001", "1000000001n", 2, 1001),
    ("2k", "2k", 2000, 2_000_000),
    ("3M", "3M", 3_000_000, 3_000_000_000),
    ("4G", "4G", 4_000_000_000, 4_000_000_000_000),
    ("5T", "5T", 5_000_000_000_000, 5_000_000_000_000_000),
    ("1P", "1P", 1_000_000_000_000_000, 1_000_000_000_000_000_000),
    ("1E", "1E", 1_000_000_000_000_000_000, i64::MAX),
    ("1Ki", "1Ki", 1024, 1_024_000),
    ("1000Ki", "1000Ki", 1_024_000, 1_024_000_000),
    ("1024Ki", "1Mi", 1_048_576, 1_048_576_000),
    ("1.5Gi", "1536Mi", 1_610_612_736, 1_610_612_736_000),
    ("80Gi", "80Gi", 85_899_345_920, 85_899_345_920_000),
    ("0.5Ki", "512", 512, 512_000),
    ("0.1Ki", "102400m", 103, 102_400),
    ("0.0001Ki", "102400u", 1, 103),
    ("1.3Mi", "1363148800m", 1_363_149, 1_363_148_800),
    ("2Ei", "2Ei", 2_305_843_009_213_693_952, i64::MAX),
    ("8Ei", "9223372036854775807", i64::MAX, i64::MAX),
    ("-9000Pi", "-9223372036854775807", -i64::MAX, i64::MIN),
    ("1e3", "1e3", 1000, 1_000_000),
    ("1E3", "1e3", 1000, 1_000_000),
    ("1e+3", "1e3", 1000, 1_000_000),
    ("12e2", "1200", 1200, 1_200_000),
    ("1e-3", "1e-3", 1, 1),
    ("15e-1", "1500e-3", 2, 1500),
    ("1e-10", "1e-9", 1, 1),
    ("1e4294967296", "1", 1, 1000),
    (".", "0", 0, 0),
    ("-", "0", 0, 0),
    ("Gi", "0", 0, 0),
];

#[test]
fn every_notation_is_read_as_the_api_server_reads_it() {
    for (text, canonical, whole, milli) in READ {
        let quantity = q(text);
        assert_eq!(quantity.to_string(), *canonical, "{text}");
        assert_eq!(quantity.value(), *whole, "whole units of {text}");
        assert_eq!(quantity.milli_value(), *milli, "thousandths of {text}");
    }
}

#[test]
fn what_the_api_server_refuses_is_refused_with_the_same_reason() {
    let format =
        ["", " 1", "1 ", "1 Gi", "1..2", "1,5", "1GiB", "16GB", "abc", "0x10", "1_000", "١", "1e3.5", "1m1x"];
    for text in format {
        assert!(matches!(text.parse::<Quantity>(), Err(QuantityError::Format { .. })), "{text:?}");
    }
    for text in ["1K", "1e", "1Mm", "1mi", "1Ki3", "1ee3", "++1", "1e99999999999999999999", "1GG", "1iG"] {
        assert!(matches!(text.parse::<Quantity>(), Err(QuantityError::Suffix { .. })), "{text:?}");
    }
    for text in ["e-10", ".e-10", "Ei", "Pi", ".Ei"] {
        assert!(matches!(text.parse::<Quantity>(), Err(QuantityError::Numeric { .. })), "{text:?}");
    }
}

#[test]
fn spaces_around_a_quantity_are_allowed_in_an_object_only() {
    assert_eq!(Quantity::try_from(&QuantityText::from(" 16Gi\n")), Ok(q("16Gi")));
    assert!(Quantity::try_from(&QuantityText::from("16 Gi")).is_err());
    assert!(" 16Gi".parse::<Quantity>().is_err());
}

#[test]
fn an_error_names_the_likely_meaning() {
    let rows = [
        ("16GB", "16G"),
        ("16gb", "16G"),
        ("512MiB", "512Mi"),
        ("16 Gi", "16Gi"),
        ("1K", "1k"),
        ("8gi", "8Gi"),
    ];
    for (text, meant) in rows {
        let message = text.parse::<Quantity>().expect_err(text).to_string();
        assert!(message.ends_with(&format!("did you mean {meant}?")), "{message}");
    }
    let unguessable = "one".parse::<Quantity>().expect_err("a word").to_string();
    assert!(!unguessable.contains("did you mean"), "{unguessable}");
}

#[test]
fn different_notations_of_one_amount_are_equal() {
    for (a, b) in
        [("1", "1000m"), ("1Gi", "1024Mi"), ("1e3", "1k"), ("0.001", "1m"), ("0", "0Ki"), ("2", "2.0")]
    {
        assert_eq!(q(a), q(b));
        assert_eq!(HashSet::from([q(a), q(b)]).len(), 1, "{a} and {b} hash alike");
    }
    assert_ne!(q("1G"), q("1Gi"));
    assert!(q("1G") < q("1Gi"));
    assert!(q("-1") < q("1n"));
}

#[test]
fn only_amounts_without_a_fraction_are_integers() {
    for text in ["0", "1", "1000m", "1e3", "2.0", "-3", "1.5k", "0.5Ki", "0.9999999999"] {
        assert!(q(text).is_integer(), "{text}");
    }
    for text in ["0.5", "1500m", "1n", "1.1", "1e-3", "0.999999999", "0.1Ki"] {
        assert!(!q(text).is_integer(), "{text}");
    }
}

#[test]
fn amounts_beyond_an_int64_saturate_and_keep_their_order() {
    assert_eq!(q("10E").value(), i64::MAX);
    assert!(q("10E") > q("9.3E"));
    assert_eq!(q("1000E").to_string(), "1000E");
    assert_eq!(q("1e100"), q("1e2000"));
    assert!(q("-1e100") < q("-1E"));
    assert_eq!(q("1e100").to_string(), "100e27");
    assert_eq!(q("1e100").saturating_add(q("1e100")), q("1e100"));
    assert_eq!(q("1e100").saturating_mul(-3), q("-1e100").saturating_mul(3));
    assert!(q(&"9".repeat(5000)).is_positive());
    assert_eq!(q(&format!("0.{}1", "0".repeat(5000))), q("1n"));
    assert_eq!(q(&format!("1.{}1Ki", "0".repeat(5000))).to_string(), "1024000000001n");
}

#[test]
fn a_sum_prints_in_the_notation_of_its_first_part() {
    assert_eq!(q("1Gi").saturating_add(q("1G")).to_string(), "2073741824");
    assert_eq!(q("512Mi").saturating_add(q("512Mi")).to_string(), "1Gi");
    assert_eq!(Quantity::ZERO.saturating_add(q("2048Ki")).to_string(), "2Mi");
    assert_eq!(q("500m").saturating_add(q("1500m")).to_string(), "2");
    assert_eq!(q("1").saturating_sub(q("1500m")).to_string(), "-500m");
}

fn any_quantity_text() -> impl Strategy<Value = String> {
    let suffix = prop::sample::select(vec![
        "", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-7",
        "e-12", "e+2",
    ]);
    ("[-+]?[0-9]{1,9}(\\.[0-9]{0,12})?", suffix).prop_map(|(number, suffix)| format!("{number}{suffix}"))
}

proptest! {
    #[test]
    fn the_canonical_form_reads_back_as_the_same_amount(text in any_quantity_text()) {
        let quantity = q(&text);
        prop_assert_eq!(q(&quantity.to_string()), quantity);
    }

    #[test]
    fn sums_and_comparison_agree(a in any_quantity_text(), b in any_quantity_text(), c in any_quantity_text()) {
        let (a, b, c) = (q(&a), q(&b), q(&c));
        prop_assert_eq!(a.saturating_add(b), b.saturating_add(a));
        prop_assert_eq!(a.saturating_add(b).saturating_sub(b), a);
        prop_assert_eq!(a.cmp(&b), a.saturating_add(c).cmp(&b.saturating_add(c)));
        prop_assert_eq!(a < b, a.saturating_sub(b).is_negative());
    }

    #[test]
    fn rounding_never_loses_and_adds_less_than_one(text in "[0-9]{1,9}(\\.[0-9]{1,9})?") {
        let quantity = q(&text);
        prop_assert!(Quantity::whole(quantity.value()) >= quantity);
        prop_assert!(Quantity::whole(quantity.value()).saturating_sub(quantity) < q("1"));
        prop_assert_eq!(Quantity::whole(quantity.value()) == quantity, quantity.is_integer());
    }

    #[test]
    fn no_text_panics(text in ".*") {
        let _ = text.parse::<Quantity>().map(|quantity| quantity.to_string()).map_err(|e| e.to_string());
    }
}
