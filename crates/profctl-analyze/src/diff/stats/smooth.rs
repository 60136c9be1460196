//! Curves through scattered points: how the noise of functions depends on how often they run.

use super::order::{median, quantile, sorted};

/// Fitted values of a natural cubic spline of `df` degrees of freedom (at least 2), by least
/// squares, and the degrees of freedom that were used.
///
/// Its knots are the ends and equal shares of the points between them.
pub(super) fn spline(x: &[f64], y: &[f64], df: usize) -> (Vec<f64>, usize) {
    let in_order = sorted(x.to_vec());
    let (low, high) = (in_order[0], in_order[in_order.len() - 1]);
    let knots: Vec<f64> = (0..df)
        .map(|index| quantile(&in_order, index as f64 / (df - 1) as f64))
        .map(|knot| (knot - low) / (high - low))
        .collect();
    let last = knots[df - 1];
    // Hastie, Tibshirani and Friedman (2009), formula 5.4: cubic between knots. No point is beyond the
    // last one, where curves are straight.
    let bend =
        |value: f64, knot: usize| (value - knots[knot]).max(0.0).powi(3) / (last - knots[knot]);
    let mut columns: Vec<Vec<f64>> = vec![Vec::with_capacity(x.len()); df];
    for value in x {
        let value = (value - low) / (high - low);
        columns[0].push(1.0);
        columns[1].push(value);
        for knot in 0..df - 2 {
            columns[knot + 2].push(bend(value, knot) - bend(value, df - 2));
        }
    }
    let mut fitted = vec![0.0; x.len()];
    let mut rank = 0;
    let mut basis: Vec<Vec<f64>> = Vec::new();
    for mut column in columns {
        let length = dot(&column, &column).sqrt();
        // Gram and Schmidt, twice: once is not enough where columns are nearly parallel.
        for _ in 0..2 {
            for direction in &basis {
                let along = dot(direction, &column);
                column.iter_mut().zip(direction).for_each(|(value, unit)| *value -= along * unit);
            }
        }
        let rest = dot(&column, &column).sqrt();
        if rest <= 1e-10 * length || rest.is_nan() {
            continue;
        }
        for value in &mut column {
            *value /= rest;
        }
        let along = dot(&column, y);
        fitted.iter_mut().zip(&column).for_each(|(value, unit)| *value += along * unit);
        rank += 1;
        basis.push(column);
    }
    (fitted, rank)
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Cleveland's (1979) robust locally weighted regression: each point is fitted to the share `span`
/// of points nearest to it, outliers are downweighted in three more rounds, and points closer than
/// a hundredth of the range share a fit. There are at least two points.
pub(super) fn lowess(x: &[f64], y: &[f64], span: f64) -> Vec<f64> {
    let n = x.len();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&a, &b| x[a].total_cmp(&x[b]).then(y[a].total_cmp(&y[b])));
    let x: Vec<f64> = order.iter().map(|&idx| x[idx]).collect();
    let y: Vec<f64> = order.iter().map(|&idx| y[idx]).collect();
    let mut curve = vec![0.0; n];
    let mut trust = vec![1.0; n];
    let n_near = ((span * n as f64 + 1e-7) as usize).clamp(2, n);
    for round in 0..=ROUNDS {
        walk(&x, &y, &trust, n_near, &mut curve);
        if round < ROUNDS && !distrust(&y, &curve, &mut trust) {
            break;
        }
    }
    let mut fitted = vec![0.0; n];
    order.iter().zip(curve).for_each(|(&idx, value)| fitted[idx] = value);
    fitted
}

const ROUNDS: usize = 3;

/// One round of the curve through points in order of `x`.
fn walk(x: &[f64], y: &[f64], trust: &[f64], n_near: usize, curve: &mut [f64]) {
    let n = x.len();
    let delta = 0.01 * (x[n - 1] - x[0]);
    let mut left = 0;
    let mut last = None;
    let mut at = 0;
    loop {
        while left + n_near < n && x[at] - x[left] > x[left + n_near] - x[at] {
            left += 1;
        }
        curve[at] = local(x, y, trust, left, left + n_near - 1, x[at]).unwrap_or(y[at]);
        if let Some(last) = last {
            let (from, to) = (x[last], x[at]);
            for between in last + 1..at {
                let share = (x[between] - from) / (to - from);
                curve[between] = share * curve[at] + (1.0 - share) * curve[last];
            }
        }
        // The next point to fit is the last one within reach; equal ones get the same value.
        let mut done = at;
        let reach = x[at] + delta;
        let mut next = at + 1;
        while next < n && x[next] <= reach {
            if x[next].to_bits() == x[done].to_bits() {
                curve[next] = curve[done];
                done = next;
            }
            next += 1;
        }
        if done + 1 >= n {
            return;
        }
        last = Some(done);
        at = (done + 1).max(next - 1);
    }
}

/// The line through the neighbors `left..=right` of `x0`, at `x0`.
fn local(x: &[f64], y: &[f64], trust: &[f64], left: usize, right: usize, x0: f64) -> Option<f64> {
    let n = x.len();
    let range = x[n - 1] - x[0];
    let width = (x0 - x[left]).max(x[right] - x0);
    let mut weights = Vec::with_capacity(right - left + 1);
    for idx in left..n {
        let distance = (x[idx] - x0).abs();
        if distance <= 0.999 * width {
            let near = if distance <= 0.001 * width {
                1.0
            } else {
                (1.0 - (distance / width).powi(3)).powi(3)
            };
            weights.push(near * trust[idx]);
        } else if x[idx] > x0 {
            break;
        } else {
            weights.push(0.0);
        }
    }
    let total: f64 = weights.iter().sum();
    if total <= 0.0 {
        return None;
    }
    for weight in &mut weights {
        *weight /= total;
    }
    if width > 0.0 {
        let x = &x[left..left + weights.len()];
        let center = dot(&weights, x);
        let spread: f64 =
            weights.iter().zip(x).map(|(weight, x)| weight * (x - center) * (x - center)).sum();
        if spread.sqrt() > 0.001 * range {
            let slope = (x0 - center) / spread;
            for (weight, x) in weights.iter_mut().zip(x) {
                *weight *= slope * (x - center) + 1.0;
            }
        }
    }
    Some(dot(&weights, &y[left..]))
}

/// Downweights points far from the curve; false if all are on it.
fn distrust(y: &[f64], curve: &[f64], trust: &mut [f64]) -> bool {
    let distances: Vec<f64> = y.iter().zip(curve).map(|(y, curve)| (y - curve).abs()).collect();
    let mean = distances.iter().sum::<f64>() / distances.len() as f64;
    let far = 6.0 * median(&sorted(distances.clone()));
    if far < 1e-7 * mean {
        return false;
    }
    for (trust, distance) in trust.iter_mut().zip(distances) {
        *trust = if distance <= 0.001 * far {
            1.0
        } else if distance <= 0.999 * far {
            (1.0 - (distance / far) * (distance / far)).powi(2)
        } else {
            0.0
        };
    }
    true
}

/// The curve through known points, at `x`: straight between them, level outside.
pub(super) struct Curve(Vec<(f64, f64)>);

impl Curve {
    pub(super) fn through(x: &[f64], y: &[f64]) -> Self {
        let mut points: Vec<(f64, f64)> = x.iter().copied().zip(y.iter().copied()).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        Self(points)
    }

    pub(super) fn at(&self, x: f64) -> f64 {
        let above = self.0.partition_point(|point| point.0 < x);
        match (above.checked_sub(1).map(|below| self.0[below]), self.0.get(above)) {
            (Some(below), Some(above)) => {
                let share = (x - below.0) / (above.0 - below.0);
                below.1 + share * (above.1 - below.1)
            }
            (Some(only), None) | (None, Some(&only)) => only.1,
            (None, None) => f64::NAN,
        }
    }
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the numbers compared are exact")]
mod tests {
    use super::*;

    type Fit = fn(&[f64], &[f64]) -> Vec<f64>;

    #[test]
    fn curves_follow_their_units() {
        // The size of the numbers must not decide which points are near, alike, or far off.
        let x: Vec<f64> = (0..60).map(|k| f64::from(k * k % 37) / 10.0).collect();
        let y: Vec<f64> = (0..60).map(|k| f64::from(k * k * k % 41) / 41.0).collect();
        let times = |values: &[f64], factor: f64, more: f64| -> Vec<f64> {
            values.iter().map(|value| more + factor * value).collect()
        };
        let curves: [Fit; 2] = [|x, y| lowess(x, y, 0.4), |x, y| spline(x, y, 4).0];
        for curve in curves {
            let expected = curve(&x, &y);
            for (of_x, more, of_y) in [(1.0, 100.0, 1.0), (1e-4, 5.0, 1.0), (1.0, 0.0, 1e-9)] {
                let found = curve(&times(&x, of_x, more), &times(&y, of_y, 0.0));
                for (found, expected) in found.iter().zip(&expected) {
                    let off = (found / of_y - expected).abs();
                    assert!(off < 1e-9, "{of_x} x + {more}, {of_y} y: {found}, not {expected}");
                }
            }
        }
    }

    #[test]
    fn points_on_a_line_are_trusted_whatever_one_other_does() {
        // The nearest 8 of 40 are 3 on each side, and one without weight. The point that is off keeps
        // its weight of 1 in 1 + 2 (63/64)³ + 2 (7/8)³ ..., as the median distance is nothing.
        let x: Vec<f64> = (0..40).map(f64::from).collect();
        let y: Vec<f64> = (0..40).map(|k| if k == 20 { 1.0 } else { 0.0 }).collect();
        let near = |distance: f64| (1.0 - distance.powi(3)).powi(3);
        let expected = 1.0 / (1.0 + 2.0 * (near(0.25) + near(0.5) + near(0.75)));
        let found = lowess(&x, &y, 0.2);
        assert!((found[20] - expected).abs() < 1e-12, "{}", found[20]);
        assert!(found[..16].iter().chain(&found[25..]).all(|value| *value == 0.0));
    }

    #[test]
    fn between_known_points_a_curve_is_straight() {
        let curve = Curve::through(&[4.0, 1.0, 2.0], &[9.0, 3.0, 7.0]);
        let found = [0.0, 1.0, 1.25, 2.0, 3.0, 4.0, 5.0].map(|x| curve.at(x));
        assert_eq!(found, [3.0, 3.0, 4.0, 7.0, 8.0, 9.0, 9.0]);
        assert!(Curve::through(&[], &[]).at(1.0).is_nan());
    }
}
