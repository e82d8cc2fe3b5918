//! Until when an answer is worth something to its caller.

use std::time::Duration;

/// Time that we may take: below the caller's timeout, which the API server tells in the `timeout` query
/// parameter (apiserver `pkg/admission/plugin/webhook`), rounded up to whole seconds.
pub(super) fn allowance(query: Option<&str>, default: Duration) -> Duration {
    let told = query.and_then(|query| {
        let value = query.split('&').find_map(|pair| pair.strip_prefix("timeout="))?;
        go_duration(value).filter(|timeout| !timeout.is_zero())
    });
    below(told.unwrap_or(default))
}

/// A quarter less, at most half a second: what the way back and the rounding up may take.
fn below(timeout: Duration) -> Duration {
    timeout - (timeout / 4).min(Duration::from_millis(500))
}

/// A duration as Go's `Duration.String` writes it: `2s`, `1m30s`, `1.5s`, `250ms`.
fn go_duration(text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let number_ends = rest.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
        let (number, tail) = rest.split_at(number_ends);
        let unit_ends = tail.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_ends);
        let seconds = number.parse::<f64>().ok()? * unit_seconds(unit)?;
        total = total.checked_add(Duration::try_from_secs_f64(seconds).ok()?)?;
        rest = tail;
    }
    (!text.is_empty()).then_some(total)
}

fn unit_seconds(unit: &str) -> Option<f64> {
    Some(match unit {
        "h" => 3600.0,
        "m" => 60.0,
        "s" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_allowance_stays_below_what_the_caller_told() {
        let default = Duration::from_secs(2);
        let table = [
            (Some("timeout=1s"), 750),
            (Some("timeout=3s"), 2500),
            (Some("a=b&timeout=10s"), 9500),
            (Some("timeout=1m0s"), 59_500),
            (Some("timeout=250ms"), 188),
            (None, 1500),
            (Some(""), 1500),
            (Some("timeout="), 1500),
            (Some("timeout=soon"), 1500),
            (Some("timeout=0s"), 1500),
            (Some("timeout=-3s"), 1500),
            (Some("timeout=999999999999999999999h"), 1500),
        ];
        for (query, want) in table {
            let millis = allowance(query, default).as_secs_f64() * 1000.0;
            assert_eq!(millis.round() as i64, want, "{query:?}");
        }
    }

    #[test]
    fn go_durations_are_read_as_go_writes_them() {
        for (text, want) in
            [("1h2m3s", Some(3723.0)), ("1.5s", Some(1.5)), ("4", None), ("s", None), ("", None)]
        {
            assert_eq!(go_duration(text).map(|d| d.as_secs_f64()), want, "{text}");
        }
    }
}
