//! More records than fit in memory, in order: sorted runs in a file, merged as they are taken.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Read as _, Seek as _, SeekFrom, Write as _};
use std::marker::PhantomData;
use std::rc::Rc;

use profctl_analyze::replay::Line;

use crate::spill::Temporary;

/// Bytes that are read of a run at a time.
const BUFFER: usize = 32 << 10;

/// Something that a file holds many of, all of one size.
pub(crate) trait Record: Copy {
    /// Bytes that one takes.
    const BYTES: usize;
    /// Appends it.
    fn append_to(&self, bytes: &mut Vec<u8>);
    /// What [`Self::append_to`] made; nothing of other bytes.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

/// A record that has a place among others.
pub(crate) trait Sortable: Record {
    /// No two records have the same.
    type Key: Ord;
    /// By which they are ordered.
    fn key(&self) -> Self::Key;
}

impl Record for Line {
    const BYTES: usize = Self::BYTES;
    fn append_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.to_bytes());
    }
    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Self::from_bytes(bytes)
    }
}

impl Sortable for Line {
    type Key = (u64, u32, u64);
    fn key(&self) -> Self::Key {
        self.key()
    }
}

/// Sequences of records, one after the other in a file.
pub(crate) struct Runs<T> {
    file: Option<Rc<File>>,
    /// Where each sequence begins; the last number is where the last one ends.
    ends: Vec<u64>,
    of: PhantomData<T>,
}

impl<T: Record> Runs<T> {
    pub(crate) fn new() -> Self {
        Self { file: None, ends: vec![0], of: PhantomData }
    }

    /// Writes one more.
    pub(crate) fn push(&mut self, records: &[T], temporary: &Temporary) -> io::Result<()> {
        let file = match &self.file {
            Some(file) => file,
            None => {
                let path = temporary.path("records")?;
                let mut options = OpenOptions::new();
                let file = options.read(true).write(true).create_new(true).open(path)?;
                self.file.insert(Rc::new(file))
            }
        };
        let mut out = BufWriter::with_capacity(BUFFER, &**file);
        let mut bytes = Vec::with_capacity(T::BYTES);
        for record in records {
            bytes.clear();
            record.append_to(&mut bytes);
            out.write_all(&bytes)?;
        }
        out.flush()?;
        let end = self.ends.last().copied().unwrap_or(0) + (records.len() * T::BYTES) as u64;
        self.ends.push(end);
        Ok(())
    }

    /// All of them, each to be read from its beginning.
    pub(crate) fn read(self) -> Vec<Run<T>> {
        let Some(file) = self.file else { return Vec::new() };
        let runs = self.ends.windows(2);
        runs.map(|ends| Run {
            file: Some(Rc::clone(&file)),
            next: ends[0],
            end: ends[1],
            held: Vec::new(),
        })
        .collect()
    }
}

/// One sequence of records.
pub(crate) struct Run<T> {
    /// Nothing if all of it is in memory.
    file: Option<Rc<File>>,
    /// Where the rest of it is in the file.
    next: u64,
    end: u64,
    /// What was read of it, the next record last.
    held: Vec<T>,
}

impl<T: Record> Run<T> {
    /// One in memory.
    pub(crate) fn of(mut records: Vec<T>) -> Self {
        records.reverse();
        Self { file: None, next: 0, end: 0, held: records }
    }

    fn fill(&mut self) -> io::Result<()> {
        let Some(file) = self.file.as_deref().filter(|_| self.next < self.end) else {
            return Ok(());
        };
        let most = (BUFFER / T::BYTES * T::BYTES) as u64;
        let size = most.min(self.end - self.next);
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(BUFFER)];
        let mut file = file;
        file.seek(SeekFrom::Start(self.next))?;
        file.read_exact(&mut bytes)?;
        self.next += size;
        let records = bytes.chunks_exact(T::BYTES).rev();
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "a temporary file was changed");
        for record in records {
            self.held.push(T::from_bytes(record).ok_or_else(damaged)?);
        }
        Ok(())
    }
}

impl<T: Record> Iterator for Run<T> {
    type Item = io::Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.held.is_empty()
            && let Err(error) = self.fill()
        {
            return Some(Err(error));
        }
        self.held.pop().map(Ok)
    }
}

/// Takes records in any order.
pub(crate) struct Sorter<T> {
    held: Vec<T>,
    /// Records that are sorted in memory.
    most: usize,
    runs: Runs<T>,
}

impl<T: Sortable> Sorter<T> {
    /// None so far; more than `most` go to a file.
    pub(crate) fn new(most: usize) -> Self {
        Self { held: Vec::new(), most: most.max(1), runs: Runs::new() }
    }

    pub(crate) fn push(&mut self, record: T, temporary: &Temporary) -> io::Result<()> {
        self.held.push(record);
        if self.held.len() < self.most {
            return Ok(());
        }
        self.held.sort_unstable_by_key(T::key);
        self.runs.push(&self.held, temporary)?;
        self.held.clear();
        Ok(())
    }

    /// All records, in order.
    pub(crate) fn finish(mut self) -> io::Result<Sorted<T>> {
        self.held.sort_unstable_by_key(T::key);
        self.held.shrink_to_fit();
        let mut runs = self.runs.read();
        runs.push(Run::of(self.held));
        let mut sorted =
            Sorted { next: Vec::with_capacity(runs.len()), runs, first: BinaryHeap::new() };
        for index in 0..sorted.runs.len() {
            sorted.next.push(None);
            sorted.offer(index)?;
        }
        Ok(sorted)
    }
}

/// Records in order.
pub(crate) struct Sorted<T: Sortable> {
    runs: Vec<Run<T>>,
    /// The next record of each run.
    next: Vec<Option<T>>,
    /// Their keys.
    first: BinaryHeap<Reverse<(T::Key, usize)>>,
}

impl<T: Sortable> Sorted<T> {
    /// Lets the next record of a run compete.
    fn offer(&mut self, index: usize) -> io::Result<()> {
        self.next[index] = self.runs[index].next().transpose()?;
        if let Some(record) = &self.next[index] {
            self.first.push(Reverse((record.key(), index)));
        }
        Ok(())
    }

    fn take(&mut self) -> io::Result<Option<T>> {
        let Some(Reverse((_, index))) = self.first.pop() else { return Ok(None) };
        let record = self.next[index].take();
        self.offer(index)?;
        Ok(record)
    }
}

impl<T: Sortable> Iterator for Sorted<T> {
    type Item = io::Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        self.take().transpose()
    }
}

#[cfg(test)]
mod tests {
    use profctl_analyze::replay::Event;
    use profctl_model::Fidelity;

    use super::*;

    #[test]
    fn lines_come_in_order_from_memory_and_disk() {
        let temporary = Temporary::default();
        let mut sorter = Sorter::new(1000);
        let n = 5555;
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
        let mut last = None;
        let mut count = 0;
        for line in sorter.finish().unwrap() {
            let line = line.unwrap();
            assert!(last < Some(line.key()));
            assert_eq!(line.elapsed, line.net + 1);
            assert_eq!(line.fidelity.end_inferred, line.position % 5 == 0);
            last = Some(line.key());
            count += 1;
        }
        assert_eq!(count, n);
    }
}
