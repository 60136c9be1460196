//! The layout of a chart: calls as boxes along the time, one row per level.
//!
//! Places are hundredths of a pixel, from one monotone map of time, so that boxes that touch in
//! time touch in the picture, callees lie within their callers, and the widths of a row never
//! exceed that of the row above. A call narrower than a threshold is drawn together with its
//! neighbors as a block that says how many it stands for; calls below a block are in blocks
//! themselves. Calls deeper than the last level, or than the deepest that is drawn as a call, are
//! in the blocks of a row of their own. So every call is in exactly one box or block.

use std::cmp::Reverse;

use profctl_model::hash::FastMap;
use profctl_model::{FuncId, SpanId, Tick, Ticks, Trace};

use super::lanes::{Lanes, ThreadLane};

/// One pixel in the unit of places.
pub const PIXEL: u64 = 100;

/// How to lay out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// The width of the whole time, in pixels; at least 1.
    pub width: u32,
    /// Levels that are drawn call by call; what is deeper is in blocks.
    pub levels: u32,
    /// What is narrower is drawn in blocks, in hundredths of a pixel; at least [`PIXEL`].
    pub narrowest: u64,
    /// Boxes and blocks at most; the threshold is raised until they are no more.
    pub budget: usize,
}

/// What a box stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// One call.
    Call(SpanId),
    /// Several neighbors, or one that is too narrow.
    Block(Block),
}

/// What is in a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// Calls.
    pub calls: u64,
    /// Those of them whose entry or exit was not recorded.
    pub partial: u64,
    /// Elapsed time of those that no other call of the block contains.
    pub elapsed: Ticks,
    /// The first of them.
    pub first: SpanId,
    /// When the last of them ended.
    pub end: Tick,
    /// The function that most of the elapsed time is of; of equals the first by name.
    pub mostly: FuncId,
}

/// A box in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Item {
    /// Left edge.
    pub x0: u64,
    /// Right edge.
    pub x1: u64,
    /// Row: callers above it.
    pub level: u32,
    /// The box of its caller, by its place among the items of the lane.
    pub host: Option<usize>,
    /// What it is.
    pub content: Content,
}

/// A lane with its boxes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LaidOut {
    /// The boxes: each row from left to right, hosts before what they hold.
    pub items: Vec<Item>,
    /// Rows.
    pub levels: u32,
}

/// A map of time to places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimeScale {
    /// The time at place 0.
    pub start: Tick,
    /// The time that takes up the whole width.
    pub total: Ticks,
    /// The whole width, in hundredths of a pixel.
    pub width: u64,
}

impl TimeScale {
    /// All of a trace, `width` pixels wide.
    pub fn of(trace: &Trace, width: u32) -> Self {
        let meta = &trace.meta;
        Self { start: meta.first, total: meta.real(), width: u64::from(width.max(1)) * PIXEL }
    }

    /// The place of a time, at most the whole width.
    pub fn x(&self, time: Tick) -> u64 {
        let from_start = u128::from((time - self.start).0.min(self.total.0));
        let place = from_start * u128::from(self.width) / u128::from(self.total.0.max(1));
        place as u64
    }
}

/// A chart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Timeline {
    /// Where times are.
    pub scale: TimeScale,
    /// The lanes, in the order of [`Lanes::threads`].
    pub lanes: Vec<LaidOut>,
    /// The threshold that was used.
    pub narrowest: u64,
}

/// Lays out the calls of `lanes`.
pub fn lay_out(trace: &Trace, lanes: &Lanes, options: &Options) -> Timeline {
    let scale = TimeScale::of(trace, options.width);
    let lay = |narrowest| {
        let lay = Lay { trace, scale, narrowest };
        let lanes = lanes.threads.iter().map(|lane| lay.folded(lane, options.levels)).collect();
        Timeline { scale, lanes, narrowest }
    };
    let mut laid = lay(options.narrowest.max(PIXEL));
    if laid.boxes() <= options.budget {
        return laid;
    }
    while laid.boxes() > options.budget && laid.narrowest < scale.width {
        laid = lay(laid.narrowest * 2);
    }
    // Between too little and enough.
    let less = lay(laid.narrowest / 4 * 3);
    if less.boxes() <= options.budget { less } else { laid }
}

impl Timeline {
    /// Boxes and blocks in all lanes.
    fn boxes(&self) -> usize {
        self.lanes.iter().map(|lane| lane.items.len()).sum()
    }
}

struct Lay<'a> {
    trace: &'a Trace,
    scale: TimeScale,
    narrowest: u64,
}

impl Lay<'_> {
    /// A lane without the rows in which nothing is wide enough to be drawn as a call: what is that
    /// deep is counted in one row.
    fn folded(&self, lane: &ThreadLane, levels: u32) -> LaidOut {
        let laid = self.lane(lane, levels);
        let calls = laid.items.iter().filter(|item| matches!(item.content, Content::Call(_)));
        let used = calls.map(|item| item.level + 1).max().unwrap_or(0);
        if laid.levels > used + 1 { self.lane(lane, used) } else { laid }
    }

    /// A lane of so many levels, and one for what is deeper.
    fn lane(&self, lane: &ThreadLane, levels: u32) -> LaidOut {
        let spans = &self.trace.spans;
        let mut items: Vec<Item> = Vec::new();
        // The latest item of each row: the parent of the next row, the neighbor of the next item.
        let mut latest: Vec<usize> = Vec::new();
        let mut sums: FastMap<(usize, FuncId), Ticks> = FastMap::default();
        for row in lane.spans.clone() {
            let id = SpanId::from_index(row);
            let level = spans.depth[row].min(levels) as usize;
            let (x0, x1) = (self.scale.x(spans.start[row]), self.scale.x(spans.end[row]));
            // A call at the first level has no caller here, though an earlier one is the latest.
            let host = level.checked_sub(1).map(|above| latest[above]);
            let is_deep = spans.depth[row] >= levels;
            let in_block =
                host.is_some_and(|host| matches!(items[host].content, Content::Block(_)));
            if x1 - x0 >= self.narrowest && !is_deep && !in_block {
                set(&mut latest, level, items.len());
                let content = Content::Call(id);
                items.push(Item { x0, x1, level: level as u32, host, content });
                continue;
            }
            let neighbor = latest.get(level).map(|&place| &mut items[place]);
            let block = neighbor.and_then(|item| match &mut item.content {
                Content::Block(block) if item.host == host && x0 < item.x1 + self.narrowest => {
                    Some((block, &mut item.x1))
                }
                Content::Block(_) | Content::Call(_) => None,
            });
            let partial = u64::from(spans.fidelity[row].is_partial());
            // Deeper calls lie within those of the last row.
            let counts = spans.depth[row] <= levels;
            if let Some((block, end)) = block {
                block.calls += 1;
                block.partial += partial;
                if counts {
                    block.elapsed += spans.elapsed(id);
                    *sums.entry((latest[level], spans.func[id])).or_default() += spans.elapsed(id);
                }
                block.end = block.end.max(spans.end[row]);
                *end = (*end).max(x1);
                continue;
            }
            sums.insert((items.len(), spans.func[id]), spans.elapsed(id));
            set(&mut latest, level, items.len());
            let content = Content::Block(Block {
                calls: 1,
                partial,
                elapsed: spans.elapsed(id),
                first: id,
                end: spans.end[row],
                mostly: spans.func[id],
            });
            items.push(Item { x0, x1, level: level as u32, host, content });
        }
        let levels = items.iter().map(|item| item.level + 1).max().unwrap_or(0);
        widen(&mut items, levels, self.scale.width);
        self.name_blocks(&mut items, sums);
        LaidOut { items, levels }
    }
}

impl Lay<'_> {
    /// Says of each block what it mostly is.
    fn name_blocks(&self, items: &mut [Item], sums: FastMap<(usize, FuncId), Ticks>) {
        let names = &self.trace.names.funcs;
        let mut sums: Vec<_> = sums.into_iter().collect();
        sums.sort_unstable_by_key(|&((place, func), sum)| {
            (place, Reverse(sum), names[func].name.as_str(), func)
        });
        for group in sums.chunk_by(|a, b| a.0.0 == b.0.0) {
            let (place, func) = group[0].0;
            if let Content::Block(block) = &mut items[place].content {
                block.mostly = func;
            }
        }
    }
}

fn set(latest: &mut Vec<usize>, level: usize, place: usize) {
    latest.truncate(level);
    latest.push(place);
}

/// Gives narrow blocks the free space beside them, up to a pixel, so that they are seen.
fn widen(items: &mut [Item], levels: u32, width: u64) {
    let mut rows: Vec<Vec<usize>> = vec![Vec::new(); levels as usize];
    for (place, item) in items.iter().enumerate() {
        rows[item.level as usize].push(place);
    }
    for row in rows {
        for (n, &place) in row.iter().enumerate() {
            let Item { x0, x1, host, .. } = items[place];
            let (left, right) = host.map_or((0, width), |host| (items[host].x0, items[host].x1));
            let before = n.checked_sub(1).map_or(0, |before| items[row[before]].x1);
            let after = row.get(n + 1).map_or(width, |&after| items[after].x0);
            let (left, right) = (left.max(before), right.min(after));
            if x1 - x0 < PIXEL {
                let x1 = x1.max(right.min(x0 + PIXEL));
                let x0 = x0.min(left.max(x1.saturating_sub(PIXEL)));
                (items[place].x0, items[place].x1) = (x0, x1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::chart::testing::{random_trace, trace};

    const OPTIONS: Options =
        Options { width: 100, levels: 50, narrowest: PIXEL, budget: usize::MAX };

    fn shown(line: &str, options: &Options) -> Vec<String> {
        let trace = trace(line);
        let laid = lay_out(&trace, &Lanes::of(&trace), options);
        let show = |item: &Item| {
            let what = match item.content {
                Content::Call(id) => trace.names.funcs[trace.spans.func[id]].name.clone(),
                Content::Block(block) => format!("{}/{}", block.calls, block.elapsed.0),
            };
            format!("{}:{}-{} {what}", item.level, item.x0, item.x1)
        };
        laid.lanes.iter().flat_map(|lane| &lane.items).map(show).collect()
    }

    #[test]
    fn narrow_neighbors_become_one_block() {
        let line = "0 f( 100 g( 103 ) 104 g( 105 ) 108 h( 110 k( 111 ) 500 ) 600 g( 601 ) 1000 )";
        assert_eq!(
            shown(line, &OPTIONS),
            [
                "0:0-10000 f",
                "1:980-1080 2/4",
                "1:1080-5000 h",
                "2:1100-1200 1/1",
                "1:6000-6100 1/1"
            ]
        );
    }

    #[test]
    fn what_is_below_a_block_is_in_blocks() {
        let line = "0 f( 1 g( 2 ) 4 ) 5 f( 6 g( 7 ) 9 ) 500 f( 510 g( 1000 ) 1000 )";
        assert_eq!(
            shown(line, &OPTIONS),
            ["0:0-100 2/8", "1:0-100 2/2", "0:5000-10000 f", "1:5100-10000 g"]
        );
    }

    #[test]
    fn deep_calls_are_counted_in_the_last_row() {
        let line = "0 a( 0 b( 100 c( 150 d( 700 ) 800 ) 900 c( 950 ) 1000 ) 1000 )";
        let options = Options { levels: 2, ..OPTIONS };
        assert_eq!(
            shown(line, &options),
            ["0:0-10000 a", "1:0-10000 b", "2:1000-8000 2/700", "2:9000-9500 1/50"]
        );
    }

    #[test]
    fn the_budget_is_kept_by_wider_blocks() {
        let calls: String = (0..100)
            .fold(String::new(), |line, n| line + &format!("{} f( {} ) ", n * 10, n * 10 + 7));
        assert_eq!(shown(&calls, &OPTIONS).len(), 1, "997 ticks on 100 pixels");
        let wide = Options { width: 1000, ..OPTIONS };
        assert_eq!(shown(&calls, &wide).len(), 100);
        assert_eq!(shown(&calls, &Options { budget: 20, ..wide }).len(), 1);
    }

    #[test]
    fn a_block_says_what_it_mostly_is() {
        let trace = trace("0 a( 3 ) 4 b( 6 ) 7 b( 9 ) 9 c( 10000 )");
        let laid = lay_out(&trace, &Lanes::of(&trace), &OPTIONS);
        let Content::Block(block) = laid.lanes[0].items[0].content else { panic!("{laid:?}") };
        assert_eq!(trace.names.funcs[block.mostly].name, "b");
    }

    #[test]
    fn a_trace_without_length_is_one_block() {
        assert_eq!(shown("5 f( 5 g( 5 ) 5 )", &OPTIONS), ["0:9900-10000 2/0"]);
        assert!(shown("", &OPTIONS).is_empty());
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_sticks_out(
            trace in random_trace(),
            width in 1..400_u32,
            levels in 1..12_u32,
            narrowest in 1..400_u64,
        ) {
            let lanes = Lanes::of(&trace);
            let options = Options { width, levels, narrowest, budget: usize::MAX };
            let laid = lay_out(&trace, &lanes, &options);
            for (lane, told) in laid.lanes.iter().zip(&lanes.threads) {
                let calls: u64 = lane.items.iter().map(|item| match item.content {
                    Content::Call(_) => 1,
                    Content::Block(block) => block.calls,
                }).sum();
                prop_assert_eq!(calls, told.spans.len() as u64);
                let mut used = vec![0; lane.items.len()];
                let mut ends = vec![0; lane.levels as usize];
                for item in &lane.items {
                    prop_assert!(item.x0 <= item.x1 && item.x1 <= laid.scale.width);
                    let end = &mut ends[item.level as usize];
                    prop_assert!(*end <= item.x0, "boxes of a row overlap");
                    *end = item.x1;
                    if let Some(host) = item.host {
                        let Item { x0, x1, level, .. } = lane.items[host];
                        prop_assert!(x0 <= item.x0 && item.x1 <= x1, "{item:?} leaves {host}");
                        prop_assert_eq!(level + 1, item.level);
                        used[host] += item.x1 - item.x0;
                    } else {
                        prop_assert_eq!(item.level, 0);
                    }
                }
                for (item, used) in lane.items.iter().zip(used) {
                    prop_assert!(used <= item.x1 - item.x0);
                }
            }
        }

        #[test]
        fn what_is_drawn_as_a_call_has_the_width_of_its_time(trace in random_trace()) {
            let laid = lay_out(&trace, &Lanes::of(&trace), &OPTIONS);
            for item in laid.lanes.iter().flat_map(|lane| &lane.items) {
                if let Content::Call(id) = item.content {
                    let (start, end) =
                        (trace.spans.start[id.index()], trace.spans.end[id.index()]);
                    prop_assert_eq!(item.x0, laid.scale.x(start));
                    prop_assert_eq!(item.x1, laid.scale.x(end));
                }
            }
        }
    }
}
