//! Merged calls as frames: what a graph draws, whichever way its paths are read.

use std::cmp::Reverse;
use std::io;

use profctl_model::hash::FastMap;
use profctl_model::{
    Func, FuncKind, Names, PairedTree, PathCost, PathRow, PathRows, ThreadId, Ticks,
};

/// How many callers up a path is followed when it is turned around: deeper levels of an endless
/// recursion add nothing.
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
    /// How many frames of one caller this stands for, if they were too narrow to be kept.
    pub merged: Option<Merged>,
}

/// Frames that were not kept one by one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Merged {
    /// How many there were.
    pub frames: u64,
    /// The same with all below them.
    pub paths: u64,
    /// The names of the widest.
    pub widest: Vec<String>,
}

/// How many frames of those that are merged are named.
pub(super) const NAMED: usize = 3;

impl Frame {
    /// Its name, or some of the names that it stands for.
    pub(super) fn names(&self) -> &[String] {
        match &self.merged {
            Some(merged) => &merged.widest,
            None => std::slice::from_ref(&self.name),
        }
    }
}

/// What a frame stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cost {
    /// Complete calls on the path.
    pub calls: u64,
    /// Calls whose entry or exit was not recorded.
    pub partial: u64,
    /// Their elapsed time; in paths of callers the net time of the function that they lead from.
    pub elapsed: Ticks,
    /// Their net time; the same in paths of callers.
    pub net: Ticks,
    /// The least and the largest elapsed time of a complete call; nothing if there is none, or the
    /// path is one of callers.
    pub range: Option<(Ticks, Ticks)>,
}

/// Which frames are drawn one by one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Visible {
    /// What all paths take up.
    pub total: u128,
    /// The width for it, in hundredths of a pixel.
    pub width: u64,
    /// The least width of a frame, in the same unit.
    pub narrowest: u64,
    /// Levels.
    pub levels: u32,
}

impl Visible {
    /// Whether a frame can be drawn by itself, wherever its edges are rounded to.
    fn takes(&self, level: u32, weight: u128) -> bool {
        let width = weight.saturating_mul(u128::from(self.width)) / self.total.max(1);
        level < self.levels && width + 1 >= u128::from(self.narrowest)
    }
}

/// Frames, parents before children.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frames {
    /// The frames.
    pub frames: Vec<Frame>,
    /// How many there were before some were merged.
    pub paths: u64,
    /// Whether any function has a module.
    pub has_modules: bool,
}

impl Frames {
    /// The paths of a trace from its outermost calls down; if threads are kept apart, each below a
    /// frame that bears its label. Those that cannot be `visible` are merged by caller.
    pub fn of(
        rows: &mut PathRows<'_>,
        names: &Names,
        visible: Option<Visible>,
    ) -> io::Result<Self> {
        let mut builder = Builder {
            frames: Self::default(),
            open: Vec::new(),
            roots: Rest::default(),
            visible,
            thread: None,
        };
        for row in rows {
            builder.add(&row?, names);
        }
        builder.close(0);
        let roots = std::mem::take(&mut builder.roots);
        builder.push_rest(None, roots);
        Ok(builder.frames)
    }

    /// The same paths turned around: from every function up to its callers, by the net time that
    /// each path causes.
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
        turned.paths = turned.frames.len() as u64;
        turned.has_modules = self.has_modules;
        turned
    }
}

/// Makes frames of paths that come depth first.
struct Builder {
    frames: Frames,
    /// The current path.
    open: Vec<Open>,
    /// Of frames without a caller.
    roots: Rest,
    visible: Option<Visible>,
    /// Whose paths these are.
    thread: Option<ThreadId>,
}

/// A frame whose callees are still to come.
struct Open {
    place: usize,
    /// What it takes up with its callees so far.
    weight: u128,
    /// Paths in it so far, itself included.
    paths: u64,
    rest: Rest,
}

/// Callees of one caller that were merged.
#[derive(Default)]
struct Rest {
    frames: u64,
    paths: u64,
    weight: u128,
    cost: Cost,
    /// The widest, by name, and then in the order in which they came.
    widest: Vec<(Reverse<u128>, String)>,
}

impl Builder {
    fn add(&mut self, row: &PathRow, names: &Names) {
        if row.thread != self.thread {
            self.close(0);
            self.thread = row.thread;
        }
        let below_thread = u32::from(row.thread.is_some());
        if let Some(thread) = row.thread
            && self.open.is_empty()
        {
            self.push(Frame {
                name: names.threads[thread].label(),
                module: None,
                kind: FuncKind::Mark,
                parent: None,
                own: 0,
                cost: Cost::default(),
                merged: None,
            });
        }
        self.close((row.depth + below_thread) as usize);
        if let Some(root) = self.open.first().filter(|_| below_thread == 1) {
            let cost = &mut self.frames.frames[root.place].cost;
            cost.calls += row.calls;
            cost.partial += row.partial;
            if row.depth == 0 {
                cost.elapsed += row.elapsed;
            }
        }
        let Func { name, module, kind, .. } = &names.funcs[row.func];
        self.frames.has_modules |= module.is_some();
        self.push(Frame {
            name: name.clone(),
            module: module.clone(),
            kind: *kind,
            parent: self.open.last().map(|open| open.place),
            own: row.net.0,
            cost: Cost {
                calls: row.calls,
                partial: row.partial,
                elapsed: row.elapsed,
                net: row.net,
                range: (row.calls > 0).then_some((row.elapsed_min, row.elapsed_max)),
            },
            merged: None,
        });
    }

    fn push(&mut self, frame: Frame) {
        let (place, weight) = (self.frames.frames.len(), u128::from(frame.own));
        self.frames.paths += 1;
        self.frames.frames.push(frame);
        self.open.push(Open { place, weight, paths: 1, rest: Rest::default() });
    }

    /// Ends all frames of the path but the outermost `depth`.
    fn close(&mut self, depth: usize) {
        while self.open.len() > depth
            && let Some(open) = self.open.pop()
        {
            let level = self.open.len() as u32;
            let caller = match self.open.last_mut() {
                Some(caller) => {
                    caller.weight += open.weight;
                    caller.paths += open.paths;
                    &mut caller.rest
                }
                None => &mut self.roots,
            };
            if self.visible.is_none_or(|visible| visible.takes(level, open.weight)) {
                self.push_rest(Some(open.place), open.rest);
                continue;
            }
            // All below it is narrower still and was merged before.
            self.frames.frames.truncate(open.place + 1);
            if let Some(frame) = self.frames.frames.pop() {
                caller.add(frame, open.weight, open.paths);
            }
        }
    }

    fn push_rest(&mut self, parent: Option<usize>, rest: Rest) {
        if rest.frames == 0 {
            return;
        }
        let widest = rest.widest.into_iter().map(|(_, name)| name).collect();
        let merged = Merged { frames: rest.frames, paths: rest.paths, widest };
        self.frames.frames.push(Frame {
            name: String::new(),
            module: None,
            kind: FuncKind::Function,
            parent,
            own: u64::try_from(rest.weight).unwrap_or(u64::MAX),
            cost: rest.cost,
            merged: Some(merged),
        });
    }
}

impl Rest {
    fn add(&mut self, frame: Frame, weight: u128, paths: u64) {
        self.frames += 1;
        self.paths += paths;
        self.weight += weight;
        self.cost.calls += frame.cost.calls;
        self.cost.partial += frame.cost.partial;
        self.cost.elapsed += frame.cost.elapsed;
        let place = self.widest.partition_point(|(other, name)| {
            (other, name.as_str()) <= (&Reverse(weight), frame.name.as_str())
        });
        if place < NAMED {
            self.widest.insert(place, (Reverse(weight), frame.name));
            self.widest.truncate(NAMED);
        }
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
