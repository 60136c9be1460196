//! Two sets of runs to one tree, and the verdicts on it.

use profctl_model::hash::FastMap;
use profctl_model::{NodeId, PairedNode, PairedTree, PathCost, Timebase};

use super::super::decide::{Asking, decide};
use super::super::moved::explain_one;
use super::super::side::{Side, SideStats, rounded};
use super::super::stats;
use super::super::types::{Function, Interval, Moved, Pairing};
use super::super::{Measure, Options, Parts, Verdict};
use super::{Found, PathComparison};
use crate::summarize::Profile;
use crate::summarize::{RunPaths, Sums};

/// What the comparison of functions has found already.
pub(in super::super) struct FunctionResults<'a> {
    pub(in super::super) sides: [&'a Side; 2],
    pub(in super::super) merged: [&'a Profile; 2],
    pub(in super::super) pairings: &'a [Pairing],
    /// One row per pairing.
    pub(in super::super) functions: &'a [Function],
    pub(in super::super) moved: &'a [Moved],
    pub(in super::super) design: &'a stats::Design,
    pub(in super::super) interval: Interval,
    pub(in super::super) veto: bool,
    pub(in super::super) timebase: Timebase,
}

/// A path of both sides.
struct Joined {
    /// The row of its function.
    row: usize,
    parent: Option<usize>,
    /// What each run has of it, where it has any: the run by its number, in ascending order.
    sides: [Vec<(u32, Sums)>; 2],
}

/// Joins the trees of all runs and tests each path. Fails if a run has no tree.
pub(in super::super) fn compare(
    ground: &FunctionResults<'_>,
    options: &Options<'_>,
) -> Result<PathComparison, String> {
    let joined = in_order(join(ground)?);
    let runs = ground.sides.map(|side| side.runs.len());
    let mut functions: Vec<Function> =
        joined.iter().map(|path| function(path, &ground.functions[path.row], runs)).collect();
    let asking = Asking::new(ground.merged, options);
    let tested: Vec<usize> =
        (0..joined.len()).filter(|&index| asking.asks(&functions[index])).collect();
    let rows: Vec<Vec<stats::Row>> = options
        .measures
        .iter()
        .map(|&measure| tested.iter().map(|&index| values(&joined[index], runs, measure)).collect())
        .collect();
    let outcomes = stats::test_together(ground.design, &rows, &options.stats);
    let mut all_tested = Vec::new();
    for (&measure, outcome) in options.measures.iter().zip(outcomes) {
        for (&index, row) in tested.iter().zip(outcome.rows) {
            functions[index].tests[measure.index()] = Some(row);
            all_tested.push(row);
        }
    }
    let selected_level = stats::selected_level(&all_tested);
    // A calibration knows how much functions vary, not paths.
    let interval = match ground.interval {
        Interval::Calibrated => Interval::WithinTrace,
        other => other,
    };
    let mut tree = PairedTree::default();
    let mut found = Vec::with_capacity(joined.len());
    let mut ids: Vec<NodeId> = Vec::with_capacity(joined.len());
    for (path, mut function) in joined.iter().zip(functions) {
        let is_testable = function.tests.iter().any(Option::is_some);
        decide(&mut function, interval, is_testable, &options.measures, selected_level);
        for moved in ground.moved {
            if moved.caller == function.name {
                explain_one(&mut function, moved, selected_level);
            }
        }
        let has_one =
            !matches!(function.verdict, Verdict::New | Verdict::Gone | Verdict::NotTested);
        if ground.veto && has_one {
            function.verdict = Verdict::Inconclusive;
        }
        let parent = path.parent.map(|parent| ids[parent]);
        ids.push(tree.push(node(&function, parent, &tree)));
        found.push(Found::of(&function, is_unchanged(path, runs)));
    }
    let was_tested = |verdict: &Found| verdict.verdict != Verdict::NotTested && verdict.p.is_some();
    let tested = found.iter().filter(|found| was_tested(found)).count() as u64;
    Ok(PathComparison { tree, found, timebase: ground.timebase, interval, tested })
}

/// The trees of all runs as one; parents come before their children.
fn join(ground: &FunctionResults<'_>) -> Result<Vec<Joined>, String> {
    let mut joined: Vec<Joined> = Vec::new();
    let mut places: FastMap<(Option<usize>, usize), usize> = FastMap::default();
    for (side, (of, merged)) in ground.sides.iter().zip(ground.merged).enumerate() {
        let rows = rows_by_name(merged, ground.pairings, side);
        for (run, one) in of.runs.iter().enumerate() {
            let paths = one.paths.as_ref();
            let paths = paths.ok_or_else(|| format!("{}: no paths of calls", one.name))?;
            let row_of = rows_of(paths, &rows)?;
            let mut place_of = Vec::with_capacity(paths.nodes.len());
            for node in &paths.nodes {
                let parent = node.parent.map(|parent| place_of[parent as usize]);
                let row = row_of[node.func as usize];
                let place = *places.entry((parent, row)).or_insert_with(|| {
                    joined.push(Joined { row, parent, sides: [Vec::new(), Vec::new()] });
                    joined.len() - 1
                });
                place_of.push(place);
                let runs = &mut joined[place].sides[side];
                match runs.last_mut() {
                    Some((last, sums)) if *last == run as u32 => sums.add(&node.sums),
                    _ => runs.push((run as u32, node.sums)),
                }
            }
        }
    }
    Ok(joined)
}

/// The row of a function, by its name and module on one side.
type Rows<'a> = FastMap<(&'a str, Option<&'a str>), usize>;

fn rows_by_name<'a>(merged: &'a Profile, pairings: &[Pairing], side: usize) -> Rows<'a> {
    let mut rows = Rows::default();
    for (row, pairing) in pairings.iter().enumerate() {
        for &member in if side == 0 { &pairing.before } else { &pairing.after } {
            let function = &merged.rows[member];
            rows.insert((function.name.as_str(), function.module.as_deref()), row);
        }
    }
    rows
}

fn rows_of(paths: &RunPaths, rows: &Rows<'_>) -> Result<Vec<usize>, String> {
    let row = |(name, module): &(String, Option<String>)| {
        let found = rows.get(&(name.as_str(), module.as_deref()));
        found.copied().ok_or_else(|| format!("{name} is on a path, but not in the profile"))
    };
    paths.funcs.iter().map(row).collect()
}

/// The same depth first, siblings in the order of their rows, so that the result depends neither on
/// the order of runs nor on that of the sides.
fn in_order(joined: Vec<Joined>) -> Vec<Joined> {
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); joined.len()];
    let mut stack = Vec::new();
    for (index, path) in joined.iter().enumerate() {
        match path.parent {
            Some(parent) => children[parent].push(index),
            None => stack.push(index),
        }
    }
    // The next one is on top of the stack.
    let descending = |paths: &mut Vec<usize>| {
        paths.sort_unstable_by_key(|&index| std::cmp::Reverse(joined[index].row));
    };
    descending(&mut stack);
    let mut order = Vec::with_capacity(joined.len());
    let mut place_of = vec![0; joined.len()];
    while let Some(index) = stack.pop() {
        place_of[index] = order.len();
        order.push(index);
        let mut below = std::mem::take(&mut children[index]);
        descending(&mut below);
        stack.append(&mut below);
    }
    let mut slots: Vec<Option<Joined>> = joined.into_iter().map(Some).collect();
    let moved = order.into_iter().map(|index| {
        let mut path = slots[index].take().expect("each path is placed once");
        path.parent = path.parent.map(|parent| place_of[parent]);
        path
    });
    moved.collect()
}

/// A path as a function that is called on it only.
fn function(path: &Joined, known: &Function, runs: [usize; 2]) -> Function {
    let [before, after] = [0, 1].map(|side| {
        let mut sums = Sums::default();
        for (_, run) in &path.sides[side] {
            sums.add(run);
        }
        SideStats::new(runs[side] as u32, path.sides[side].len() as u32, sums.stats())
    });
    Function {
        name: known.name.clone(),
        module: known.module.clone(),
        kind: known.kind,
        matched: known.matched.clone(),
        parts: Parts::of(&before, &after),
        tests: [None, None, None],
        measure: Measure::Net,
        ratio: None,
        interval: None,
        verdict: Verdict::NotTested,
        moved: None,
        charged: None,
        tail: None,
        before,
        after,
    }
}

/// What the test is given: one number per run.
fn values(path: &Joined, runs: [usize; 2], measure: Measure) -> stats::Row {
    let of = |side: usize| {
        let mut values = vec![f64::NAN; runs[side]];
        for (run, sums) in &path.sides[side] {
            values[*run as usize] = measure.of(&sums.stats());
        }
        values
    };
    let called: Vec<f64> = path
        .sides
        .iter()
        .flatten()
        .filter(|(_, sums)| sums.calls > 0)
        .map(|(_, sums)| (sums.calls as f64).log2())
        .collect();
    let intensity = called.iter().sum::<f64>() / called.len().max(1) as f64;
    stats::Row { before: of(0), after: of(1), intensity, ..stats::Row::default() }
}

fn is_unchanged(path: &Joined, runs: [usize; 2]) -> bool {
    let total = |side: usize| {
        path.sides[side].iter().fold(Sums::default(), |mut sum, (_, run)| {
            sum.add(run);
            sum
        })
    };
    runs[0] == runs[1] && total(0) == total(1)
}

fn node(function: &Function, parent: Option<NodeId>, tree: &PairedTree) -> PairedNode {
    let old = super::super::table::matched_as(function).filter(|old| *old != function.name);
    let verdict = (function.verdict != Verdict::NotTested).then(|| function.verdict.name());
    PairedNode {
        name: function.name.clone(),
        renamed_from: old,
        parent,
        depth: parent.map_or(0, |parent| tree.node(parent).depth + 1),
        before: cost(&function.before),
        after: cost(&function.after),
        verdict,
    }
}

fn cost(side: &SideStats) -> Option<PathCost> {
    let all = side.total.calls.saturating_add(side.total.partial);
    side.is_there().then(|| PathCost {
        calls: rounded(all, u64::from(side.of_runs)),
        elapsed: side.elapsed,
        net: side.net,
    })
}
