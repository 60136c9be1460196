//! The chart as a picture: lanes below one another, time from left to right.

use profctl_model::{FuncKind, SpanId, Thread, ThreadId, Tick, Ticks, Trace, Turn};

use super::super::axis;
use super::super::lanes::{CpuLane, Lanes, ThreadLane};
use super::super::palette::Paint;
use super::super::text;
use super::super::timeline::{self, Block, Content, Item, LaidOut, PIXEL, TimeScale, Timeline};
use super::threads::{self, STRIP};
use super::words::{Words, merged_note};
use super::{
    Band, Drawn, Edge, FONT, MARGIN, PathLine, Picture, ROW, Scale, Sign, StateLook, Upright,
    UprightKind, Veil, pixels,
};
use crate::number::{self, TimeUnit};

/// Between two lanes.
const LANE_GAP: u32 = 7;
/// The widest that the names of lanes may be.
const GUTTER_MAX: u32 = 170;
/// Between the name of a lane and the plot.
const GUTTER_GAP: u32 = 10;
/// The height of the rail of instants.
const RAIL: u32 = 7;
/// Between two instants that are drawn apart, at least, in hundredths of a pixel.
const MARKS_APART: u64 = 3 * PIXEL;
/// Between ticks of the scale, at least, in hundredths of a pixel.
pub(super) const TICKS_APART: u64 = 80 * PIXEL;

/// How to draw a chart.
#[derive(Clone, PartialEq, Debug)]
pub struct ChartOptions {
    /// What is above it.
    pub title: String,
    /// The width of the picture, in pixels.
    pub width: u32,
    /// Levels that are drawn call by call.
    pub levels: u32,
    /// What is narrower is merged, in hundredths of a pixel.
    pub narrowest: u64,
    /// Boxes at most.
    pub budget: usize,
    /// The unit of times.
    pub unit: TimeUnit,
    /// Whether callers are below their callees.
    pub upward: bool,
    /// Notes.
    pub notes: Vec<String>,
}

/// An interval of the critical path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathStep {
    /// Where it is.
    pub place: PathPlace,
    /// From.
    pub start: Tick,
    /// To.
    pub end: Tick,
    /// Whether the thread on the path waits.
    pub waits: bool,
}

/// Where a segment of the critical path is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PathPlace {
    /// In a call; its thread and its level are the path's.
    Call(SpanId),
    /// In a thread, whatever it called.
    Thread(ThreadId),
}

/// Draws a trace; the steps of `path`, in order, are drawn over it.
pub fn chart(trace: &Trace, lanes: &Lanes, path: &[PathStep], options: &ChartOptions) -> Picture {
    let words = Words { timebase: trace.meta.timebase, unit: options.unit };
    let gutter = gutter(lanes);
    let width = options.width.saturating_sub(gutter + 2 * MARGIN).max(1);
    let layout = timeline::Options {
        width,
        levels: options.levels.max(1),
        narrowest: options.narrowest,
        budget: options.budget,
    };
    let laid = timeline::lay_out(trace, lanes, &layout);
    let mut picture = Picture::begin(
        &options.title,
        about(trace, lanes, &words),
        options.width,
        &legend(trace, lanes, &laid, !path.is_empty()),
    );
    picture.upward = options.upward;
    picture.plot.left = MARGIN + gutter;
    picture.plot.width = width;
    let timebase = &trace.meta.timebase;
    picture.ticks =
        axis::ticks(laid.scale.total, laid.scale.width, TICKS_APART, timebase, options.unit);
    picture.scale = Scale {
        total: timebase.reported(laid.scale.total) as f64,
        units: axis::units(timebase, options.unit),
    };
    let mut draw = Draw { trace, words, laid: &laid, options, picture, y: 0, rows: 1, strip: 0 };
    draw.y = draw.picture.plot.top;
    for lane in &lanes.cpus {
        draw.cpu(lane);
    }
    let mut tops = Vec::new();
    for (lane, boxes) in lanes.threads.iter().zip(&laid.lanes) {
        tops.push(draw.y);
        draw.thread(lane, boxes);
    }
    draw.path(path, lanes, &tops);
    let (arrows, left_out) = threads::arrows(trace, lanes, &tops, &laid.scale);
    draw.picture.arrows = arrows;
    let bottom = draw.y;
    let mut picture = draw.picture;
    picture.plot.height = bottom.saturating_sub(picture.plot.top + LANE_GAP);
    let mut notes = options.notes.clone();
    if left_out > 0 {
        let wakings = number::count(left_out as u64, "waking is", "wakings are");
        notes
            .push(format!("{wakings} not drawn for want of room: see a part with --from, --until"));
    }
    if picture.boxes.iter().any(|drawn| drawn.merged) {
        notes.push(merged_note("calls", laid.narrowest, layout.narrowest.max(PIXEL)));
    }
    if lanes.threads.iter().zip(&laid.lanes).any(|(lane, laid)| lane.levels > laid.levels) {
        notes.push("the last row of a lane includes all deeper calls".to_owned());
    }
    picture.end(notes);
    picture
}

fn gutter(lanes: &Lanes) -> u32 {
    let labels =
        lanes.threads.iter().flat_map(|lane| [Some(lane.label.clone()), second_line(lane)]);
    let cpus = lanes.cpus.iter().map(|lane| Some(cpu_label(lane)));
    let widest = labels.chain(cpus).flatten().map(|label| text::width(&label, FONT)).max();
    widest.map_or(0, |widest| pixels(widest).min(GUTTER_MAX) + GUTTER_GAP)
}

fn cpu_label(lane: &CpuLane) -> String {
    format!("CPU {}", lane.number)
}

fn second_line(lane: &ThreadLane) -> Option<String> {
    lane.cpus_label().filter(|cpus| *cpus != lane.label)
}

fn about(trace: &Trace, lanes: &Lanes, words: &Words) -> String {
    let real = words.length(trace.meta.real());
    let calls = number::count(lanes.calls() as u64, "call", "calls");
    let threads = number::count(lanes.threads.len() as u64, "thread", "threads");
    format!("chart: {calls} on {threads} in time order, {real} from the first to the last event")
}

fn legend(trace: &Trace, lanes: &Lanes, laid: &Timeline, path: bool) -> Vec<(Sign, &'static str)> {
    let spans = &trace.spans;
    let mut seen = [false; 4];
    let (mut merged, mut partial) = (false, false);
    for item in laid.lanes.iter().flat_map(|lane| &lane.items) {
        match item.content {
            Content::Call(id) => {
                partial |= spans.fidelity[id.index()].is_partial();
                match trace.names.funcs[spans.func[id]].kind {
                    FuncKind::Function | FuncKind::Switch | FuncKind::Mark => seen[0] = true,
                    FuncKind::Syscall => seen[1] = true,
                    FuncKind::Interrupt => seen[2] = true,
                    FuncKind::Idle => seen[3] = true,
                }
            }
            Content::Block(_) => merged = true,
        }
    }
    let middle = Paint::Function { hue: 6, shade: 1 };
    let has_modules = trace.names.funcs.iter().any(|func| func.module.is_some());
    let functions = if has_modules { "function, by module" } else { "function, by name" };
    let any = |has: fn(&ThreadLane) -> bool| lanes.threads.iter().any(has);
    let mut looks = [false; StateLook::ALL.len()];
    for lane in lanes.threads.iter().filter(|lane| lane.has_states) {
        for state in trace.states_of(lane.thread) {
            if let Some(look) = StateLook::of(state.state) {
                looks[look as usize] = true;
            }
        }
    }
    let wakes = trace.states.iter().any(|state| state.waker.is_some());
    let states = StateLook::ALL
        .into_iter()
        .map(|look| (looks[look as usize], Sign::State(look), look.words()))
        .chain([(looks[0] && wakes, Sign::Arrow, "wakeup")]);
    [
        (seen[0], Sign::Fill(middle), functions),
        (seen[1], Sign::Fill(Paint::Syscall { shade: 1 }), "system call"),
        (seen[2], Sign::Fill(Paint::Interrupt { shade: 1 }), "interrupt"),
        (seen[3], Sign::Fill(Paint::Idle), "idle"),
        (merged, Sign::Fill(Paint::Merged), "several calls, merged"),
        (partial, Sign::Hatched(middle), "entry or exit not recorded"),
        (any(|lane| !lane.away.is_empty() && lane.levels > 0), Sign::Veil, "switched out"),
        (any(|lane| !lane.gaps.is_empty()), Sign::Gap, "events lost"),
        (any(|lane| !lane.marks.is_empty()), Sign::Mark, "instant"),
        (path, Sign::Path, "critical path"),
    ]
    .into_iter()
    .chain(states)
    .filter(|&(is_there, ..)| is_there)
    .map(|(_, sign, words)| (sign, words))
    .collect()
}

struct Draw<'a> {
    trace: &'a Trace,
    words: Words,
    laid: &'a Timeline,
    options: &'a ChartOptions,
    picture: Picture,
    /// The upper edge of the next lane.
    y: u32,
    /// Rows of the latest lane.
    rows: u32,
    /// What its strip of states takes up.
    strip: u32,
}

impl Draw<'_> {
    fn cpu(&mut self, lane: &CpuLane) {
        self.strip = 0;
        let band = self.band(1, 0, cpu_label(lane), None);
        for stay in merged_stays(&lane.ran, &self.laid.scale, self.laid.narrowest) {
            let drawn = match stay.ran.as_slice() {
                [only] => {
                    let Thread { idle, .. } = &self.trace.names.threads[only.thread];
                    let label = self.trace.names.threads[only.thread].label();
                    let kind = if *idle { FuncKind::Idle } else { FuncKind::Function };
                    let paint = Paint::named(kind, &label, None);
                    let ran = self.words.length(only.end - only.start);
                    let mut tip = vec![format!("ran {ran} on CPU {}", lane.number)];
                    tip.extend(only.then.map(|then| format!("then {}", then.name())));
                    self.stay(&stay, band, paint, label, tip)
                }
                several => {
                    let ran = several.iter().fold(Ticks(0), |sum, s| sum + (s.end - s.start));
                    let label = number::count(several.len() as u64, "turn", "turns");
                    let tip =
                        vec![format!("ran {} on CPU {}", self.words.length(ran), lane.number)];
                    self.stay(&stay, band, Paint::Merged, label, tip)
                }
            };
            self.picture.boxes.push(drawn);
        }
    }

    fn stay(
        &self,
        stay: &Stay,
        band: usize,
        paint: Paint,
        label: String,
        tip: Vec<String>,
    ) -> Drawn {
        Drawn {
            x0: stay.x0,
            x1: stay.x1,
            y: self.picture.bands[band].y,
            height: ROW - 1,
            band,
            paint,
            hatched: false,
            edge: Edge::Plain,
            label,
            merged: stay.ran.len() > 1,
            tip,
            bars: None,
        }
    }

    /// Opens a lane of so many rows, and a rail for instants, and says its place.
    fn band(&mut self, rows: u32, rail: u32, label: String, detail: Option<String>) -> usize {
        let height = self.strip + rows.max(1) * ROW - 1 + rail;
        let tip = match &detail {
            Some(detail) => format!("{label}, {detail}"),
            None => label.clone(),
        };
        // A second line needs a second row.
        let detail = detail.filter(|_| rows > 1);
        self.picture.bands.push(Band { y: self.y, height, label: Some(label), detail, tip });
        self.y += height + LANE_GAP;
        self.rows = rows.max(1);
        self.picture.bands.len() - 1
    }

    fn row(&self, band: usize, level: u32) -> u32 {
        let Band { y, .. } = self.picture.bands[band];
        let row = if self.options.upward { self.rows - 1 - level } else { level };
        y + self.strip + row * ROW
    }

    fn thread(&mut self, lane: &ThreadLane, boxes: &LaidOut) {
        let rail = if lane.marks.is_empty() { 0 } else { RAIL };
        let states = self.trace.states_of(lane.thread);
        self.strip = strip_of(lane);
        if lane.has_states {
            let (scale, narrowest) = (&self.laid.scale, self.laid.narrowest);
            let strip = threads::strip(states, self.y, scale, narrowest, &self.words);
            self.picture.states.extend(strip);
        }
        let band = self.band(boxes.levels, rail, lane.label.clone(), second_line(lane));
        for item in &boxes.items {
            let drawn = self.item(item, band, lane);
            self.picture.boxes.push(drawn);
        }
        let Band { y, height, .. } = self.picture.bands[band];
        let (y, height) = (y + self.strip, height - self.strip);
        let scale = self.laid.scale;
        // Less than half of what is merged elsewhere: a veil says that nothing ran below it.
        let apart = (self.laid.narrowest / 2).max(PIXEL);
        let mut veils: Vec<Veil> = Vec::new();
        for stretch in lane.away.iter().filter(|_| boxes.levels > 0) {
            let (x0, x1) = (scale.x(stretch.start), scale.x(stretch.end));
            match veils.last_mut() {
                Some(last) if x0 < last.x1 + apart => last.x1 = last.x1.max(x1),
                _ => veils.push(Veil { x0, x1, y, height }),
            }
        }
        veils.retain(|veil| veil.x1 - veil.x0 >= apart);
        self.picture.veils.extend(veils);
        let gaps = lane.gaps.iter().map(|gap| (scale.x(gap.time), gap));
        let (mut at, mut count, mut lost) = (None, 0_u64, Some(0_u64));
        let mut found: Vec<(u64, u64, Option<u64>)> = Vec::new();
        for (x, gap) in gaps {
            if at.is_some_and(|at| x >= at + self.laid.narrowest) {
                found.push((at.unwrap_or(x), count, lost));
                (at, count, lost) = (None, 0, Some(0));
            }
            at = at.or(Some(x));
            count += 1;
            lost = lost.zip(gap.lost).map(|(sum, n)| sum.saturating_add(n));
        }
        found.extend(at.map(|at| (at, count, lost)));
        for (x, count, lost) in found {
            let events = match lost {
                Some(n) => number::count(n, "event", "events"),
                None => "an unknown number of events".to_owned(),
            };
            let places = if count > 1 { format!(" in {count} places") } else { String::new() };
            let tip = format!("lost here: {events}{places}");
            self.picture.uprights.push(Upright { x, y, height, kind: UprightKind::Gap, tip });
        }
        self.marks(lane, band);
    }

    /// Instants, on a rail of their own below the rows.
    fn marks(&mut self, lane: &ThreadLane, band: usize) {
        let apart = self.laid.narrowest.max(MARKS_APART);
        let mut marks: Vec<(u64, u64, String)> = Vec::new();
        for mark in &lane.marks {
            let x = self.laid.scale.x(mark.time);
            let name = &self.trace.names.funcs[mark.func].name;
            match marks.last_mut() {
                Some((at, n, _)) if x < *at + apart => *n += 1,
                _ => marks.push((x, 1, name.clone())),
            }
        }
        let Band { y, height, .. } = self.picture.bands[band];
        let y = y + height - RAIL + 1;
        for (x, n, name) in marks {
            let tip = if n > 1 { format!("{n} instants, first {name}") } else { name };
            let (height, kind) = (RAIL - 1, UprightKind::Mark);
            self.picture.uprights.push(Upright { x, y, height, kind, tip });
        }
    }

    fn item(&self, item: &Item, band: usize, lane: &ThreadLane) -> Drawn {
        let spans = &self.trace.spans;
        let (label, paint, hatched, tip) = match item.content {
            Content::Call(id) => {
                let func = &self.trace.names.funcs[spans.func[id]];
                let hatched = spans.fidelity[id.index()].is_partial();
                (func.name.clone(), Paint::of(func), hatched, self.call_tip(id, lane))
            }
            Content::Block(block) => {
                let calls = number::count(block.calls, "call", "calls");
                let mostly = &self.trace.names.funcs[block.mostly].name;
                let only = if block.calls > 1 { "mostly" } else { "of" };
                let label = format!("{calls}, {only} {mostly}");
                (label, Paint::Merged, false, self.block_tip(&block, lane))
            }
        };
        Drawn {
            x0: item.x0,
            x1: item.x1,
            y: self.row(band, item.level),
            height: ROW - 1,
            band,
            paint,
            hatched,
            edge: Edge::Plain,
            label,
            merged: matches!(item.content, Content::Block(_)),
            tip,
            bars: None,
        }
    }

    fn call_tip(&self, id: SpanId, lane: &ThreadLane) -> Vec<String> {
        let (spans, row) = (&self.trace.spans, id.index());
        let func = &self.trace.names.funcs[spans.func[id]];
        let length = |ticks| self.words.length(ticks);
        let mut tip: Vec<String> =
            Words::nature(func.kind, func.module.as_deref()).into_iter().collect();
        tip.push(format!("elapsed: {}", length(spans.elapsed(id))));
        tip.push(format!("net: {}", length(spans.net[row])));
        for (ticks, what) in [(spans.stolen[row], "interrupts"), (spans.off_cpu[row], "off CPU")] {
            if ticks > Ticks(0) {
                tip.push(format!("{what}: {}", length(ticks)));
            }
        }
        let from = length(spans.start[row] - self.trace.meta.first);
        let cpu = spans.cpu[row].map(|cpu| format!(", CPU {}", self.trace.names.cpus[cpu]));
        tip.push(format!("from {from} on {}{}", lane.label, cpu.unwrap_or_default()));
        let fidelity = spans.fidelity[row];
        for (is_so, what) in [
            (fidelity.start_inferred, "entry not recorded"),
            (fidelity.end_inferred, "exit not recorded"),
            (fidelity.at_gap, "incomplete: events were lost"),
        ] {
            if is_so {
                tip.push(what.to_owned());
            }
        }
        tip
    }

    fn block_tip(&self, block: &Block, lane: &ThreadLane) -> Vec<String> {
        let spans = &self.trace.spans;
        let from = spans.start[block.first.index()] - self.trace.meta.first;
        let until = block.end - self.trace.meta.first;
        let first = &self.trace.names.funcs[spans.func[block.first]].name;
        let mut tip = vec![
            format!("elapsed: {}", self.words.length(block.elapsed)),
            format!(
                "from {} to {} on {}",
                self.words.length(from),
                self.words.length(until),
                lane.label
            ),
            format!("the first: {first}"),
        ];
        if block.partial > 0 {
            tip.push(format!("incomplete: {}", block.partial));
        }
        tip
    }

    /// The critical path: along the lower edge of the rows that its steps lie in, or along the
    /// strips of threads.
    fn path(&mut self, steps: &[PathStep], lanes: &Lanes, tops: &[u32]) {
        let spans = &self.trace.spans;
        let mut corners: Vec<(u64, u32)> = Vec::new();
        for step in steps {
            let PathPlace::Call(call) = step.place else { continue };
            let thread = spans.thread[call.index()];
            let Some(lane) = lanes.threads.iter().position(|lane| lane.thread == thread) else {
                continue;
            };
            let band = self.picture.bands.iter().position(|band| band.y == tops[lane]);
            self.rows = self.laid.lanes[lane].levels.max(1);
            self.strip = strip_of(&lanes.threads[lane]);
            let level = spans.depth[call.index()].min(self.rows - 1);
            let y = self.row(band.expect("every lane has a band"), level) + ROW - 3;
            let (x0, x1) = (self.laid.scale.x(step.start), self.laid.scale.x(step.end));
            // Steps narrower than half a pixel only move the line up and down.
            let moved = corners.last().is_none_or(|&(x, last)| last != y || x + PIXEL / 2 <= x1);
            if moved {
                corners.extend([(x0, y), (x1, y)]);
            }
        }
        corners.dedup();
        if !corners.is_empty() {
            self.picture.path.push(PathLine { points: corners, waits: false });
        }
        self.picture.path.extend(threads::path(steps, lanes, tops, &self.laid.scale));
    }
}

/// What the strip of a lane takes up.
fn strip_of(lane: &ThreadLane) -> u32 {
    if lane.has_states { STRIP } else { 0 }
}

/// Turns on a CPU that are drawn as one.
struct Stay {
    x0: u64,
    x1: u64,
    ran: Vec<Turn>,
}

fn merged_stays(ran: &[Turn], scale: &TimeScale, narrowest: u64) -> Vec<Stay> {
    let mut stays: Vec<Stay> = Vec::new();
    let mut open = false;
    for slice in ran {
        let x0 = scale.x(slice.start).max(stays.last().map_or(0, |stay| stay.x1.min(scale.width)));
        let x1 = scale.x(slice.end).max(x0);
        let is_narrow = x1 - x0 < narrowest;
        match stays.last_mut() {
            Some(last) if is_narrow && open && x0 < last.x1 + narrowest => {
                last.x1 = x1;
                last.ran.push(*slice);
            }
            _ => stays.push(Stay { x0, x1, ran: vec![*slice] }),
        }
        open = is_narrow;
    }
    stays
}
