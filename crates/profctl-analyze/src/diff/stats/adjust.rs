//! p-values of many functions, corrected for being many.

use super::Correction;

/// Corrects as `correction` says; NaN stays NaN and does not count.
pub(super) fn adjust(p: &[f64], correction: Correction) -> Vec<f64> {
    match correction {
        Correction::BenjaminiHochberg => adjust_bh(p),
        Correction::BenjaminiYekutieli => adjust_by(p),
    }
}

/// Benjamini and Hochberg's (1995) step-up: the smallest share of false ones among all functions
/// that would have to be reported with this one.
pub fn adjust_bh(p: &[f64]) -> Vec<f64> {
    step_up(p, 1.0)
}

/// Benjamini and Yekutieli's (2001): the same under any dependence.
pub fn adjust_by(p: &[f64]) -> Vec<f64> {
    let n = p.iter().filter(|p| !p.is_nan()).count();
    step_up(p, (1..=n).map(|rank| (rank as f64).recip()).sum())
}

fn step_up(p: &[f64], factor: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).filter(|&idx| !p[idx].is_nan()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut q = vec![f64::NAN; p.len()];
    let mut smallest = 1.0_f64;
    for (rank, &idx) in order.iter().enumerate().rev() {
        smallest = smallest.min(factor * p[idx] * order.len() as f64 / (rank + 1) as f64);
        q[idx] = smallest;
    }
    q
}
