//! An execution as each family of formats writes it down.

mod ctf;
mod events;
mod instructions;
mod kernel;
mod ktrace;
mod measureme;
mod perfetto;
mod probe;
mod syscalls;
mod systemview;
mod text;
mod trace_dat;
mod uftrace;
mod wires;

pub use ctf::{Packing, babeltrace, ctf, ctf_symbols};
pub use events::{chrome_begin_end, chrome_complete, folded, speedscope};
pub use instructions::{Instructions, instructions};
pub use kernel::{ftrace, perf_script, systrace, trace_cmd_report};
pub use ktrace::{Ktrace, ktrace};
pub use measureme::measureme;
pub use perfetto::perfetto;
pub use probe::{Counter, itm, probe_names, probe_records};
pub use syscalls::{SYSCALLS, kdump, ltrace, strace};
pub use systemview::systemview;
pub use text::{RULE, mcrae, otf2, plain, ruled};
pub use trace_dat::{late_interrupts, trace_dat};
pub use uftrace::uftrace;
pub use wires::{saleae, sigrok, vcd};

/// The id of a thread in texts.
fn tid(thread: usize) -> usize {
    101 + thread
}
