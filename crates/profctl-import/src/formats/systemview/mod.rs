//! Recordings of SEGGER SystemView (`.SVDat`): tasks, interrupts, user markers and API calls of an
//! embedded system.
//!
//! Written after SEGGER's target sources and Espressif's reader. Names come in packets of their
//! own, some after what they name, so a recording is gone through twice: for names, then for
//! events.

use std::sync::Arc;

use profctl_model::TickUnit;

use super::{Descriptor, ImportError, ImportOptions, Importer, Input, Opened, Probe, Recognition};
use crate::files::{FileId, Files, InOrder};

mod events;
mod names;
mod packet;
#[cfg(test)]
mod tests;

use packet::{Packet, Packets};

/// The importer of `systemview`.
pub struct Recording;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "systemview",
    about: "SEGGER SystemView recording: tasks, interrupts, markers, API calls",
    recognized: "header lines with `;` that name SystemView, or its synchronization bytes",
    extensions: &[".SVDat"],
    ..Descriptor::PLAIN
};

/// Packets after the synchronization that must make sense.
const PACKETS_SURE: usize = 2;

impl Importer for Recording {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let head = probe.head;
        let Some(start) = packet::start(head) else { return Recognition::No };
        if memchr::memmem::find(&head[..start], b"SystemView").is_some() {
            return Recognition::Yes("a header that names SystemView".into());
        }
        // Bare bytes from the target begin with a start of the trace and its clock.
        let mut input = Input::new(Box::new(head), None);
        let mut packets = Packets::new(head, &mut input);
        let mut first = Vec::new();
        while first.len() <= PACKETS_SURE
            && let Some((packet, length)) = packets.next(&mut input)
        {
            match packet {
                Packet::Nop => {}
                Packet::Said(said) => first.push(said.id),
                Packet::Nonsense | Packet::Cut => first.push(0),
            }
            input.consume(length);
        }
        let begins = |id: &u32| matches!(*id, packet::TRACE_START | packet::INIT);
        if start == 0 && first.len() > PACKETS_SURE && first[..PACKETS_SURE].iter().all(begins) {
            return Recognition::Yes("synchronization bytes, a start and a clock".into());
        }
        Recognition::No
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = super::head(files)?.bytes;
        if packet::start(&head).is_none() {
            return Err(ImportError::whole(
                "no synchronization, expected ten zero bytes after the header",
            ));
        }
        let file = files.open_at(FileId(0)).map_err(|error| super::unreadable(&error))?;
        let names = names::read(&head, Box::new(InOrder::new(file)));
        let unit = match (options.capture.clock, names.frequency) {
            (Some(clock), _) => clock,
            (None, Some(frequency)) => TickUnit::Seconds { numerator: 1, denominator: frequency },
            (None, None) => TickUnit::Cycles,
        };
        let system = names.system.clone();
        let mut facts =
            vec![("cores", if packet::has_cores(&head) { "two" } else { "one" }.into())];
        facts.extend(system.map(|system| ("system", system)));
        Ok(Opened::in_turn(
            super::recorded(unit),
            Box::new(events::Recording { head, names: Arc::new(names) }),
        )
        .with_facts(facts))
    }
}
