//! Spans to reports: each analysis is a folder that takes a stream of spans or a whole trace and
//! gives a table.
//!
//! Nothing here reads a file or formats a number: times leave as ticks, and the rim hands them to
//! a writer.

pub mod critpath;
pub mod replay;
pub mod summarize;
pub mod tree;

#[cfg(test)]
mod testing;
