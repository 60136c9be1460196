//! A kernel log that holds the ftrace buffer: what `ftrace_dump_on_oops`, or SysRq-Z, prints to the
//! console on an oops or panic.
//!
//! Every line of the buffer has the prefix of the log before it (`[ 13.527105] `). Here the prefix
//! and the lines of the log around the dump are taken away; what remains is read by the reader of
//! the text that it is.

use std::io::Cursor;
use std::sync::Arc;

use super::{
    Block, Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Reader, Recognition,
    State, ftrace, function_graph,
};
use crate::emit::Emitter;
use crate::files::{Files, Single};
use crate::sort::Order;

mod strip;
#[cfg(test)]
mod tests;

use strip::{Stripped, Within};

/// The importer of `kernel_log`.
pub struct KernelLog;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "kernel_log",
    about: "kernel log with an ftrace dump: ftrace_dump_on_oops, SysRq-Z",
    recognized: "`Dumping ftrace buffer:` in a kernel log, then lines of function_graph, functions or events",
    ..Descriptor::PLAIN
};

/// The texts that a dump may hold.
static DUMPED: [&dyn Importer; 2] = [&function_graph::FunctionGraph, &ftrace::TracefsText];

impl Importer for KernelLog {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let Some(at) = strip::find_dump(probe.head) else { return Recognition::No };
        let mut dump = Stripped::default();
        dump.fill(&probe.head[at..], &mut Within::default());
        match inner(probe.name, &dump.text) {
            Some((_, reason)) => Recognition::Yes(format!("an ftrace dump in a log: {reason}")),
            None => Recognition::Neighbor(
                "is a kernel log with an ftrace dump that has no functions or events".into(),
            ),
        }
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = super::head(files)?;
        let mut dump = Stripped::default();
        dump.fill(&head.bytes, &mut Within::default());
        let Some((importer, _)) = inner(files.name(), &dump.text) else {
            return Err(ImportError::whole(
                "has no ftrace dump with functions or events in its head",
            ));
        };
        let dumped = Single::new(files.name(), Box::new(Cursor::new(dump.text)));
        let mut opened = importer.open(&dumped, options)?;
        opened.reader = Box::new(Log { inner: opened.reader, dump: Stripped::default() });
        opened.state = Arc::new(Position { within: Within::default(), inner: opened.state });
        Ok(opened)
    }
}

/// Whose text a dump is.
fn inner(name: &str, dump: &[u8]) -> Option<(&'static dyn Importer, String)> {
    let probe = Probe { name, head: dump, whole: false };
    DUMPED.iter().find_map(|importer| match importer.recognize(&probe) {
        Recognition::Yes(reason) | Recognition::Maybe(reason) => Some((*importer, reason)),
        Recognition::No | Recognition::Neighbor(_) => None,
    })
}

/// What is to be known before a block.
struct Position {
    within: Within,
    inner: State,
}

struct Log {
    inner: Box<dyn Reader>,
    dump: Stripped,
}

impl Reader for Log {
    fn order(&self) -> Order {
        self.inner.order()
    }

    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self { inner: self.inner.fork(), dump: Stripped::default() })
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let before = state.downcast_ref::<Position>()?;
        let mut within = before.within;
        self.dump.fill(block.bytes, &mut within);
        let lines = out.lines;
        let inner = Block { bytes: &self.dump.text, ..*block };
        let after = self.inner.read(&inner, &before.inner, out);
        out.lines = lines + self.dump.lines;
        out.move_offsets(|offset| self.dump.original(offset));
        if after.is_none() && within == before.within {
            return None;
        }
        let inner = after.unwrap_or_else(|| Arc::clone(&before.inner));
        Some(Arc::new(Position { within, inner }))
    }
}
