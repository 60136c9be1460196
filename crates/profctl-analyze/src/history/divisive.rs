//! Where a series changes its level: E-divisive (Matteson and James 2014), with which MongoDB and
//! Apache Otava look at benchmarks.
//!
//! The best place to cut a series in two is where the distances between the parts are largest
//! against those within them. Whether the cut is one is decided by shuffling: a series without a change
//! is as well cut in any order. Each part is then looked at in turn.

use crate::random::Random;

/// Values on each side of a cut at least.
const SIDE_MIN: usize = 2;

/// Shuffles of a series; its chance comes in steps of one in so many and one.
const SHUFFLES: usize = 199;

const SEED: u64 = 1;

/// A place where a series changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cut {
    /// The first value after the change.
    pub(super) at: usize,
    /// The share of shuffled series that are cut as well.
    pub(super) p: f64,
}

/// All places where `values` changes by at least `least` with a chance of no more than `level`, in
/// ascending order. Unknown values are omitted by the caller.
pub(super) fn cuts(values: &[f64], least: f64, level: f64) -> Vec<Cut> {
    let mut found = Vec::new();
    let mut left = vec![(0, values.len())];
    while let Some((from, to)) = left.pop() {
        let part = &values[from..to];
        let Some((at, strength)) = best(part) else { continue };
        // A change that does not matter need not be proven.
        let step = mean(&part[at..]) - mean(&part[..at]);
        if step.abs() < least {
            // A rise and a fall can hide each other: a cut in the middle of a bump has no step.
            if range(part) >= least && part.len() >= 4 * SIDE_MIN {
                let p = chance(part, strength, level);
                if p <= level {
                    left.push((from, from + at));
                    left.push((from + at, to));
                }
            }
            continue;
        }
        let p = chance(part, strength, level);
        if p <= level {
            found.push(Cut { at: from + at, p });
            left.push((from, from + at));
            left.push((from + at, to));
        }
    }
    found.sort_by_key(|cut| cut.at);
    found
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn range(values: &[f64]) -> f64 {
    let (low, high) =
        values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
            (low.min(*value), high.max(*value))
        });
    high - low
}

/// The best cut and how good it is: the scaled energy distance between the two parts.
fn best(values: &[f64]) -> Option<(usize, f64)> {
    let n = values.len();
    if n < 2 * SIDE_MIN {
        return None;
    }
    // Sums of distances within the first part, within the second, and between them.
    let (mut first, mut second, mut between) = (0.0, 0.0, 0.0);
    for (at, value) in values.iter().enumerate() {
        second += values[at + 1..].iter().map(|other| (value - other).abs()).sum::<f64>();
    }
    let mut found: Option<(usize, f64)> = None;
    for at in 0..n - SIDE_MIN {
        let value = values[at];
        let to_first: f64 = values[..at].iter().map(|other| (value - other).abs()).sum();
        let to_second: f64 = values[at + 1..].iter().map(|other| (value - other).abs()).sum();
        first += to_first;
        second -= to_second;
        between += to_second - to_first;
        let (a, b) = ((at + 1) as f64, (n - at - 1) as f64);
        if at + 1 < SIDE_MIN {
            continue;
        }
        let pairs = |n: f64| (n * (n - 1.0) / 2.0).max(1.0);
        let energy = 2.0 * between / (a * b) - first / pairs(a) - second / pairs(b);
        let strength = a * b / (a + b) * energy;
        if found.is_none_or(|(_, best)| strength > best) {
            found = Some((at + 1, strength));
        }
    }
    found
}

/// The share of shuffled series that are cut as well as by `strength`; no more shuffles than show
/// that it is above `level`.
fn chance(values: &[f64], strength: f64, level: f64) -> f64 {
    let mut random = Random(SEED);
    let mut shuffled = values.to_vec();
    let most = (level * (SHUFFLES + 1) as f64) as usize;
    let mut as_well = 0;
    for shuffles in 1..=SHUFFLES {
        for position in (1..shuffled.len()).rev() {
            shuffled.swap(position, random.below(position + 1));
        }
        if best(&shuffled).is_some_and(|(_, other)| other >= strength * (1.0 - 1e-9)) {
            as_well += 1;
            if as_well > most {
                return (as_well + 1) as f64 / (shuffles + 1) as f64;
            }
        }
    }
    (as_well + 1) as f64 / (SHUFFLES + 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_is_found_where_it_is_and_noise_is_left_alone() {
        let mut random = Random(5);
        let mut noise = |_| random.normal() * 0.02;
        let quiet: Vec<f64> = (0..60).map(&mut noise).collect();
        assert_eq!(cuts(&quiet, 0.01, 0.01), Vec::new());
        let stepped: Vec<f64> =
            (0..60).map(|at| noise(at) + if (20..45).contains(&at) { 0.2 } else { 0.0 }).collect();
        let places: Vec<usize> = cuts(&stepped, 0.05, 0.05).iter().map(|cut| cut.at).collect();
        assert_eq!(places, [20, 45]);
    }

    #[test]
    fn equal_values_have_no_change() {
        assert_eq!(cuts(&[3.0; 40], 0.01, 0.05), Vec::new());
        assert_eq!(cuts(&[3.0, 4.0], 0.01, 0.05), Vec::new());
    }
}
