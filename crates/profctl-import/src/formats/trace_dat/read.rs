//! The reader of blocks: pages, or compressed chunks of pages, to records of the trace.

use std::fmt::Write as _;
use std::sync::Arc;

use profctl_model::diag::codes;
use profctl_model::hash::FastMap;
use profctl_model::{Code, Severity};

use super::input::{Chunks, Compression};
use super::options::CyclesToNanos;
use crate::bytes::Endian;
use crate::emit::{At, Emitter, LaneKey, LaneRef, NameRef, Stated, ThreadKey};
use crate::formats::ftrace::NO_EXITS;
use crate::formats::function_graph::classify;
use crate::formats::{Block, Reader, State};
use crate::kernel_events::format::Common;
use crate::kernel_events::kallsyms::{Kallsyms, spelling};
use crate::kernel_events::record::{Decoder, Meaning, PrintText};
use crate::kernel_events::{Applier, IrqNames, Place, Scope, Task, context_of_flags};
use crate::ring_buffer::{self, Lost, Page, PageLayout, Record};

/// Records whose description the recording lacks.
pub static UNKNOWN_EVENT: Code = Code {
    name: "trace_dat/unknown-event",
    severity: Severity::Error,
    help: "some records have no event description and were skipped; `trace-cmd record -e SYSTEM` \
           saves the descriptions of the events that it records",
};

/// Records that a truncated file lacks.
pub static MISSING_RECORDS: Code = Code {
    name: "trace_dat/missing-records",
    severity: Severity::DataLoss,
    help: "the file is truncated, as when a copy was interrupted: the last records of these CPUs are \
           missing, so that sums are too small and calls that were open are incomplete",
};

/// What a truncated file lacks.
#[derive(Debug)]
pub(super) struct Cut {
    /// The stream with which it is said.
    pub(super) stream: usize,
    /// By CPU.
    pub(super) losses: Vec<String>,
}

/// What all workers share.
#[derive(Debug)]
pub(super) struct Recording {
    pub(super) layout: PageLayout,
    pub(super) compression: Compression,
    /// By the number of the event.
    pub(super) decoders: Vec<Option<Decoder>>,
    pub(super) common: Common,
    pub(super) kallsyms: Kallsyms,
    pub(super) printk: FastMap<u64, String>,
    pub(super) cmdlines: FastMap<u64, Box<[u8]>>,
    /// The CPU of each stream.
    pub(super) cpus: Vec<u32>,
    pub(super) clock: Clock,
    pub(super) cut: Option<Cut>,
    pub(super) scope: Scope,
}

/// How the times of the records become ticks.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Clock {
    pub(super) tsc: Option<CyclesToNanos>,
    pub(super) offset: i64,
    /// Times are nanoseconds, as the durations of `function_graph` always are.
    pub(super) is_nanos: bool,
    /// Times say nothing: durations in nanoseconds make the timeline.
    pub(super) is_useless: bool,
}

impl Clock {
    #[inline]
    fn time(&self, raw: u64) -> Option<u64> {
        if self.is_useless {
            return None;
        }
        let ticks = self.tsc.map_or(raw, |tsc| tsc.nanos(raw));
        // A date may lie before the boot of a machine whose clock was wrong.
        Some(ticks.saturating_add_signed(self.offset))
    }
}

pub(super) struct DatReader {
    recording: Arc<Recording>,
    chunks: Chunks,
    pages: Vec<u8>,
    applier: Applier,
    functions: FastMap<u64, NameRef>,
    lanes: FastMap<(u32, u64), LaneRef>,
    /// The CPU's own lane, and the latest thread and its lane.
    here: Option<Here>,
    detail: String,
    name: Vec<u8>,
}

#[derive(Clone, Copy)]
struct Here {
    cpu: u32,
    cpu_lane: LaneRef,
    pid: u64,
    lane: LaneRef,
}

/// Bytes before a chunk: its sizes, compressed and not.
pub(super) const CHUNK_HEADER: usize = 8;
/// Bytes of the number of chunks, which may follow the last one (see
/// [`super::container::Container`]).
const COUNT_BYTES: usize = 4;

/// The sizes of the chunk at the start of `bytes`: with its header, and decompressed.
pub(super) fn chunk_sizes(bytes: &[u8], endian: Endian) -> Option<(usize, usize)> {
    let packed = crate::bytes::integer(bytes, 0, 4, endian)? as usize;
    let length = crate::bytes::integer(bytes, 4, 4, endian)? as usize;
    Some((CHUNK_HEADER + packed, length))
}

impl DatReader {
    pub(super) fn new(recording: Arc<Recording>) -> Self {
        Self {
            chunks: Chunks::new(recording.compression),
            applier: Applier::new(recording.scope),
            recording,
            pages: Vec::new(),
            functions: FastMap::default(),
            lanes: FastMap::default(),
            here: None,
            detail: String::new(),
            name: Vec::new(),
        }
    }
}

impl Reader for DatReader {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self::new(Arc::clone(&self.recording)))
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        if self.recording.compression == Compression::None {
            return bytes.len() - bytes.len() % self.recording.layout.size;
        }
        let mut end = 0;
        while let Some((size, _)) = chunk_sizes(&bytes[end..], self.recording.layout.endian)
            && size <= bytes.len() - end
        {
            end += size;
        }
        end
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let recording = Arc::clone(&self.recording);
        let cpu = recording.cpus.get(block.stream).copied().unwrap_or(0);
        self.enter_cpu(cpu, out);
        let none = IrqNames::default();
        let before = state.downcast_ref::<IrqNames>().unwrap_or(&none);
        self.applier.set_irqs(before);
        if recording.compression == Compression::None {
            self.pages(&recording, block.bytes, 0, None, out);
        } else {
            self.chunks(&recording, block, out);
        }
        if let Some(cut) = &recording.cut
            && block.at_end
            && block.stream == cut.stream
        {
            for loss in &cut.losses {
                out.diag(&MISSING_RECORDS, block.bytes.len(), || loss.clone());
            }
        }
        (self.applier.irqs() != before).then(|| Arc::new(self.applier.irqs().clone()) as State)
    }
}

impl DatReader {
    fn enter_cpu(&mut self, cpu: u32, out: &mut Emitter) {
        if self.here.is_none_or(|here| here.cpu != cpu) {
            let lane = out.lane(LaneKey { cpu: Some(cpu), thread: ThreadKey::Unstated });
            self.here = Some(Here { cpu, cpu_lane: lane, pid: u64::MAX, lane });
        }
    }

    fn chunks(&mut self, recording: &Recording, block: &Block<'_>, out: &mut Emitter) {
        let mut at = 0;
        while at < block.bytes.len() {
            let rest = &block.bytes[at..];
            if rest.len() <= COUNT_BYTES && block.at_end {
                break;
            }
            let sizes = chunk_sizes(rest, recording.layout.endian);
            let Some((size, length)) = sizes.filter(|(size, _)| *size <= rest.len()) else {
                out.diag(&codes::CUT_RECORD, at, || {
                    format!("{} bytes are less than a chunk of compressed records", rest.len())
                });
                return;
            };
            let mut pages = std::mem::take(&mut self.pages);
            match self.chunks.decompress(&rest[CHUNK_HEADER..size], length, &mut pages) {
                Ok(()) => self.pages(recording, &pages, at, Some(at), out),
                Err(message) => {
                    out.diag(&codes::SKIPPED_RECORD, at, || message);
                    self.lost(None, None, at, out);
                }
            }
            self.pages = pages;
            at += size;
        }
    }

    fn lost(&mut self, time: Option<u64>, events: Option<u64>, at: usize, out: &mut Emitter) {
        let Some(here) = self.here else { return };
        out.lost(At { time, lane: here.cpu_lane, offset: at }, events);
    }

    /// Reads pages. `place` is where they are in the block; `fixed` is that of the chunk whose
    /// pages they are.
    fn pages(
        &mut self,
        recording: &Recording,
        bytes: &[u8],
        place: usize,
        fixed: Option<usize>,
        out: &mut Emitter,
    ) {
        let size = recording.layout.size;
        for (n, bytes) in bytes.chunks(size).enumerate() {
            let at = fixed.unwrap_or(place + n * size);
            let is_whole = bytes.len() == size;
            match ring_buffer::page(bytes, &recording.layout) {
                Some(page) => self.page(recording, page, at, fixed.is_none(), out),
                None if !is_whole => {
                    out.diag(&codes::CUT_RECORD, at, || {
                        format!("{} bytes are less than a page of {size}", bytes.len())
                    });
                }
                None => {
                    out.diag(&codes::SKIPPED_RECORD, at, || {
                        "a page states more data than fits".into()
                    });
                    self.lost(None, None, at, out);
                }
            }
        }
    }

    fn page(
        &mut self,
        recording: &Recording,
        mut page: Page<'_>,
        at: usize,
        exact: bool,
        out: &mut Emitter,
    ) {
        if let Some(Lost { events }) = page.lost {
            self.lost(recording.clock.time(page.start), events, at, out);
        }
        let data = recording.layout.data;
        loop {
            match page.records.next_record() {
                Ok(Some(record)) => {
                    let offset = if exact { at + data + record.offset } else { at };
                    self.record(recording, &record, offset, out);
                }
                Ok(None) => return,
                Err(place) => {
                    let offset = if exact { at + data + place } else { at };
                    out.diag(&codes::SKIPPED_RECORD, offset, || {
                        "the rest of a page is invalid".into()
                    });
                    self.lost(None, None, offset, out);
                    return;
                }
            }
        }
    }

    #[inline]
    fn record(
        &mut self,
        recording: &Recording,
        record: &Record<'_>,
        offset: usize,
        out: &mut Emitter,
    ) {
        out.records += 1;
        let endian = recording.layout.endian;
        let data = record.data;
        let kind = recording.common.kind.get(data, endian);
        let pid = recording.common.pid.get(data, endian);
        let (Some(kind), Some(pid)) = (kind, pid) else {
            out.diag(&codes::SKIPPED_RECORD, offset, || {
                "a record is too short for its header".into()
            });
            return;
        };
        let Some(Some(decoder)) = recording.decoders.get(kind as usize) else {
            out.diag(&UNKNOWN_EVENT, offset, || format!("event {kind} is not described"));
            return;
        };
        // Threads have positive ids; the sign is that of C's `int`.
        let lane = self.lane(recording, pid & 0xFFFF_FFFF, out);
        let at = At { time: recording.clock.time(record.time), lane, offset };
        let said = match &decoder.meaning {
            Meaning::GraphEntry { func, depth } => (|| {
                let name = self.function(recording, func.get(data, endian)?, out);
                let depth = stated_depth(depth.get(data, endian)?);
                out.enter(at, name, Stated { depth, ..Stated::NOTHING });
                Some(())
            })(),
            Meaning::GraphExit { func, depth, times } => (|| {
                let name = self.function(recording, func.get(data, endian)?, out);
                let depth = stated_depth(depth.get(data, endian)?);
                let wall = match times {
                    Some((call, ret)) if recording.clock.is_nanos || recording.clock.is_useless => {
                        ret.get(data, endian)?.checked_sub(call.get(data, endian)?)
                    }
                    _ => None,
                };
                out.exit(at, Some(name), Stated { depth, wall, net: None });
                Some(())
            })(),
            Meaning::Stack => Some(()),
            _ => self.event(recording, decoder, data, at, out),
        };
        if said.is_none() {
            out.diag(&codes::SKIPPED_RECORD, offset, || {
                format!("a record of {} is too short for its fields", decoder.format.name)
            });
        }
    }

    /// Any record but those of `function_graph`.
    fn event(
        &mut self,
        recording: &Recording,
        decoder: &Decoder,
        data: &[u8],
        at: At,
        out: &mut Emitter,
    ) -> Option<()> {
        let endian = recording.layout.endian;
        match &decoder.meaning {
            Meaning::Function { ip, .. } => {
                let ip = ip.get(data, endian)?;
                self.name.clear();
                function_name(recording, ip, &mut self.name);
                let name = &self.name;
                out.diag(&NO_EXITS, at.offset, || {
                    format!("{} was called", String::from_utf8_lossy(name))
                });
                self.applier.mark(&self.name, "", at, out);
                return Some(());
            }
            Meaning::Print { text } => {
                self.detail.clear();
                match text {
                    PrintText::Here(field) => {
                        let text = String::from_utf8_lossy(field.text(data, endian)?);
                        self.detail.push_str(text.trim_end());
                    }
                    PrintText::At(address) => {
                        let address = address.get(data, endian)?;
                        match recording.printk.get(&address) {
                            Some(text) => self.detail.push_str(text),
                            // Writing to a string does not fail.
                            None => drop(write!(self.detail, "{address:#x}")),
                        }
                    }
                }
                self.applier.mark(b"tracing_mark_write", &self.detail, at, out);
                return Some(());
            }
            _ => {}
        }
        let event = decoder.event(data, endian)?;
        let flags = recording.common.flags.get(data, endian)?;
        let place = Place {
            time: at.time,
            cpu: self.here.map(|here| here.cpu),
            lane: at.lane,
            context: context_of_flags(flags),
            offset: at.offset,
        };
        if !self.applier.apply(&event, &place, out) {
            self.detail.clear();
            let symbol = |address| match recording.printk.get(&address) {
                Some(text) => Some(text.as_str()),
                None => recording
                    .kallsyms
                    .name(address)
                    .and_then(|name| std::str::from_utf8(spelling(name).0).ok()),
            };
            decoder.arguments(data, endian, symbol, &mut self.detail);
            self.applier.mark(decoder.format.name.as_bytes(), &self.detail, at, out);
        }
        Some(())
    }

    #[inline]
    fn lane(&mut self, recording: &Recording, pid: u64, out: &mut Emitter) -> LaneRef {
        match &self.here {
            Some(here) if here.pid == pid => here.lane,
            _ => self.other_lane(recording, pid, out),
        }
    }

    fn other_lane(&mut self, recording: &Recording, pid: u64, out: &mut Emitter) -> LaneRef {
        let cpu = self.here.map_or(0, |here| here.cpu);
        let lane = match self.lanes.get(&(cpu, pid)) {
            Some(lane) => *lane,
            None => {
                let name = recording.cmdlines.get(&pid).map_or(&b""[..], |name| &**name);
                let lane = self.applier.lane(Some(cpu), Task { tid: pid, name }, out);
                self.lanes.insert((cpu, pid), lane);
                lane
            }
        };
        if let Some(here) = &mut self.here {
            (here.pid, here.lane) = (pid, lane);
        }
        lane
    }

    #[inline]
    fn function(&mut self, recording: &Recording, address: u64, out: &mut Emitter) -> NameRef {
        match self.functions.get(&address) {
            Some(name) => *name,
            None => self.new_function(recording, address, out),
        }
    }

    #[cold]
    fn new_function(&mut self, recording: &Recording, address: u64, out: &mut Emitter) -> NameRef {
        self.name.clear();
        function_name(recording, address, &mut self.name);
        let name = out.name(&self.name, classify::func);
        self.functions.insert(address, name);
        name
    }
}

/// The function as `function_graph` prints it: `name`, `name [module]`, or its address.
fn function_name(recording: &Recording, address: u64, out: &mut Vec<u8>) {
    let Some(known) = recording.kallsyms.name(address) else {
        out.extend_from_slice(format!("{address:#x}").as_bytes());
        return;
    };
    let (name, module) = spelling(known);
    out.extend_from_slice(name);
    if let Some(module) = module {
        out.extend_from_slice(b" [");
        out.extend_from_slice(module);
        out.push(b']');
    }
}

fn stated_depth(depth: u64) -> Option<u16> {
    // Newer kernels keep more than the depth in the word.
    u16::try_from(depth & 0xFFFF_FFFF).ok().filter(|&depth| depth < u16::MAX)
}
