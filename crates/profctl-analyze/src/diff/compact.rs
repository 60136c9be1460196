//! One line per function: before, after, change, chance. One side before, any number of sides after.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::Path;

use profctl_model::{Cell, Column, Role, Table, Ticks};

use super::table::label;
use super::types::{Comparison, Function};
use super::{Measure, Shown, Verdict};

const SCHEMA: &str = "profctl.diff-compact/1";

/// What one comparison says of a function.
struct Entry<'a> {
    function: &'a Function,
    fdr: f64,
}

/// All functions that differ in any of `comparisons`, which share their side before, by one measure.
/// The last row is the geometric mean over all functions that every comparison tested.
pub fn compact(comparisons: &[Comparison], measure: Measure, shown: &Shown<'_>) -> Table {
    let Some(first) = comparisons.first() else {
        return Table::new(SCHEMA, profctl_model::Timebase::NANOSECONDS, Vec::new());
    };
    let sides = comparisons.iter().map(|comparison| &comparison.after);
    let sides = std::iter::once(&first.before).chain(sides);
    let headings = short(&sides.map(|side| side.name.as_str()).collect::<Vec<_>>());
    let mut columns = vec![
        Column::new("before", headings[0], Role::Time),
        Column::new("before_reach", "±", Role::Text),
    ];
    for (number, heading) in headings.iter().enumerate().skip(1) {
        columns.push(Column::new(format!("after_{number}"), *heading, Role::Time));
        columns.push(Column::new(format!("after_{number}_reach"), "±", Role::Text));
        columns.push(Column::new(format!("delta_{number}"), "delta", Role::Text));
        columns.push(Column::new(format!("chance_{number}"), "p, n", Role::Text));
    }
    columns.push(Column::new("name", "name", Role::Name));
    let mut table = Table::new(SCHEMA, first.timebase, columns);
    let mut names: Vec<(&str, Option<&str>)> = Vec::new();
    let mut entries: BTreeMap<(&str, Option<&str>), Vec<Option<Entry<'_>>>> = BTreeMap::new();
    for (at, comparison) in comparisons.iter().enumerate() {
        for function in &comparison.functions {
            // Functions of one row before may be called otherwise in some sides after.
            let old = function.matched.as_ref().and_then(|matched| matched.before.first());
            let name = old.unwrap_or(&function.name);
            let key = (name.as_str(), function.module.as_deref());
            let of_all = entries.entry(key).or_insert_with(|| {
                names.push(key);
                comparisons.iter().map(|_| None).collect()
            });
            of_all[at] = Some(Entry { function, fdr: comparison.fdr });
        }
    }
    let differs = |of_all: &[Option<Entry<'_>>]| {
        of_all.iter().flatten().any(|entry| !entry.function.is_unchanged())
    };
    let matches = |name: &str| shown.matching.is_none_or(|matching| matching(name));
    let wanted = names.iter().filter(|key| differs(&entries[*key]) && matches(key.0));
    for key in wanted.take(shown.top.unwrap_or(usize::MAX)) {
        table.push(cells(&entries[key], measure));
    }
    table.push(means(&entries, comparisons.len(), measure));
    table
}

/// The last parts of paths, if that distinguishes them: a heading is as wide as its column.
fn short<'a>(paths: &[&'a str]) -> Vec<&'a str> {
    let last = |path: &'a str| Path::new(path).file_name().and_then(OsStr::to_str).unwrap_or(path);
    let short: Vec<&str> = paths.iter().copied().map(last).collect();
    let is_distinct = short.iter().enumerate().all(|(at, name)| !short[..at].contains(name));
    if is_distinct { short } else { paths.to_vec() }
}

fn cells(of_all: &[Option<Entry<'_>>], measure: Measure) -> Vec<Cell> {
    let tested = |entry: &Option<Entry<'_>>| {
        entry.as_ref().and_then(|entry| entry.function.tests[measure.index()])
    };
    let first = of_all.iter().flatten().next();
    let mut cells = match of_all.iter().find_map(tested) {
        Some(tested) if tested.sides[0].n > 0 => {
            vec![time(tested.sides[0].mean), reach(tested.sides[0].reach)]
        }
        _ => vec![first.map_or(Cell::Null, |entry| plain(entry.function, measure, 0)), Cell::Null],
    };
    for entry in of_all {
        let Some(Entry { function, fdr }) = entry else {
            cells.extend([Cell::Null, Cell::Null, Cell::Null, Cell::Null]);
            continue;
        };
        match function.tests[measure.index()].filter(|tested| tested.sides[1].n > 0) {
            Some(tested) => {
                let [before, after] = tested.sides;
                let claimed = [Verdict::Regressed, Verdict::Suspect, Verdict::Improved];
                let is_sure = tested.q <= *fdr || claimed.contains(&function.verdict);
                let delta = if is_sure { change(tested.estimate) } else { "~".to_owned() };
                cells.extend([
                    time(after.mean),
                    reach(after.reach),
                    Cell::Text(delta),
                    Cell::Text(format!("(p={:.3} n={}+{})", tested.p, before.n, after.n)),
                ]);
            }
            None => {
                let word = match function.verdict {
                    Verdict::New => "new",
                    Verdict::Gone => "gone",
                    _ => "",
                };
                cells.extend([plain(function, measure, 1), Cell::Null, word.into(), Cell::Null]);
            }
        }
    }
    cells.push(Cell::Text(first.map_or_else(String::new, |entry| label(entry.function))));
    cells
}

/// The geometric means over the functions that all comparisons tested.
fn means(
    entries: &BTreeMap<(&str, Option<&str>), Vec<Option<Entry<'_>>>>,
    n: usize,
    measure: Measure,
) -> Vec<Cell> {
    let mut sums = vec![(0.0, 0.0); n];
    let mut count = 0_u32;
    for of_all in entries.values() {
        let all: Option<Vec<_>> = of_all
            .iter()
            .map(|entry| {
                let tested = entry.as_ref()?.function.tests[measure.index()]?;
                let [before, after] = tested.sides;
                (before.n > 0 && after.n > 0).then_some((before.mean, after.mean))
            })
            .collect();
        let Some(all) = all else { continue };
        count += 1;
        for (sum, (before, after)) in sums.iter_mut().zip(all) {
            *sum = (sum.0 + before, sum.1 + after);
        }
    }
    let mean = |sum: f64| sum / f64::from(count);
    let mut cells = vec![time(mean(sums[0].0)), Cell::Null];
    for (before, after) in &sums {
        let delta = Cell::Text(change(mean(after - before)));
        cells.extend([time(mean(*after)), Cell::Null, delta, Cell::Null]);
    }
    cells.push("geometric mean".into());
    cells
}

fn time(log: f64) -> Cell {
    if log.is_finite() { Cell::Time(Ticks(log.exp2().round() as u64)) } else { Cell::Null }
}

fn reach(log: f64) -> Cell {
    if log.is_finite() {
        Cell::Text(format!("± {:.0}%", (log.exp2() - 1.0) * 100.0))
    } else {
        Cell::Null
    }
}

/// The figure of a side of a function that was not tested.
fn plain(function: &Function, measure: Measure, side: usize) -> Cell {
    let stats = if side == 0 { &function.before } else { &function.after };
    let figure = match measure {
        Measure::Net => stats.net_avg(),
        Measure::Total => stats.is_there().then_some(stats.net),
        Measure::Elapsed => stats.inclusive_avg(),
    };
    figure.map_or(Cell::Null, |figure| Cell::Time(Ticks(figure)))
}

fn change(log: f64) -> String {
    if !log.is_finite() {
        return String::new();
    }
    let percent = (log.exp2() - 1.0) * 100.0;
    format!("{}{percent:.2}%", if percent > 0.0 { "+" } else { "" })
}
