mod admission;
mod setting;
