//! Engines that work on several GPUs.

pub mod tensor;
