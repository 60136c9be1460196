//! The events of a packet, one by one.

use std::cell::Cell;

use super::decode::{Decoder, Stopped, Value, Visitor};
use super::header::Header;
use super::packet::Packet;
use super::types::{EventClass, Integer, Metadata, StreamClass, Struct, Type};
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
    found: [Cell<Found>; FOUND],
}

/// Names of fields that are remembered; a power of two.
const FOUND: usize = 64;

/// Where the field of a name is among those of an event, which is the same for all of its class.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// The address and the length of the name, which is a constant of the program.
    name: (usize, usize),
    row: usize,
    part: Part,
    at: Option<u32>,
}

impl Found {
    const NONE: Self = Self { name: (0, 0), row: 0, part: Part::Any, at: None };
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
        let found = [const { Cell::new(Found::NONE) }; FOUND];
        Self { row: 0, time: 0, at: 0, fields: Vec::new(), contexts: 0, found }
    }

    /// The value of the field of that name.
    #[inline]
    pub(super) fn get(&self, part: Part, name: &'static str) -> Option<Value<'a>> {
        let key = (name.as_ptr().addr(), name.len());
        let cell = &self.found[(key.0 ^ key.0 >> 6 ^ self.row ^ part as usize) % FOUND];
        let mut found = cell.get();
        if found.name != key || found.row != self.row || found.part != part {
            found = Found { name: key, row: self.row, part, at: self.find(part, name) };
            cell.set(found);
        }
        Some(self.fields.get(found.at? as usize)?.value)
    }

    #[inline(never)]
    fn find(&self, part: Part, name: &str) -> Option<u32> {
        let find = |from: usize, to: usize| {
            let at = self.fields[from..to].iter().position(|field| field.name == name)?;
            u32::try_from(from + at).ok()
        };
        let (contexts, all) = (self.contexts, self.fields.len());
        match part {
            Part::Own => find(contexts, all),
            Part::Context => find(0, contexts),
            Part::Any => find(contexts, all).or_else(|| find(0, contexts)),
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
            self.0.push(Field { name: plain(name), of, value });
        }
    }
}

/// A name without the underscore that LTTng puts before it.
#[inline]
fn plain(name: &str) -> &str {
    name.strip_prefix('_').unwrap_or(name)
}

/// Keeps what the header of an event says of its clock.
#[derive(Default)]
struct Stamp {
    value: Option<(u64, u32)>,
}

impl<'a> Visitor<'a> for Stamp {
    fn field(&mut self, name: &'a str, of: &'a Type, value: Value<'a>, _depth: usize) {
        if let Some(bits) = of.clock_bits(name)
            && let Some(number) = value.number()
        {
            self.value = Some((number, bits));
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
    let header = Header::of(class);
    let mut clock = packet.begin.unwrap_or(0);
    let mut event = Event::empty();
    while !decoder.is_done() {
        let start = decoder.at;
        match one(metadata, (class, header.as_ref()), &mut decoder, &mut clock, &mut event) {
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
    (class, header): (&'a StreamClass, Option<&Header<'a>>),
    decoder: &mut Decoder<'a>,
    clock: &mut u64,
    event: &mut Event<'a>,
) -> Result<(), Stop> {
    if let Some(header) = header {
        let start = decoder.at;
        let (at, stamp, id) = header.read(decoder)?;
        let row = row_of(metadata, class, id)?;
        let found = &metadata.events[row];
        let parts = [&class.event_context, &found.context, &found.fields].map(Option::as_deref);
        if parts.iter().flatten().all(|part| part.is_simple) {
            event.begin(row, at, clock, stamp);
            for part in parts[..2].iter().flatten() {
                event.simple(part, decoder)?;
            }
            event.contexts = event.fields.len();
            if let Some(fields) = parts[2] {
                event.simple(fields, decoder)?;
            }
            return Ok(());
        }
        // Its fields may refer to those of the header.
        decoder.at = start;
    }
    decoder.forget();
    let mut stamp = Stamp::default();
    let mut at = decoder.at;
    if let Some(header) = &class.event_header {
        decoder.align(header.align)?;
        at = decoder.at;
        decoder.structure(header, 0, &mut stamp)?;
    }
    let row = row_of(metadata, class, decoder.latest("id").unwrap_or(0))?;
    let found = &metadata.events[row];
    event.begin(row, at, clock, stamp.value);
    for context in [&class.event_context, &found.context].into_iter().flatten() {
        decoder.structure(context, 0, &mut Outermost(&mut event.fields))?;
    }
    event.contexts = event.fields.len();
    if let Some(fields) = &found.fields {
        decoder.structure(fields, 0, &mut Outermost(&mut event.fields))?;
    }
    Ok(())
}

/// The row of the event of that id.
#[inline]
fn row_of(metadata: &Metadata, class: &StreamClass, id: u64) -> Result<usize, Stop> {
    let is_it = |known: &EventClass| known.stream == class.id && known.id == id;
    // Ids are mostly rows.
    let guess = metadata.events.get(id as usize).is_some_and(is_it).then_some(id as usize);
    guess.or_else(|| metadata.events.iter().position(is_it)).ok_or(Stop::Unknown(id))
}

impl<'a> Event<'a> {
    /// An event of that class, whose header carries `stamp` of so many bits.
    fn begin(&mut self, row: usize, at: u64, clock: &mut u64, stamp: Option<(u64, u32)>) {
        if let Some((value, bits)) = stamp {
            *clock = unfolded(*clock, value, bits);
        }
        (self.row, self.time, self.at) = (row, *clock, at);
        self.fields.clear();
    }

    /// Reads a structure that is simple.
    #[inline]
    fn simple(&mut self, of: &'a Struct, decoder: &mut Decoder<'a>) -> Result<(), Stopped> {
        decoder.align(of.align)?;
        for (name, of) in &of.fields {
            let value = decoder.simple(of)?;
            self.fields.push(Field { name: plain(name), of, value });
        }
        Ok(())
    }
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
    use proptest::prelude::*;

    use super::*;
    use crate::formats::ctf::parse;

    /// LTTng's two headers, one of plain numbers, and an event that refers to its own fields.
    const HEADERS: [&str; 3] = [
        "struct { enum : integer { size = 5; align = 1; } { compact = 0 ... 30, extended = 31 } id;
            variant <id> {
                struct { integer { size = 27; align = 1; map = clock.c.value; } timestamp; } compact;
                struct { integer { size = 32; align = 8; } id;
                    integer { size = 64; align = 8; map = clock.c.value; } timestamp; } extended;
            } v; } align(8)",
        "struct { enum : integer { size = 16; align = 8; } { compact = 0 ... 65534, extended = 65535 } id;
            variant <id> {
                struct { integer { size = 32; align = 8; map = clock.c.value; } timestamp; } compact;
                struct { integer { size = 32; align = 8; } id;
                    integer { size = 64; align = 8; map = clock.c.value; } timestamp; } extended;
            } v; } align(8)",
        "struct { integer { size = 3; align = 1; } id; integer { size = 13; align = 1; } timestamp; }",
    ];

    fn metadata(header: &str, order: &str) -> Metadata {
        let event = |id: u32, fields: &str| {
            format!(
                "event {{ name = \"e{id}\"; id = {id}; stream_id = 0; fields := struct {{ {fields} }}; }};"
            )
        };
        let byte = "integer { size = 8; align = 8; }";
        let events = [
            event(0, &format!("{byte} _a; integer {{ size = 7; align = 1; signed = true; }} _b;")),
            event(1, &format!("integer {{ size = 64; align = 32; }} long; {byte} last;")),
            event(2, &format!("{byte} _n; {byte} list[_n]; string text;")),
            event(3, "integer { size = 8; align = 8; encoding = UTF8; } comm[5]; string text;"),
        ];
        let text = format!(
            "/* CTF 1.8 */ trace {{ major = 1; minor = 8; byte_order = {order}; }};
             clock {{ name = \"c\"; freq = 1000000000; }};
             stream {{ id = 0; event.header := {header};
                 event.context := struct {{ integer {{ size = 16; align = 16; }} _vtid; }}; }};
             {}",
            events.concat()
        );
        parse::metadata(text.as_bytes()).expect("it is valid")
    }

    type Row = (usize, u64, u64, usize, Vec<(String, String)>);

    fn all(metadata: &Metadata, bytes: &[u8], header: Option<&Header<'_>>) -> (Vec<Row>, bool) {
        let mut decoder = Decoder::new(bytes, bytes.len() as u64 * 8);
        let (mut clock, mut event) = (7, Event::empty());
        let mut rows = Vec::new();
        while !decoder.is_done() {
            let class = (&metadata.streams[0], header);
            if one(metadata, class, &mut decoder, &mut clock, &mut event).is_err() {
                return (rows, false);
            }
            let shown = |field: &Field<'_>| (field.name.to_owned(), show(field));
            let fields = event.fields.iter().map(shown).collect();
            for name in ["vtid", "a", "last", "text"] {
                let by_name = event.fields.iter().find(|field| field.name == name);
                let found = event.get(Part::Any, name);
                assert_eq!(
                    found.map(|it| format!("{it:?}")),
                    by_name.map(|it| format!("{:?}", it.value))
                );
            }
            rows.push((event.row, event.time, event.at, event.contexts, fields));
        }
        (rows, true)
    }

    proptest! {
        #[test]
        fn usual_headers_say_what_the_metadata_says(
            header in 0..HEADERS.len(),
            is_big in any::<bool>(),
            // Small numbers are ids that exist.
            bytes in prop::collection::vec(prop_oneof![3 => 0..4_u8, 1 => any::<u8>()], 0..400),
        ) {
            let metadata = metadata(HEADERS[header], if is_big { "be" } else { "le" });
            let quick = Header::of(&metadata.streams[0]);
            prop_assert!(quick.is_some());
            prop_assert!(all(&metadata, &[0; 100], quick.as_ref()).0.len() > 5);
            prop_assert_eq!(all(&metadata, &bytes, quick.as_ref()), all(&metadata, &bytes, None));
        }
    }

    #[test]
    fn short_clocks_are_unfolded() {
        assert_eq!(unfolded(0x1_00ff, 0x00, 8), 0x1_0100);
        assert_eq!(unfolded(0x1_00fe, 0xff, 8), 0x1_00ff);
        assert_eq!(unfolded(0x1_00fe, 0xfe, 8), 0x1_00fe);
        assert_eq!(unfolded(5, 77, 64), 77);
        assert_eq!(unfolded(u64::MAX, 0, 27), 0);
    }
}
