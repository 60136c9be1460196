//! `profctl sweep`: one workload over several variants and conditions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use profctl_analyze::diff::Run;
use profctl_analyze::summarize::Profile;
use profctl_analyze::sweep::{self, Claim, Measured, Quantity, Sweep};
use profctl_model::Ticks;
use profctl_render::table::Format;
use serde::Deserialize;

use super::diff::sides;
use crate::args::{Global, Reading, Selection};
use crate::exit::{Exit, Failure};
use crate::{output, read as reports};

const EXAMPLES: &str = "\
Examples:
  profctl sweep quantum.toml
  profctl sweep --format markdown quantum.toml >> review.md

A manifest:
  title = \"ls -l /bin\"
  measure = \"real\"            # or user, sys, busy, net(FUNC), elapsed(FUNC), calls(FUNC)
  reference = \"idle\"
  [[cell]]
  variant = \"quantum 100 ms\"
  condition = \"idle\"
  real = [1.9, 2.0]           # seconds; or traces = [\"idle/run1.dat\", \"idle/\"]";

/// Compare conditions of one workload over several variants
///
/// A cell of the manifest is a variant under a condition: recorded seconds, or traces, saved
/// profiles and directories of runs, relative to the manifest.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Manifest: variants, conditions and what was measured, as TOML
    #[arg(value_name = "MANIFEST")]
    manifest: PathBuf,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    title: Option<String>,
    #[serde(default = "real")]
    measure: String,
    reference: String,
    #[serde(default)]
    cell: Vec<CellText>,
    #[serde(default)]
    claim: Vec<ClaimText>,
}

fn real() -> String {
    "real".to_owned()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CellText {
    variant: String,
    condition: String,
    /// Seconds, a run each.
    #[serde(default)]
    real: Vec<f64>,
    #[serde(default)]
    user: Vec<f64>,
    #[serde(default)]
    sys: Vec<f64>,
    #[serde(default)]
    traces: Vec<PathBuf>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimText {
    text: String,
    variant: String,
    condition: String,
    factor: f64,
    #[serde(default = "tolerance")]
    tolerance: f64,
}

fn tolerance() -> f64 {
    0.05
}

/// What is taken of each run.
enum Measure {
    Real,
    User,
    Sys,
    Busy,
    Net(String),
    Elapsed(String),
    Calls(String),
}

impl Measure {
    fn parse(text: &str) -> Result<Self, String> {
        let of = text.strip_suffix(')').and_then(|text| text.split_once('('));
        Ok(match (text, of) {
            ("real", _) => Self::Real,
            ("user", _) => Self::User,
            ("sys", _) => Self::Sys,
            ("busy", _) => Self::Busy,
            (_, Some(("net", function))) => Self::Net(function.to_owned()),
            (_, Some(("elapsed", function))) => Self::Elapsed(function.to_owned()),
            (_, Some(("calls", function))) => Self::Calls(function.to_owned()),
            _ => {
                return Err(format!(
                    "measure = {text:?}, expected real, user, sys, busy, net(FUNC), elapsed(FUNC) \
                     or calls(FUNC)"
                ));
            }
        })
    }

    fn quantity(&self) -> Quantity {
        match self {
            Self::Calls(_) => Quantity::Count,
            _ => Quantity::Time,
        }
    }

    /// What was recorded of it without a trace.
    fn recorded<'a>(&self, cell: &'a CellText) -> &'a [f64] {
        match self {
            Self::Real => &cell.real,
            Self::User => &cell.user,
            Self::Sys => &cell.sys,
            Self::Busy | Self::Net(_) | Self::Elapsed(_) | Self::Calls(_) => &[],
        }
    }

    fn of(&self, profile: &Profile) -> Result<f64, String> {
        let of_function = |name: &str, of: &dyn Fn(&profctl_analyze::summarize::Row) -> u64| {
            let rows = profile.rows.iter().filter(|row| row.name == name);
            rows.map(of).fold(0, u64::saturating_add)
        };
        let ticks = match self {
            Self::Real => profile.real,
            Self::Busy => profile.busy(),
            Self::Net(name) => of_function(name, &|row| row.stats.net),
            Self::Elapsed(name) => of_function(name, &|row| row.stats.elapsed),
            Self::Calls(name) => return Ok(of_function(name, &|row| row.stats.calls) as f64),
            Self::User | Self::Sys => {
                return Err(
                    "user and sys are not in a trace: write them as `user = [SECONDS]`".into()
                );
            }
        };
        if !profile.timebase.is_time() {
            return Err(format!("counts {}, expected times", profile.timebase.unit_name()));
        }
        Ok(profile.timebase.reported(Ticks(ticks)) as f64 / 1e9)
    }
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let (sweep, exit) = read(&args.manifest, &args.selection, &args.reading, global)?;
    if global.format() == Format::Json {
        output::write_bytes(sweep::document(&sweep).as_bytes(), global)?;
    } else {
        output::write_table(&sweep.table(), global)?;
    }
    Ok(exit)
}

/// Reads a manifest and the traces that it names.
pub(crate) fn read(
    path: &Path,
    selection: &Selection,
    reading: &Reading,
    global: &Global,
) -> Result<(Sweep, Exit), Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::input(name.clone(), error.to_string()))?;
    let manifest: Manifest = toml::from_str(&text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map_or(1, |before| before.matches('\n').count() + 1);
        Failure::input(format!("{name}:{line}"), error.message().to_owned())
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut qualities = Vec::new();
    let measured = |cell: &CellText, measure: &Measure| -> Result<Vec<f64>, Failure> {
        let mut values = measure.recorded(cell).to_vec();
        for trace in &cell.traces {
            let path = folder.join(trace);
            let side = sides::one(&path, reading, selection, global)?;
            qualities.extend(sides::qualities(&side));
            values.extend(
                of_blocks(&side.runs, measure)
                    .map_err(|message| Failure::input(path.display().to_string(), message))?,
            );
        }
        Ok(values)
    };
    let sweep = sweep_of(&manifest, &name, measured)?;
    Ok((sweep, reports::exit_after(&qualities, reading, global)))
}

fn sweep_of(
    manifest: &Manifest,
    name: &str,
    mut measured: impl FnMut(&CellText, &Measure) -> Result<Vec<f64>, Failure>,
) -> Result<Sweep, Failure> {
    let wrong = |message: String| Failure::input(name, message);
    let measure = Measure::parse(&manifest.measure).map_err(wrong)?;
    let variants = distinct(manifest.cell.iter().map(|cell| cell.variant.as_str()));
    let conditions = distinct(manifest.cell.iter().map(|cell| cell.condition.as_str()));
    let place = |what: &str, all: &[String], name: &str| {
        all.iter().position(|known| known == name).ok_or_else(|| {
            wrong(format!("no cell of {what} `{name}`, expected one of {}", all.join(", ")))
        })
    };
    let reference = place("condition", &conditions, &manifest.reference)?;
    let mut cells: Vec<Measured> = Vec::new();
    for cell in &manifest.cell {
        let variant = place("variant", &variants, &cell.variant)?;
        let condition = place("condition", &conditions, &cell.condition)?;
        let values = measured(cell, &measure)?;
        if values.is_empty() {
            let CellText { variant, condition, .. } = cell;
            let measure = &manifest.measure;
            return Err(wrong(format!("cell `{variant}`, `{condition}`: no {measure}")));
        }
        if let Some(value) = values.iter().find(|value| !value.is_finite() || **value < 0.0) {
            return Err(wrong(format!("{value}, expected a number that is not negative")));
        }
        match cells
            .iter_mut()
            .find(|known| (known.variant, known.condition) == (variant, condition))
        {
            Some(known) => known.values.extend(values),
            None => cells.push(Measured { variant, condition, values }),
        }
    }
    let claims = manifest.claim.iter().map(|claim| {
        Ok(Claim {
            text: claim.text.clone(),
            variant: place("variant", &variants, &claim.variant)?,
            condition: place("condition", &conditions, &claim.condition)?,
            factor: claim.factor,
            tolerance: claim.tolerance,
        })
    });
    let claims = claims.collect::<Result<_, Failure>>()?;
    let title = manifest.title.clone().unwrap_or_else(|| name.to_owned());
    let (measure, quantity) = (manifest.measure.clone(), measure.quantity());
    Ok(Sweep { title, measure, quantity, reference, variants, conditions, cells, claims })
}

/// Every name once, in the order of first appearance.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for name in names {
        if !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    }
    found
}

/// A value per block, the mean of its runs: runs within one are not independent.
fn of_blocks(runs: &[Run], measure: &Measure) -> Result<Vec<f64>, String> {
    let mut blocks: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    let mut values = Vec::new();
    for run in runs {
        let value = measure.of(&run.profile)?;
        match &run.block {
            Some(block) => blocks.entry(block).or_default().push(value),
            None => values.push(value),
        }
    }
    let means = blocks.values().map(|block| block.iter().sum::<f64>() / block.len() as f64);
    values.extend(means);
    Ok(values)
}
