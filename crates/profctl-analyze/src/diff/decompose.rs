//! How much of a change is more calls, and how much slower calls.

use super::SideStats;

/// A change in two parts that add up to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Parts {
    /// Net time of a run after, less that of a run before.
    pub delta_net: i64,
    /// The part due to more or fewer calls.
    pub from_calls: i64,
    /// The part due to more or less time per call.
    pub from_cost: i64,
}

impl Parts {
    /// The parts of the change from `before` to `after`.
    ///
    /// With `c` calls of `a` each, `Δ(c·a) = Δc·ā + Δa·c̄`, where a bar is the middle between
    /// before and after. As sums, `Δc·ā = (Δ(c·a) + c₂·a₁ − c₁·a₂) / 2`, which needs no average. It
    /// is rounded once; the other part is what is left, so nothing is lost to rounding. Swapping
    /// the sides swaps all signs.
    pub(super) fn of(before: &SideStats, after: &SideStats) -> Self {
        let delta_net = signed(after.net) - signed(before.net);
        let (Some(theirs), Some(ours)) = (at_cost_of(after, before), at_cost_of(before, after))
        else {
            // On one side there is nothing whose cost could have changed.
            return Self::new(delta_net, delta_net);
        };
        let twice = delta_net + theirs - ours;
        // Half away from zero, so that the mirrored comparison rounds to the mirrored number.
        Self::new(delta_net, i128::midpoint(twice, twice.signum()))
    }

    /// Holds both in 63 bits such that they still add up.
    fn new(delta_net: i128, from_calls: i128) -> Self {
        const MOST: i128 = i64::MAX as i128;
        let delta_net = delta_net.clamp(-MOST, MOST);
        let (low, high) = ((delta_net - MOST).max(-MOST), (delta_net + MOST).min(MOST));
        let from_calls = from_calls.clamp(low, high);
        let held = |change| i64::try_from(change).expect("it was clamped to 63 bits");
        Self {
            delta_net: held(delta_net),
            from_calls: held(from_calls),
            from_cost: held(delta_net - from_calls),
        }
    }
}

/// What the calls of a run of `calls` would take at the cost that they have in `cost`; nothing if
/// there is none on either side.
fn at_cost_of(calls: &SideStats, cost: &SideStats) -> Option<i128> {
    let of_all = |side: &SideStats| side.total.calls.saturating_add(side.total.partial);
    let product = u128::from(of_all(calls)) * u128::from(cost.total.net);
    let divisor = u128::from(of_all(cost)) * u128::from(calls.of_runs);
    if divisor == 0 || of_all(calls) == 0 {
        return None;
    }
    let rounded = (product + divisor / 2) / divisor;
    // Below 2^127 even for the largest sums, unless calls are many more than all time has space
    // for.
    Some(i128::try_from(rounded).unwrap_or(i128::MAX / 4).min(i128::MAX / 4))
}

fn signed(time: u64) -> i128 {
    i128::from(time)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::summarize::FuncStats;

    fn side(of_runs: u32, calls: u64, net: u64) -> SideStats {
        SideStats::new(of_runs, of_runs, FuncStats { calls, net, ..FuncStats::default() })
    }

    #[test]
    fn calls_and_cost_are_told_apart() {
        for (before, after, expected) in [
            // Twice the calls at the old cost; the old calls at twice the cost.
            ((1, 10, 1000), (1, 20, 2000), (1000, 1000, 0)),
            ((1, 10, 1000), (1, 10, 2000), (1000, 0, 1000)),
            // Both: the product is shared evenly.
            ((1, 10, 1000), (1, 20, 4000), (3000, 1500, 1500)),
            // Fewer and slower calls cancel.
            ((1, 20, 2000), (1, 10, 2000), (0, -1500, 1500)),
            // New and gone functions have no old cost.
            ((1, 0, 0), (1, 10, 1000), (1000, 1000, 0)),
            ((1, 10, 1000), (1, 0, 0), (-1000, -1000, 0)),
            // Sums over runs are compared by the run.
            ((2, 20, 2000), (3, 30, 6000), (1000, 0, 1000)),
        ] {
            let (before, after) =
                (side(before.0, before.1, before.2), side(after.0, after.1, after.2));
            let parts = Parts::of(&before, &after);
            assert_eq!((parts.delta_net, parts.from_calls, parts.from_cost), expected);
        }
    }

    proptest! {
        #[test]
        fn parts_add_up_and_mirror(
            runs in (1..9_u32, 1..9_u32),
            calls in (any::<u64>(), any::<u64>(), 0..64_u32),
            net in (any::<u64>(), any::<u64>(), 0..64_u32),
        ) {
            let a = side(runs.0, calls.0 >> calls.2, net.0 >> net.2);
            let b = side(runs.1, calls.1 >> calls.2, net.1 >> net.2);
            let (there, back) = (Parts::of(&a, &b), Parts::of(&b, &a));
            prop_assert_eq!(there.from_calls.checked_add(there.from_cost), Some(there.delta_net));
            prop_assert_eq!(there.delta_net, -back.delta_net);
            prop_assert_eq!(there.from_calls, -back.from_calls);
            prop_assert_eq!(there.from_cost, -back.from_cost);
        }
    }
}
