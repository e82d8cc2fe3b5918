//! What a scalar is, by the rules of `sigs.k8s.io/yaml/goyaml.v2` (`resolve.go`).

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Number, Value};
use serde_saphyr::granit_parser::Tag;

/// Namespace of YAML's own tags.
const CORE: &str = "tag:yaml.org,2002:";

/// Integers above this are not exact as floats, so a float above it stays one.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// The value of a scalar, or what is wrong with it.
pub(super) fn value(text: &str, plain: bool, tag: Option<&Tag>) -> Result<Value, String> {
    let Some(tag) = tag else {
        return if plain { resolve(text) } else { Ok(text.into()) };
    };
    match tag.suffix_in_namespace(CORE).as_deref() {
        Some("binary") => binary(text),
        Some(name @ ("null" | "bool" | "int" | "float")) => tagged(name, resolve(text)?, text),
        // Tags that are not YAML's own say nothing about the value.
        _ => Ok(text.into()),
    }
}

/// A plain scalar.
fn resolve(text: &str) -> Result<Value, String> {
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => Value::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Value::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Value::Bool(false)
        }
        ".nan" | ".NaN" | ".NAN" => return Err("NaN is no JSON value; quote it if it is text".into()),
        _ if is_infinity(text) => return Err("infinity is no JSON value; quote it if it is text".into()),
        _ if text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) => {
            number(&text.replace('_', "")).map_or_else(|| text.into(), Value::Number)
        }
        _ => text.into(),
    })
}

fn is_infinity(text: &str) -> bool {
    matches!(text.strip_prefix(['+', '-']).unwrap_or(text), ".inf" | ".Inf" | ".INF")
}

fn number(text: &str) -> Option<Number> {
    integer(text).or_else(|| is_float(text).then(|| float(text)).flatten())
}

/// As Go's `strconv.ParseInt` and `ParseUint` with base 0.
fn integer(text: &str) -> Option<Number> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = digits.to_ascii_lowercase();
    let (base, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', b'o', ..] => (8, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => (10, lower.as_str()),
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    let size = u64::from_str_radix(digits, base).ok()?;
    match negative {
        false => Some(size.into()),
        true => 0_i64.checked_sub_unsigned(size).map(Number::from),
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`
fn is_float(text: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = text.split_once(['e', 'E']).map_or((text, None), |(m, e)| (m, Some(e)));
    let exponent = exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)));
    exponent
        && match mantissa.split_once('.') {
            None => digits(mantissa),
            Some(("", fraction)) => digits(fraction),
            Some((whole, fraction)) => digits(whole) && (fraction.is_empty() || digits(fraction)),
        }
}

/// A float as Go's JSON writes it: a whole number has no fraction, so `1e3` is a valid replica count.
fn float(text: &str) -> Option<Number> {
    let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within ±2^53")]
        return Some(Number::from(value as i64));
    }
    Number::from_f64(value)
}

fn tagged(name: &str, value: Value, text: &str) -> Result<Value, String> {
    let is_whole = || value.is_i64() || value.is_u64();
    let fits = match name {
        "null" => value.is_null(),
        "bool" => value.is_boolean(),
        "int" => is_whole() && !text.contains(['.']),
        _ => value.is_number(),
    };
    if fits { Ok(value) } else { Err(format!("{text:?} is tagged !!{name} and is none")) }
}

fn binary(text: &str) -> Result<Value, String> {
    let compact: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    let bytes =
        BASE64_STANDARD.decode(compact).map_err(|_| "the value of !!binary is no base64".to_owned())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned().into())
}
