mod admission;
mod certificates;
mod client;
mod connections;
mod setting;
mod shutdown;
