//! The one clock of the server.

use std::time::{SystemTime, UNIX_EPOCH};

/// Unix seconds.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
