//! Numbers that may be written as a percentage: `maxSurge: 25%`, `minAvailable: 2`
//! (apimachinery `pkg/util/intstr/intstr.go`, `pkg/apis/apps/validation/validation.go`).

use std::fmt;

use super::object::IntOrText;

/// What happens to the fraction that a percentage leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// Towards more: surge, PodDisruptionBudgets.
    Up,
    /// Towards fewer: a Deployment's `maxUnavailable`.
    Down,
}

/// A text that is no percentage; controllers stop at it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no percentage: write a number such as 2, or a percentage such as \"25%\"")]
pub struct NotAPercentage {
    /// As written.
    pub text: String,
}

/// Why the API server would refuse the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IntOrTextProblem {
    /// A number below zero.
    #[error("must not be negative")]
    Negative,
    /// A text that is no percentage.
    #[error(transparent)]
    NotAPercentage(NotAPercentage),
    /// More than all.
    #[error("must not be more than 100%")]
    AboveAll,
}

impl IntOrText {
    /// The number itself, or the percentage of `total` (`GetScaledValueFromIntOrPercent`).
    ///
    /// # Errors
    /// A text without `%`, or with something else than a whole number before it; `"3"` is an error too.
    pub fn scaled(&self, total: i64, rounding: Rounding) -> Result<i64, NotAPercentage> {
        match self {
            Self::Int(number) => Ok(*number),
            Self::Text(text) => {
                let percent = percentage(text).ok_or_else(|| NotAPercentage { text: text.clone() })?;
                Ok(share(percent, total, rounding))
            }
        }
    }

    /// What the API server would refuse. `up_to_all` where more than 100% makes no sense, as everywhere but
    /// for a Deployment's `maxSurge`.
    pub fn problem(&self, up_to_all: bool) -> Option<IntOrTextProblem> {
        match self {
            Self::Int(number) => (*number < 0).then_some(IntOrTextProblem::Negative),
            Self::Text(text) => match plain_percentage(text) {
                None => Some(IntOrTextProblem::NotAPercentage(NotAPercentage { text: text.clone() })),
                Some(percent) => (up_to_all && percent > 100).then_some(IntOrTextProblem::AboveAll),
            },
        }
    }

    /// True for `0` and `"0%"`.
    pub fn is_zero(&self) -> bool {
        match self {
            Self::Int(number) => *number == 0,
            Self::Text(text) => percentage(text) == Some(0),
        }
    }
}

impl fmt::Display for IntOrText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// The number before `%`, read as Go's `strconv.Atoi` does.
fn percentage(text: &str) -> Option<i64> {
    text.strip_suffix('%')?.parse().ok()
}

/// As validation wants it: digits only.
fn plain_percentage(text: &str) -> Option<i64> {
    let digits = text.strip_suffix('%')?;
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    plain.then(|| digits.parse().unwrap_or(i64::MAX))
}

/// Upstream divides floats; on int32 the result is the same.
fn share(percent: i64, total: i64, rounding: Rounding) -> i64 {
    let product = i128::from(percent) * i128::from(total);
    let share = match rounding {
        Rounding::Down => product.div_euclid(100),
        Rounding::Up => -(-product).div_euclid(100),
    };
    i64::try_from(share).unwrap_or(if share < 0 { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(text: &str) -> IntOrText {
        IntOrText::Text(text.to_owned())
    }

    #[test]
    fn a_percentage_is_rounded_as_asked() {
        let rows = [
            ("25%", 4, 1, 1),
            ("25%", 3, 1, 0),
            ("25%", 10, 3, 2),
            ("50%", 1, 1, 0),
            ("1%", 1, 1, 0),
            ("100%", 7, 7, 7),
            ("0%", 7, 0, 0),
            ("200%", 3, 6, 6),
            ("34%", 0, 0, 0),
            ("-50%", 3, -1, -2),
        ];
        for (percent, total, up, down) in rows {
            assert_eq!(text(percent).scaled(total, Rounding::Up), Ok(up), "{percent} of {total}, up");
            assert_eq!(text(percent).scaled(total, Rounding::Down), Ok(down), "{percent} of {total}, down");
        }
    }

    #[test]
    fn a_number_stays_what_it_is() {
        for number in [0, 1, 50, -3] {
            assert_eq!(IntOrText::Int(number).scaled(10, Rounding::Up), Ok(number));
        }
    }

    #[test]
    fn a_text_without_percent_sign_is_no_number() {
        for bad in ["3", "", "%", "25", "a%", "2.5%", "25 %", "25%%", " 25%"] {
            let error = NotAPercentage { text: bad.to_owned() };
            assert_eq!(text(bad).scaled(10, Rounding::Up), Err(error), "{bad:?}");
        }
    }

    #[test]
    fn validation_refuses_signs_and_too_much() {
        assert_eq!(IntOrText::Int(-1).problem(true), Some(IntOrTextProblem::Negative));
        assert_eq!(text("101%").problem(true), Some(IntOrTextProblem::AboveAll));
        assert_eq!(text("101%").problem(false), None);
        for bad in ["-5%", "+5%", "5", "%"] {
            assert!(matches!(text(bad).problem(false), Some(IntOrTextProblem::NotAPercentage(_))), "{bad}");
        }
        for good in [text("0%"), text("100%"), text("007%"), IntOrText::Int(500)] {
            assert_eq!(good.problem(true), None, "{good}");
        }
    }

    proptest! {
        #[test]
        fn integers_agree_with_the_floats_of_upstream(percent in 0i64..1000, total in 0i64..=i64::from(i32::MAX)) {
            let exact = percent as f64 * total as f64 / 100.0;
            let written = text(&format!("{percent}%"));
            prop_assert_eq!(written.scaled(total, Rounding::Up), Ok(exact.ceil() as i64));
            prop_assert_eq!(written.scaled(total, Rounding::Down), Ok(exact.floor() as i64));
        }
    }
}
