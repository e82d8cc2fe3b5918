//! Durations as Go writes them (`metav1.Duration`): `2s`, `1h30m`, `1.5h`.

/// Milliseconds of a duration; `None` where it is none.
#[must_use]
pub fn milliseconds(text: &str) -> Option<i64> {
    if text == "0" {
        return Some(0);
    }
    let mut rest = text;
    let mut total = 0.0_f64;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        let unit_end = rest[end..].find(|c: char| c.is_ascii_digit()).map_or(rest.len(), |at| end + at);
        let unit = match &rest[end..unit_end] {
            "h" => 3_600_000.0,
            "m" => 60_000.0,
            "s" => 1_000.0,
            "ms" => 1.0,
            "us" | "µs" => 0.001,
            "ns" => 0.000_001,
            _ => return None,
        };
        total += number * unit;
        rest = &rest[unit_end..];
    }
    // Go's durations end at 292 years; what is larger is none.
    (!text.is_empty() && total < 9.3e15).then_some(total as i64)
}

#[cfg(test)]
mod tests {
    use super::milliseconds;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, want) in [
            ("2s", Some(2_000)),
            ("1h30m", Some(5_400_000)),
            ("1.5s", Some(1_500)),
            ("100ms", Some(100)),
            ("0", Some(0)),
            ("2160h0m0s", Some(7_776_000_000)),
            ("2", None),
            ("", None),
            ("2d", None),
            ("s", None),
            ("-1s", None),
        ] {
            assert_eq!(milliseconds(text), want, "{text}");
        }
    }
}
