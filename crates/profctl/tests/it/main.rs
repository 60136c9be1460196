//! The program from outside, and the shape of the source tree.

#![expect(clippy::disallowed_methods, reason = "tests read and write files")]

mod cli;
mod diff;
mod docs;
mod exports;
mod flame;
mod gate;
mod merge;
mod pages;
mod program;
mod reports;
mod tidy;
mod tutorial;
