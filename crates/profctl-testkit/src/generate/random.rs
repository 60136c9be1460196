//! Numbers from a seed.

/// Steele, Lea and Flood's splitmix64 (2014): one addition and two multiplications a number.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next number.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is above 0.
    #[inline]
    pub fn below(&mut self, end: u64) -> u64 {
        // The bias of this reduction is below 2^-32 for the small ends used here.
        ((u128::from(self.next_u64()) * u128::from(end)) >> 64) as u64
    }

    /// Whether an event of `percent` in a hundred happened.
    #[inline]
    pub fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// A length around `typical` with a long tail: half of them below it, one in a thousand above
    /// a hundred times it.
    #[inline]
    pub fn length(&mut self, typical: u64) -> u64 {
        let stretch = match self.below(1000) {
            0 => 200,
            1..=19 => 20,
            20..=199 => 4,
            _ => 1,
        };
        1 + self.below(2 * typical * stretch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sequence_is_the_published_one() {
        let mut random = Random::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn numbers_stay_below_their_end() {
        let mut random = Random::new(7);
        assert!((0..1000).all(|_| random.below(3) < 3));
    }
}
