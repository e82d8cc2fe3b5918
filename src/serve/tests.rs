mod admission;
mod certificates;
mod client;
mod connections;
mod judged;
pub(super) mod setting;
mod shutdown;
