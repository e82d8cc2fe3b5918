//! Which Pods concern us.
