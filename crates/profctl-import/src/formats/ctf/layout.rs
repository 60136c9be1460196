//! Where the fields of an event are, worked out once for all events of its class.
//!
//! Fields of a fixed size lie at fixed places behind the one before them. They are passed in one
//! step, and read only if they are asked for. Behind a text of any length a new run of them begins:
//!
//! ```text
//! vtid  vpid  a  b          a run of 4 fields
//! vtid  vpid  text  a  b    a run of 2 that ends with a text, and one of 2
//! ```

use super::decode::{Decoder, Fixed, Stopped};
use super::types::{EventClass, Metadata, Struct, Type};
use crate::lttng::{Name, Part, Thread};

/// Fields of a fixed size, and maybe a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Run {
    /// At a multiple of how many bits it begins.
    align: u32,
    bits: u64,
    has_text: bool,
}

/// A field.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Slot {
    /// Without the underscore that LTTng puts before names.
    pub(super) name: String,
    pub(super) of: Type,
    pub(super) place: Place,
}

/// Where a field is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// The run that it is in, and bits from the start of that.
    run: usize,
    offset: u64,
    pub(super) content: Content,
}

/// What is in a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Content {
    /// Counted from the start of the run.
    Number(Fixed),
    /// A text up to its NUL, in so many bytes at most if that is given.
    Text(Option<u64>),
    Other,
}

impl Place {
    /// Where its run begins in an event whose runs begin at `starts`.
    #[inline]
    pub(super) fn run_start(&self, starts: &[u64]) -> u64 {
        starts[self.run]
    }

    /// Where the field begins in an event whose runs begin at `starts`.
    #[inline]
    pub(super) fn start(&self, starts: &[u64]) -> u64 {
        starts[self.run] + self.offset
    }
}

/// The fields of a class of events.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Layout {
    /// Those of the contexts, then those of the event.
    pub(super) slots: Vec<Slot>,
    /// How many of them are of contexts.
    pub(super) contexts: usize,
    runs: Vec<Run>,
    /// The places of fields by name, for each part.
    places: Vec<[Option<Place>; Part::N]>,
    pub(super) thread: ThreadPlaces,
}

/// Where the contexts name the thread, see [`Thread`].
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct ThreadPlaces {
    pub(super) tid: Option<NumberPlace>,
    pub(super) pid: Option<NumberPlace>,
    pub(super) name: Option<Place>,
}

/// Where a number is: the run that it is in, and its place there.
pub(super) type NumberPlace = (usize, Fixed);

/// The layouts of all classes of events, by row in the metadata. Nothing for those with fields that
/// depend on others.
pub(super) type Layouts = Vec<Option<Layout>>;

pub(super) fn all(metadata: &Metadata) -> Layouts {
    metadata.events.iter().map(|event| Layout::of(metadata, event)).collect()
}

impl Layout {
    fn of(metadata: &Metadata, event: &EventClass) -> Option<Self> {
        let mut layout = Self {
            slots: Vec::new(),
            contexts: 0,
            runs: Vec::new(),
            places: Vec::new(),
            thread: ThreadPlaces::default(),
        };
        let stream = metadata.stream(event.stream);
        let common = stream.and_then(|stream| stream.event_context.as_deref());
        for context in [common, event.context.as_deref()].into_iter().flatten() {
            layout.add(context)?;
        }
        layout.contexts = layout.slots.len();
        if let Some(fields) = &event.fields {
            layout.add(fields)?;
        }
        layout.places = Name::ALL.iter().map(|name| layout.places_of(name.text())).collect();
        let context = |name: Name| layout.place(Part::Context, name);
        let number = |name: Name| match *context(name)? {
            Place { run, content: Content::Number(number), .. } => Some((run, number)),
            _ => None,
        };
        layout.thread = ThreadPlaces {
            tid: Thread::TID.into_iter().find_map(number),
            pid: Thread::PID.into_iter().find_map(number),
            name: context(Name::ProcessComm).copied(),
        };
        Some(layout)
    }

    fn places_of(&self, name: &str) -> [Option<Place>; Part::N] {
        let find =
            |slots: &[Slot]| slots.iter().find(|slot| slot.name == name).map(|slot| slot.place);
        let (contexts, own) = self.slots.split_at(self.contexts);
        let (context, own) = (find(contexts), find(own));
        let mut places = [None; Part::N];
        places[Part::Own as usize] = own;
        places[Part::Context as usize] = context;
        places[Part::Any as usize] = own.or(context);
        places
    }

    /// Adds the fields of a structure; nothing if it is not a simple one.
    fn add(&mut self, fields: &Struct) -> Option<()> {
        if !fields.is_simple {
            return None;
        }
        if fields.fields.is_empty() {
            // It is aligned all the same, though nothing needs to be there.
            self.runs.push(Run { align: power_of_two(fields.align)?, bits: 0, has_text: false });
            return Some(());
        }
        let mut align = power_of_two(fields.align)?;
        for (name, of) in &fields.fields {
            align = align.max(power_of_two(of.align())?);
            if self.runs.last().is_none_or(|run| run.has_text || run.align < align) {
                self.runs.push(Run { align, bits: 0, has_text: false });
            }
            let n = self.runs.len();
            let run = self.runs.last_mut()?;
            let offset = run.bits.next_multiple_of(align.into());
            run.bits = offset;
            match of.fixed_bits() {
                Some(bits) => run.bits += bits,
                None => run.has_text = true,
            }
            let content = match of {
                Type::Integer(integer) => Content::Number(Fixed::new(offset, *integer)),
                Type::Enum(labels) => Content::Number(Fixed::new(offset, labels.container)),
                Type::Text => Content::Text(None),
                Type::Array(_, length) => Content::Text(Some(*length)),
                _ => Content::Other,
            };
            let place = Place { run: n - 1, offset, content };
            self.slots.push(Slot { name: plain(name).to_owned(), of: of.clone(), place });
            align = 1;
        }
        Some(())
    }

    /// Passes all fields of an event, and notes where the runs of them begin.
    #[inline]
    pub(super) fn pass(
        &self,
        decoder: &mut Decoder<'_>,
        starts: &mut Vec<u64>,
    ) -> Result<(), Stopped> {
        starts.clear();
        for run in &self.runs {
            decoder.align(run.align)?;
            starts.push(decoder.at);
            decoder.pass(run.bits)?;
            if run.has_text {
                decoder.text()?;
            }
        }
        Ok(())
    }

    /// Where the runs begin, and where the event ends, both from its start, if `before` bits come
    /// before its fields; nothing if that differs between events that begin at multiples of `align`
    /// bits.
    pub(super) fn distances(&self, before: u64, align: u32) -> Option<(Vec<u64>, u64)> {
        let (mut starts, mut at) = (Vec::new(), before);
        for run in &self.runs {
            if run.has_text || !align.is_multiple_of(run.align) {
                return None;
            }
            at = at.next_multiple_of(run.align.into());
            starts.push(at);
            at = at.checked_add(run.bits)?;
        }
        Some((starts, at))
    }

    /// Where the field of that name is.
    #[inline]
    pub(super) fn place(&self, part: Part, name: Name) -> Option<&Place> {
        self.places[name as usize][part as usize].as_ref()
    }
}

/// A name without the underscore that LTTng puts before it.
#[inline]
pub(super) fn plain(name: &str) -> &str {
    name.strip_prefix('_').unwrap_or(name)
}

fn power_of_two(align: u32) -> Option<u32> {
    let align = align.max(1);
    align.is_power_of_two().then_some(align)
}
