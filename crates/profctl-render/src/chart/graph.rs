//! The layout of a graph: frames as wide as what they take up, callees within their caller.
//!
//! A frame's width is its own part and those of its callees, so that the widths of any row sum to
//! those of the row above less what the callers took up themselves. Callees are with the widest
//! first. Those that are narrower than a threshold, or too deep, are drawn as one block at the end
//! of their row, with everything below them.

use std::cmp::Reverse;

use super::timeline::PIXEL;

/// A frame as the layout sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Node<'a> {
    /// The frame around it, which comes before it.
    pub parent: Option<usize>,
    /// What it takes up by itself.
    pub own: u64,
    /// By which frames of equal width are ordered.
    pub name: &'a str,
    /// How many frames of its caller, with all below them, it stands for, if they are to be drawn as
    /// a block in any case.
    pub merged: Option<u64>,
}

/// How to lay out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// The width of everything, in pixels; at least 1.
    pub width: u32,
    /// Levels that are drawn frame by frame.
    pub levels: u32,
    /// What is narrower is drawn in blocks, in hundredths of a pixel; at least [`PIXEL`].
    pub narrowest: u64,
    /// Boxes and blocks at most; the threshold is raised until they are no more.
    pub budget: usize,
}

/// What a box stands for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Content {
    /// One frame, by its place.
    Frame(usize),
    /// Several frames of one caller, by their places, the widest first, with all below them.
    Block(Vec<usize>),
}

/// A box.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Item {
    /// Left edge, in hundredths of a pixel.
    pub x0: u64,
    /// Right edge.
    pub x1: u64,
    /// Row.
    pub level: u32,
    /// The box around it, by its place among the items.
    pub host: Option<usize>,
    /// What it is.
    pub content: Content,
}

/// A graph.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Graph {
    /// The boxes, hosts before what they hold.
    pub items: Vec<Item>,
    /// What everything takes up.
    pub total: u128,
    /// Rows.
    pub levels: u32,
    /// The threshold that was used.
    pub narrowest: u64,
    /// All frames below each, itself included.
    pub paths: Vec<u64>,
}

/// Lays out frames.
pub fn lay_out(nodes: &[Node<'_>], options: &Options) -> Graph {
    let forest = Forest::of(nodes);
    let width = u64::from(options.width.max(1)) * PIXEL;
    let mut narrowest = options.narrowest.max(PIXEL);
    loop {
        let items = forest.items(width, narrowest, options.levels);
        if items.len() <= options.budget || narrowest >= width {
            let levels = items.iter().map(|item| item.level + 1).max().unwrap_or(0);
            let Forest { total, paths, .. } = forest;
            return Graph { items, total, levels, narrowest, paths };
        }
        narrowest *= 2;
    }
}

/// Frames with their callees in order.
struct Forest {
    roots: Vec<usize>,
    children: Vec<Vec<usize>>,
    /// What each takes up with its callees.
    weights: Vec<u128>,
    paths: Vec<u64>,
    /// Whether a frame stands for several.
    merged: Vec<bool>,
    total: u128,
}

impl Forest {
    fn of(nodes: &[Node<'_>]) -> Self {
        let mut weights: Vec<u128> = nodes.iter().map(|node| u128::from(node.own)).collect();
        let mut paths: Vec<u64> = nodes.iter().map(|node| node.merged.unwrap_or(1)).collect();
        let merged: Vec<bool> = nodes.iter().map(|node| node.merged.is_some()).collect();
        let mut children = vec![Vec::new(); nodes.len()];
        let mut roots = Vec::new();
        for place in (0..nodes.len()).rev() {
            match nodes[place].parent {
                Some(parent) => {
                    weights[parent] += weights[place];
                    paths[parent] += paths[place];
                    children[parent].push(place);
                }
                None => roots.push(place),
            }
        }
        let in_order = |places: &mut Vec<usize>| {
            places.sort_by_key(|&place| {
                (merged[place], Reverse(weights[place]), nodes[place].name, place)
            });
        };
        in_order(&mut roots);
        children.iter_mut().for_each(in_order);
        let total = roots.iter().map(|&root| weights[root]).sum();
        Self { roots, children, weights, paths, merged, total }
    }

    fn items(&self, width: u64, narrowest: u64, levels: u32) -> Vec<Item> {
        // Weights are below 2^64 times the number of frames, so this cannot overflow in earnest.
        let place =
            |weight: u128| (weight.saturating_mul(u128::from(width)) / self.total.max(1)) as u64;
        let mut items = Vec::new();
        // Siblings to be placed: the box around them, where they begin, their level.
        let mut waiting = vec![(None::<usize>, &self.roots, 0_u128, 0_u32)];
        while let Some((host, siblings, from, level)) = waiting.pop() {
            let mut now = from;
            let mut block: Option<Item> = None;
            let mut below = Vec::new();
            for &frame in siblings {
                let (x0, x1) = (place(now), place(now + self.weights[frame]));
                if x1 - x0 >= narrowest && level < levels && !self.merged[frame] {
                    below.push((Some(items.len()), &self.children[frame], now, level + 1));
                    items.push(Item { x0, x1, level, host, content: Content::Frame(frame) });
                } else {
                    let content = || Content::Block(Vec::new());
                    let block = block.get_or_insert_with(|| Item {
                        x0,
                        x1,
                        level,
                        host,
                        content: content(),
                    });
                    block.x1 = x1;
                    if let Content::Block(frames) = &mut block.content {
                        frames.push(frame);
                    }
                }
                now += self.weights[frame];
            }
            if let Some(mut block) = block {
                // What the caller took up itself follows: space to be seen in.
                let right = host.map_or(width, |host| items[host].x1);
                block.x1 = block.x1.max(right.min(block.x0 + PIXEL));
                items.push(block);
            }
            waiting.extend(below.into_iter().rev());
        }
        items
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const OPTIONS: Options =
        Options { width: 100, levels: 50, narrowest: PIXEL, budget: usize::MAX };

    fn node(parent: Option<usize>, own: u64, name: &str) -> Node<'_> {
        Node { parent, own, name, merged: None }
    }

    fn shown(nodes: &[(Option<usize>, u64, &str)], options: &Options) -> Vec<String> {
        let nodes: Vec<_> =
            nodes.iter().map(|&(parent, own, name)| node(parent, own, name)).collect();
        let graph = lay_out(&nodes, options);
        let show = |item: &Item| {
            let what = match &item.content {
                Content::Frame(frame) => nodes[*frame].name.to_owned(),
                Content::Block(frames) => {
                    let paths: u64 = frames.iter().map(|&frame| graph.paths[frame]).sum();
                    format!("{paths} paths")
                }
            };
            format!("{}:{}-{} {what}", item.level, item.x0, item.x1)
        };
        graph.items.iter().map(show).collect()
    }

    #[test]
    fn the_widest_comes_first_and_the_narrow_are_merged() {
        let nodes = [
            (None, 100, "main"),
            (Some(0), 2, "tiny"),
            (Some(0), 300, "b"),
            (Some(0), 300, "a"),
            (Some(1), 1, "below tiny"),
            (Some(3), 200, "c"),
            (Some(0), 4, "small"),
            (None, 93, "idle"),
        ];
        assert_eq!(
            shown(&nodes, &OPTIONS),
            [
                "0:0-9070 main",
                "0:9070-10000 idle",
                "1:0-5000 a",
                "1:5000-8000 b",
                "1:8000-8100 3 paths",
                "2:0-2000 c"
            ]
        );
        let shallow = Options { levels: 1, ..OPTIONS };
        assert_eq!(
            shown(&nodes, &shallow),
            ["0:0-9070 main", "0:9070-10000 idle", "1:0-8070 6 paths"]
        );
    }

    proptest! {
        #[test]
        fn rows_sum_and_nothing_is_lost(
            shape in prop::collection::vec((any::<prop::sample::Index>(), 0..500_u64, 0..4_u8), 0..60),
            width in 1..400_u32,
            narrowest in 1..400_u64,
            levels in 0..6_u32,
        ) {
            let mut nodes: Vec<Node<'_>> = Vec::new();
            for (parent, own, root) in &shape {
                let parent = (*root > 0 && !nodes.is_empty()).then(|| parent.index(nodes.len()));
                nodes.push(node(parent, *own, "f"));
            }
            let options = Options { width, levels, narrowest, budget: usize::MAX };
            let graph = lay_out(&nodes, &options);
            let mut paths = 0;
            let mut used = vec![0; graph.items.len()];
            for (place, item) in graph.items.iter().enumerate() {
                prop_assert!(item.x0 <= item.x1 && item.x1 <= u64::from(width) * PIXEL);
                if let Some(host) = item.host {
                    prop_assert!(host < place);
                    prop_assert!(graph.items[host].x0 <= item.x0);
                    prop_assert!(item.x1 <= graph.items[host].x1);
                    used[host] += item.x1 - item.x0;
                }
                paths += match &item.content {
                    Content::Frame(_) => 1,
                    Content::Block(frames) => frames.iter().map(|&f| graph.paths[f]).sum(),
                };
            }
            prop_assert_eq!(paths, nodes.len() as u64);
            for (item, used) in graph.items.iter().zip(used) {
                prop_assert!(used <= item.x1 - item.x0);
            }
            // What is not drawn in the first row is nothing: the rows sum to the whole.
            if graph.total > 0 && narrowest <= PIXEL {
                let first = graph.items.iter().filter(|item| item.level == 0);
                let sum: u64 = first.map(|item| item.x1 - item.x0).sum();
                prop_assert_eq!(sum, u64::from(width) * PIXEL);
            }
        }
    }
}
