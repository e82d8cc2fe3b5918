//! Exact quantities: `500m`, `16Gi`, `1e3`, as `resource.Quantity` of apimachinery reads them
//! (`pkg/api/resource/quantity.go`, `suffix.go`, `amount.go`).
//!
//! The amount is an `i128` count of nano-units. Nano is the finest scale that upstream keeps (finer input
//! is rounded up to it), so every parsed amount is a whole number of nano-units, addition and comparison
//! are plain integer operations, and 10^29 whole units fit, ten thousand million times what an int64 counts.
//! There the amount saturates; upstream goes on with big decimals.
//!
//! This file must not know resource names or where a quantity came from.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

use super::object::QuantityText;

/// An exact decimal amount with the notation it was written in. Comparison, equality and hash look at the
/// amount alone: `1024Mi == 1Gi`.
#[derive(Debug, Clone, Copy)]
pub struct Quantity {
    nano: i128,
    format: Format,
}

/// The family of suffixes a quantity is printed with (`resource.Format`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// `n u m k M G T P E`, powers of 1000.
    #[default]
    DecimalSi,
    /// `Ki Mi Gi Ti Pi Ei`, powers of 1024.
    BinarySi,
    /// `e3`, `E-6`.
    DecimalExponent,
}

/// Why a text is no quantity. The kinds are upstream's (`ErrFormatWrong`, `ErrSuffix`, `ErrNumeric`).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// The text is not a number followed by a suffix.
    #[error("{text:?} is not a quantity: write a number with an optional suffix, such as 500m, 2 or 16Gi{}", hint(.text))]
    Format {
        /// The text as given.
        text: String,
    },
    /// The number is followed by something that is no suffix.
    #[error("{text:?} has the unknown suffix {suffix:?}: use n, u, m, k, M, G, T, P, E or Ki, Mi, Gi, Ti, Pi, Ei{}", hint(.text))]
    Suffix {
        /// The text as given.
        text: String,
        /// The part after the number.
        suffix: String,
    },
    /// There is a suffix but no digit before it.
    #[error("{text:?} has no number before its suffix")]
    Numeric {
        /// The text as given.
        text: String,
    },
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nano: 0, format: Format::DecimalSi };

    /// A whole number of units, such as GPUs, cores or bytes.
    pub const fn whole(value: i64) -> Self {
        Self { nano: value as i128 * NANO_PER_UNIT, format: Format::DecimalSi }
    }

    /// A number of thousandths, such as millicores.
    pub const fn milli(value: i64) -> Self {
        Self { nano: value as i128 * NANO_PER_MILLI, format: Format::DecimalSi }
    }

    /// A whole number of units that prints with binary suffixes, such as bytes of memory.
    pub const fn bytes(value: i64) -> Self {
        Self { nano: value as i128 * NANO_PER_UNIT, format: Format::BinarySi }
    }

    /// The amount in whole units, a fraction rounded away from zero (`Quantity.Value`). Saturates at the
    /// bounds of `i64`, where upstream wraps or gives 0.
    pub fn value(self) -> i64 {
        saturate(ceil_away(self.nano, NANO_PER_UNIT))
    }

    /// The amount in thousandths, a fraction rounded away from zero (`Quantity.MilliValue`). Saturates.
    pub fn milli_value(self) -> i64 {
        saturate(ceil_away(self.nano, NANO_PER_MILLI))
    }

    /// The amount as a float, for ratios shown to people; never for a comparison.
    pub fn approximate(self) -> f64 {
        self.nano as f64 / NANO_PER_UNIT as f64
    }

    /// True if the amount has no fraction at all.
    pub fn is_integer(self) -> bool {
        self.nano % NANO_PER_UNIT == 0
    }

    /// True for 0 in any notation.
    pub fn is_zero(self) -> bool {
        self.nano == 0
    }

    /// True for amounts above 0.
    pub fn is_positive(self) -> bool {
        self.nano > 0
    }

    /// True for amounts below 0.
    pub fn is_negative(self) -> bool {
        self.nano < 0
    }

    /// The notation the amount prints in.
    pub fn format(self) -> Format {
        self.format
    }

    /// The sum. A zero takes over the other's notation, as upstream's `Add` does.
    #[must_use]
    pub fn saturating_add(self, other: Self) -> Self {
        Self { nano: bounded(self.nano.saturating_add(other.nano)), format: self.joined_format(other) }
    }

    /// The difference; may be negative, as upstream's `Sub`.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self { nano: bounded(self.nano.saturating_sub(other.nano)), format: self.joined_format(other) }
    }

    /// The amount taken `count` times, such as a request times replicas.
    #[must_use]
    pub fn saturating_mul(self, count: i64) -> Self {
        Self { nano: bounded(self.nano.saturating_mul(i128::from(count))), format: self.format }
    }

    fn joined_format(self, other: Self) -> Format {
        if self.is_zero() { other.format } else { self.format }
    }
}

impl Default for Quantity {
    fn default() -> Self {
        Self::ZERO
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nano == other.nano
    }
}

impl Eq for Quantity {}

impl Hash for Quantity {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.nano.hash(state);
    }
}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nano.cmp(&other.nano)
    }
}

impl FromStr for Quantity {
    type Err = QuantityError;

    /// Reads every notation that the API server reads, and refuses what it refuses (`ParseQuantity`).
    /// Spaces are refused here; the API server trims them from JSON strings before it parses.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let parts = parse::split(text).ok_or_else(|| QuantityError::Format { text: text.to_owned() })?;
        let suffix = parse::suffix(parts.suffix).ok_or_else(|| QuantityError::Suffix {
            text: text.to_owned(),
            suffix: parts.suffix.to_owned(),
        })?;
        if !parts.has_digits && suffix.needs_digits() {
            return Err(QuantityError::Numeric { text: text.to_owned() });
        }
        let magnitude = suffix.nano(parts.whole, parts.fraction);
        let nano = if parts.negative { -magnitude } else { magnitude };
        Ok(Self { nano, format: suffix.format(magnitude) })
    }
}

impl TryFrom<&QuantityText> for Quantity {
    type Error = QuantityError;

    /// Reads a quantity from an object, where spaces around it are allowed (`Quantity.UnmarshalJSON`).
    fn try_from(text: &QuantityText) -> Result<Self, QuantityError> {
        text.0.trim().parse()
    }
}

impl fmt::Display for Quantity {
    /// The canonical form: no fraction, no precision lost, the largest suffix (`CanonicalizeBytes`).
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_zero() {
            return f.write_str("0");
        }
        match self.format {
            Format::BinarySi if self.prints_binary() => self.write_binary(f),
            Format::DecimalExponent => self.write_decimal(f, true),
            Format::BinarySi | Format::DecimalSi => self.write_decimal(f, false),
        }
    }
}

impl Quantity {
    /// Upstream shows binary amounts below 1024 or with a fraction in decimal, so that nothing is lost.
    fn prints_binary(self) -> bool {
        self.is_integer() && self.nano.unsigned_abs() >= 1024 * NANO_PER_UNIT.unsigned_abs()
    }

    fn write_binary(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mantissa, power) = without_factor(self.nano / NANO_PER_UNIT, 1024, BINARY_SUFFIXES.len());
        let suffix = power.checked_sub(1).and_then(|at| BINARY_SUFFIXES.get(at)).copied().unwrap_or_default();
        write!(f, "{mantissa}{suffix}")
    }

    fn write_decimal(self, f: &mut fmt::Formatter<'_>, exponent: bool) -> fmt::Result {
        // Above E there is no suffix; upstream drops it and prints another amount, we keep the zeros.
        let largest = if exponent { usize::MAX } else { DECIMAL_SUFFIXES.len() - 1 };
        let (mantissa, power) = without_factor(self.nano, 1000, largest);
        match i64::try_from(power).unwrap_or(i64::MAX) * 3 - 9 {
            0 => write!(f, "{mantissa}"),
            scale if exponent => write!(f, "{mantissa}e{scale}"),
            _ => write!(f, "{mantissa}{}", DECIMAL_SUFFIXES.get(power).copied().unwrap_or_default()),
        }
    }
}

const NANO_PER_UNIT: i128 = 1_000_000_000;
const NANO_PER_MILLI: i128 = 1_000_000;
/// The largest amount that is kept, a round number so that it prints shortly.
const MAX_NANO: i128 = 10i128.pow(38);
/// By power of 1000 above nano.
const DECIMAL_SUFFIXES: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];
/// By power of 1024 above 1.
const BINARY_SUFFIXES: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

mod parse;

fn bounded(nano: i128) -> i128 {
    nano.clamp(-MAX_NANO, MAX_NANO)
}

fn ceil_away(nano: i128, unit: i128) -> i128 {
    nano / unit + (nano % unit).signum()
}

fn saturate(value: i128) -> i64 {
    i64::try_from(value).unwrap_or(if value < 0 { i64::MIN } else { i64::MAX })
}

/// Divides `factor` out as often as it goes, at most `most` times; the second is how often it went.
fn without_factor(mut value: i128, factor: i128, most: usize) -> (i128, usize) {
    let mut times = 0;
    while times < most && value != 0 && value % factor == 0 {
        value /= factor;
        times += 1;
    }
    (value, times)
}

/// `; did you mean …` for the usual slips: `16GB`, `16gb`, `16 Gi`, `512MiB`, `1K`.
fn hint(text: &str) -> String {
    let text = text.trim();
    let unit_at = text.find(|c: char| c.is_ascii_alphabetic() || c == ' ').unwrap_or(text.len());
    let (number, unit) = text.split_at(unit_at);
    let unit = unit.trim().trim_end_matches(['b', 'B']);
    let known = BINARY_SUFFIXES.iter().chain(DECIMAL_SUFFIXES.iter().filter(|s| !s.is_empty()));
    match known.copied().find(|suffix| suffix.eq_ignore_ascii_case(unit) && *suffix != "m" && *suffix != "E")
    {
        Some(suffix) if !number.is_empty() => format!("; did you mean {number}{suffix}?"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
