//! Kubernetes timestamps (RFC 3339) as Unix seconds.

/// Seconds since 1970, or nothing for a text that is no timestamp.
#[must_use]
pub fn unix_seconds(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timestamp_is_read_in_any_zone_and_precision() {
        assert_eq!(unix_seconds("1970-01-01T00:01:00Z"), Some(60));
        assert_eq!(unix_seconds("1970-01-01T01:01:00.25+01:00"), Some(60));
        assert_eq!(unix_seconds("yesterday"), None);
    }
}
