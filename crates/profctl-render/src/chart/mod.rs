//! Pictures: charts of calls in the order of time, and graphs of merged calls.
//!
//! Every picture is laid out first, in integers and without a pen, and then drawn by a writer that
//! knows nothing of traces.

pub mod lanes;
pub mod palette;

#[cfg(test)]
mod testing;
