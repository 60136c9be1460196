//! What is known of all calls of one function: sums that add up in any order.
//!
//! Everything here is an integer, and every operation saturates. That makes adding two of them
//! exact, associative and commutative, so shards, workers and repeats give the same bytes.

use profctl_model::{Enclosed, Fidelity, FuncTotals, Span, Ticks};

use super::histogram::Histogram;

/// The calls of one row of a profile. Times are ticks.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FuncStats {
    /// Complete calls, recursive ones included.
    pub calls: u64,
    /// Those of them that the input only counts, so that none of the lengths below is theirs.
    pub counted: u64,
    /// Calls whose entry or exit was not recorded. They are in the sums and in nothing else.
    pub partial: u64,
    /// From entry to exit, over outermost calls.
    pub wall: u64,
    /// The part of `wall` in which the thread was switched out.
    pub off_cpu: u64,
    /// `wall` less `off_cpu`, over outermost calls.
    pub elapsed: u64,
    /// Net time, over all calls.
    pub net: u64,
    /// Elapsed time of the interrupts that interrupted it, over all calls.
    pub stolen: u64,
    /// Elapsed time of the interrupts inside complete calls, however deep; nothing of calls that ran
    /// as interrupts themselves.
    pub interrupted: u64,
    /// The part of `net` that was spent in functions of kind idle.
    pub idle: u64,
    /// Outermost calls, incomplete ones included.
    pub outermost: u64,
    /// Direct callees, over all calls.
    pub callees: u64,
    /// All calls below, over outermost calls.
    pub descendants: u64,
    /// Net time of complete calls.
    pub net_of_calls: Lengths,
    /// Elapsed time of complete calls, inner ones of a recursion included.
    pub elapsed_of_calls: Lengths,
}

/// One length of each complete call. Empty if there was none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lengths {
    /// The sum.
    pub sum: u64,
    /// The sum of the squares.
    pub squares: u128,
    /// The shortest; `u64::MAX` if there is none.
    pub min: u64,
    /// The longest; 0 if there is none.
    pub max: u64,
    /// How often how long; empty if percentiles were not asked for.
    pub histogram: Histogram,
}

impl Default for Lengths {
    fn default() -> Self {
        Self { sum: 0, squares: 0, min: u64::MAX, max: 0, histogram: Histogram::default() }
    }
}

impl Lengths {
    #[inline]
    fn add(&mut self, length: u64) {
        self.sum = self.sum.saturating_add(length);
        self.squares = self.squares.saturating_add(u128::from(length) * u128::from(length));
        self.min = self.min.min(length);
        self.max = self.max.max(length);
    }

    fn merge(&mut self, other: &Self) {
        self.sum = self.sum.saturating_add(other.sum);
        self.squares = self.squares.saturating_add(other.squares);
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.histogram.merge(&other.histogram);
    }

    /// The mean over `calls` calls, rounded down, as McRae printed it; nothing if there is none.
    pub fn avg(&self, calls: u64) -> Option<u64> {
        // A sum that stopped at the top of its range must not fall below the shortest call.
        Some(self.sum.checked_div(calls)?.max(self.min).min(self.max))
    }

    /// The population standard deviation over `calls` calls (divided by n, not n − 1: these are
    /// all the calls there were), rounded down; nothing if there is none.
    pub fn stddev(&self, calls: u64) -> Option<u64> {
        let n = u128::from(calls);
        let sum = u128::from(self.sum);
        let variance = match n.checked_mul(self.squares) {
            // (n·Σx² − (Σx)²) / n² keeps every digit.
            Some(scaled) => scaled.saturating_sub(sum * sum).checked_div(n * n)?,
            // Lengths near 2^64: the rounded mean is exact enough.
            None => (self.squares / n).saturating_sub((sum / n) * (sum / n)),
        };
        let deviation = u64::try_from(variance.isqrt()).unwrap_or(u64::MAX);
        Some(deviation.min(self.max.saturating_sub(self.min)))
    }

    /// See [`Histogram::percentile`].
    pub fn percentile(&self, percent: f64) -> Option<u64> {
        self.histogram.percentile(percent, self.min, self.max)
    }

    /// See [`Histogram::percentile_middle`].
    pub fn percentile_middle(&self, percent: f64) -> Option<u64> {
        self.histogram.percentile_middle(percent, self.min, self.max)
    }
}

impl FuncStats {
    /// Adds one call, but for the histograms.
    #[inline]
    pub(super) fn add(&mut self, span: &Span) {
        let net = span.net.0;
        let elapsed = span.elapsed().0;
        self.net = self.net.saturating_add(net);
        self.stolen = self.stolen.saturating_add(span.stolen.0);
        self.callees = self.callees.saturating_add(u64::from(span.callees));
        if span.outermost {
            self.wall = self.wall.saturating_add(span.wall.0);
            self.off_cpu = self.off_cpu.saturating_add(span.off_cpu.0);
            self.elapsed = self.elapsed.saturating_add(elapsed);
            self.descendants = self.descendants.saturating_add(span.descendants);
            self.outermost += 1;
        }
        if span.fidelity.is_partial() {
            self.partial += 1;
        } else {
            self.calls += 1;
            self.net_of_calls.add(net);
            self.elapsed_of_calls.add(elapsed);
        }
    }

    /// Notes how much of a call that was added went to interrupts.
    #[cold]
    pub(super) fn add_interrupted(&mut self, fidelity: Fidelity, interrupted: u64) {
        if !fidelity.is_partial() {
            self.interrupted = self.interrupted.saturating_add(interrupted);
        }
    }

    /// Adds calls of which the input gives only the sum. What was never called was running when the
    /// recording began, and so is an incomplete call.
    #[cold]
    pub(super) fn add_total(&mut self, totals: &FuncTotals, elapsed: Ticks) {
        self.calls = self.calls.saturating_add(totals.calls);
        self.counted = self.counted.saturating_add(totals.calls);
        self.partial = self.partial.saturating_add(u64::from(totals.calls == 0));
        self.outermost = self.outermost.saturating_add(totals.calls.max(1));
        self.wall = self.wall.saturating_add(elapsed.0);
        self.elapsed = self.elapsed.saturating_add(elapsed.0);
        self.net = self.net.saturating_add(totals.net.0);
    }

    /// Notes lengths that were counted twice, for [`Self::take_away`].
    pub(super) fn add_enclosed(&mut self, enclosed: &Enclosed) {
        self.outermost = self.outermost.saturating_add(enclosed.calls);
        self.wall = self.wall.saturating_add(enclosed.wall.0);
        self.off_cpu = self.off_cpu.saturating_add(enclosed.off_cpu.0);
        self.descendants = self.descendants.saturating_add(enclosed.descendants);
    }

    /// Adds lengths that were not counted.
    #[cold]
    pub(super) fn add_outermost(&mut self, calls: &Enclosed) {
        self.add_enclosed(calls);
        self.elapsed = self.elapsed.saturating_add((calls.wall - calls.off_cpu).0);
    }

    /// Takes the lengths away that were counted twice.
    pub(super) fn take_away(&mut self, enclosed: &Self) {
        self.outermost = self.outermost.saturating_sub(enclosed.outermost);
        self.wall = self.wall.saturating_sub(enclosed.wall);
        self.off_cpu = self.off_cpu.saturating_sub(enclosed.off_cpu);
        self.elapsed = self.wall.saturating_sub(self.off_cpu);
        self.descendants = self.descendants.saturating_sub(enclosed.descendants);
    }

    /// Adds net time that was spent in functions of kind idle.
    pub(super) fn add_idle(&mut self, net: Ticks) {
        self.idle = self.idle.saturating_add(net.0);
    }

    /// Adds what another holds.
    pub fn merge(&mut self, other: &Self) {
        for (ours, theirs) in [
            (&mut self.calls, other.calls),
            (&mut self.counted, other.counted),
            (&mut self.partial, other.partial),
            (&mut self.wall, other.wall),
            (&mut self.off_cpu, other.off_cpu),
            (&mut self.elapsed, other.elapsed),
            (&mut self.net, other.net),
            (&mut self.stolen, other.stolen),
            (&mut self.interrupted, other.interrupted),
            (&mut self.idle, other.idle),
            (&mut self.outermost, other.outermost),
            (&mut self.callees, other.callees),
            (&mut self.descendants, other.descendants),
        ] {
            *ours = ours.saturating_add(theirs);
        }
        self.net_of_calls.merge(&other.net_of_calls);
        self.elapsed_of_calls.merge(&other.elapsed_of_calls);
    }

    /// Drops the histograms.
    pub(super) fn drop_histograms(&mut self) {
        for lengths in [&mut self.net_of_calls, &mut self.elapsed_of_calls] {
            lengths.histogram = Histogram::default();
        }
    }

    /// How many calls have their lengths in `net_of_calls` and `elapsed_of_calls`.
    pub fn measured(&self) -> u64 {
        self.calls.saturating_sub(self.counted)
    }

    /// Whether there was any call at all.
    pub fn is_empty(&self) -> bool {
        self.calls == 0 && self.partial == 0
    }

    /// `net` without what probes cost at `per_event` ticks an event, never below 0.
    ///
    /// A call writes two events. What each costs falls half before and half after its timestamp:
    /// half of its entry's and half of its exit's cost lie within the call, which makes one
    /// event, and likewise the outer halves of each direct callee's two events.
    pub fn net_corrected(&self, per_event: u64) -> u64 {
        let events = self.calls.saturating_add(self.partial).saturating_add(self.callees);
        self.net.saturating_sub(per_event.saturating_mul(events))
    }

    /// `elapsed` likewise: one event for each outermost call itself, two for every call below.
    pub fn elapsed_corrected(&self, per_event: u64) -> u64 {
        let events = self.outermost.saturating_add(self.descendants.saturating_mul(2));
        self.elapsed.saturating_sub(per_event.saturating_mul(events))
    }
}

/// The usual calls of one row, while calls come in.
///
/// Nearly all calls are usual: complete, outermost, never switched out or interrupted, and shorter
/// than 2^32 ticks. Of such a call few sums are to be kept, because the others follow from them, and
/// of a leaf among them only those of one length. They lie in one cache line for leaves and two for
/// others: with thousands of functions, fetching them is what a call costs.
#[derive(Clone, Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Usual {
    n_leaves: u64,
    leaves: Short,
    calls: u64,
    callees: u64,
    descendants: u64,
    net: Short,
    elapsed: Short,
}

/// Lengths of less than 2^32 ticks each.
#[derive(Clone, Debug)]
struct Short {
    /// The sum of the squares, the lower half first. Nothing has 2^64 calls, so it does not
    /// overflow.
    squares: [u64; 2],
    sum: u64,
    min: u32,
    max: u32,
}

impl Default for Short {
    fn default() -> Self {
        Self { squares: [0; 2], sum: 0, min: u32::MAX, max: 0 }
    }
}

impl Short {
    #[expect(clippy::inline_always, reason = "a call would pass the span through memory")]
    #[inline(always)]
    fn add(&mut self, length: u32) {
        let [low, high] = &mut self.squares;
        let (sum, carried) = low.overflowing_add(u64::from(length) * u64::from(length));
        *low = sum;
        *high += u64::from(carried);
        self.sum = self.sum.saturating_add(u64::from(length));
        self.min = self.min.min(length);
        self.max = self.max.max(length);
    }

    fn lengths(&self, calls: u64) -> Lengths {
        if calls == 0 {
            return Lengths::default();
        }
        let [low, high] = self.squares.map(u128::from);
        Lengths {
            sum: self.sum,
            squares: high << 64 | low,
            min: self.min.into(),
            max: self.max.into(),
            histogram: Histogram::default(),
        }
    }
}

/// What a usual call adds to histograms.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lasted {
    /// A leaf: its length, net and elapsed.
    Leaf(u32),
    /// Its net and its elapsed time.
    Both(u32, u32),
}

impl Usual {
    /// Whether a call is usual.
    #[expect(clippy::inline_always, reason = "a call would pass the span through memory")]
    #[inline(always)]
    pub(super) fn takes(span: &Span) -> bool {
        span.outermost
            && !span.fidelity.is_partial()
            && span.off_cpu.0 | span.stolen.0 == 0
            && (span.wall.0 | span.net.0) >> u32::BITS == 0
    }

    /// Adds a usual call.
    #[expect(clippy::inline_always, reason = "a call would pass the span through memory")]
    #[inline(always)]
    pub(super) fn add(&mut self, span: &Span) -> Lasted {
        let (net, elapsed) = (span.net.0 as u32, span.wall.0 as u32);
        if span.callees == 0 && net == elapsed {
            self.n_leaves += 1;
            self.leaves.add(net);
            return Lasted::Leaf(net);
        }
        self.calls += 1;
        self.callees = self.callees.saturating_add(u64::from(span.callees));
        self.descendants = self.descendants.saturating_add(span.descendants);
        self.net.add(net);
        self.elapsed.add(elapsed);
        Lasted::Both(net, elapsed)
    }

    /// Adds what came in to `stats`, but for the histograms.
    pub(super) fn add_to(&self, stats: &mut FuncStats) {
        let leaves = self.leaves.lengths(self.n_leaves);
        stats.merge(&FuncStats {
            calls: self.n_leaves,
            wall: leaves.sum,
            elapsed: leaves.sum,
            net: leaves.sum,
            outermost: self.n_leaves,
            net_of_calls: leaves.clone(),
            elapsed_of_calls: leaves,
            ..FuncStats::default()
        });
        stats.merge(&FuncStats {
            calls: self.calls,
            wall: self.elapsed.sum,
            elapsed: self.elapsed.sum,
            net: self.net.sum,
            outermost: self.calls,
            callees: self.callees,
            descendants: self.descendants,
            net_of_calls: self.net.lengths(self.calls),
            elapsed_of_calls: self.elapsed.lengths(self.calls),
            ..FuncStats::default()
        });
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn lengths(values: &[u64]) -> Lengths {
        let mut lengths = Lengths::default();
        for &value in values {
            lengths.add(value);
        }
        lengths
    }

    #[test]
    fn mean_and_deviation() {
        let some = lengths(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!((some.avg(8), some.stddev(8)), (Some(5), Some(2)));
        assert_eq!((some.min, some.max), (2, 9));
        let none = lengths(&[]);
        assert_eq!((none.avg(0), none.stddev(0)), (None, None));
    }

    proptest! {
        #[test]
        fn nothing_overflows_or_leaves_its_range(
            values in prop::collection::vec((any::<u64>(), 0..64_u32), 1..20),
        ) {
            let values: Vec<_> = values.into_iter().map(|(bits, shift)| bits >> shift).collect();
            let found = lengths(&values);
            let n = values.len() as u64;
            let avg = found.avg(n).unwrap();
            prop_assert!(found.min <= avg && avg <= found.max);
            prop_assert!(found.stddev(n).unwrap() <= found.max - found.min);
        }

        #[test]
        fn the_deviation_is_that_of_floats(values in prop::collection::vec(0..10_000_u64, 1..50)) {
            let n = values.len() as f64;
            let mean = values.iter().sum::<u64>() as f64 / n;
            let squares = values.iter().map(|&value| (value as f64 - mean).powi(2)).sum::<f64>();
            let expected = (squares / n).sqrt();
            let found = lengths(&values).stddev(values.len() as u64).unwrap() as f64;
            prop_assert!(found <= expected + 1e-6 && expected < found + 1.0 + 1e-6);
        }
    }
}
