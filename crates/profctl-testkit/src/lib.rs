//! What the tests of the other crates share: a second opinion on traces, the fixtures, the
//! invariants of a trace, and generators. Nothing that users run depends on it.
//!
//! It depends on the hub only, so that an oracle does not share the bugs of a reader.

pub mod execution;
pub mod fixtures;
pub mod generate;
pub mod invariants;
pub mod oracle;
pub mod plant;
mod varint;
