//! Lines of a replay in the order of time, however many there are: sorted runs in a file, merged as
//! they are taken.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use profctl_analyze::replay::Line;

use crate::spill::Temporary;

/// Lines that are sorted in memory.
const RUN: usize = 1 << 18;
/// Bytes that are read of a run at a time.
const BUFFER: usize = 64 << 10;

/// Takes lines in any order.
pub(crate) struct Sorter {
    lines: Vec<Line>,
    file: Option<File>,
    /// Where each run in the file begins; the last number is where the last run ends.
    ends: Vec<u64>,
}

impl Sorter {
    pub(crate) fn new() -> Self {
        Self { lines: Vec::new(), file: None, ends: vec![0] }
    }

    pub(crate) fn push(&mut self, line: Line, temporary: &Temporary) -> io::Result<()> {
        self.lines.push(line);
        if self.lines.len() < RUN {
            return Ok(());
        }
        self.lines.sort_unstable_by_key(Line::key);
        let mut bytes = Vec::with_capacity(RUN * Line::BYTES);
        for line in self.lines.drain(..) {
            bytes.extend(line.to_bytes());
        }
        let file = match &mut self.file {
            Some(file) => file,
            None => {
                let path = temporary.path("lines");
                let mut options = OpenOptions::new();
                let file = options.read(true).write(true).create_new(true).open(path)?;
                self.file.insert(file)
            }
        };
        file.write_all(&bytes)?;
        let end = self.ends.last().copied().unwrap_or(0) + bytes.len() as u64;
        self.ends.push(end);
        Ok(())
    }

    /// All lines, in order.
    pub(crate) fn finish(mut self) -> io::Result<Sorted> {
        self.lines.sort_unstable_by_key(Line::key);
        self.lines.reverse();
        let runs =
            self.ends.windows(2).map(|ends| Run { next: ends[0], end: ends[1], lines: Vec::new() });
        let mut sorted = Sorted {
            file: self.file,
            runs: runs.chain([Run { next: 0, end: 0, lines: self.lines }]).collect(),
            first: BinaryHeap::new(),
        };
        for run in 0..sorted.runs.len() {
            sorted.offer(run)?;
        }
        Ok(sorted)
    }
}

/// Lines in order.
pub(crate) struct Sorted {
    file: Option<File>,
    runs: Vec<Run>,
    /// The first line of each run that has one.
    first: BinaryHeap<Reverse<(Key, usize)>>,
}

/// What lines are ordered by.
type Key = (u64, u32, u64);

struct Run {
    /// Where the rest of it is in the file.
    next: u64,
    end: u64,
    /// What was read of it, the next line last.
    lines: Vec<Line>,
}

impl Sorted {
    /// The next line.
    pub(crate) fn next(&mut self) -> io::Result<Option<Line>> {
        let Some(Reverse((_, run))) = self.first.pop() else { return Ok(None) };
        let line = self.runs[run].lines.pop();
        self.offer(run)?;
        Ok(line)
    }

    /// Lets the next line of a run compete.
    fn offer(&mut self, index: usize) -> io::Result<()> {
        let run = &mut self.runs[index];
        if let Some(file) =
            self.file.as_mut().filter(|_| run.lines.is_empty() && run.next < run.end)
        {
            let most = (BUFFER / Line::BYTES * Line::BYTES) as u64;
            let size = most.min(run.end - run.next);
            let mut bytes = vec![0; usize::try_from(size).unwrap_or(BUFFER)];
            file.seek(SeekFrom::Start(run.next))?;
            file.read_exact(&mut bytes)?;
            run.next += size;
            let lines = bytes.chunks_exact(Line::BYTES).rev();
            run.lines = lines.filter_map(Line::from_bytes).collect();
        }
        if let Some(line) = run.lines.last() {
            self.first.push(Reverse((line.key(), index)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use profctl_analyze::replay::Event;
    use profctl_model::Fidelity;

    use super::*;

    #[test]
    fn lines_come_in_order_from_memory_and_disk() {
        let temporary = Temporary::new().unwrap();
        let mut sorter = Sorter::new();
        let n = (RUN * 2 + 1000) as u64;
        for i in 0..n {
            let line = Line {
                time: (i * 7919) % n,
                thread: (i % 3) as u32,
                position: i,
                depth: 3,
                event: Event::Leaf,
                func: 9,
                cpu: Some(2),
                net: i,
                elapsed: i + 1,
                fidelity: Fidelity { end_inferred: i % 5 == 0, ..Fidelity::EXACT },
            };
            sorter.push(line, &temporary).unwrap();
        }
        let mut sorted = sorter.finish().unwrap();
        let mut last = None;
        let mut count = 0;
        while let Some(line) = sorted.next().unwrap() {
            assert!(last < Some(line.key()));
            assert_eq!(line.elapsed, line.net + 1);
            assert_eq!(line.fidelity.end_inferred, line.position % 5 == 0);
            last = Some(line.key());
            count += 1;
        }
        assert_eq!(count, n);
    }
}
