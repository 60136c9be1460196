//! Entries and exits of functions, which nearly all events of some recordings are, in as few steps
//! as they take.
//!
//! Where every field has a fixed size and none is aligned more strictly than the event itself, all
//! that is read lies at fixed distances behind the first byte of the event:
//!
//! ```text
//! id  clock  vtid  vpid  procname  addr  call_site
//! 0   2      6     10    14        31    39        bytes
//! ```
//!
//! What is not like that, and the last event of a packet, is left to [`super::events`].

use std::borrow::Cow;

use super::decode::{Decoder, Fixed};
use super::header::{Distances, Header, unfolded};
use super::layout::{Content, Layout, Layouts};
use super::types::{Metadata, StreamClass};
use crate::lttng::meaning::Meaning;
use crate::lttng::{Name, Part, Thread};

/// Ids of events whose places are kept.
const IDS: usize = 1 << 12;

/// An entry or an exit.
pub(super) struct Call<'a> {
    pub(super) is_entry: bool,
    pub(super) address: u64,
    pub(super) thread: Thread<'a>,
    /// Raw ticks of the clock, unfolded.
    pub(super) time: u64,
    /// Bytes from the start of the packet.
    pub(super) at: usize,
}

/// How entries and exits of a class of streams are read.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Calls {
    /// Bits.
    align: u32,
    id: Fixed,
    by_id: Vec<Option<Places>>,
}

/// Where an entry or an exit holds what.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Places {
    is_entry: bool,
    /// Bits of the event.
    bits: u64,
    /// With its size in bits.
    clock: (Fixed, u32),
    tid: Fixed,
    pid: Option<Fixed>,
    /// The name of the thread: bytes before it, and its own.
    name: Option<(usize, usize)>,
    address: Fixed,
}

impl Calls {
    /// Those of a class of streams; nothing if none can be read like this.
    pub(super) fn of(
        metadata: &Metadata,
        class: &StreamClass,
        (meanings, layouts): (&[Meaning], &Layouts),
    ) -> Option<Self> {
        let header = Header::of(class)?;
        let (align, id) = header.id()?;
        let mut by_id = Vec::new();
        for (row, event) in metadata.events.iter().enumerate() {
            let is_found = metadata.row_of(class, event.id) == Some(row);
            let Meaning::Function { is_entry } = meanings[row] else { continue };
            let Some(at) = usize::try_from(event.id).ok().filter(|id| *id < IDS) else { continue };
            let of = |layout: &Layout| Places::of(is_entry, &header.distances(event.id)?, layout);
            if let Some(places) = layouts[row].as_ref().filter(|_| is_found).and_then(of) {
                by_id.resize(by_id.len().max(at + 1), None);
                by_id[at] = Some(places);
            }
        }
        (!by_id.is_empty()).then_some(Self { align, id, by_id })
    }

    /// Reads the next event, if it is an entry or an exit.
    #[expect(clippy::inline_always, reason = "a call would pass the parts through memory")]
    #[inline(always)]
    pub(super) fn read<'a>(&self, decoder: &mut Decoder<'a>, clock: &mut u64) -> Option<Call<'a>> {
        let (at, bytes) = decoder.rest(self.align)?;
        let places = self.by_id.get(self.id.within(bytes)? as usize)?.as_ref()?;
        let (stamp, size) = &places.clock;
        let name = match places.name {
            None => &[][..],
            Some((before, length)) => {
                let name = bytes.get(before..)?.get(..length)?;
                &name[..memchr::memchr(0, name).unwrap_or(length)]
            }
        };
        let tid = places.tid.within(bytes)?;
        let pid = match &places.pid {
            None => None,
            Some(pid) => Some(pid.within(bytes)?),
        };
        let address = places.address.within(bytes)?;
        let stamp = stamp.within(bytes)?;
        decoder.go_behind(at, places.bits)?;
        *clock = unfolded(*clock, stamp, *size);
        let thread = Thread { tid, pid, name: Cow::Borrowed(name) };
        Some(Call { is_entry: places.is_entry, address, thread, time: *clock, at })
    }
}

impl Places {
    fn of(is_entry: bool, header: &Distances, layout: &Layout) -> Option<Self> {
        let (runs, bits) = layout.distances(header.bits, header.align)?;
        let number = |(run, number): &(usize, Fixed)| number.behind(runs[*run]);
        let address = layout.place(Part::Any, Name::Address)?;
        let Content::Number(at) = address.content else { return None };
        let name = match &layout.thread.name {
            None => None,
            Some(place) => {
                let Content::Text(Some(length)) = place.content else { return None };
                let before = place.start(&runs);
                if !before.is_multiple_of(8) {
                    return None;
                }
                Some((usize::try_from(before / 8).ok()?, usize::try_from(length).ok()?))
            }
        };
        Some(Self {
            is_entry,
            bits,
            clock: header.clock,
            tid: number(layout.thread.tid.as_ref()?),
            pid: layout.thread.pid.as_ref().map(number),
            name,
            address: at.behind(address.run_start(&runs)),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::formats::ctf::events::{Event, Take, each};
    use crate::formats::ctf::packet::Packet;
    use crate::formats::ctf::tests::{COMPACT_HEADER, LARGE_HEADER};
    use crate::formats::ctf::trace::Trace;
    use crate::formats::ctf::{parse, trace};
    use crate::lttng::Thread;

    use super::*;

    /// LTTng's two headers, and one of plain numbers.
    const HEADERS: [&str; 3] = [
        COMPACT_HEADER,
        LARGE_HEADER,
        "struct { integer { size = 16; align = 32; } timestamp; integer { size = 16; align = 8; } id; }",
    ];
    const CONTEXTS: [&str; 4] = [
        "integer { size = 32; align = 8; signed = true; } _vtid;",
        "integer { size = 32; align = 8; } _vpid; integer { size = 32; align = 8; } _vtid;
            integer { size = 8; align = 8; encoding = UTF8; } _procname[5];",
        "integer { size = 32; align = 32; } _vtid;",
        "integer { size = 32; align = 8; } _vpid;",
    ];

    fn made(header: &str, context: &str, order: &str) -> Trace {
        let event = |id: u32, name: &str, fields: &str| {
            format!(
                "event {{ name = \"{name}\"; id = {id}; stream_id = 0; fields := struct {{ {fields} }}; }};"
            )
        };
        let long = "integer { size = 64; align = 8; }";
        let both = format!("{long} _addr; {long} _call_site;");
        let events = [
            event(0, "lttng_ust_cyg_profile:func_entry", &both),
            event(1, "lttng_ust_cyg_profile:func_exit", &both),
            event(2, "a:mark", "string s;"),
            event(3, "lttng_ust_cyg_profile_fast:func_exit", ""),
            event(
                4,
                "lttng_ust_cyg_profile_fast:func_entry",
                "string s; integer { size = 8; } addr;",
            ),
        ];
        let text = format!(
            "/* CTF 1.8 */ trace {{ major = 1; minor = 8; byte_order = {order}; }};
             clock {{ name = \"c\"; freq = 1000000000; }};
             stream {{ id = 0; event.header := {header};
                 event.context := struct {{ {context} }}; }};
             {}",
            events.concat()
        );
        trace(parse::metadata(text.as_bytes()).expect("it is valid"), 1_000_000_000)
    }

    /// What each event says, and how many of them were read as calls.
    struct Found<'t> {
        trace: &'t Trace,
        rows: Vec<String>,
        calls: usize,
    }

    impl Found<'_> {
        fn add(
            &mut self,
            (row, time, at): (bool, u64, usize),
            address: Option<u64>,
            of: &Thread<'_>,
        ) {
            let Thread { tid, pid, name } = of;
            self.rows.push(format!("{row} {time} {at} {address:?} {tid} {pid:?} {name:?}"));
        }
    }

    impl<'a> Take<'a> for Found<'_> {
        fn call(&mut self, call: Call<'a>) {
            self.calls += 1;
            let Call { is_entry, time, at, address, .. } = call;
            self.add((is_entry, time, at), Some(address), &call.thread);
        }

        fn event(&mut self, event: &Event<'a>) {
            let at = (event.at / 8) as usize;
            match (&self.trace.meanings[event.row], event.thread()) {
                (Meaning::Function { is_entry }, Some(thread)) => {
                    let address = event.number(Part::Any, Name::Address);
                    self.add((*is_entry, event.time, at), address, &thread);
                }
                _ => self.rows.push(format!("{} {} {at}", event.row, event.time)),
            }
        }
    }

    proptest! {
        #[test]
        fn calls_are_what_the_metadata_says(
            header in 0..HEADERS.len(),
            context in 0..CONTEXTS.len(),
            is_big in any::<bool>(),
            // Small numbers are ids that exist.
            bytes in prop::collection::vec(prop_oneof![9 => 0..2_u8, 1 => any::<u8>()], 0..400),
            left in 0..64_u64,
        ) {
            let order = if is_big { "be" } else { "le" };
            let mut trace = made(HEADERS[header], CONTEXTS[context], order);
            // Content may end anywhere, also within a byte.
            let content = (bytes.len() as u64 * 8).saturating_sub(left);
            let packet = Packet { content: Some(content), begin: Some(7), ..Packet::default() };
            let read = |trace: &Trace, bytes: &[u8], packet: &Packet| {
                let mut rows = Found { trace, rows: Vec::new(), calls: 0 };
                let done = each(trace, packet, bytes, &mut rows);
                (rows.rows, done, rows.calls)
            };
            let calls = read(&trace, &[0; 200], &Packet::default()).2;
            // A header or a context that is aligned in another way than the event is read plainly.
            prop_assert_eq!(calls > 2, context < 2 || context == 2 && header == 2);
            let (found, done, _) = read(&trace, &bytes, &packet);
            trace.calls = vec![None];
            prop_assert_eq!((found, done, 0), read(&trace, &bytes, &packet));
        }
    }
}
