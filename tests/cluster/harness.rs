//! What stories are made of. Nothing here knows sluice's rules: it starts programs and looks at objects.

pub mod command;
pub mod components;
pub mod controlplane;
pub mod eventually;
pub mod groups;
pub mod http;
pub mod kubectl;
pub mod metrics;
pub mod nodes;
pub mod objects;
pub mod pki;
pub mod process;
pub mod programs;
pub mod route;
pub mod scheduling;
pub mod scratch;
pub mod sluice;
pub mod stub;
pub mod webhooks;
