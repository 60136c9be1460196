//! Calls for tests, written on a line: `0 main( 3 f( 5 ) 9 )`.
//!
//! A number is the time of what follows, `name(` an entry and `)` an exit; `~name(` and `~)` are
//! ends that were not seen; `@name` and `#n` say on which thread and CPU it happens from here on;
//! `off5` takes 5 ticks of the open calls as switched out. Names that begin with `irq` and `idle`
//! are of that kind, and `module:name` has a module.

use std::fmt::Write;

use profctl_model::{
    CpuId, Fidelity, Func, FuncId, FuncKind, IdVec, Names, Span, SpanRow, SpanSink, Spool, Thread,
    ThreadId, Tick, Ticks, Timebase, Trace, TraceBuilder, TraceMeta,
};
use proptest::prelude::*;

use crate::summarize::{By, Options, PathSums, Profile, RunPaths, Source, Summary};

/// Calls that have ended, in the order in which they did.
#[derive(Clone, Debug)]
pub(crate) struct Calls {
    pub(crate) names: Names,
    pub(crate) meta: TraceMeta,
    pub(crate) spans: Vec<Span>,
    open: IdVec<ThreadId, Vec<Span>>,
    by: By,
}

impl Calls {
    pub(crate) fn parse(line: &str) -> Self {
        Self::parse_by(line, By::Function)
    }

    /// Like `parse`, with calls outermost by what `by` groups.
    pub(crate) fn parse_by(line: &str, by: By) -> Self {
        let meta = TraceMeta {
            timebase: Timebase::MICROSECONDS,
            first: Tick(0),
            last: Tick(0),
            events: 0,
            knows_off_cpu: false,
            diags: profctl_model::DiagLog::default(),
        };
        let mut calls =
            Self { names: Names::default(), meta, spans: vec![], open: IdVec::default(), by };
        let (mut now, mut thread, mut cpu) = (0, None, None);
        for token in line.split_whitespace() {
            if let Ok(time) = token.parse() {
                now = time;
                calls.meta.last = calls.meta.last.max(Tick(time));
            } else if let Some(name) = token.strip_prefix('@') {
                thread = Some(calls.thread(name));
            } else if let Some(number) = token.strip_prefix('#') {
                cpu = Some(calls.names.cpu(number.parse().unwrap()));
            } else if let Some(ticks) = token.strip_prefix("off") {
                let thread = *thread.get_or_insert_with(|| calls.thread("main"));
                calls.meta.knows_off_cpu = true;
                calls.switch_out(thread, ticks.parse().unwrap());
            } else {
                let thread = *thread.get_or_insert_with(|| calls.thread("main"));
                let unseen = token.starts_with('~');
                match token.trim_start_matches('~') {
                    ")" => calls.exit(thread, cpu, Tick(now), unseen),
                    name => calls.enter(thread, Tick(now), name.trim_end_matches('('), unseen),
                }
            }
        }
        assert!(calls.open.iter().all(Vec::is_empty), "all calls are closed");
        calls
    }

    fn thread(&mut self, name: &str) -> ThreadId {
        let known = self.names.threads.pairs().find(|(_, thread)| thread.name == name);
        if let Some((id, _)) = known {
            return id;
        }
        self.open.push(Vec::new());
        self.names.threads.push(Thread { name: name.into(), ..Thread::default() })
    }

    fn func(&mut self, name: &str) -> FuncId {
        let (module, name) = match name.split_once(':') {
            Some((module, name)) => (Some(module.into()), name),
            None => (None, name),
        };
        let kind = match name {
            _ if name.starts_with("irq") => FuncKind::Interrupt,
            _ if name.starts_with("idle") => FuncKind::Idle,
            _ => FuncKind::Function,
        };
        self.names.func(Func { name: name.into(), module, kind, address: None })
    }

    fn enter(&mut self, thread: ThreadId, start: Tick, name: &str, unseen: bool) {
        let func = self.func(name);
        let names = &self.names;
        let same = |open: &Span| match self.by {
            By::Function => open.func == func,
            By::Module => names.funcs[open.func].module == names.funcs[func].module,
            By::Kind => names.funcs[open.func].kind == names.funcs[func].kind,
            By::Thread | By::Cpu => true,
        };
        let outermost = !self.open[thread].iter().any(same);
        self.meta.events += 1;
        self.open[thread].push(Span {
            func,
            thread,
            cpu: None,
            start,
            end: start,
            wall: Ticks(0),
            off_cpu: Ticks(0),
            // Until the call ends: the elapsed time of its callees.
            net: Ticks(0),
            stolen: Ticks(0),
            callees: 0,
            descendants: 0,
            late: profctl_model::Late::NONE,
            outermost,
            interrupt: self.names.funcs[func].kind == FuncKind::Interrupt,
            fidelity: Fidelity { start_inferred: unseen, ..Fidelity::EXACT },
        });
    }

    fn exit(&mut self, thread: ThreadId, cpu: Option<CpuId>, end: Tick, unseen: bool) {
        let mut span = self.open[thread].pop().expect("an open call");
        span.cpu = cpu;
        span.end = end;
        span.wall = end - span.start;
        span.net = span.elapsed() - span.net;
        span.fidelity.end_inferred = unseen;
        self.meta.events += 1;
        if let Some(caller) = self.open[thread].last_mut() {
            caller.net += span.elapsed();
            caller.callees += 1;
            caller.descendants += 1 + span.descendants;
            if self.names.funcs[span.func].kind == FuncKind::Interrupt {
                caller.stolen += span.elapsed();
            }
        }
        self.spans.push(span);
    }

    fn switch_out(&mut self, thread: ThreadId, ticks: u64) {
        for open in &mut self.open[thread] {
            open.off_cpu += Ticks(ticks);
        }
    }

    pub(crate) fn trace(&self) -> Trace {
        let mut builder = TraceBuilder::default();
        self.spans.iter().for_each(|span| builder.span(span, &self.names));
        builder.finish(self.meta.clone(), self.names.clone())
    }

    /// Passes the calls on, a caller before its callees.
    pub(crate) fn callers_first(&self, take: impl FnMut(&SpanRow)) {
        let mut spool = Spool::new(Vec::new());
        self.spans.iter().for_each(|span| spool.span(span, &self.names));
        spool.callers_first(Ticks(1), take).expect("it is in memory");
    }

    pub(crate) fn run_paths(&self) -> RunPaths {
        let mut sums = PathSums::default();
        self.callers_first(|row| sums.add(row));
        sums.finish(&self.names, &self.meta.timebase)
    }

    pub(crate) fn profile(&self) -> Profile {
        let mut summary =
            Summary::new(Options { percentiles: true, by: self.by, call_graph: true });
        self.spans.iter().for_each(|span| summary.span(span, &self.names));
        let source = Source { path: "t".into(), format: "test".into(), bytes: 1 };
        summary.finish(&self.names, &self.meta, source)
    }
}

/// Random calls on two threads, as text.
pub(crate) fn random_calls() -> impl Strategy<Value = Calls> {
    let step = (0..2_usize, 0..4_u64, 0..5_usize, any::<bool>(), 0..12_u8);
    prop::collection::vec(step, 0..60).prop_map(|steps| {
        let names = ["a", "b", "m:c", "irq", "idle"];
        let (mut line, mut now, mut depth) = (String::new(), 0, [0_u32; 2]);
        for (thread, wait, name, enter, unseen) in steps {
            now += wait;
            let mark = if unseen == 0 { "~" } else { "" };
            let place = format!(" {now} @t{thread} #{thread}");
            if enter {
                depth[thread] += 1;
                write!(line, "{place} {mark}{}(", names[name]).unwrap();
            } else if depth[thread] > 0 {
                depth[thread] -= 1;
                write!(line, "{place} {mark})").unwrap();
            }
        }
        for (thread, open) in depth.into_iter().enumerate() {
            for _ in 0..open {
                write!(line, " {now} @t{thread} ~)").unwrap();
            }
        }
        Calls::parse(&line)
    })
}

/// A table as text: the columns' names, then one line per row, cells parted by a bar.
pub(crate) fn show(table: &profctl_model::Table) -> String {
    use profctl_model::Cell;
    let cell = |cell: &Cell| match cell {
        Cell::Null => "-".to_owned(),
        Cell::Text(text) => text.clone(),
        Cell::Time(ticks) => ticks.0.to_string(),
        Cell::Count(n) => n.to_string(),
        Cell::Percent(share) => format!("{share:.1}%"),
        Cell::Change(ticks) => format!("{ticks:+}"),
        Cell::Ratio(ratio) => format!("{ratio:.2}x"),
        Cell::Number(number) => number.to_string(),
    };
    let names: Vec<_> = table.columns.iter().map(|column| column.name.as_str()).collect();
    let mut text = names.join("|") + "\n";
    for row in &table.rows {
        let cells: Vec<_> = row.iter().map(cell).collect();
        text.push_str(&(cells.join("|") + "\n"));
    }
    for note in &table.notes {
        writeln!(text, "# {note}").unwrap();
    }
    text
}
