//! Tables of levels: one row per time, one column per wire.

use std::sync::Arc;

use super::{Levels, Plan, Sampler};
use crate::emit::Emitter;
use crate::in_turn::{InTurn, Input};

/// What tables of one kind have of their own.
pub(crate) trait Rows: Send {
    /// The same before the first row.
    fn fork(&self) -> Box<dyn Rows>;
    /// Whether a line is a row of levels.
    fn is_row(&mut self, line: &[u8]) -> bool;
    /// The time of the next row, or what was expected of its cells.
    fn time(&mut self, cells: &[&[u8]]) -> Result<u64, &'static str>;
}

/// Reads a table.
pub(crate) struct Table {
    sampler: Sampler,
    columns: Arc<Columns>,
    separator: u8,
    rows: Box<dyn Rows>,
}

impl Table {
    /// A table with these columns: perhaps a time, then `n_signals` levels.
    pub(crate) fn new(
        plan: &Arc<Plan>,
        (has_time, n_signals): (bool, usize),
        separator: u8,
        rows: Box<dyn Rows>,
    ) -> Self {
        let columns = Arc::new(Columns::new(plan, usize::from(has_time), n_signals));
        Self { sampler: Sampler::new(plan), columns, separator, rows }
    }
}

impl InTurn for Table {
    fn fork(&self) -> Box<dyn InTurn> {
        Box::new(Self {
            sampler: self.sampler.fork(),
            columns: Arc::clone(&self.columns),
            separator: self.separator,
            rows: self.rows.fork(),
        })
    }

    fn read(&mut self, input: &mut Input<'_>, out: &mut Emitter) {
        let mut levels = self.sampler.levels();
        while let Some(line) = input.line() {
            out.lines += 1;
            if !line.text.is_empty() && self.rows.is_row(line.text) {
                out.records += 1;
                let mut row = Vec::with_capacity(self.columns.n_cells);
                cells(line.text, self.separator, &mut row);
                let said = self.rows.time(&row).and_then(|time| {
                    let at = (time, line.offset);
                    self.columns.take(&row, at, &mut self.sampler, &mut levels, out)
                });
                if let Err(expected) = said {
                    out.refuse(&line, expected);
                }
            }
            input.hand_on(out);
        }
    }
}

/// Which cells of a row are watched.
struct Columns {
    /// Cells and their sources.
    watched: Vec<(usize, usize)>,
    /// Cells a row has.
    n_cells: usize,
}

impl Columns {
    /// The columns that `plan` watches; the first signal is in cell `first`.
    fn new(plan: &Plan, first: usize, n_signals: usize) -> Self {
        let cell = |(key, source)| (key as usize + first, source);
        Self { watched: plan.sources().map(cell).collect(), n_cells: first + n_signals }
    }

    /// Applies the levels in `cells` and says what they mean.
    fn take(
        &self,
        cells: &[&[u8]],
        at: (u64, usize),
        sampler: &mut Sampler,
        levels: &mut Levels,
        out: &mut Emitter,
    ) -> Result<(), &'static str> {
        if cells.len() != self.n_cells {
            return Err("as many cells as the head has");
        }
        let level = |&(cell, _): &(usize, usize)| level(cells[cell]);
        if self.watched.iter().any(|watched| level(watched).is_none()) {
            return Err("levels 0, 1 or X");
        }
        let (time, offset) = at;
        // A row of nothing but X is how a recorder says that it was off.
        if !self.watched.is_empty()
            && self.watched.iter().all(|watched| level(watched) == Some((0, 1)))
        {
            sampler.blackout_once(levels, time, offset, out);
            return Ok(());
        }
        for watched in &self.watched {
            if let Some((value, unknown)) = level(watched) {
                sampler.change(levels, watched.1, value, unknown);
            }
        }
        sampler.settle(levels, time, offset, out);
        Ok(())
    }
}

/// The cells of a row, without the spaces around them.
pub(crate) fn cells<'a>(row: &'a [u8], separator: u8, into: &mut Vec<&'a [u8]>) {
    into.clear();
    into.extend(row.split(|&byte| byte == separator).map(<[u8]>::trim_ascii));
}

/// A level, and whether it is neither 0 nor 1.
fn level(cell: &[u8]) -> Option<(u64, u64)> {
    match cell {
        b"0" => Some((0, 0)),
        b"1" => Some((1, 0)),
        b"X" | b"x" | b"Z" | b"z" | b"" => Some((0, 1)),
        _ => None,
    }
}
