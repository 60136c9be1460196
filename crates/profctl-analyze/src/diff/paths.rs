//! What changed on which path of calls: the calling-context trees of both sides, joined at every
//! level.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use profctl_model::hash::FastMap;
use profctl_model::{CallTree, Cell, Column, Names, Role, Table, TickUnit, Ticks, Timebase};

use super::align::{self, Entry, MatchedBy, Rule};
use super::{Parts, SideStats};
use crate::summarize::{FuncStats, count};

const SCHEMA: &str = "profctl.diff-paths/1";
const INDENT: &str = "  ";
const MAX_INDENT: usize = 64;

/// A function on a path, by its place in [`Paths::funcs`].
type FuncIdx = u32;
/// A path, by its place in [`Paths::nodes`].
type NodeIdx = u32;
const ROOT: NodeIdx = u32::MAX;

/// The paths of all runs of one side.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// How many runs were added.
    pub runs: u32,
    timebase: Option<Timebase>,
    funcs: Vec<(String, Option<String>)>,
    func_idx: FastMap<(String, Option<String>), FuncIdx>,
    nodes: Vec<Node>,
    children: FastMap<(NodeIdx, FuncIdx), NodeIdx>,
}

#[derive(Clone, Debug)]
struct Node {
    func: FuncIdx,
    parent: NodeIdx,
    stats: FuncStats,
}

impl Paths {
    /// Adds the tree of one run, its times in nanoseconds or counts.
    pub fn add(
        &mut self,
        tree: &CallTree,
        names: &Names,
        timebase: &Timebase,
    ) -> Result<(), String> {
        let unit = match timebase.unit {
            TickUnit::Seconds { .. } => Timebase::NANOSECONDS.unit,
            counts @ (TickUnit::Cycles | TickUnit::Instructions) => counts,
        };
        let resolution = Ticks(timebase.reported(timebase.resolution).max(1));
        let reported = Timebase { unit, resolution, timeline: timebase.timeline };
        if let Some(before) = self.timebase.filter(|before| before.unit != unit) {
            let units = (reported.unit_name(), before.unit_name());
            return Err(format!("the trace counts {}, expected {} as before", units.0, units.1));
        }
        self.timebase = Some(reported);
        self.runs += 1;
        let mut places = Vec::with_capacity(tree.len());
        for (_, node) in tree.nodes() {
            let func = &names.funcs[node.func];
            let func = self.func(&func.name, func.module.as_deref());
            let parent = node.parent.map_or(ROOT, |parent| places[parent.index()]);
            let place = self.child(parent, func);
            places.push(place);
            self.nodes[place as usize].stats.merge(&FuncStats {
                calls: node.calls,
                partial: node.partial,
                elapsed: timebase.reported(node.elapsed),
                net: timebase.reported(node.net),
                ..FuncStats::default()
            });
        }
        Ok(())
    }

    fn func(&mut self, name: &str, module: Option<&str>) -> FuncIdx {
        let key = (name.to_owned(), module.map(str::to_owned));
        *self.func_idx.entry(key).or_insert_with_key(|key| {
            self.funcs.push(key.clone());
            self.funcs.len() as u32 - 1
        })
    }

    fn child(&mut self, parent: NodeIdx, func: FuncIdx) -> NodeIdx {
        *self.children.entry((parent, func)).or_insert_with(|| {
            self.nodes.push(Node { func, parent, stats: FuncStats::default() });
            self.nodes.len() as u32 - 1
        })
    }

    /// The functions, for matching them with those of the other side.
    fn entries(&self) -> Vec<Entry> {
        let mut sums = vec![FuncStats::default(); self.funcs.len()];
        for node in &self.nodes {
            sums[node.func as usize].merge(&node.stats);
            if node.parent != ROOT {
                let caller = self.nodes[node.parent as usize].func;
                sums[caller as usize].callees += node.stats.calls + node.stats.partial;
            }
        }
        let entry = |((name, module), stats): (&(String, Option<String>), FuncStats)| {
            let calls = (stats.calls + stats.partial) as f64;
            Entry {
                name: name.clone(),
                module: module.clone(),
                calls: calls / f64::from(self.runs.max(1)),
                cost: stats.net as f64 / calls.max(1.0),
                callees: stats.callees as f64 / calls.max(1.0),
            }
        };
        self.funcs.iter().zip(sums).map(entry).collect()
    }
}

/// What of the joined tree to show.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Options {
    /// How many levels at most.
    pub depth: Option<u32>,
    /// Paths whose elapsed time changed by less than this share of all of it, in percent, are left
    /// out.
    pub share_min: f64,
    /// Whether a function under a likely new name is taken for the old one.
    pub renames: bool,
}

/// A path of both sides.
struct Joined {
    name: usize,
    parent: usize,
    depth: u32,
    sides: [FuncStats; 2],
}

/// The joined tree as a table, a row a path, callees below their caller, the largest change first.
pub fn table(
    before: &Paths,
    after: &Paths,
    rules: &[&Rule<'_>],
    options: &Options,
) -> Result<Table, String> {
    let timebase = before.timebase.or(after.timebase).unwrap_or(Timebase::NANOSECONDS);
    if after.timebase.is_some_and(|after| after.unit != timebase.unit) {
        return Err("the two sides do not count the same thing".into());
    }
    let (names, joined) = join(before, after, rules, options.renames);
    let runs = [before.runs, after.runs];
    let stats_of = |node: &Joined| {
        [0, 1].map(|side| SideStats::new(runs[side], runs[side], node.sides[side].clone()))
    };
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); joined.len()];
    let mut stack = Vec::new();
    let mut total = 0_u64;
    for (index, node) in joined.iter().enumerate() {
        if let Some(below) = children.get_mut(node.parent) {
            below.push(index);
        } else {
            let [before, after] = stats_of(node);
            total = total.saturating_add(before.elapsed.max(after.elapsed));
            stack.push(index);
        }
    }
    let change = |index: usize| {
        let [before, after] = stats_of(&joined[index]);
        i128::from(after.elapsed) - i128::from(before.elapsed)
    };
    let in_order = |nodes: &mut Vec<usize>| {
        nodes.sort_by_key(|&index| {
            (Reverse(change(index).unsigned_abs()), &names[joined[index].name])
        });
        // The next row is on top of the stack.
        nodes.reverse();
    };
    let mut table = Table::new(SCHEMA, timebase, columns());
    in_order(&mut stack);
    while let Some(index) = stack.pop() {
        let node = &joined[index];
        let changed = change(index).unsigned_abs();
        let share = 100.0 * changed as f64 / total.max(1) as f64;
        if options.depth.is_some_and(|depth| node.depth >= depth) || share < options.share_min {
            continue;
        }
        push(&mut table, node, &names[node.name], stats_of(node));
        let mut below = std::mem::take(&mut children[index]);
        in_order(&mut below);
        stack.append(&mut below);
    }
    let hidden = joined.len() - table.rows.len();
    let same = |node: &Joined| node.sides[0] == node.sides[1];
    if runs[0] == runs[1] && joined.iter().all(same) {
        table.rows.clear();
        let paths = count(joined.len() as u64, "path", "paths");
        table.notes.push(format!("no path changed: {paths} in both"));
    } else if hidden > 0 {
        let paths = count(hidden as u64, "path", "paths");
        table.notes.push(format!("not shown: {paths} too deep or with too small a change"));
    }
    Ok(table)
}

fn columns() -> Vec<Column> {
    vec![
        Column::new("before", "Before", Role::Time),
        Column::new("after", "After", Role::Time),
        Column::new("delta", "Delta", Role::Time),
        Column::new("delta_net", "Delta net", Role::Time),
        Column::new("delta_from_calls", "by calls", Role::Time),
        Column::new("delta_from_cost", "by cost", Role::Time),
        Column::new("calls_before", "# before", Role::Count),
        Column::new("calls_after", "# after", Role::Count),
        Column::new("depth", "depth", Role::Count),
        Column::new("name", "name", Role::Name),
    ]
}

fn push(table: &mut Table, node: &Joined, name: &str, [before, after]: [SideStats; 2]) {
    let parts = Parts::of(&before, &after);
    let delta = i128::from(after.elapsed) - i128::from(before.elapsed);
    let delta = i64::try_from(delta).unwrap_or(if delta < 0 { i64::MIN } else { i64::MAX });
    let indent = INDENT.repeat(MAX_INDENT.min(node.depth as usize));
    table.push(vec![
        Cell::Time(Ticks(before.elapsed)),
        Cell::Time(Ticks(after.elapsed)),
        Cell::Change(delta),
        Cell::Change(parts.delta_net),
        Cell::Change(parts.from_calls),
        Cell::Change(parts.from_cost),
        Cell::Count(before.calls),
        Cell::Count(after.calls),
        Cell::Count(u64::from(node.depth)),
        Cell::Text(format!("{indent}{name}")),
    ]);
}

/// The trees of both sides as one; parents come before their children, and a parent past the end
/// is none. Also the names that its nodes refer to.
fn join(
    before: &Paths,
    after: &Paths,
    rules: &[&Rule<'_>],
    renames: bool,
) -> (Vec<String>, Vec<Joined>) {
    let (pairings, _) = align::align(&before.entries(), &after.entries(), rules, renames);
    let mut row_of = [vec![0; before.funcs.len()], vec![0; after.funcs.len()]];
    let mut names = Vec::with_capacity(pairings.len());
    for (row, pairing) in pairings.iter().enumerate() {
        for &func in &pairing.before {
            row_of[0][func] = row;
        }
        for &func in &pairing.after {
            row_of[1][func] = row;
        }
        let new = match (pairing.by, pairing.after.as_slice()) {
            (Some(MatchedBy::Rename | MatchedBy::Suffix), &[only]) => after.funcs[only].0.clone(),
            _ => pairing.name.clone(),
        };
        names.push(new);
    }
    let mut joined: Vec<Joined> = Vec::new();
    let mut places: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (side, paths) in [before, after].into_iter().enumerate() {
        let mut place_of = Vec::with_capacity(paths.nodes.len());
        for node in &paths.nodes {
            let parent = match node.parent {
                ROOT => usize::MAX,
                parent => place_of[parent as usize],
            };
            let name = row_of[side][node.func as usize];
            let place = *places.entry((parent, name)).or_insert_with(|| {
                let depth = joined.get(parent).map_or(0, |parent| parent.depth + 1);
                let sides = [FuncStats::default(), FuncStats::default()];
                joined.push(Joined { name, parent, depth, sides });
                joined.len() - 1
            });
            place_of.push(place);
            joined[place].sides[side].merge(&node.stats);
        }
    }
    (names, joined)
}
