//! Lengths on their way into histograms.
//!
//! The histograms of thousands of functions do not fit into a core's cache. Counting each call as it
//! comes would wait for memory, for longer than it takes to read the line that tells of the call. So
//! lengths are noted one behind the other, and when there are many, they are sorted by histogram and
//! counted histogram by histogram.

use super::histogram::{BUCKETS, Histogram, bucket_of_short};

/// Notes that are kept at most: 1 MB, and half as much to sort them.
const KEPT: usize = 1 << 18;
/// Bits of a note for the bucket; the others are for the histogram.
const BUCKET_BITS: u32 = BUCKETS.next_power_of_two().trailing_zeros();
/// Histograms that a note can name.
const NAMED: usize = 1 << (u32::BITS - BUCKET_BITS);

/// Histograms by their number, and what is still to be counted in them.
#[derive(Debug, Default)]
pub(super) struct Pending {
    tallies: Vec<Tally>,
    notes: Vec<u32>,
    /// Room to sort buckets in.
    sorted: Vec<u16>,
}

/// A histogram in the making. Most counts stay small, so each has one byte, and what it cannot hold
/// is moved on: the fewer cache lines there are, the fewer are fetched.
#[derive(Clone, Debug, Default)]
struct Tally {
    /// The bucket of `counts[0]`.
    first: u16,
    counts: Vec<u8>,
    more: Histogram,
}

impl Tally {
    fn add(&mut self, buckets: &[u16]) {
        let (Some(&low), Some(&high)) = (buckets.iter().min(), buckets.iter().max()) else {
            return;
        };
        if low < self.first || usize::from(high - self.first) >= self.counts.len() {
            self.cover(low, high);
        }
        for &bucket in buckets {
            let count = &mut self.counts[usize::from(bucket - self.first)];
            *count = count.wrapping_add(1);
            if *count == 0 {
                self.more.add(u32::from(bucket), 1 << u8::BITS);
            }
        }
    }

    /// Makes room for buckets `low..=high`.
    #[cold]
    fn cover(&mut self, low: u16, high: u16) {
        if self.counts.is_empty() {
            self.first = low;
        }
        if low < self.first {
            let missing = usize::from(self.first - low);
            self.counts.splice(..0, std::iter::repeat_n(0, missing));
            self.first = low;
        }
        let length = usize::from(high - self.first) + 1;
        self.counts.resize(length.max(self.counts.len()), 0);
    }

    fn finish(mut self) -> Histogram {
        self.more.merge(&Histogram::of_counts(self.first.into(), &self.counts));
        self.more
    }
}

impl Pending {
    /// Counts `length` in the histogram of that number, which [`Self::cover`] made.
    #[inline]
    pub(super) fn record(&mut self, histogram: usize, length: u32) {
        let bucket = bucket_of_short(length);
        if histogram >= NAMED {
            self.tallies[histogram].add(&[bucket as u16]);
            return;
        }
        self.notes.push((histogram as u32) << BUCKET_BITS | bucket);
        if self.notes.len() >= KEPT {
            self.settle();
        }
    }

    /// Makes histograms of numbers up to `n`.
    pub(super) fn cover(&mut self, n: usize) {
        self.tallies.resize_with(n.max(self.tallies.len()), Tally::default);
    }

    /// Counts what was noted.
    #[inline(never)]
    fn settle(&mut self) {
        let of = |note: u32| (note >> BUCKET_BITS) as usize;
        // Where the notes of each histogram begin, then where they end.
        let mut places = vec![0; self.tallies.len() + 1];
        for &note in &self.notes {
            places[of(note) + 1] += 1_u32;
        }
        for at in 1..places.len() {
            places[at] += places[at - 1];
        }
        self.sorted.resize(self.notes.len(), 0);
        for &note in &self.notes {
            let place = &mut places[of(note)];
            self.sorted[*place as usize] = (note % (1 << BUCKET_BITS)) as u16;
            *place += 1;
        }
        self.notes.clear();
        let mut start = 0;
        for (tally, &end) in self.tallies.iter_mut().zip(&places) {
            tally.add(&self.sorted[start..end as usize]);
            start = end as usize;
        }
    }

    /// The histograms, in the order of their numbers.
    pub(super) fn finish(mut self) -> Vec<Histogram> {
        self.settle();
        self.tallies.into_iter().map(Tally::finish).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_lost_or_counted_elsewhere() {
        let mut pending = Pending::default();
        let mut expected = vec![Histogram::default(); 50];
        let mut value = 1_u32;
        pending.cover(50);
        for n in 0..KEPT * 2 + 17 {
            value = value.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let length = value >> (n % 31);
            let histogram = (value >> 8) as usize % 7 * 8;
            pending.record(histogram, length);
            expected[histogram].record(u64::from(length));
        }
        pending.cover(NAMED + 1);
        pending.record(NAMED, 5);
        let found = pending.finish();
        assert_eq!(found.len(), NAMED + 1);
        assert_eq!(found[..50], expected);
        assert_eq!(found[NAMED].encode(), "5");
    }
}
