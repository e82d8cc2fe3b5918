//! The `gpu` room.
