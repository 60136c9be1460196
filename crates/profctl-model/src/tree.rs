//! The merged calling-context tree: one node a distinct path of callers. And two of them joined.

use crate::hash::FastMap;
use crate::id::FuncId;
use crate::time::Ticks;

/// A node of a [`CallTree`], by its row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct NodeId(u32);

impl NodeId {
    /// The row of the node.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What is known of one path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node {
    /// The function at the end of the path.
    pub func: FuncId,
    /// The path without it; nothing for a root.
    pub parent: Option<NodeId>,
    /// Number of callers.
    pub depth: u32,
    /// Complete calls on this path.
    pub calls: u64,
    /// Calls of which entry or exit was not seen.
    pub partial: u64,
    /// Their elapsed time, recursion included: each path counts its own calls.
    pub elapsed: Ticks,
    /// Their time of their own.
    pub net: Ticks,
    /// The least elapsed time of a complete call; 0 if there is none.
    pub elapsed_min: Ticks,
    /// The greatest.
    pub elapsed_max: Ticks,
}

/// An arena of paths; a parent comes before its children.
#[derive(Clone, Debug, Default)]
pub struct CallTree {
    nodes: Vec<Node>,
    children: FastMap<(u32, FuncId), NodeId>,
}

const ROOT: u32 = u32::MAX;

impl CallTree {
    /// The node for `func` called from `parent`; made with zeros if it is new.
    pub fn child(&mut self, parent: Option<NodeId>, func: FuncId) -> NodeId {
        let key = (parent.map_or(ROOT, |p| p.0), func);
        if let Some(&node) = self.children.get(&key) {
            return node;
        }
        let node = NodeId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 paths"));
        let depth = parent.map_or(0, |p| self.nodes[p.index()].depth + 1);
        self.nodes.push(Node {
            func,
            parent,
            depth,
            calls: 0,
            partial: 0,
            elapsed: Ticks(0),
            net: Ticks(0),
            elapsed_min: Ticks(0),
            elapsed_max: Ticks(0),
        });
        self.children.insert(key, node);
        node
    }

    /// One node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// One node, to be added to.
    pub fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.index()]
    }

    /// All nodes, parents first.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(row, node)| (NodeId(row as u32), node))
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}

/// What one side of a comparison says of a path, as the mean of its runs.
///
/// Times are in the unit of reports: nanoseconds, or counts where the trace counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathCost {
    /// Calls, partial ones included.
    pub calls: u64,
    /// Their elapsed time.
    pub elapsed: u64,
    /// Their time of their own.
    pub net: u64,
}

/// A path that was seen on at least one of two sides.
#[derive(Clone, PartialEq, Debug)]
pub struct PairedNode {
    /// The function at the end of the path, as the later side that has it calls it.
    pub name: String,
    /// What the earlier side calls it, where that is another name.
    pub renamed_from: Option<String>,
    /// The path without it; nothing for a root.
    pub parent: Option<NodeId>,
    /// Number of callers.
    pub depth: u32,
    /// The earlier side; nothing if the path was not seen there.
    pub before: Option<PathCost>,
    /// The later side; nothing if the path was not seen there.
    pub after: Option<PathCost>,
    /// What the comparison says of the path, by its name in JSON (`regressed`, `equivalent`, …);
    /// nothing where it was not tested.
    pub verdict: Option<&'static str>,
}

/// The calling-context trees of two sides joined at every level; a parent comes before its
/// children.
#[derive(Clone, Debug, Default)]
pub struct PairedTree {
    nodes: Vec<PairedNode>,
}

impl PairedTree {
    /// Appends a path, whose parent must be there, and says under which id.
    pub fn push(&mut self, node: PairedNode) -> NodeId {
        let id = NodeId(u32::try_from(self.nodes.len()).expect("fewer than 2^32 paths"));
        debug_assert!(node.parent.is_none_or(|parent| parent < id), "parents come first");
        self.nodes.push(node);
        id
    }

    /// One node.
    pub fn node(&self, id: NodeId) -> &PairedNode {
        &self.nodes[id.index()]
    }

    /// All nodes, parents first.
    pub fn nodes(&self) -> impl Iterator<Item = (NodeId, &PairedNode)> {
        self.nodes.iter().enumerate().map(|(row, node)| (NodeId(row as u32), node))
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }
}
