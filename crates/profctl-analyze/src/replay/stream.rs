//! The lines of a code trace one by one, for traces that do not fit memory. The result equals that
//! of [`super::table`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use profctl_model::{
    CpuId, Fidelity, FuncId, IdVec, Mark, Names, SpanRow, Table, ThreadId, Tick, Ticks, Timebase,
};

use super::keyed::{Keyed, LeastFirst};
use super::{Content, Event, columns, row};

/// One line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Line {
    /// When, in ticks.
    pub time: u64,
    /// On which thread.
    pub thread: u32,
    /// Its place among the lines of the thread.
    pub position: u64,
    /// Callers.
    pub depth: u32,
    /// The kind of the line.
    pub event: Event,
    /// Of which function.
    pub func: u32,
    /// Where the call ended.
    pub cpu: Option<u32>,
    /// The call's net time, in ticks.
    pub net: u64,
    /// Its elapsed time.
    pub elapsed: u64,
    /// What of it was seen.
    pub fidelity: Fidelity,
}

impl Line {
    /// Bytes that one takes in a file.
    pub const BYTES: usize = 49;

    /// What lines are ordered by: time, then thread, then their order within the thread.
    pub fn key(&self) -> (u64, u32, u64) {
        (self.time, self.thread, self.position)
    }

    /// The lines of a call: where it begins, and where it ends if it made calls. `local` is its
    /// number among the calls of its thread.
    pub fn of(row: &SpanRow, local: u64) -> (Self, Option<Self>) {
        let [line, exit] = Self::ends(row, local);
        (line, (line.event == Event::Enter).then_some(exit))
    }

    /// Where a call begins and where it ends.
    pub fn ends(row: &SpanRow, local: u64) -> [Self; 2] {
        let span = &row.span;
        let is_leaf = span.callees == 0;
        // Before it stand the beginnings of the calls made before it, and the ends of those of them
        // that are not open.
        let before = 2 * local - u64::from(row.depth).min(local);
        let line = Self {
            time: span.start.0,
            thread: span.thread.index() as u32,
            position: before,
            depth: row.depth,
            event: if is_leaf { Event::Leaf } else { Event::Enter },
            func: span.func.index() as u32,
            cpu: span.cpu.map(|cpu| cpu.index() as u32),
            net: span.net.0,
            elapsed: span.elapsed().0,
            fidelity: span.fidelity,
        };
        let position = before + 2 * span.descendants + 1;
        [line, Self { time: span.end.0, position, event: Event::Exit, ..line }]
    }

    /// As a file keeps it.
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        let flags = self.event as u8
            | u8::from(self.fidelity.start_inferred) << 4
            | u8::from(self.fidelity.end_inferred) << 5
            | u8::from(self.fidelity.at_gap) << 6
            | u8::from(self.cpu.is_some()) << 7;
        let fields: [&[u8]; 9] = [
            &self.time.to_le_bytes(),
            &self.position.to_le_bytes(),
            &self.net.to_le_bytes(),
            &self.elapsed.to_le_bytes(),
            &self.thread.to_le_bytes(),
            &self.depth.to_le_bytes(),
            &self.func.to_le_bytes(),
            &self.cpu.unwrap_or(0).to_le_bytes(),
            &[flags],
        ];
        let mut at = 0;
        for field in fields {
            bytes[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        }
        bytes
    }

    /// What [`Self::to_bytes`] made; nothing of other bytes.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let long = |at: usize| Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        let short = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
        let flags = *bytes.get(48)?;
        let has = |bit: u8| flags & 1 << bit != 0;
        Some(Self {
            time: long(0)?,
            position: long(8)?,
            net: long(16)?,
            elapsed: long(24)?,
            thread: short(32)?,
            depth: short(36)?,
            func: short(40)?,
            cpu: has(7).then_some(short(44)?),
            event: match flags & 3 {
                0 => Event::Enter,
                1 => Event::Leaf,
                _ => Event::Exit,
            },
            fidelity: Fidelity { start_inferred: has(4), end_inferred: has(5), at_gap: has(6) },
        })
    }
}

/// Puts marks between the lines of calls and makes rows of both.
#[derive(Debug)]
pub struct Rows {
    timebase: Timebase,
    knows_lengths: bool,
    highlight: Option<Ticks>,
    depth_max: u32,
    /// Marks by time, then thread, then as they came.
    marks: LeastFirst<(Tick, ThreadId, u64), Mark>,
    /// Marks so far.
    n_marks: u64,
    /// How many calls of each thread are open.
    open: IdVec<ThreadId, u32>,
}

impl Rows {
    /// Nothing yet. Levels from `depth_max` on are omitted.
    pub fn new(
        timebase: Timebase,
        knows_lengths: bool,
        highlight: Option<Ticks>,
        depth_max: Option<u32>,
    ) -> Self {
        let depth_max = depth_max.unwrap_or(u32::MAX);
        let (marks, open) = (BinaryHeap::new(), IdVec::default());
        Self { timebase, knows_lengths, highlight, depth_max, marks, n_marks: 0, open }
    }

    /// A table for the next rows.
    pub fn table(&self) -> Table {
        columns(self.timebase)
    }

    /// Takes a mark; before any line that comes after it is added.
    pub fn mark(&mut self, mark: Mark) {
        let key = (mark.time, mark.thread, self.n_marks);
        self.marks.push(Reverse(Keyed { key, item: mark }));
        self.n_marks += 1;
    }

    /// Appends a line, and the marks before it.
    pub fn add(&mut self, line: &Line, names: &Names, table: &mut Table) {
        let thread = ThreadId::from_index(line.thread as usize);
        while let Some(Reverse(next)) = self.marks.peek() {
            if !is_before(&next.item, line, thread) {
                break;
            }
            self.add_mark(names, table);
        }
        let is_shown = line.depth < self.depth_max;
        let open = if line.event == Event::Enter { line.depth + 1 } else { line.depth };
        *self.open.grow_to(thread) = open;
        if !is_shown {
            return;
        }
        let content = Content {
            time: Ticks(line.time),
            thread,
            cpu: line.cpu.map(|cpu| CpuId::from_index(cpu as usize)),
            depth: line.depth,
            event: line.event,
            func: FuncId::from_index(line.func as usize),
            net: Ticks(line.net),
            elapsed: Ticks(line.elapsed),
            fidelity: line.fidelity,
            knows_lengths: self.knows_lengths,
        };
        table.push(row(names, &content, self.highlight));
    }

    /// Appends the marks after the last line.
    pub fn finish(&mut self, names: &Names, table: &mut Table) {
        while !self.marks.is_empty() {
            self.add_mark(names, table);
        }
    }

    fn add_mark(&mut self, names: &Names, table: &mut Table) {
        let Some(Reverse(Keyed { item: mark, .. })) = self.marks.pop() else { return };
        let depth = *self.open.grow_to(mark.thread);
        if depth < self.depth_max {
            table.push(super::mark_row(names, &mark, depth));
        }
    }
}

/// Whether a mark belongs before a line.
fn is_before(mark: &Mark, line: &Line, thread: ThreadId) -> bool {
    if mark.time.0 != line.time {
        return mark.time.0 < line.time;
    }
    if mark.thread != thread {
        return mark.thread < thread;
    }
    match line.event {
        // An exit that closes the call in which the mark was made.
        Event::Exit => line.depth < mark.depth,
        Event::Enter | Event::Leaf => line.depth >= mark.depth,
    }
}
