//! The `policy` room.
