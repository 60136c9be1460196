//! How long the calls of a function take: histogram and cumulative distribution.

use profctl_analyze::summarize::{By, FuncStats, Lengths, Options, Profile, Summary};
use profctl_model::{Ticks, Timebase};
use profctl_render::number;
use profctl_render::plot::{
    Axis, Bar, Color, Guide, Plot, Series, Shape, Values, value_of, values_of,
};

use super::{Length, Request, names_of};
use crate::exit::{Exit, Failure};
use crate::input::session::{ItemContent, Session};

/// Bars from left to right.
const BARS: usize = 60;

/// The calls of a function in one input.
struct Distribution {
    /// The input, the function, or both.
    name: String,
    /// Times on the axis and how many calls took them, in ascending order.
    buckets: Vec<(f64, u64)>,
    calls: u64,
    /// Calls of length 0, which a logarithmic axis has no place for.
    zero: u64,
    incomplete: u64,
    percentiles: Vec<(u32, f64)>,
    values: Values,
}

/// Bars over a logarithmic axis.
pub(super) fn histogram(request: &Request<'_>) -> Result<(Plot, Exit), Failure> {
    let (all, exit) = read(request)?;
    let x = axis(request.length, &all);
    let shared = all.len() > 1;
    let step = (x.to / x.from).ln() / BARS as f64;
    let mut series = Vec::new();
    let mut highest = 0.0_f64;
    for (n, one) in all.iter().enumerate() {
        let mut counts = [0_u64; BARS];
        for &(value, count) in &one.buckets {
            let place = ((value.max(x.from) / x.from).ln() / step) as usize;
            counts[place.min(BARS - 1)] += count;
        }
        let whole = if shared { one.calls.max(1) as f64 } else { 1.0 };
        let edge = |place: usize| x.from * (step * place as f64).exp();
        let bars = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let bars = bars.map(|(place, &count)| Bar {
            from: edge(place),
            to: edge(place + 1),
            base: 0.0,
            top: count as f64 / whole,
        });
        let bars: Vec<Bar> = bars.collect();
        highest = bars.iter().fold(highest, |highest, bar| highest.max(bar.top));
        let name = if shared { one.name.clone() } else { String::new() };
        series.push(Series { name, color: Color::Number(n), shape: Shape::Bars(bars) });
    }
    let guides = all.iter().enumerate().flat_map(|(n, one)| {
        one.percentiles.iter().map(move |&(percent, value)| Guide {
            color: shared.then_some(Color::Number(n)),
            row: n,
            ..Guide::line(format!("p{percent}"), true, value)
        })
    });
    let guides = if all.len() <= 2 { guides.collect() } else { Vec::new() };
    let (label, values) =
        if shared { ("share of calls", Values::Shares) } else { ("calls", Values::Counts) };
    let y = Axis::from_zero(label, values, highest);
    let title = format!("{}: {}", request.functions[0], request.length.name());
    Ok((Plot { title, caption: caption(&all), x, y, series, guides }, exit))
}

/// A line per function and input.
pub(super) fn ecdf(request: &Request<'_>) -> Result<(Plot, Exit), Failure> {
    let (all, exit) = read(request)?;
    let title = format!("{}: {}", request.functions.join(", "), request.length.name());
    Ok((lines(&all, request.length, title), exit))
}

/// The distribution of a function on several sides; nothing if none of them has histograms.
pub(crate) fn ecdf_of<'a>(
    function: &str,
    sides: impl IntoIterator<Item = (&'a FuncStats, String)>,
    length: Length,
    timebase: &Timebase,
) -> Option<Plot> {
    let all: Vec<Distribution> = sides
        .into_iter()
        .filter_map(|(stats, name)| of_stats(stats, name, length, timebase))
        .filter(|one| !one.buckets.is_empty())
        .collect();
    (!all.is_empty()).then(|| lines(&all, length, format!("{function}: {}", length.name())))
}

fn lines(all: &[Distribution], length: Length, title: String) -> Plot {
    let x = axis(length, all);
    let line = |(n, one): (usize, &Distribution)| {
        let whole = one.calls.max(1) as f64;
        let mut below = one.zero as f64 / whole;
        let mut points = vec![(x.from, below)];
        for &(value, count) in one.buckets.iter().filter(|(value, _)| *value > 0.0) {
            points.push((value, below));
            below += count as f64 / whole;
            points.push((value, below));
        }
        points.push((x.to, below));
        let name = if all.len() > 1 { one.name.clone() } else { String::new() };
        Series { name, color: Color::Number(n), shape: Shape::Line(points) }
    };
    let series = all.iter().enumerate().map(line).collect();
    let y = Axis { to: 1.0, ..Axis::from_zero("share of calls", Values::Shares, 1.0) };
    Plot { title, caption: caption(all), x, y, series, guides: Vec::new() }
}

fn axis(length: Length, all: &[Distribution]) -> Axis {
    let values = all[0].values.clone();
    let lengths = all.iter().flat_map(|one| one.buckets.iter().map(|(value, _)| *value));
    Axis::log(length.name(), values, lengths)
}

fn caption(all: &[Distribution]) -> Vec<String> {
    let line = |one: &Distribution| {
        let mut parts = vec![number::count(one.calls, "call", "calls")];
        if one.zero > 0 {
            parts.push(format!("{} of them of length 0", one.zero));
        }
        if one.incomplete > 0 {
            let n = number::count(one.incomplete, "incomplete call", "incomplete calls");
            parts.push(format!("{n} not drawn"));
        }
        format!("{}: {}", one.name, parts.join(", "))
    };
    all.iter().map(line).collect()
}

fn read(request: &Request<'_>) -> Result<(Vec<Distribution>, Exit), Failure> {
    let Request { args, global, functions, inputs, length } = request;
    let mut session = Session::new(&args.reading, &args.selection, By::Function, global)?;
    let mut all = Vec::new();
    let mut known: Vec<String> = Vec::new();
    for (path, input) in inputs.iter().zip(names_of(*inputs)) {
        let mut profile: Option<Profile> = None;
        let sink = || Summary::new(Options { percentiles: true, ..Options::default() });
        session.each_of_some(std::slice::from_ref(path), sink, |item| {
            let one = match item.content {
                ItemContent::Profile(profile) => *profile,
                ItemContent::Trace(read) => {
                    let source = read.source();
                    read.sink.finish(&read.names, &read.meta, source)
                }
            };
            match &mut profile {
                None => profile = Some(one),
                Some(sum) => {
                    sum.merge(one).map_err(|message| Failure::input(item.name, message))?;
                }
            }
            Ok(())
        })?;
        let Some(profile) = profile else { continue };
        known.extend(profile.rows.iter().map(|row| row.name.clone()));
        for function in functions {
            let name = match (functions.len(), inputs.len()) {
                (1, _) => input.clone(),
                (_, 1) => function.clone(),
                _ => format!("{function}, {input}"),
            };
            all.extend(distribution(&profile, function, name, *length)?);
        }
    }
    session.check()?;
    for function in functions {
        if !known.iter().any(|name| name == function) {
            let all = known.iter().map(String::as_str);
            return Err(Failure::usage(profctl_analyze::no_function(function, all)));
        }
    }
    let units = |one: &Distribution| one.values.clone();
    if all.windows(2).any(|pair| units(&pair[0]) != units(&pair[1])) {
        return Err(Failure::usage("the inputs have clocks of different units"));
    }
    if all.is_empty() {
        return Err(Failure::usage(
            "no complete call of the function, so that nothing can be drawn",
        ));
    }
    session.say_damage();
    let exit = session.exit();
    Ok((all, exit))
}

/// The calls of a function; nothing if none is complete.
fn distribution(
    profile: &Profile,
    function: &str,
    name: String,
    length: Length,
) -> Result<Option<Distribution>, Failure> {
    let mut stats = FuncStats::default();
    for row in profile.rows.iter().filter(|row| row.name == function) {
        stats.merge(&row.stats);
    }
    if stats.measured() > 0 && !profile.has_percentiles {
        return Err(Failure::usage("a saved profile without percentiles has no distribution")
            .hint("save it again without `--percentiles none`"));
    }
    Ok(of_stats(&stats, name, length, &profile.timebase))
}

/// The same of what is known of a function.
fn of_stats(
    stats: &FuncStats,
    name: String,
    length: Length,
    timebase: &Timebase,
) -> Option<Distribution> {
    if stats.measured() == 0 {
        return None;
    }
    let lengths: &Lengths = match length {
        Length::Elapsed => &stats.elapsed_of_calls,
        Length::Net => &stats.net_of_calls,
    };
    let value = |ticks: u64| value_of(Ticks(ticks), timebase);
    let (mut buckets, mut zero) = (Vec::new(), 0);
    for (middle, count) in lengths.histogram.buckets() {
        match middle {
            0 => zero += count,
            middle => buckets.push((value(middle.clamp(lengths.min, lengths.max)), count)),
        }
    }
    let percentiles = [50_u32, 90, 99].into_iter().filter_map(|percent| {
        let (min, max) = (lengths.min, lengths.max);
        let found = lengths.histogram.percentile_middle(f64::from(percent), min, max)?;
        (found > 0).then(|| (percent, value(found)))
    });
    Some(Distribution {
        name,
        percentiles: percentiles.collect(),
        buckets,
        calls: stats.measured(),
        zero,
        incomplete: stats.partial,
        values: values_of(timebase),
    })
}
