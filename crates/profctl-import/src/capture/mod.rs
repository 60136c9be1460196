//! Signals to calls: what logic analyzers, simulators and their dumps have in common.
//!
//! A capture holds levels of wires. The user selects the wires that carry calls: a bus that carries
//! a probe's tags and a strobe that says when to look at it, a wire for each function that is high
//! while it runs, or a bus with the program counter. [`select`] turns that into a plan over the
//! signals of one capture, [`sampler`] turns changes of levels into events by it. Every change of
//! one timestamp is applied before anything is looked at, so the order in which a dump lists them
//! never matters.

use profctl_model::{Code, Severity};

pub use crate::options::CaptureOptions;

mod counter;
pub(crate) mod rows;
mod sampler;
mod select;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub(crate) use sampler::{Levels, Sampler};
pub(crate) use select::{Plan, Signal, plan};

/// A level that is neither 0 nor 1 where one was needed.
pub static UNKNOWN_LEVEL: Code = Code {
    name: "capture/unknown-level",
    severity: Severity::Error,
    help: "a sampled wire was neither 0 nor 1 (`x`, `z`, no data), and the sample was skipped: \
           check the wiring, or start later",
};

/// A bus of tags without a strobe.
pub static NO_STROBE: Code = Code {
    name: "capture/no-strobe",
    severity: Severity::Info,
    help: "the tag bus is sampled on every change, so the same tag twice in a row is seen once, \
           and wire skew produces spurious tags: name the strobe with --strobe",
};

/// Calls inferred from a program counter.
pub static INFERRED_CALLS: Code = Code {
    name: "capture/inferred-calls",
    severity: Severity::Info,
    help: "calls were inferred from the program counter: the first instruction of a function is \
           its entry, and returning to a caller is its exit; a jump to the first instruction \
           looks like a call",
};

/// A program counter outside every function.
pub static UNKNOWN_ADDRESS: Code = Code {
    name: "capture/unknown-address",
    severity: Severity::Warning,
    help: "the program counter was outside every function of the symbol file and was skipped: \
           the file may belong to another build",
};
