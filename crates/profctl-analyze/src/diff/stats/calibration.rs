//! Run-to-run variation of a baseline, applied to a build that was recorded once.

use std::f64::consts::{LN_2, SQRT_2};

use super::design::{Layout, contrast};
use super::special::t_quantile;
use super::verdict::{Estimate, judge};
use super::{Design, Options, Row, Tested, squeeze};

/// How much one function varies from run to run of one build.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Noise {
    /// Standard deviation of the binary logarithm of a run, pulled towards that of other functions.
    pub sd: f64,
    /// Degrees of freedom of `sd`.
    pub df: f64,
}

/// How much each function varies from run to run of one build.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// One for each row; none where it was seen in too few runs.
    pub rows: Vec<Option<Noise>>,
}

/// A change between two single runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Binary logarithm of after ÷ before.
    pub estimate: f64,
    /// Standard error of it inside the two traces.
    pub se_within: f64,
}

impl Noise {
    /// The change between two runs that only a share `level` of unchanged functions exceeds on
    /// either side: the run-to-run noise of both runs and the within-trace error.
    pub fn threshold(&self, se_within: f64, level: f64) -> f64 {
        self.se(se_within) * t_quantile(level / 2.0, self.df)
    }

    fn se(&self, se_within: f64) -> f64 {
        (SQRT_2 * self.sd).hypot(se_within)
    }
}

impl Calibration {
    /// Runs of the baseline that are needed.
    pub const RUNS_MIN: usize = 5;

    /// Estimates it from rows of binary logarithms, a value for each run of the baseline (NaN where
    /// the function is absent), and the block of each run. `intensities` are as in [`Row`]. None if
    /// there are fewer than [`Self::RUNS_MIN`] runs.
    ///
    /// Where blocks hold several runs, a run varies by what blocks do and by what runs within a
    /// block do.
    pub fn new(
        blocks: &[u32],
        rows: &[Vec<f64>],
        intensities: &[f64],
        options: &Options,
    ) -> Option<Self> {
        if blocks.len() < Self::RUNS_MIN {
            return None;
        }
        let design = Design { before: blocks.to_vec(), after: vec![0], paired: false };
        let layout = Layout::new(&design);
        let floor = options.resolution_floor / LN_2;
        let seen = |row: &[f64]| row.iter().filter(|value| value.is_finite()).count();
        let known: Vec<Option<(f64, f64)>> = rows
            .iter()
            .map(|row| {
                if seen(row) < Self::RUNS_MIN {
                    return None;
                }
                // One run on the other side adds neither squares nor degrees of freedom.
                let row = Row { before: row.clone(), after: vec![0.0], ..Row::default() };
                let one =
                    contrast(&row, &layout, &Options { runs_min: 1, blocks_min: 1, ..*options })?;
                let runs_a_block = seen(&row.before) as f64 / one.before.len() as f64;
                let variance = one.variance + one.within.0 * (1.0 - runs_a_block.recip());
                Some((variance.max(floor * floor), one.df))
            })
            .collect();
        let of = |part: fn(&(f64, f64)) -> f64| known.iter().flatten().map(part).collect();
        let (variances, df): (Vec<f64>, Vec<f64>) = (of(|known| known.0), of(|known| known.1));
        let covariate: Vec<f64> = known
            .iter()
            .zip(intensities)
            .filter_map(|(known, intensity)| known.map(|_| *intensity))
            .collect();
        let squeezed = squeeze::squeeze(&variances, &df, Some(&covariate), true);
        let mut pulled = squeezed.post.iter().zip(squeezed.df);
        let rows = known
            .iter()
            .map(|known| {
                known
                    .and_then(|_| pulled.next())
                    .map(|(variance, df)| Noise { sd: variance.sqrt().max(floor), df })
            })
            .collect();
        Some(Self { rows })
    }

    /// Judges the changes between two single runs, one for each row.
    pub fn judge(&self, changes: &[Option<Change>], options: &Options) -> Vec<Tested> {
        let estimates: Vec<Option<Estimate>> = self
            .rows
            .iter()
            .zip(changes)
            .map(|(noise, change)| {
                let (noise, change) = ((*noise)?, (*change)?);
                let se = noise.se(change.se_within);
                let margin = (1.0 + options.margin).log2();
                Some(Estimate { change: change.estimate, se, df: noise.df, margin, weight: 1.0 })
            })
            .collect();
        judge(&estimates, options)
    }
}
