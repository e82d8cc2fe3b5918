//! Checks that need no control plane: seconds, not minutes.

mod layers;
