//! The CSV: a row at each transition, with the levels of all channels behind the time.

use std::sync::Arc;

use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};

use super::opened;
use super::seconds::nanoseconds;
use crate::capture::rows::{Columns, cells};
use crate::capture::{self, Levels, Sampler, Signal};
use crate::emit::Emitter;
use crate::formats::{Block, ImportError, ImportOptions, Opened, Reader, Recognition, State};
use crate::text;

/// What a spreadsheet may put first.
const BOM: &[u8] = b"\xef\xbb\xbf";
/// What may stand between cells.
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
        return Recognition::Yes("a head with the time in seconds over rows of 0 and 1".into());
    }
    Recognition::No
}

pub(super) fn open(head: &[u8], options: &ImportOptions) -> Result<Opened, ImportError> {
    let Some(Head { separator, names }) = read_head(head) else {
        return Err(ImportError::whole("no head `Time [s],…`, expected the channels there"));
    };
    let signal = |(name, key): (&String, u32)| Signal { name: name.clone(), width: 1, key };
    let signals: Vec<Signal> = names.iter().zip(0..).map(signal).collect();
    let plan = capture::plan(&signals, options)?;
    let mut facts = vec![("signals", signals.len().to_string())];
    facts.extend(plan.facts());
    let sampler = Sampler::new(&plan);
    let start = Point { levels: sampler.levels(), origin: None, past_head: false };
    let columns = Arc::new(Columns::new(&plan, 1, signals.len()));
    let reader = Box::new(Rows { sampler, columns, separator });
    Ok(opened(false, facts, reader, Arc::new(start)))
}

/// What a reader remembers from block to block.
#[derive(Clone, Debug)]
struct Point {
    levels: Levels,
    /// What the clock shows at tick 0: times before the trigger are negative.
    origin: Option<i128>,
    past_head: bool,
}

struct Rows {
    sampler: Sampler,
    columns: Arc<Columns>,
    separator: u8,
}

impl Reader for Rows {
    fn fork(&self) -> Box<dyn Reader> {
        let columns = Arc::clone(&self.columns);
        Box::new(Self { sampler: self.sampler.fork(), columns, separator: self.separator })
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        text::last_line_boundary(bytes)
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let block = block.bytes;
        let mut point = state.downcast_ref::<Point>().expect("a point of this reader").clone();
        let mut row = Vec::with_capacity(self.columns.n_cells);
        for line in text::lines(block) {
            out.lines += 1;
            if !point.past_head {
                point.past_head = true;
                continue;
            }
            if line.text.is_empty() {
                continue;
            }
            out.records += 1;
            cells(line.text, self.separator, &mut row);
            let said = tick(row[0], &mut point.origin).and_then(|time| {
                let at = (time, line.offset);
                self.columns.take(&row, at, &mut self.sampler, &mut point.levels, out)
            });
            let found = || text::excerpt(line.text);
            match said {
                Ok(()) => {}
                Err(_) if !line.ended => out.diag(&CUT_RECORD, line.offset, || {
                    format!("the last line stops at `{}`", found())
                }),
                Err(expected) => out.diag(&SKIPPED_RECORD, line.offset, || {
                    format!("found `{}`, expected {expected}", found())
                }),
            }
        }
        Some(Arc::new(point))
    }
}

/// The tick of a time. Tick 0 is the zero of the clock, or the first time if that is before it.
fn tick(cell: &[u8], origin: &mut Option<i128>) -> Result<u64, &'static str> {
    let time = nanoseconds(cell).ok_or("a time in seconds first")?;
    let origin = origin.get_or_insert_with(|| time.min(0));
    u64::try_from(time.saturating_sub(*origin)).map_err(|_| "a time that is not before the first")
}
