//! Second opinions: slow, simple evaluators that share no code and no method with the readers.

pub mod function_graph;
pub mod sched;
