//! The `k8s` room.
