//! Packets: where they are in a stream file, and what their headers say.

use std::io;
use std::ops::Range;

use super::decode::{Decoder, Stopped, Value, Visitor};
use super::types::{Metadata, Type};
use crate::files::ReadAt;

/// Bytes of a packet that its header and context may take.
const HEAD_MAX: usize = 4 << 10;

/// What the header and the context of a packet say.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Packet {
    /// The class of its stream.
    pub(super) class: u64,
    /// Bits until its content ends, and until the next packet begins.
    pub(super) content: Option<u64>,
    pub(super) size: Option<u64>,
    /// Ticks of the clock.
    pub(super) begin: Option<u64>,
    pub(super) cpu: Option<u32>,
    /// Events that the recorder has discarded in this file until this packet ended.
    pub(super) discarded: Option<u64>,
    pub(super) number: Option<u64>,
    /// Bits of the header and the context.
    pub(super) head: u64,
}

/// A packet and where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Placed {
    pub(super) range: Range<u64>,
    pub(super) packet: Packet,
    /// Whether packets or events are missing before it, and how many events, if that is known.
    pub(super) is_after_loss: bool,
    pub(super) lost_before: Option<u64>,
    /// Events that were discarded after its last one, because there was no space.
    pub(super) lost_after: u64,
}

/// Reads the header and the context of the packet at the start of `bytes`.
pub(super) fn read(metadata: &Metadata, bytes: &[u8]) -> Result<Packet, Stopped> {
    let mut decoder = Decoder::new(bytes, bytes.len() as u64 * 8);
    let mut packet = Packet::default();
    if let Some(header) = &metadata.packet_header {
        decoder.structure(header, 0, &mut Fields(&mut packet))?;
    }
    let class = metadata.stream(packet.class).or_else(|| metadata.streams.first());
    if let Some(class) = class {
        packet.class = class.id;
        if let Some(context) = &class.packet_context {
            decoder.structure(context, 0, &mut Fields(&mut packet))?;
        }
    }
    packet.head = decoder.at;
    Ok(packet)
}

struct Fields<'p>(&'p mut Packet);

impl<'a> Visitor<'a> for Fields<'_> {
    fn field(&mut self, name: &'a str, _of: &'a Type, value: Value<'a>, depth: usize) {
        let Some(number) = value.number().filter(|_| depth == 0) else { return };
        let packet = &mut *self.0;
        match name {
            "stream_id" => packet.class = number,
            "content_size" => packet.content = Some(number),
            "packet_size" => packet.size = Some(number),
            "timestamp_begin" => packet.begin = Some(number),
            "cpu_id" => packet.cpu = u32::try_from(number).ok(),
            "events_discarded" => packet.discarded = Some(number),
            "packet_seq_num" => packet.number = Some(number),
            _ => {}
        }
    }
}

/// All packets of a file, in order. One that cannot be read ends the list; its offset is returned.
pub(super) fn all(
    metadata: &Metadata,
    file: &dyn ReadAt,
) -> io::Result<(Vec<Placed>, Option<u64>)> {
    let (mut at, end) = (0, file.len());
    let mut packets: Vec<Placed> = Vec::new();
    while at < end {
        let head = file.bytes_at(at, HEAD_MAX)?;
        let Ok(packet) = read(metadata, &head) else { return Ok((packets, Some(at))) };
        let bytes = packet.size.or(packet.content).map_or(end - at, |bits| bits.div_ceil(8));
        if bytes == 0 {
            return Ok((packets, Some(at)));
        }
        let (mut is_after_loss, mut lost_before, mut lost_after) = (false, None, 0);
        let discarded = packet.discarded.unwrap_or(0);
        match packets.last().map(|before| before.packet) {
            Some(before) => {
                let step = packet.number.zip(before.number);
                is_after_loss = step.is_some_and(|(this, before)| this > before.saturating_add(1));
                // The counter is that of the end of the packet: a full buffer is closed when there is
                // space for another one, and what comes until then is discarded.
                lost_after = discarded.saturating_sub(before.discarded.unwrap_or(0));
            }
            // The counter includes what was discarded with packets that are not in the file.
            None if packet.number.is_some_and(|number| number > 0) => {
                is_after_loss = discarded > 0;
                lost_before = Some(discarded);
            }
            None => lost_after = discarded,
        }
        let range = at..(at + bytes).min(end);
        packets.push(Placed { range, packet, is_after_loss, lost_before, lost_after });
        at += bytes;
    }
    Ok((packets, None))
}
