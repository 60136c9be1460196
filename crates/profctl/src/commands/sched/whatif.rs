//! `sched --whatif`: the same threads under another scheduler.

use std::path::Path;

use profctl_analyze::sched::Rows;
use profctl_analyze::sched::whatif::{self, WakeTo, Wanted, WhatIf};
use profctl_model::{Ticks, Timebase, Trace};
use profctl_render::number;
use profctl_render::table::Format;

use super::workload;
use crate::args::Global;
use crate::duration::{self, Length};
use crate::exit::Failure;
use crate::output;

/// A policy as it was typed: `quantum=18ms,wake=head,cost=5us,cpus=1`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct PolicyText {
    quantum: Option<Length>,
    wake: Option<WakeTo>,
    cost: Option<Length>,
    cpus: Option<usize>,
}

/// More CPUs than any machine has.
const CPUS_MAX: usize = 4096;

/// Parses a policy.
pub(super) fn policy(text: &str) -> Result<PolicyText, String> {
    let mut policy = PolicyText::default();
    for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
        let (key, value) =
            part.split_once('=').ok_or_else(|| format!("expected KEY=VALUE, found `{part}`"))?;
        let about = |message: String| format!("{key}: {message}");
        match key {
            "quantum" => policy.quantum = Some(duration::parse(value).map_err(about)?),
            "cost" => policy.cost = Some(duration::parse(value).map_err(about)?),
            "wake" => {
                let known = WakeTo::ALL.into_iter().find(|wake| wake.name() == value);
                policy.wake =
                    Some(known.ok_or_else(|| about("expected tail, head or preempt".to_owned()))?);
            }
            "cpus" => {
                let cpus = value.parse().ok().filter(|cpus| (1..=CPUS_MAX).contains(cpus));
                policy.cpus =
                    Some(cpus.ok_or_else(|| about(format!("expected from 1 to {CPUS_MAX}")))?);
            }
            _ => return Err(format!("unknown key `{key}`, expected quantum, wake, cost or cpus")),
        }
    }
    if policy.quantum.is_some_and(|quantum| quantum.number() == 0) {
        return Err("quantum: expected more than 0".into());
    }
    Ok(policy)
}

impl PolicyText {
    fn wanted(&self, timebase: &Timebase) -> Result<Wanted, Failure> {
        let ticks = |length: Option<Length>| {
            length.map(|length| length.ticks(timebase, "--whatif")).transpose()
        };
        let quantum = ticks(self.quantum)?;
        let cost = ticks(self.cost)?;
        Ok(Wanted { quantum, wake: self.wake, cost, cpus: self.cpus })
    }
}

/// The variants of a recording.
pub(super) fn of_recording(
    trace: &Trace,
    policies: &[PolicyText],
    rows: Option<Rows<'_>>,
    global: &Global,
) -> Result<(), Failure> {
    let timebase = &trace.meta.timebase;
    let wanted: Vec<Wanted> =
        policies.iter().map(|policy| policy.wanted(timebase)).collect::<Result<_, _>>()?;
    let whatif = whatif::of_recording(trace, &wanted).map_err(Failure::usage)?;
    write(&whatif, Some(trace), rows, global)
}

/// The variants of a workload that a file describes.
pub(super) fn of_file(
    path: &Path,
    policies: &[PolicyText],
    global: &Global,
) -> Result<(), Failure> {
    let workload = workload::read(path)?;
    let wanted: Vec<Wanted> = policies
        .iter()
        .map(|policy| policy.wanted(&workload.timebase))
        .collect::<Result<_, _>>()?;
    let whatif = whatif::of_description(workload, &wanted).map_err(Failure::usage)?;
    write(&whatif, None, None, global)
}

fn write(
    whatif: &WhatIf,
    trace: Option<&Trace>,
    rows: Option<Rows<'_>>,
    global: &Global,
) -> Result<(), Failure> {
    if global.format() == Format::Json {
        return output::write_bytes(whatif::document(whatif).as_bytes(), global);
    }
    let timebase = whatif.workload.timebase;
    let length = |ticks: Ticks| exact(ticks, &timebase, global);
    output::write_table(&whatif.table(trace, rows, &length), global)
}

/// A length as it is typed, in the largest unit in which it is whole.
fn exact(ticks: Ticks, timebase: &Timebase, global: &Global) -> String {
    const UNITS: [(u64, &str); 3] = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
    let nanos = timebase.reported(ticks);
    let unit = UNITS.into_iter().find(|(size, _)| nanos > 0 && nanos.is_multiple_of(*size));
    match unit.filter(|_| timebase.is_time()) {
        Some((size, unit)) => format!("{}{unit}", nanos / size),
        None => number::length_with_unit(ticks, timebase, global.unit).replace(' ', ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_lists_of_keys_and_values() {
        let found = policy("quantum=18ms,wake=head, cost=5us,cpus=1").unwrap();
        let expected = PolicyText {
            quantum: Some(Length::Nanos(18_000_000)),
            wake: Some(WakeTo::Head),
            cost: Some(Length::Nanos(5_000)),
            cpus: Some(1),
        };
        assert_eq!(found, expected);
        assert_eq!(policy(""), Ok(PolicyText::default()));
        for wrong in ["18ms", "quantum=18", "quantum=0s", "wake=middle", "cpus=0", "hz=60"] {
            assert!(policy(wrong).is_err(), "{wrong}");
        }
    }
}
