//! Traces generated from a seed: a recording as a value, the same recording as the text or bytes of
//! each format, and the sums that any reader of it must find.
//!
//! A seed gives the same bytes on every machine and in every build.

mod function_graph;
mod large;
mod mcrae;
mod noise;
mod plain;
mod probe;
mod random;
mod recording;
pub mod trace_dat;
mod truth;

pub use function_graph::{Layout, function_graph};
pub use large::{
    Create, LARGE_FORMATS, ctf_symbols, large_names, write_ctf, write_large, write_uftrace,
};
pub use mcrae::code_trace;
pub use noise::{Noise, Runs, Series};
pub use plain::plain;
pub use probe::{probe_names, probe_records};
pub use random::Random;
pub use recording::{Event, Kind, Recording, Shape, Task};
pub use trace_dat::trace_dat;
pub use truth::{Sums, truth};
