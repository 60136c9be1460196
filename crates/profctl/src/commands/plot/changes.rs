//! Ratios with their intervals: of functions between two sides, of conditions in a sweep.

use profctl_analyze::diff::{Comparison, Function, Verdict};
use profctl_render::number;
use profctl_render::plot::{Axis, Color, Guide, Interval, Plot, Series, Shape, Values};

use super::{Request, names_of};
use crate::commands::diff::settings::{Comparing, Settings};
use crate::commands::diff::{self, sides::Keep};
use crate::commands::sweep;
use crate::exit::{Exit, Failure};
use crate::read;

/// Default number of functions.
pub(crate) const FUNCTIONS: usize = 30;

/// A function per row: its ratio, the interval, the margin.
pub(super) fn forest(request: &Request<'_>) -> Result<(Plot, Exit), Failure> {
    let Request { args, global, inputs, .. } = request;
    let mut settings = Settings::of(&Comparing::default())?;
    settings.stats.margin = args.max_regression.unwrap_or(settings.stats.margin);
    let sides = [&inputs[0], &inputs[1]];
    let (keep, exclude) = (Keep::default(), &args.exclude_run);
    let comparison = diff::of_functions(
        sides,
        &settings,
        &args.reading,
        &args.selection,
        keep,
        exclude,
        global,
    )?;
    let names = names_of(*inputs);
    let title = format!("{} → {}", names[0], names[1]);
    let plot = forest_of(&comparison, args.top.unwrap_or(FUNCTIONS).max(1), title)
        .ok_or_else(|| Failure::usage("no function that both sides have differs"))?;
    let sides = [comparison.before, comparison.after].map(|side| side.profile.quality);
    Ok((plot, read::exit_after(&sides, &args.reading, global)))
}

/// The largest changes of a comparison, at most `top`; nothing if no function of both sides differs.
pub(crate) fn forest_of(comparison: &Comparison, top: usize, title: String) -> Option<Plot> {
    let margin = comparison.margin;
    let mut changed: Vec<(&Function, f64)> = comparison
        .changed()
        .filter_map(|function| Some((function, function.ratio.filter(|ratio| *ratio > 0.0)?)))
        .collect();
    if changed.is_empty() {
        return None;
    }
    let all = changed.len();
    // What has a verdict first, then the largest changes.
    let is_sure =
        |function: &Function| matches!(function.verdict, Verdict::Regressed | Verdict::Improved);
    changed.sort_by(|a, b| {
        let key = |(function, ratio): &(&Function, f64)| (is_sure(function), ratio.ln().abs());
        let ((sure_a, size_a), (sure_b, size_b)) = (key(a), key(b));
        sure_b.cmp(&sure_a).then(size_b.total_cmp(&size_a)).then_with(|| a.0.name.cmp(&b.0.name))
    });
    changed.truncate(top);
    changed.sort_by(|a, b| a.1.total_cmp(&b.1).then_with(|| b.0.name.cmp(&a.0.name)));
    let mut series = [
        ("faster", Color::Better, Vec::new()),
        ("slower", Color::Worse, Vec::new()),
        ("not proven", Color::Other, Vec::new()),
    ];
    for (row, (function, ratio)) in changed.iter().enumerate() {
        let (low, high) = function.interval.unwrap_or((*ratio, *ratio));
        let place = match function.verdict {
            _ if !is_sure(function) => 2,
            Verdict::Regressed => 1,
            _ => 0,
        };
        series[place].2.push(Interval { at: row as f64, low, middle: *ratio, high });
    }
    let ends = changed.iter().flat_map(|(function, ratio)| {
        let (low, high) = function.interval.unwrap_or((*ratio, *ratio));
        [low, high, *ratio, 1.0 + margin, (1.0 + margin).recip()]
    });
    let x = Axis::log("after ÷ before", Values::Ratios, ends);
    let names = changed
        .iter()
        .map(|(function, _)| format!("{} ({})", function.name, function.measure.name()))
        .collect();
    let guides = vec![
        Guide { to: 1.0 + margin, ..Guide::line("", true, (1.0 + margin).recip()) },
        Guide::line("", true, 1.0),
    ];
    let runs = |side: &profctl_analyze::diff::SideSummary| {
        number::count(side.runs.len() as u64, "run", "runs")
    };
    let mut caption = vec![format!(
        "{} before, {} after; the band is the margin of {}",
        runs(&comparison.before),
        runs(&comparison.after),
        number::percent(100.0 * margin)
    )];
    if changed.len() < all {
        caption.push(format!("{} of {all} functions that differ", changed.len()));
    }
    let series = series.into_iter().filter(|(_, _, intervals)| !intervals.is_empty());
    let series = series.map(|(name, color, intervals)| Series {
        name: name.to_owned(),
        color,
        shape: Shape::Across(intervals),
    });
    let y = Axis::of_names("", names);
    Some(Plot { title, caption, x, y, series: series.collect(), guides })
}

/// A point per variant and condition: its factor of the reference condition.
pub(super) fn sweep(request: &Request<'_>) -> Result<(Plot, Exit), Failure> {
    let Request { args, global, inputs, .. } = request;
    let (sweep, exit) = sweep::read(&inputs[0], &args.selection, &args.reading, global)?;
    let points = sweep.points();
    let n = sweep.conditions.len() as f64;
    let mut highest = 1.0_f64;
    let mut series = Vec::new();
    for (condition, name) in sweep.conditions.iter().enumerate() {
        if condition == sweep.reference {
            continue;
        }
        // Next to each other, so that no interval covers another.
        let shift = (condition as f64 + 0.5) / n - 0.5;
        let of_condition = points.iter().filter(|point| point.condition == condition);
        let intervals: Vec<Interval> = of_condition
            .filter_map(|point| {
                let middle = point.factor?;
                let ends = point.interval.map(|interval| (interval.low, interval.high));
                let (low, high) = ends.unwrap_or((middle, middle));
                highest = highest.max(high);
                Some(Interval { at: point.variant as f64 + 0.6 * shift, low, middle, high })
            })
            .collect();
        let color = Color::Number(series.len());
        series.push(Series { name: name.clone(), color, shape: Shape::Upright(intervals) });
    }
    let reference = &sweep.conditions[sweep.reference];
    let y = Axis::from_zero(format!("{} ÷ {reference}", sweep.measure), Values::Ratios, highest);
    let x = Axis::of_names("", sweep.variants.clone());
    let guides = vec![Guide::line(reference.clone(), false, 1.0)];
    let runs: usize = points.iter().map(|point| point.runs).sum();
    let mut caption = vec![format!("{} in all", number::count(runs as u64, "run", "runs"))];
    if points.iter().any(|point| point.factor.is_some() && point.interval.is_none()) {
        caption.push("no interval where there is one run only".to_owned());
    }
    Ok((Plot { title: sweep.title, caption, x, y, series, guides }, exit))
}
