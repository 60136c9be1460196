//! The types of a CTF trace, as its metadata declares them.

use std::sync::Arc;

use crate::bytes::Endian;

/// Elements of a list at most.
pub(super) const ELEMENTS_MAX: u64 = 1 << 24;

/// A type of a field.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Type {
    Integer(Integer),
    /// A floating-point number of 32 or 64 bits.
    Float {
        bits: u32,
        align: u32,
        endian: Endian,
    },
    Enum(Arc<Enum>),
    /// Bytes up to a NUL.
    Text,
    Struct(Arc<Struct>),
    Variant(Arc<Variant>),
    Array(Arc<Type>, u64),
    /// As many elements as the field of that name says.
    Sequence(Arc<Type>, String),
}

/// An integer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Integer {
    pub(super) bits: u32,
    /// Bits.
    pub(super) align: u32,
    pub(super) signed: bool,
    pub(super) endian: Endian,
    /// Whether it is a letter of a text.
    pub(super) is_text: bool,
    /// Whether it is the value of a clock.
    pub(super) is_clock: bool,
    /// The display base.
    pub(super) base: u32,
}

/// An integer with names for ranges of values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Enum {
    pub(super) container: Integer,
    /// Name, lowest and highest value.
    pub(super) labels: Vec<(String, i128, i128)>,
}

impl Enum {
    /// The name of a value.
    pub(super) fn label(&self, value: i128) -> Option<&str> {
        let found = self.labels.iter().find(|(_, low, high)| (*low..=*high).contains(&value));
        found.map(|(name, ..)| name.as_str())
    }
}

/// Fields one after the other.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Struct {
    pub(super) fields: Vec<(String, Type)>,
    /// Bits, at least.
    pub(super) align: u32,
    /// Whether all of them are numbers and texts, which refer to no other field.
    pub(super) is_simple: bool,
}

/// One of several fields, which the enumeration of that name chooses.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Variant {
    pub(super) tag: String,
    pub(super) fields: Vec<(String, Type)>,
}

impl Type {
    /// At a multiple of how many bits it begins.
    pub(super) fn align(&self) -> u32 {
        match self {
            Self::Integer(integer) => integer.align,
            Self::Float { align, .. } => *align,
            Self::Enum(of) => of.container.align,
            Self::Text => 8,
            Self::Struct(of) => of.align,
            Self::Variant(_) => 1,
            Self::Array(element, _) | Self::Sequence(element, _) => element.align(),
        }
    }
}

impl Type {
    /// Whether it is a number or a text that refers to no other field.
    pub(super) fn is_simple(&self) -> bool {
        match self {
            Self::Integer(_) | Self::Float { .. } | Self::Enum(_) | Self::Text => true,
            Self::Array(element, length) => element.is_letter() && *length <= ELEMENTS_MAX,
            Self::Struct(_) | Self::Variant(_) | Self::Sequence(..) => false,
        }
    }

    /// The bits of one that [`Self::is_simple`]; nothing if each value has its own.
    pub(super) fn fixed_bits(&self) -> Option<u64> {
        match self {
            Self::Integer(integer) => Some(integer.bits.into()),
            Self::Enum(labels) => Some(labels.container.bits.into()),
            Self::Float { bits, .. } => Some((*bits).into()),
            Self::Array(_, length) => length.checked_mul(8),
            Self::Text | Self::Struct(_) | Self::Variant(_) | Self::Sequence(..) => None,
        }
    }

    /// The bits of a field of that name in the header of an event, if it holds the clock.
    pub(super) fn clock_bits(&self, name: &str) -> Option<u32> {
        match self {
            Self::Integer(of) if of.is_clock || name == "timestamp" => Some(of.bits),
            _ => None,
        }
    }

    /// Whether a list of it is a text.
    pub(super) fn is_letter(&self) -> bool {
        matches!(self, Self::Integer(Integer { bits: 8, align: 8, is_text: true, .. }))
    }
}

impl Struct {
    /// A structure of these fields, aligned as the strictest of them or `least`.
    pub(super) fn new(fields: Vec<(String, Type)>, least: u32) -> Self {
        let align = fields.iter().map(|(_, field)| field.align()).fold(least.max(1), u32::max);
        let is_simple = fields.iter().all(|(_, field)| field.is_simple());
        Self { fields, align, is_simple }
    }
}

/// A clock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Clock {
    pub(super) name: String,
    /// Ticks per second.
    pub(super) frequency: u64,
    /// Seconds and ticks from the epoch to its 0.
    pub(super) offset_seconds: i64,
    pub(super) offset: i64,
}

/// A class of streams.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct StreamClass {
    pub(super) id: u64,
    pub(super) packet_context: Option<Arc<Struct>>,
    pub(super) event_header: Option<Arc<Struct>>,
    pub(super) event_context: Option<Arc<Struct>>,
}

/// A class of events.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct EventClass {
    pub(super) id: u64,
    pub(super) stream: u64,
    pub(super) name: String,
    pub(super) context: Option<Arc<Struct>>,
    pub(super) fields: Option<Arc<Struct>>,
}

/// All that the metadata declares.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Metadata {
    pub(super) endian: Endian,
    pub(super) packet_header: Option<Arc<Struct>>,
    pub(super) clocks: Vec<Clock>,
    pub(super) streams: Vec<StreamClass>,
    pub(super) events: Vec<EventClass>,
    pub(super) environment: Vec<(String, String)>,
}

impl Metadata {
    /// The row of the event of that id in a class of streams.
    #[inline]
    pub(super) fn row_of(&self, class: &StreamClass, id: u64) -> Option<usize> {
        let is_it = |known: &EventClass| known.stream == class.id && known.id == id;
        // Ids are mostly rows.
        let guess = self.events.get(id as usize).is_some_and(is_it).then_some(id as usize);
        guess.or_else(|| self.events.iter().position(is_it))
    }

    /// The class of streams of that id.
    pub(super) fn stream(&self, id: u64) -> Option<&StreamClass> {
        self.streams.iter().find(|stream| stream.id == id)
    }

    /// What the environment says of `key`.
    pub(super) fn environment(&self, key: &str) -> Option<&str> {
        let found = self.environment.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}
