//! The loop over records: a load, a look into a table, an event.

use profctl_model::diag::codes::CUT_RECORD;

use super::layout::{Field, Layout};
use crate::bytes::Endian;
use crate::emit::{Emitter, LaneKey, LaneRef, ThreadKey};
use crate::formats::{Block, Reader, State};
use crate::tags::{Named, Tags};

/// The most bytes that a field is read with.
const WINDOW: usize = 8;

/// Reads records of one layout.
pub(super) struct Records {
    layout: Layout,
    tags: Tags,
}

impl Records {
    pub(super) fn new(layout: Layout, names: Vec<Named>) -> Self {
        Self { layout, tags: Tags::new(names) }
    }
}

impl Reader for Records {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self { layout: self.layout, tags: self.tags.fork() })
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        bytes.len() - bytes.len() % self.layout.stride
    }

    fn read(&mut self, block: &Block<'_>, _state: &State, out: &mut Emitter) -> Option<State> {
        let block = block.bytes;
        let whole = self.boundary(block);
        let stride = self.layout.stride;
        let lane = out.lane(LaneKey { cpu: None, thread: ThreadKey::Unstated });
        out.records += (whole / stride) as u64;
        // A field is loaded as eight bytes, so the last records are read from a copy with space
        // after it.
        let roomy = whole.saturating_sub(stride + WINDOW);
        let roomy = roomy - roomy % stride;
        self.read_records(block, roomy, 0, lane, out);
        let mut rest = block[roomy..whole].to_vec();
        rest.resize(whole - roomy + WINDOW, 0);
        self.read_records(&rest, whole - roomy, roomy, lane, out);
        if whole < block.len() {
            out.records += 1;
            out.diag(&CUT_RECORD, whole, || {
                format!("{} bytes at the end, expected {stride} per record", block.len() - whole)
            });
        }
        None
    }
}

impl Records {
    /// Reads the records in the first `len` bytes of `bytes`, after which at least eight more lie.
    /// `base` is where `bytes` begin in the block.
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
        let n = len / stride;
        let tags = &mut self.tags;
        let mut read = |record: usize, tag: u64, time: u64, out: &mut Emitter| {
            let offset = base + record * stride;
            let (kind, name) = tags.meaning(tag as u32, offset, out);
            (time, offset, name, kind)
        };
        if tag_field.end().max(time_field.end()) <= WINDOW {
            let tag_shift = tag_field.shift_in_record::<BIG>();
            let time_shift = time_field.shift_in_record::<BIG>();
            out.tags(lane, n, |record, out| {
                let both = window::<BIG>(bytes, record * stride);
                let (tag, time) = (both >> tag_shift, both >> time_shift);
                read(record, tag & tag_field.mask, time & time_field.mask, out)
            });
        } else {
            out.tags(lane, n, |record, out| {
                let tag = load::<BIG>(bytes, record * stride, tag_field);
                let time = load::<BIG>(bytes, record * stride, time_field);
                read(record, tag, time, out)
            });
        }
    }
}

/// One field of the record at `offset`.
#[inline]
fn load<const BIG: bool>(bytes: &[u8], offset: usize, field: Field) -> u64 {
    let value = window::<BIG>(bytes, offset + field.at);
    (if BIG { value >> field.shift } else { value }) & field.mask
}

/// The eight bytes at `offset`.
#[inline]
fn window<const BIG: bool>(bytes: &[u8], offset: usize) -> u64 {
    let window = *bytes[offset..].first_chunk::<WINDOW>().expect("eight bytes");
    if BIG { u64::from_be_bytes(window) } else { u64::from_le_bytes(window) }
}
