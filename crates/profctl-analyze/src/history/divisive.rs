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

/// The shortest series in which the clearest step is found: of a shorter one, too many orders are
/// cut as well.
pub(super) fn shortest(level: f64) -> usize {
    let is_found = |n: &usize| {
        let step = |at: usize| if at >= n / 2 { 1.0 } else { 0.0 };
        // No two are equal, as measured values are not.
        let values: Vec<f64> = (0..*n).map(|at| step(at) + at as f64 * 1e-6).collect();
        !cuts(&values, 0.5, level).is_empty()
    };
    (2 * SIDE_MIN..SHUFFLES).find(is_found).unwrap_or(SHUFFLES)
}

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
    // Each with whether it has a step in the stretch that it was found in.
    let mut found: Vec<(Cut, bool)> = Vec::new();
    let mut left = vec![(0, values.len())];
    while let Some((from, to)) = left.pop() {
        let part = &values[from..to];
        let (mut ranked, ranks) = Ranked::of(part);
        let Some((at, strength)) = ranked.best(&ranks) else { continue };
        // A change that does not matter need not be proven.
        let step = mean(&part[at..]) - mean(&part[..at]);
        if step.abs() < least {
            // A rise and a fall can hide each other: a cut in the middle of a bump has no step.
            if range(part) >= least {
                let p = chance(&mut ranked, &ranks, strength, level);
                if p <= level {
                    found.push((Cut { at: from + at, p }, false));
                    left.push((from, from + at));
                    left.push((from + at, to));
                }
            }
            continue;
        }
        let p = chance(&mut ranked, &ranks, strength, level);
        if p <= level {
            found.push((Cut { at: from + at, p }, true));
            left.push((from, from + at));
            left.push((from + at, to));
        }
    }
    found.sort_by_key(|(cut, _)| cut.at);
    // What had no step may have one between the cuts beside it; what has none is no change.
    loop {
        let step = |number: usize| {
            let from = number.checked_sub(1).map_or(0, |before| found[before].0.at);
            let to = found.get(number + 1).map_or(values.len(), |(next, _)| next.at);
            let at = found[number].0.at;
            (mean(&values[at..to]) - mean(&values[from..at])).abs()
        };
        let open = (0..found.len()).filter(|&number| !found[number].1);
        let smallest = open.map(|number| (step(number), number));
        match smallest.min_by(|a, b| a.0.total_cmp(&b.0)) {
            Some((step, number)) if step < least => drop(found.remove(number)),
            _ => return found.into_iter().map(|(cut, _)| cut).collect(),
        }
    }
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

/// A series whose order is to change: its values in ascending order, less their median.
struct Ranked {
    values: Vec<f64>,
    /// Of each value, the sum of its distances to all.
    to_all: Vec<f64>,
    /// The values of a part of the series by rank: a Fenwick tree of how many and of their sum.
    tree: Vec<(f64, f64)>,
}

impl Ranked {
    /// The values, and the rank of each in the series.
    fn of(series: &[f64]) -> (Self, Vec<usize>) {
        let n = series.len();
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| series[a].total_cmp(&series[b]));
        let mut ranks = vec![0; n];
        for (rank, &at) in order.iter().enumerate() {
            ranks[at] = rank;
        }
        // Small numbers, so that sums keep their digits.
        let middle = order.get(n / 2).map_or(0.0, |&at| series[at]);
        let values: Vec<f64> = order.iter().map(|&at| series[at] - middle).collect();
        let sum: f64 = values.iter().sum();
        let mut below = 0.0;
        let to_all = values.iter().enumerate().map(|(rank, value)| {
            let above = sum - below - value;
            let distances = value * rank as f64 - below + above - value * (n - rank - 1) as f64;
            below += value;
            distances
        });
        let to_all = to_all.collect();
        (Self { values, to_all, tree: vec![(0.0, 0.0); n + 1] }, ranks)
    }

    /// The best cut of the values in this order, and how good it is: the scaled energy distance between
    /// the two parts.
    fn best(&mut self, ranks: &[usize]) -> Option<(usize, f64)> {
        let n = ranks.len();
        if n < 2 * SIDE_MIN {
            return None;
        }
        self.tree.fill((0.0, 0.0));
        // Sums of distances within the first part, within the second, and between them.
        let (mut first, mut second, mut between) =
            (0.0, self.to_all.iter().sum::<f64>() / 2.0, 0.0);
        let mut sum = 0.0;
        let mut found: Option<(usize, f64)> = None;
        for (at, &rank) in ranks[..n - SIDE_MIN].iter().enumerate() {
            let value = self.values[rank];
            let (count, below) = self.below(rank);
            let above = sum - below;
            let to_first = value * count - below + above - value * (at as f64 - count);
            let to_second = self.to_all[rank] - to_first;
            self.add(rank);
            sum += value;
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

    /// How many of the part lie below a rank, and their sum.
    fn below(&self, rank: usize) -> (f64, f64) {
        let (mut count, mut sum) = (0.0, 0.0);
        let mut node = rank;
        while node > 0 {
            let (more, added) = self.tree[node];
            (count, sum) = (count + more, sum + added);
            node &= node - 1;
        }
        (count, sum)
    }

    /// Adds the value of a rank to the part.
    fn add(&mut self, rank: usize) {
        let value = self.values[rank];
        let mut node = rank + 1;
        while let Some((count, sum)) = self.tree.get_mut(node) {
            (*count, *sum) = (*count + 1.0, *sum + value);
            node += node & node.wrapping_neg();
        }
    }
}

/// The share of shuffled series that are cut as well as by `strength`; no more shuffles than show
/// that it is above `level`.
fn chance(values: &mut Ranked, ranks: &[usize], strength: f64, level: f64) -> f64 {
    let mut random = Random(SEED);
    let mut shuffled = ranks.to_vec();
    let most = (level * (SHUFFLES + 1) as f64) as usize;
    // The mirror image of an order is cut as well, but for rounding.
    let as_good = strength - 1e-9 * strength.abs();
    let mut as_well = 0;
    for shuffles in 1..=SHUFFLES {
        for position in (1..shuffled.len()).rev() {
            shuffled.swap(position, random.below(position + 1));
        }
        if values.best(&shuffled).is_some_and(|(_, other)| other >= as_good) {
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

    /// The definition, sum by sum.
    fn by_definition(values: &[f64]) -> Option<(usize, f64)> {
        let n = values.len();
        let sum = |a: std::ops::Range<usize>, b: std::ops::Range<usize>| -> f64 {
            let distances = a.flat_map(|one| b.clone().map(move |other| (one, other)));
            distances.map(|(one, other)| (values[one] - values[other]).abs()).sum()
        };
        let strength = |at: usize| {
            let (a, b) = (at as f64, (n - at) as f64);
            let within = |range: std::ops::Range<usize>, n: f64| {
                sum(range.clone(), range) / (n * (n - 1.0)).max(1.0)
            };
            let energy = 2.0 * sum(0..at, at..n) / (a * b) - within(0..at, a) - within(at..n, b);
            a * b / (a + b) * energy
        };
        let cuts = (SIDE_MIN..=n.checked_sub(SIDE_MIN)?).map(|at| (at, strength(at)));
        cuts.max_by(|a, b| a.1.total_cmp(&b.1))
    }

    #[test]
    fn the_best_cut_is_that_of_the_definition() {
        let mut random = Random(9);
        for n in 0..60 {
            let mut value = |at: usize| 20.0 + 0.01 * random.normal() + (at / 9) as f64 * 0.02;
            let mut values: Vec<f64> = (0..n).map(&mut value).collect();
            if n % 3 == 0 {
                // Some are equal.
                for value in &mut values {
                    *value = (*value * 50.0).round() / 50.0;
                }
            }
            let (mut ranked, ranks) = Ranked::of(&values);
            let (found, expected) = (ranked.best(&ranks), by_definition(&values));
            let close = |(found, expected): ((usize, f64), (usize, f64))| {
                (found.1 - expected.1).abs() <= 1e-12 + 1e-9 * expected.1.abs()
            };
            assert_eq!(found.is_some(), expected.is_some(), "{n}");
            assert!(found.zip(expected).is_none_or(close), "{n}: {found:?}, {expected:?}");
        }
    }

    /// Of n values cut in the middle, 2 in C(n, n / 2) orders are cut as well: 0.1 of six, 0.057 of
    /// seven, which shuffles estimate, 0.029 of eight.
    #[test]
    fn a_short_series_shows_no_step() {
        assert_eq!(shortest(0.05), 7);
        assert_eq!(shortest(0.2), 6);
        assert_eq!(cuts(&[1.0, 1.01, 1.02, 2.0, 2.01, 2.02], 0.5, 0.05), Vec::new());
    }

    /// Every order of so many ranks.
    fn orders(n: usize) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new()];
        for rank in 0..n {
            let longer = |order: Vec<usize>| {
                (0..=rank).map(move |place| {
                    let mut order = order.clone();
                    order.insert(place, rank);
                    order
                })
            };
            all = all.into_iter().flat_map(longer).collect();
        }
        all
    }

    #[test]
    fn the_chance_is_the_share_of_all_orders_that_are_cut_as_well() {
        let orders = orders(6);
        for series in [
            [1.0, 1.1, 1.3, 2.0, 2.2, 2.5],
            [1.0, 1.9, 1.3, 1.7, 2.2, 2.5],
            [1.0, 3.0, 1.1, 2.0, 5.0, 4.9],
            [1.0, 1.5, 4.0, 1.2, 3.9, 1.1],
            // The strength of the best cut is below 0.
            [2.0, 3.2, 2.5, 3.4, 3.5, 1.3],
        ] {
            let (mut ranked, ranks) = Ranked::of(&series);
            let (_, strength) = ranked.best(&ranks).unwrap();
            let as_well = |order: &&Vec<usize>| ranked.best(order).unwrap().1 >= strength - 1e-9;
            let exact = orders.iter().filter(as_well).count() as f64 / orders.len() as f64;
            let found = chance(&mut ranked, &ranks, strength, 1.0);
            // Three standard errors of 199 shuffles.
            let near = 3.0 * (exact * (1.0 - exact) / 199.0).sqrt() + 1.0 / 200.0;
            assert!((found - exact).abs() < near, "{series:?}: {found}, {exact}");
        }
    }

    #[test]
    fn an_order_that_no_shuffle_matches_has_a_chance_of_one_in_two_hundred() {
        let values: Vec<f64> =
            (0..30_u8).map(|at| 0.001 * f64::from(at) + if at < 15 { 0.0 } else { 1.0 }).collect();
        assert_eq!(cuts(&values, 0.5, 0.05), [Cut { at: 15, p: 0.005 }]);
    }

    /// Fewer shuffles show that a chance is above the level than what it is.
    #[test]
    fn a_chance_is_above_the_level_whether_or_not_all_shuffles_are_looked_at() {
        let series: Vec<f64> = (0..8).map(|at| f64::from(at * at % 11)).collect();
        let (mut ranked, ranks) = Ranked::of(&series);
        let mut decided = [0, 0];
        for strength in (0..120).map(|step| f64::from(step) * 0.1) {
            let all = chance(&mut ranked, &ranks, strength, 1.0);
            let few = chance(&mut ranked, &ranks, strength, 0.05);
            assert_eq!(all <= 0.05, few <= 0.05, "{strength}: {all}, {few}");
            assert!(all > 0.05 || all.to_bits() == few.to_bits(), "{strength}: {all}, {few}");
            decided[usize::from(all <= 0.05)] += 1;
        }
        assert!(decided.iter().all(|&n| n > 10), "{decided:?}");
    }

    #[test]
    fn equal_values_have_no_change() {
        assert_eq!(cuts(&[3.0; 40], 0.01, 0.05), Vec::new());
        assert_eq!(cuts(&[3.0, 4.0], 0.01, 0.05), Vec::new());
    }

    #[test]
    fn a_rise_and_a_fall_are_found_where_together_they_have_no_step() {
        // The best cut is at 18, where the mean falls from 2 / 3 to 0: less than 0.7. Once the rise at
        // 6 is known, it is 1.
        let level = |at: usize| if (6..18).contains(&at) { 1.0 } else { 0.0 };
        let series: Vec<f64> = (0..36).map(|at| level(at) + at as f64 * 1e-4).collect();
        let places = |least: f64| -> Vec<usize> {
            cuts(&series, least, 0.05).iter().map(|cut| cut.at).collect()
        };
        assert_eq!(places(0.7), [6, 18]);
        assert!(places(1.1).is_empty());
        // A wide stretch and a narrow one differ, but not by a step.
        let spread = |at: usize| [-1.0, 1.0, 1.0, -1.0][at % 4] * if at < 16 { 1.0 } else { 0.01 };
        let series: Vec<f64> = (0..32).map(|at| spread(at) + at as f64 * 1e-5).collect();
        assert_eq!(cuts(&series, 0.5, 0.05), []);
    }

    #[test]
    fn a_step_counts_from_the_least_that_matters_on() {
        let series: Vec<f64> = (0..16).map(|at| if at < 8 { 0.0 } else { 1.0 }).collect();
        assert_eq!(cuts(&series, 1.0, 0.05).len(), 1);
        assert_eq!(cuts(&series, 1.01, 0.05).len(), 0);
    }

    #[test]
    fn what_every_order_reaches_has_a_chance_of_one() {
        let series = [1.0, 5.0, 2.0, 4.0, 3.0, 6.0];
        let (mut ranked, ranks) = Ranked::of(&series);
        for level in [0.05, 1.0] {
            let found = chance(&mut ranked, &ranks, -100.0, level);
            assert!((found - 1.0).abs() < 1e-12, "{level}: {found}");
        }
    }

    #[test]
    fn the_range_is_from_the_lowest_to_the_highest() {
        assert!((range(&[3.0, -1.5, 2.0]) - 4.5).abs() < 1e-12);
    }
}
