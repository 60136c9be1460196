//! The rows of threads in a table, in the order in which they are met.

use profctl_model::hash::FastMap;

/// Threads whose rows are found in one step; a power of two.
const NEAR: usize = 64;

/// The rows of threads.
#[derive(Debug)]
pub(super) struct Rows {
    all: FastMap<u32, usize>,
    /// The latest thread of each number modulo [`NEAR`], and its row.
    near: [Option<(u32, usize)>; NEAR],
}

impl Default for Rows {
    fn default() -> Self {
        Self { all: FastMap::default(), near: [None; NEAR] }
    }
}

impl Rows {
    /// The row of a thread. One that was not met yet gets the next.
    #[inline]
    pub(super) fn of(&mut self, thread: u32) -> usize {
        let near = thread as usize % NEAR;
        match self.near[near] {
            Some((of, row)) if of == thread => row,
            _ => {
                let next = self.all.len();
                let row = *self.all.entry(thread).or_insert(next);
                self.near[near] = Some((thread, row));
                row
            }
        }
    }

    /// The row of a thread, if it was met.
    pub(super) fn get(&self, thread: u32) -> Option<usize> {
        self.all.get(&thread).copied()
    }

    pub(super) fn clear(&mut self) {
        *self = Self { all: std::mem::take(&mut self.all), ..Self::default() };
        self.all.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_numbered_as_they_are_met() {
        let mut rows = Rows::default();
        let met = [7, 7 + NEAR as u32, 7, 3, 7 + NEAR as u32];
        assert_eq!(met.map(|thread| rows.of(thread)), [0, 1, 0, 2, 1]);
        assert_eq!((rows.get(3), rows.get(4)), (Some(2), None));
        rows.clear();
        assert_eq!((rows.get(3), rows.of(3), rows.of(7)), (None, 0, 1));
    }
}
