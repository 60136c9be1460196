//! Runs that are unlike the others of their side, and runs that drift: what stands behind verdicts
//! that no one can trust.

use std::cmp::Ordering;

use super::side::Side;
use super::stats;

/// A run that lies far from the others of its side.
#[derive(Clone, PartialEq, Debug)]
pub struct Odd {
    /// Whether it is of the side after.
    pub after: bool,
    /// Its name.
    pub run: String,
    /// Its distance from the middle of the other runs, as a ratio: the median over functions.
    pub ratio: f64,
}

/// How many times the usual distance a run must be off.
const TIMES: f64 = 5.0;

/// Runs of a side below which none can be distinguished from the others.
const RUNS_MIN: usize = 3;

/// The runs that are odd, by rows of binary logarithms of what their functions cost. `least` is the
/// distance that does not matter.
pub(super) fn find(sides: [&Side; 2], rows: &[stats::Row], least: f64) -> Vec<Odd> {
    let mut found = Vec::new();
    for (after, side) in [(false, sides[0]), (true, sides[1])] {
        let n = side.runs.len();
        if n < RUNS_MIN {
            continue;
        }
        let off = offsets(rows, after, n, |run, other| run != other);
        let shifts: Vec<f64> = off.iter().map(|off| median(off.clone())).collect();
        let spreads: Vec<f64> =
            off.iter().map(|off| median(off.iter().map(|off| off.abs()).collect())).collect();
        for run in 0..n {
            let others = |of: &[f64]| -> Vec<f64> {
                (0..n).filter(|&other| other != run).map(|other| of[other].abs()).collect()
            };
            // As a whole, or function by function in either direction.
            let usual = median(others(&shifts)).max(least / TIMES);
            let usual_spread = median(others(&spreads)).max(least / TIMES);
            if shifts[run].abs() > TIMES * usual || spreads[run] > TIMES * usual_spread {
                let name = side.runs[run].name.clone();
                found.push(Odd { after, run: name, ratio: shifts[run].exp2() });
            }
        }
    }
    found
}

/// How far each function of a run is from its median over the runs of the side with which `compares`.
fn offsets(
    rows: &[stats::Row],
    after: bool,
    n: usize,
    compares: fn(usize, usize) -> bool,
) -> Vec<Vec<f64>> {
    let mut off = vec![Vec::new(); n];
    for row in rows {
        let values = if after { &row.after } else { &row.before };
        if values.iter().filter(|value| value.is_finite()).count() < RUNS_MIN {
            continue;
        }
        for run in 0..n {
            let others = (0..n).filter(|&other| compares(run, other)).map(|other| values[other]);
            let middle = median(others.filter(|value| value.is_finite()).collect());
            if values[run].is_finite() && middle.is_finite() {
                off[run].push(values[run] - middle);
            }
        }
    }
    off
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    stats::median(&values)
}

/// How far all functions drift over the runs of both sides, in the order of the runs' names: the
/// change from the middle of one side to that of the other that the drift alone makes if one side was
/// recorded after the other, as a binary logarithm. None if there is no drift that chance (1 %)
/// cannot explain.
pub(super) fn drift(sides: [&Side; 2], rows: &[stats::Row]) -> Option<f64> {
    let (mut xy, mut xx, mut yy, mut df) = (0.0, 0.0, 0.0, -1.0);
    for (after, side) in [(false, sides[0]), (true, sides[1])] {
        let n = side.runs.len();
        // All from one middle: from that of the others, a run at the end would be farther off.
        let off = offsets(rows, after, n, |_, _| true);
        let shifts: Vec<f64> = off.into_iter().map(median).collect();
        if n < RUNS_MIN + 1 || !shifts.iter().all(|shift| shift.is_finite()) {
            return None;
        }
        let mut order: Vec<usize> = (0..n).collect();
        order.sort_by(|&a, &b| natural_order(&side.runs[a].name, &side.runs[b].name));
        let middle = shifts.iter().sum::<f64>() / n as f64;
        for (place, &run) in order.iter().enumerate() {
            let x = place as f64 - (n - 1) as f64 / 2.0;
            let y = shifts[run] - middle;
            (xy, xx, yy) = (xy + x * y, xx + x * x, yy + y * y);
        }
        df += (n - 1) as f64;
    }
    let slope = xy / xx;
    let rest = (yy - slope * xy).max(0.0);
    let se = (rest / df / xx).sqrt();
    let t = if se > 0.0 { slope.abs() / se } else { return None };
    let runs = (sides[0].runs.len() + sides[1].runs.len()) as f64;
    (2.0 * stats::t_upper(t, df) < 0.01).then_some(slope * runs / 2.0)
}

/// Names in the order in which users number them: `run2` before `run10`.
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    loop {
        let (digits_a, digits_b) = (digits(a), digits(b));
        if digits_a > 0 && digits_b > 0 {
            let number = |text: &[u8], n: usize| {
                let zeros = text[..n].iter().take_while(|&&digit| digit == b'0').count();
                (n - zeros, text[zeros..n].to_vec())
            };
            let order = number(a, digits_a).cmp(&number(b, digits_b));
            if order.is_ne() {
                return order;
            }
            (a, b) = (&a[digits_a..], &b[digits_b..]);
            continue;
        }
        let (Some((first_a, rest_a)), Some((first_b, rest_b))) = (a.split_first(), b.split_first())
        else {
            return a.len().cmp(&b.len());
        };
        if first_a != first_b {
            return first_a.cmp(first_b);
        }
        (a, b) = (rest_a, rest_b);
    }
}

fn digits(text: &[u8]) -> usize {
    text.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::Run;
    use crate::testing::Calls;

    #[test]
    fn numbers_in_names_count_as_numbers() {
        let mut names = ["run10", "run2", "run1", "b", "run02a", "run"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, ["b", "run", "run1", "run2", "run02a", "run10"]);
    }

    fn side(names: &[&str]) -> Side {
        let run = |name: &&str| Run {
            name: (*name).into(),
            block: None,
            profile: Calls::parse("").profile(),
            facts: Vec::new(),
            series: None,
            paths: None,
        };
        Side { name: String::new(), runs: names.iter().map(run).collect(), skipped: 0 }
    }

    #[test]
    fn a_drift_is_the_slope_times_half_of_the_runs() {
        let (before, after) =
            (side(&["run2", "run10", "run1", "run9"]), side(&["a", "b", "c", "d"]));
        // Each run is 0.02 slower than the one before, but for `rest`, whose slope is 0.
        let found = |rest: f64| {
            let at = |place: f64, sign: f64| 0.02 * place + sign * rest;
            let (first, second, third, last) =
                (at(0.0, 1.0), at(1.0, -1.0), at(2.0, -1.0), at(3.0, 1.0));
            let row = |height: f64| stats::Row {
                before: [second, last, first, third].map(|value| value + height).to_vec(),
                after: [first, second, third, last].map(|value| value + height).to_vec(),
                ..stats::Row::default()
            };
            drift([&before, &after], &[1.0, 2.0, 3.0].map(row))
        };
        // `scipy.stats.t.isf(0.005, 5)` is 4.032, and the slope 0.05 / rest times as large as its
        // error.
        assert!((found(0.0123).unwrap() - 0.08).abs() < 1e-12);
        assert_eq!(found(0.0125), None);
    }
}
