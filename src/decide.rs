//! The `decide` room.
