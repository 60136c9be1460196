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
    /// A small number, which is kept in half the room.
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
    /// In their order.
    pub columns: &'static [ColumnSchema],
}

impl TableSchema {
    /// The table without rows.
    ///
    /// Times in it are counts of a unit that is told beside it, so they are no cells of kind time.
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

const RUN: ColumnSchema = column("run", Name, "the trace, as `runs` lists it");

/// A row a call.
pub static SPANS: TableSchema = TableSchema {
    name: "spans",
    version: "profctl.spans/1",
    about: "a call: a function from entry to exit",
    columns: &[
        RUN,
        column("id", Count, "its number within the run, from 0: by thread, then in order of entry"),
        column("parent", Count, "the id of its caller; null if it has none"),
        column("name", Name, "the function"),
        column("module", Name, "where the function lives; null if the input does not say"),
        column("kind", Name, "function, syscall, interrupt, idle, switch or mark"),
        column("thread", Name, "on whose stack: name and id of the thread"),
        column("cpu", Small, "the CPU on which it ended; null if the input does not say"),
        column("depth", Small, "number of callers"),
        column("start", Time, "entry, on the clock of the run"),
        column("end", Time, "exit; where SQL takes it for a keyword, write \"end\""),
        column("wall", Time, "from entry to exit"),
        column("off_cpu", Time, "the part of it switched out; null if the input cannot say"),
        column("elapsed", Time, "wall less off_cpu: time inside it and all it called"),
        column("net", Time, "time of its own: elapsed less that of its direct callees"),
        column("stolen", Time, "elapsed time of the interrupts that hit it"),
        column("partial", Flag, "1 if entry or exit was not seen"),
        column("outermost", Flag, "0 if the function was already open below it: recursion"),
    ],
};

/// A row a function.
pub static FUNCTIONS: TableSchema = TableSchema {
    name: "functions",
    version: "profctl.functions/1",
    about: "a function: the figures of `summarize`",
    columns: &[
        RUN,
        column("name", Name, "the function"),
        column("module", Name, "where it lives; null if the input does not say"),
        column("kind", Name, "function, syscall, interrupt, idle, switch or mark"),
        column("calls", Count, "calls seen from entry to exit"),
        column("partial", Count, "calls of which entry or exit was not seen"),
        column("wall", Time, "from entry to exit, over outermost calls"),
        column("off_cpu", Time, "the part of it switched out; null if the input cannot say"),
        column("elapsed", Time, "wall less off_cpu, over outermost calls"),
        column("net", Time, "time of its own, over all calls"),
        column("stolen", Time, "elapsed time of the interrupts that hit it"),
        column("net_min", Time, "the least net of a complete call; null if there was none"),
        column("net_avg", Time, "the mean, rounded down"),
        column("net_max", Time, "the most"),
        column("net_stddev", Time, "the standard deviation, rounded down"),
        column("net_p50", Time, "the median of net, to within 1/64"),
        column("net_p90", Time, "its 90th percentile"),
        column("net_p99", Time, "its 99th percentile"),
        column("elapsed_min", Time, "the least elapsed of a complete call"),
        column("elapsed_avg", Time, "the mean, rounded down"),
        column("elapsed_max", Time, "the most"),
        column("elapsed_p50", Time, "the median of elapsed, to within 1/64"),
        column("elapsed_p90", Time, "its 90th percentile"),
        column("elapsed_p99", Time, "its 99th percentile"),
        column("real_pct", Percent, "net in percent of the time that there was"),
        column("net_pct", Percent, "net in percent of the busy time; null if it idles"),
    ],
};

/// A row a thread.
pub static THREADS: TableSchema = TableSchema {
    name: "threads",
    version: "profctl.threads/1",
    about: "a thread, process or interrupt stack",
    columns: &[
        RUN,
        column("thread", Name, "name and id, as in `spans`"),
        column("name", Name, "the command or thread name"),
        column("tid", Count, "the id that the system gave it; null if the input does not say"),
        column("pid", Count, "its process, where that is told apart"),
        column("idle", Flag, "1 for an idle task"),
        column("calls", Count, "its rows in `spans`"),
    ],
};

/// A row an event that is no call.
pub static EVENTS: TableSchema = TableSchema {
    name: "events",
    version: "profctl.events/1",
    about: "a stretch on a CPU, a wakeup or an instant",
    columns: &[
        RUN,
        column("kind", Name, "slice, wake or mark"),
        column("start", Time, "when, or from when"),
        column("end", Time, "to when; the same for what has no length"),
        column("thread", Name, "who ran, became runnable, or was there"),
        column("cpu", Small, "where it ran; null but for slices"),
        column("name", Name, "what happened; null but for marks"),
        column("waker", Name, "who woke it; null but for wakeups, and if the input does not say"),
        column("preempted", Flag, "1 if it was still runnable when it left; null but for slices"),
        column(
            "detail",
            Name,
            "arguments of the event or value of the counter; null but for marks",
        ),
    ],
};

/// A row a loss.
pub static GAPS: TableSchema = TableSchema {
    name: "gaps",
    version: "profctl.gaps/1",
    about: "a place where the recorder lost events",
    columns: &[
        RUN,
        column("time", Time, "the last time known before it"),
        column("cpu", Small, "whose events are missing; null if it may be any"),
        column("lost", Count, "how many; null if the recorder does not say"),
    ],
};

/// A row a diagnostic code.
pub static QUALITY: TableSchema = TableSchema {
    name: "quality",
    version: "profctl.quality/1",
    about: "something that was repaired, lost or skipped",
    columns: &[
        RUN,
        column("code", Name, "which; docs/diagnostics.md lists them"),
        column("severity", Name, "info, warning, data-loss or error"),
        column("count", Count, "how often"),
    ],
};

/// A row a trace.
pub static RUNS: TableSchema = TableSchema {
    name: "runs",
    version: "profctl.runs/1",
    about: "a trace, or a saved profile",
    columns: &[
        RUN,
        column("path", Text, "as it was given"),
        column("format", Name, "what it was taken for"),
        column("bytes", Count, "its size after decompression"),
        column("unit", Name, "what times are counted in"),
        column("timeline", Name, "recorded, or synthetic if the input has durations only"),
        column("resolution", Time, "the smallest step in which durations are stated"),
        column("real", Time, "last timestamp less the first"),
        column("lanes", Count, "CPUs seen, at least 1"),
        column("busy", Time, "net time of all that is not idle"),
        column("idle", Time, "real times lanes, less busy"),
        column("calls", Count, "calls seen from entry to exit"),
        column("partial", Count, "calls of which entry or exit was not seen"),
        column("events", Count, "records read"),
        column("functions", Count, "functions called"),
        column("threads", Count, "threads that made calls"),
        column("complete", Flag, "1 if nothing was lost, cut or skipped"),
        column("lost_events", Count, "events lost; null if the recorder did not always say"),
    ],
};

/// Every table, the largest first.
pub static ALL: [&TableSchema; 7] = [&SPANS, &FUNCTIONS, &THREADS, &EVENTS, &GAPS, &QUALITY, &RUNS];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_told_apart_and_every_table_knows_its_run() {
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
