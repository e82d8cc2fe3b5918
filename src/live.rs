//! The `live` room.
