//! The functions of mathematics that the tests need, to ten digits (nine beyond a million degrees of
//! freedom).
//!
//! Tails come in pairs, lower and upper, each computed so that a small one keeps its digits: `1 - p`
//! of a p below 10⁻¹⁶ is 1.

use std::collections::HashMap;

/// The remainder of Stirling's formula for ln Γ, for `x` of 10 and more.
fn stirling_rest(x: f64) -> f64 {
    let square = (x * x).recip();
    let terms =
        [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0];
    terms.iter().rev().fold(0.0, |sum, term| sum * square + term) / x
}

/// Logarithm of the gamma function of a positive number.
pub(super) fn ln_gamma(x: f64) -> f64 {
    let mut shifted = x;
    let mut product = 1.0;
    while shifted < 10.0 {
        product *= shifted;
        shifted += 1.0;
    }
    let half_ln_two_pi = 0.918_938_533_204_672_8;
    (shifted - 0.5) * shifted.ln() - shifted + half_ln_two_pi + stirling_rest(shifted)
        - product.ln()
}

/// Logarithm of the beta function of two positive numbers.
fn ln_beta(a: f64, b: f64) -> f64 {
    let (small, large) = if a < b { (a, b) } else { (b, a) };
    if large < 10.0 {
        return ln_gamma(small) + ln_gamma(large) - ln_gamma(small + large);
    }
    // The difference of two large logarithms, written so that what they share is never computed.
    let sum = small + large;
    let difference =
        (large - 0.5) * (-small / sum).ln_1p() - small * sum.ln() + small + stirling_rest(large)
            - stirling_rest(sum);
    ln_gamma(small) + difference
}

/// Derivative of ln Γ of a positive number.
pub(super) fn digamma(x: f64) -> f64 {
    let mut shifted = x;
    let mut sum = 0.0;
    while shifted < 12.0 {
        sum -= shifted.recip();
        shifted += 1.0;
    }
    let square = (shifted * shifted).recip();
    let terms =
        [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0];
    let series = terms.iter().rev().fold(0.0, |rest, term| (rest + term) * square);
    sum + shifted.ln() - 0.5 / shifted - series
}

/// Second derivative of ln Γ of a positive number.
pub(super) fn trigamma(x: f64) -> f64 {
    let mut shifted = x;
    let mut sum = 0.0;
    while shifted < 12.0 {
        sum += (shifted * shifted).recip();
        shifted += 1.0;
    }
    let square = (shifted * shifted).recip();
    let bernoulli = [1.0 / 6.0, -1.0 / 30.0, 1.0 / 42.0, -1.0 / 30.0, 5.0 / 66.0, -691.0 / 2730.0];
    let series = bernoulli.iter().rev().fold(0.0, |rest, term| (rest + term) * square);
    sum + shifted.recip() + 0.5 * square + series / shifted
}

/// Third derivative of ln Γ of a positive number.
fn tetragamma(x: f64) -> f64 {
    let mut shifted = x;
    let mut sum = 0.0;
    while shifted < 12.0 {
        sum -= 2.0 / (shifted * shifted * shifted);
        shifted += 1.0;
    }
    let square = (shifted * shifted).recip();
    let terms = [-0.5, 1.0 / 6.0, -1.0 / 6.0, 0.3, -5.0 / 6.0, 691.0 / 210.0];
    let series = terms.iter().rev().fold(0.0, |rest, term| (rest + term) * square);
    sum - square - square / shifted + series * square
}

/// The number whose [`trigamma`] is `y`, which is positive: Newton's steps on its reciprocal, which
/// is nearly a line (Smyth 2004, appendix).
pub(super) fn trigamma_inverse(y: f64) -> f64 {
    if y > 1e7 {
        return y.sqrt().recip();
    }
    if y < 1e-6 {
        return y.recip();
    }
    let mut x = 0.5 + y.recip();
    for _ in 0..60 {
        let value = trigamma(x);
        let step = value * (1.0 - value / y) / tetragamma(x);
        x += step;
        if step.abs() < 1e-13 * x {
            break;
        }
    }
    x
}

/// Chances of at most, and of more than.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tails {
    pub(super) lower: f64,
    pub(super) upper: f64,
}

impl Tails {
    fn swapped(self) -> Self {
        Self { lower: self.upper, upper: self.lower }
    }
}

/// A continued fraction by Lentz's method: `term(i)` gives its i-th coefficient and addend.
fn continued_fraction(first: f64, term: impl Fn(f64) -> (f64, f64)) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut value = away(first);
    let mut upper = value;
    let mut lower = 0.0;
    for index in 1..20_000 {
        let (coefficient, addend) = term(f64::from(index));
        lower = away(addend + coefficient * lower).recip();
        upper = away(addend + coefficient / upper);
        let step = upper * lower;
        value *= step;
        if (step - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// The regularized incomplete beta function at `x`, and at `y` = 1 − `x` from the other end.
fn beta_tails(x: f64, y: f64, a: f64, b: f64) -> Tails {
    if x <= 0.0 {
        return Tails { lower: 0.0, upper: 1.0 };
    }
    if y <= 0.0 {
        return Tails { lower: 1.0, upper: 0.0 };
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return beta_tails(y, x, b, a).swapped();
    }
    // Near 1, the digits of a logarithm are in what is missing to 1.
    let ln = |x: f64, rest: f64| if x > 0.5 { (-rest).ln_1p() } else { x.ln() };
    let front = (a * ln(x, y) + b * ln(y, x) - ln_beta(a, b)).exp() / a;
    let fraction = continued_fraction(1.0, |index| {
        let half = (index / 2.0).floor();
        let coefficient = if index % 2.0 == 0.0 {
            half * (b - half) * x / ((a + 2.0 * half - 1.0) * (a + 2.0 * half))
        } else {
            -(a + half) * (a + b + half) * x / ((a + 2.0 * half) * (a + 2.0 * half + 1.0))
        };
        (coefficient, 1.0)
    });
    let lower = (front / fraction).min(1.0);
    Tails { lower, upper: 1.0 - lower }
}

/// The regularized incomplete gamma function.
fn gamma_tails(a: f64, x: f64) -> Tails {
    if x <= 0.0 {
        return Tails { lower: 0.0, upper: 1.0 };
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let mut term = a.recip();
        let mut sum = term;
        let mut n = a;
        while term > sum * 1e-17 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        let lower = (front * sum).min(1.0);
        return Tails { lower, upper: 1.0 - lower };
    }
    let first = x + 1.0 - a;
    let fraction = continued_fraction(first, |index| (-index * (index - a), first + 2.0 * index));
    let upper = (front / fraction).min(1.0);
    Tails { lower: 1.0 - upper, upper }
}

/// Chi squared with `df` degrees of freedom.
pub(super) fn chi_squared(x: f64, df: f64) -> Tails {
    gamma_tails(df / 2.0, x / 2.0)
}

/// Fisher's F with `df1` and `df2` degrees of freedom; `df2` may be infinite.
pub(super) fn f_tails(x: f64, df1: f64, df2: f64) -> Tails {
    if df2 > NEARLY_INFINITE {
        return chi_squared(x * df1, df1);
    }
    let sum = df1 * x + df2;
    beta_tails(df1 * x / sum, df2 / sum, df1 / 2.0, df2 / 2.0)
}

/// Logarithm of the density of F.
pub(super) fn f_ln_density(x: f64, df1: f64, df2: f64) -> f64 {
    let half = df1 / 2.0;
    if df2 > NEARLY_INFINITE {
        return half * half.ln() + (half - 1.0) * x.ln() - half * x - ln_gamma(half);
    }
    let ratio = df1 / df2;
    half * ratio.ln() + (half - 1.0) * x.ln()
        - (half + df2 / 2.0) * (ratio * x).ln_1p()
        - ln_beta(half, df2 / 2.0)
}

/// Where the distribution has `tails`, of which the smaller one is met.
pub(super) fn f_quantile(tails: Tails, df1: f64, df2: f64) -> f64 {
    // F spans many orders of magnitude: search its logarithm.
    let ln = solve(-740.0, 700.0, |ln_x| {
        let at = f_tails(ln_x.exp(), df1, df2);
        if tails.lower < tails.upper { at.lower - tails.lower } else { tails.upper - at.upper }
    });
    ln.exp()
}

/// Degrees of freedom beyond which the continued fraction of t has fewer digits than its nearness to
/// the normal distribution.
const LARGE: f64 = 1e6;

/// Degrees of freedom beyond which F is chi squared to ten digits.
const NEARLY_INFINITE: f64 = 1e11;

/// Chance that Student's t with `df` degrees of freedom exceeds `t`; `df` may be infinite.
pub(super) fn t_upper(t: f64, df: f64) -> f64 {
    if t.is_nan() || df.is_nan() {
        return f64::NAN;
    }
    if t < 0.0 {
        return 1.0 - t_upper(-t, df);
    }
    if t.is_infinite() {
        return 0.0;
    }
    if df > LARGE {
        // Abramowitz and Stegun (1964), 26.7.8.
        let quarter = (4.0 * df).recip();
        let normal = t * (1.0 - quarter) / (1.0 + 2.0 * quarter * t * t).sqrt();
        return 0.5 * gamma_tails(0.5, normal * normal / 2.0).upper;
    }
    let square = t * t;
    let sum = df + square;
    0.5 * beta_tails(df / sum, square / sum, df / 2.0, 0.5).lower
}

/// Where Student's t is exceeded with chance `upper`.
pub(super) fn t_quantile(upper: f64, df: f64) -> f64 {
    if upper > 0.5 {
        return -t_quantile(1.0 - upper, df);
    }
    if upper <= 0.0 {
        return f64::INFINITY;
    }
    let mut high = 2.0;
    while t_upper(high, df) > upper && high < 1e300 {
        high *= high;
    }
    solve(0.0, high, |t| upper - t_upper(t, df))
}

/// Quantiles of t that were asked for before: most functions have the same degrees of freedom.
#[derive(Default)]
pub(super) struct Quantiles(HashMap<(u64, u64), f64>);

impl Quantiles {
    /// [`t_quantile`].
    pub(super) fn t(&mut self, upper: f64, df: f64) -> f64 {
        let key = (upper.to_bits(), df.to_bits());
        *self.0.entry(key).or_insert_with(|| t_quantile(upper, df))
    }
}

/// The zero of a function that grows from below 0 at `low` to above 0 at `high`, by Brent's method.
pub(super) fn solve(low: f64, high: f64, function: impl Fn(f64) -> f64) -> f64 {
    let (mut a, mut b) = (low, high);
    let (mut value_a, mut value_b) = (function(a), function(b));
    if value_a >= 0.0 {
        return a;
    }
    if value_b <= 0.0 {
        return b;
    }
    if value_a.abs() < value_b.abs() {
        (a, b, value_a, value_b) = (b, a, value_b, value_a);
    }
    let (mut c, mut value_c, mut d) = (a, value_a, a);
    let mut bisected = true;
    for _ in 0..400 {
        let tolerance = 4.0 * f64::EPSILON * b.abs() + 1e-300;
        if value_b == 0.0 || (b - a).abs() <= tolerance {
            break;
        }
        let mut next =
            if value_a.to_bits() != value_c.to_bits() && value_b.to_bits() != value_c.to_bits() {
                a * value_b * value_c / ((value_a - value_b) * (value_a - value_c))
                    + b * value_a * value_c / ((value_b - value_a) * (value_b - value_c))
                    + c * value_a * value_b / ((value_c - value_a) * (value_c - value_b))
            } else {
                b - value_b * (b - a) / (value_b - value_a)
            };
        let quarter = (3.0 * a + b) / 4.0;
        let between = (next - quarter) * (next - b) < 0.0;
        let last = if bisected { (b - c).abs() } else { (c - d).abs() };
        bisected = !between || (next - b).abs() >= last / 2.0 || last < tolerance;
        if bisected {
            next = f64::midpoint(a, b);
        }
        let value = function(next);
        (d, c, value_c) = (c, b, value_b);
        if (value_a < 0.0) == (value < 0.0) {
            (a, value_a) = (next, value);
        } else {
            (b, value_b) = (next, value);
        }
        if value_a.abs() < value_b.abs() {
            (a, b, value_a, value_b) = (b, a, value_b, value_a);
        }
    }
    b
}

/// Gauss and Legendre's nodes between 0 and 1, with their weights.
pub(super) fn quadrature(n: usize) -> Vec<(f64, f64)> {
    let legendre = |x: f64| {
        let (mut before, mut at) = (1.0, x);
        for k in 2..=n {
            let k = k as f64;
            (before, at) = (at, ((2.0 * k - 1.0) * x * at - (k - 1.0) * before) / k);
        }
        let slope = n as f64 * (x * at - before) / (x * x - 1.0);
        (at, slope)
    };
    let node = |index: usize| {
        let mut x = (std::f64::consts::PI * (index as f64 + 0.75) / (n as f64 + 0.5)).cos();
        for _ in 0..20 {
            let (value, slope) = legendre(x);
            x -= value / slope;
        }
        let (_, slope) = legendre(x);
        (f64::midpoint(1.0, x), ((1.0 - x * x) * slope * slope).recip())
    };
    (0..n).map(node).collect()
}

/// The values are those of scipy 1.17.
#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the numbers compared are exact")]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn derivatives_and_the_beta_function_are_those_of_scipy() {
        for (x, expected) in [
            (0.5, -16.828_796_644_234_316),
            (1.0, -2.404_113_806_319_188),
            (3.0, -0.154_113_806_319_188_56),
            (12.0, -0.007_547_205_368_998_914),
            (40.0, -0.000_640_820_271_835_298_5),
        ] {
            assert!((tetragamma(x) / expected - 1.0).abs() < 1e-12, "{x}: {}", tetragamma(x));
        }
        for (x, expected) in [
            (0.5, 4.934_802_200_544_68),
            (12.0, 0.086_901_872_871_768_4),
            (40.0, 0.025_315_103_841_291_03),
        ] {
            assert!((trigamma(x) / expected - 1.0).abs() < 1e-13, "{x}: {}", trigamma(x));
        }
        for (a, b, expected) in [
            (0.5, 20.0, -0.919_251_844_406_603_9),
            (3.0, 11.0, -6.754_604_099_487_962),
            (30.0, 40.0, -48.301_749_095_916_12),
            (10.0, 10.0, -13.736_229_227_036_555),
            (0.25, 5.0, 0.904_700_444_659_326_2),
            (0.5, 1e8, -8.637_975_427_801_484),
        ] {
            for found in [ln_beta(a, b), ln_beta(b, a)] {
                assert!((found / expected - 1.0).abs() < 1e-13, "{a}, {b}: {found}");
            }
        }
    }

    #[test]
    fn quantiles_of_f_keep_the_digits_of_small_tails() {
        for x in [1e-12, 1e-3, 1.0, 1e3, 1e12] {
            let found = f_quantile(f_tails(x, 4.0, 20.0), 4.0, 20.0);
            assert!((found / x - 1.0).abs() < 1e-10, "{x}: {found}");
        }
    }

    #[test]
    fn nothing_is_known_of_what_is_not_a_number() {
        assert!(t_upper(f64::NAN, 5.0).is_nan() && t_upper(1.0, f64::NAN).is_nan());
        assert!(
            t_upper(f64::INFINITY, f64::NAN).is_nan() && t_upper(f64::NAN, f64::INFINITY).is_nan()
        );
    }

    type Function = &'static dyn Fn(f64) -> f64;

    /// Brent's method in scipy (`brentq`) takes 9, 16, 3, 11 and 5 steps. Bisection alone takes more than
    /// 50.
    #[test]
    fn zeros_are_found_in_few_steps() {
        let cases: [(f64, f64, f64, usize, Function); 5] = [
            (0.0, 2.0, 2.0_f64.cbrt(), 9, &|x| x * x * x - 2.0),
            (-10.0, 10.0, 5.0_f64.ln(), 15, &|x| x.exp() - 5.0),
            (0.0, 1.0, 0.3, 3, &|x| x - 0.3),
            (-3.0, 40.0, 1.0, 15, &|x| (x - 1.0).atan()),
            (0.0, 700.0, 600.0, 4, &|x| x.sqrt() - 600.0_f64.sqrt()),
        ];
        for (low, high, expected, steps, function) in cases {
            let asked = Cell::new(0);
            let found = solve(low, high, |x| {
                asked.set(asked.get() + 1);
                function(x)
            });
            assert!((found - expected).abs() < 1e-13 * expected.abs().max(1.0), "{found}");
            assert!(asked.get() <= steps, "{expected} was found in {} steps", asked.get());
        }
        assert_eq!(solve(1.0, 2.0, |x| x), 1.0, "below the first");
        assert_eq!(solve(-2.0, -1.0, |x| x), -1.0, "above the last");
    }
}
