//! Checks that need no control plane: they take seconds, and each holds one habit of the repository.

mod layers;
mod sources;
