//! Packets to events.

use std::io::Read;

use profctl_model::FuncKind;
use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};

use super::packet::{Action, Packet, Packets};
use super::{DELAYED, NO_TIMES, Ports, tpiu};
use crate::emit::{At, Emitter, LaneKey, LaneRef, NameRef, TagKind, ThreadKey};
use crate::formats::{InTurn, Input};
use crate::tags::Tags;

/// Exceptions that have a name; those from 16 on are the interrupts of the chip.
const EXCEPTIONS: [(u32, &str); 10] = [
    (1, "Reset"),
    (2, "NMI"),
    (3, "HardFault"),
    (4, "MemManage"),
    (5, "BusFault"),
    (6, "UsageFault"),
    (11, "SVCall"),
    (12, "DebugMonitor"),
    (14, "PendSV"),
    (15, "SysTick"),
];
/// The first interrupt of the chip.
const FIRST_OF_CHIP: u32 = 16;
/// No packet is longer, bytes, but for the zeros of a synchronization.
const PACKET_MAX: usize = 16;
/// Zeros that are looked at together.
const ZEROS_MAX: usize = 1 << 16;
/// So many events wait for a timestamp; more get the latest one there is.
const UNTIMED_MAX: usize = 1 << 16;
/// Exceptions that are open at most: there are not more of them.
const OPEN_MAX: usize = 512;

/// Reads a stream as a whole.
pub(super) struct Stream {
    pub(super) is_framed: bool,
    pub(super) ports: Ports,
    pub(super) tags: Tags,
}

/// How far reading came.
struct Progress {
    lane: LaneRef,
    time: u64,
    /// What waits for its timestamp, each with its place.
    untimed: Vec<(usize, Waiting)>,
    /// Exceptions that were entered, the innermost last.
    open: Vec<u32>,
}

/// What a packet said.
#[derive(Clone, Copy)]
enum Waiting {
    Tag(TagKind, NameRef),
    Lost,
}

impl Progress {
    fn say(&mut self, offset: usize, kind: TagKind, name: NameRef) {
        self.untimed.push((offset, Waiting::Tag(kind, name)));
    }

    /// Emits what waited: it happened now.
    fn settle(&mut self, out: &mut Emitter) {
        for (offset, waiting) in self.untimed.drain(..) {
            let at = At { time: Some(self.time), lane: self.lane, offset };
            match waiting {
                Waiting::Tag(kind, name) => out.tag(at, name, kind),
                Waiting::Lost => out.lost(at, None),
            }
        }
    }
}

impl InTurn for Stream {
    fn fork(&self) -> Box<dyn InTurn> {
        let (ports, tags) = (self.ports.clone(), self.tags.fork());
        Box::new(Self { is_framed: self.is_framed, ports, tags })
    }

    fn wrap<'a>(&self, file: Box<dyn Read + Send + 'a>) -> Box<dyn Read + Send + 'a> {
        if self.is_framed { Box::new(tpiu::Unframed::new(file)) } else { file }
    }

    fn read(&mut self, input: &mut Input<'_>, out: &mut Emitter) {
        let lane = out.lane(LaneKey { cpu: None, thread: ThreadKey::Unstated });
        let mut progress = Progress { lane, time: 0, untimed: Vec::new(), open: Vec::new() };
        let mut packets = Packets::default();
        let mut has_times = false;
        let mut wanted = PACKET_MAX;
        loop {
            let offset = input.offset();
            let rest = input.fill(wanted);
            if rest.is_empty() {
                break;
            }
            let (packet, length) = packets.packet(rest);
            if packet == Packet::Cut && rest.len() >= wanted {
                // Zeros without an end: how many there are beyond a few tells nothing.
                wanted *= 2;
                if wanted > ZEROS_MAX {
                    input.consume(ZEROS_MAX / 2);
                    wanted = PACKET_MAX;
                }
                continue;
            }
            wanted = PACKET_MAX;
            out.records += 1;
            has_times |= matches!(packet, Packet::Time { .. });
            self.take(packet, offset, &mut progress, out);
            input.consume(length);
            if progress.untimed.len() > UNTIMED_MAX {
                progress.settle(out);
            }
            if progress.untimed.is_empty() {
                input.hand_on(out);
            }
        }
        if !has_times && !progress.untimed.is_empty() {
            out.diag(&NO_TIMES, 0, || "no local timestamp in the stream".into());
            progress.settle(out);
        } else if let Some(&(offset, _)) = progress.untimed.first() {
            let untimed = progress.untimed.len();
            out.diag(&CUT_RECORD, offset, || format!("{untimed} events without a timestamp"));
        }
    }
}

impl Stream {
    fn take(&mut self, packet: Packet, offset: usize, progress: &mut Progress, out: &mut Emitter) {
        match packet {
            Packet::Synchronized | Packet::Other => {}
            Packet::Time { delta, waited } => {
                progress.time = progress.time.saturating_add(delta.into());
                progress.settle(out);
                if waited {
                    out.diag(&DELAYED, offset, || "a timestamp or its events were delayed".into());
                }
            }
            Packet::Overflow => {
                progress.open.clear();
                progress.untimed.push((offset, Waiting::Lost));
            }
            Packet::Write { port, value } => {
                if self.ports.include(port) {
                    let (kind, name) = self.tags.meaning(value, offset, out);
                    progress.say(offset, kind, name);
                }
            }
            Packet::Exception { number, action } => {
                exception(number, action, offset, progress, out);
            }
            Packet::Reserved(byte) => out.diag(&SKIPPED_RECORD, offset, || {
                format!("found {byte:#04x}, expected a packet header")
            }),
            Packet::Cut => out.diag(&CUT_RECORD, offset, || "the last packet is truncated".into()),
        }
    }
}

fn exception(
    number: u32,
    action: Action,
    offset: usize,
    progress: &mut Progress,
    out: &mut Emitter,
) {
    match action {
        Action::Entered => {
            progress.say(offset, TagKind::ENTER, name(number, out));
            if progress.open.len() < OPEN_MAX {
                progress.open.push(number);
            }
        }
        Action::Exited => {
            if let Some(at) = progress.open.iter().rposition(|&open| open == number) {
                progress.open.truncate(at);
            }
            progress.say(offset, TagKind::EXIT, name(number, out));
        }
        // Whatever is open within it has ended, though its exit was not recorded.
        Action::Returned => {
            let kept = progress.open.iter().rposition(|&open| open == number);
            if number != 0 && kept.is_none() {
                return;
            }
            while progress.open.len() > kept.map_or(0, |at| at + 1) {
                let Some(left) = progress.open.pop() else { return };
                progress.say(offset, TagKind::EXIT, name(left, out));
            }
        }
    }
}

fn name(number: u32, out: &mut Emitter) -> NameRef {
    let known = EXCEPTIONS.iter().find(|(known, _)| *known == number);
    match known {
        Some((_, name)) => out.func(name, FuncKind::Interrupt),
        None if number >= FIRST_OF_CHIP => {
            out.func(&format!("IRQ{}", number - FIRST_OF_CHIP), FuncKind::Interrupt)
        }
        None => out.func(&format!("exception {number}"), FuncKind::Interrupt),
    }
}
