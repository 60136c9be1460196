//! Events of LTTng, barectf and Zephyr, whether they are read from packets or from the text that
//! babeltrace2 prints: what their names mean, and the same said to the emitter.

use std::borrow::Cow;

mod events;
pub(crate) mod meaning;
pub(crate) mod modules;
mod names;

pub(crate) use events::{Site, TracerEvents, cpu_lane};
pub(crate) use names::Name;

/// Which fields of an event are meant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Part {
    /// Its own.
    Own,
    /// Those of its contexts.
    Context,
    /// Its own before those of its contexts.
    Any,
}

impl Part {
    /// How many there are.
    pub(crate) const N: usize = 3;
}

/// The fields of an event, by name.
pub(crate) trait Fields {
    /// The integer in a field. Negative ones are those of 64 bits.
    fn number(&self, part: Part, name: Name) -> Option<u64>;
    /// The text in a field.
    fn text(&self, part: Part, name: Name) -> Option<Cow<'_, [u8]>>;
    /// Its own fields as `name = value`, with a comma between.
    fn detail(&self) -> String;
}
