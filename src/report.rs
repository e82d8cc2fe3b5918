//! The `report` room.
