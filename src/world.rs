//! The `world` room.
