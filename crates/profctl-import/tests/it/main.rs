//! What the readers make of whole inputs, through the doors that the program uses.

mod blocks;
mod differential;
mod invariants;
mod quirks;
mod recorder;
mod robustness;
