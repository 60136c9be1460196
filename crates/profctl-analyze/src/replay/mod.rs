//! The code trace: every call in time order, as McRae printed it.
//!
//! A call that made no calls is one line, any other two, where it begins and where it ends. Threads
//! are interleaved by time; lines of one thread never change places, so nesting stays right where
//! several events share a timestamp.

mod early;
mod keyed;
mod lines;
mod one;
mod stream;

use profctl_model::{
    Cell, Column, CpuId, Fidelity, FuncId, FuncKind, Mark, Names, Role, Table, ThreadId, Ticks,
    Timebase, Trace, TraceMeta,
};

use crate::summarize::{NO_DURATIONS, Quality};

pub use early::Early;
pub use one::{Found, OneCall};
pub use stream::{Line, Rows};

const SCHEMA: &str = "profctl.replay/1";

/// What of a trace to show.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Options {
    /// Only the calls of this function and what is below them.
    pub around: Option<String>,
    /// Only the slowest call of this function and what is below it.
    pub slowest: Option<String>,
    /// How many levels at most, counted from what is shown.
    pub depth: Option<u32>,
    /// Calls whose net time is above this are marked.
    pub highlight: Option<Ticks>,
}

/// The code trace as a table, one row per line.
pub fn table(trace: &Trace, options: &Options) -> Result<Table, String> {
    let roots = match (&options.around, &options.slowest) {
        (None, None) => lines::outermost(trace),
        (Some(func), None) => lines::calls_of(trace, func)?,
        (None, Some(func)) => lines::slowest(trace, func)?,
        (Some(_), Some(_)) => return Err("both around and slowest, expected one of them".into()),
    };
    let with_loose_marks = options.around.is_none() && options.slowest.is_none();
    let mut table = columns(trace.meta.timebase);
    for line in lines::of(trace, &roots, options.depth, with_loose_marks) {
        table.push(row_of(trace, &line, options.highlight));
    }
    table.notes = notes(&trace.meta);
    Ok(table)
}

/// What is to be said below the lines of a trace.
pub fn notes(meta: &TraceMeta) -> Vec<String> {
    let mut notes = Quality::of(&meta.diags).notes(meta.timebase.timeline);
    if !meta.knows_lengths() {
        notes.push(NO_DURATIONS.into());
    }
    notes
}

/// The table without rows.
fn columns(timebase: Timebase) -> Table {
    Table::new(
        SCHEMA,
        timebase,
        vec![
            Column::new("time", "time", Role::Time),
            Column::new("thread", "thread", Role::Text),
            Column::new("cpu", "cpu", Role::Text),
            Column::new("depth", "depth", Role::Count),
            Column::new("event", "event", Role::Text),
            Column::new("name", "name", Role::Name),
            Column::new("net", "net", Role::Time),
            Column::new("elapsed", "elapsed", Role::Time),
            Column::new("flag", "flag", Role::Text),
        ],
    )
}

/// The kind of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// It begins, and makes calls.
    Enter = 0,
    /// It begins, and makes none.
    Leaf = 1,
    /// It ends.
    Exit = 2,
}

/// What a row is made from.
struct Content {
    time: Ticks,
    thread: ThreadId,
    cpu: Option<CpuId>,
    depth: u32,
    event: Event,
    func: FuncId,
    net: Ticks,
    elapsed: Ticks,
    fidelity: Fidelity,
    knows_lengths: bool,
}

fn row_of(trace: &Trace, line: &lines::Line, highlight: Option<Ticks>) -> Vec<Cell> {
    let spans = &trace.spans;
    let (span, event) = match line.event {
        lines::Event::Mark(mark) => {
            return mark_row(&trace.names, &trace.marks[mark], line.depth);
        }
        lines::Event::Exit(span) => (span, Event::Exit),
        lines::Event::Enter(span) => (span, Event::Enter),
        lines::Event::Leaf(span) => (span, Event::Leaf),
    };
    let index = span.index();
    let content = Content {
        time: Ticks(line.time.0),
        thread: spans.thread[index],
        cpu: spans.cpu[index],
        depth: line.depth,
        event,
        func: spans.func[span],
        net: spans.net[index],
        elapsed: spans.elapsed(span),
        fidelity: spans.fidelity[index],
        knows_lengths: trace.meta.knows_lengths(),
    };
    row(&trace.names, &content, highlight)
}

fn mark_row(names: &Names, mark: &Mark, depth: u32) -> Vec<Cell> {
    vec![
        Cell::Time(Ticks(mark.time.0)),
        Cell::Text(names.threads[mark.thread].label()),
        Cell::Null,
        Cell::Count(u64::from(depth)),
        "mark".into(),
        names.funcs[mark.func].name.as_str().into(),
        Cell::Null,
        Cell::Null,
        Cell::Null,
    ]
}

fn row(names: &Names, content: &Content, highlight: Option<Ticks>) -> Vec<Cell> {
    let Content { time, thread, cpu, depth, event, func, net, elapsed, fidelity, .. } = *content;
    let length = |ticks| if content.knows_lengths { Cell::Time(ticks) } else { Cell::Null };
    let (shown, name, net_cell, elapsed_cell, flag) = match event {
        Event::Exit => {
            let flag = if fidelity.end_inferred { vec!["no exit"] } else { vec![] };
            ("exit", Cell::Null, Cell::Null, Cell::Null, flag)
        }
        Event::Enter | Event::Leaf => {
            let is_leaf = event == Event::Leaf;
            (
                if is_leaf { "leaf" } else { "enter" },
                Cell::from(names.funcs[func].name.as_str()),
                length(net),
                if is_leaf { Cell::Null } else { length(elapsed) },
                flags(names, content, highlight),
            )
        }
    };
    vec![
        Cell::Time(time),
        Cell::Text(names.threads[thread].label()),
        cpu.map_or(Cell::Null, |cpu| Cell::Text(names.cpus[cpu].to_string())),
        Cell::Count(u64::from(depth)),
        shown.into(),
        name,
        net_cell,
        elapsed_cell,
        if flag.is_empty() { Cell::Null } else { Cell::Text(flag.join(", ")) },
    ]
}

/// The flags of a call, shown at its entry.
fn flags(names: &Names, content: &Content, highlight: Option<Ticks>) -> Vec<&'static str> {
    let fidelity = content.fidelity;
    let mut flags = Vec::new();
    if highlight.is_some_and(|limit| content.net > limit) {
        flags.push("***");
    }
    match names.funcs[content.func].kind {
        FuncKind::Function | FuncKind::Mark => {}
        kind @ (FuncKind::Syscall | FuncKind::Interrupt | FuncKind::Idle | FuncKind::Switch) => {
            flags.push(kind.name());
        }
    }
    if fidelity.start_inferred {
        flags.push("no entry");
    }
    if fidelity.at_gap {
        flags.push("gap");
    } else if fidelity.end_inferred {
        flags.push("no exit");
    }
    flags
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use profctl_model::{Func, Tick};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Calls, random_calls, show};

    const LINE: &str = "0 @a #0 main( 1 f( 2 g( 5 ) 5 irq( 5 ) 5 f( 8 ) 9 ) 20 ) \
                        1 @b #1 ~w( 5 f( 7 ) 9 ~)";

    fn marked() -> Trace {
        let mut trace = Calls::parse(LINE).trace();
        let kind = FuncKind::Mark;
        let func = trace.names.func(Func { name: "here".into(), kind, ..Func::default() });
        let thread = trace.spans.thread[0];
        for (time, depth) in [(5, 2), (20, 0)] {
            trace.marks.push(Mark { time: Tick(time), func, thread, depth, detail: None });
        }
        trace
    }

    fn check(options: &Options, expected: &Expect) {
        let found = table(&marked(), options);
        expected.assert_eq(&found.map_or_else(|error| error, |table| show(&table)));
    }

    #[test]
    fn everything_in_order() {
        let options = Options { highlight: Some(Ticks(3)), ..Options::default() };
        check(
            &options,
            &expect![[r#"
                time|thread|cpu|depth|event|name|net|elapsed|flag
                0|a|0|0|enter|main|12|20|***
                1|a|0|1|enter|f|2|8|-
                1|b|1|0|enter|w|6|8|***, no entry, no exit
                2|a|0|2|leaf|g|3|-|-
                5|a|-|2|mark|here|-|-|-
                5|a|0|2|leaf|irq|0|-|interrupt
                5|a|0|2|leaf|f|3|-|-
                5|b|1|1|leaf|f|2|-|-
                9|a|0|1|exit|-|-|-|-
                9|b|1|0|exit|-|-|-|no exit
                20|a|0|0|exit|-|-|-|-
                20|a|-|0|mark|here|-|-|-
            "#]],
        );
    }

    #[test]
    fn around_the_slowest_and_not_too_deep() {
        let around = Options { around: Some("f".into()), depth: Some(1), ..Options::default() };
        check(
            &around,
            &expect![[r#"
            time|thread|cpu|depth|event|name|net|elapsed|flag
            1|a|0|0|enter|f|2|8|-
            5|b|1|0|leaf|f|2|-|-
            9|a|0|0|exit|-|-|-|-
        "#]],
        );
        let slowest = Options { slowest: Some("f".into()), ..Options::default() };
        check(
            &slowest,
            &expect![[r#"
            time|thread|cpu|depth|event|name|net|elapsed|flag
            1|a|0|0|enter|f|2|8|-
            2|a|0|1|leaf|g|3|-|-
            5|a|-|1|mark|here|-|-|-
            5|a|0|1|leaf|irq|0|-|interrupt
            5|a|0|1|leaf|f|3|-|-
            9|a|0|0|exit|-|-|-|-
        "#]],
        );
        let unknown = Options { slowest: Some("mainn".into()), ..Options::default() };
        check(&unknown, &expect!["no function `mainn`; did you mean `main`?"]);
    }

    /// The rows of a trace, its calls passed on in the order in which they ended.
    fn streamed(calls: &Calls, options: &Options) -> String {
        use profctl_model::{IdVec, SpanSink, Spool};
        let mut spool = Spool::new(Vec::new());
        for span in &calls.spans {
            spool.span(span, &calls.names);
        }
        let (mut rows, others) = spool.finish(Vec::new(), Ticks(0)).unwrap();
        let mut first: IdVec<ThreadId, u64> = IdVec::default();
        let mut sum = 0;
        for &n in &others.calls {
            first.push(sum);
            sum += n;
        }
        let mut lines = Vec::new();
        while let Some(block) = rows.next_block().unwrap() {
            for row in block {
                let (line, exit) = Line::of(row, row.id - first[row.span.thread]);
                lines.push(Line::from_bytes(&line.to_bytes()).unwrap());
                lines.extend(exit.map(|exit| Line::from_bytes(&exit.to_bytes()).unwrap()));
            }
        }
        lines.sort_unstable_by_key(Line::key);
        let timebase = calls.meta.timebase;
        let mut out = Rows::new(timebase, true, options.highlight, options.depth);
        let mut table = out.table();
        others.marks.into_iter().for_each(|mark| out.mark(mark));
        for line in &lines {
            out.add(line, &calls.names, &mut table);
        }
        out.finish(&calls.names, &mut table);
        table.notes = Quality::of(&calls.meta.diags).notes(timebase.timeline);
        show(&table)
    }

    #[test]
    fn a_stream_shows_what_a_trace_does() {
        for depth in [None, Some(1), Some(2)] {
            let options = Options { depth, highlight: Some(Ticks(3)), ..Options::default() };
            let calls = Calls::parse(LINE);
            let whole = show(&table(&calls.trace(), &options).unwrap());
            assert_eq!(streamed(&calls, &options), whole);
        }
    }

    proptest! {
        #[test]
        fn any_stream_shows_what_a_trace_does(calls in random_calls()) {
            let options = Options::default();
            let whole = show(&table(&calls.trace(), &options).unwrap());
            prop_assert_eq!(streamed(&calls, &options), whole);
        }

        #[test]
        fn lines_nest_and_time_never_goes_back(calls in random_calls()) {
            let trace = calls.trace();
            let table = table(&trace, &Options::default()).unwrap();
            let (mut last, mut calls) = (0, 0);
            let mut depths = std::collections::BTreeMap::<String, u64>::new();
            for row in &table.rows {
                let [Cell::Time(time), Cell::Text(thread), _, Cell::Count(depth), Cell::Text(event), ..] =
                    &row[..]
                else {
                    panic!("{row:?}");
                };
                prop_assert!(time.0 >= last);
                last = time.0;
                let open = depths.entry(thread.clone()).or_default();
                if event == "exit" {
                    *open -= 1;
                }
                prop_assert_eq!(*depth, *open);
                if event == "enter" {
                    *open += 1;
                }
                calls += usize::from(event != "exit");
            }
            prop_assert_eq!(calls, trace.spans.len());
            prop_assert!(depths.values().all(|&open| open == 0));
        }
    }
}
