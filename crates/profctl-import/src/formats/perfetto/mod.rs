//! Perfetto traces: the events of tracks as Perfetto's SDK, Chrome, Android and Renode write them,
//! calls of Linux functions and its scheduler.
//!
//! Written after the `.proto` files that Perfetto publishes. Packets refer to earlier state (names,
//! tracks, clocks, defaults), which is the state of the reader. A file is packets and nothing else,
//! so that two of them may be joined by `cat`.

use std::sync::Arc;

use profctl_model::{Code, Severity, Timebase};

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::emit::Emitter;
use crate::files::Files;
use crate::sort::Order;

mod clocks;
mod event;
mod ftrace;
mod layered;
mod marks;
mod memory;
mod packet;
mod read;
mod reading;
#[cfg(test)]
mod recordings;
#[cfg(test)]
mod tests;
mod wire;

use memory::Memory;
use packet::{Item, Packet};

/// The importer of `perfetto`.
pub struct Packets;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "perfetto",
    about: "Perfetto trace: events of tracks, calls of Linux functions",
    recognized: "a sequence of valid TracePackets",
    extensions: &[".perfetto-trace", ".pftrace"],
    codes: &[&NOT_READ, &NO_STATE, &MISSING_NAME, &UNKNOWN_CLOCK],
};

/// Packets that hold no calls.
pub static NOT_READ: Code = Code {
    name: "perfetto/not-read",
    severity: Severity::Info,
    help: "a packet has no calls (a counter, a sample, statistics) and is not read",
};
/// Packets that refer to lost ones.
pub static NO_STATE: Code = Code {
    name: "perfetto/no-state",
    severity: Severity::DataLoss,
    help: "a packet refers to an earlier one that was lost, and was skipped: use a larger \
           buffer, or clear the incremental state more often",
};
/// Missing names.
pub static MISSING_NAME: Code = Code {
    name: "perfetto/missing-name",
    severity: Severity::Warning,
    help: "an event refers to an interned name that no packet defines: it is named `unnamed`",
};
/// Clocks that cannot be converted.
pub static UNKNOWN_CLOCK: Code = Code {
    name: "perfetto/unknown-clock",
    severity: Severity::Warning,
    help: "a timestamp is in a clock that no snapshot relates to the clock of the trace: it was \
           not converted and may be wrong",
};

/// Packets that must make sense, as far as there are so many.
const PACKETS_SURE: usize = 8;

impl Importer for Packets {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let Probe { head, whole, .. } = *probe;
        let (mut at, mut n, mut is_known) = (0, 0, false);
        while at < head.len() && n < PACKETS_SURE {
            match packet::item(&head[at..]) {
                (Item::Packet(bytes), length) => {
                    let Some(packet) = Packet::read(bytes) else { return Recognition::No };
                    is_known |= packet.is_known();
                    (at, n) = (at + length, n + 1);
                }
                (Item::Cut, _) if n > 0 => break,
                (Item::Cut | Item::Stray, _) => return Recognition::No,
            }
        }
        // One packet in a long file could be chance.
        if is_known && (n > 1 || whole) {
            return Recognition::Yes(format!("{n} packets of Perfetto at its head"));
        }
        Recognition::No
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = super::head(files)?;
        let head = &*head.bytes;
        if head.first() != Some(&packet::TAG) {
            return Err(ImportError {
                offset: Some(0),
                line: None,
                message: "found no packet, expected the byte 0x0a and a length".into(),
            });
        }
        // Buffers are flushed when they are full, so packets stand nearly in order.
        let order = match options.dialect.as_deref() {
            None | Some("sorted") => Order::Nearly,
            Some("unsorted") => Order::Any,
            Some(other) => {
                let message = format!("found dialect `{other}`, expected sorted or unsorted");
                return Err(ImportError::whole(message));
            }
        };
        // Descriptors of tracks may be after the first events that need them.
        let mut ignored = Emitter::default();
        let mut reading = reading::Reading::new(Memory::default(), &mut ignored);
        reading.looks_ahead = true;
        reading.block(&head[..packet::boundary(head)]);
        let Memory { tracks, kernel, .. } = reading.memory;
        let mut opened =
            Opened::records(Timebase::NANOSECONDS, Box::new(read::PacketReader { order }));
        opened.quirks.exits_may_be_late = kernel.has_graph;
        Ok(opened.with_state(Arc::new(Memory { tracks, ..Memory::default() })))
    }
}
