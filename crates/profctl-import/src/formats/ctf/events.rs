//! The events of a packet, one by one.

use std::borrow::Cow;

use super::calls::Call;
use super::decode::{Decoder, Stopped, Value, Visitor};
use super::header::{Header, unfolded};
use super::layout::{Content, Layout, Layouts, NumberPlace, Place, Slot, ThreadPlaces, plain};
use super::packet::Packet;
use super::trace::Trace;
use super::types::{Integer, Metadata, StreamClass, Type};
use crate::bytes::low_bits;
use crate::lttng::{Name, Part, Thread};

/// An event.
pub(super) struct Event<'a> {
    /// Its row in the metadata.
    pub(super) row: usize,
    /// Raw ticks of the clock, unfolded.
    pub(super) time: u64,
    /// Bits from the start of the packet.
    pub(super) at: u64,
    decoder: Decoder<'a>,
    /// Where its fields are, if that is the same for all of its class, and the starts of their
    /// runs.
    layout: Option<&'a Layout>,
    starts: Vec<u64>,
    /// Else the fields of the contexts, then those of the event; only outermost ones.
    listed: Vec<Field<'a>>,
    /// How many of them are of contexts.
    contexts: usize,
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
    /// No event yet, in a packet that `decoder` reads.
    fn before(decoder: Decoder<'a>) -> Self {
        let (starts, listed) = (Vec::new(), Vec::new());
        Self { row: 0, time: 0, at: 0, decoder, layout: None, starts, listed, contexts: 0 }
    }

    /// The integer in the field of that name.
    #[inline]
    pub(super) fn number(&self, part: Part, name: Name) -> Option<u64> {
        let Some(layout) = self.layout else { return self.find(part, name.text())?.number() };
        let place = layout.place(part, name)?;
        let Content::Number(number) = &place.content else { return None };
        Some(self.decoder.number_at(place.run_start(&self.starts), number))
    }

    /// The text in the field of that name.
    #[inline]
    pub(super) fn text(&self, part: Part, name: Name) -> Option<&'a [u8]> {
        let Some(layout) = self.layout else { return self.find(part, name.text())?.text() };
        self.text_at(layout.place(part, name)?)
    }

    fn text_at(&self, place: &Place) -> Option<&'a [u8]> {
        let Content::Text(length) = place.content else { return None };
        self.decoder.text_at(place.start(&self.starts), length)
    }

    /// The thread that its contexts name.
    #[inline]
    pub(super) fn thread(&self) -> Option<Thread<'_>> {
        let Some(layout) = self.layout else { return Thread::by_names(self) };
        let number =
            |(run, number): &NumberPlace| self.decoder.number_at(self.starts[*run], number);
        let ThreadPlaces { tid, pid, name } = &layout.thread;
        let name = name.as_ref().and_then(|name| self.text_at(name)).unwrap_or_default();
        let name = Cow::Borrowed(name);
        Some(Thread { tid: number(tid.as_ref()?), pid: pid.as_ref().map(number), name })
    }

    #[inline(never)]
    fn find(&self, part: Part, name: &str) -> Option<Value<'a>> {
        let (contexts, own) = self.listed.split_at(self.contexts);
        let find = |fields: &[Field<'a>]| {
            fields.iter().find(|field| field.name == name).map(|field| field.value)
        };
        match part {
            Part::Own => find(own),
            Part::Context => find(contexts),
            Part::Any => find(own).or_else(|| find(contexts)),
        }
    }

    /// Its fields, and how many of them are of contexts.
    pub(super) fn fields(&self) -> (Vec<Field<'a>>, usize) {
        let Some(layout) = self.layout else { return (self.listed.clone(), self.contexts) };
        let field = |slot: &'a Slot| {
            let value = self.decoder.value_at(slot.place.start(&self.starts), &slot.of)?;
            Some(Field { name: &slot.name, of: &slot.of, value })
        };
        (layout.slots.iter().filter_map(field).collect(), layout.contexts)
    }

    /// The event's own fields as `name = value`, with a comma between.
    pub(super) fn detail(&self) -> String {
        let (fields, contexts) = self.fields();
        let shown = fields[contexts..].iter().filter(|field| field.value != Value::Other);
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

/// Takes what a packet says.
pub(super) trait Take<'a> {
    /// An entry or an exit.
    fn call(&mut self, call: Call<'a>);
    /// Any event.
    fn event(&mut self, event: &Event<'a>);
}

/// Reads the events of a packet. Says what was wrong if it stopped before the end.
pub(super) fn each<'a>(
    trace: &'a Trace,
    packet: &Packet,
    bytes: &'a [u8],
    take: &mut impl Take<'a>,
) -> Result<(), String> {
    let Trace { metadata, layouts, calls, .. } = trace;
    let row = metadata.streams.iter().position(|class| class.id == packet.class).unwrap_or(0);
    let Some(class) = metadata.streams.get(row) else {
        return Err(format!("no class of streams {}", packet.class));
    };
    let calls = calls[row].as_ref();
    let content = packet.content.or(packet.size).unwrap_or(bytes.len() as u64 * 8);
    let mut decoder = Decoder::new(bytes, bytes.len() as u64 * 8);
    decoder.limit(content);
    decoder.at = packet.head;
    let header = Header::of(class);
    let mut clock = packet.begin.unwrap_or(0);
    let classes = Classes { metadata, layouts, class, header };
    let mut event = Event::before(decoder);
    while !event.decoder.is_done() {
        if let Some(call) = calls.and_then(|calls| calls.read(&mut event.decoder, &mut clock)) {
            take.call(call);
            continue;
        }
        let start = event.decoder.at;
        match event.next(&classes, &mut clock) {
            Ok(()) => take.event(&event),
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

/// What the events of a stream are read with.
struct Classes<'a> {
    metadata: &'a Metadata,
    layouts: &'a Layouts,
    class: &'a StreamClass,
    header: Option<Header>,
}

impl Classes<'_> {
    /// The row of the event of that id.
    #[inline]
    fn row(&self, id: u64) -> Result<usize, Stop> {
        self.metadata.row_of(self.class, id).ok_or(Stop::Unknown(id))
    }
}

impl<'a> Event<'a> {
    /// Reads the next event of the packet.
    #[inline]
    fn next(&mut self, classes: &Classes<'a>, clock: &mut u64) -> Result<(), Stop> {
        if let Some(header) = &classes.header {
            let start = self.decoder.at;
            let (at, stamp, id) = header.read(&mut self.decoder)?;
            let row = classes.row(id)?;
            if let Some(layout) = &classes.layouts[row] {
                self.begin(row, at, clock, stamp);
                self.layout = Some(layout);
                return Ok(layout.pass(&mut self.decoder, &mut self.starts)?);
            }
            // Its fields may refer to those of the header.
            self.decoder.at = start;
        }
        self.list(classes, clock)
    }

    /// The same, whatever its fields are.
    #[inline(never)]
    fn list(&mut self, classes: &Classes<'a>, clock: &mut u64) -> Result<(), Stop> {
        self.decoder.forget();
        let mut stamp = Stamp::default();
        let mut at = self.decoder.at;
        if let Some(header) = &classes.class.event_header {
            self.decoder.align(header.align)?;
            at = self.decoder.at;
            self.decoder.structure(header, 0, &mut stamp)?;
        }
        let row = classes.row(self.decoder.latest("id").unwrap_or(0))?;
        let found = &classes.metadata.events[row];
        self.begin(row, at, clock, stamp.value);
        self.layout = None;
        self.listed.clear();
        for context in [&classes.class.event_context, &found.context].into_iter().flatten() {
            self.decoder.structure(context, 0, &mut Outermost(&mut self.listed))?;
        }
        self.contexts = self.listed.len();
        if let Some(fields) = &found.fields {
            self.decoder.structure(fields, 0, &mut Outermost(&mut self.listed))?;
        }
        Ok(())
    }

    /// An event of that class, whose header carries `stamp` of so many bits.
    #[inline]
    fn begin(&mut self, row: usize, at: u64, clock: &mut u64, stamp: Option<(u64, u32)>) {
        if let Some((value, bits)) = stamp {
            *clock = unfolded(*clock, value, bits);
        }
        (self.row, self.time, self.at) = (row, *clock, at);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::formats::ctf::tests::{COMPACT_HEADER, LARGE_HEADER};
    use crate::formats::ctf::{layout, parse};

    /// LTTng's two headers, and one of plain numbers.
    const HEADERS: [&str; 3] = [
        COMPACT_HEADER,
        LARGE_HEADER,
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
            event(
                0,
                &format!("{byte} _addr; integer {{ size = 7; align = 1; signed = true; }} _irq;"),
            ),
            event(1, &format!("integer {{ size = 64; align = 32; }} baddr; {byte} vec;")),
            event(2, &format!("{byte} _n; {byte} list[_n]; string path;")),
            event(3, "integer { size = 8; align = 8; encoding = UTF8; } comm[5]; string path;"),
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

    fn all(metadata: &Metadata, bytes: &[u8], end: u64, is_quick: bool) -> (Vec<Row>, bool) {
        let layouts = layout::all(metadata);
        let header = is_quick.then(|| Header::of(&metadata.streams[0]).expect("it is usual"));
        let classes = Classes { metadata, layouts: &layouts, class: &metadata.streams[0], header };
        let (mut clock, mut event) = (7, Event::before(Decoder::new(bytes, end)));
        let mut rows = Vec::new();
        while !event.decoder.is_done() {
            if event.next(&classes, &mut clock).is_err() {
                return (rows, false);
            }
            let (fields, contexts) = event.fields();
            for name in Name::ALL {
                let by_name = fields.iter().find(|field| field.name == name.text());
                let value = by_name.map(|field| field.value);
                assert_eq!(event.number(Part::Any, *name), value.and_then(Value::number));
                assert_eq!(event.text(Part::Any, *name), value.and_then(Value::text));
            }
            let shown = |field: &Field<'_>| (field.name.to_owned(), show(field));
            let fields = fields.iter().map(shown).collect();
            rows.push((event.row, event.time, event.at, contexts, fields));
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
            left in 0..64_u64,
        ) {
            let metadata = metadata(HEADERS[header], if is_big { "be" } else { "le" });
            prop_assert!(all(&metadata, &[0; 100], 800, true).0.len() > 5);
            // Content may end anywhere, also within a byte.
            let end = (bytes.len() as u64 * 8).saturating_sub(left);
            let [quick, listed] = [true, false].map(|quick| all(&metadata, &bytes, end, quick));
            prop_assert_eq!(quick, listed);
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
