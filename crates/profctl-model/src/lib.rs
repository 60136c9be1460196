//! The hub: what every part of profctl means by a call, a time, a name, a loss and a table.
//!
//! This crate knows no file format, no command and no output. It has no dependencies, reads
//! nothing, prints nothing; every other crate speaks in its types and only in them.

pub mod diag;
pub mod hash;
pub mod id;
pub mod names;
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
pub use names::{Func, FuncKind, Names, Thread};
pub use sched::{RunState, ThreadLife, ThreadState, Turn, Wake, WakeEffect, Waker, WakerContext};
pub use span::{Enclosed, Fidelity, FuncTotals, Gap, Mark, Record, SelectThreads, Span, SpanSink};
pub use spool::{BlockStack, SpanRow, Spool};
pub use table::{Cell, Column, Role, Table};
pub use time::{Tick, TickUnit, Ticks, Timebase, Timeline};
pub use trace::{Spans, Trace, TraceBuilder, TraceMeta};
pub use tree::{CallTree, NodeId, PairedNode, PairedTree, PathCost, PathOrder, PathRow, PathRows};
