//! The `subject` room.
