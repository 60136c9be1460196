//! A function run by run: of two sides, or over many builds.

use profctl_analyze::diff::{Measure, Run, Side, WHOLE_RUN};
use profctl_analyze::history::{Build, Found, History, Options};
use profctl_analyze::summarize::Quality;
use profctl_model::Timebase;
use profctl_render::number;
use profctl_render::plot::{Axis, Color, Guide, Plot, Series, Shape, Values};

use super::{Length, Request, names_of};
use crate::commands::builds::{self, Builds, Order};
use crate::commands::diff::sides;
use crate::exit::{Exit, Failure};
use crate::read;

/// How far the dots of one column are spread, of the distance between columns.
const SPREAD: f64 = 0.5;

/// What was measured of functions, run by run.
pub(crate) struct Levels {
    history: History,
    values: Values,
    side_of_column: Vec<usize>,
    /// Of the sides; none where there is one only.
    names: Vec<String>,
}

impl Levels {
    /// Of two sides: a column per side and block.
    pub(crate) fn of(sides: impl IntoIterator<Item = (Side, String)>) -> Self {
        let mut levels = Self {
            history: History::default(),
            values: Values::Times,
            side_of_column: Vec::new(),
            names: Vec::new(),
        };
        for (n, (side, name)) in sides.into_iter().enumerate() {
            if let Some(run) = side.runs.first() {
                levels.values = unit(&run.profile.timebase);
            }
            levels.names.push(name.clone());
            for (block, runs) in blocks(side.runs) {
                let name = block.map_or(name.clone(), |block| format!("{name} {block}"));
                levels.side_of_column.push(n);
                let column = Side { name: name.clone(), runs, skipped: 0 };
                levels.history.add(Build { name, ..Build::default() }, column);
            }
        }
        levels
    }

    /// Of one side: a column per build.
    pub(crate) fn over_builds(history: History, timebase: &Timebase) -> Self {
        let side_of_column = vec![0; history.builds.len()];
        Self { history, values: unit(timebase), side_of_column, names: Vec::new() }
    }

    /// A dot per run of a function.
    pub(crate) fn plot(&self, function: &str, length: Length) -> Result<Plot, Failure> {
        let mut plot = columns(function, length.measure(), self)?;
        for (series, name) in plot.series.iter_mut().zip(&self.names) {
            series.name.clone_from(name);
        }
        Ok(plot)
    }

    /// A dot per run of a function, and the changes that were found.
    pub(crate) fn with_changes(
        &self,
        function: &str,
        measure: Measure,
        found: &Found,
    ) -> Result<Plot, Failure> {
        let mut plot = columns(function, measure, self)?;
        let key = History::key(function);
        let of_function = found.changes.iter().filter(|change| {
            change.function.as_deref().unwrap_or(WHOLE_RUN) == key && change.measure == measure
        });
        plot.guides = of_function
            .map(|change| {
                let at = (change.build + change.previous) as f64 / 2.0;
                Guide::line(number::ratio(change.ratio), true, at)
            })
            .collect();
        let n = plot.guides.len() as u64;
        plot.caption.push(format!("{} marked", number::count(n, "change", "changes")));
        Ok(plot)
    }
}

/// A column per side and block.
pub(super) fn runs(request: &Request<'_>) -> Result<(Plot, Exit), Failure> {
    let Request { args, global, inputs, .. } = request;
    let paths = [&inputs[0], &inputs[1]];
    let keep = sides::Keep::default();
    let mut both = sides::read(paths, &args.reading, &args.selection, keep, global)?;
    sides::exclude(&mut both, &args.exclude_run)?;
    let qualities: Vec<Quality> = both.iter().flat_map(sides::qualities).collect();
    let levels = Levels::of(both.into_iter().zip(names_of(*inputs)));
    let plot = levels.plot(&request.functions[0], request.length)?;
    Ok((plot, read::exit_after(&qualities, &args.reading, global)))
}

/// A column per build, and the changes that `history` finds.
pub(super) fn history(request: &Request<'_>) -> Result<(Plot, Exit), Failure> {
    let Request { args, global, inputs, functions, length } = request;
    let places = builds::find(inputs, Order::Name)?;
    let Builds { history, timebase, qualities } =
        builds::read(places, &args.reading, &args.selection, global)?;
    let measure = length.measure();
    let found = history.find(&Options { measures: vec![measure], ..Options::default() });
    let levels = Levels::over_builds(history, &timebase);
    let plot = levels.with_changes(&functions[0], measure, &found)?;
    Ok((plot, read::exit_after(&qualities, &args.reading, global)))
}

fn unit(timebase: &Timebase) -> Values {
    if timebase.is_time() { Values::Times } else { Values::Counts }
}

/// Runs by block, in the order of the blocks.
fn blocks(runs: Vec<Run>) -> std::collections::BTreeMap<Option<String>, Vec<Run>> {
    let mut blocks = std::collections::BTreeMap::new();
    for run in runs {
        blocks.entry(run.block.clone()).or_insert_with(Vec::new).push(run);
    }
    blocks
}

/// A dot per run, in columns; a series per side.
fn columns(function: &str, measure: Measure, of: &Levels) -> Result<Plot, Failure> {
    let Levels { history, values, side_of_column, .. } = of;
    let levels = history.levels(function, measure).map_err(Failure::usage)?;
    let sides = side_of_column.iter().max().map_or(0, |most| most + 1);
    let mut dots: Vec<Vec<(f64, f64)>> = vec![Vec::new(); sides];
    let mut missing = 0;
    for ((column, runs), side) in levels.iter().enumerate().zip(side_of_column) {
        missing += history.builds[column].runs - runs.len();
        for (n, &value) in runs.iter().enumerate() {
            let shift = (n as f64 + 0.5) / runs.len() as f64 - 0.5;
            dots[*side].push((column as f64 + SPREAD * shift, value));
        }
    }
    let all = || dots.iter().flatten().map(|(_, value)| *value);
    if all().next().is_none() {
        return Err(Failure::usage(format!("no complete call of {function} in any run")));
    }
    // Differences of some percent are to be seen: the axis does not begin at 0.
    let (low, high) = all()
        .fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let room = ((high - low) * 0.08).max(high * 0.01).max(1e-9);
    let y = Axis {
        from: (low - room).max(0.0),
        to: high + room,
        ..Axis::from_zero(measure.about(), values.clone(), high)
    };
    let names = history.builds.iter().map(|build| build.name.clone()).collect();
    let n_runs = all().count() as u64;
    let mut caption =
        vec![format!("{}; the axis does not begin at 0", number::count(n_runs, "run", "runs"))];
    if missing > 0 {
        let n = number::count(missing as u64, "run", "runs");
        caption.push(format!("{n} without a complete call of it"));
    }
    let series = dots.into_iter().enumerate().map(|(n, dots)| Series {
        name: String::new(),
        color: Color::Number(n),
        shape: Shape::Dots(dots),
    });
    let title = format!("{function}: {}", measure.about());
    Ok(Plot {
        title,
        caption,
        x: Axis::of_names("", names),
        y,
        series: series.collect(),
        guides: Vec::new(),
    })
}
