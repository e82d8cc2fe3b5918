//! The `telemetry` room.
