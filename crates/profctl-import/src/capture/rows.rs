//! Tables of levels: a row a moment, a column a wire.

use super::{Levels, Plan, Sampler};
use crate::emit::Emitter;

/// Which cells of a row are watched.
pub(crate) struct Columns {
    /// Cells and their sources.
    watched: Vec<(usize, usize)>,
    /// Cells a row has.
    pub(crate) n_cells: usize,
}

impl Columns {
    /// The columns that `plan` watches; the first signal stands in cell `first`.
    pub(crate) fn new(plan: &Plan, first: usize, n_signals: usize) -> Self {
        let cell = |(key, source)| (key as usize + first, source);
        Self { watched: plan.sources().map(cell).collect(), n_cells: first + n_signals }
    }

    /// Applies the levels in `cells` and says what they mean.
    pub(crate) fn take(
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
