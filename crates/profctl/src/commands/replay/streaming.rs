//! Writes the code trace while the trace is read: each line as soon as no other can come before it.
//! If too much has to wait, it waits on disk until the end of the trace.

use std::collections::BTreeSet;
use std::io::{self, Write as _};

use profctl_analyze::replay::{self, Early, Line, Rows};
use profctl_model::{
    CpuId, Mark, Names, Progress, Record, SelectThreads, Span, SpanSink, Table, ThreadId, Timebase,
    TraceMeta,
};
use profctl_render::code_trace::{LaneNames, Writer};

use crate::args::{Global, Selection};
use crate::duration::Length;
use crate::exit::Failure;
use crate::output::NewFile;
use crate::runs::no_room;
use crate::spooled::{About, Calls, Limits, Ordered, Spooled};
use crate::{interrupt, style};

/// Rows that are written at a time.
const PART: usize = 1 << 12;
/// Calls and lines that wait in memory.
const WAITING: usize = 1 << 18;

/// What of a code trace to show.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// Levels.
    pub(super) depth: Option<u32>,
    /// Calls with a longer net time are marked.
    pub(super) highlight: Option<Length>,
}

/// Writes the lines of a trace while it is read.
pub(super) struct Streaming<'a> {
    wanted: Wanted,
    selection: &'a Selection,
    global: &'a Global,
    early: Early,
    /// Calls, once too many wait.
    late: Option<Calls>,
    /// Until the first line.
    marks: Vec<Mark>,
    places: Places,
    lines: Option<Lines>,
    /// Why nothing more is written.
    failed: Option<Failed>,
}

/// Why writing ended.
enum Failed {
    Writing(io::Error),
    Other(Failure),
}

/// What lines are written to.
struct Lines {
    rows: Rows,
    table: Table,
    writer: Writer,
    out: NewFile,
}

impl<'a> Streaming<'a> {
    pub(super) fn new(wanted: Wanted, selection: &'a Selection, global: &'a Global) -> Self {
        Self {
            wanted,
            selection,
            global,
            early: Early::default(),
            late: None,
            marks: Vec::new(),
            places: Places::default(),
            lines: None,
            failed: None,
        }
    }

    /// Ends reading.
    fn fail(&mut self, failed: Failed) {
        self.failed = Some(failed);
        interrupt::stop_reading();
    }

    /// The threads of a selection are known when all is read.
    fn is_early(&self) -> bool {
        self.late.is_none() && self.failed.is_none() && !self.selection.selects_threads()
    }

    fn put_on_disk(&mut self, names: &Names) {
        let mut calls = Calls::new(Limits::default());
        self.early.take_calls(|span| calls.span(span, names));
        self.late = Some(calls);
    }

    /// Drops marks that are not selected.
    fn keep_marks(&mut self, names: &Names) {
        self.selection.keep_marks(&mut self.marks, names);
        for mark in &self.marks {
            self.places.add(mark.thread, None);
        }
    }

    /// Begins to write.
    fn begin(
        &mut self,
        timebase: Timebase,
        knows_lengths: bool,
        lanes: LaneNames,
    ) -> Result<Lines, Failure> {
        let highlight = self.wanted.highlight.map(|length| length.ticks(&timebase, "--highlight"));
        let mut rows =
            Rows::new(timebase, knows_lengths, highlight.transpose()?, self.wanted.depth);
        for mark in std::mem::take(&mut self.marks) {
            rows.mark(mark);
        }
        let writer = Writer::new(lanes, style::of(self.global));
        Ok(Lines { table: rows.table(), rows, writer, out: NewFile::of(self.global)? })
    }

    /// Ends without the rest.
    pub(super) fn give_up(self) -> Result<(), Failure> {
        match (self.failed, self.lines) {
            (Some(Failed::Writing(error)), Some(lines)) => lines.out.close(Err(error)),
            (Some(Failed::Other(failure)), _) => Err(failure),
            _ => Ok(()),
        }
    }

    /// Writes what is left.
    pub(super) fn finish(mut self, names: Names, meta: TraceMeta) -> Result<(), Failure> {
        if self.lines.is_none() {
            self.keep_marks(&names);
            let lanes = self.places.lanes(&names);
            self.lines = Some(self.begin(meta.timebase, meta.knows_lengths(), lanes)?);
        }
        let Some(mut lines) = self.lines else { return Ok(()) };
        let notes = replay::notes(&meta);
        let Some(calls) = self.late else {
            self.early.finish(meta.timebase.microsecond());
            let written = lines.write_all(self.early.map(Ok), &names, notes)?;
            return lines.out.close(written);
        };
        let before = self.early.done();
        let spooled = Spooled::of(calls, names, meta, self.selection);
        let Ordered { rows, about } = spooled.lines(self.early, &before)?;
        let About { names, .. } = &about;
        let written = lines.write_all(rows, names, notes)?;
        lines.out.close(written)
    }
}

impl Lines {
    /// Writes the last rows.
    fn write_all(
        &mut self,
        lines: impl Iterator<Item = io::Result<Line>>,
        names: &Names,
        notes: Vec<String>,
    ) -> Result<io::Result<()>, Failure> {
        for line in lines {
            self.rows.add(&line.map_err(|error| no_room(&error))?, names, &mut self.table);
            if self.table.rows.len() >= PART
                && let Err(error) = self.write()
            {
                return Ok(Err(error));
            }
        }
        self.rows.finish(names, &mut self.table);
        self.table.notes = notes;
        Ok(self.write())
    }

    fn write(&mut self) -> io::Result<()> {
        let written = self.writer.part(&self.table, &mut self.out);
        self.table.rows.clear();
        written
    }
}

impl SpanSink for Streaming<'_> {
    fn span(&mut self, span: &Span, names: &Names) {
        if self.failed.is_some() {
            return;
        }
        let is_new = self.places.add(span.thread, span.cpu);
        if is_new && let Some(lines) = &mut self.lines {
            lines.writer.widen(self.places.lanes(names));
        }
        match &mut self.late {
            Some(calls) => calls.span(span, names),
            None => {
                self.early.span(span);
                if self.early.waiting() > WAITING {
                    self.put_on_disk(names);
                }
            }
        }
    }

    fn record(&mut self, record: Record<'_>, names: &Names) {
        let Record::Mark(mark) = record else { return };
        match &mut self.lines {
            None => self.marks.push(mark.clone()),
            Some(lines) if self.selection.takes_mark(mark, names) => lines.rows.mark(mark.clone()),
            Some(_) => {}
        }
    }

    const WATCHES_PROGRESS: bool = true;

    fn progress(&mut self, progress: &Progress, names: &Names) {
        if !self.is_early() {
            return;
        }
        let Some(until) = self.early.progress(progress) else { return };
        if self.lines.is_none() {
            if !self.early.has_before(until) || self.places.wait(self.early.waiting()) {
                return;
            }
            self.keep_marks(names);
            // A timeline that has come this far knows lengths.
            match self.begin(progress.timebase, true, self.places.lanes(names).so_far()) {
                Ok(lines) => self.lines = Some(lines),
                Err(failure) => return self.fail(Failed::Other(failure)),
            }
        }
        let Some(lines) = &mut self.lines else { return };
        while let Some(line) = self.early.next_before(until) {
            lines.rows.add(&line, names, &mut lines.table);
        }
        if !lines.table.rows.is_empty()
            && let Err(error) = lines.write().and_then(|()| lines.out.flush())
        {
            self.fail(Failed::Writing(error));
        }
    }
}

impl SelectThreads for Streaming<'_> {
    fn separate_threads(&mut self) {}
    fn keep_threads(&mut self, keep: &dyn Fn(ThreadId) -> bool) {
        self.places.all.retain(|(thread, _)| keep(*thread));
        match &mut self.late {
            Some(calls) => calls.keep_threads(keep),
            None => self.early.keep_threads(keep),
        }
    }
}

/// The threads and CPUs that lines name.
#[derive(Default)]
struct Places {
    all: BTreeSet<(ThreadId, Option<CpuId>)>,
    /// What was added last: calls of a thread tend to end where the one before did.
    last: Option<(ThreadId, Option<CpuId>)>,
}

/// Calls and lines of one thread on one CPU after which a trace is treated as one of several.
const OF_ONE: usize = 1 << 14;

impl Places {
    /// Says whether it is a new one.
    fn add(&mut self, thread: ThreadId, cpu: Option<CpuId>) -> bool {
        if self.last == Some((thread, cpu)) {
            return false;
        }
        self.last = Some((thread, cpu));
        self.all.insert((thread, cpu))
    }

    /// Whether there may be another soon, when so much waits.
    fn wait(&self, waiting: usize) -> bool {
        self.all.len() < 2 && waiting < OF_ONE
    }

    fn lanes(&self, names: &Names) -> LaneNames {
        let named = self
            .all
            .iter()
            .map(|&(thread, cpu)| (names.threads[thread].label(), cpu.map(|cpu| names.cpus[cpu])));
        LaneNames::of(named)
    }
}
