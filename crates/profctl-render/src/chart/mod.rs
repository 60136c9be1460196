//! Pictures: charts of calls in time order, and graphs of merged calls.
//!
//! Every picture is laid out first, in integers, and then drawn by a writer that is independent of
//! traces.

pub mod axis;
pub mod frames;
pub mod graph;
pub mod lanes;
pub mod palette;
pub mod picture;
pub mod png;
pub mod svg;
pub mod text;
pub mod timeline;

#[cfg(test)]
mod testing;
