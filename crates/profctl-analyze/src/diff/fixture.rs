//! Two sides for tests, made of lines of calls.

use profctl_model::SpanSink as _;

use super::align;
use super::callers::Callers;
use super::seen::RunRows;
use super::series::{Series, SeriesSink};
use super::side::{Run, Side};
use super::types::{Entry, Function, Pairing};
use crate::summarize::Profile;
use crate::testing::Calls;

pub(super) fn run(name: &str, line: &str) -> Run {
    let profile = Calls::parse(line).profile();
    Run { name: name.into(), block: None, profile, facts: Vec::new(), series: None, paths: None }
}

/// The blocks of the functions of a run.
pub(super) fn series(line: &str) -> Series {
    let calls = Calls::parse(line);
    let mut sink = SeriesSink::default();
    calls.spans.iter().for_each(|span| sink.span(span, &calls.names));
    sink.finish(&calls.names, &calls.meta.timebase)
}

/// Rows of functions before anything is tested, in nanoseconds: lines count microseconds.
pub(super) struct Rows {
    pub(super) sides: [Side; 2],
    pub(super) merged: [Profile; 2],
    pub(super) pairings: Vec<Pairing>,
    pub(super) functions: Vec<Function>,
}

impl Rows {
    /// Of a line per run and side.
    pub(super) fn of(before: &[&str], after: &[&str]) -> Self {
        let side = |lines: &[&str]| {
            let runs = lines.iter().enumerate();
            let runs = runs.map(|(at, line)| run(&format!("r{at}"), line)).collect();
            Side { name: String::new(), runs, skipped: 0 }
        };
        Self::of_sides([side(before), side(after)])
    }

    pub(super) fn of_sides(mut sides: [Side; 2]) -> Self {
        let merged = sides.each_mut().map(|side| {
            side.settle();
            side.merged().expect("runs of one clock")
        });
        let entries = merged.each_ref().map(|profile| -> Vec<Entry> {
            let entry = |row: &crate::summarize::Row| Entry {
                name: row.name.clone(),
                module: row.module.clone(),
                calls: 0.0,
                cost: 0.0,
                callees: 0.0,
                caller: None,
            };
            profile.rows.iter().map(entry).collect()
        });
        let (pairings, _) = align::align(&entries[0], &entries[1], &[], false);
        let functions = {
            let seen = RunRows::new(sides.each_ref(), &merged);
            pairings.iter().map(|pairing| seen.function(pairing)).collect()
        };
        Self { sides, merged, pairings, functions }
    }

    pub(super) fn seen(&self) -> RunRows<'_> {
        RunRows::new(self.sides.each_ref(), &self.merged)
    }

    pub(super) fn callers(&self) -> Callers {
        Callers::new(self.merged.each_ref(), &self.pairings, &self.functions)
            .expect("profiles with their callers")
    }

    /// Where a function is, by its name.
    pub(super) fn at(&self, name: &str) -> usize {
        self.functions.iter().position(|function| function.name == name).expect("a function")
    }
}
