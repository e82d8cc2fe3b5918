//! JSON values → YAML that kubectl reads back as the same values.

use std::{fmt, io};

use serde::Serialize;
use serde_saphyr::{SerializerOptions, ser_options};

/// One document as YAML text, ending in a line end. Words of YAML 1.1, such as `yes` or `0755`, are quoted.
///
/// # Errors
/// Where the value cannot be YAML: a map with keys that are no scalars.
pub fn to_text(value: &impl Serialize) -> Result<String, fmt::Error> {
    serde_saphyr::to_string_with_options(value, options()).map_err(|_| fmt::Error)
}

/// As [`to_text`], into a writer.
///
/// # Errors
/// The writer's.
pub fn to_writer(out: &mut impl io::Write, value: &impl Serialize) -> io::Result<()> {
    serde_saphyr::to_io_writer_with_options(out, value, options()).map_err(io::Error::other)
}

fn options() -> SerializerOptions {
    // A folded text is hard to search; what is long stays on its line.
    ser_options! { compact_list_indent: true, folded_wrap_chars: 4096 }
}
