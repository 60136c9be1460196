//! The data of a page besides its columns: names, colors, clocks, figures of functions.

use std::cmp::Reverse;

use profctl_model::hash::FastMap;
use profctl_model::{Cell, FuncKind, Table, ThreadId, Tick, Ticks, Timebase, Trace, WakerContext};
use serde_json::{Map, Value, json};

use super::calls::{self, Numbers, Scale};
use super::{Calls, Kind, Page, Picture, graph, pack};
use crate::chart::lanes::Lanes;
use crate::chart::palette::{Paint, Palette, STEPS};
use crate::chart::picture::{PathPlace, PathStep, StateLook};
use crate::number::{self, TimeUnit};
use crate::table::{self, visible};

/// Calls below which there is no need to show an outline first.
const OUTLINE_FROM: usize = 20_000;
/// The outline shows what is longer than this part of the whole.
const OUTLINE_PARTS: u64 = 1_500;

/// The blocks of a picture, each with the name of its element, in the order in which a browser
/// should come by them.
pub(super) struct Blocks {
    /// Those that come before the scripts.
    pub(super) first: Vec<(&'static str, String)>,
    /// The others.
    pub(super) rest: Vec<(&'static str, String)>,
}

pub(super) fn blocks(page: &Page<'_>) -> Blocks {
    let mut blocks = Blocks { first: Vec::new(), rest: Vec::new() };
    let Some(picture) = &page.picture else { return blocks };
    let paints = Paint::all();
    let mut value = common(picture, &paints);
    if let Some(paired) = &picture.paired {
        let all = |of: fn(&profctl_model::PathCost) -> u64| {
            let nodes = paired.tree.nodes().flat_map(|(_, node)| [node.before, node.after]);
            nodes.flatten().fold(0_u64, |sum, cost| sum.saturating_add(of(&cost)))
        };
        let most = all(|cost| cost.net).max(all(|cost| cost.elapsed));
        let scale = Scale::new(Tick(0), most);
        value.insert("diffClock".into(), clock(&paired.timebase, page.unit, scale.step));
        let sides = graph::Sides { before: paired.before, after: paired.after };
        blocks.rest.push(("data-diff", graph::paired(paired.tree, sides, &paints, scale)));
    }
    match &picture.calls {
        Some(calls) => with_calls(calls, page.unit, &paints, &mut value, &mut blocks),
        None => {
            let empty =
                [("functions", json!([{ "name": "" }])), ("lanes", json!([])), ("path", json!([]))];
            for (name, empty) in empty {
                value.insert(name.into(), empty);
            }
        }
    }
    blocks.first.insert(0, ("data-page", pack::json_block(&value.into())));
    blocks
}

/// Colors and kinds.
fn common(picture: &Picture<'_>, paints: &[Paint]) -> Map<String, Value> {
    let mut kinds = Vec::new();
    if picture.calls.is_some() {
        kinds.extend([Kind::Chart, Kind::Graph]);
    }
    if picture.paired.is_some() {
        kinds.push(Kind::Diff);
    }
    kinds.sort_by_key(|&kind| kind != picture.first);
    let kind = |kind: &Kind| match kind {
        Kind::Chart => "chart",
        Kind::Graph => "graph",
        Kind::Diff => "diff",
    };
    let place = |paint: Paint| paints.iter().position(|&one| one == paint).unwrap_or(0);
    let changes = [
        (Paint::Change(-STEPS), "much less, or gone"),
        (Paint::Change(-1), "less"),
        (Paint::Change(0), "the same within 5%"),
        (Paint::Change(1), "more"),
        (Paint::Change(STEPS), "much more, or new"),
        (Paint::Untested, "not tested"),
    ];
    let value = json!({
        "kinds": kinds.iter().map(kind).collect::<Vec<_>>(),
        "themes": {
            "light": theme(&Palette::LIGHT, paints),
            "dark": theme(&Palette::DARK, paints),
        },
        "mergedPaint": place(Paint::Merged),
        "rootPaint": place(Paint::Mark),
        "changes": changes.map(|(paint, text)| (place(paint), text)),
        "trees": [],
        "legend": [],
        "begin": {
            "rev": picture.begin.callers.then_some("1"),
            "up": picture.begin.upwards.then_some("1"),
            "path": picture.begin.path.then_some("1"),
        },
    });
    let Value::Object(value) = value else { unreachable!("it is written as an object") };
    value
}

fn theme(palette: &Palette, paints: &[Paint]) -> Value {
    let fills: Vec<String> = paints.iter().map(|&paint| palette.fill(paint).to_string()).collect();
    json!({
        "background": palette.background.to_string(),
        "lane": palette.lane.to_string(),
        "ink": palette.ink.to_string(),
        "muted": palette.muted.to_string(),
        "grid": palette.grid.to_string(),
        "gap": palette.gap.to_string(),
        "off_cpu": palette.off_cpu.to_string(),
        "hatch": palette.hatch.to_string(),
        "path": palette.path.to_string(),
        "found": palette.found.to_string(),
        "running": palette.running.to_string(),
        "runnable": palette.runnable.to_string(),
        "sleeping": palette.sleeping.to_string(),
        "interrupted": palette.fill(Paint::Interrupt { shade: 0 }).to_string(),
        "fills": fills,
    })
}

/// How the page turns its steps of time into digits.
pub(super) fn clock(timebase: &Timebase, unit: TimeUnit, step: u64) -> Value {
    let digits = number::digits(timebase, unit);
    let above = digits.above.saturating_mul(u128::from(step));
    // Only where a mark of the axis falls depends on this one.
    let nanos = {
        let (numerator, denominator) = timebase.ratio();
        numerator as f64 / denominator as f64 * step as f64
    };
    json!({
        "label": unit.label(timebase),
        "above": above.to_string(),
        "below": digits.below.to_string(),
        "decimals": digits.decimals,
        "isTime": digits.is_time,
        "nanosPerTick": nanos,
    })
}

fn with_calls(
    calls: &Calls<'_>,
    unit: TimeUnit,
    paints: &[Paint],
    value: &mut Map<String, Value>,
    blocks: &mut Blocks,
) {
    let trace = calls.trace;
    let lanes = Lanes::of(trace);
    let sum = lanes.threads.iter().fold(trace.meta.real(), |sum, lane| sum + lane.elapsed);
    let scale = Scale::new(trace.meta.first, sum.0);
    let (numbers, functions) = numbered(trace, &lanes, calls.functions, unit, paints);

    let least = calls::least_length(trace, scale, calls.calls_max);
    let whole = calls::block(trace, &lanes, &numbers, scale, least);
    let cut = (whole.merged > 0).then(|| {
        format!(
            "{} of {} calls are shown individually; the others are shorter than {} and merged \
             into blocks",
            whole.kept,
            whole.kept + whole.merged,
            number::length_with_unit(
                Ticks(least.saturating_mul(scale.step)),
                &trace.meta.timebase,
                unit
            ),
        )
    });
    if trace.spans.len() > OUTLINE_FROM {
        let least = (scale.length(trace.meta.real().0) / OUTLINE_PARTS).max(least).max(1);
        let outline = calls::block(trace, &lanes, &numbers, scale, least);
        blocks.first.push(("data-overview", outline.text));
    }
    let labels: Vec<String> = calls
        .trees
        .iter()
        .map(|(thread, _)| visible(&trace.names.threads[*thread].label()).into_owned())
        .collect();
    let trees: Vec<_> = calls.trees.iter().map(|(_, tree)| tree).collect();
    blocks.rest.push(("data-graph", graph::trees(&trees, &trace.names, &numbers, scale)));
    if let Some(moments) = calls::moments(trace, &lanes, &numbers, scale) {
        blocks.rest.push(("data-moments", moments));
    }
    blocks.rest.push(("data-calls", whole.text));

    let kinds = calls::kinds(trace);
    let names = figure_columns(calls.functions).map(|(_, name)| name).collect::<Vec<_>>();
    let more = json!({
        "clock": clock(&trace.meta.timebase, unit, scale.step),
        "real": scale.length(trace.meta.real().0),
        "functions": functions,
        "figures": names,
        "cpus": trace.names.cpus.as_slice(),
        "lanes": lane_heads(trace, &lanes, scale),
        "trees": labels,
        "legend": graph::legend(&kinds, paints),
        "hasPartial": calls::has_partial(trace),
        "cut": cut,
        "path": path_of(calls, &lanes, scale),
        "wakes": wakes(trace, &lanes, scale),
        "looks": StateLook::ALL.map(StateLook::words),
    });
    let Value::Object(more) = more else { unreachable!("it is written as an object") };
    value.extend(more);
}

fn lane_heads(trace: &Trace, lanes: &Lanes, scale: Scale) -> Vec<Value> {
    let cpus = lanes.cpus.iter().map(|lane| {
        json!({
            "label": format!("CPU {}", lane.number),
            "note": "threads that ran here",
            "kind": "cpu",
            "levels": 1,
            "away": 0,
            "states": 0,
            "marks": 0,
            "gaps": [],
        })
    });
    let threads = lanes.threads.iter().map(|lane| {
        let gaps: Vec<_> =
            lane.gaps.iter().map(|gap| json!([scale.at(gap.time), gap.lost])).collect();
        json!({
            "label": visible(&lane.label),
            "note": lane.cpus_label(),
            "kind": "thread",
            "levels": lane.levels,
            "away": lane.away.len(),
            "states": calls::states(trace, lane).count(),
            "marks": lane.marks.len(),
            "gaps": gaps,
        })
    });
    cpus.chain(threads).collect()
}

/// The place of each thread's lane on the page.
fn lanes_by_thread(lanes: &Lanes) -> FastMap<ThreadId, usize> {
    let threads = lanes.threads.iter().enumerate();
    threads.map(|(place, lane)| (lane.thread, lanes.cpus.len() + place)).collect()
}

/// The critical path: from when, how long, in which lane, on which level (-1: of the thread,
/// whatever it called), and whether it waits there.
fn path_of(calls: &Calls<'_>, lanes: &Lanes, scale: Scale) -> Vec<Value> {
    let spans = &calls.trace.spans;
    let lane_of = lanes_by_thread(lanes);
    let step = |step: &PathStep| {
        let (thread, level) = match step.place {
            PathPlace::Call(call) => {
                (spans.thread[call.index()], i64::from(spans.depth[call.index()]))
            }
            PathPlace::Thread(thread) => (thread, -1),
        };
        let lane = lane_of.get(&thread)?;
        let start = scale.at(step.start);
        Some(json!([start, scale.at(step.end) - start, lane, level, u8::from(step.waits)]))
    };
    calls.path.iter().filter_map(step).collect()
}

/// Wakings that a page holds at most.
const WAKES_MAX: usize = 20_000;

/// Wakings: when, the lane of the waker (-1 if it was an interrupt, or is unknown), the lane of
/// the woken.
fn wakes(trace: &Trace, lanes: &Lanes, scale: Scale) -> Vec<Value> {
    let lane_of = lanes_by_thread(lanes);
    let mut wakes: Vec<(u64, i64, usize)> = Vec::new();
    for (to, lane) in lanes.threads.iter().enumerate() {
        for (state, _) in calls::states(trace, lane) {
            let Some(waker) = state.waker.filter(|_| state.start_seen) else { continue };
            let by = waker.thread.filter(|_| waker.context == WakerContext::Task);
            let from = by.and_then(|by| lane_of.get(&by)).map_or(-1, |from| *from as i64);
            wakes.push((scale.at(state.start), from, lanes.cpus.len() + to));
        }
    }
    wakes.sort_unstable();
    wakes.truncate(WAKES_MAX);
    wakes.into_iter().map(|(time, from, to)| json!([time, from, to])).collect()
}

/// The functions of the page, those of the most calls first: their numbers are the shortest.
fn numbered(
    trace: &Trace,
    lanes: &Lanes,
    figures: &Table,
    unit: TimeUnit,
    paints: &[Paint],
) -> (Numbers, Vec<Value>) {
    let funcs = &trace.names.funcs;
    let mut calls = vec![0_u64; funcs.len()];
    for func in &trace.spans.func {
        calls[func.index()] += 1;
    }
    for mark in &trace.marks {
        calls[mark.func.index()] += 1;
    }
    let mut order: Vec<usize> = (0..funcs.len()).filter(|&func| calls[func] > 0).collect();
    order.sort_by_key(|&func| (Reverse(calls[func]), func));
    let mut numbers = Numbers { of_func: vec![0; funcs.len()], of_thread: Vec::new() };
    let mut functions = vec![json!({ "name": "" })];
    let place = |paint: Paint| paints.iter().position(|&one| one == paint).unwrap_or(0);
    let figures = figures_by_function(figures, unit);
    for func in order {
        let described = &funcs.as_slice()[func];
        numbers.of_func[func] = functions.len() as u64;
        let module = described.module.as_deref();
        let key = (described.name.clone(), module.map(str::to_owned));
        functions.push(json!({
            "name": visible(&described.name),
            "module": module.map(visible),
            "kind": described.kind.name(),
            "paint": place(Paint::of(described)),
            "figures": figures.get(&key),
        }));
    }
    if lanes.cpus.is_empty() {
        return (numbers, functions);
    }
    for thread in &trace.names.threads {
        numbers.of_thread.push(functions.len() as u64);
        let label = thread.label();
        let paint =
            if thread.idle { Paint::Idle } else { Paint::named(FuncKind::Function, &label, None) };
        functions.push(json!({
            "name": visible(&label),
            "kind": "thread",
            "isIdle": thread.idle,
            "paint": place(paint),
        }));
    }
    (numbers, functions)
}

/// The columns of `table` that hold figures, with their names.
fn figure_columns(table: &Table) -> impl Iterator<Item = (usize, String)> {
    table
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| {
            !matches!(column.role, profctl_model::Role::Name | profctl_model::Role::Text)
        })
        .map(|(place, column)| (place, column.name.clone()))
}

/// The figures of each function as text, by its name and module.
fn figures_by_function(
    table: &Table,
    unit: TimeUnit,
) -> FastMap<(String, Option<String>), Vec<Option<String>>> {
    let place = |name: &str| table.columns.iter().position(|column| column.name == name);
    let (Some(name), module) = (place("name"), place("module")) else { return FastMap::default() };
    let text = |cell: &Cell| match cell {
        Cell::Text(text) => Some(text.clone()),
        _ => None,
    };
    let columns: Vec<usize> = figure_columns(table).map(|(place, _)| place).collect();
    table
        .rows
        .iter()
        .filter_map(|row| {
            let module = module.and_then(|module| text(&row[module]));
            let figures = columns.iter().map(|&place| match &row[place] {
                Cell::Null => None,
                cell => Some(table::text(cell, table, unit)),
            });
            Some(((text(&row[name])?, module), figures.collect()))
        })
        .collect()
}

/// What a page says of `calls` besides their columns.
#[cfg(test)]
pub(super) fn value_of(calls: &Calls<'_>, unit: TimeUnit) -> Value {
    let mut value = Map::new();
    let mut blocks = Blocks { first: Vec::new(), rest: Vec::new() };
    with_calls(calls, unit, &Paint::all(), &mut value, &mut blocks);
    value.into()
}
