//! The `live` room.

pub mod policies;
