//! The text of `perf script`: branches that Intel PT or ETM recorded, scheduler and other kernel
//! events, or sampled stacks.

use profctl_model::{Code, Severity, TickUnit, Ticks, Timebase, Timeline};

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition, head};
use crate::files::Files;
use crate::kernel_events::syscalls::Machine;
use crate::kernel_events::{Applier, Scope};
use crate::text;

mod branch;
mod line;
mod read;
mod stack;
mod symbol;
#[cfg(test)]
mod tests;

use line::Line;

/// The importer of `perf_script`.
pub struct PerfScript;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "perf_script",
    about: "text of perf script: Intel PT and ETM branches, --call-trace, sched events, samples",
    recognized: "lines `COMMAND PID [CPU] TIME: EVENT: …`, branches with `=>` or an indented name",
    codes: &[&DECODER_ERROR, &SAMPLE_LEFT_OUT],
    ..Descriptor::PLAIN
};

/// The decoder of a processor trace could not go on.
pub static DECODER_ERROR: Code = Code {
    name: "perf_script/decoder-error",
    severity: Severity::DataLoss,
    help: "perf could not decode the processor trace here: open calls were closed as incomplete; \
           a smaller recording or a filter (`perf record --filter`) loses less",
};

/// A sampled stack among events that have times.
pub static SAMPLE_LEFT_OUT: Code = Code {
    name: "perf_script/sample-left-out",
    severity: Severity::Warning,
    help: "a sampled stack among traced events is not a call and was skipped: print one event at \
           a time to read the samples (`perf script --itrace=cr`, or record them alone)",
};

/// What a text consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Records with times.
    Timed,
    /// Stacks with weights.
    Sampled,
}

/// What the head of a text holds.
#[derive(Debug, Default)]
struct Survey {
    branches: usize,
    /// Branches that are printed with their kind.
    kinds: usize,
    calls: usize,
    events: usize,
    samples: usize,
    raw_syscalls: usize,
    troubles: usize,
    others: usize,
    without_time: usize,
    decimals: u8,
    /// What the first sample counts.
    counted: Vec<u8>,
}

/// From this many records on, a text is surely perf's.
const RECORDS_SURE: usize = 3;

fn survey(head: &[u8]) -> Survey {
    let mut found = Survey::default();
    for line in text::lines(head).filter(|line| line.ended) {
        let head = match line::parse(line.text) {
            Line::Branch(head, branch) => {
                found.branches += 1;
                found.kinds += usize::from(branch.kind != branch::Kind::Unknown);
                head
            }
            Line::CallTrace(head, _) => {
                found.calls += 1;
                head
            }
            Line::Event(head, system, ..) => {
                found.events += 1;
                found.raw_syscalls += usize::from(system == b"raw_syscalls");
                head
            }
            Line::Sample(_, _, event, _) => {
                if found.samples == 0 {
                    found.counted = event.to_vec();
                }
                found.samples += 1;
                continue;
            }
            Line::Trouble(_) => {
                found.troubles += 1;
                continue;
            }
            Line::Frame(_) | Line::Aside => continue,
            Line::Other => {
                found.others += 1;
                continue;
            }
        };
        found.decimals = found.decimals.max(head.decimals);
        found.without_time += usize::from(head.time.is_none());
    }
    found
}

impl Survey {
    fn timed(&self) -> usize {
        self.branches + self.calls + self.events
    }

    fn mode(&self) -> Mode {
        if self.timed() > 0 { Mode::Timed } else { Mode::Sampled }
    }
}

impl Importer for PerfScript {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        if !text::looks_like_text(probe.head) {
            return Recognition::No;
        }
        let found = survey(probe.head);
        let records = found.timed() + found.samples + found.troubles;
        if records == 0 || found.others * 4 > records {
            return Recognition::No;
        }
        let what = match () {
            () if found.branches + found.calls > 0 => "branches",
            () if found.events > 0 => "events",
            () => "samples",
        };
        if records < RECORDS_SURE {
            return Recognition::Maybe(format!("{records} record(s) of perf script"));
        }
        Recognition::Yes(format!("{what} as `perf script` prints them"))
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let found = survey(&head(files)?.bytes);
        if found.timed() > 0 && found.without_time == found.timed() {
            return Err(ImportError::whole(
                "text of perf script without times: print it again with `perf script --ns -F \
                 +time`",
            ));
        }
        let mode = found.mode();
        let (unit, timeline, decimals) = match mode {
            Mode::Timed => (NANOSECONDS, Timeline::Recorded, found.decimals),
            Mode::Sampled => (unit(&found.counted, options)?, Timeline::Synthetic, 9),
        };
        let scope = Scope {
            has_graph: found.branches + found.calls > 0,
            has_raw_syscalls: found.raw_syscalls > 0,
            machine: Machine::X86,
        };
        let resolution = Ticks(10_u64.pow(9_u32.saturating_sub(u32::from(decimals))));
        let reader = read::Lines { mode, applier: Applier::new(scope) };
        let opened = Opened::lines(Timebase { unit, resolution, timeline }, Box::new(reader));
        Ok(opened.with_facts(facts(&found)))
    }
}

const NANOSECONDS: TickUnit = TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 };

/// What the period of a sample counts.
fn unit(counted: &[u8], options: &ImportOptions) -> Result<TickUnit, ImportError> {
    if let Some(name) = &options.dialect {
        return text::tick_unit(name).ok_or_else(|| {
            ImportError::whole(format!(
                "unknown dialect `{name}`, expected the unit of the periods, such as ns, cycles \
                 or instructions"
            ))
        });
    }
    Ok(match counted {
        b"cpu-clock" | b"task-clock" => NANOSECONDS,
        b"instructions" => TickUnit::Instructions,
        _ => TickUnit::Cycles,
    })
}

fn facts(found: &Survey) -> Vec<(&'static str, String)> {
    let mut facts = Vec::new();
    if found.mode() == Mode::Sampled {
        let counted = String::from_utf8_lossy(&found.counted);
        facts.push(("samples", format!("of {counted}, summed: no single calls")));
        return facts;
    }
    if found.branches > 0 {
        facts.push((
            "branches",
            match found.kinds {
                0 => {
                    "without their kind: calls are recognized by their target (`-F +flags` \
                      prints the kind)"
                }
                _ => "with their kind",
            }
            .to_owned(),
        ));
    }
    if found.calls > 0 {
        facts.push(("calls", "by depth (--call-trace)".into()));
    }
    if found.events > 0 {
        facts.push(("events", "of the kernel".into()));
    }
    facts
}
