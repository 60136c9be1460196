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

/// The thread of an event.
pub(crate) struct Thread<'a> {
    pub(crate) tid: u64,
    pub(crate) pid: Option<u64>,
    /// Empty if it is not said.
    pub(crate) name: Cow<'a, [u8]>,
}

impl Thread<'_> {
    /// The fields of a context that hold the id of a thread, and that of its process: the first
    /// that is there.
    pub(crate) const TID: [Name; 2] = [Name::VirtualTid, Name::Tid];
    pub(crate) const PID: [Name; 2] = [Name::VirtualPid, Name::Pid];

    /// The thread of an event whose fields are found by their names.
    pub(crate) fn by_names(event: &(impl Fields + ?Sized)) -> Option<Thread<'_>> {
        let number =
            |names: [Name; 2]| names.into_iter().find_map(|name| event.number(Part::Context, name));
        Some(Thread {
            tid: number(Self::TID)?,
            pid: number(Self::PID),
            name: event.text(Part::Context, Name::ProcessComm).unwrap_or_default(),
        })
    }
}

/// The fields of an event, by name.
pub(crate) trait Fields {
    /// The integer in a field. Negative ones are those of 64 bits.
    fn number(&self, part: Part, name: Name) -> Option<u64>;
    /// The text in a field.
    fn text(&self, part: Part, name: Name) -> Option<Cow<'_, [u8]>>;
    /// The thread that its contexts name.
    fn thread(&self) -> Option<Thread<'_>> {
        Thread::by_names(self)
    }
    /// Its own fields as `name = value`, with a comma between.
    fn detail(&self) -> String;
}
