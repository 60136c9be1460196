//! The events of a packet, one by one.

use super::decode::{Decoder, Stopped, Value, Visitor};
use super::packet::Packet;
use super::types::{EventClass, Integer, Metadata, StreamClass, Type};
use crate::bytes::low_bits;
use crate::lttng::Part;

/// An event.
#[derive(Clone, Debug)]
pub(super) struct Event<'a> {
    /// Its row in the metadata.
    pub(super) row: usize,
    /// Raw ticks of the clock, unfolded.
    pub(super) time: u64,
    /// Bits from the start of the packet.
    pub(super) at: u64,
    /// Fields of the contexts, then those of the event; only outermost ones.
    pub(super) fields: Vec<Field<'a>>,
    /// How many of them are of contexts.
    pub(super) contexts: usize,
}

/// A field and its value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Field<'a> {
    /// Without the underscore that LTTng puts before names.
    pub(super) name: &'a str,
    pub(super) of: &'a Type,
    pub(super) value: Value<'a>,
}

impl<'a> Event<'a> {
    fn empty() -> Self {
        Self { row: 0, time: 0, at: 0, fields: Vec::new(), contexts: 0 }
    }

    /// The value of the field of that name.
    #[inline]
    pub(super) fn get(&self, part: Part, name: &str) -> Option<Value<'a>> {
        let (contexts, own) = self.fields.split_at(self.contexts);
        let find = |fields: &[Field<'a>]| {
            fields.iter().find(|field| field.name == name).map(|field| field.value)
        };
        match part {
            Part::Own => find(own),
            Part::Context => find(contexts),
            Part::Any => find(own).or_else(|| find(contexts)),
        }
    }

    /// The event's own fields as `name = value`, with a comma between.
    pub(super) fn detail(&self) -> String {
        let own = &self.fields[self.contexts..];
        let shown = own.iter().filter(|field| field.value != Value::Other);
        let shown: Vec<String> =
            shown.map(|field| format!("{} = {}", field.name, show(field))).collect();
        shown.join(", ")
    }
}

/// A value as babeltrace2 prints it.
pub(super) fn show(field: &Field<'_>) -> String {
    let hexadecimal = matches!(field.of, Type::Integer(Integer { base: 16, .. }));
    match (field.value, field.of) {
        (Value::Text(text), _) => format!("\"{}\"", String::from_utf8_lossy(text)),
        (Value::Float(float), _) => float.to_string(),
        (Value::Other, _) => "...".into(),
        (Value::Unsigned(number), _) if hexadecimal => format!("0x{number:X}"),
        (Value::Signed(number), Type::Integer(of)) if hexadecimal => {
            format!("0x{:X}", number.cast_unsigned() & low_bits(of.bits))
        }
        (Value::Unsigned(number), Type::Enum(of)) => match of.label(number.into()) {
            Some(label) => format!("( \"{label}\" : container = {number} )"),
            None => format!("( <unknown> : container = {number} )"),
        },
        (Value::Unsigned(number), _) => number.to_string(),
        (Value::Signed(number), _) => number.to_string(),
    }
}

/// Keeps outermost fields.
struct Outermost<'a, 'e>(&'e mut Vec<Field<'a>>);

impl<'a> Visitor<'a> for Outermost<'a, '_> {
    fn field(&mut self, name: &'a str, of: &'a Type, value: Value<'a>, depth: usize) {
        if depth == 0 {
            let name = name.strip_prefix('_').unwrap_or(name);
            self.0.push(Field { name, of, value });
        }
    }
}

/// Keeps what the header of an event says of its clock.
#[derive(Default)]
struct Stamp {
    value: Option<(u64, u32)>,
}

impl<'a> Visitor<'a> for Stamp {
    fn field(&mut self, name: &'a str, of: &'a Type, value: Value<'a>, _depth: usize) {
        let Type::Integer(integer) = of else { return };
        if (integer.is_clock || name == "timestamp")
            && let Some(number) = value.number()
        {
            self.value = Some((number, integer.bits));
        }
    }
}

/// Reads the events of a packet. Says what was wrong if it stopped before the end.
pub(super) fn each<'a>(
    metadata: &'a Metadata,
    packet: &Packet,
    bytes: &'a [u8],
    mut take: impl FnMut(&Event<'a>),
) -> Result<(), String> {
    let Some(class) = metadata.stream(packet.class).or_else(|| metadata.streams.first()) else {
        return Err(format!("no class of streams {}", packet.class));
    };
    let content = packet.content.or(packet.size).unwrap_or(bytes.len() as u64 * 8);
    let mut decoder = Decoder::new(bytes, bytes.len() as u64 * 8);
    decoder.limit(content);
    decoder.at = packet.head;
    let mut clock = packet.begin.unwrap_or(0);
    let mut event = Event::empty();
    while !decoder.is_done() {
        let start = decoder.at;
        match one(metadata, class, &mut decoder, &mut clock, &mut event) {
            Ok(()) => take(&event),
            Err(Stop::Unknown(id)) => return Err(format!("an event with the unknown id {id}")),
            // What is left is too short for an event: padding, or the end of a file that was cut.
            Err(Stop::Stopped) => {
                let is_cut = (bytes.len() as u64 * 8) < content;
                let left = decoder_left(content, start);
                return match left {
                    _ if is_cut => Err("the packet is truncated".into()),
                    0..64 => Ok(()),
                    _ => Err(format!("{} bytes that are not an event", left / 8)),
                };
            }
        }
    }
    Ok(())
}

fn decoder_left(content: u64, start: u64) -> u64 {
    content.saturating_sub(start)
}

enum Stop {
    Stopped,
    Unknown(u64),
}

impl From<Stopped> for Stop {
    fn from(_: Stopped) -> Self {
        Self::Stopped
    }
}

fn one<'a>(
    metadata: &'a Metadata,
    class: &'a StreamClass,
    decoder: &mut Decoder<'a>,
    clock: &mut u64,
    event: &mut Event<'a>,
) -> Result<(), Stop> {
    decoder.forget();
    let mut stamp = Stamp::default();
    if let Some(header) = &class.event_header {
        decoder.align(header.align)?;
        event.at = decoder.at;
        decoder.structure(header, 0, &mut stamp)?;
    } else {
        event.at = decoder.at;
    }
    if let Some((value, bits)) = stamp.value {
        *clock = unfolded(*clock, value, bits);
    }
    let id = decoder.latest("id").unwrap_or(0);
    let is_it = |known: &EventClass| known.stream == class.id && known.id == id;
    // Ids are mostly rows.
    let guess = metadata.events.get(id as usize).is_some_and(is_it).then_some(id as usize);
    let row = guess.or_else(|| metadata.events.iter().position(is_it)).ok_or(Stop::Unknown(id))?;
    let found = &metadata.events[row];
    event.row = row;
    event.time = *clock;
    event.fields.clear();
    for context in [&class.event_context, &found.context].into_iter().flatten() {
        decoder.structure(context, 0, &mut Outermost(&mut event.fields))?;
    }
    event.contexts = event.fields.len();
    if let Some(fields) = &found.fields {
        decoder.structure(fields, 0, &mut Outermost(&mut event.fields))?;
    }
    Ok(())
}

/// The full value of a clock of which an event carries the lowest `bits` bits: the first one from
/// `before` on that ends so.
pub(super) fn unfolded(before: u64, value: u64, bits: u32) -> u64 {
    if bits >= u64::BITS {
        return value;
    }
    let mask = low_bits(bits);
    let value = value & mask;
    let high = before & !mask;
    if value >= before & mask { high | value } else { (high | value).wrapping_add(mask + 1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_clocks_are_unfolded() {
        assert_eq!(unfolded(0x1_00ff, 0x00, 8), 0x1_0100);
        assert_eq!(unfolded(0x1_00fe, 0xff, 8), 0x1_00ff);
        assert_eq!(unfolded(0x1_00fe, 0xfe, 8), 0x1_00fe);
        assert_eq!(unfolded(5, 77, 64), 77);
        assert_eq!(unfolded(u64::MAX, 0, 27), 0);
    }
}
