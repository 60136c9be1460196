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
        let from_others = Distances::of(&offsets(rows, after, n, |run, other| run != other));
        for run in 0..n {
            let Distances { shifts, spreads } = &from_others;
            // The middle of two is half as far off as the farther one, so of three runs none would be
            // odd: the other two are compared with each other.
            let without = (n == RUNS_MIN).then(|| {
                Distances::of(&offsets(rows, after, n, |one, other| one != other && other != run))
            });
            let usual_of = without.as_ref().unwrap_or(&from_others);
            let others = |of: &[f64]| -> Vec<f64> {
                (0..n).filter(|&other| other != run).map(|other| of[other].abs()).collect()
            };
            // As a whole, or function by function in either direction.
            let usual = median(others(&usual_of.shifts)).max(least / TIMES);
            let usual_spread = median(others(&usual_of.spreads)).max(least / TIMES);
            if shifts[run].abs() > TIMES * usual || spreads[run] > TIMES * usual_spread {
                let name = side.runs[run].name.clone();
                found.push(Odd { after, run: name, ratio: shifts[run].exp2() });
            }
        }
    }
    found
}

/// How far each run is from those with which it is compared.
struct Distances {
    /// As a whole: the median over functions.
    shifts: Vec<f64>,
    /// Function by function in either direction, likewise.
    spreads: Vec<f64>,
}

impl Distances {
    fn of(off: &[Vec<f64>]) -> Self {
        let spread = |off: &Vec<f64>| median(off.iter().map(|off| off.abs()).collect());
        Self {
            shifts: off.iter().map(|off| median(off.clone())).collect(),
            spreads: off.iter().map(spread).collect(),
        }
    }
}

/// How far each function of a run is from its median over the runs of the side with which `compares`.
fn offsets(
    rows: &[stats::Row],
    after: bool,
    n: usize,
    compares: impl Fn(usize, usize) -> bool,
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
    // NaN if all runs are the same, and then not significant.
    let t = slope.abs() / se;
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
        let mut names = ["run10", "runs", "run2", "run1", "b", "run02a", "run", "run-2"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, ["b", "run", "run-2", "run1", "run2", "run02a", "run10", "runs"]);
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
        assert!((found(0.0).unwrap() - 0.08).abs() < 1e-12, "nothing but the drift");
        assert_eq!(found(0.0125), None);
    }

    /// What is odd of the sides' runs, by the distance of each from where the others of its side are;
    /// functions are 0.001 apart or, with `sign`, go up and down in turn.
    fn odd(distances: &[f64], sign: bool, least: f64) -> Vec<(String, f64)> {
        let names: Vec<String> = (0..distances.len()).map(|run| format!("r{run}")).collect();
        let side = side(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let row = |function: i32| {
            let sign = if sign && function % 2 == 1 { -1.0 } else { 1.0 };
            let at = |distance: &f64| f64::from(function) + sign * distance;
            let after = distances.iter().map(at).collect();
            stats::Row { before: vec![0.0; distances.len()], after, ..stats::Row::default() }
        };
        let rows: Vec<_> = (0..4).map(row).collect();
        let found = find([&side, &side], &rows, least);
        assert!(found.iter().all(|odd| odd.after), "{found:?}");
        found.into_iter().map(|odd| (odd.run, odd.ratio.log2())).collect()
    }

    #[test]
    fn a_run_is_odd_five_times_as_far_off_as_the_middle_of_the_others() {
        // From the middles of the others, the first four are 0.2, 0.1, 0.1 and 0.2 off, and the last
        // as far from 0 as it is: more than five times 0.15.
        let of = |last, sign| odd(&[-0.15, -0.05, 0.05, 0.15, last], sign, 0.001);
        assert_eq!(of(0.74, false), []);
        let found = of(0.76, false);
        assert!(found.len() == 1 && found[0].0 == "r4", "{found:?}");
        assert!((found[0].1 - 0.76).abs() < 1e-12, "{found:?}");
        // In either direction by function, it is no slower altogether.
        assert_eq!(of(0.74, true), []);
        let found = of(0.76, true);
        assert!(found.len() == 1 && found[0].0 == "r4" && found[0].1.abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn a_distance_that_does_not_matter_is_not_odd() {
        let of = |last, sign| odd(&[0.0, 0.0, 0.0, 0.0, last], sign, 0.5).len();
        assert_eq!(
            [of(0.49, false), of(0.51, false), of(0.49, true), of(0.51, true)],
            [0, 1, 0, 1]
        );
        assert_eq!(odd(&[0.0, 9.0], false, 0.5), [], "either of two may be the odd one");
    }

    #[test]
    fn functions_of_fewer_than_three_runs_say_nothing_of_runs() {
        let nan = f64::NAN;
        let known = |after: [f64; 4]| {
            let row = stats::Row { after: after.to_vec(), ..stats::Row::default() };
            let off = offsets(&[row], true, 4, |run, other| run != other);
            off.iter().map(Vec::len).collect::<Vec<_>>()
        };
        assert_eq!(known([0.0, nan, 1.0, 5.0]), [1, 0, 1, 1]);
        assert_eq!(known([0.0, nan, nan, 5.0]), [0; 4]);
    }

    #[test]
    fn runs_drift_only_where_both_sides_have_four_and_all_are_known() {
        let row = |n: [usize; 2]| {
            let wander = [0.0, 0.001, 0.0, 0.001, 0.001];
            let values = |n: usize| (0..n).map(|run| 0.1 * run as f64 + wander[run]).collect();
            stats::Row { before: values(n[0]), after: values(n[1]), ..stats::Row::default() }
        };
        let names = ["a", "b", "c", "d", "e"];
        let found = |n: [usize; 2]| {
            let sides = n.map(|n| side(&names[..n]));
            drift(sides.each_ref(), &[row(n)])
        };
        assert!(
            found([4, 5]).is_some_and(|drift| (drift - 0.45).abs() < 0.01),
            "{:?}",
            found([4, 5])
        );
        assert_eq!((found([3, 5]), found([5, 3])), (None, None));
        let mut unknown = row([4, 5]);
        unknown.after[2] = f64::NAN;
        let sides = [side(&names[..4]), side(&names)];
        assert_eq!(drift(sides.each_ref(), &[unknown]), None);
    }

    #[test]
    fn of_three_runs_one_is_odd_that_is_far_off_what_the_others_differ_by() {
        let of = |last, sign| odd(&[0.0, 0.1, last], sign, 0.001);
        // From the middle at 0.05, 0.5 is five times 0.1.
        assert_eq!(of(0.54, false), []);
        let found = of(0.56, false);
        assert!(found.len() == 1 && found[0].0 == "r2", "{found:?}");
        assert!((found[0].1 - 0.51).abs() < 1e-12, "{found:?}");
        assert_eq!((of(0.54, true).len(), of(0.56, true).len()), (0, 1));
        // Where two are equal, what matters is the distance that does.
        assert_eq!(odd(&[0.0, 0.0, 0.49], false, 0.5), []);
        assert_eq!(odd(&[0.0, 0.0, 0.51], false, 0.5).len(), 1);
    }

    #[test]
    fn runs_that_are_all_the_same_do_not_drift() {
        let four = side(&["a", "b", "c", "d"]);
        let row = stats::Row { before: vec![3.0; 4], after: vec![3.5; 4], ..stats::Row::default() };
        assert_eq!(drift([&four, &four], &[row]), None);
        let exact: Vec<f64> = (0..4).map(f64::from).collect();
        let row = stats::Row { before: exact.clone(), after: exact, ..stats::Row::default() };
        assert_eq!(drift([&four, &four], &[row]), Some(4.0));
    }
}
