//! Spans to reports: each analysis is a module that turns a stream of spans or a trace into a
//! table or into what a plot shows.
//!
//! Nothing here reads a file or formats a number: times are ticks, formatted by a writer of
//! `profctl-render`.

#![cfg_attr(
    test,
    allow(clippy::needless_raw_string_hashes, reason = "expect-test writes its texts like that")
)]

pub mod critpath;
pub mod diff;
pub mod history;
pub mod neighbors;
pub mod points;
pub mod replay;
pub mod sched;
pub mod slowest;
pub mod summarize;
pub mod sweep;
pub mod tables;
pub mod tree;
pub mod utilization;

mod find;
mod random;

pub use find::no_function;

#[cfg(test)]
mod schemas;
#[cfg(test)]
mod testing;
