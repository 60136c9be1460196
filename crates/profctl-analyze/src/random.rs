//! Numbers from a seed, for resampling.

/// Steele, Lea and Flood's splitmix64 (2014).
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is above 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        ((u128::from(self.next_u64()) * end as u128) >> 64) as usize
    }

    /// A number above 0 and below 1.
    pub(crate) fn uniform(&mut self) -> f64 {
        ((self.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A normal number (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.uniform().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// A number of the gamma distribution with scale 1 (Marsaglia and Tsang 2000); `shape` is at
    /// least 1.
    pub(crate) fn gamma(&mut self, shape: f64) -> f64 {
        let level = shape - 1.0 / 3.0;
        let spread = (9.0 * level).sqrt().recip();
        loop {
            let normal = self.normal();
            let cube = (1.0 + spread * normal).powi(3);
            if cube > 0.0
                && self.uniform().ln() < 0.5 * normal * normal + level * (1.0 - cube + cube.ln())
            {
                return level * cube;
            }
        }
    }
}
