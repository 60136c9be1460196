//! The merged calling-context tree: one node a distinct path of callers. And two of them joined.

use std::cmp::Reverse;
use std::io;

use crate::hash::FastMap;
use crate::id::{FuncId, IdVec, ThreadId};
use crate::names::{Func, Names};
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
    /// Calls whose entry or exit was not recorded.
    pub partial: u64,
    /// Their elapsed time, recursion included: each path counts its own calls.
    pub elapsed: Ticks,
    /// Their net time.
    pub net: Ticks,
    /// The least elapsed time of a complete call; 0 if there is none.
    pub elapsed_min: Ticks,
    /// The largest.
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

/// One path of callers in a depth-first sequence of them: its callers are the rows of lesser depth
/// before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathRow {
    /// On which thread, where threads are kept apart.
    pub thread: Option<ThreadId>,
    /// Number of callers.
    pub depth: u32,
    /// The function at the end of the path.
    pub func: FuncId,
    /// See [`Node::calls`].
    pub calls: u64,
    /// See [`Node::partial`].
    pub partial: u64,
    /// See [`Node::elapsed`].
    pub elapsed: Ticks,
    /// See [`Node::net`].
    pub net: Ticks,
    /// See [`Node::elapsed_min`].
    pub elapsed_min: Ticks,
    /// See [`Node::elapsed_max`].
    pub elapsed_max: Ticks,
}

/// Where paths come from: memory, or a file of the caller.
pub type PathRows<'a> = dyn Iterator<Item = io::Result<PathRow>> + 'a;

/// Which functions are one frame of a path, and in which order callees of one caller stand.
#[derive(Clone, Debug, Default)]
pub struct PathOrder {
    /// The first function that is the same frame.
    pub frame: IdVec<FuncId, FuncId>,
    /// The place of each function among the others.
    pub rank: IdVec<FuncId, u32>,
}

impl PathOrder {
    /// By what `key` says of a function; functions of one key are one frame.
    pub fn by<K: Ord>(names: &Names, key: impl Fn(FuncId, &Func) -> K) -> Self {
        let mut keys: Vec<(K, FuncId)> =
            names.funcs.pairs().map(|(id, func)| (key(id, func), id)).collect();
        keys.sort_unstable();
        let mut frame: IdVec<FuncId, FuncId> = names.funcs.pairs().map(|(id, _)| id).collect();
        let mut rank: IdVec<FuncId, u32> = names.funcs.iter().map(|_| 0).collect();
        let frames = keys.chunk_by(|a, b| a.0 == b.0);
        for (place, same) in frames.enumerate() {
            for (_, id) in same {
                frame[*id] = same[0].1;
                rank[*id] = u32::try_from(place).unwrap_or(u32::MAX);
            }
        }
        Self { frame, rank }
    }

    /// By name, then module; every function is a frame of its own.
    pub fn by_name(names: &Names) -> Self {
        Self::by(names, |id, func| (func.name.clone(), func.module.clone(), id))
    }
}

impl CallTree {
    /// All paths, depth first, callees of one caller by rank.
    pub fn depth_first(
        &self,
        thread: Option<ThreadId>,
        rank: &IdVec<FuncId, u32>,
    ) -> impl Iterator<Item = PathRow> + '_ {
        // Links to the first callee and the next one, in the order of ranks.
        let mut by_rank: Vec<u32> = (0..self.nodes.len() as u32).collect();
        by_rank.sort_by_key(|&row| Reverse(rank[self.nodes[row as usize].func]));
        let mut first = vec![ROOT; self.nodes.len()];
        let mut next = vec![ROOT; self.nodes.len()];
        let mut root = ROOT;
        for row in by_rank {
            let head = match self.nodes[row as usize].parent {
                Some(parent) => &mut first[parent.index()],
                None => &mut root,
            };
            next[row as usize] = std::mem::replace(head, row);
        }
        let some = |row: u32| (row != ROOT).then_some(row);
        let mut waiting: Vec<u32> = some(root).into_iter().collect();
        std::iter::from_fn(move || {
            let row = waiting.pop()?;
            waiting.extend(some(next[row as usize]));
            waiting.extend(some(first[row as usize]));
            let node = &self.nodes[row as usize];
            Some(PathRow {
                thread,
                depth: node.depth,
                func: node.func,
                calls: node.calls,
                partial: node.partial,
                elapsed: node.elapsed,
                net: node.net,
                elapsed_min: node.elapsed_min,
                elapsed_max: node.elapsed_max,
            })
        })
    }
}

/// What one side of a comparison says of a path, as the mean of its runs.
///
/// Times are in the unit of reports: nanoseconds, or counts where the trace counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathCost {
    /// Calls, incomplete ones included.
    pub calls: u64,
    /// Their elapsed time.
    pub elapsed: u64,
    /// Their net time.
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
