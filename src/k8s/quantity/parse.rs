//! The reading half of [`Quantity`](super::Quantity): splits a text into sign, digits and suffix and turns
//! the digits into nano-units. Works on digit strings, so that no length of input overflows.

use super::{BINARY_SUFFIXES, DECIMAL_SUFFIXES, Format, MAX_NANO, NANO_PER_UNIT};

/// A quantity's text, taken apart (`parseQuantityString`).
pub(super) struct Parts<'a> {
    pub(super) negative: bool,
    /// Digits before the point, possibly none.
    pub(super) whole: &'a str,
    /// Digits after the point, possibly none.
    pub(super) fraction: &'a str,
    /// Everything after the digits; its letters are checked, its meaning is not.
    pub(super) suffix: &'a str,
    /// Whether any digit was written; upstream reads a bare `k`, `.` or `-` as 0.
    pub(super) has_digits: bool,
}

/// What a suffix multiplies by.
#[derive(Clone, Copy)]
pub(super) enum Suffix {
    /// A power of ten, written as a letter or as `e…`.
    Decimal { exponent: i32, format: Format },
    /// A power of two, a multiple of ten.
    Binary { exponent: u32 },
}

/// None where upstream says `ErrFormatWrong`.
pub(super) fn split(text: &str) -> Option<Parts<'_>> {
    if text.is_empty() {
        return None;
    }
    let negative = text.starts_with('-');
    let unsigned = if text.starts_with(['-', '+']) { text.get(1..)? } else { text };
    let (whole, rest) = leading_digits(unsigned);
    let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), leading_digits);
    let has_digits = !whole.is_empty() || !fraction.is_empty();
    // A zero that ends the text is 0 whatever came before; otherwise letters, a sign, digits, the end.
    let exponent = suffix.trim_start_matches(|c| "eEinumkKMGTP".contains(c));
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    exponent.bytes().all(|b| b.is_ascii_digit()).then_some(Parts {
        negative,
        whole,
        fraction,
        suffix,
        has_digits,
    })
}

/// None where upstream says `ErrSuffix` (`quantitySuffixer.interpret`).
pub(super) fn suffix(text: &str) -> Option<Suffix> {
    if let Some(power) = DECIMAL_SUFFIXES.iter().position(|s| *s == text) {
        return Some(Suffix::Decimal {
            exponent: 3 * i32::try_from(power).ok()? - 9,
            format: Format::DecimalSi,
        });
    }
    if let Some(power) = BINARY_SUFFIXES.iter().position(|s| *s == text) {
        return Some(Suffix::Binary { exponent: 10 * (u32::try_from(power).ok()? + 1) });
    }
    let exponent = text.strip_prefix(['e', 'E'])?.parse::<i64>().ok()?;
    // Upstream keeps the low 32 bits; so do we, else `1e4294967296` would differ.
    Some(Suffix::Decimal { exponent: exponent as i32, format: Format::DecimalExponent })
}

impl Suffix {
    /// Upstream reads a text without digits as 0 on its fast path and refuses it on the slow one, which it
    /// takes for scales below nano and for `Pi` and above.
    pub(super) fn needs_digits(self) -> bool {
        match self {
            Self::Decimal { exponent, .. } => exponent < -9,
            Self::Binary { exponent } => exponent >= 50,
        }
    }

    /// Binary amounts between 0 and 1 print in decimal.
    pub(super) fn format(self, magnitude: i128) -> Format {
        match self {
            Self::Decimal { format, .. } => format,
            Self::Binary { .. } if magnitude > 0 && magnitude < NANO_PER_UNIT => Format::DecimalSi,
            Self::Binary { .. } => Format::BinarySi,
        }
    }

    /// The amount without sign: anything below a nano-unit is rounded up to one, binary amounts are capped
    /// at the largest int64.
    pub(super) fn nano(self, whole: &str, fraction: &str) -> i128 {
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|b| b - b'0').collect();
        let behind = i64::try_from(fraction.len()).unwrap_or(i64::MAX);
        match self {
            Self::Decimal { exponent, .. } => rounded_up(&digits, i64::from(exponent).saturating_sub(behind)),
            Self::Binary { exponent } => {
                let product = times_power_of_two(&digits, exponent);
                rounded_up(&product, behind.saturating_neg()).min(i128::from(i64::MAX) * NANO_PER_UNIT)
            }
        }
    }
}

fn leading_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// `digits · 10^exponent` in nano-units; digits below nano count as one more nano-unit.
fn rounded_up(digits: &[u8], exponent: i64) -> i128 {
    let significant =
        digits.iter().position(|d| *d != 0).and_then(|first| digits.get(first..)).unwrap_or_default();
    if significant.is_empty() {
        return 0;
    }
    let length = i64::try_from(significant.len()).unwrap_or(i64::MAX);
    let kept = length.saturating_add(exponent).saturating_add(9);
    if kept > 38 {
        return MAX_NANO;
    }
    // At most 38 digits: below MAX_NANO.
    let kept = usize::try_from(kept).unwrap_or(0);
    let (above, below) = significant.split_at(kept.min(significant.len()));
    let zeros = std::iter::repeat_n(&0, kept - above.len());
    let nano = above.iter().chain(zeros).fold(0i128, |sum, digit| sum * 10 + i128::from(*digit));
    nano + i128::from(below.iter().any(|digit| *digit != 0))
}

/// Schoolbook multiplication of a decimal number by `2^exponent`, exponent at most 60.
fn times_power_of_two(digits: &[u8], exponent: u32) -> Vec<u8> {
    let mut carry = 0u128;
    let mut product: Vec<u8> = Vec::with_capacity(digits.len() + 20);
    for digit in digits.iter().rev() {
        carry += u128::from(*digit) << exponent;
        product.push((carry % 10) as u8);
        carry /= 10;
    }
    while carry > 0 {
        product.push((carry % 10) as u8);
        carry /= 10;
    }
    product.reverse();
    product
}
