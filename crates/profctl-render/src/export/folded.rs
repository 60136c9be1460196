//! Folded stacks: a line for every path of callers that has time of its own, sorted by name.

use std::collections::BTreeMap;
use std::io::{self, Write};

use profctl_model::{CallTree, Names, NodeId, Timebase, Trace};

/// Writes the net time of each path, in the unit that reports carry. Paths without any are left out,
/// threads are added together.
pub fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let spans = &trace.spans;
    let mut tree = CallTree::default();
    let mut nodes: Vec<NodeId> = Vec::with_capacity(spans.len());
    for id in spans.ids() {
        let caller = spans.parent[id.index()].map(|caller| nodes[caller.index()]);
        let node = tree.child(caller, spans.func[id]);
        tree.node_mut(node).net += spans.net[id.index()];
        nodes.push(node);
    }
    write_tree(&tree, &trace.names, &trace.meta.timebase, out)
}

/// Writes the net time of each path of a tree, as [`write()`] does.
pub fn write_tree(
    tree: &CallTree,
    names: &Names,
    timebase: &Timebase,
    out: &mut dyn Write,
) -> io::Result<()> {
    // A path comes after its callers, so theirs is known. Functions of one name share their lines.
    let mut paths: Vec<String> = Vec::with_capacity(tree.len());
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, node) in tree.nodes() {
        let name = frame(&names.funcs[node.func].name);
        paths.push(match node.parent {
            Some(parent) => format!("{};{name}", paths[parent.index()]),
            None => name,
        });
    }
    for ((_, node), path) in tree.nodes().zip(&paths) {
        let net = timebase.reported(node.net);
        let sum = sums.entry(path).or_default();
        *sum = sum.saturating_add(net);
    }
    sums.iter()
        .filter(|(_, net)| **net > 0)
        .try_for_each(|(path, net)| writeln!(out, "{path} {net}"))
}

/// A name without what separates frames and lines, and what begins a comment.
fn frame(name: &str) -> String {
    let name = name.replace(';', ":").replace(['\n', '\r'], " ");
    match name.trim() {
        "" => "(unnamed)".into(),
        name if name.starts_with('#') => format!("_{name}"),
        name => name.into(),
    }
}
