//! Rules about how things are installed: webhook configurations, extenders, authorities. What is wrong there takes
//! a whole cluster down, or lets every Pod pass, long after it was applied.

pub mod authority;
pub mod extender;
pub mod webhook;
