//! ResourceQuotas and LimitRanges.

pub mod keys;
pub mod limit_range;
pub mod names;
