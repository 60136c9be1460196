//! The merged calling-context tree: where the time went, by the path of callers.
//!
//! Every distinct path from an outermost call down is one node; its `elapsed` sums the calls on
//! that path, recursive ones included, because a path names each level of a recursion apart.
//! Inverted (`callers`), a path leads from a function up to its callers, and elapsed counts only
//! outermost calls of that function, so that the first row has the flat profile's figures.

use std::cmp::Reverse;
use std::ops::Range;

use profctl_model::tree::Node;
use profctl_model::{
    CallTree, Cell, Column, FuncId, IdVec, Names, NodeId, Role, SpanId, Table, ThreadId, Ticks,
    Trace, TraceMeta,
};

use crate::find;
use crate::summarize::{NO_CALLS, NO_DURATIONS, Quality, count};

mod merge;

pub use merge::{Joined, Merger};

const SCHEMA: &str = "profctl.tree/1";
/// What one level of a tree moves a name to the right.
const INDENT: &str = "  ";
/// Levels past this are not moved further: a recursion that never returned must not fill the table
/// with spaces. The depth column distinguishes them.
const MAX_INDENT: usize = 64;
/// How many callers up a path is followed, for the same reason.
const MAX_CALLERS: usize = 100;

/// What of a tree to show.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Options {
    /// How many levels at most.
    pub depth: Option<u32>,
    /// Paths below this share of the total elapsed time are omitted, in percent.
    pub min_share: f64,
    /// Show who calls this function, and from where, instead of what is called.
    pub callers: Option<String>,
    /// Show only what is below this function, all its calls merged.
    pub callees: Option<String>,
}

/// Merges the calls of a trace.
pub fn build(trace: &Trace) -> CallTree {
    of_rows(trace, 0..trace.spans.len())
}

/// Adds a call to its node.
fn add(node: &mut Node, whole: bool, elapsed: Ticks, net: Ticks) {
    if whole {
        let least = if node.calls == 0 { elapsed } else { node.elapsed_min.min(elapsed) };
        node.elapsed_min = least;
        node.elapsed_max = node.elapsed_max.max(elapsed);
        node.calls += 1;
    } else {
        node.partial += 1;
    }
    node.elapsed += elapsed;
    node.net += net;
}

/// Merges the calls of each thread apart, in the order of the threads' first rows.
pub fn by_thread(trace: &Trace) -> Vec<(ThreadId, CallTree)> {
    let mut start = 0;
    let threads = trace.spans.thread.chunk_by(|a, b| a == b);
    threads
        .map(|rows| {
            let rows_of = start..start + rows.len();
            start = rows_of.end;
            (rows[0], of_rows(trace, rows_of))
        })
        .collect()
}

/// Merges the calls of some rows, which hold the callers of all their calls.
fn of_rows(trace: &Trace, rows: Range<usize>) -> CallTree {
    let spans = &trace.spans;
    let first = rows.start;
    let mut tree = CallTree::default();
    let mut node_of: Vec<NodeId> = Vec::with_capacity(rows.len());
    for row in rows {
        let id = SpanId::from_index(row);
        // Parents come before children, so the caller's node is known.
        let parent = spans.parent[row].map(|parent| node_of[parent.index() - first]);
        let node_id = tree.child(parent, spans.func[id]);
        node_of.push(node_id);
        let whole = !spans.fidelity[row].is_partial();
        add(tree.node_mut(node_id), whole, spans.elapsed(id), spans.net[row]);
    }
    tree
}

/// The tree as a table, one row per path, callees below their caller, the slowest first.
pub fn table(
    tree: &CallTree,
    names: &Names,
    meta: &TraceMeta,
    options: &Options,
) -> Result<Table, String> {
    let turned;
    let shown = match (&options.callers, &options.callees) {
        (None, None) => tree,
        (Some(func), None) => {
            turned = callers_of(tree, &find::functions(names, func)?);
            &turned
        }
        (None, Some(func)) => {
            turned = callees_of(tree, &find::functions(names, func)?);
            &turned
        }
        (Some(_), Some(_)) => return Err("both callers and callees: expected one of them".into()),
    };
    let mut table = Table::new(
        SCHEMA,
        meta.timebase,
        vec![
            Column::new("elapsed", "Elapsed", Role::Time),
            Column::new("net", "Net", Role::Time),
            Column::new("calls", "# calls", Role::Count),
            Column::new("share", "% elapsed", Role::Percent),
            Column::new("depth", "depth", Role::Count),
            Column::new("name", "name", Role::Name),
        ],
    );
    table.left_out_first = &["depth", "calls", "share"];
    let hidden = push_rows(&mut table, shown, names, options, meta.knows_lengths());
    table.notes = Quality::of(&meta.diags).notes(meta.timebase.timeline);
    if !meta.knows_lengths() {
        table.notes.push(NO_DURATIONS.into());
    }
    if tree.nodes().next().is_none() {
        table.notes.push(NO_CALLS.into());
    }
    // Turned around, every caller repeats what its first row says.
    let counted = |node: &&Node| options.callers.is_none() || node.parent.is_none();
    let nodes = shown.nodes().map(|(_, node)| node).filter(counted);
    let partial = nodes.fold(0_u64, |sum, node| sum.saturating_add(node.partial));
    if partial > 0 {
        let calls = count(partial, "incomplete call", "incomplete calls");
        table.notes.push(format!("{calls}: in times, not in calls"));
    }
    if shown
        .nodes()
        .any(|(_, node)| node.depth as usize == MAX_CALLERS && options.callers.is_some())
    {
        table.notes.push(format!("not shown: callers more than {MAX_CALLERS} levels up"));
    }
    if hidden > 0 {
        let paths = count(hidden as u64, "path", "paths");
        table.notes.push(format!("not shown: {paths} below the limits of depth and share"));
    }
    Ok(table)
}

/// Appends the rows and says how many nodes were omitted.
fn push_rows(
    table: &mut Table,
    tree: &CallTree,
    names: &Names,
    options: &Options,
    knows_lengths: bool,
) -> usize {
    let (mut roots, mut children) = (Vec::new(), vec![Vec::new(); tree.len()]);
    for (id, node) in tree.nodes() {
        match node.parent {
            None => roots.push(id),
            Some(parent) => children[parent.index()].push(id),
        }
    }
    let total = roots.iter().fold(Ticks(0), |sum, &root| sum + tree.node(root).elapsed);
    let share = |elapsed: Ticks| (total.0 > 0).then(|| elapsed.0 as f64 / total.0 as f64 * 100.0);
    let in_order = |nodes: &mut Vec<NodeId>| {
        nodes.sort_by_key(|&id| {
            let node = tree.node(id);
            let func = &names.funcs[node.func];
            // Without lengths, how often is the next best.
            let calls = if knows_lengths { 0 } else { node.calls };
            (Reverse((node.elapsed, calls)), func.name.as_str(), func.module.as_deref())
        });
        // The next row is on top of the stack.
        nodes.reverse();
    };
    let time = |length| if knows_lengths { Cell::Time(length) } else { Cell::Null };
    in_order(&mut roots);
    let mut stack = roots;
    while let Some(id) = stack.pop() {
        let node = tree.node(id);
        let share = share(node.elapsed);
        if options.depth.is_some_and(|depth| node.depth >= depth)
            || share.is_some_and(|share| share < options.min_share)
        {
            continue;
        }
        let indent = INDENT.repeat(MAX_INDENT.min(node.depth as usize));
        table.push(vec![
            time(node.elapsed),
            time(node.net),
            Cell::Count(node.calls),
            share.map_or(Cell::Null, Cell::Percent),
            Cell::Count(u64::from(node.depth)),
            Cell::Text(format!("{indent}{}", names.funcs[node.func].name)),
        ]);
        let below = &mut children[id.index()];
        in_order(below);
        stack.append(below);
    }
    tree.len() - table.rows.len()
}

/// All subtrees of the wanted functions, merged. A call within another of them stays where it is.
fn callees_of(tree: &CallTree, wanted: &IdVec<FuncId, bool>) -> CallTree {
    let mut merged = CallTree::default();
    let mut copies: Vec<Option<NodeId>> = Vec::with_capacity(tree.len());
    for (_, node) in tree.nodes() {
        let above = node.parent.and_then(|parent| copies[parent.index()]);
        let copy = match above {
            Some(above) => Some(merged.child(Some(above), node.func)),
            None if wanted[node.func] => Some(merged.child(None, node.func)),
            None => None,
        };
        copies.push(copy);
        if let Some(copy) = copy {
            let copy = merged.node_mut(copy);
            copy.calls += node.calls;
            copy.partial += node.partial;
            copy.elapsed += node.elapsed;
            copy.net += node.net;
        }
    }
    merged
}

/// The paths from the wanted functions up, [`MAX_CALLERS`] far. Every caller carries the calls and
/// times of its calls.
fn callers_of(tree: &CallTree, wanted: &IdVec<FuncId, bool>) -> CallTree {
    let mut turned = CallTree::default();
    // Whether a path or any above it ends in a wanted function.
    let mut within: Vec<bool> = Vec::with_capacity(tree.len());
    for (_, node) in tree.nodes() {
        let is_outermost = node.parent.is_none_or(|parent| !within[parent.index()]);
        within.push(wanted[node.func] || !is_outermost);
        if !wanted[node.func] {
            continue;
        }
        let path = std::iter::successors(Some(node), |at| at.parent.map(|up| tree.node(up)));
        let mut below = None;
        for caller in path.take(MAX_CALLERS + 1) {
            let id = turned.child(below, caller.func);
            below = Some(id);
            let copy = turned.node_mut(id);
            copy.calls += node.calls;
            copy.partial += node.partial;
            copy.net += node.net;
            if is_outermost {
                copy.elapsed += node.elapsed;
            }
        }
    }
    turned
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Calls, random_calls, show};

    const LINE: &str = "0 main( 1 f( 2 g( 5 ) 5 f( 6 g( 8 ) 9 ) 10 ) 11 h( 12 g( 13 ) 14 ) 20 ) \
                        20 idle( 30 ) 30 f( 31 ~)";

    fn check(options: &Options, expected: &Expect) {
        let trace = Calls::parse(LINE).trace();
        let found = table(&build(&trace), &trace.names, &trace.meta, options);
        expected.assert_eq(&found.map_or_else(|error| error, |table| show(&table)));
    }

    #[test]
    fn the_whole_tree() {
        check(
            &Options::default(),
            &expect![[r#"
            elapsed|net|calls|share|depth|name
            20|8|1|64.5%|0|main
            9|2|1|29.0%|1|  f
            4|2|1|12.9%|2|    f
            2|2|1|6.5%|3|      g
            3|3|1|9.7%|2|    g
            3|2|1|9.7%|1|  h
            1|1|1|3.2%|2|    g
            10|10|1|32.3%|0|idle
            1|1|0|3.2%|0|f
            # 1 incomplete call: in times, not in calls
        "#]],
        );
    }

    #[test]
    fn each_path_knows_its_shortest_and_longest_call() {
        let trace = Calls::parse("@t0 0 f( 2 ) 5 f( 12 ) 20 f( 99 ~) @t1 0 f( 4 )").trace();
        let ranges = |tree: &CallTree| -> Vec<_> {
            let nodes = tree.nodes().map(|(_, node)| node);
            nodes.map(|node| (node.calls, node.elapsed_min.0, node.elapsed_max.0)).collect()
        };
        assert_eq!(ranges(&build(&trace)), [(3, 2, 7)]);
        let threads: Vec<_> = by_thread(&trace).iter().map(|(_, tree)| ranges(tree)).collect();
        assert_eq!(threads, [[(2, 2, 7)], [(1, 4, 4)]]);
    }

    #[test]
    fn cut_by_depth_and_share() {
        let options = Options { depth: Some(2), min_share: 5.0, ..Options::default() };
        check(
            &options,
            &expect![[r#"
                elapsed|net|calls|share|depth|name
                20|8|1|64.5%|0|main
                9|2|1|29.0%|1|  f
                3|2|1|9.7%|1|  h
                10|10|1|32.3%|0|idle
                # 1 incomplete call: in times, not in calls
                # not shown: 5 paths below the limits of depth and share
            "#]],
        );
    }

    #[test]
    fn below_a_function_and_above_it() {
        let callees = Options { callees: Some("f".into()), ..Options::default() };
        check(
            &callees,
            &expect![[r#"
            elapsed|net|calls|share|depth|name
            10|3|1|100.0%|0|f
            4|2|1|40.0%|1|  f
            2|2|1|20.0%|2|    g
            3|3|1|30.0%|1|  g
            # 1 incomplete call: in times, not in calls
        "#]],
        );
        let callers = Options { callers: Some("f".into()), ..Options::default() };
        check(
            &callers,
            &expect![[r#"
            elapsed|net|calls|share|depth|name
            10|5|2|100.0%|0|f
            9|2|1|90.0%|1|  main
            0|2|1|0.0%|1|  f
            0|2|1|0.0%|2|    main
            # 1 incomplete call: in times, not in calls
        "#]],
        );
        let callers = Options { callers: Some("g".into()), ..Options::default() };
        check(
            &callers,
            &expect![[r#"
            elapsed|net|calls|share|depth|name
            6|6|3|100.0%|0|g
            5|5|2|83.3%|1|  f
            3|3|1|50.0%|2|    main
            2|2|1|33.3%|2|    f
            2|2|1|33.3%|3|      main
            1|1|1|16.7%|1|  h
            1|1|1|16.7%|2|    main
        "#]],
        );
        let unknown = Options { callers: Some("mian".into()), ..Options::default() };
        check(&unknown, &expect!["no function `mian`; did you mean `main`?"]);
    }

    #[test]
    fn a_recursion_that_never_returned_stays_small() {
        let levels = 20_000;
        let line = "0 f( ".repeat(levels) + &"1 ~) ".repeat(levels);
        let trace = Calls::parse(&line).trace();
        let tree = build(&trace);
        for callers in [None, Some("f".to_owned())] {
            let options = Options { callers, ..Options::default() };
            let table = table(&tree, &trace.names, &trace.meta, &options).unwrap();
            assert_eq!(table.rows[0][0], Cell::Time(Ticks(1)));
            assert!(show(&table).len() < 200 * levels);
        }
    }

    proptest! {
        #[test]
        fn the_tree_and_the_flat_profile_agree(calls in random_calls()) {
            let (trace, profile) = (calls.trace(), calls.profile());
            let tree = build(&trace);
            for row in &profile.rows {
                let wanted = find::functions(&trace.names, &row.name).unwrap();
                let expected = (row.stats.calls, row.stats.net, row.stats.elapsed);
                let up = callers_of(&tree, &wanted);
                let root = up.nodes().next().unwrap().1;
                prop_assert_eq!((root.calls, root.net.0, root.elapsed.0), expected);
                let down = callees_of(&tree, &wanted);
                prop_assert_eq!(down.nodes().next().unwrap().1.elapsed.0, row.stats.elapsed);
            }
        }
    }
}
