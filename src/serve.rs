//! The `serve` room.
