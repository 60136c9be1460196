//! The tables as which traces leave for SQL, Parquet, CSV and JSON lines: their columns, in one
//! place for those who fill them and those who store them.
//!
//! `docs/schemas/tables.md` describes them for readers; a test compares the two.

use crate::table::{Column, Role, Table};
use crate::time::Timebase;

/// What the values of a column are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnKind {
    /// One of few texts, which repeat.
    Name,
    /// Any text.
    Text,
    /// A point on the clock or a length, in the unit of the tables.
    Time,
    /// A number of things, or a number that stands for something.
    Count,
    /// A small number, which is kept in half the space.
    Small,
    /// 1 or 0.
    Flag,
    /// A share in percent.
    Percent,
}

impl ColumnKind {
    /// The type in SQL.
    pub fn sql(self) -> &'static str {
        match self {
            Self::Name | Self::Text => "VARCHAR",
            Self::Time | Self::Count => "BIGINT",
            Self::Small | Self::Flag => "INTEGER",
            Self::Percent => "DOUBLE",
        }
    }

    fn role(self) -> Role {
        match self {
            Self::Name | Self::Text => Role::Text,
            Self::Time => Role::Time,
            Self::Count | Self::Small | Self::Flag => Role::Count,
            Self::Percent => Role::Percent,
        }
    }
}

/// A column of a table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ColumnSchema {
    /// Its name in every output.
    pub name: &'static str,
    /// What its values are.
    pub kind: ColumnKind,
    /// One line: what a value means.
    pub about: &'static str,
}

/// A table and its columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TableSchema {
    /// Its name in SQL and on the command line.
    pub name: &'static str,
    /// Its name and version in files.
    pub version: &'static str,
    /// One line: what a row is.
    pub about: &'static str,
    /// The columns, in order.
    pub columns: &'static [ColumnSchema],
}

impl TableSchema {
    /// The table without rows.
    ///
    /// Times in it are integers of a unit stated in the metadata, not cells of kind time.
    pub fn empty(&self) -> Table {
        let column =
            |column: &ColumnSchema| Column::new(column.name, column.name, column.kind.role());
        let columns = self.columns.iter().map(column).collect();
        Table::new(self.version, Timebase::NANOSECONDS, columns)
    }
}

const fn column(name: &'static str, kind: ColumnKind, about: &'static str) -> ColumnSchema {
    ColumnSchema { name, kind, about }
}

use ColumnKind::{Count, Flag, Name, Percent, Small, Text, Time};

const RUN: ColumnSchema = column("run", Name, "trace, as in `runs`");

/// One row per call.
pub static SPANS: TableSchema = TableSchema {
    name: "spans",
    version: "profctl.spans/1",
    about: "a call: a function from entry to exit",
    columns: &[
        RUN,
        column("id", Count, "number within the run, from 0: by thread, then in order of entry"),
        column("parent", Count, "id of the caller; null if there is none"),
        column("name", Name, "the function"),
        column("module", Name, "module of the function; null if unknown"),
        column("kind", Name, "function, syscall, interrupt, idle, switch or mark"),
        column("thread", Name, "thread on whose stack it ran: name and id"),
        column("cpu", Small, "CPU on which it ended; null if unknown"),
        column("depth", Small, "number of callers on the stack"),
        column("start", Time, "entry, on the clock of the run"),
        column("end", Time, "exit"),
        column("wall", Time, "exit minus entry"),
        column(
            "off_cpu",
            Time,
            "part of wall in which the thread was switched out; null if unknown",
        ),
        column("elapsed", Time, "wall minus off_cpu: inclusive time"),
        column("net", Time, "exclusive time: elapsed minus that of its direct callees"),
        column("stolen", Time, "elapsed time of the interrupts that interrupted it"),
        column("partial", Flag, "1 if entry or exit was not recorded"),
        column("outermost", Flag, "0 if the function was already on the stack: recursion"),
        column("in_interrupt", Flag, "1 if it ran in an interrupt"),
    ],
};

/// One row per function.
pub static FUNCTIONS: TableSchema = TableSchema {
    name: "functions",
    version: "profctl.functions/1",
    about: "a function, with the figures of `summarize`",
    columns: &[
        RUN,
        column("name", Name, "the function"),
        column("module", Name, "module of the function; null if unknown"),
        column("kind", Name, "function, syscall, interrupt, idle, switch or mark"),
        column("calls", Count, "complete calls"),
        column("partial", Count, "incomplete calls: entry or exit was not recorded"),
        column("wall", Time, "exit minus entry, over outermost calls"),
        column(
            "off_cpu",
            Time,
            "part of wall in which the thread was switched out; null if unknown",
        ),
        column("elapsed", Time, "wall minus off_cpu, over outermost calls"),
        column("net", Time, "exclusive time, over all calls"),
        column("stolen", Time, "elapsed time of the interrupts that interrupted it"),
        column("net_min", Time, "minimum of net over complete calls; null if there are none"),
        column("net_avg", Time, "mean, rounded down"),
        column("net_max", Time, "maximum"),
        column("net_stddev", Time, "standard deviation, rounded down"),
        column("net_p50", Time, "median of net, to within 1/32"),
        column("net_p90", Time, "90th percentile of net"),
        column("net_p99", Time, "99th percentile of net"),
        column("elapsed_min", Time, "minimum of elapsed over complete calls"),
        column("elapsed_avg", Time, "mean, rounded down"),
        column("elapsed_max", Time, "maximum"),
        column("elapsed_p50", Time, "median of elapsed, to within 1/32"),
        column("elapsed_p90", Time, "90th percentile of elapsed"),
        column("elapsed_p99", Time, "99th percentile of elapsed"),
        column("real_pct", Percent, "net in percent of real times CPUs"),
        column("net_pct", Percent, "net in percent of busy; null for idle functions"),
    ],
};

/// One row per thread.
pub static THREADS: TableSchema = TableSchema {
    name: "threads",
    version: "profctl.threads/1",
    about: "a thread, process or interrupt stack",
    columns: &[
        RUN,
        column("thread", Name, "name and id, as in `spans`"),
        column("name", Name, "command or thread name"),
        column("tid", Count, "thread id of the system; null if unknown"),
        column("pid", Count, "process id, where the input has one"),
        column("idle", Flag, "1 for an idle task"),
        column("calls", Count, "number of its rows in `spans`"),
    ],
};

/// One row per event that is not a call.
pub static EVENTS: TableSchema = TableSchema {
    name: "events",
    version: "profctl.events/1",
    about: "an interval on a CPU, a wakeup or an instant",
    columns: &[
        RUN,
        column("kind", Name, "slice, wake or mark"),
        column("start", Time, "time, or start of the interval"),
        column("end", Time, "end of the interval; equal to start for wakeups and marks"),
        column("thread", Name, "thread that ran, was woken or recorded the mark"),
        column("cpu", Small, "CPU of a slice, else null"),
        column("name", Name, "name of a mark, else null"),
        column("waker", Name, "waker of a wakeup; null if unknown"),
        column(
            "preempted",
            Flag,
            "1 if the thread was still runnable at the end of a slice, else null",
        ),
        column("detail", Name, "arguments of a mark or value of a counter, else null"),
    ],
};

/// One row per state of a thread.
pub static STATES: TableSchema = TableSchema {
    name: "states",
    version: "profctl.states/1",
    about: "an interval in which a thread was in one state",
    columns: &[
        RUN,
        column("thread", Name, "thread: name and id"),
        column(
            "state",
            Name,
            "running, runnable-woken, runnable-preempted, runnable-new, sleeping, uninterruptible, \
             stopped, dead or unknown",
        ),
        column("start", Time, "start, on the clock of the run"),
        column("end", Time, "end"),
        column("cpu", Small, "CPU it ran on, was queued on or had left; null if unknown"),
        column("function", Name, "off the CPU: the innermost call when it left; null if unknown"),
        column("waker", Name, "thread that made it runnable; null if none or unknown"),
        column("waker_context", Name, "task, hardirq, softirq, hardirq-in-softirq or unknown"),
        column("source", Name, "interrupt or idle loop that made it runnable, else null"),
        column("start_seen", Flag, "1 if the record that began it was seen"),
        column("end_seen", Flag, "1 if the record that ended it was seen"),
    ],
};

/// One row per waking.
pub static WAKES: TableSchema = TableSchema {
    name: "wakes",
    version: "profctl.wakes/1",
    about: "a waking of a thread",
    columns: &[
        RUN,
        column("time", Time, "time, on the clock of the run"),
        column("woken", Name, "thread that was to become runnable"),
        column("waker", Name, "thread that woke it; null if none or unknown"),
        column("waker_context", Name, "task, hardirq, softirq, hardirq-in-softirq or unknown"),
        column("source", Name, "interrupt or idle loop that woke it, else null"),
        column("cpu", Small, "CPU on which it was recorded; null if unknown"),
        column("effect", Name, "woke, started, or redundant if it was not blocked"),
    ],
};

/// One row per loss.
pub static GAPS: TableSchema = TableSchema {
    name: "gaps",
    version: "profctl.gaps/1",
    about: "a place where the recorder lost events",
    columns: &[
        RUN,
        column("time", Time, "last timestamp before the loss"),
        column("cpu", Small, "CPU whose events are missing; null if unknown"),
        column("lost", Count, "number of lost events; null if unknown"),
    ],
};

/// One row per diagnostic code.
pub static QUALITY: TableSchema = TableSchema {
    name: "quality",
    version: "profctl.quality/1",
    about: "a kind of repair, loss or skipped input",
    columns: &[
        RUN,
        column("code", Name, "diagnostic code, see docs/diagnostics.md"),
        column("severity", Name, "info, warning, data-loss or error"),
        column("count", Count, "number of occurrences"),
    ],
};

/// One row per trace.
pub static RUNS: TableSchema = TableSchema {
    name: "runs",
    version: "profctl.runs/1",
    about: "a trace, or a saved profile",
    columns: &[
        RUN,
        column("path", Text, "path as given"),
        column("format", Name, "recognized format"),
        column("bytes", Count, "size after decompression"),
        column("unit", Name, "unit of times"),
        column("timeline", Name, "recorded, or synthetic if the input has durations only"),
        column("resolution", Time, "resolution of durations"),
        column("real", Time, "last timestamp minus the first"),
        column("lanes", Count, "CPUs seen, at least 1"),
        column("busy", Time, "net time of all functions that are not idle"),
        column("idle", Time, "real times lanes, minus busy"),
        column("calls", Count, "complete calls"),
        column("partial", Count, "incomplete calls: entry or exit was not recorded"),
        column("events", Count, "records read"),
        column("functions", Count, "functions called"),
        column("threads", Count, "threads that made calls"),
        column("complete", Flag, "1 if nothing was lost, truncated or skipped"),
        column("lost_events", Count, "lost events; null if unknown"),
    ],
};

/// Every table, the largest first.
pub static ALL: [&TableSchema; 9] =
    [&SPANS, &FUNCTIONS, &THREADS, &STATES, &WAKES, &EVENTS, &GAPS, &QUALITY, &RUNS];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_every_table_has_its_run() {
        for table in ALL {
            assert_eq!(table.columns[0].name, "run", "{}", table.name);
            assert_eq!(table.version, format!("profctl.{}/1", table.name));
            let mut names: Vec<_> = table.columns.iter().map(|column| column.name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), table.columns.len(), "{}", table.name);
        }
    }
}
