//! Functions that flip between two states whatever the build: their alarms are chance.

/// The part of the variance that two states explain, from which on a function is said to have them.
/// The best cut of a bell explains 0.64 of it.
const SCORE_MIN: f64 = 0.9;

/// The part of the runs that each state takes at least: fewer are outliers.
const STATE_MIN: f64 = 0.1;

/// Runs below which states cannot be distinguished from chance.
const RUNS_MIN: usize = 20;

/// The score of a function with two states at least `least` apart; nothing for any other. Changes of
/// level at the builds `cuts` are taken out first.
pub(super) fn score(values: &[f64], of_run: &[usize], cuts: &[usize], least: f64) -> Option<f64> {
    let mut levels: Vec<Vec<f64>> = vec![Vec::new(); cuts.len() + 1];
    for (value, build) in values.iter().zip(of_run).filter(|(value, _)| value.is_finite()) {
        levels[cuts.iter().filter(|&&cut| cut <= *build).count()].push(*value);
    }
    let mut rest = Vec::new();
    for mut level in levels {
        level.sort_by(f64::total_cmp);
        // The lowest state is where the level is: a mean would move with how many are in which.
        let Some(&base) = level.get(level.len() / 10) else { continue };
        rest.extend(level.iter().map(|value| value - base));
    }
    let n = rest.len();
    if n < RUNS_MIN {
        return None;
    }
    rest.sort_by(f64::total_cmp);
    let mut sums = vec![(0.0, 0.0)];
    for value in &rest {
        let (sum, squares) = sums[sums.len() - 1];
        sums.push((sum + value, squares + value * value));
    }
    let spread = |from: usize, to: usize| {
        let (sum, squares) = (sums[to].0 - sums[from].0, sums[to].1 - sums[from].1);
        (squares - sum * sum / (to - from) as f64).max(0.0)
    };
    let all = spread(0, n);
    let few = (STATE_MIN * n as f64).ceil() as usize;
    let within = |cut: usize| spread(0, cut) + spread(cut, n);
    let cut = (few..=n - few).min_by(|&a, &b| within(a).total_cmp(&within(b)))?;
    let mean = |from: usize, to: usize| (sums[to].0 - sums[from].0) / (to - from) as f64;
    let apart = mean(cut, n) - mean(0, cut);
    let score = 1.0 - within(cut) / all;
    (all > 0.0 && apart >= least && score >= SCORE_MIN).then_some(score)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn two_states_are_told_from_noise_and_from_steps() {
        let mut random = Random(3);
        let of_run: Vec<usize> = (0..40).flat_map(|build| [build; 3]).collect();
        let mut noise = || random.normal() * 0.005;
        let bell: Vec<f64> = of_run.iter().map(|_| noise() * 10.0).collect();
        assert_eq!(score(&bell, &of_run, &[], 0.03), None);
        let flips: Vec<f64> =
            (0..120).map(|run| noise() + if run % 3 == 0 { 0.2 } else { 0.0 }).collect();
        assert!(score(&flips, &of_run, &[], 0.03).is_some_and(|score| score > 0.95));
        // What is apart by less than matters.
        let near: Vec<f64> =
            (0..120).map(|run| noise() * 0.1 + if run % 3 == 0 { 0.02 } else { 0.0 }).collect();
        assert_eq!(score(&near, &of_run, &[], 0.03), None);
        assert!(score(&near, &of_run, &[], 0.01).is_some());
        let step: Vec<f64> =
            of_run.iter().map(|&build| noise() + if build >= 20 { 0.2 } else { 0.0 }).collect();
        assert_eq!(score(&step, &of_run, &[20], 0.03), None);
    }

    #[test]
    fn the_score_is_the_part_of_the_squares_that_two_means_explain() {
        // Eight of one state and twelve of the other, three apart but for what they vary by.
        let values: Vec<f64> = (0..20_u8)
            .map(|run| f64::from(run % 5) * 0.2 + if run % 5 < 2 { 3.0 } else { 0.0 })
            .collect();
        let of_run: Vec<usize> = (0..20).collect();
        // 1 - (8 * np.var(high) + 12 * np.var(low)) / (20 * np.var(values))
        let found = score(&values, &of_run, &[], 2.4).unwrap();
        assert!((found - 0.986_842_1).abs() < 1e-6, "{found}");
        // The states are 3.1 less 0.6 apart.
        assert!(score(&values, &of_run, &[], 2.49).is_some());
        assert_eq!(score(&values, &of_run, &[], 2.51), None);
        assert_eq!(score(&values[..19], &of_run[..19], &[], 0.1), None, "of 19 runs");
    }

    #[test]
    fn a_state_of_less_than_a_tenth_of_the_runs_is_outliers() {
        let of = |slow: usize| {
            let value = |run: usize| run as f64 * 1e-3 + if run < slow { 5.0 } else { 0.0 };
            let values: Vec<f64> = (0..30).map(value).collect();
            score(&values, &vec![0; 30], &[], 1.0).is_some()
        };
        assert!(of(3) && !of(2) && of(27) && !of(28));
    }

    #[test]
    fn levels_are_those_of_the_builds_after_a_cut_and_before_the_next() {
        // Builds of two runs at 0, 10 and 4; no state is left.
        let of_run: Vec<usize> = (0..30).map(|run| run / 2).collect();
        let level = |build: usize| [0.0, 10.0, 4.0][build / 5];
        let values: Vec<f64> = of_run
            .iter()
            .enumerate()
            .map(|(run, &at)| level(at) + (run % 3) as f64 * 0.5)
            .collect();
        assert_eq!(score(&values, &of_run, &[5, 10], 1.1), None);
        assert!(score(&values, &of_run, &[5], 1.1).is_some());
        assert!(score(&values, &of_run, &[7, 10], 1.1).is_some());
    }

    #[test]
    fn a_level_is_where_its_lower_state_is_however_often_it_is_taken() {
        // A fifth of the runs of the first level are in the lower state, and half of the second.
        let value = |run: usize| {
            let (level, slow) = if run < 15 { (0.0, run >= 3) } else { (40.0, run >= 22) };
            level + (run % 3) as f64 * 0.1 + if slow { 5.0 } else { 0.0 }
        };
        let values: Vec<f64> = (0..30).map(value).collect();
        let of_run: Vec<usize> = (0..30).collect();
        assert!(score(&values, &of_run, &[15], 4.0).is_some_and(|score| score > 0.99));
    }
}
