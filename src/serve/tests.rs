mod admission;
mod certificates;
mod client;
mod connections;
pub(super) mod setting;
mod shutdown;
