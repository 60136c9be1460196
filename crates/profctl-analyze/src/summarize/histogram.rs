//! How often a call took how long: a log-linear histogram that adds up.
//!
//! Values below 64 have a bucket each; above, every power of two is cut into 32 equal buckets, so
//! that the middle of a bucket is within 1/64 of any value in it. Buckets are fixed, whatever was
//! counted before: merging is addition, and its order cannot show. Where traces of different clocks
//! are merged, each keeps the buckets of its own clock, with their unit: converting them would
//! round twice.

use std::collections::BTreeMap;

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
    /// first) and its count, seven bits per byte, the lowest first, the top bit set in all but the
    /// last.
    packed: Box<[u8]>,
    /// Counts in other units; rarely any.
    others: Option<Box<Others>>,
}

/// The counts of values in each unit, by unit. None of them is 1, or empty.
type Others = BTreeMap<Unit, Box<[u8]>>;

/// What a value of 1 stands for: a fraction in lowest terms.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Unit {
    numerator: u64,
    denominator: u64,
}

impl Unit {
    const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// So many of these; clamped to the largest value.
    fn times(self, numerator: u128, denominator: u128) -> Self {
        let mut top = u128::from(self.numerator).saturating_mul(numerator);
        let mut bottom = u128::from(self.denominator).saturating_mul(denominator).max(1);
        let divisor = gcd(top, bottom).max(1);
        (top, bottom) = (top / divisor, bottom / divisor);
        let held = |value: u128| u64::try_from(value).unwrap_or(u64::MAX);
        Self { numerator: held(top), denominator: held(bottom) }
    }

    fn of(self, value: u64) -> u64 {
        let (top, bottom) = (u128::from(self.numerator), u128::from(self.denominator));
        let scaled = u128::from(value).saturating_mul(top).saturating_add(bottom / 2) / bottom;
        u64::try_from(scaled).unwrap_or(u64::MAX)
    }
}

fn gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

impl Histogram {
    /// Counts `value` once. Takes time in proportion to the buckets in use.
    pub fn record(&mut self, value: u64) {
        self.add(bucket_of(value) as u16, 1);
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.packed = added(&self.packed, &other.packed);
        for (&unit, theirs) in other.others.iter().flat_map(|others| others.iter()) {
            let ours = self.others.get_or_insert_default().entry(unit).or_default();
            *ours = added(ours, theirs);
        }
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.parts().flat_map(|(_, part)| used(part)).fold(0, |sum, (_, n)| sum.saturating_add(n))
    }

    /// Buckets in use: the middle of each and its count, in ascending order.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let all = self.sorted();
        let (plain, sorted) = match all {
            None => (Some(used(&self.packed)), None),
            Some(sorted) => (None, Some(sorted)),
        };
        let plain = plain.into_iter().flatten().map(|(bucket, n)| (middle_of(bucket.into()), n));
        let sorted = sorted.into_iter().flatten();
        plain.chain(sorted.map(|(unit, bucket, n)| (unit.of(middle_of(bucket.into())), n)))
    }

    /// The units with the counts in them.
    fn parts(&self) -> impl Iterator<Item = (Unit, &[u8])> + '_ {
        let others = self.others.iter().flat_map(|others| others.iter());
        std::iter::once((Unit::ONE, &*self.packed))
            .chain(others.map(|(&unit, packed)| (unit, &**packed)))
    }

    /// The buckets of all units by the values that they hold; nothing if there is one unit.
    fn sorted(&self) -> Option<Vec<(Unit, u16, u64)>> {
        self.others.as_ref()?;
        let parts = self.parts();
        let mut all: Vec<_> = parts
            .flat_map(|(unit, part)| used(part).map(move |(bucket, n)| (unit, bucket, n)))
            .collect();
        all.sort_by_key(|&(unit, bucket, _)| (unit.of(middle_of(bucket.into())), unit, bucket));
        Some(all)
    }

    /// The value at rank `ceil(percent / 100 · count)`, given the smallest and the largest value
    /// counted; nothing if nothing was counted. `percent` is above 0 and at most 100.
    ///
    /// Of the values that the bucket of this rank may hold, it is the one with the fewest
    /// significant digits, so that it shows no digit beyond the accuracy of the histogram.
    pub fn percentile(&self, percent: f64, min: u64, max: u64) -> Option<u64> {
        let total = self.count();
        let rank = rank_of(percent, total);
        if rank == total && total > 0 {
            return Some(max);
        }
        let (unit, bucket) = self.bucket_at(rank)?;
        let (low, high) = bounds_of(bucket.into());
        let (low, high) = (unit.of(low).max(min), unit.of(high).min(max));
        Some(roundest(low.min(high), high))
    }

    /// The same as the middle of the bucket, within `min` and `max`: the better estimate where it
    /// is not printed but calculated with.
    pub fn percentile_middle(&self, percent: f64, min: u64, max: u64) -> Option<u64> {
        let (unit, bucket) = self.bucket_at(rank_of(percent, self.count()))?;
        Some(unit.of(middle_of(bucket.into())).max(min).min(max))
    }

    /// The bucket of the value at `rank`, and its unit.
    fn bucket_at(&self, rank: u64) -> Option<(Unit, u16)> {
        let mut below = 0_u64;
        let mut is_there = |count: u64| {
            below = below.saturating_add(count);
            below >= rank
        };
        match self.sorted() {
            None => used(&self.packed)
                .find_map(|(bucket, n)| is_there(n).then_some((Unit::ONE, bucket))),
            Some(all) => {
                all.into_iter().find_map(|(unit, bucket, n)| is_there(n).then_some((unit, bucket)))
            }
        }
    }

    /// The same counts of values that are `numerator / denominator` times as large.
    pub(crate) fn scaled(&self, (numerator, denominator): (u128, u128)) -> Self {
        let mut scaled = Self::default();
        for (unit, part) in self.parts().filter(|(_, part)| !part.is_empty()) {
            let unit = unit.times(numerator, denominator);
            if unit == Unit::ONE {
                scaled.packed = added(&scaled.packed, part);
            } else {
                let others = scaled.others.get_or_insert_default();
                let ours = others.entry(unit).or_default();
                *ours = added(ours, part);
            }
        }
        scaled
    }

    /// The text form: `bucket:count` for each bucket in use, joined by commas; buckets as the
    /// distance from the one before (from 0 for the first), `:count` omitted where it is 1. Counts
    /// in other units follow, each after `;NUMERATOR/DENOMINATOR*`.
    pub fn encode(&self) -> String {
        let mut text = String::new();
        for (unit, part) in self.parts() {
            let Unit { numerator, denominator } = unit;
            if unit != Unit::ONE {
                text.push(';');
                write_number(numerator, &mut text);
                text.push('/');
                write_number(denominator, &mut text);
                text.push('*');
            }
            let mut before = None;
            for (bucket, count) in used(part) {
                if before.is_some() {
                    text.push(',');
                }
                write_number(u64::from(bucket - before.unwrap_or(0)), &mut text);
                if count != 1 {
                    text.push(':');
                    write_number(count, &mut text);
                }
                before = Some(bucket);
            }
        }
        text
    }

    /// Reads the text form back.
    pub fn decode(text: &str) -> Result<Self, String> {
        let mut parts = text.split(';');
        let mut histogram = Self { packed: decode(parts.next().unwrap_or(""))?, others: None };
        for part in parts {
            let unit = part.split_once('*').and_then(|(unit, rest)| {
                let (numerator, denominator) = unit.split_once('/')?;
                Some((numerator.parse().ok()?, denominator.parse().ok()?, rest))
            });
            let Some((numerator @ 1_u64.., denominator @ 1_u64.., rest)) = unit else {
                return Err(format!("histogram part {part:?}, expected NUMERATOR/DENOMINATOR*…"));
            };
            let packed = decode(rest)?;
            let counts = Self { packed, others: None };
            histogram.merge(&counts.scaled((numerator.into(), denominator.into())));
        }
        Ok(histogram)
    }

    fn add(&mut self, bucket: u16, count: u64) {
        self.merge(&std::iter::once((bucket, count)).collect());
    }
}

/// Buckets in use with their counts, in ascending order.
fn used(packed: &[u8]) -> impl Iterator<Item = (u16, u64)> + '_ {
    let mut packed = packed.iter();
    let mut bucket = 0;
    std::iter::from_fn(move || {
        bucket += take_packed(&mut packed)? as u16;
        Some((bucket, take_packed(&mut packed)?))
    })
}

/// The counts of both.
fn added(ours: &[u8], theirs: &[u8]) -> Box<[u8]> {
    if ours.is_empty() || theirs.is_empty() {
        // Nothing to add up, and this is how most histograms of a summary begin.
        return if ours.is_empty() { theirs.into() } else { ours.into() };
    }
    let (mut ours, mut theirs) = (used(ours).peekable(), used(theirs).peekable());
    let merged = std::iter::from_fn(|| match (ours.peek(), theirs.peek()) {
        (Some(one), Some(two)) if one.0 <= two.0 => ours.next(),
        (Some(_), None) => ours.next(),
        _ => theirs.next(),
    });
    merged.collect::<Histogram>().packed
}

/// One part of the text form. It is most of the text of a saved profile, so it is taken apart by
/// bytes.
fn decode(text: &str) -> Result<Box<[u8]>, String> {
    let mut packer = Packer::default();
    let mut bucket = 0_u32;
    if text.is_empty() {
        return Ok(packer.finish());
    }
    for item in text.as_bytes().split(|&byte| byte == b',') {
        let (step, count) = match item.iter().position(|&byte| byte == b':') {
            Some(colon) => (number(&item[..colon]), number(&item[colon + 1..])),
            None => (number(item), Some(1)),
        };
        let shown = String::from_utf8_lossy;
        let (Some(Ok(step)), Some(count)) = (step.map(u32::try_from), count) else {
            return Err(format!("histogram item {:?}, expected STEP or STEP:COUNT", shown(item)));
        };
        bucket = bucket.saturating_add(step);
        if bucket >= BUCKETS || count == 0 {
            return Err(format!(
                "histogram item {:?} leads to bucket {bucket} with count {count}, \
                 expected a bucket below {BUCKETS} and a count above 0",
                shown(item)
            ));
        }
        packer.add(bucket as u16, count);
    }
    Ok(packer.finish())
}

/// A number in decimal digits and nothing else.
fn number(digits: &[u8]) -> Option<u64> {
    let add = |sum: u64, &digit: &u8| {
        let value = digit.is_ascii_digit().then(|| u64::from(digit - b'0'))?;
        sum.checked_mul(10)?.checked_add(value)
    };
    (!digits.is_empty()).then(|| digits.iter().try_fold(0, add))?
}

fn write_number(number: u64, text: &mut String) {
    if number >= 10 {
        write_number(number / 10, text);
    }
    text.push(char::from(b'0' + (number % 10) as u8));
}

/// From buckets in ascending order with their counts, which are added up where a bucket comes again.
impl FromIterator<(u16, u64)> for Histogram {
    fn from_iter<T: IntoIterator<Item = (u16, u64)>>(used: T) -> Self {
        let mut packer = Packer::default();
        for (bucket, count) in used {
            packer.add(bucket, count);
        }
        Self { packed: packer.finish(), others: None }
    }
}

/// Packs buckets that come in ascending order.
#[derive(Default)]
struct Packer {
    packed: Vec<u8>,
    before: u16,
    /// The last bucket, which may come again.
    held: Option<(u16, u64)>,
}

impl Packer {
    fn add(&mut self, bucket: u16, count: u64) {
        match &mut self.held {
            Some((same, sum)) if *same == bucket => *sum = sum.saturating_add(count),
            _ => {
                if let Some(done) = self.held.replace((bucket, count)) {
                    self.put(done);
                }
            }
        }
    }

    fn put(&mut self, (bucket, count): (u16, u64)) {
        pack(u64::from(bucket - self.before), &mut self.packed);
        pack(count, &mut self.packed);
        self.before = bucket;
    }

    fn finish(mut self) -> Box<[u8]> {
        if let Some(last) = self.held.take() {
            self.put(last);
        }
        self.packed.into_boxed_slice()
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
            prop_assert!(percent < 100 || found == max);
        }

        #[test]
        fn values_of_different_clocks_keep_their_bound(
            ours in prop::collection::vec(1..100_000_u64, 1..50),
            theirs in prop::collection::vec(1..100_000_u64, 1..50),
            percent in 1..=100_u32,
            unit in prop::sample::select(vec![(1000_u64, 1_u64), (125, 3), (1, 24)]),
        ) {
            let (numerator, denominator) = (u128::from(unit.0), u128::from(unit.1));
            let mut merged = of(&ours);
            merged.merge(&of(&theirs).scaled((numerator, denominator)));
            let scaled = |value: &u64| {
                ((u128::from(*value) * numerator + denominator / 2) / denominator) as u64
            };
            let mut values: Vec<u64> = theirs.iter().map(scaled).chain(ours.clone()).collect();
            values.sort_unstable();
            let rank = (values.len() * percent as usize).div_ceil(100);
            let exact = values[rank - 1];
            let (min, max) = (values[0], values[values.len() - 1]);
            let found = merged.percentile_middle(f64::from(percent), min, max).unwrap();
            // One for the rounding of each of the two.
            let off = u128::from(found.abs_diff(exact).saturating_sub(2));
            prop_assert!(off * 64 <= u128::from(exact), "{} for {}", found, exact);
            prop_assert_eq!(Histogram::decode(&merged.encode()).unwrap(), merged);
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
