//! Engines that work on several GPUs.

pub mod shm;
pub mod tensor;
