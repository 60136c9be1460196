//! One workload over several variants and conditions: what each condition costs, as a factor of a
//! reference condition of the same variant.

mod json;
#[cfg(test)]
mod tests;

use profctl_model::{Cell, Column, Role, Table, Ticks, Timebase};

use crate::diff::stats::{Interval, ratio_of_runs};
pub use json::document;

/// What was measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// Seconds.
    Time,
    /// A number of things.
    Count,
}

/// A workload, its variants and its conditions.
#[derive(Clone, PartialEq, Debug)]
pub struct Sweep {
    /// What it is of.
    pub title: String,
    /// What was measured, as the manifest names it: `real`, `net(in_cksum)`.
    pub measure: String,
    /// What its values are.
    pub quantity: Quantity,
    /// The condition with which others are compared, by its place.
    pub reference: usize,
    /// Variants, in the order of the manifest.
    pub variants: Vec<String>,
    /// Conditions, likewise.
    pub conditions: Vec<String>,
    /// What was measured.
    pub cells: Vec<Measured>,
    /// What was said of it.
    pub claims: Vec<Claim>,
}

/// The runs of a variant under a condition.
#[derive(Clone, PartialEq, Debug)]
pub struct Measured {
    /// By its place among the variants.
    pub variant: usize,
    /// By its place among the conditions.
    pub condition: usize,
    /// A value per run, or per block of runs: seconds, or a number.
    pub values: Vec<f64>,
}

/// A sentence about the results, and what would have to be true.
#[derive(Clone, PartialEq, Debug)]
pub struct Claim {
    /// The sentence.
    pub text: String,
    /// The variant that it is about, by its place.
    pub variant: usize,
    /// The condition, likewise.
    pub condition: usize,
    /// The factor of the reference condition.
    pub factor: f64,
    /// By how much it may be off, as a share: 0.05.
    pub tolerance: f64,
}

/// What a condition costs a variant.
#[derive(Clone, PartialEq, Debug)]
pub struct Point {
    /// By its place among the variants.
    pub variant: usize,
    /// By its place among the conditions.
    pub condition: usize,
    /// Runs.
    pub runs: usize,
    /// The mean of its runs.
    pub mean: f64,
    /// The mean ÷ that of the reference condition, if that was measured.
    pub factor: Option<f64>,
    /// The 95 % interval of the factor, if both have two runs or more.
    pub interval: Option<Interval>,
}

/// Whether a claim holds.
#[derive(Clone, PartialEq, Debug)]
pub struct Judged<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// The factor that was found.
    pub found: Option<f64>,
    /// Whether it is the one that was claimed; nothing if it was not measured.
    pub holds: Option<bool>,
}

impl Sweep {
    /// Every cell, by variant and condition. Also what a plot shows: a series a condition, a point
    /// a variant, its factor with the interval as error bars.
    pub fn points(&self) -> Vec<Point> {
        let mut cells: Vec<&Measured> =
            self.cells.iter().filter(|cell| !cell.values.is_empty()).collect();
        cells.sort_by_key(|cell| (cell.variant, cell.condition));
        let points = cells.iter().map(|cell| {
            let reference = cells
                .iter()
                .find(|other| other.variant == cell.variant && other.condition == self.reference)
                .filter(|reference| !std::ptr::eq(**reference, *cell));
            let interval =
                reference.and_then(|reference| ratio_of_runs(&reference.values, &cell.values));
            let mean = mean(&cell.values);
            let factor = reference.map(|reference| mean / self::mean(&reference.values));
            Point {
                variant: cell.variant,
                condition: cell.condition,
                runs: cell.values.len(),
                mean,
                // With an interval, the estimate that it is of.
                factor: interval
                    .map(|interval| interval.ratio)
                    .or(factor)
                    .filter(|f| f.is_finite()),
                interval,
            }
        });
        points.collect()
    }

    /// Every claim, in the order of the manifest.
    pub fn judged(&self) -> Vec<Judged<'_>> {
        let points = self.points();
        let claims = self.claims.iter();
        let judged = claims.map(|claim| {
            let place = (claim.variant, claim.condition);
            let point = points.iter().find(|point| (point.variant, point.condition) == place);
            let found = point.and_then(|point| point.factor);
            let off = |found: f64| (found / claim.factor - 1.0).abs();
            let holds = found.map(|found| off(found) <= claim.tolerance);
            Judged { claim, found, holds }
        });
        judged.collect()
    }

    /// As a table: a row for each cell.
    pub fn table(&self) -> Table {
        let role = match self.quantity {
            Quantity::Time => Role::Time,
            Quantity::Count => Role::Ratio,
        };
        let mut table = Table::new(
            "profctl.sweep-cells/1",
            Timebase::NANOSECONDS,
            vec![
                Column::new("variant", "variant", Role::Name),
                Column::new("condition", "condition", Role::Text),
                Column::new("runs", "# runs", Role::Count),
                Column::new("mean", self.measure.as_str(), role).estimated(),
                Column::new("factor", "factor", Role::Ratio),
                Column::new("ci_low", "from", Role::Ratio),
                Column::new("ci_high", "to", Role::Ratio),
            ],
        );
        let ratio = |ratio: Option<f64>| ratio.map_or(Cell::Null, Cell::Ratio);
        for point in self.points() {
            let mean = match self.quantity {
                Quantity::Time => Cell::Time(Ticks((point.mean * 1e9).round() as u64)),
                Quantity::Count => Cell::Number(point.mean),
            };
            table.push(vec![
                Cell::Text(self.variants[point.variant].clone()),
                Cell::Text(self.conditions[point.condition].clone()),
                Cell::Count(point.runs as u64),
                mean,
                ratio(point.factor),
                ratio(point.interval.map(|interval| interval.low)),
                ratio(point.interval.map(|interval| interval.high)),
            ]);
        }
        let reference = &self.conditions[self.reference];
        table.notes.push(format!("{}: factors of `{reference}`", self.title));
        if !self.points().iter().any(|point| point.interval.is_some()) {
            table.notes.push("no intervals: they need two runs of both conditions".into());
        }
        for Judged { claim, found, holds } in self.judged() {
            let factor = |factor: f64| format!("{factor:.3}");
            table.notes.push(match (holds, found) {
                (Some(true), Some(found)) => {
                    format!("holds: {} (factor {})", claim.text, factor(found))
                }
                (Some(false), Some(found)) => format!(
                    "does not hold: {} (factor {}, claimed {})",
                    claim.text,
                    factor(found),
                    factor(claim.factor)
                ),
                _ => format!("not measured: {}", claim.text),
            });
        }
        table
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
