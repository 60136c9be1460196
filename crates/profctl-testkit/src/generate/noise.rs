//! Generated runs of two builds with known noise and a known change, for tests of the statistics.

use super::Random;

/// What runs vary like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noise {
    /// Like a bell.
    Normal,
    /// With far outliers: Student's t with 3 degrees of freedom.
    HeavyTails,
    /// Between two states, of which each run of a function takes one, either as likely: 0.9
    /// standard deviations above or below the middle, with 0.19 of the variance around them.
    TwoStates,
    /// Between two states, the slow one of which takes one run of a function in eight: as far apart
    /// as leaves 0.19 of the variance around them, which is 2.7 standard deviations.
    SlowState,
    /// Like a bell, twice as wide on the side after.
    TwiceAfter,
    /// Normal, with a run-wide drift of 3 %.
    Drift,
}

impl Noise {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Normal,
        Self::HeavyTails,
        Self::SlowState,
        Self::TwoStates,
        Self::TwiceAfter,
        Self::Drift,
    ];
}

/// Two groups of runs.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    /// What they vary like.
    pub noise: Noise,
    /// Functions.
    pub n_functions: usize,
    /// Boots on each side.
    pub n_boots: usize,
    /// Runs of each boot.
    pub n_runs: usize,
    /// How far boots vary, in units of how far the runs of one boot do.
    pub boots: f64,
    /// How many in a hundred functions changed.
    pub changed_percent: u64,
    /// What they changed to, as a ratio.
    pub ratio: f64,
}

/// One function: binary logarithms of its time in each run, boot by boot.
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Runs before.
    pub before: Vec<f64>,
    /// Runs after.
    pub after: Vec<f64>,
    /// Binary logarithm of its calls.
    pub intensity: f64,
    /// Whether it changed.
    pub changed: bool,
}

impl Runs {
    /// The runs of `seed`. Functions vary by 5 % from run to run in the middle, by a log-normal
    /// spread of 0.7 around that.
    pub fn make(&self, seed: u64) -> Vec<Series> {
        let mut random = Random::new(seed);
        let sides = [0, 1].map(|_| {
            (0..self.n_boots * self.n_runs).map(|_| 0.03 * normal(&mut random)).collect::<Vec<_>>()
        });
        (0..self.n_functions)
            .map(|_| {
                let changed = random.percent(self.changed_percent);
                let spread = 0.05 * (0.7 * normal(&mut random)).exp();
                let level = 3.0 * normal(&mut random);
                let change = if changed { self.ratio.ln() } else { 0.0 };
                let [before, after] = [0, 1].map(|side| {
                    let spread = match self.noise {
                        Noise::TwiceAfter if side == 1 => 2.0 * spread,
                        _ => spread,
                    };
                    let mut runs = Vec::new();
                    for _ in 0..self.n_boots {
                        let boot = self.boots * spread * normal(&mut random);
                        for _ in 0..self.n_runs {
                            let drift = match self.noise {
                                Noise::Drift => sides[side][runs.len()],
                                _ => 0.0,
                            };
                            let own = boot + spread * self.noise.draw(&mut random);
                            let ln = level + own + drift + if side == 1 { change } else { 0.0 };
                            runs.push(ln / std::f64::consts::LN_2);
                        }
                    }
                    runs
                });
                let intensity = 5.0 + 10.0 * uniform(&mut random);
                Series { before, after, intensity, changed }
            })
            .collect()
    }
}

impl Noise {
    /// A number of mean 0 and variance 1.
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Normal | Self::TwiceAfter | Self::Drift => normal(random),
            Self::HeavyTails => {
                let squares: f64 = (0..3).map(|_| normal(random).powi(2)).sum();
                normal(random) / squares.sqrt()
            }
            Self::TwoStates => {
                let state = if random.percent(50) { 0.9 } else { -0.9 };
                state + 0.19_f64.sqrt() * normal(random)
            }
            Self::SlowState => {
                let slow = 0.125_f64;
                let apart = (0.81 / (slow * (1.0 - slow))).sqrt();
                let state = if uniform(random) < slow { 1.0 - slow } else { -slow };
                apart * state + 0.19_f64.sqrt() * normal(random)
            }
        }
    }
}

/// A number above 0 and below 1.
fn uniform(random: &mut Random) -> f64 {
    ((random.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
}

/// Box and Muller's normal numbers, one of each two.
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * uniform(random).ln()).sqrt();
    radius * (std::f64::consts::TAU * uniform(random)).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_noise_has_mean_0_and_variance_1() {
        for noise in Noise::ALL {
            let mut random = Random::new(3);
            let n = 200_000;
            let draws: Vec<f64> = (0..n).map(|_| noise.draw(&mut random)).collect();
            let mean = draws.iter().sum::<f64>() / f64::from(n);
            let variance = draws.iter().map(|draw| draw * draw).sum::<f64>() / f64::from(n);
            // The fourth moment of t with 3 degrees of freedom is infinite: its variance comes
            // out roughly.
            let tolerance = if noise == Noise::HeavyTails { 0.2 } else { 0.02 };
            assert!(mean.abs() < 0.01, "{noise:?}: {mean}");
            assert!((variance - 1.0).abs() < tolerance, "{noise:?}: {variance}");
        }
    }

    #[test]
    fn changed_functions_have_changed() {
        let runs = Runs {
            noise: Noise::Normal,
            n_functions: 400,
            n_boots: 2,
            n_runs: 3,
            boots: 0.0,
            changed_percent: 25,
            ratio: 2.0,
        };
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let series = runs.make(1);
        assert_eq!(series.len(), 400);
        let changed: Vec<_> = series.iter().filter(|series| series.changed).collect();
        assert!((70..130).contains(&changed.len()));
        let changes: Vec<f64> =
            changed.iter().map(|series| mean(&series.after) - mean(&series.before)).collect();
        assert!((mean(&changes) - 1.0).abs() < 0.05);
    }
}
