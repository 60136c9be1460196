//! Events to calls, marks and numbers.

use std::sync::Arc;

use profctl_model::diag::codes::CUT_RECORD;
use profctl_model::hash::FastMap;
use profctl_model::{Func, FuncKind};

use super::About;
use super::layout::{Payload, Version};
use super::strings::Strings;
use crate::emit::{At, Emitter, LaneKey, LaneRef, NameRef, ThreadKey};
use crate::formats::{Block, Reader, State};
use crate::sort::Order;

/// All that blocks are read with.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) version: Version,
    pub(super) strings: Strings,
    pub(super) about: About,
}

/// Reads blocks of events.
pub(super) struct Records {
    contents: Arc<Contents>,
    names: FastMap<(u64, u64), NameRef>,
    lanes: FastMap<u32, LaneRef>,
}

impl Records {
    pub(super) fn new(contents: Contents) -> Self {
        Self::over(Arc::new(contents))
    }

    fn over(contents: Arc<Contents>) -> Self {
        Self { contents, names: FastMap::default(), lanes: FastMap::default() }
    }

    fn name(&mut self, kind: u64, label: u64, of: FuncKind, out: &mut Emitter) -> NameRef {
        if let Some(&known) = self.names.get(&(kind, label)) {
            return known;
        }
        let strings = &self.contents.strings;
        let (group, name) = (strings.label(kind), strings.label(label));
        let spelling = format!("{}\0{name}\0{group}", of.name());
        let func = Func { name, module: Some(group), kind: of, ..Func::default() };
        let found = out.name(spelling.as_bytes(), |_| func);
        self.names.insert((kind, label), found);
        found
    }

    fn lane(&mut self, thread: u32, out: &mut Emitter) -> LaneRef {
        let about = &self.contents.about;
        *self.lanes.entry(thread).or_insert_with(|| {
            let (tid, name) = (thread.into(), about.program().to_owned());
            let thread = match about.process {
                Some(pid) => ThreadKey::Member { pid, tid, name },
                None => ThreadKey::Tid(tid, name),
            };
            out.lane(LaneKey { cpu: None, thread })
        })
    }
}

impl Reader for Records {
    fn order(&self) -> Order {
        // An interval is where it ends, after all that lies in it.
        Order::Any
    }

    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self::over(Arc::clone(&self.contents)))
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        let size = self.contents.version.event_bytes();
        bytes.len() / size * size
    }

    fn read(&mut self, block: &Block<'_>, _state: &State, out: &mut Emitter) -> Option<State> {
        let version = self.contents.version;
        let size = version.event_bytes();
        let events = block.bytes.chunks_exact(size);
        let cut = events.remainder().len();
        for (n, bytes) in events.enumerate() {
            let event = version.event(bytes);
            out.records += 1;
            let at = |time, lane| At { time, lane, offset: n * size };
            let lane = self.lane(event.thread, out);
            match event.payload {
                Payload::Interval { start, end } => {
                    let name = self.name(event.kind, event.label, FuncKind::Function, out);
                    out.complete(at(Some(start), lane), name, end.saturating_sub(start), None);
                }
                Payload::Instant(time) => {
                    let name = self.name(event.kind, event.label, FuncKind::Mark, out);
                    out.instant(at(Some(time), lane), name);
                }
                Payload::Integer(value) => {
                    let name = self.name(event.kind, event.label, FuncKind::Mark, out);
                    out.counter(at(None, lane), name, value as f64);
                }
            }
        }
        if cut > 0 {
            let offset = block.bytes.len() - cut;
            out.diag(&CUT_RECORD, offset, || format!("{cut} of {size} bytes of an event"));
        }
        None
    }
}
