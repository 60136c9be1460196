//! Lengths on their way into histograms.
//!
//! The histograms of thousands of functions do not fit into a core's cache. Counting each call
//! immediately causes a cache miss that takes longer than parsing its line. So durations are
//! appended to a buffer, and when there are many, they are sorted by histogram and counted
//! histogram by histogram.

use super::histogram::{BUCKETS, Histogram, SUB_BUCKETS, bucket_of, bucket_of_short};

/// Notes that are kept at most: 4 MB, and half as much to sort them.
const KEPT: usize = 1 << 20;
/// Bits of a note for the bucket; the others are for the histogram.
const BUCKET_BITS: u32 = BUCKETS.next_power_of_two().trailing_zeros();
/// Histograms that a note can name.
const NAMED: usize = 1 << (u32::BITS - BUCKET_BITS);

/// Histograms by their number, and what is still to be counted in them.
#[derive(Clone, Debug, Default)]
pub(super) struct Pending {
    tallies: Vec<Tally>,
    notes: Vec<u32>,
    /// Space to sort buckets in.
    sorted: Vec<u16>,
}

/// A histogram in the making. Counts that stay below 2^16 take two bytes, and an octave of them one
/// cache line, which is made when something is counted in it; what a count cannot hold is moved on.
#[derive(Clone, Debug)]
struct Tally {
    /// By octave: which of `counts`, from 1; 0 if nothing was counted in it.
    octaves: [u8; OCTAVES],
    counts: Vec<[u16; OCTAVE]>,
    /// Multiples of 2^16.
    more: Histogram,
}

/// Buckets of an octave, and octaves.
const OCTAVE: usize = SUB_BUCKETS as usize;
const OCTAVES: usize = BUCKETS as usize / OCTAVE;

impl Default for Tally {
    fn default() -> Self {
        Self { octaves: [0; OCTAVES], counts: Vec::new(), more: Histogram::default() }
    }
}

impl Tally {
    fn add(&mut self, buckets: &[u16]) {
        for &bucket in buckets {
            let octave = usize::from(bucket) / OCTAVE;
            if self.octaves[octave] == 0 {
                self.make(octave);
            }
            let counts = &mut self.counts[usize::from(self.octaves[octave]) - 1];
            let count = &mut counts[usize::from(bucket) % OCTAVE];
            *count = count.wrapping_add(1);
            if *count == 0 {
                self.more.merge(&std::iter::once((bucket, 1 << u16::BITS)).collect());
            }
        }
    }

    #[cold]
    fn make(&mut self, octave: usize) {
        self.counts.reserve_exact(1);
        self.counts.push([0; OCTAVE]);
        self.octaves[octave] = self.counts.len() as u8;
    }

    fn finish(mut self) -> Histogram {
        let made = self.octaves.iter().enumerate().filter(|&(_, &at)| at > 0);
        let counts = made.flat_map(|(octave, &at)| {
            let buckets = (octave * OCTAVE) as u16..;
            buckets.zip(self.counts[usize::from(at) - 1].map(u64::from))
        });
        self.more.merge(&counts.filter(|&(_, count)| count > 0).collect());
        self.more
    }
}

impl Pending {
    /// Counts `length` in the histogram of that number, which [`Self::cover`] made.
    #[inline]
    pub(super) fn record(&mut self, histogram: usize, length: u32) {
        self.note(histogram, bucket_of_short(length));
    }

    /// The same for a length that may be long.
    pub(super) fn record_any(&mut self, histogram: usize, length: u64) {
        self.note(histogram, bucket_of(length));
    }

    #[inline]
    fn note(&mut self, histogram: usize, bucket: u32) {
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

    /// Counts what was noted last, and gives its space to the histograms that are taken now.
    pub(super) fn close(&mut self) {
        self.settle();
        self.notes = Vec::new();
        self.sorted = Vec::new();
    }

    /// Returns the histogram of that number, once this is closed; an empty one if it was never
    /// made.
    pub(super) fn take(&mut self, histogram: usize) -> Histogram {
        self.tallies.get_mut(histogram).map(std::mem::take).unwrap_or_default().finish()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn nothing_is_lost_or_counted_elsewhere() {
        let mut pending = Pending::default();
        let mut expected = vec![BTreeMap::new(); 50];
        let mut value = 1_u32;
        pending.cover(50);
        for n in 0..KEPT * 2 + 17 {
            value = value.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let length = value >> (n % 31);
            let histogram = (value >> 8) as usize % 7 * 8;
            pending.record(histogram, length);
            *expected[histogram].entry(bucket_of_short(length) as u16).or_insert(0) += 1;
        }
        pending.cover(NAMED + 1);
        pending.record(NAMED, 5);
        pending.close();
        for (histogram, counts) in expected.into_iter().enumerate() {
            assert_eq!(pending.take(histogram), counts.into_iter().collect(), "{histogram}");
        }
        assert_eq!(pending.take(NAMED).encode(), "5");
        assert_eq!(pending.take(NAMED + 1).encode(), "");
    }
}
