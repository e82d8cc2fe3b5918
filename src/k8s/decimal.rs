//! Whole numbers in the canonical spelling that numeric tolerations ask for
//! (apimachinery `pkg/api/validate/content/decimal_int.go`).
//!
//! Node affinity's `Gt` and `Lt` are laxer: they read what Go's `strconv.ParseInt` reads, which is what
//! `str::parse::<i64>` reads.

/// The number, if it is spelled as a person would: an optional `-`, no `+`, no leading zero, no `-0`, no
/// spaces, and within int64.
pub fn canonical_i64(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let canonical = match digits.as_bytes() {
        [b'0'] => text == "0",
        [b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    if canonical { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::canonical_i64;

    #[test]
    fn canonical_numbers_are_read() {
        let rows = [
            ("0", 0),
            ("7", 7),
            ("-7", -7),
            ("950", 950),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
        ];
        for (text, number) in rows {
            assert_eq!(canonical_i64(text), Some(number), "{text}");
        }
    }

    #[test]
    fn every_other_spelling_is_no_number() {
        let rows = [
            "",
            "-",
            "+5",
            "-0",
            "00",
            "007",
            "-07",
            " 5",
            "5 ",
            "5.0",
            "1e3",
            "0x10",
            "1_000",
            "five",
            "--5",
            "٣",
            "9223372036854775808",
            "-9223372036854775809",
        ];
        for text in rows {
            assert_eq!(canonical_i64(text), None, "{text:?}");
        }
    }
}
