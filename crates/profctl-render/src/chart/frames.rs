//! Merged calls as frames: what a graph draws, whichever way its paths are read.

use profctl_model::hash::FastMap;
use profctl_model::{CallTree, Func, FuncKind, Names, PairedTree, PathCost, Ticks};

/// How many callers up a path is followed when it is turned around: a recursion that never
/// returned has no more to tell.
const MAX_CALLERS: usize = 100;

/// One frame: a path of calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The function, or the thread, at the end of the path.
    pub name: String,
    /// Its module.
    pub module: Option<String>,
    /// What kind of thing it is; threads are marks.
    pub kind: FuncKind,
    /// The frame of the path without it, by its place.
    pub parent: Option<usize>,
    /// What it takes up by itself, in ticks; with what its callees take up, its width.
    pub own: u64,
    /// What is known of the path.
    pub cost: Cost,
}

/// What a frame stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Complete calls on the path.
    pub calls: u64,
    /// Calls of which entry or exit was not seen.
    pub partial: u64,
    /// Their elapsed time; in paths of callers the net time of the function that they lead from.
    pub elapsed: Ticks,
    /// Their time of their own; the same in paths of callers.
    pub net: Ticks,
    /// The least and the greatest elapsed time of a complete call; nothing if there is none, or the
    /// path is one of callers.
    pub range: Option<(Ticks, Ticks)>,
}

/// Frames, parents before children.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frames {
    /// The frames.
    pub frames: Vec<Frame>,
}

impl Frames {
    /// The paths of a trace from its outermost calls down.
    pub fn of(tree: &CallTree, names: &Names) -> Self {
        let mut frames = Self::default();
        frames.add(None, tree, names);
        frames
    }

    /// The same for each thread apart, below a frame that bears its label.
    pub fn by_thread(threads: &[(String, CallTree)], names: &Names) -> Self {
        let mut frames = Self::default();
        for (label, tree) in threads {
            let root = frames.frames.len();
            frames.frames.push(Frame {
                name: label.clone(),
                module: None,
                kind: FuncKind::Mark,
                parent: None,
                own: 0,
                cost: Cost::default(),
            });
            frames.add(Some(root), tree, names);
            let mut cost = Cost::default();
            for (_, node) in tree.nodes() {
                cost.calls += node.calls;
                cost.partial += node.partial;
                if node.parent.is_none() {
                    cost.elapsed += node.elapsed;
                }
            }
            frames.frames[root].cost = cost;
        }
        frames
    }

    fn add(&mut self, root: Option<usize>, tree: &CallTree, names: &Names) {
        let first = self.frames.len();
        for (_, node) in tree.nodes() {
            let Func { name, module, kind, .. } = &names.funcs[node.func];
            self.frames.push(Frame {
                name: name.clone(),
                module: module.clone(),
                kind: *kind,
                parent: node.parent.map(|parent| first + parent.index()).or(root),
                own: node.net.0,
                cost: Cost {
                    calls: node.calls,
                    partial: node.partial,
                    elapsed: node.elapsed,
                    net: node.net,
                    range: (node.calls > 0).then_some((node.elapsed_min, node.elapsed_max)),
                },
            });
        }
    }

    /// The same paths turned around: from every function up to its callers, by the net time that
    /// each path is the cause of.
    #[must_use]
    pub fn turned(&self) -> Self {
        let mut turned = Self::default();
        let mut places: FastMap<(usize, &str, Option<&str>), usize> = FastMap::default();
        for frame in self.frames.iter().filter(|frame| frame.own > 0 || frame.cost.calls > 0) {
            let path = std::iter::successors(Some(frame), |at| {
                at.parent.map(|parent| &self.frames[parent])
            });
            let mut above = None;
            for caller in path.take(MAX_CALLERS + 1) {
                let key =
                    (above.unwrap_or(usize::MAX), caller.name.as_str(), caller.module.as_deref());
                let place = *places.entry(key).or_insert_with(|| {
                    turned.frames.push(Frame {
                        parent: above,
                        own: 0,
                        cost: Cost::default(),
                        ..caller.clone()
                    });
                    turned.frames.len() - 1
                });
                let cost = &mut turned.frames[place].cost;
                cost.calls += frame.cost.calls;
                cost.partial += frame.cost.partial;
                cost.elapsed += Ticks(frame.own);
                cost.net += Ticks(frame.own);
                above = Some(place);
            }
            // Where the path ends its time is the frame's own; above, that of its callers.
            if let Some(last) = above {
                turned.frames[last].own = turned.frames[last].own.saturating_add(frame.own);
            }
        }
        turned
    }

    /// What all frames take up.
    pub fn total(&self) -> u128 {
        self.frames.iter().map(|frame| u128::from(frame.own)).sum()
    }
}

/// One frame of a comparison.
#[derive(Clone, PartialEq, Debug)]
pub struct PairedFrame {
    /// The function at the end of the path.
    pub name: String,
    /// What it was called before, where that is another name.
    pub renamed_from: Option<String>,
    /// The frame of the path without it, by its place.
    pub parent: Option<usize>,
    /// What it takes up by itself: on the side on which that is more.
    pub own: u64,
    /// What either side says; nothing if the path was not seen there.
    pub sides: [Option<PathCost>; 2],
    /// What each side takes up with its callees, in the unit of reports.
    pub widths: [u64; 2],
    /// What the comparison says of the path; nothing where it was not tested.
    pub verdict: Option<&'static str>,
}

/// The frames of a comparison, parents before children.
pub fn paired(tree: &PairedTree) -> Vec<PairedFrame> {
    let mut frames: Vec<PairedFrame> = tree
        .nodes()
        .map(|(_, node)| {
            let sides = [node.before, node.after];
            let nets = sides.map(|side| side.map_or(0, |cost| cost.net));
            PairedFrame {
                name: node.name.clone(),
                renamed_from: node.renamed_from.clone(),
                parent: node.parent.map(profctl_model::NodeId::index),
                own: nets[0].max(nets[1]),
                sides,
                widths: nets,
                verdict: node.verdict,
            }
        })
        .collect();
    for place in (0..frames.len()).rev() {
        if let Some(parent) = frames[place].parent {
            let widths = frames[place].widths;
            for (sum, width) in frames[parent].widths.iter_mut().zip(widths) {
                *sum = sum.saturating_add(width);
            }
        }
    }
    frames
}
