//! The text that babeltrace2 and babeltrace 1 print of CTF traces: LTTng, barectf, Zephyr.

use std::sync::Arc;

use profctl_model::{TickUnit, Ticks, Timebase, Timeline};

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition, head};
use crate::files::Files;
use crate::lttng::TracerEvents;
use crate::lttng::meaning::{Meaning, meaning};
use crate::lttng::modules::{Module, Modules};
use crate::symbols::Symbols;
use crate::text;

mod line;
mod read;
#[cfg(test)]
mod tests;

use line::{Clock, Line};
use read::{Contents, Lines};

/// The format `babeltrace`.
pub struct Babeltrace;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "babeltrace",
    about: "text of babeltrace2: traces of LTTng, barectf, Zephyr",
    recognized: "lines `[TIME] (+DELTA) … NAME: { FIELDS }`",
    ..Descriptor::PLAIN
};

/// From this many events on, a text is surely babeltrace's.
const EVENTS_SURE: usize = 3;

/// The events at the head of a text.
fn events(head: &[u8]) -> impl Iterator<Item = line::Event<'_>> {
    let lines = text::lines(head).filter(|line| line.ended);
    lines.filter_map(|line| match line::parse(line.text) {
        Line::Event(event) => Some(event),
        Line::Discarded(_) | Line::Aside | Line::Other => None,
    })
}

impl Importer for Babeltrace {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        // A trace of LTTng's user space begins with a dozen lines of a kilobyte each.
        let mut lines = text::lines(probe.head).filter(|line| line.ended);
        let first = lines.find(|line| !matches!(line::parse(line.text), Line::Aside));
        if !first.is_some_and(|line| matches!(line::parse(line.text), Line::Event(_))) {
            return Recognition::No;
        }
        let found = events(probe.head).take(EVENTS_SURE).count();
        if found < EVENTS_SURE {
            return Recognition::Maybe(format!("{found} event(s) as babeltrace2 prints them"));
        }
        Recognition::Yes("events as babeltrace2 prints them".into())
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = head(files)?;
        let mut names: Vec<&[u8]> = Vec::new();
        let mut mapped = Vec::new();
        let mut clock = None;
        for event in events(&head.bytes) {
            clock.get_or_insert(event.clock);
            if !names.contains(&event.name) {
                names.push(event.name);
            }
            let name = String::from_utf8_lossy(event.name);
            if meaning(&name, |_| true, |_| false) == Meaning::Mapped {
                mapped.extend(Module::of(&event));
            }
        }
        let Some(clock) = clock else {
            let message = "found no event, expected `[TIME] (+DELTA) NAME: { FIELDS }`";
            return Err(ImportError::whole(message));
        };
        let names: Vec<String> =
            names.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
        let unit = match clock {
            Clock::Cycles => TickUnit::Cycles,
            Clock::OfDay | Clock::Date | Clock::Seconds => {
                TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 }
            }
        };
        let facts =
            vec![("clock", clock.about().to_owned()), ("modules", mapped.len().to_string())];
        let symbols = options.symbols.as_ref().map(|file| Symbols::parse(file).map(Arc::new));
        let symbols = symbols.transpose().map_err(ImportError::whole)?;
        let modules = Arc::new(Modules::new(mapped, symbols, options.no_demangle));
        let reader = Lines::new(Contents { names }, TracerEvents::new(modules));
        let timebase = Timebase { unit, resolution: Ticks(1), timeline: Timeline::Recorded };
        Ok(Opened::lines(timebase, Box::new(reader)).with_facts(facts))
    }
}
