//! The text of `kdump`, which prints the system calls that `ktrace` recorded on the BSDs.
//!
//! It has times only if kdump was asked for them; text without is refused. Times since the record
//! before (`-R`) are added up, so blocks of such a text are read in order.

use std::sync::Arc;

use profctl_model::{Ticks, Timebase};

use super::{
    Block, Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Reader, Recognition,
    State,
};
use crate::emit::Emitter;
use crate::files::Files;
use crate::text;

mod events;
mod line;
#[cfg(test)]
mod tests;

use events::{Detail, Events};
use line::{Layout, Line};

/// The importer of `kdump`.
pub struct KdumpText;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "kdump",
    about: "text of kdump -T, -E or -R (FreeBSD, NetBSD, OpenBSD): system calls of ktrace",
    recognized: "at least three lines such as `pid command time CALL  name(…)`",
    ..Descriptor::PLAIN
};

/// From this many records on, a text is kdump's.
const RECORDS_SURE: usize = 3;

/// What the stamps of an input count from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Clock {
    /// 1970.
    Absolute,
    /// The first record that was printed.
    Elapsed,
    /// The record before.
    Relative,
}

/// The names for `--dialect`.
const CLOCKS: [(&str, Clock); 3] =
    [("absolute", Clock::Absolute), ("elapsed", Clock::Elapsed), ("relative", Clock::Relative)];

const WITHOUT_TIMES: &str = "kdump text without times: print it again with `kdump -T`, and with \
                             `-H` on FreeBSD and OpenBSD for programs with threads";

/// Absolute times begin here: 2001-09-09, a billion seconds after 1970. Uptimes are shorter.
const EPOCH_NANOS: i128 = 1_000_000_000 * 1_000_000_000;

impl Importer for KdumpText {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let Some(head) = probe.text() else { return Recognition::No };
        let Some((layout, records, others)) = line::survey(head) else { return Recognition::No };
        if others * 4 > records {
            return Recognition::No;
        }
        if layout.stamps == 0 && records >= RECORDS_SURE {
            return Recognition::Neighbor(format!("is {WITHOUT_TIMES}"));
        }
        match records {
            _ if layout.stamps == 0 => Recognition::No,
            0..RECORDS_SURE => Recognition::Maybe(format!("{records} record(s) of kdump")),
            _ => Recognition::Yes("lines `pid command time TYPE  …` of kdump".into()),
        }
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = super::head(files)?;
        let head = &*head.bytes;
        let forced = clock_of(options)?;
        let Some((layout, ..)) = line::survey(head) else {
            let message = "not a kdump line, expected `pid command time CALL  name(…)`";
            return Err(ImportError::whole(message));
        };
        if layout.stamps == 0 {
            return Err(ImportError::whole(WITHOUT_TIMES));
        }
        let (guessed, decimals) = clock(head, layout);
        let clock = forced.unwrap_or(guessed);
        let about = match clock {
            Clock::Absolute => "since 1970 (-T)",
            Clock::Elapsed => "since the first record (-E)",
            Clock::Relative => "since the record before (-R), added up",
        };
        let ids = match layout.ids {
            line::Ids::Process => "of processes only: threads of a process are not distinguished",
            line::Ids::ProcessThread | line::Ids::Slash => "of processes and threads",
        };
        let resolution = Ticks(10_u64.pow(9_u32.saturating_sub(decimals as u32)));
        let mut opened = Opened::lines(
            Timebase { resolution, ..Timebase::NANOSECONDS },
            Box::new(Lines { layout, clock }),
        )
        .with_facts(vec![("times", about.into()), ("ids", ids.into())])
        .with_state(Arc::new(Sum::default()));
        opened.quirks.leaf_ends_are_stamps = false;
        Ok(opened)
    }
}

fn clock_of(options: &ImportOptions) -> Result<Option<Clock>, ImportError> {
    let Some(name) = &options.dialect else { return Ok(None) };
    match CLOCKS.iter().find(|(known, _)| known == name) {
        Some((_, clock)) => Ok(Some(*clock)),
        None => Err(ImportError::whole(format!(
            "unknown dialect `{name}`, expected absolute, elapsed or relative"
        ))),
    }
}

/// What the first stamp of each line counts from, and how many decimals it has. Where several are
/// printed, the first is never the relative one.
fn clock(head: &[u8], layout: Layout) -> (Clock, usize) {
    let mut stamps = Vec::new();
    let mut decimals = 0;
    for line in text::lines(head).filter(|line| line.ended) {
        if let Line::Record(line::Record { stamp: Some(stamp), .. }) =
            line::parse(line.text, layout)
        {
            decimals = decimals.max(stamp.decimals);
            stamps.push(stamp.nanos);
        }
    }
    let steps = stamps.windows(2);
    let (n_steps, back) = (steps.len(), steps.filter(|step| step[1] < step[0]).count());
    let guessed = match stamps.as_slice() {
        [_, second, ..] if *second >= EPOCH_NANOS => Clock::Absolute,
        [first] if *first >= EPOCH_NANOS => Clock::Absolute,
        // What counts from the first record hardly ever steps back; what counts from the record
        // before does so all the time. OpenBSD's first step is all the time since 1970.
        [first, ..] if layout.stamps == 1 && (*first >= EPOCH_NANOS || back * 8 > n_steps) => {
            Clock::Relative
        }
        _ => Clock::Elapsed,
    };
    (guessed, decimals)
}

/// The time of the latest record, for stamps that count from the record before.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Sum(i128);

struct Lines {
    layout: Layout,
    clock: Clock,
}

impl Reader for Lines {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self { layout: self.layout, clock: self.clock })
    }

    /// Before the last line that can begin a record: what follows a record may explain it.
    fn boundary(&self, bytes: &[u8]) -> usize {
        let mut end = text::last_line_boundary(bytes);
        while end > 0 {
            let start = text::last_line_boundary(&bytes[..end - 1]);
            if line::may_be_record(&bytes[start..end - 1]) {
                return start;
            }
            end = start;
        }
        0
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let block = block.bytes;
        let before = state.downcast_ref::<Sum>().copied().unwrap_or_default();
        let Sum(mut sum) = before;
        let mut events = Events::default();
        let mut is_detail = false;
        for line in text::lines(block) {
            out.lines += 1;
            let found = line::parse(line.text, self.layout);
            // Only the line right after a record can hold what a user logged.
            let was_detail = std::mem::replace(&mut is_detail, false);
            match found {
                Line::More if was_detail => events.detail(Detail::of(line.text), out),
                Line::More => {}
                Line::Record(record) => {
                    out.records += 1;
                    let Some(stamp) = record.stamp else { continue };
                    let nanos = match self.clock {
                        Clock::Absolute | Clock::Elapsed => stamp.nanos,
                        Clock::Relative => {
                            sum = sum.saturating_add(stamp.nanos);
                            sum
                        }
                    };
                    // A record of before the first one is assumed to be at it.
                    let time = u64::try_from(nanos.max(0)).unwrap_or(u64::MAX - 1);
                    events.record(&record, time, line.offset, out);
                    is_detail = true;
                }
                Line::Dropped => {
                    out.records += 1;
                    events.dropped(line.offset, out);
                }
                Line::Other => {
                    out.records += 1;
                    let ended = line.ended || !line::may_be_record(line.text);
                    let line = text::Line { ended, ..line };
                    out.refuse(&line, "`pid command time TYPE  …`");
                }
            }
        }
        events.finish(out);
        (self.clock == Clock::Relative && sum != before.0).then(|| Arc::new(Sum(sum)) as State)
    }
}
