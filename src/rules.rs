//! The `rules` room.
