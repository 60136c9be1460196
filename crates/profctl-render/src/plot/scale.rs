//! An axis as plotters asks for it: places, ticks, and what is written at them.

use std::ops::Range;

use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};

use super::{Axis, Values};
use crate::escape::{shortened, visible};
use crate::number;

/// Columns of a name at an axis.
const NAME_WIDTH: usize = 36;

/// An axis.
pub(super) struct Scale<'a> {
    axis: &'a Axis,
}

impl<'a> Scale<'a> {
    pub(super) fn new(axis: &'a Axis) -> Self {
        Self { axis }
    }

    /// How far along the axis a value is: 0 at its beginning, 1 at its end.
    pub(super) fn share(&self, value: f64) -> f64 {
        let Axis { from, to, log, .. } = *self.axis;
        let value = value.clamp(from, to);
        let share = if log {
            (value.ln() - from.ln()) / (to.ln() - from.ln())
        } else {
            (value - from) / (to - from)
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }
}

impl Ranged for Scale<'_> {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        limit.0 + (self.share(*value) * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        ticks(self.axis, hint.max_num_points().max(2))
    }

    fn range(&self) -> Range<f64> {
        self.axis.from..self.axis.to
    }
}

impl ValueFormatter<f64> for Scale<'_> {
    fn format_ext(&self, value: &f64) -> String {
        label(*value, self.axis)
    }
}

/// At most about `most` round values on the axis.
pub(super) fn ticks(axis: &Axis, most: usize) -> Vec<f64> {
    let Axis { from, to, .. } = *axis;
    if let Values::Names(names) = &axis.values {
        let every = names.len().div_ceil(most.max(1)).max(1);
        return (0..names.len()).step_by(every).map(|n| n as f64).collect();
    }
    if !axis.log || to / from < 3.0 {
        let step = round_step((to - from) / most as f64);
        // There is no half of a call.
        let step = if axis.values == Values::Counts { step.max(1.0) } else { step };
        let (first, last) = ((from / step).ceil() as i64, (to / step).floor() as i64);
        return (first..=last).map(|n| n as f64 * step).collect();
    }
    let decades = from.log10().floor() as i32..=to.log10().ceil() as i32;
    let within = |digits: &[f64]| -> Vec<f64> {
        let all = decades.clone().flat_map(|power| {
            let power = 10_f64.powi(power);
            digits.iter().map(move |digit| digit * power)
        });
        all.filter(|value| (from..=to).contains(value)).collect()
    };
    let kinds: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
    let found = kinds.into_iter().map(within).find(|found| found.len() <= most + 1);
    let found = found.unwrap_or_else(|| within(&[1.0]));
    let every = found.len().div_ceil(most + 1).max(1);
    found.into_iter().step_by(every).collect()
}

/// The least of 1, 2, 5, 10, 20, … times a power of ten that is not below `least`.
fn round_step(least: f64) -> f64 {
    if !(least > 0.0 && least.is_finite()) {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    let digit = [1.0, 2.0, 5.0, 10.0].into_iter().find(|digit| digit * power >= least * 0.999_999);
    digit.unwrap_or(10.0) * power
}

const TIMES: [(f64, &str); 4] = [(1e9, "s"), (1e6, "ms"), (1e3, "us"), (1.0, "ns")];
const COUNTS: [(f64, &str); 4] = [(1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")];

/// A value with its unit: on a linear axis the same unit everywhere.
pub(super) fn label(value: f64, axis: &Axis) -> String {
    let units = match &axis.values {
        Values::Times => TIMES,
        Values::Counts => COUNTS,
        Values::Ratios => return number::ratio(value),
        Values::Shares => return format!("{} %", number::decimal(value * 100.0)),
        Values::Names(names) => {
            let name = names.get(value.max(0.0) as usize);
            return name.map_or_else(String::new, |name| {
                shortened(&visible(name), NAME_WIDTH).into_owned()
            });
        }
    };
    let size = if axis.log { value.abs() } else { axis.from.abs().max(axis.to.abs()) };
    let fits = units.iter().find(|(unit, _)| *unit <= size * 1.000_001);
    let (unit, name) = fits.copied().unwrap_or((1.0, units[3].1));
    format!("{} {name}", number::decimal(value / unit)).trim_end().to_owned()
}
