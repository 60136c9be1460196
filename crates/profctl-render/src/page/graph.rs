//! Trees of paths as columns: those of one trace by thread, and those of two sides joined.

use profctl_model::tree::Node;
use profctl_model::{CallTree, FuncKind, Names, NodeId, PairedNode, PairedTree, PathCost};
use serde_json::{Value, json};

use super::calls::{Numbers, Scale};
use super::pack::{Columns, Packed};
use crate::chart::palette::{Paint, STEPS};

/// The trees of the threads of a trace; before them that of all threads merged, if there are several.
/// Callees are in the order in which a graph has them.
pub(super) fn trees(trees: &[&CallTree], names: &Names, numbers: &Numbers, scale: Scale) -> String {
    let mut depth = Packed::signed("depth");
    let mut func = Packed::unsigned("func");
    let mut calls = Packed::unsigned("calls");
    let mut partial = Packed::unsigned("partial");
    let mut elapsed = Packed::unsigned("elapsed");
    let mut net = Packed::unsigned("net");
    let mut heads = Vec::new();
    let all = (trees.len() > 1).then(|| merged(trees));
    for tree in all.iter().chain(trees.iter().copied()) {
        heads.push(json!({ "n": tree.len() }));
        let nodes: Vec<_> = tree.nodes().map(|(_, node)| node).collect();
        let mut before = 0;
        for place in widest_first(&nodes, names) {
            let node = nodes[place];
            depth.push_signed(i64::from(node.depth) - before);
            before = i64::from(node.depth);
            func.push(numbers.of_func[node.func.index()]);
            calls.push(node.calls);
            partial.push(node.partial);
            elapsed.push(scale.length(node.elapsed.0));
            net.push(scale.length(node.net.0));
        }
    }
    let mut columns = Columns::default();
    for column in [depth, func, calls, partial, elapsed, net] {
        columns.add(column);
    }
    columns.block(json!({ "trees": heads }))
}

/// One tree of several, path by path.
fn merged(trees: &[&CallTree]) -> CallTree {
    let mut all = CallTree::default();
    for tree in trees {
        let mut places: Vec<NodeId> = Vec::with_capacity(tree.len());
        for (_, node) in tree.nodes() {
            let parent = node.parent.map(|parent| places[parent.index()]);
            let place = all.child(parent, node.func);
            let sum = all.node_mut(place);
            sum.calls += node.calls;
            sum.partial += node.partial;
            sum.elapsed += node.elapsed;
            sum.net += node.net;
            places.push(place);
        }
    }
    all
}

/// The places of a tree in preorder, those of the same caller by the time with all below it.
fn widest_first(nodes: &[&Node], names: &Names) -> Vec<usize> {
    let mut width: Vec<u64> = nodes.iter().map(|node| node.net.0).collect();
    for (place, node) in nodes.iter().enumerate().rev() {
        if let Some(parent) = node.parent {
            width[parent.index()] = width[parent.index()].saturating_add(width[place]);
        }
    }
    let name = |place: usize| &names.funcs[nodes[place].func].name;
    let order = |places: &mut Vec<usize>| {
        places.sort_by(|&a, &b| width[b].cmp(&width[a]).then_with(|| name(a).cmp(name(b))));
    };
    preorder(nodes.iter().map(|node| node.parent), order)
}

/// The places of a tree, each before whatever is below it and that before the next.
fn in_preorder(parents: impl Iterator<Item = Option<NodeId>>) -> Vec<usize> {
    preorder(parents, |_| {})
}

/// The same, the callees of each path ordered by `sort`.
fn preorder(
    parents: impl Iterator<Item = Option<NodeId>>,
    sort: impl Fn(&mut Vec<usize>),
) -> Vec<usize> {
    let mut roots = Vec::new();
    let mut children: Vec<Vec<usize>> = Vec::new();
    for (place, parent) in parents.enumerate() {
        children.push(Vec::new());
        match parent {
            Some(parent) => children[parent.index()].push(place),
            None => roots.push(place),
        }
    }
    let mut order = Vec::with_capacity(children.len());
    sort(&mut roots);
    children.iter_mut().for_each(sort);
    let mut waiting = roots;
    waiting.reverse();
    while let Some(place) = waiting.pop() {
        order.push(place);
        waiting.extend(children[place].drain(..).rev());
    }
    order
}

/// What the two sides of a comparison are called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sides<'a> {
    pub(super) before: &'a str,
    pub(super) after: &'a str,
}

/// Two joined trees.
pub(super) fn paired(
    tree: &PairedTree,
    sides: Sides<'_>,
    paints: &[Paint],
    scale: Scale,
) -> String {
    let mut names = NameList::new("");
    let mut verdicts = NameList::new("not tested");
    let mut depth = Packed::signed("depth");
    let mut name = Packed::unsigned("name");
    let mut renamed = Packed::unsigned("renamed");
    let mut seen = Packed::unsigned("seen");
    let mut unproven = Packed::unsigned("unproven");
    let mut paint = Packed::unsigned("paint");
    let mut verdict = Packed::unsigned("verdict");
    let mut costs = [
        ["before_calls", "before_elapsed", "before_net"],
        ["after_calls", "after_elapsed", "after_net"],
    ]
    .map(|names| names.map(Packed::unsigned));
    let nodes: Vec<_> = tree.nodes().map(|(_, node)| node).collect();
    let mut depth_before = 0;
    for place in in_preorder(nodes.iter().map(|node| node.parent)) {
        let node = nodes[place];
        depth.push_signed(i64::from(node.depth) - depth_before);
        depth_before = i64::from(node.depth);
        name.push(names.place(&node.name));
        renamed.push(node.renamed_from.as_deref().map_or(0, |old| names.place(old)));
        seen.push(u64::from(node.before.is_some()) | u64::from(node.after.is_some()) << 1);
        unproven.push(u64::from(is_unproven(node)));
        let of = paint_of(node);
        paint.push(paints.iter().position(|&one| one == of).unwrap_or(0) as u64);
        verdict.push(node.verdict.map_or(0, |verdict| verdicts.place(verdict)));
        for (columns, cost) in costs.iter_mut().zip([node.before, node.after]) {
            let cost = cost.unwrap_or_default();
            let [calls, elapsed, net] = columns;
            calls.push(cost.calls);
            elapsed.push(scale.length(cost.elapsed));
            net.push(scale.length(cost.net));
        }
    }
    let mut columns = Columns::default();
    for column in [depth, name, renamed, seen, unproven, paint, verdict]
        .into_iter()
        .chain(costs.into_iter().flatten())
    {
        columns.add(column);
    }
    columns.block(json!({
        "n": nodes.len(),
        "names": names.names,
        "verdicts": verdicts.names,
        "before": sides.before,
        "after": sides.after,
    }))
}

/// How much more or less a path costs; gray where that was not tested.
fn paint_of(node: &PairedNode) -> Paint {
    if !is_tested(node) {
        return Paint::Untested;
    }
    let elapsed = |cost: Option<PathCost>| cost.unwrap_or_default().elapsed;
    match (elapsed(node.before), elapsed(node.after)) {
        (0, 0) => Paint::Change(0),
        (0, _) => Paint::Change(STEPS),
        (before, after) => Paint::of_ratio(after as f64 / before as f64),
    }
}

fn is_tested(node: &PairedNode) -> bool {
    node.verdict.is_some_and(|verdict| verdict != "not-tested")
}

/// Whether a path was tested and its change is not significant.
fn is_unproven(node: &PairedNode) -> bool {
    is_tested(node) && !matches!(node.verdict, Some("regressed" | "improved" | "new" | "gone"))
}

/// Names, each once.
struct NameList {
    names: Vec<String>,
    places: profctl_model::hash::FastMap<String, u64>,
}

impl NameList {
    /// A list whose place 0 says `nothing`.
    fn new(nothing: &str) -> Self {
        Self { names: vec![nothing.into()], places: profctl_model::hash::FastMap::default() }
    }

    fn place(&mut self, name: &str) -> u64 {
        if let Some(&place) = self.places.get(name) {
            return place;
        }
        let place = self.names.len() as u64;
        self.names.push(crate::table::visible(name).into_owned());
        self.places.insert(name.to_owned(), place);
        place
    }
}

/// What a legend says of the kinds of functions.
pub(super) fn legend(kinds: &[FuncKind], paints: &[Paint]) -> Value {
    let swatch = |paint: Paint, text: &str| {
        json!([paints.iter().position(|&one| one == paint).unwrap_or(0), text])
    };
    kinds
        .iter()
        .map(|&kind| match kind {
            FuncKind::Function => swatch(Paint::Function { hue: 6, shade: 1 }, "function"),
            FuncKind::Syscall => swatch(Paint::Syscall { shade: 1 }, "system call"),
            FuncKind::Interrupt => swatch(Paint::Interrupt { shade: 1 }, "interrupt"),
            FuncKind::Idle => swatch(Paint::Idle, "idle"),
            FuncKind::Switch => swatch(Paint::Switch, "switch"),
            FuncKind::Mark => swatch(Paint::Mark, "mark"),
        })
        .collect()
}
