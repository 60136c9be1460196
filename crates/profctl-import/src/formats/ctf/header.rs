//! Headers of events as nearly all tracers write them, in as few steps as they take.
//!
//! LTTng's begin with a small number that is the id of the event or says that a larger header
//! follows; those of barectf are numbers one after the other. Both are read here without looking
//! for names. Any other header is left to [`super::decode`].

use super::decode::{Decoder, Fixed, Stopped};
use super::types::{Enum, Integer, StreamClass, Struct, Type};
use crate::bytes::low_bits;

/// Where the header of an event began in its packet (bits), the clock with its size, and the id.
type Said = (u64, Option<(u64, u32)>, u64);

/// How the header of an event is read.
pub(super) struct Header {
    first: Numbers,
    /// What follows, by the last number of those.
    choices: Vec<Choice>,
}

/// Numbers behind one another: each at a fixed distance behind the first.
struct Numbers {
    align: u32,
    /// Of all of them.
    bits: u64,
    steps: Vec<Step>,
}

/// A number.
struct Step {
    of: Fixed,
    /// The bits of the clock, if it is one.
    clock: Option<u32>,
    is_id: bool,
}

/// Where in a header is what, from its start.
pub(super) struct Distances {
    /// Bits at a multiple of which the event begins.
    pub(super) align: u32,
    /// Bits of the header.
    pub(super) bits: u64,
    /// The clock, with its size in bits.
    pub(super) clock: (Fixed, u32),
}

/// What follows where a number is in this range.
struct Choice {
    low: u64,
    high: u64,
    numbers: Numbers,
}

impl Header {
    /// The header of a class of streams; nothing if it is an unusual one.
    pub(super) fn of(class: &StreamClass) -> Option<Self> {
        let Some(header) = &class.event_header else {
            return Some(Self { first: Numbers::new(1), choices: Vec::new() });
        };
        if header.is_simple {
            return Some(Self { first: Numbers::of(header)?, choices: Vec::new() });
        }
        let [(tag, of), (_, Type::Variant(variant))] = &header.fields[..] else { return None };
        let Type::Enum(labels) = of else { return None };
        if variant.tag != *tag || labels.container.signed {
            return None;
        }
        let fields = |label: &str| {
            let found = variant.fields.iter().find(|(name, _)| name == label);
            match found {
                Some((_, Type::Struct(fields))) if fields.is_simple => Some(&**fields),
                _ => None,
            }
        };
        let mut first = Numbers::new(header.align);
        first.add(labels.container, None, tag == "id");
        Some(Self { first, choices: choices(labels, fields)? })
    }

    /// Where the id is, from the start of a header which begins at a multiple of so many bits;
    /// nothing if that is not at a whole byte, or other numbers choose what follows.
    pub(super) fn id(&self) -> Option<(u32, Fixed)> {
        let Numbers { align, steps, .. } = &self.first;
        if !align.is_power_of_two()
            || !align.is_multiple_of(8)
            || !self.choices.is_empty() && steps.len() > 1
        {
            return None;
        }
        let id = steps.iter().rfind(|step| step.is_id)?;
        Some((*align, id.of))
    }

    /// Where everything is in the headers of events of that id, which [`Self::id`] finds; nothing if
    /// that differs between them.
    pub(super) fn distances(&self, id: u64) -> Option<Distances> {
        let Numbers { align, bits, .. } = self.first;
        let (mut bits, mut clock) = (bits, self.first.clock(0));
        if !self.choices.is_empty() {
            let Choice { numbers, .. } = self.choice(id)?;
            if numbers.steps.iter().any(|step| step.is_id)
                || !align.is_multiple_of(numbers.align.max(1))
            {
                return None;
            }
            let start = bits.next_multiple_of(numbers.align.max(1).into());
            clock = numbers.clock(start).or(clock);
            bits = start + numbers.bits;
        }
        Some(Distances { align, bits, clock: clock? })
    }

    fn choice(&self, number: u64) -> Option<&Choice> {
        self.choices.iter().find(|choice| (choice.low..=choice.high).contains(&number))
    }

    /// Reads a header.
    #[inline]
    pub(super) fn read(&self, decoder: &mut Decoder<'_>) -> Result<Said, Stopped> {
        let mut said = (0, None, 0);
        let (at, last) = self.first.read(decoder, &mut said)?;
        said.0 = at;
        if !self.choices.is_empty() {
            let choice = self.choice(last).ok_or(Stopped)?;
            choice.numbers.read(decoder, &mut said)?;
        }
        Ok(said)
    }
}

impl Numbers {
    /// None, at a multiple of so many bits.
    fn new(align: u32) -> Self {
        Self { align, bits: 0, steps: Vec::new() }
    }

    /// The fields of a structure, which is aligned as the strictest of them; nothing if they are
    /// not all integers.
    fn of(fields: &Struct) -> Option<Self> {
        let mut numbers = Self::new(fields.align);
        for (name, of) in &fields.fields {
            match of {
                Type::Integer(integer) => {
                    numbers.add(*integer, of.clock_bits(name), name == "id");
                }
                Type::Enum(labels) => numbers.add(labels.container, None, name == "id"),
                _ => return None,
            }
        }
        Some(numbers)
    }

    fn add(&mut self, of: Integer, clock: Option<u32>, is_id: bool) {
        let distance = self.bits.next_multiple_of(of.align.max(1).into());
        self.steps.push(Step { of: Fixed::new(distance, of), clock, is_id });
        self.bits = distance + u64::from(of.bits);
    }

    /// The clock among them, with its size, if so many bits come before them.
    fn clock(&self, before: u64) -> Option<(Fixed, u32)> {
        self.steps.iter().rev().find_map(|step| Some((step.of.behind(before), step.clock?)))
    }

    /// Reads them; returns where they begin and the last one.
    #[expect(clippy::inline_always, reason = "twice for each event")]
    #[inline(always)]
    fn read(
        &self,
        decoder: &mut Decoder<'_>,
        (_, stamp, id): &mut Said,
    ) -> Result<(u64, u64), Stopped> {
        decoder.align(self.align)?;
        let start = decoder.at;
        decoder.pass(self.bits)?;
        let mut last = 0;
        for step in &self.steps {
            last = decoder.number_at(start, &step.of);
            if let Some(bits) = step.clock {
                *stamp = Some((last, bits));
            }
            if step.is_id {
                *id = last;
            }
        }
        Ok((start, last))
    }
}

fn choices<'a>(
    labels: &'a Enum,
    fields: impl Fn(&'a str) -> Option<&'a Struct>,
) -> Option<Vec<Choice>> {
    let choices = labels.labels.iter().map(|(label, low, high)| {
        Some(Choice {
            low: u64::try_from(*low).ok()?,
            high: u64::try_from(*high).ok()?,
            numbers: Numbers::of(fields(label)?)?,
        })
    });
    choices.collect()
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
