//! Dotted version numbers of drivers.

/// Numeric parts of a driver version: `550.90.07` is `[550, 90, 7]`. `None` where a part is no number.
#[must_use]
pub fn parse_version(text: &str) -> Option<Vec<u32>> {
    text.split('.').map(|part| part.parse().ok()).collect()
}

/// Whether `have` is `least` or newer; missing parts count as 0, so `580` is `580.0.0`.
#[must_use]
pub fn is_at_least(have: &[u32], least: &[u32]) -> bool {
    let part = |version: &[u32], at: usize| version.get(at).copied().unwrap_or(0);
    let parts = have.len().max(least.len());
    let first_difference =
        (0..parts).map(|at| part(have, at).cmp(&part(least, at))).find(|order| order.is_ne());
    first_difference.is_none_or(std::cmp::Ordering::is_gt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_part_by_part_as_numbers() {
        let at_least = |have: &str, least: &str| {
            is_at_least(&parse_version(have).unwrap(), &parse_version(least).unwrap())
        };
        assert!(at_least("550.90.07", "550.90.7"));
        assert!(at_least("580", "580.0"));
        assert!(at_least("550.127.05", "550.90.07"));
        assert!(!at_least("535.161.07", "550"));
        assert!(!at_least("580", "580.82.07"));
    }

    #[test]
    fn what_is_no_version_is_none() {
        for text in ["", "r550", "550.", "550.90-1"] {
            assert_eq!(parse_version(text), None, "{text:?}");
        }
    }
}
