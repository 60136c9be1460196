//! What happened when: single calls of a function, and what the CPUs did.

use std::collections::BTreeMap;

use profctl_analyze::points::{Points, Sample};
use profctl_analyze::summarize::By as Rows;
use profctl_analyze::utilization::{Use, Utilization};
use profctl_model::{Names, Tick, Trace, TraceMeta};
use profctl_render::number;
use profctl_render::plot::{
    Axis, Bar, COLORS, Color, Plot, Series, Shape, time_of, value_of, values_of,
};

use super::{By, Length, Request};
use crate::exit::{Exit, Failure};
use crate::input::session::Session;
use crate::input::short_name;

/// Intervals from left to right.
const INTERVALS: usize = 300;

/// A dot per call.
pub(super) fn scatter(request: &Request<'_>) -> Result<(Plot, Exit), Failure> {
    let Request { args, global, functions, inputs, length } = request;
    let mut session = Session::new(&args.reading, &args.selection, Rows::Function, global)?;
    let function = &functions[0];
    let read = session.one(&inputs[0], Points::new(function))?;
    let (names, meta) = (&read.names, &read.meta);
    let sample = read.sink.finish(names).map_err(Failure::usage)?;
    let by = args.by.unwrap_or(By::Thread);
    let plot = scatter_of(function, &sample, (names, meta), by, *length);
    session.say_damage();
    let exit = session.exit();
    Ok((plot.map_err(Failure::usage)?, exit))
}

/// A dot per call of a sample. Fails if there is none.
pub(crate) fn scatter_of(
    function: &str,
    sample: &Sample,
    (names, meta): (&Names, &TraceMeta),
    by: By,
    length: Length,
) -> Result<Plot, String> {
    if sample.points.is_empty() {
        return Err(format!("no complete call of {function}"));
    }
    let timebase = &meta.timebase;
    let mut groups: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for point in &sample.points {
        let group = match (by, point.cpu) {
            (By::Thread, _) => names.threads[point.thread].label(),
            (By::Cpu, Some(cpu)) => format!("CPU {}", names.cpus[cpu]),
            (By::Cpu, None) => "no CPU".to_owned(),
        };
        let length = match length {
            Length::Elapsed => point.elapsed,
            Length::Net => point.net,
        };
        let at = (time_of(point.start, meta.first, timebase), value_of(length, timebase));
        groups.entry(group).or_default().push(at);
    }
    let lengths = groups.values().flatten().map(|(_, length)| *length);
    let y = Axis::log(length.name(), values_of(timebase), lengths);
    let last = value_of(meta.real(), timebase);
    let x = Axis { to: last.max(1.0), ..Axis::from_zero("start", values_of(timebase), last) };
    // Most calls first; what has no color of its own is drawn below.
    let mut groups: Vec<(String, Vec<(f64, f64)>)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, points)| std::cmp::Reverse(points.len()));
    let others: Vec<(f64, f64)> =
        groups.iter().skip(COLORS).flat_map(|(_, points)| points.iter().copied()).collect();
    let n_others = groups.len().saturating_sub(COLORS) as u64;
    let mut series = Vec::new();
    if n_others > 0 {
        let name = number::count(n_others, "other", "others");
        series.push(Series { name, color: Color::Other, shape: Shape::Dots(others) });
    }
    for (n, (name, points)) in groups.into_iter().take(COLORS).enumerate() {
        series.push(Series { name, color: Color::Number(n), shape: Shape::Dots(points) });
    }
    let calls = number::count(sample.calls, "call", "calls");
    let mut caption = vec![match sample.every {
        1 => calls,
        every => format!("{calls}: one of every {every} is drawn, and the slowest 1000"),
    }];
    if sample.incomplete > 0 {
        let n = number::count(sample.incomplete, "incomplete call", "incomplete calls");
        caption.push(format!("{n} not drawn"));
    }
    let title = format!("{function}: {} of each call", length.name());
    Ok(Plot { title, caption, x, y, series, guides: Vec::new() })
}

/// What the CPUs did.
pub(super) fn utilization(request: &Request<'_>) -> Result<(Plot, Exit), Failure> {
    let Request { args, global, inputs, .. } = request;
    let mut session = Session::new(&args.reading, &args.selection, Rows::Function, global)?;
    let trace = session.load(&inputs[0])?;
    let title = format!("CPU utilization: {}", short_name(&inputs[0]));
    let plot = utilization_of(&trace, title).map_err(Failure::usage)?;
    session.say_damage();
    let exit = session.exit();
    Ok((plot, exit))
}

/// A row per CPU, full where all of its time is known. Fails if nothing is known of any.
pub(crate) fn utilization_of(trace: &Trace, title: String) -> Result<Plot, String> {
    let found = Utilization::of(trace, INTERVALS)?;
    let timebase = &trace.meta.timebase;
    let time = |tick: Tick| time_of(tick, trace.meta.first, timebase);
    let mut rows: Vec<(String, &[Use])> = Vec::new();
    for (cpu, uses) in &found.cpus {
        let name = cpu.map_or("all".to_owned(), |cpu| format!("CPU {}", trace.names.cpus[cpu]));
        rows.push((name, uses));
    }
    // The first at the top.
    rows.reverse();
    let mut bars: [Vec<Bar>; 3] = Default::default();
    let (mut known, mut sums) = (0_u128, [0_u128; 3]);
    for (row, (_, uses)) in rows.iter().enumerate() {
        for (place, used) in uses.iter().enumerate() {
            let length = found.length(place).max(1) as f64;
            let mut base = row as f64 - 0.45;
            let kinds = [used.busy, used.interrupts, used.idle];
            for ((ticks, bars), sum) in kinds.into_iter().zip(&mut bars).zip(&mut sums) {
                known += u128::from(ticks);
                *sum += u128::from(ticks);
                let top = base + 0.9 * (ticks as f64 / length).min(1.0);
                if ticks > 0 {
                    let (from, to) = (time(found.edges[place]), time(found.edges[place + 1]));
                    bars.push(Bar { from, to, base, top });
                }
                base = top;
            }
        }
    }
    let whole = u128::from(trace.meta.real().0).max(1) * rows.len().max(1) as u128;
    let share = |part: u128| number::percent(100.0 * part as f64 / whole as f64);
    let [busy, interrupts, idle] = sums;
    let mut caption = vec![format!(
        "busy {}, interrupts {}, idle {} of {}",
        share(busy),
        share(interrupts),
        share(idle),
        number::count(rows.len() as u64, "CPU", "CPUs"),
    )];
    if known < whole {
        caption.push(format!("{} not known: blank", share(whole - known)));
    }
    let looks = [("busy", Color::Running), ("interrupts", Color::Interrupt), ("idle", Color::Idle)];
    let series = looks.into_iter().zip(bars).map(|((name, color), bars)| Series {
        name: name.to_owned(),
        color,
        shape: Shape::Bars(bars),
    });
    let series = series.collect();
    let last = time(trace.meta.last);
    let x = Axis { to: last.max(1.0), ..Axis::from_zero("time", values_of(timebase), last) };
    let y = Axis::of_names("", rows.into_iter().map(|(name, _)| name).collect());
    Ok(Plot { title, caption, x, y, series, guides: Vec::new() })
}
