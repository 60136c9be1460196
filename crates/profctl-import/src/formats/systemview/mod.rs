//! Recordings of SEGGER SystemView (`.SVDat`): tasks, interrupts, user markers and API calls of an
//! embedded system.
//!
//! Written after SEGGER's target sources and Espressif's reader. Names come in packets of their
//! own, some after what they name, so a recording is gone through twice: for names, then for
//! events.

use profctl_model::{TickUnit, Ticks, Timebase, Timeline};

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::files::Files;

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
    recognized: "a head of `;` lines that name SystemView, or its synchronisation bytes",
};

/// Packets behind the synchronisation that must make sense.
const PACKETS_SURE: usize = 2;

impl Importer for Recording {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let head = probe.head;
        let Some(start) = packet::start(head) else { return Recognition::No };
        if memchr::memmem::find(&head[..start], b"SystemView").is_some() {
            return Recognition::Yes("a head that names SystemView".into());
        }
        // Bare bytes from the target begin with a start of the trace and its clock.
        let mut packets = Packets::new(head).filter(|packet| !matches!(packet, Packet::Nop));
        let begins = packets.by_ref().take(PACKETS_SURE).all(|packet| match packet {
            Packet::Said(said) => matches!(said.id, packet::TRACE_START | packet::INIT),
            Packet::Nop | Packet::Skipped { .. } | Packet::Cut { .. } => false,
        });
        let follow = packets.next().is_some();
        if start == 0 && begins && follow {
            return Recognition::Yes("synchronisation bytes, a start and a clock".into());
        }
        Recognition::No
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = &*super::all_bytes(files)?;
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
        Ok(Opened::records(
            Timebase { unit, resolution: Ticks(1), timeline: Timeline::Recorded },
            Box::new(events::Whole),
        )
        .with_facts(facts)
        .in_one_block())
    }
}
