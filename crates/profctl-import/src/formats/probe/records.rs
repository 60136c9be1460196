//! The loop over records: a load, a look into a table, an event.

use std::sync::Arc;

use profctl_model::diag::codes::CUT_RECORD;
use profctl_model::{Code, Func, FuncKind, Severity};

use super::layout::{Field, Layout};
use super::names::Named;
use crate::bytes::Endian;
use crate::emit::{
    Emitter, Event, EventKind, LaneKey, LaneRef, NO_DEPTH, NameRef, ThreadKey, UNSTATED,
};
use crate::formats::{Reader, State};

/// A tag that the name file does not know.
pub static UNKNOWN_TAG: Code = Code {
    name: "probe/unknown-tag",
    severity: Severity::Warning,
    help: "A tag is not in the name file; it counts as an instant. The name file may belong to \
           another build.",
};

/// Tags below this number are looked up by index, which costs 8 bytes each.
const INDEXED_MAX: u32 = 1 << 20;

/// The most bytes that a field is read with.
const WINDOW: usize = 8;

/// Reads records of one layout.
pub(super) struct Records {
    layout: Layout,
    names: Arc<[Named]>,
    /// What each tag says, once it was met. A reader always fills the same emitter, so a name
    /// stays what it was from block to block.
    known: Vec<Meaning>,
}

/// What a record of a tag says. The kind is absent until the tag was met.
#[derive(Clone, Copy, Default)]
struct Meaning {
    name: u32,
    kind: Option<EventKind>,
}

impl Records {
    pub(super) fn new(layout: Layout, mut names: Vec<Named>) -> Self {
        names.sort_by_key(|named| named.tag);
        Self::unbound(layout, names.into())
    }

    /// A reader that has not met a tag yet.
    fn unbound(layout: Layout, names: Arc<[Named]>) -> Self {
        let end = names.last().map_or(0, |named| named.tag.saturating_add(2));
        let known = vec![Meaning::default(); end.min(INDEXED_MAX) as usize];
        Self { layout, names, known }
    }
}

impl Reader for Records {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self::unbound(self.layout, Arc::clone(&self.names)))
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        bytes.len() - bytes.len() % self.layout.stride
    }

    fn read(
        &mut self,
        block: &[u8],
        _at_end: bool,
        _state: &State,
        out: &mut Emitter,
    ) -> Option<State> {
        let whole = self.boundary(block);
        let stride = self.layout.stride;
        let lane = out.lane(LaneKey { cpu: None, thread: ThreadKey::Unstated });
        out.records += (whole / stride) as u64;
        // A field is loaded as eight bytes, so the last records are read from a copy with room
        // behind it.
        let roomy = whole.saturating_sub(stride + WINDOW);
        let roomy = roomy - roomy % stride;
        self.read_records(block, roomy, 0, lane, out);
        let mut rest = block[roomy..whole].to_vec();
        rest.resize(whole - roomy + WINDOW, 0);
        self.read_records(&rest, whole - roomy, roomy, lane, out);
        if whole < block.len() {
            out.records += 1;
            out.diag(&CUT_RECORD, whole, || {
                format!("{} bytes at the end, expected {stride} a record", block.len() - whole)
            });
        }
        None
    }
}

impl Records {
    /// Reads the records in the first `len` bytes of `bytes`, behind which at least eight more
    /// lie. `base` is where `bytes` begin in the block.
    fn read_records(
        &mut self,
        bytes: &[u8],
        len: usize,
        base: usize,
        lane: LaneRef,
        out: &mut Emitter,
    ) {
        match self.layout.endian {
            Endian::Little => self.read_as::<false>(bytes, len, base, lane, out),
            Endian::Big => self.read_as::<true>(bytes, len, base, lane, out),
        }
    }

    fn read_as<const BIG: bool>(
        &mut self,
        bytes: &[u8],
        len: usize,
        base: usize,
        lane: LaneRef,
        out: &mut Emitter,
    ) {
        let Layout { stride, tag: tag_field, time: time_field, .. } = self.layout;
        let mut events = std::mem::take(&mut out.events);
        events.extend((0..len / stride).map(|record| {
            let offset = record * stride;
            let tag = load::<BIG>(bytes, offset, tag_field);
            let time = load::<BIG>(bytes, offset, time_field);
            let (kind, name) = match self.known.get(tag as usize) {
                Some(&Meaning { name, kind: Some(kind) }) => (kind, NameRef(name)),
                _ => self.meet(tag as u32, base + offset, out),
            };
            Event {
                time,
                duration: UNSTATED,
                extra: UNSTATED,
                name,
                lane,
                offset: (base + offset) as u32,
                depth: NO_DEPTH,
                kind,
            }
        }));
        out.events = events;
    }

    /// What a record says whose tag is not in the table: met for the first time, too large for
    /// it, or unknown.
    #[cold]
    fn meet(&mut self, tag: u32, offset: usize, out: &mut Emitter) -> (EventKind, NameRef) {
        let is_it = |named: &&Named| {
            tag == named.tag || (named.kind != FuncKind::Mark && tag == named.tag + 1)
        };
        let below = self.names.partition_point(|named| named.tag <= tag);
        let Some(named) = self.names[..below].last().filter(is_it) else {
            out.diag(&UNKNOWN_TAG, offset, || format!("found tag {tag:#06x}, which has no name"));
            return (EventKind::Mark, unknown(tag, out));
        };
        let kind = match (named.kind, named.switches, tag == named.tag) {
            (FuncKind::Mark, ..) => EventKind::Mark,
            (_, true, true) => EventKind::SwitchTagEnter,
            (_, true, false) => EventKind::SwitchTagExit,
            (_, false, true) => EventKind::Enter,
            (_, false, false) => EventKind::Exit,
        };
        let name = out.func(&named.name, named.kind);
        if let Some(meaning) = self.known.get_mut(tag as usize) {
            *meaning = Meaning { name: name.0, kind: Some(kind) };
        }
        (kind, name)
    }
}

/// The name of a tag that has none. Garbage must not become a name for each of its records, so
/// those of large tags share one.
fn unknown(tag: u32, out: &mut Emitter) -> NameRef {
    let name = match tag {
        0..INDEXED_MAX => format!("tag {tag:#06x}"),
        _ => format!("tags from {INDEXED_MAX:#x}"),
    };
    // The NUL keeps it apart from a function that somebody called that.
    out.name(format!("\0{name}").as_bytes(), |_| Func {
        name,
        kind: FuncKind::Mark,
        ..Func::default()
    })
}

/// One field of the record at `offset`.
#[inline]
fn load<const BIG: bool>(bytes: &[u8], offset: usize, field: Field) -> u64 {
    let at = offset + field.at;
    let window = bytes[at..at + WINDOW].try_into().expect("eight bytes");
    let value =
        if BIG { u64::from_be_bytes(window) >> field.shift } else { u64::from_le_bytes(window) };
    value & field.mask
}
