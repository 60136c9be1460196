//! Blocks of packets to events.

use std::io::Read as _;
use std::sync::Arc;

use profctl_model::FuncKind;
use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};

use super::clocks::{self, BOOT_TIME, MONOTONIC};
use super::event::{Kind, Said};
use super::memory::{Memory, Sequence};
use super::packet::{self, Item, Packet, Payload};
use super::reading::Reading;
use super::{MISSING_NAME, NO_STATE, UNKNOWN_CLOCK, ftrace};
use crate::emit::{Emitter, LaneKey, LaneRef, Stated, ThreadKey};
use crate::formats::{Block, Reader, State};
use crate::sort::Order;

/// The most bytes that one compressed packet may hold.
const INFLATED_MAX: u64 = 64 << 20;

/// Reads packets.
#[derive(Clone, Copy)]
pub(super) struct PacketReader {
    /// How far from their order events may be.
    pub(super) order: Order,
}

impl Reader for PacketReader {
    fn order(&self) -> Order {
        self.order
    }

    fn fork(&self) -> Box<dyn Reader> {
        Box::new(*self)
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        packet::boundary(bytes)
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let block = block.bytes;
        let memory = state.downcast_ref::<Memory>().cloned().unwrap_or_default();
        let mut reading = Reading::new(memory, out);
        reading.block(block);
        let Reading { memory, changed, .. } = reading;
        changed.then(|| Arc::new(memory) as State)
    }
}

impl Reading<'_> {
    pub(super) fn block(&mut self, block: &[u8]) {
        let mut at = 0;
        while at < block.len() {
            self.offset = at;
            let (item, length) = packet::item(&block[at..]);
            let is_stray = item == Item::Stray;
            match item {
                Item::Packet(bytes) => self.packet(bytes, true),
                Item::Stray if !self.memory.astray => {
                    self.out.diag(&SKIPPED_RECORD, at, || {
                        format!("byte {:#04x} does not begin a packet, expected 0x0a", block[at])
                    });
                }
                Item::Stray => {}
                Item::Cut => self.out.diag(&CUT_RECORD, at, || {
                    format!("the last packet stops after {length} bytes")
                }),
            }
            if is_stray != self.memory.astray {
                self.memory.astray = is_stray;
                self.changed = true;
            }
            at += length;
        }
    }

    /// Takes a packet; `may_hold_others` keeps compressed ones from nesting.
    fn packet(&mut self, bytes: &[u8], may_hold_others: bool) {
        let Some(packet) = Packet::read(bytes) else {
            self.out.diag(&SKIPPED_RECORD, self.offset, || {
                format!("an invalid packet of {} bytes", bytes.len())
            });
            return;
        };
        self.bookkeeping(&packet);
        // Defaults hold for the packet that sets them, too.
        if let Some(defaults) = packet.defaults {
            let (track, clock) = super::event::defaults(defaults);
            let sequence = self.sequence_mut(packet.sequence);
            sequence.track = track.or(sequence.track);
            sequence.clock = clock.or(sequence.clock);
        }
        let time = self.time(&packet);
        if packet.needs_state && !self.sequence(packet.sequence).is_some_and(|s| s.is_whole) {
            self.out.diag(&NO_STATE, self.offset, || {
                format!("a packet of sequence {} refers to lost ones", packet.sequence)
            });
            return;
        }
        match packet.payload {
            Payload::None => {}
            Payload::Event(event) => self.event(event, &packet, time),
            Payload::Track(descriptor) => {
                self.changed = true;
                self.lanes.clear();
                Arc::make_mut(&mut self.memory.tracks).learn(descriptor);
            }
            Payload::Thread(descriptor) => {
                self.changed = true;
                self.lanes.clear();
                let track = Arc::make_mut(&mut self.memory.tracks).learn_thread(descriptor);
                let sequence = self.sequence_mut(packet.sequence);
                sequence.track = track.or(sequence.track);
                sequence.microseconds = super::event::reference(descriptor);
            }
            Payload::Processes(tree) => {
                self.changed = true;
                Arc::make_mut(&mut self.memory.tracks).learn_processes(tree);
            }
            Payload::System(system) => ftrace::system(self, system),
            Payload::Config(config) => ftrace::config(self, config),
            Payload::Clocks(snapshot) => self.snapshot(snapshot, packet.sequence),
            Payload::Ftrace(bundle) => ftrace::bundle(self, bundle, packet.sequence),
            Payload::Deflated(bytes) if may_hold_others => {
                let mut inflated = Vec::new();
                let from = flate2::read::ZlibDecoder::new(bytes).take(INFLATED_MAX);
                self.inflate(from, &mut inflated);
            }
            Payload::Zstd(bytes) if may_hold_others => {
                let mut inflated = Vec::new();
                match zstd::stream::read::Decoder::with_buffer(bytes) {
                    Ok(from) => self.inflate(from.take(INFLATED_MAX), &mut inflated),
                    Err(error) => self.unreadable(&error),
                }
            }
            Payload::Deflated(_) | Payload::Zstd(_) => {
                self.out.diag(&SKIPPED_RECORD, self.offset, || {
                    "compressed packets within compressed packets".into()
                });
            }
            Payload::Other => self.not_read("it has no calls"),
        }
    }

    /// Takes the packets of a compressed one.
    fn inflate(&mut self, mut from: impl std::io::Read, inflated: &mut Vec<u8>) {
        if let Err(error) = from.read_to_end(inflated) {
            self.unreadable(&error);
        }
        for packet in packet::packets(inflated) {
            match packet {
                Some(bytes) => self.packet(bytes, false),
                None => self.out.diag(&SKIPPED_RECORD, self.offset, || {
                    "the rest of compressed packets is invalid".into()
                }),
            }
        }
    }

    #[cold]
    fn unreadable(&mut self, error: &std::io::Error) {
        let offset = self.offset;
        self.out.diag(&SKIPPED_RECORD, offset, || format!("compressed packets: {error}"));
    }

    /// What a packet says for those that follow on its sequence.
    fn bookkeeping(&mut self, packet: &Packet<'_>) {
        let id = packet.sequence;
        // The first packet of a sequence is always marked so, whether or not some were lost.
        if packet.after_loss && self.sequence(id).is_some() {
            let sequence = self.sequence_mut(id);
            (sequence.is_whole, sequence.has_lost) = (false, true);
        }
        if self.sequence(id).is_none() {
            self.sequence_mut(id);
        }
        if packet.state_cleared {
            let sequence = self.sequence_mut(id);
            let (clocks, has_lost) = (std::mem::take(&mut sequence.clocks), sequence.has_lost);
            *sequence = Sequence { is_whole: true, clocks, has_lost, ..Sequence::default() };
        }
        if let Some(interned) = packet.interned {
            self.sequence_mut(id).tables.learn(interned);
        }
    }

    /// The time of a packet, in nanoseconds of the trace's clock.
    fn time(&mut self, packet: &Packet<'_>) -> Option<u64> {
        let (stamp, id) = (packet.timestamp?, packet.sequence);
        let of_sequence = self.sequence(id).and_then(|sequence| sequence.clock);
        let clock = packet.clock.or(of_sequence).unwrap_or(BOOT_TIME);
        let time = if clocks::is_of_sequence(clock) {
            let clocks = self.sequence(id).map(|sequence| &sequence.clocks);
            let time = clocks.and_then(|clocks| clocks.time(clock, stamp));
            if clocks.is_some_and(|clocks| clocks.is_incremental(clock)) {
                self.sequence_mut(id).clocks.step(clock, stamp);
            }
            time
        } else {
            let is_default = packet.clock.or(of_sequence).is_none();
            self.memory.clocks.time(clock, stamp).or(is_default.then_some(stamp))
        };
        if time.is_none() && matches!(packet.payload, Payload::Event(_)) {
            self.out.diag(&UNKNOWN_CLOCK, self.offset, || {
                format!("no snapshot has clock {clock}: its times are not converted")
            });
        }
        time.or(Some(stamp)).map(|time| time.min(u64::MAX - 1))
    }

    fn snapshot(&mut self, snapshot: &[u8], id: u32) {
        let (readings, primary) = clocks::readings(snapshot);
        let is = |wanted: u32| readings.iter().find(|reading| reading.id == wanted);
        let known = readings.iter().find(|r| self.memory.clocks.by_trace(r).is_some());
        let reference = known.or(primary.and_then(is)).or(is(BOOT_TIME));
        let reference = reference.or(readings.iter().find(|r| !r.is_of_sequence()));
        let Some(reference) = reference.or(readings.first()) else { return };
        let time = self.memory.clocks.by_trace(reference);
        let time = time.unwrap_or_else(|| reference.nanoseconds());
        for reading in &readings {
            if reading.is_of_sequence() {
                self.sequence_mut(id).clocks.learn(reading, time);
            } else {
                self.changed = true;
                Arc::make_mut(&mut self.memory.clocks).learn(reading, time);
            }
        }
    }

    /// Takes an event of a track.
    fn event(&mut self, event: &[u8], packet: &Packet<'_>, time: Option<u64>) {
        self.out.records += 1;
        let Some(said) = Said::read(event) else {
            self.out.diag(&SKIPPED_RECORD, self.offset, || "an invalid event".into());
            return;
        };
        let time = self.stated_time(&said, packet.sequence).or(time);
        let Some(time) = time else {
            self.out.diag(&SKIPPED_RECORD, self.offset, || "an event without a time".into());
            return;
        };
        if self.sequence(packet.sequence).is_some_and(|sequence| sequence.has_lost) {
            self.sequence_mut(packet.sequence).has_lost = false;
            let lane = self.out.lane(LaneKey { cpu: None, thread: ThreadKey::Unstated });
            self.out.lost(self.at(lane, time), None);
        }
        let sequence = self.memory.sequences.get(&packet.sequence).cloned().unwrap_or_default();
        let name = match (said.name, said.name_id) {
            (Some(name), _) => Some(name),
            (None, Some(id)) => sequence.tables.events.get(&id).map(|name| &**name),
            (None, None) => None,
        };
        let missing = (name.is_none() && said.kind != Kind::End).then_some(said.name_id).flatten();
        if let Some(id) = missing {
            self.out.diag(&MISSING_NAME, self.offset, || format!("name {id} is not defined"));
        }
        let name = name.unwrap_or(b"unnamed");
        let track = said.track.or(sequence.track).unwrap_or(0);
        let lane = self.lane(track);
        let at = self.at(lane, time);
        match said.kind {
            Kind::Begin => {
                let name = self.func(name);
                self.out.enter(at, name, Stated::NOTHING);
            }
            Kind::End => self.out.exit(at, None, Stated::NOTHING),
            Kind::Complete => {
                let name = self.func(name);
                self.out.complete(at, name, said.length, None);
            }
            Kind::Instant => {
                let name = self.out.func(&String::from_utf8_lossy(name), FuncKind::Mark);
                self.out.instant(at, name);
            }
            Kind::Counter => self.not_read("it is the value of a counter"),
            Kind::Other => self.not_read("its phase is none of begin, end, complete and instant"),
        }
    }

    /// The time that an event states itself, in the older way.
    fn stated_time(&mut self, said: &Said<'_>, id: u32) -> Option<u64> {
        let microseconds = match said.microseconds_later {
            Some(later) => {
                let latest = &mut self.sequence_mut(id).microseconds;
                *latest = latest.saturating_add(later);
                *latest
            }
            // Those after it count from the event before it.
            None => said.microseconds?,
        };
        let stamp = u64::try_from(microseconds).ok()?.saturating_mul(1000);
        Some(self.memory.clocks.time(MONOTONIC, stamp).unwrap_or(stamp).min(u64::MAX - 1))
    }

    fn lane(&mut self, track: u64) -> LaneRef {
        if let Some(&lane) = self.lanes.get(&track) {
            return lane;
        }
        if !self.looks_ahead && !self.memory.tracks.is_settled(track) {
            self.changed = true;
            Arc::make_mut(&mut self.memory.tracks).settle(track);
        }
        let lane = self.out.lane(LaneKey { cpu: None, thread: self.memory.tracks.thread(track) });
        self.lanes.insert(track, lane);
        lane
    }
}
