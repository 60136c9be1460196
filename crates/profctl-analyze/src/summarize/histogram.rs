//! How often a call took how long: a log-linear histogram that adds up.
//!
//! Values below 64 have a bucket each; above, every power of two is cut into 32 equal buckets, so
//! that the middle of a bucket is within 1/64 of any value in it. Buckets are fixed, whatever was
//! counted before: merging is addition, and its order cannot show.

/// Buckets a power of two.
pub(super) const SUB_BUCKETS: u32 = 32;
/// `log2` of [`SUB_BUCKETS`].
const SUB_BITS: u32 = 5;
/// Buckets for all of `u64`.
pub(super) const BUCKETS: u32 = (u64::BITS - SUB_BITS) * SUB_BUCKETS + SUB_BUCKETS;

/// Counts by bucket, for the buckets that are in use: one rare long call makes the range ten times
/// as wide, and the histogram no larger than by one count.
///
/// There are two for each function of a trace, with hundreds of buckets each, and they are all held
/// until a report is written: so they are packed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Histogram {
    /// In ascending order, for each bucket in use: its distance from the one before (from 0 for the
    /// first) and its count, seven bits a byte, the lowest first, the top bit set in all but the
    /// last.
    packed: Box<[u8]>,
}

impl Histogram {
    /// Counts `value` once. Takes time in proportion to the buckets in use.
    pub fn record(&mut self, value: u64) {
        self.add(bucket_of(value) as u16, 1);
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        if self.packed.is_empty() || other.packed.is_empty() {
            // Nothing to add up, and this is how most histograms of a summary begin.
            if self.packed.is_empty() {
                self.clone_from(other);
            }
            return;
        }
        let ours = std::mem::take(self);
        let (mut ours, mut theirs) = (ours.used().peekable(), other.used().peekable());
        let merged = std::iter::from_fn(|| match (ours.peek(), theirs.peek()) {
            (Some(one), Some(two)) if one.0 <= two.0 => ours.next(),
            (Some(_), None) => ours.next(),
            _ => theirs.next(),
        });
        *self = merged.collect();
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.used().fold(0, |sum, (_, count)| sum.saturating_add(count))
    }

    /// Buckets in use: the middle of each and its count, in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.used().map(|(bucket, count)| (middle_of(bucket.into()), count))
    }

    /// The value at rank `ceil(percent / 100 · count)`, given the smallest and the largest value
    /// counted; nothing if nothing was counted. `percent` is above 0 and at most 100.
    ///
    /// Of the values that the bucket of this rank may hold, it is the one with the fewest
    /// significant digits, so that it shows no digit that the histogram does not know.
    pub fn percentile(&self, percent: f64, min: u64, max: u64) -> Option<u64> {
        let total = self.count();
        let rank = rank_of(percent, total);
        if rank == total && total > 0 {
            return Some(max);
        }
        let bucket = self.bucket_at(rank)?;
        let (low, high) = bounds_of(bucket.into());
        Some(roundest(low.max(min), high.min(max)))
    }

    /// The same as the middle of the bucket, within `min` and `max`: the better estimate where it
    /// is not printed but calculated with.
    pub fn percentile_middle(&self, percent: f64, min: u64, max: u64) -> Option<u64> {
        let bucket = self.bucket_at(rank_of(percent, self.count()))?;
        Some(middle_of(bucket.into()).max(min).min(max))
    }

    /// The bucket of the value at `rank`.
    fn bucket_at(&self, rank: u64) -> Option<u16> {
        let mut below = 0_u64;
        self.used().find_map(|(bucket, count)| {
            below = below.saturating_add(count);
            (below >= rank).then_some(bucket)
        })
    }

    /// The same counts with every value multiplied by `factor`, as far as buckets allow.
    pub(super) fn scaled(&self, factor: impl Fn(u64) -> u64) -> Self {
        let scaled =
            self.buckets().map(|(middle, count)| (bucket_of(factor(middle)) as u16, count));
        scaled.collect()
    }

    /// The text form: `bucket:count` for each bucket in use, joined by commas; buckets as the
    /// distance from the one before (from 0 for the first), `:count` left out where it is 1.
    pub fn encode(&self) -> String {
        use std::fmt::Write;
        let mut text = String::new();
        let mut before = 0;
        for (bucket, count) in self.used() {
            let comma = if text.is_empty() { "" } else { "," };
            let step = bucket - before;
            before = bucket;
            let written = match count {
                1 => write!(text, "{comma}{step}"),
                _ => write!(text, "{comma}{step}:{count}"),
            };
            written.expect("writing to a string cannot fail");
        }
        text
    }

    /// Reads the text form back.
    pub fn decode(text: &str) -> Result<Self, String> {
        let mut used = Vec::new();
        let mut bucket = 0_u32;
        for item in text.split(',').filter(|_| !text.is_empty()) {
            let (step, count) = item.split_once(':').unwrap_or((item, "1"));
            let (Ok(step), Ok(count)) = (step.parse::<u32>(), count.parse::<u64>()) else {
                return Err(format!("histogram item {item:?}, expected STEP or STEP:COUNT"));
            };
            bucket = bucket.saturating_add(step);
            if bucket >= BUCKETS || count == 0 {
                return Err(format!(
                    "histogram item {item:?} leads to bucket {bucket} with count {count}, \
                     expected a bucket below {BUCKETS} and a count above 0"
                ));
            }
            used.push((bucket as u16, count));
        }
        Ok(used.into_iter().collect())
    }

    /// Buckets in use with their counts, in ascending order.
    fn used(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let mut packed = self.packed.iter();
        let mut bucket = 0;
        std::iter::from_fn(move || {
            bucket += take_packed(&mut packed)? as u16;
            Some((bucket, take_packed(&mut packed)?))
        })
    }

    fn add(&mut self, bucket: u16, count: u64) {
        self.merge(&std::iter::once((bucket, count)).collect());
    }
}

/// From buckets in ascending order with their counts, which are added up where a bucket comes again.
impl FromIterator<(u16, u64)> for Histogram {
    fn from_iter<T: IntoIterator<Item = (u16, u64)>>(used: T) -> Self {
        let mut packed = Vec::new();
        let mut before = 0;
        let mut put = |(bucket, count): (u16, u64)| {
            pack(u64::from(bucket - before), &mut packed);
            pack(count, &mut packed);
            before = bucket;
        };
        let mut held: Option<(u16, u64)> = None;
        for (bucket, count) in used {
            match &mut held {
                Some((same, sum)) if *same == bucket => *sum = sum.saturating_add(count),
                _ => {
                    if let Some(done) = held.replace((bucket, count)) {
                        put(done);
                    }
                }
            }
        }
        if let Some(last) = held {
            put(last);
        }
        Self { packed: packed.into_boxed_slice() }
    }
}

fn pack(mut number: u64, packed: &mut Vec<u8>) {
    while number >= 1 << 7 {
        packed.push(number as u8 | 1 << 7);
        number >>= 7;
    }
    packed.push(number as u8);
}

fn take_packed(packed: &mut std::slice::Iter<'_, u8>) -> Option<u64> {
    let mut number = 0;
    let mut shift = 0;
    loop {
        let byte = *packed.next()?;
        number |= u64::from(byte & 0x7f) << shift;
        shift += 7;
        if byte < 1 << 7 {
            return Some(number);
        }
    }
}

/// The nearest rank: `ceil(percent / 100 · total)`, at least 1.
fn rank_of(percent: f64, total: u64) -> u64 {
    // Integer arithmetic in millionths of a percent: 0.1 · 1000 must be rank 1, not 2.
    let millionths = (percent.clamp(0.0, 100.0) * 1e6).round() as u128;
    let rank = (millionths * u128::from(total)).div_ceil(100_000_000);
    u64::try_from(rank).unwrap_or(total).max(1)
}

#[inline]
pub(super) fn bucket_of(value: u64) -> u32 {
    // The highest bit, but no lower than the first one that has 32 buckets.
    let octave = (value | u64::from(SUB_BUCKETS)).ilog2() - SUB_BITS;
    octave * SUB_BUCKETS + (value >> octave) as u32
}

/// [`bucket_of`] a value that is short: most are, and that takes fewer steps.
#[inline]
pub(super) fn bucket_of_short(value: u32) -> u32 {
    let octave = (value | SUB_BUCKETS).ilog2() - SUB_BITS;
    octave * SUB_BUCKETS + (value >> octave)
}

/// The smallest and the largest value of a bucket.
fn bounds_of(bucket: u32) -> (u64, u64) {
    let octave = (bucket / SUB_BUCKETS).saturating_sub(1);
    let low = u64::from(bucket - octave * SUB_BUCKETS) << octave;
    (low, low + ((1 << octave) - 1))
}

/// The middle of a bucket, rounded down.
fn middle_of(bucket: u32) -> u64 {
    let (low, high) = bounds_of(bucket);
    low + (high - low) / 2
}

/// The value from `low` to `high` with the fewest significant digits, the one nearest to their
/// middle of several; `low` if `high` is below it.
fn roundest(low: u64, high: u64) -> u64 {
    let Some(room) = high.checked_sub(low) else { return low };
    let middle = low + room / 2;
    let mut step = 1_u64;
    while let Some(next) = step.checked_mul(10) {
        // The first multiple that is not below `low`.
        if low.div_ceil(next).checked_mul(next).is_none_or(|multiple| multiple > high) {
            break;
        }
        step = next;
    }
    let below = middle / step * step;
    let above = below.checked_add(step).filter(|&above| above <= high);
    match above {
        Some(above) if below < low || above - middle < middle - below => above,
        _ => below,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        for &value in values {
            histogram.record(value);
        }
        histogram
    }

    /// Values of all magnitudes, as durations are.
    fn value() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0..64_u32).prop_map(|(bits, shift)| bits >> shift)
    }

    #[test]
    fn small_values_and_the_largest_have_their_place() {
        for value in 0..64 {
            assert_eq!((bucket_of(value), middle_of(bucket_of(value))), (value as u32, value));
        }
        assert_eq!(bucket_of(64), 64);
        assert_eq!(bucket_of(65), 64);
        assert_eq!(bucket_of(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn short_values_have_the_same_places() {
        for shift in 0..32 {
            for value in [u32::MAX >> shift, (u32::MAX >> shift) ^ 1, 1 << shift] {
                assert_eq!(bucket_of_short(value), bucket_of(u64::from(value)), "{value}");
            }
        }
    }

    #[test]
    fn the_text_form_is_small() {
        let histogram = of(&[5, 5, 5, 6, 1000]);
        assert_eq!(histogram.encode(), "5:3,1,184");
        assert_eq!(Histogram::decode(""), Ok(Histogram::default()));
        for bad in [",", "x", "1:", "1:0", "1920", "4294967295,4294967295", "-1", "1,"] {
            assert!(Histogram::decode(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_percentile_has_no_digit_that_the_histogram_does_not_know() {
        for ((low, high), expected) in [
            ((12_288, 12_543), 12_400),
            ((12_288, 12_299), 12_290),
            ((950, 1_100), 1_000),
            ((0, 0), 0),
            ((7, 7), 7),
            ((5_001, 5_009), 5_005),
            ((u64::MAX - 9, u64::MAX), 18_446_744_073_709_551_610),
        ] {
            assert_eq!(roundest(low, high), expected, "{low} to {high}");
        }
        let histogram = of(&[1_000, 12_345, 12_400, 777_777]);
        let at = |percent| histogram.percentile(percent, 1_000, 777_777).unwrap();
        assert_eq!([10.0, 50.0, 75.0, 100.0].map(at), [1_000, 12_400, 12_400, 777_777]);
    }

    #[test]
    fn ranks_are_exact_where_floats_are_not() {
        assert_eq!(rank_of(0.1, 1000), 1);
        assert_eq!(rank_of(99.9, 1000), 999);
        assert_eq!(rank_of(50.0, 3), 2);
        assert_eq!(rank_of(100.0, u64::MAX), u64::MAX);
    }

    proptest! {
        #[test]
        fn the_middle_is_within_a_64th(value in value()) {
            let middle = middle_of(bucket_of(value));
            prop_assert_eq!(bucket_of(middle), bucket_of(value));
            prop_assert!(u128::from(middle.abs_diff(value)) * 64 <= u128::from(value));
        }

        #[test]
        fn percentiles_are_those_of_a_sort(
            mut values in prop::collection::vec(value(), 1..200),
            percent in 1..=100_u32,
        ) {
            let histogram = of(&values);
            values.sort_unstable();
            let rank = (values.len() * percent as usize).div_ceil(100);
            let exact = values[rank - 1];
            let (min, max) = (values[0], values[values.len() - 1]);
            let found = histogram.percentile(f64::from(percent), min, max).unwrap();
            prop_assert!(u128::from(found.abs_diff(exact)) * 32 <= u128::from(exact));
            prop_assert!((min..=max).contains(&found));
        }

        #[test]
        fn merging_is_counting_in_any_order(
            a in prop::collection::vec(value(), 0..50),
            b in prop::collection::vec(value(), 0..50),
            c in prop::collection::vec(value(), 0..50),
        ) {
            let whole = of(&[&a[..], &b, &c].concat());
            let mut left = of(&a);
            left.merge(&of(&b));
            left.merge(&of(&c));
            let mut right = of(&c);
            right.merge(&of(&b));
            let mut outer = of(&a);
            outer.merge(&right);
            prop_assert_eq!(&left, &whole);
            prop_assert_eq!(&outer, &whole);
            prop_assert_eq!(Histogram::decode(&whole.encode()).unwrap(), whole);
        }
    }
}
