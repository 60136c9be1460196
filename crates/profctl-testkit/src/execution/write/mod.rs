//! An execution as each family of formats writes it down.

mod events;
mod instructions;
mod kernel;
mod perfetto;
mod probe;
mod syscalls;
mod text;
mod uftrace;
mod wires;

pub use events::{chrome_begin_end, chrome_complete, folded, speedscope};
pub use instructions::{Instructions, instructions};
pub use kernel::{ftrace, perf_script, systrace};
pub use perfetto::perfetto;
pub use probe::{Counter, probe_names, probe_records};
pub use syscalls::{SYSCALLS, kdump, strace};
pub use text::{mcrae, plain};
pub use uftrace::uftrace;
pub use wires::{saleae, sigrok, vcd};

/// The id of a thread in texts.
fn tid(thread: usize) -> usize {
    101 + thread
}
