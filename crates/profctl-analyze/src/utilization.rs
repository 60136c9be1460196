//! What each CPU did over time: ran threads, served interrupts, was idle.

use std::collections::BTreeMap;

use profctl_model::{CpuId, FuncKind, RunState, SpanId, Tick, Trace};

/// Ticks of an interval by what a CPU did in them. What is missing is unknown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Use {
    /// Ran threads.
    pub busy: u64,
    /// Served interrupts.
    pub interrupts: u64,
    /// Had nothing to do.
    pub idle: u64,
}

/// What the CPUs did, interval by interval.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Utilization {
    /// Where each interval begins, and where the last one ends.
    pub edges: Vec<Tick>,
    /// By CPU; nothing as the CPU of a trace that names none.
    pub cpus: BTreeMap<Option<CpuId>, Vec<Use>>,
}

impl Utilization {
    /// Divides the window of a trace into `n` intervals. Fails where threads run at the same time
    /// and the trace does not say on which CPUs.
    pub fn of(trace: &Trace, n: usize) -> Result<Self, String> {
        let (first, last) = (trace.meta.first.0, trace.meta.last.0);
        let length = last.saturating_sub(first);
        let n = (n as u64).clamp(1, length.max(1));
        let edge = |i: u64| first + (u128::from(length) * u128::from(i) / u128::from(n)) as u64;
        let mut found =
            Self { edges: (0..=n).map(|i| Tick(edge(i))).collect(), cpus: BTreeMap::new() };
        let running = trace
            .states
            .iter()
            .filter(|state| state.state == RunState::Running && state.cpu.is_some());
        let mut from_states = false;
        for state in running {
            from_states = true;
            let idle = trace.names.threads[state.thread].idle;
            found.add(state.cpu, state.start, state.end, |used, ticks| {
                if idle { used.idle += ticks } else { used.busy += ticks }
            });
        }
        let spans = &trace.spans;
        let kind = |span: SpanId| trace.names.funcs[spans.func[span]].kind;
        let above = |span: SpanId, wanted: FuncKind| {
            let mut next = spans.parent[span.index()];
            while let Some(span) = next {
                if kind(span) == wanted {
                    return true;
                }
                next = spans.parent[span.index()];
            }
            false
        };
        for span in spans.ids() {
            let row = span.index();
            let (cpu, start, end) = (spans.cpu[row], spans.start[row], spans.end[row]);
            let of_idle_task = trace.names.threads[spans.thread[row]].idle;
            if spans.parent[row].is_none() && !from_states {
                found.add(cpu, start, end, |used, ticks| used.busy += ticks);
            }
            match kind(span) {
                FuncKind::Idle if !from_states && !above(span, FuncKind::Idle) => {
                    found.add(cpu, start, end, |used, ticks| {
                        used.busy = used.busy.saturating_sub(ticks);
                        used.idle += ticks;
                    });
                }
                FuncKind::Interrupt if !above(span, FuncKind::Interrupt) => {
                    let idle = if from_states { of_idle_task } else { above(span, FuncKind::Idle) };
                    found.add(cpu, start, end, |used, ticks| {
                        let from = if idle { &mut used.idle } else { &mut used.busy };
                        *from = from.saturating_sub(ticks);
                        used.interrupts += ticks;
                    });
                }
                _ => {}
            }
        }
        found.check()?;
        Ok(found)
    }

    /// Ticks of an interval, by its place.
    pub fn length(&self, place: usize) -> u64 {
        self.edges[place + 1].0 - self.edges[place].0
    }

    fn add(&mut self, cpu: Option<CpuId>, start: Tick, end: Tick, add: impl Fn(&mut Use, u64)) {
        let n = self.edges.len() - 1;
        let uses = self.cpus.entry(cpu).or_insert_with(|| vec![Use::default(); n]);
        let after = self.edges.partition_point(|edge| *edge <= start);
        let mut place = after.saturating_sub(1);
        while place < n && self.edges[place] < end {
            let (from, to) = (self.edges[place].max(start), self.edges[place + 1].min(end));
            if to > from {
                add(&mut uses[place], to.0 - from.0);
            }
            place += 1;
        }
    }

    fn check(&self) -> Result<(), String> {
        if self.cpus.is_empty() {
            return Err("nothing is known of what the CPUs did".into());
        }
        for (cpu, uses) in &self.cpus {
            let is_over = |(place, used): (usize, &Use)| {
                used.busy + used.interrupts + used.idle > self.length(place)
            };
            if cpu.is_none() && uses.iter().enumerate().any(is_over) {
                return Err(
                    "threads run at the same time, and the trace does not say on which CPUs".into(),
                );
            }
        }
        Ok(())
    }
}
