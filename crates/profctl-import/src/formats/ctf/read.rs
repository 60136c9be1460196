//! Packets to calls, switches and marks.

use std::borrow::Cow;
use std::sync::Arc;

use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};

use super::calls::Call;
use super::events::{Event, Take, each};
use super::packet::Placed;
use super::trace::Trace;
use crate::emit::{At, Emitter};
use crate::formats::{Block, Reader, State};
use crate::kernel_events::IrqNames;
use crate::lttng::{Fields, Name, Part, Site, Thread, TracerEvents, cpu_lane};

/// A stream file.
#[derive(Debug)]
pub(super) struct PacketFile {
    /// The row of its trace.
    pub(super) trace: usize,
    pub(super) packets: Vec<Placed>,
    /// Where a packet was found that cannot be read.
    pub(super) damaged: Option<u64>,
}

/// All that blocks are read with.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) traces: Vec<Trace>,
    pub(super) sources: Vec<PacketFile>,
}

/// Reads packets, each of them a block.
pub(super) struct Packets {
    contents: Arc<Contents>,
    events: TracerEvents,
}

impl Packets {
    pub(super) fn new(contents: Contents, events: TracerEvents) -> Self {
        Self { contents: Arc::new(contents), events }
    }
}

impl Reader for Packets {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self { contents: Arc::clone(&self.contents), events: self.events.fork() })
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        // Blocks are cut in advance.
        bytes.len()
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let contents = Arc::clone(&self.contents);
        let source = &contents.sources[block.stream];
        let row = source.packets.partition_point(|placed| placed.range.start < block.offset);
        let placed = source.packets.get(row).filter(|it| it.range.start == block.offset)?;
        let trace = &contents.traces[source.trace];
        let none = IrqNames::default();
        let before = state.downcast_ref::<IrqNames>().unwrap_or(&none);
        self.events.begin(before);
        let cpu = placed.packet.cpu;
        if placed.is_after_loss {
            let lane = cpu_lane(cpu, out);
            let time = placed.packet.begin.map(|begin| trace.ticks(begin));
            out.lost(At { time, lane, offset: 0 }, placed.lost_before);
        }
        let mut said = PacketEvents { trace, cpu, events: &mut self.events, out };
        let done = each(trace, &placed.packet, block.bytes, &mut said);
        if let Err(what) = done {
            let size = placed.packet.size.or(placed.packet.content).unwrap_or(0);
            let is_cut = (block.bytes.len() as u64) < size.div_ceil(8);
            let code = if is_cut { &CUT_RECORD } else { &SKIPPED_RECORD };
            out.diag(code, 0, || format!("{what}; the rest of the packet was skipped"));
        }
        if placed.lost_after > 0 {
            let at = At { time: None, lane: cpu_lane(cpu, out), offset: block.bytes.len() };
            out.lost(at, Some(placed.lost_after));
        }
        if block.at_end && source.damaged.is_some() {
            out.diag(&SKIPPED_RECORD, block.bytes.len(), || {
                "the rest is not a packet described by the metadata".into()
            });
        }
        (self.events.irqs() != before).then(|| Arc::new(self.events.irqs().clone()) as State)
    }
}

/// Says the events of a packet.
struct PacketEvents<'t> {
    trace: &'t Trace,
    cpu: Option<u32>,
    events: &'t mut TracerEvents,
    out: &'t mut Emitter,
}

impl PacketEvents<'_> {
    #[inline]
    fn site(&self, time: u64, offset: usize) -> Site {
        Site { time: Some(self.trace.ticks(time)), cpu: self.cpu, offset }
    }
}

impl<'a> Take<'a> for PacketEvents<'_> {
    #[expect(clippy::inline_always, reason = "a call would pass the parts through memory")]
    #[inline(always)]
    fn call(&mut self, call: Call<'a>) {
        self.out.records += 1;
        let site = self.site(call.time, call.at);
        self.events.call((call.address, call.is_entry), &call.thread, site, self.out);
    }

    fn event(&mut self, event: &Event<'a>) {
        self.out.records += 1;
        let site = self.site(event.time, (event.at / 8) as usize);
        let name = self.trace.metadata.events[event.row].name.as_str();
        self.events.say((name, &self.trace.meanings[event.row]), event, site, self.out);
    }
}

impl Fields for Event<'_> {
    #[inline]
    fn number(&self, part: Part, name: Name) -> Option<u64> {
        self.number(part, name)
    }

    #[inline]
    fn text(&self, part: Part, name: Name) -> Option<Cow<'_, [u8]>> {
        self.text(part, name).map(Cow::Borrowed)
    }

    #[inline]
    fn thread(&self) -> Option<Thread<'_>> {
        self.thread()
    }

    fn detail(&self) -> String {
        self.detail()
    }
}
