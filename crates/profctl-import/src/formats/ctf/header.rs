//! Headers of events as nearly all tracers write them, in as few steps as they take.
//!
//! LTTng's begin with a small number that is the id of the event or says that a larger header
//! follows; those of barectf are numbers one after the other. Both are read here without looking
//! for names. Any other header is left to [`super::decode`].

use super::decode::{Decoder, Stopped};
use super::types::{Enum, Integer, StreamClass, Struct, Type};

/// Where the header of an event began in its packet (bits), the clock with its size, and the id.
type Said = (u64, Option<(u64, u32)>, u64);

/// How the header of an event is read.
pub(super) struct Header {
    align: u32,
    first: Vec<Step>,
    /// What follows, by the value of the number before it.
    choices: Vec<Choice>,
}

/// A number.
struct Step {
    of: Integer,
    /// The bits of the clock, if it is one.
    clock: Option<u32>,
    is_id: bool,
}

/// What follows where a number is in this range.
struct Choice {
    low: u64,
    high: u64,
    align: u32,
    steps: Vec<Step>,
}

impl Header {
    /// The header of a class of streams; nothing if it is an unusual one.
    pub(super) fn of(class: &StreamClass) -> Option<Self> {
        let Some(header) = &class.event_header else {
            return Some(Self { align: 1, first: Vec::new(), choices: Vec::new() });
        };
        if header.is_simple {
            let align = header.align;
            return Some(Self { align, first: steps(header)?, choices: Vec::new() });
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
        Some(Self {
            align: header.align,
            first: vec![Step { of: labels.container, clock: None, is_id: tag == "id" }],
            choices: choices(labels, fields)?,
        })
    }

    /// Reads a header.
    #[inline]
    pub(super) fn read(&self, decoder: &mut Decoder<'_>) -> Result<Said, Stopped> {
        decoder.align(self.align)?;
        let mut said = (decoder.at, None, 0);
        let last = follow(&self.first, decoder, &mut said)?;
        if self.choices.is_empty() {
            return Ok(said);
        }
        let is_it = |choice: &&Choice| (choice.low..=choice.high).contains(&last);
        let choice = self.choices.iter().find(is_it).ok_or(Stopped)?;
        decoder.align(choice.align)?;
        follow(&choice.steps, decoder, &mut said)?;
        Ok(said)
    }
}

/// Reads the fields of `steps`; returns the last number.
#[inline]
fn follow(
    steps: &[Step],
    decoder: &mut Decoder<'_>,
    (_, stamp, id): &mut Said,
) -> Result<u64, Stopped> {
    let mut last = 0;
    for step in steps {
        decoder.align(step.of.align)?;
        let number = decoder.number(&step.of)?;
        if let Some(bits) = step.clock {
            *stamp = Some((number, bits));
        }
        if step.is_id {
            *id = number;
        }
        last = number;
    }
    Ok(last)
}

fn steps(fields: &Struct) -> Option<Vec<Step>> {
    let steps = fields.fields.iter().map(|(name, of)| {
        let is_id = name == "id";
        match of {
            Type::Integer(integer) => {
                Some(Step { of: *integer, clock: of.clock_bits(name), is_id })
            }
            Type::Enum(labels) => Some(Step { of: labels.container, clock: None, is_id }),
            _ => None,
        }
    });
    steps.collect()
}

fn choices<'a>(
    labels: &'a Enum,
    fields: impl Fn(&'a str) -> Option<&'a Struct>,
) -> Option<Vec<Choice>> {
    let choices = labels.labels.iter().map(|(label, low, high)| {
        let fields = fields(label)?;
        Some(Choice {
            low: u64::try_from(*low).ok()?,
            high: u64::try_from(*high).ok()?,
            align: fields.align,
            steps: steps(fields)?,
        })
    });
    choices.collect()
}
