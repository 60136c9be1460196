//! Recordings of SEGGER SystemView (`.SVDat`): tasks, interrupts, user markers and API calls of an
//! embedded system.
//!
//! Written after SEGGER's target sources and Espressif's reader. Names come in packets of their
//! own, some after what they name, so a recording is gone through twice: for names, then for
//! events.

use std::sync::Arc;

use profctl_model::{TickUnit, Ticks, Timebase, Timeline};

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Verdict};

mod events;
mod names;
mod packet;
#[cfg(test)]
mod tests;

use packet::{Packet, Packets};

/// See the module.
pub struct Recording;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "systemview",
    about: "SEGGER SystemView recording: tasks, interrupts, markers, API calls",
    recognised: "a head of `;` lines that name SystemView, or its synchronisation bytes",
};

/// Packets behind the synchronisation that must make sense.
const PACKETS_SURE: usize = 2;

impl Importer for Recording {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, head: &[u8], _whole: bool) -> Verdict {
        let Some(start) = packet::start(head) else { return Verdict::No };
        if memchr::memmem::find(&head[..start], b"SystemView").is_some() {
            return Verdict::Yes("a head that names SystemView".into());
        }
        // Bare bytes from the target begin with a start of the trace and its clock.
        let mut packets = Packets::new(head).filter(|packet| !matches!(packet, Packet::Nop));
        let begins = packets.by_ref().take(PACKETS_SURE).all(|packet| match packet {
            Packet::Event(event) => matches!(event.id, packet::TRACE_START | packet::INIT),
            Packet::Nop | Packet::Skipped { .. } | Packet::Cut { .. } => false,
        });
        let follow = packets.next().is_some();
        if start == 0 && begins && follow {
            return Verdict::Yes("synchronisation bytes, a start and a clock".into());
        }
        Verdict::No
    }

    fn open(&self, head: &[u8], options: &ImportOptions) -> Result<Opened, ImportError> {
        if packet::start(head).is_none() {
            return Err(ImportError::whole(
                "no synchronisation, expected ten zero bytes behind the head",
            ));
        }
        let names = names::read(head);
        let unit = match (options.capture.clock, names.frequency) {
            (Some(clock), _) => clock,
            (None, Some(frequency)) => TickUnit::Seconds { numerator: 1, denominator: frequency },
            (None, None) => TickUnit::Cycles,
        };
        let mut facts = vec![("cores", if packet::has_cores(head) { "two" } else { "one" }.into())];
        facts.extend(names.system.map(|system| ("system", system)));
        Ok(Opened {
            timebase: Timebase { unit, resolution: Ticks(1), timeline: Timeline::Recorded },
            counter_bits: None,
            has_lines: false,
            leaf_ends_are_stamps: true,
            exits_may_be_late: false,
            whole: true,
            initial: Vec::new(),
            facts,
            reader: Box::new(events::Whole),
            state: Arc::new(()),
        })
    }
}
