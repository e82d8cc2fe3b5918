//! The rooms under `src/` and the arrows between them.
