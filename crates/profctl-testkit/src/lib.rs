//! What the tests of the other crates share: a second opinion on traces, the fixtures, the
//! invariants of a trace, and generators. Nothing that users run depends on it.
//!
//! It knows the hub and nothing else, so that an oracle cannot borrow the mistakes of a reader.

pub mod fixtures;
pub mod generate;
pub mod invariants;
pub mod oracle;
