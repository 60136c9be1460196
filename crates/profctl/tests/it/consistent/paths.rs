//! Calls merged by path: as a tree, and as saved profiles keep them.

use std::collections::BTreeMap;

use profctl_analyze::summarize::{By, PathSums, Profile};
use profctl_analyze::tree;
use profctl_import::stream;
use profctl_model::{CallTree, PathOrder, Spool};
use serde_json::Value;

use super::{files, for_every_fixture, profile, trace};

#[test]
fn the_tree_is_the_profile_by_path() {
    for_every_fixture(|name, _, parts, options| {
        let trace = trace(parts, options);
        let mut of_tree: BTreeMap<(String, Option<String>), [u64; 3]> = BTreeMap::new();
        for (_, node) in tree::build(&trace).nodes() {
            let func = &trace.names.funcs[node.func];
            let of = of_tree.entry((func.name.clone(), func.module.clone())).or_default();
            of[0] += node.calls;
            of[1] += node.partial;
            of[2] += node.net.0;
        }
        let flat = profile(parts, options, By::Function);
        let of_rows = flat.rows.iter().map(|row| {
            let stats = &row.stats;
            ((row.name.clone(), row.module.clone()), [stats.calls, stats.partial, stats.net])
        });
        assert_eq!(of_tree, of_rows.collect(), "{name}");
    });
}

#[test]
fn paths_are_the_same_without_the_trace_in_memory() {
    for_every_fixture(|name, _, parts, options| {
        let trace = trace(parts, options);
        let (names, timebase) = (&trace.names, &trace.meta.timebase);
        let spool = Spool::with_block_rows(Vec::new(), 7);
        let read = stream(&*files(parts), options, spool, &|_| ()).expect("it was read before");
        let order = PathOrder::by_name(&read.names);
        let mut merger = tree::Merger::new(order.clone(), false);
        let mut sums = PathSums::default();
        let placed = read.sink.callers_first(timebase.microsecond(), |row| {
            merger.add(row);
            sums.add(row);
        });
        placed.unwrap();
        let of_trace = tree::build(&trace);
        let rows = |tree: &CallTree| tree.depth_first(None, &order.rank).collect::<Vec<_>>();
        assert_eq!(rows(&merger.into_tree()), rows(&of_trace), "{name}");
        let mut expected: BTreeMap<_, [u64; 4]> = BTreeMap::new();
        let mut paths: Vec<Vec<_>> = Vec::new();
        for (_, node) in of_trace.nodes() {
            let mut path =
                node.parent.map_or_else(Vec::new, |parent| paths[parent.index()].clone());
            let func = &names.funcs[node.func];
            path.push((func.name.clone(), func.module.clone()));
            paths.push(path.clone());
            let times = [node.elapsed, node.net].map(|ticks| timebase.reported(ticks));
            let of_path = expected.entry(path).or_default();
            for (sum, more) in
                of_path.iter_mut().zip([node.calls, node.partial, times[0], times[1]])
            {
                *sum += more;
            }
        }
        let paths = Some(sums.finish(names, timebase));
        let saved = Profile { paths, ..profile(parts, options, By::Function) }.to_json();
        let saved: Value = serde_json::from_str(&saved).unwrap();
        let funcs: Vec<(String, Option<String>)> =
            serde_json::from_value(saved["paths"]["functions"].clone()).unwrap();
        let nodes: Vec<[u64; 9]> = serde_json::from_value(saved["paths"]["nodes"].clone()).unwrap();
        let mut found = BTreeMap::new();
        let mut paths: Vec<Vec<_>> = vec![Vec::new()];
        for [func, above, calls, partial, elapsed, net, ..] in nodes {
            let mut path = paths[above as usize].clone();
            path.push(funcs[func as usize].clone());
            paths.push(path.clone());
            found.insert(path, [calls, partial, elapsed, net]);
        }
        assert_eq!(found, expected, "{name}");
    });
}
