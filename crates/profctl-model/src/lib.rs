//! The hub: the types for calls, times, names, losses and tables that all crates share.
//!
//! This crate has no file formats, commands or outputs, and no dependencies. It does no I/O.

pub mod diag;
pub mod hash;
pub mod id;
pub mod meta;
pub mod names;
pub mod report;
pub mod sched;
pub mod span;
pub mod spool;
pub mod table;
pub mod tables;
pub mod time;
pub mod trace;
pub mod tree;

pub use diag::{Code, DiagLog, Place, Severity};
pub use id::{CpuId, FuncId, IdVec, SpanId, ThreadId};
pub use meta::TraceMeta;
pub use names::{Func, FuncKind, Names, NewIds, Thread};
pub use sched::{RunState, ThreadLife, ThreadState, Turn, Wake, WakeEffect, Waker, WakerContext};
pub use span::{
    Enclosed, Fidelity, FuncTotals, Gap, Late, Mark, Progress, Record, SelectThreads, Span,
    SpanSink,
};
pub use spool::{BlockStack, Numbering, SpanRow, Spool};
pub use table::{Cell, Column, Role, Table};
pub use time::{Tick, TickUnit, Ticks, Timebase, Timeline};
pub use trace::{Spans, Trace, TraceBuilder};
pub use tree::{CallTree, NodeId, PairedNode, PairedTree, PathCost, PathOrder, PathRow, PathRows};
