//! The joined tree as a table: one row per path, callees below their caller, the largest change
//! first.

use std::cmp::Reverse;

use profctl_model::{Cell, Column, NodeId, PairedNode, Role, Table, Ticks};

use super::{Found, PathComparison};
use crate::diff::{Measure, Verdict};
use crate::summarize::count;

const SCHEMA: &str = "profctl.diff-paths/1";
const INDENT: &str = "  ";
const MAX_INDENT: usize = 64;
/// The columns that leave a narrow table before the others.
const LEFT_OUT_FIRST: [&str; 11] = [
    "depth",
    "p",
    "q",
    "renamed_from",
    "measure",
    "delta_from_calls",
    "delta_from_cost",
    "delta_net",
    "calls_before",
    "calls_after",
    "ci_low",
];

/// What of the joined tree to show.
#[derive(Clone, Copy, Default)]
pub struct Shown<'a> {
    /// How many levels at most.
    pub depth: Option<u32>,
    /// Paths whose elapsed time changed by less than this share of all of it, in percent, are
    /// omitted, unless they are called changed or lead to something that is not omitted.
    pub share_min: f64,
    /// Which names to show.
    pub matching: Option<&'a dyn Fn(&str) -> bool>,
    /// How many rows at most.
    pub top: Option<usize>,
    /// Whether for CSV and JSON, with p-values after the verdicts.
    pub chances: bool,
}

impl PathComparison {
    /// The paths to show.
    pub fn table(&self, shown: &Shown<'_>) -> Table {
        let mut table = Table::new(SCHEMA, self.timebase, columns(shown.chances));
        table.left_out_first = &LEFT_OUT_FIRST;
        let all = self.tree.len();
        if self.unchanged() == all as u64 {
            let paths = count(all as u64, "path", "paths");
            table.notes.push(format!("no path changed: {paths} in both"));
            return table;
        }
        let wanted = self.wanted(shown);
        let mut children: Vec<Vec<NodeId>> = vec![Vec::new(); all];
        let mut stack = Vec::new();
        for (id, node) in self.tree.nodes().filter(|(id, _)| wanted[id.index()]) {
            match node.parent {
                Some(parent) => children[parent.index()].push(id),
                None => stack.push(id),
            }
        }
        let in_order = |nodes: &mut Vec<NodeId>| {
            nodes.sort_by_key(|&id| {
                let node = self.tree.node(id);
                (Reverse(change(node).unsigned_abs()), &node.name, id)
            });
            // The next row is on top of the stack.
            nodes.reverse();
        };
        in_order(&mut stack);
        let most = shown.top.unwrap_or(usize::MAX);
        let mut listed = 0;
        while let Some(id) = stack.pop() {
            listed += 1;
            let node = self.tree.node(id);
            let matches = shown.matching.is_none_or(|matches| matches(&node.name));
            if matches && table.rows.len() < most {
                table.push(cells(node, &self.found[id.index()], shown.chances));
            }
            let mut below = std::mem::take(&mut children[id.index()]);
            in_order(&mut below);
            stack.append(&mut below);
        }
        if listed < all {
            let paths = count((all - listed) as u64, "path", "paths");
            table.notes.push(format!("not shown: {paths} below the limits of depth and change"));
        }
        table
    }

    /// Which paths are worth a row: what changed enough, and the way there.
    fn wanted(&self, shown: &Shown<'_>) -> Vec<bool> {
        let roots = self.tree.nodes().filter(|(_, node)| node.parent.is_none());
        let total = roots.fold(0_u64, |sum, (_, node)| {
            let elapsed =
                |side: &Option<_>| side.map_or(0, |cost: profctl_model::PathCost| cost.elapsed);
            sum.saturating_add(elapsed(&node.before).max(elapsed(&node.after)))
        });
        let mut wanted = vec![false; self.tree.len()];
        let nodes: Vec<_> = self.tree.nodes().collect();
        for (id, node) in nodes.into_iter().rev() {
            let share = 100.0 * change(node).unsigned_abs() as f64 / total.max(1) as f64;
            let called = matches!(
                self.found[id.index()].verdict,
                Verdict::Regressed | Verdict::Suspect | Verdict::Improved
            );
            let too_deep = shown.depth.is_some_and(|depth| node.depth >= depth);
            if !too_deep && (called || share >= shown.share_min) {
                wanted[id.index()] = true;
            }
            if let Some(parent) = node.parent.filter(|_| wanted[id.index()]) {
                wanted[parent.index()] = true;
            }
        }
        wanted
    }
}

/// How much longer a run is on a path.
fn change(node: &PairedNode) -> i64 {
    let of =
        |cost: Option<profctl_model::PathCost>| i128::from(cost.map_or(0, |cost| cost.elapsed));
    let change = of(node.after) - of(node.before);
    i64::try_from(change).unwrap_or(if change < 0 { -i64::MAX } else { i64::MAX })
}

fn columns(chances: bool) -> Vec<Column> {
    let ratio = |name: &str, heading: &str| Column::new(name, heading, Role::Ratio);
    let mut columns = vec![
        Column::new("before", "Before", Role::Time),
        Column::new("after", "After", Role::Time),
        Column::new("delta", "Delta", Role::Time),
        Column::new("delta_net", "Delta net", Role::Time),
        Column::new("delta_from_calls", "from calls", Role::Time),
        Column::new("delta_from_cost", "from cost", Role::Time),
        Column::new("calls_before", "# before", Role::Count),
        Column::new("calls_after", "# after", Role::Count),
        ratio("ratio", "ratio"),
        ratio("ci_low", "95% low").in_group("95%"),
        ratio("ci_high", "high").in_group("95%"),
    ];
    if chances {
        columns.extend([ratio("p", "p"), ratio("q", "q")]);
        columns.push(Column::new("renamed_from", "was", Role::Text));
        columns.push(Column::new("measure", "of", Role::Text));
    }
    columns.extend([
        Column::new("verdict", "verdict", Role::Text),
        Column::new("depth", "depth", Role::Count),
        Column::new("name", "name", Role::Name),
    ]);
    columns
}

fn cells(node: &PairedNode, found: &Found, chances: bool) -> Vec<Cell> {
    let cost = [node.before, node.after].map(Option::unwrap_or_default);
    let ratio = |ratio: Option<f64>| ratio.map_or(Cell::Null, Cell::Ratio);
    let mut cells = vec![
        Cell::Time(Ticks(cost[0].elapsed)),
        Cell::Time(Ticks(cost[1].elapsed)),
        Cell::Change(change(node)),
        Cell::Change(found.parts.delta_net),
        Cell::Change(found.parts.from_calls),
        Cell::Change(found.parts.from_cost),
        Cell::Count(cost[0].calls),
        Cell::Count(cost[1].calls),
        ratio(found.ratio),
        ratio(found.interval.map(|ends| ends.0)),
        ratio(found.interval.map(|ends| ends.1)),
    ];
    let old = node.renamed_from.as_deref();
    let verdict = if chances {
        cells.extend([ratio(found.p), ratio(found.q)]);
        cells.push(old.map_or(Cell::Null, Cell::from));
        cells.push(found.measure.name().into());
        found.verdict.name().to_owned()
    } else {
        said(found)
    };
    cells.push(Cell::Text(verdict));
    cells.push(Cell::Count(u64::from(node.depth)));
    let was = match old {
        Some(old) if !chances => format!(" (was {old})"),
        _ => String::new(),
    };
    let indent = INDENT.repeat(MAX_INDENT.min(node.depth as usize));
    cells.push(Cell::Text(format!("{indent}{}{was}", node.name)));
    cells
}

/// The verdict for readers: of what it is, where that is not the call's own time.
fn said(found: &Found) -> String {
    let verdict = found.verdict.name();
    let called = matches!(found.verdict, Verdict::Regressed | Verdict::Suspect | Verdict::Improved);
    match found.measure {
        Measure::Elapsed if called => format!("{verdict} (elapsed)"),
        Measure::Total if called => format!("{verdict} (total)"),
        _ => verdict.to_owned(),
    }
}
