//! The text of `otf2-print`, which shows the archives of Score-P, TAU and other tools of parallel
//! computing.
//!
//! With `-A` or `-G` the definitions come first, with the length of a tick and the names of the
//! processes; without, times stay ticks.

use profctl_model::{FuncKind, TickUnit};

use super::{
    Block, Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Reader, Recognition,
    State, head,
};
use crate::emit::{At, Emitter, LaneKey, LaneRef, Stated, ThreadKey, ThreadName};
use crate::files::Files;
use crate::text;

mod line;
#[cfg(test)]
mod tests;

use line::{Line, Record};

/// The importer of `otf2`.
pub struct Otf2Print;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "otf2",
    about: "text of otf2-print, best with -A: traces of Score-P, TAU, HPX and other HPC tools",
    recognized: "first line `=== OTF2-PRINT ===`",
    ..Descriptor::PLAIN
};

const FIRST: &[u8] = b"=== OTF2-PRINT ===";

impl Importer for Otf2Print {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        // Older versions print an empty line first.
        let mut lines = text::lines(probe.head).take(3);
        if lines.any(|line| line.text == FIRST) {
            return Recognition::Yes("first line `=== OTF2-PRINT ===`".into());
        }
        Recognition::No
    }

    fn open(&self, files: &dyn Files, _options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = head(files)?;
        let rate = text::lines(&head.bytes).find_map(|line| match line::parse(line.text) {
            Line::Clock(rate) => Some(rate),
            _ => None,
        });
        let (unit, fact) = match rate {
            Some(rate) => (
                TickUnit::Seconds { numerator: 1, denominator: rate },
                format!("{rate} ticks per second"),
            ),
            None => {
                (TickUnit::Cycles, "ticks of unknown length; `otf2-print -A` prints it".to_owned())
            }
        };
        let timebase = super::recorded(unit);
        Ok(Opened::lines(timebase, Box::new(Lines)).with_facts(vec![("clock", fact)]))
    }
}

/// Reads lines.
struct Lines;

impl Reader for Lines {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self)
    }

    fn read(&mut self, block: &Block<'_>, _state: &State, out: &mut Emitter) -> Option<State> {
        for line in text::lines(block.bytes) {
            out.lines += 1;
            match line::parse(line.text) {
                Line::Clock(_) | Line::Aside => {}
                Line::Location { id, name, group } => {
                    let name = location_name(name, group);
                    let lane = out.lane(LaneKey { cpu: None, thread: ThreadKey::Tid(id, name) });
                    let tid = ThreadName { tid: Some(id), ..ThreadName::default() };
                    out.name_thread(lane, line.offset, tid);
                }
                Line::Record(record) if line.ended => {
                    out.records += 1;
                    say(&record, line.offset, out);
                }
                Line::Record(_) | Line::Other => {
                    out.records += 1;
                    out.refuse(&line, "`EVENT  LOCATION  TIMESTAMP  …`");
                }
            }
        }
        None
    }
}

/// The process and the thread in it. That of a process without threads says nothing.
fn location_name(name: &[u8], group: &[u8]) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match (group, name) {
        (b"", name) => text(name),
        (group, b"" | b"Master thread") => text(group),
        (group, name) => format!("{}/{}", text(group), text(name)),
    }
}

fn say(record: &Record<'_>, offset: usize, out: &mut Emitter) {
    let lane: LaneRef =
        out.lane(LaneKey { cpu: None, thread: ThreadKey::Tid(record.location, String::new()) });
    let at = At { time: Some(record.time), lane, offset };
    let lossy = String::from_utf8_lossy;
    match (record.event, record.region) {
        (b"ENTER", Some(region)) => {
            let name = out.func(&lossy(region), FuncKind::Function);
            out.enter(at, name, Stated::NOTHING);
        }
        (b"LEAVE", Some(region)) => {
            let name = out.func(&lossy(region), FuncKind::Function);
            out.exit(at, Some(name), Stated::NOTHING);
        }
        (event, _) => {
            let spelling = [b"\0", event].concat();
            let name = out.name(&spelling, |_| profctl_model::Func {
                name: lossy(event).into_owned(),
                kind: FuncKind::Mark,
                ..profctl_model::Func::default()
            });
            out.instant_with(at, name, &lossy(record.attributes));
        }
    }
}
