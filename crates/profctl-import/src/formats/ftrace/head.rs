//! Properties of the trace, from the first megabyte: the tracer, the clock, which events are calls.

use profctl_model::{TickUnit, Ticks, Timebase, Timeline};

use crate::kernel_events::line::{self, Stamp};
use crate::kernel_events::syscalls::Machine;
use crate::kernel_events::{KernelEvent, Scope, text as event_text};
use crate::text;

#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Head {
    pub(crate) timebase: Timebase,
    pub(crate) facts: Vec<(&'static str, String)>,
    pub(crate) scope: Scope,
    /// What the header calls the tracer.
    pub(crate) tracer: Option<Vec<u8>>,
    /// There are lines of `function_graph` as `trace-cmd report` prints them.
    pub(crate) has_graph_lines: bool,
}

/// What kinds of lines there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counted {
    /// Lines that are neither empty nor comments.
    pub(crate) lines: usize,
    pub(crate) events: usize,
    /// Events that only `trace-cmd report` prints in this way.
    pub(crate) reported: usize,
    /// Lines of `function_graph` as a report prints them.
    pub(crate) graph_lines: usize,
    /// It begins with `cpus=`, as a report does, or its lines are those of a report.
    pub(crate) is_report: bool,
}

/// The tracer that the header names.
pub(crate) fn tracer(head: &[u8]) -> Option<&[u8]> {
    let line = text::lines(head).next()?.text;
    line.strip_prefix(b"# tracer: ").map(<[u8]>::trim_ascii)
}

/// Counts the lines of each kind.
pub(crate) fn count(head: &[u8]) -> Counted {
    let mut counted = Counted::default();
    let mut begins = false;
    for (n, line) in text::lines(head).enumerate() {
        if n == 0 && is_cpus(line.text) {
            begins = true;
            continue;
        }
        if line.text.trim_ascii().is_empty() || line.text.starts_with(b"#") || !line.ended {
            continue;
        }
        counted.lines += 1;
        let Some(event) = line::parse(line.text) else {
            counted.events += usize::from(line::lost(line.text).is_some());
            continue;
        };
        counted.events += 1;
        if is_graph(event.body) {
            counted.graph_lines += 1;
        }
        // `sys_exit:             NR 1 = 1`: names are padded to a column.
        let name = memchr::memmem::find(event.body, b":  ").unwrap_or(usize::MAX);
        counted.reported += usize::from(name < 24);
    }
    counted.is_report = begins || (counted.events > 0 && counted.reported * 2 > counted.events);
    counted
}

/// `cpus=2`, the first line of a report.
fn is_cpus(line: &[u8]) -> bool {
    line.strip_prefix(b"cpus=").is_some_and(|n| text::decimal(n.trim_ascii(), 0).is_some())
}

pub(super) fn is_graph(body: &[u8]) -> bool {
    body.starts_with(b"funcgraph_entry:") || body.starts_with(b"funcgraph_exit:")
}

/// Looks at the head. `machine` is the one whose system calls the numbers are, if the user says.
pub(crate) fn look(head: &[u8], mut machine: Option<Machine>) -> Head {
    let mut scope = Scope::default();
    let mut facts = Vec::new();
    let tracer = tracer(head).map(<[u8]>::to_vec);
    if let Some(tracer) = &tracer {
        facts.push(("tracer", String::from_utf8_lossy(tracer).into_owned()));
    }
    let (mut numbers, mut first, mut finest) = (false, None, 0_u64);
    for line in text::lines(head).filter(|line| line.ended) {
        if let Some(event) = line::parse(line.text) {
            first.get_or_insert(event.time);
            if let Stamp::Nanos(nanos) = event.time {
                finest |= u64::from(!nanos.is_multiple_of(1000));
            }
            scope.has_graph |= is_graph(event.body);
            if let KernelEvent::Syscall { raw: true, .. } = event_text::printed(event.body).event {
                scope.has_raw_syscalls = true;
                numbers = true;
            }
            continue;
        }
        let Some(comment) = line.text.strip_prefix(b"#") else { continue };
        let comment = String::from_utf8_lossy(comment);
        if let Some((_, release)) =
            comment.split_once(" latency trace v").and_then(|(_, rest)| rest.split_once(" on "))
        {
            let release = release.trim();
            machine = machine.or_else(|| Machine::named(release));
            facts.push(("kernel", release.to_owned()));
        }
        if let Some((_, counts)) = comment.split_once("entries-in-buffer/entries-written:")
            && let Some((kept, written)) =
                counts.split_whitespace().next().and_then(|pair| pair.split_once('/'))
            && let (Ok(kept), Ok(written)) = (kept.parse::<u64>(), written.parse::<u64>())
            && kept < written
        {
            let lost = written - kept;
            facts.push(("overwritten", format!("{lost} events before the first of their CPU")));
        }
    }
    if numbers {
        facts.push((
            "system calls",
            match machine {
                Some(Machine::X86) => "numbers of x86-64".into(),
                Some(Machine::Generic) => "numbers of 64-bit ARM and RISC-V".into(),
                Some(Machine::Unlisted) => "numbers without a list of names".into(),
                None => "numbers of x86-64 assumed (else --dialect arm64)".into(),
            },
        ));
    }
    scope.machine = machine.unwrap_or_default();
    let nanos = TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 };
    let unit = match first {
        Some(Stamp::Count(_)) => {
            let why = "counts without a unit (trace_clock is x86-tsc, counter or uptime)";
            facts.push(("trace clock", why.into()));
            TickUnit::Cycles
        }
        _ => nanos,
    };
    let is_fine = scope.has_graph || finest != 0 || unit == TickUnit::Cycles;
    let timebase = Timebase {
        unit,
        resolution: Ticks(if is_fine { 1 } else { 1000 }),
        timeline: Timeline::Recorded,
    };
    Head { timebase, facts, has_graph_lines: scope.has_graph, scope, tracer }
}
