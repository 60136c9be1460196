//! Lines as calls, switches and marks.

use std::sync::Arc;

use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};
use profctl_model::hash::FastMap;

use super::line::{Clock, Event, Line, parse};
use crate::emit::{At, Emitter, LaneKey, ThreadKey};
use crate::formats::{Block, Reader, State};
use crate::kernel_events::IrqNames;
use crate::lttng::meaning::{Meaning, meaning};
use crate::lttng::{Part, Site, TracerEvents};
use crate::text;

/// Nanoseconds of a day.
const DAY: u64 = 86_400 * 1_000_000_000;

/// All that blocks are read with.
#[derive(Debug)]
pub(super) struct Contents {
    /// The names of events that the head has.
    pub(super) names: Vec<String>,
}

/// Reads lines.
pub(super) struct Lines {
    contents: Arc<Contents>,
    events: TracerEvents,
    meanings: FastMap<Box<[u8]>, (String, Meaning)>,
}

/// What has to be remembered from one block to the next.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Progress {
    /// The latest time of day, and the midnights that have passed before it.
    latest: u64,
    midnights: u64,
    irqs: IrqNames,
}

impl Lines {
    pub(super) fn new(contents: Contents, events: TracerEvents) -> Self {
        Self { contents: Arc::new(contents), events, meanings: FastMap::default() }
    }

    /// What an event means. Events of one name have one meaning.
    fn learn(&mut self, event: &Event<'_>) {
        if self.meanings.contains_key(event.name) {
            return;
        }
        let name = String::from_utf8_lossy(event.name).into_owned();
        let has = |field: &'static str| event.integer(Part::Own, field).is_some();
        let there = |other: &str| self.contents.names.iter().any(|name| name == other);
        let meaning = meaning(&name, has, there);
        self.meanings.insert(event.name.into(), (name, meaning));
    }
}

impl Progress {
    /// The time of an event in ticks of the trace.
    fn time(&mut self, event: &Event<'_>) -> u64 {
        if event.clock != Clock::OfDay {
            return event.time;
        }
        // What steps back by less is out of order.
        if event.time + DAY / 2 < self.latest {
            self.midnights += 1;
            self.latest = event.time;
        }
        self.latest = self.latest.max(event.time);
        self.midnights.saturating_mul(DAY).saturating_add(event.time)
    }
}

impl Reader for Lines {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self {
            contents: Arc::clone(&self.contents),
            events: self.events.fork(),
            meanings: FastMap::default(),
        })
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        text::last_line_boundary(bytes)
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let before = state.downcast_ref::<Progress>().cloned().unwrap_or_default();
        self.events.begin(&before.irqs);
        let mut progress = before.clone();
        for line in text::lines(block.bytes) {
            out.lines += 1;
            let found = parse(line.text);
            if found == Line::Aside {
                continue;
            }
            out.records += 1;
            match found {
                _ if !line.ended => out.diag(&CUT_RECORD, line.offset, || {
                    format!("the last line stops at `{}`", text::excerpt(line.text))
                }),
                Line::Event(event) => {
                    let time = Some(progress.time(&event));
                    let site = Site { time, cpu: event.cpu(), offset: line.offset };
                    self.learn(&event);
                    if let Some((name, meaning)) = self.meanings.get(event.name) {
                        self.events.say((name, meaning), &event, site, out);
                    }
                }
                Line::Discarded(events) => {
                    let lane = out.lane(LaneKey { cpu: None, thread: ThreadKey::Unstated });
                    out.lost(At { time: None, lane, offset: line.offset }, events);
                }
                Line::Aside => {}
                Line::Other => out.diag(&SKIPPED_RECORD, line.offset, || {
                    let shown = text::excerpt(line.text);
                    format!("found `{shown}`, expected `[TIME] (+DELTA) NAME: {{ FIELDS }}`")
                }),
            }
        }
        progress.irqs = self.events.irqs().clone();
        (progress != before).then(|| Arc::new(progress) as State)
    }
}
