//! The `cluster` room.
