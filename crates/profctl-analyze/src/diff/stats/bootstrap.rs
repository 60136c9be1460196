//! Within-trace variation of two single traces: intervals of the ratio of their means by a block
//! bootstrap. Run-to-run variation is not included.

use super::order::{quantile, sorted};
use crate::random::Random;

/// A ratio of means, after ÷ before, and the 95 % interval of it inside these two traces.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The ratio.
    pub ratio: f64,
    /// Lower end of its interval.
    pub low: f64,
    /// Upper end of it.
    pub high: f64,
}

/// Resamples. The ends of an interval come from its 25 lowest and highest.
const RESAMPLES: usize = 999;

/// Blocks beyond which neighbors are joined first: what they have in common stays together, and a
/// trace of a million calls costs no more than a short one.
const BLOCKS_MAX: usize = 512;

/// A unit of resampling: those of one activation, or neighbors in time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Block {
    /// How many calls.
    pub calls: f64,
    /// What they took together.
    pub sum: f64,
}

impl Block {
    fn of(blocks: &[Self]) -> Self {
        blocks.iter().fold(Self::default(), |all, one| Self {
            calls: all.calls + one.calls,
            sum: all.sum + one.sum,
        })
    }

    fn mean(self) -> f64 {
        self.sum / self.calls
    }
}

/// The interval of the ratio of the means of a call in two series of blocks, in the order of their
/// time, by a circular block bootstrap (Politis and Romano 1992): neighboring blocks are drawn
/// together, so that the interval accounts for what neighbors share. The logarithm of the ratio is
/// studentized by its error within each resample (Davison and Hinkley 1997, section 5.2), so that
/// resamples that look calm do not count as sure. None where a side is empty or its mean is not
/// positive.
pub fn block_bootstrap_ratio(before: &[Block], after: &[Block], seed: u64) -> Option<Interval> {
    let means = [before, after].map(|side| Block::of(side).mean());
    let ratio = means[1] / means[0];
    if !(means[0] > 0.0 && means[1] > 0.0 && ratio.is_finite()) {
        return None;
    }
    let mut random = Random(seed);
    let [before, after] = [before, after].map(|side| resampled(side, &mut random));
    let off = |before: Estimate, after: Estimate| Estimate {
        log: after.log - before.log,
        se: after.se.hypot(before.se),
    };
    let found = off(before.found, after.found);
    let drawn = before.drawn.iter().zip(&after.drawn).map(|(&before, &after)| off(before, after));
    let t: Vec<f64> = drawn
        .clone()
        .map(|drawn| (drawn.log - found.log) / drawn.se)
        .filter(|t| t.is_finite())
        .collect();
    let (low, high) = if found.se > 0.0 && 2 * t.len() > RESAMPLES {
        let t = sorted(t);
        (found.log - quantile(&t, 0.975) * found.se, found.log - quantile(&t, 0.025) * found.se)
    } else {
        let logs = sorted(drawn.map(|one| one.log).filter(|log| log.is_finite()).collect());
        if logs.is_empty() {
            return None;
        }
        (quantile(&logs, 0.025), quantile(&logs, 0.975))
    };
    // As distances from the ratio, so that without any spread the ends are the ratio itself.
    let end = |log: f64| ratio * (log - found.log).exp();
    Some(Interval { ratio, low: end(low), high: end(high) })
}

/// The logarithm of a mean, and its standard error inside one series.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    log: f64,
    se: f64,
}

/// What a series says of its mean, and what resamples of it say.
struct Resampled {
    found: Estimate,
    drawn: Vec<Estimate>,
}

fn resampled(blocks: &[Block], random: &mut Random) -> Resampled {
    let blocks = joined(blocks);
    let n = blocks.len();
    // How far each block is off is what neighbors share, whatever the number of its calls.
    let mean = Block::of(&blocks).mean();
    let off: Vec<f64> = blocks.iter().map(|block| block.sum - mean * block.calls).collect();
    let length = block_length(&off);
    // sums[i] is the sum of the first i blocks of the series written down twice.
    let mut sums = Vec::with_capacity(2 * n + 1);
    let mut sum = Block::default();
    sums.push(sum);
    for &block in blocks.iter().chain(&blocks) {
        sum = Block::of(&[sum, block]);
        sums.push(sum);
    }
    let stretch = |start: usize, taken: usize| Block {
        calls: sums[start + taken].calls - sums[start].calls,
        sum: sums[start + taken].sum - sums[start].sum,
    };
    let all = n.div_ceil(length) as f64;
    let squares = |stretches: &mut dyn Iterator<Item = Block>, mean: f64| -> f64 {
        stretches.map(|one| (one.sum - mean * one.calls).powi(2)).sum()
    };
    // Every stretch of the series in turn stands for one that is drawn.
    let spread = squares(&mut (0..n).map(|start| stretch(start, length)), mean) / n as f64 * all;
    let calls = Block::of(&blocks).calls;
    let found = Estimate { log: mean.ln(), se: spread.sqrt() / calls / mean };
    let draw = |_| {
        let (mut drawn, mut stretches) = (Block::default(), Vec::new());
        let mut left = n;
        while left > 0 {
            let taken = length.min(left);
            let one = stretch(random.below(n), taken);
            drawn = Block::of(&[drawn, one]);
            stretches.push(one);
            left -= taken;
        }
        let mean = drawn.mean();
        let k = stretches.len() as f64;
        let spread = squares(&mut stretches.into_iter(), mean) * k / (k - 1.0);
        Estimate { log: mean.ln(), se: spread.sqrt() / drawn.calls / mean }
    };
    Resampled { found, drawn: (0..RESAMPLES).map(draw).collect() }
}

/// Equally many neighbors joined, as few of them as leave no more than [`BLOCKS_MAX`]. What is left
/// over at the end is omitted from the resampling.
fn joined(blocks: &[Block]) -> Vec<Block> {
    let size = blocks.len().div_ceil(BLOCKS_MAX);
    blocks.chunks_exact(size).map(Block::of).collect()
}

/// Covariance of values `lag` apart.
fn covariance(deviations: &[f64], lag: usize) -> f64 {
    let n = deviations.len();
    deviations[lag..].iter().zip(deviations).map(|(a, b)| a * b).sum::<f64>() / n as f64
}

fn deviations(values: &[f64]) -> Vec<f64> {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| value - mean).collect()
}

/// The optimal block length for the variance of the mean (Politis and White 2004, corrected 2009),
/// no longer than a third of the values.
fn block_length(values: &[f64]) -> usize {
    let n = values.len();
    if n < 10 {
        return 1;
    }
    let deviations = deviations(values);
    let variance = covariance(&deviations, 0);
    if variance <= 0.0 {
        return 1;
    }
    let log = (n as f64).log10();
    let unimportant = 2.0 * (log / n as f64).sqrt();
    let run = 5.max(log.sqrt() as usize);
    let lags: Vec<f64> = (1..n / 2).map(|lag| covariance(&deviations, lag) / variance).collect();
    let last = (0..lags.len())
        .find(|&from| lags[from..].iter().take(run).all(|lag| lag.abs() < unimportant))
        .unwrap_or(lags.len());
    let reach = (2 * last).min(lags.len());
    let (mut spectrum, mut slope) = (1.0, 0.0);
    for lag in 1..=reach {
        let share = lag as f64 / reach as f64;
        let weight = if share <= 0.5 { 1.0 } else { 2.0 * (1.0 - share) };
        spectrum += 2.0 * weight * lags[lag - 1];
        slope += 2.0 * weight * lag as f64 * lags[lag - 1];
    }
    let best = (1.5 * slope * slope / (spectrum * spectrum) * n as f64).cbrt();
    let most = (3.0 * (n as f64).sqrt()).min(n as f64 / 3.0);
    if best.is_finite() { best.clamp(1.0, most).round() as usize } else { most as usize }
}

/// The effective sample size: the number of independent values with the same variance of the mean.
/// Correlations are summed until a pair of them sums to nothing (Geyer 1992).
pub fn effective_sample_size(values: &[f64]) -> f64 {
    let n = values.len();
    if n < 4 {
        return n as f64;
    }
    let deviations = deviations(values);
    let variance = covariance(&deviations, 0);
    if variance <= 0.0 {
        return n as f64;
    }
    let mut time = -1.0;
    for pair in 0..n / 2 {
        let sum =
            (covariance(&deviations, 2 * pair) + covariance(&deviations, 2 * pair + 1)) / variance;
        if sum <= 0.0 {
            break;
        }
        time += 2.0 * sum;
    }
    (n as f64 / time.max(1.0)).max(1.0)
}

/// The numbers expected are those of `tests/golden/bootstrap.py`.
#[cfg(test)]
mod tests {
    use super::*;

    /// An autoregression of the first order.
    fn series(n: usize, phi: f64) -> Vec<f64> {
        let mut value = 0.0;
        let next = |k: usize| {
            value = phi * value + (((k * k * 7919 + k * 13) % 1000) as f64 / 1000.0 - 0.4995);
            value
        };
        (0..n).map(next).collect()
    }

    /// Blocks of 1 to 3 calls that take about `scale` each.
    fn blocks(n: usize, phi: f64, scale: f64) -> Vec<Block> {
        let block = |(k, value): (usize, f64)| {
            let calls = (1 + k % 3) as f64;
            Block { calls, sum: calls * scale * (3.0 + value) }
        };
        series(n, phi).into_iter().enumerate().map(block).collect()
    }

    #[test]
    fn blocks_are_as_long_as_neighbors_are_alike() {
        for (n, phi, expected) in [
            (9, 0.9, 1),
            (10, 0.9, 1),
            (40, 0.99, 5),
            (100, 0.6, 7),
            (200, 0.9, 31),
            (500, 0.8, 21),
            (400, -0.5, 6),
        ] {
            assert_eq!(block_length(&series(n, phi)), expected, "{n} values, {phi}");
        }
        for (n, expected) in
            [(9, 1), (10, 2), (12, 2), (13, 2), (14, 3), (30, 7), (60, 16), (100, 26)]
        {
            let line: Vec<f64> = (0..n).map(f64::from).collect();
            assert_eq!(block_length(&line), expected, "a line of {n} values");
        }
        for (n, period, expected) in
            [(12, 6, 4), (12, 30, 2), (40, 30, 7), (100, 90, 19), (100, 300, 25)]
        {
            let wave = |k| (std::f64::consts::TAU * f64::from(k) / f64::from(period)).sin();
            assert_eq!(block_length(&(0..n).map(wave).collect::<Vec<f64>>()), expected, "a wave");
        }
    }

    #[test]
    fn intervals_are_those_of_another_program() {
        for (n, m, phi, ratio, low, high) in [
            (2, 1, 0.5, 1.269_146_176_404_240_9, 1.178_462_021_836_462_3, 1.5),
            (2, 2, 0.5, 1.5, 1.269_146_176_404_240_9, 1.772_845_430_913_817_3),
            (4, 5, 0.5, 1.514_458_512_463_01, 1.336_481_391_751_430_9, 1.654_318_453_534_966_4),
            (12, 30, 0.6, 1.572_307_268_220_942, 1.446_222_793_548_075_8, 1.729_540_799_504_631_5),
            (60, 60, 0.8, 1.5, 1.413_525_965_294_074_1, 1.593_949_267_164_748_8),
            (
                100,
                200,
                0.9,
                1.499_371_405_700_928_6,
                1.182_676_707_689_284_3,
                1.951_603_684_197_330_3,
            ),
            (
                600,
                1300,
                0.8,
                1.509_052_830_427_496_2,
                1.449_267_819_071_039_5,
                1.573_545_577_176_388_4,
            ),
        ] {
            let found = block_bootstrap_ratio(&blocks(n, phi, 2.0), &blocks(m, phi, 3.0), 7);
            let found = found.expect("both sides take time");
            for (found, expected) in [(found.ratio, ratio), (found.low, low), (found.high, high)] {
                assert!((found - expected).abs() < 1e-9, "{n} and {m}: {found}, not {expected}");
            }
        }
    }

    #[test]
    fn values_that_repeat_each_other_are_fewer() {
        for (n, phi, expected) in [
            (3, 0.9, 3.0),
            (4, 0.9, 3.746_521_609_435_544_2),
            (10, 0.9, 5.109_531_588_880_795),
            (100, 0.6, 16.701_852_928_382_568),
            (500, 0.95, 13.755_591_618_344_43),
            (400, -0.5, 400.0),
        ] {
            let found = effective_sample_size(&series(n, phi));
            assert!((found - expected).abs() < 1e-9, "{n} values, {phi}: {found}");
        }
        assert!((effective_sample_size(&[1.0, -1.0, 1.0, -1.0]) - 4.0).abs() < 1e-12);
    }
}
