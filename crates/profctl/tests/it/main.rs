//! The program from outside, and the shape of the source tree.

mod cli;
mod docs;
mod program;
mod tidy;
