//! Whole traces for other people's viewers, a file each.

pub mod chrome;
pub mod folded;
pub mod speedscope;

mod stated;
