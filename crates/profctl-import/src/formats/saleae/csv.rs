//! The CSV: a row at each transition, with the levels of all channels after the time.

use profctl_model::Timebase;

use super::seconds::nanoseconds;
use crate::capture::rows::{Rows, Table, cells};
use crate::capture::{self, Signal};
use crate::formats::{ImportError, ImportOptions, Opened, Recognition};
use crate::text;

/// What a spreadsheet may put first.
const BOM: &[u8] = b"\xef\xbb\xbf";
/// What may be between cells.
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];
/// The head of the column for the time; the last one if times are dates.
const TIMES: [&[u8]; 3] = [b"Time [s]", b"Time[s]", b"Time"];

/// The first line.
struct Head {
    separator: u8,
    names: Vec<String>,
}

fn read_head(head: &[u8]) -> Option<Head> {
    let line = text::lines(head.strip_prefix(BOM).unwrap_or(head)).next()?;
    let quoted = |cell: &[u8]| {
        let cell =
            cell.strip_prefix(b"\"").and_then(|cell| cell.strip_suffix(b"\"")).unwrap_or(cell);
        String::from_utf8_lossy(cell).into_owned()
    };
    let mut row = Vec::new();
    for separator in SEPARATORS {
        cells(line.text, separator, &mut row);
        let time = quoted(row.first()?);
        if row.len() > 1 && TIMES.contains(&time.as_bytes()) {
            return Some(Head {
                separator,
                names: row[1..].iter().map(|cell| quoted(cell)).collect(),
            });
        }
    }
    None
}

pub(super) fn sniff(head: &[u8]) -> Recognition {
    let Some(Head { separator, names }) = read_head(head) else { return Recognition::No };
    let mut row = Vec::new();
    let first = text::lines(head).nth(1).filter(|line| line.ended);
    // A table of something else may have a time too: the first row must be levels.
    let is_ours = first.is_none_or(|line| {
        cells(line.text, separator, &mut row);
        row.len() == names.len() + 1
            && nanoseconds(row[0]).is_some()
            && row[1..].iter().all(|cell| matches!(*cell, b"0" | b"1" | b"X"))
    });
    if is_ours {
        return Recognition::Yes("a header with the time in seconds over rows of 0 and 1".into());
    }
    Recognition::No
}

pub(super) fn open(head: &[u8], options: &ImportOptions) -> Result<Opened, ImportError> {
    let Some(Head { separator, names }) = read_head(head) else {
        return Err(ImportError::whole("no header `Time [s],…`, expected the channels there"));
    };
    let signal = |(name, key): (&String, u32)| Signal { name: name.clone(), width: 1, key };
    let signals: Vec<Signal> = names.iter().zip(0..).map(signal).collect();
    let plan = capture::plan(&signals, options)?;
    let mut facts = vec![("signals", signals.len().to_string())];
    facts.extend(plan.facts());
    let rows = Box::new(Transitions { origin: None, past_head: false });
    let table = Table::new(&plan, (true, signals.len()), separator, rows);
    Ok(Opened::in_turn(Timebase::NANOSECONDS, Box::new(table)).with_lines().with_facts(facts))
}

/// A row for each transition.
struct Transitions {
    /// What the clock shows at tick 0: times before the trigger are negative.
    origin: Option<i128>,
    past_head: bool,
}

impl Rows for Transitions {
    fn fork(&self) -> Box<dyn Rows> {
        Box::new(Self { origin: None, past_head: false })
    }

    fn is_row(&mut self, _line: &[u8]) -> bool {
        std::mem::replace(&mut self.past_head, true)
    }

    fn time(&mut self, cells: &[&[u8]]) -> Result<u64, &'static str> {
        tick(cells[0], &mut self.origin)
    }
}

/// The tick of a time. Tick 0 is the zero of the clock, or the first time if that is before it.
fn tick(cell: &[u8], origin: &mut Option<i128>) -> Result<u64, &'static str> {
    let time = nanoseconds(cell).ok_or("a time in seconds first")?;
    let origin = origin.get_or_insert_with(|| time.min(0));
    u64::try_from(time.saturating_sub(*origin)).map_err(|_| "a time that is not before the first")
}
