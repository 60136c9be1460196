//! Readers on complete inputs, through the public interface.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod blocks;
mod damage;
mod differential;
mod executions;
mod interchange;
mod invariants;
mod pauses;
mod plain;
mod progress;
mod properties;
mod quirks;
mod recorder;
mod robustness;
mod spool;
mod stitching;
mod toy;
mod trace_dat;
