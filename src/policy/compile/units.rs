//! Text with a unit: memory, durations, versions, dates.

use crate::{
    gpu::Mebibytes,
    k8s::{object::QuantityText, quantity::Quantity},
    policy::{compile::Place, error::Faults, raw},
};

/// Why a text cannot be read, and what was probably meant.
type Unread = (String, Option<String>);

/// Reads a value where it is given and tells a fault where it cannot be read.
pub fn read<T, R>(
    raw: Option<&R>,
    what: &str,
    place: Place<'_>,
    faults: &mut Faults<'_>,
    parse: impl Fn(&R) -> Result<T, Unread>,
    text: impl Fn(&R) -> String,
) -> Option<T> {
    match parse(raw?) {
        Ok(value) => Some(value),
        Err((why, suggestion)) => {
            let what = format!("bad {what} `{}`", raw.map(text).unwrap_or_default());
            faults.push(place.at(), what, why, suggestion);
            None
        }
    }
}

/// GPU memory.
pub fn memory(raw: Option<&raw::Quantity>, place: Place<'_>, faults: &mut Faults<'_>) -> Option<Mebibytes> {
    read(raw, "quantity", place, faults, parse_memory, raw::Quantity::text)
}

/// A quantity of bytes that is handed on as text.
pub fn bytes(raw: Option<&raw::Quantity>, place: Place<'_>, faults: &mut Faults<'_>) -> Option<String> {
    let parse = |raw: &raw::Quantity| parse_memory(raw).map(|_| raw.text());
    read(raw, "quantity", place, faults, parse, raw::Quantity::text)
}

/// A duration in seconds.
pub fn seconds(raw: Option<&String>, place: Place<'_>, faults: &mut Faults<'_>) -> Option<u64> {
    read(raw, "duration", place, faults, |text| parse_duration(text), Clone::clone)
}

/// A version of two numbers.
pub fn version_pair(raw: Option<&String>, place: Place<'_>, faults: &mut Faults<'_>) -> Option<(u32, u32)> {
    read(raw, "version", place, faults, |text| parse_pair(text), Clone::clone)
}

/// A version of several numbers.
pub fn version(raw: Option<&String>, place: Place<'_>, faults: &mut Faults<'_>) -> Option<Vec<u32>> {
    read(raw, "version", place, faults, |text| parse_version(text), Clone::clone)
}

/// The first second (Unix time) after a day or time.
pub fn end_of(raw: &String, place: Place<'_>, faults: &mut Faults<'_>) -> Option<i64> {
    read(Some(raw), "date", place, faults, |text| parse_end(text), Clone::clone)
}

const MEBIBYTE: i64 = 1024 * 1024;

fn parse_memory(raw: &raw::Quantity) -> Result<Mebibytes, Unread> {
    let text = raw.text();
    let quantity =
        Quantity::try_from(&QuantityText(text.clone())).map_err(|error| split_hint(&error.to_string()))?;
    let bytes = quantity.value();
    if bytes < MEBIBYTE {
        let number = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let plain = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()) && bytes > 0;
        let suggestion = plain.then(|| format!("`{number}Gi`"));
        return Err((
            "memory of a card is at least 1Mi; without a unit it counts bytes".to_owned(),
            suggestion,
        ));
    }
    Ok(Mebibytes(u64::try_from(bytes / MEBIBYTE).unwrap_or_default()))
}

/// The reader's sentence holds its own suggestion.
fn split_hint(message: &str) -> Unread {
    match message.split_once("; did you mean ") {
        Some((why, hint)) => (why.to_owned(), Some(format!("`{}`", hint.trim_end_matches('?')))),
        None => (message.to_owned(), None),
    }
}

fn parse_duration(text: &str) -> Result<u64, Unread> {
    let fault = || {
        let bare = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        let suggestion = bare.then(|| format!("`{text}s`"));
        ("a duration is whole hours, minutes and seconds such as 90s, 30m, 1h30m".to_owned(), suggestion)
    };
    let mut rest = text;
    let mut total: u64 = 0;
    let mut smallest = u64::MAX;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).ok_or_else(fault)?;
        let number: u64 = rest[..end].parse().map_err(|_| fault())?;
        let unit = match rest.as_bytes()[end] {
            b'h' => 3600,
            b'm' => 60,
            b's' => 1,
            _ => return Err(fault()),
        };
        if unit >= smallest {
            return Err(fault());
        }
        smallest = unit;
        total = total.saturating_add(number.saturating_mul(unit));
        rest = &rest[end + 1..];
    }
    if total == 0 { Err(fault()) } else { Ok(total) }
}

fn parse_version(text: &str) -> Result<Vec<u32>, Unread> {
    let parts: Option<Vec<u32>> = text
        .split('.')
        .map(|part| part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok())?)
        .collect();
    parts.ok_or_else(|| {
        let plain = text.trim_start_matches(|c: char| !c.is_ascii_digit());
        let suggestion = (plain != text && parse_version(plain).is_ok()).then(|| format!("`\"{plain}\"`"));
        ("a version is numbers with dots between, in quotes".to_owned(), suggestion)
    })
}

fn parse_pair(text: &str) -> Result<(u32, u32), Unread> {
    let plain = text.trim_start_matches(|c: char| !c.is_ascii_digit());
    match parse_version(plain).as_deref() {
        Ok([major, minor]) if plain == text => Ok((*major, *minor)),
        Ok([major, minor, ..]) => {
            Err(("two numbers are needed here, in quotes".to_owned(), Some(format!("`\"{major}.{minor}\"`"))))
        }
        _ => Err(("two numbers with a dot between are needed here, in quotes".to_owned(), None)),
    }
}

fn parse_end(text: &str) -> Result<i64, Unread> {
    if let Ok(time) = text.parse::<jiff::Timestamp>() {
        return Ok(time.as_second());
    }
    let day = text.parse::<jiff::civil::Date>().ok().filter(|_| text.len() == "2027-03-31".len());
    let midnight = day.and_then(|day| day.tomorrow().ok()).map(|next| next.to_zoned(jiff::tz::TimeZone::UTC));
    match midnight {
        Some(Ok(zoned)) => Ok(zoned.timestamp().as_second()),
        _ => Err(("a day is written 2027-03-31, a time 2027-03-31T18:00:00Z".to_owned(), None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_go_durations_in_whole_seconds() {
        assert_eq!(parse_duration("1h30m"), Ok(5400));
        assert_eq!(parse_duration("90s"), Ok(90));
        for bad in ["", "30", "0s", "30m1h", "-5m", "1.5h", "5 m", "500ms", "m", "9d"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
        assert_eq!(parse_duration("30").unwrap_err().1.as_deref(), Some("`30s`"));
    }

    #[test]
    fn memory_counts_whole_mebibytes() {
        let text = |text: &str| raw::Quantity::Text(text.to_owned());
        assert_eq!(parse_memory(&text("16Gi")), Ok(Mebibytes(16384)));
        assert_eq!(parse_memory(&text("16G")), Ok(Mebibytes(15258)));
        assert_eq!(parse_memory(&raw::Quantity::Bytes(1 << 30)), Ok(Mebibytes(1024)));
        assert_eq!(parse_memory(&raw::Quantity::Bytes(16)).unwrap_err().1.as_deref(), Some("`16Gi`"));
        assert_eq!(parse_memory(&text("16GB")).unwrap_err().1.as_deref(), Some("`16G`"));
        for bad in ["", "-1Gi", "lots", "16 Gi"] {
            assert!(parse_memory(&text(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn versions_are_numbers_with_dots() {
        assert_eq!(parse_version("550.90.07"), Ok(vec![550, 90, 7]));
        assert_eq!(parse_pair("8.0"), Ok((8, 0)));
        assert_eq!(parse_pair("v1.34").unwrap_err().1.as_deref(), Some("`\"1.34\"`"));
        assert_eq!(parse_pair("1.34.2").unwrap_err().1.as_deref(), Some("`\"1.34\"`"));
        for bad in ["", "8", "a.b", "8..0", "+8.0"] {
            assert!(parse_pair(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_day_holds_to_its_end_and_a_time_to_its_second() {
        assert_eq!(parse_end("2027-03-31"), Ok(1_806_537_600));
        assert_eq!(parse_end("2027-04-01T00:00:00Z"), Ok(1_806_537_600));
        assert_eq!(parse_end("2027-04-01T02:00:00+02:00"), Ok(1_806_537_600));
        for bad in
            ["", "2027-02-30", "31.03.2027", "2027-04-01T00:00:00", "20270331", "tomorrow", "-009999-01-01"]
        {
            assert!(parse_end(bad).is_err(), "{bad}");
        }
    }
}
