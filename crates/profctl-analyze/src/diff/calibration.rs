//! Run-to-run variation of the functions of a baseline, saved in a file for builds that are
//! recorded once: `profctl.calibration/1`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::side::counts;
use super::stats::{self, Change, Noise, Tested};
use super::{Measure, Options, Side, function_key};

const SCHEMA: &str = "profctl.calibration/1";

/// The run-to-run noise of the functions of a baseline.
#[derive(Clone, PartialEq, Debug)]
pub struct Calibration {
    /// What the baseline was called.
    pub baseline: String,
    /// How many runs it had.
    pub runs: u32,
    functions: BTreeMap<(String, Option<String>), Noises>,
}

/// The noise of a function by measure, where it is known.
type Noises = [Option<Noise>; 3];

#[derive(Serialize, Deserialize)]
struct CalibrationFile {
    schema: String,
    baseline: String,
    runs: u32,
    functions: Vec<FunctionFile>,
}

#[derive(Serialize, Deserialize)]
struct FunctionFile {
    name: String,
    module: Option<String>,
    net: Option<NoiseFile>,
    total: Option<NoiseFile>,
    elapsed: Option<NoiseFile>,
}

#[derive(Serialize, Deserialize)]
struct NoiseFile {
    sd: f64,
    df: f64,
}

/// As many digits as mean anything, so that a file holds exactly what was learned. Degrees of
/// freedom may be infinite, which JSON cannot say and a million comes close to.
fn short(Noise { sd, df }: Noise) -> Noise {
    let digits = |number: f64, scale: f64| (number * scale).round() / scale;
    Noise { sd: digits(sd, 1e6), df: digits(df.min(1e6), 1e3) }
}

impl Calibration {
    /// Learns from the runs of a baseline.
    pub fn learn(mut baseline: Side, options: &Options<'_>) -> Result<Self, String> {
        baseline.settle();
        let runs = baseline.runs.len();
        let (blocks, _) = baseline.blocks();
        let merged = baseline.merged()?;
        let asked: Vec<_> = merged
            .rows
            .iter()
            .filter(|row| {
                let calls = row.stats.calls as f64 / runs as f64;
                counts(row.kind) && calls >= options.calls_min
            })
            .collect();
        let intensities: Vec<f64> =
            asked.iter().map(|row| (row.stats.calls.max(1) as f64 / runs as f64).log2()).collect();
        let mut functions: BTreeMap<_, Noises> =
            asked.iter().map(|row| ((row.name.clone(), row.module.clone()), [None; 3])).collect();
        for measure in Measure::ALL {
            let rows: Vec<Vec<f64>> = asked
                .iter()
                .map(|row| {
                    let in_run = |run: &super::Run| {
                        let same = |other: &&crate::summarize::Row| {
                            other.name == row.name && other.module == row.module
                        };
                        let found = run.profile.rows.iter().find(same);
                        found.map_or(f64::NAN, |row| measure.of(&row.stats))
                    };
                    baseline.runs.iter().map(in_run).collect()
                })
                .collect();
            let learned = stats::Calibration::new(&blocks, &rows, &intensities, &options.stats);
            let least = stats::Calibration::RUNS_MIN;
            let learned = learned.ok_or_else(|| {
                let found = crate::summarize::count(runs as u64, "run", "runs");
                format!("{}: {found} of the baseline, expected {least} or more", baseline.name)
            })?;
            for (row, noise) in asked.iter().zip(learned.rows) {
                let key = (row.name.clone(), row.module.clone());
                if let Some(of_all) = functions.get_mut(&key) {
                    of_all[measure.index()] = noise.map(short);
                }
            }
        }
        Ok(Self { baseline: baseline.name, runs: runs as u32, functions })
    }

    /// The functions by what is left of their names in another build: compilers append what changes from
    /// build to build. Nothing where that is left of several.
    fn by_key(&self) -> BTreeMap<(String, Option<&str>), Option<&Noises>> {
        let mut found = BTreeMap::new();
        for ((name, module), noises) in &self.functions {
            let key = (function_key(name), module.as_deref());
            found.entry(key).and_modify(|known| *known = None).or_insert(Some(noises));
        }
        found
    }

    /// Judges the change between two single runs; `asked` has the name of each row and the
    /// within-trace standard error of its binary logarithm.
    pub(super) fn judge<'a>(
        &self,
        measure: Measure,
        asked: impl Iterator<Item = (&'a String, &'a Option<String>, f64)>,
        rows: &[stats::Row],
        options: &stats::Options,
    ) -> Vec<Tested> {
        let by_key = self.by_key();
        let (noises, changes): (Vec<_>, Vec<_>) = asked
            .zip(rows)
            .map(|((name, module, se_within), row)| {
                let same = self.functions.get(&(name.clone(), module.clone()));
                let of_key = || {
                    let key = (function_key(name), module.as_deref());
                    by_key.get(&key).copied().flatten()
                };
                let noise = same.or_else(of_key).and_then(|noises| noises[measure.index()]);
                let estimate = row.after[0] - row.before[0];
                let change = estimate.is_finite().then_some(Change { estimate, se_within });
                (noise, change)
            })
            .unzip();
        stats::Calibration { rows: noises }.judge(&changes, options)
    }

    /// The file.
    pub fn to_json(&self) -> String {
        let noise = |noise: &Option<Noise>| noise.map(|Noise { sd, df }| NoiseFile { sd, df });
        let functions = self.functions.iter().map(|((name, module), noises)| FunctionFile {
            name: name.clone(),
            module: module.clone(),
            net: noise(&noises[Measure::Net.index()]),
            total: noise(&noises[Measure::Total.index()]),
            elapsed: noise(&noises[Measure::Elapsed.index()]),
        });
        let file = CalibrationFile {
            schema: SCHEMA.into(),
            baseline: self.baseline.clone(),
            runs: self.runs,
            functions: functions.collect(),
        };
        serde_json::to_string(&file).expect("only strings and finite numbers") + "\n"
    }

    /// Reads a file back.
    pub fn from_json(bytes: &[u8]) -> Result<Self, String> {
        let file: CalibrationFile = serde_json::from_slice(bytes)
            .map_err(|error| format!("{error}, expected a calibration ({SCHEMA})"))?;
        if file.schema != SCHEMA {
            return Err(format!("schema is {:?}, expected {SCHEMA:?}", file.schema));
        }
        let noise = |noise: Option<NoiseFile>| {
            let valid = |noise: &NoiseFile| noise.sd >= 0.0 && noise.df > 0.0;
            noise.filter(valid).map(|NoiseFile { sd, df }| Noise { sd, df })
        };
        let functions = file.functions.into_iter().map(|function| {
            let noises = [function.net, function.total, function.elapsed].map(noise);
            ((function.name, function.module), noises)
        });
        Ok(Self { baseline: file.baseline, runs: file.runs, functions: functions.collect() })
    }

    /// For how many functions the noise is known.
    pub fn n_functions(&self) -> usize {
        self.functions.values().filter(|noises| noises.iter().any(Option::is_some)).count()
    }

    /// The median standard deviation of the net time of a call, as a ratio less 1.
    pub fn median_noise(&self) -> Option<f64> {
        let net = |noises: &Noises| Some(noises[Measure::Net.index()]?.sd);
        let mut noises: Vec<f64> = self.functions.values().filter_map(net).collect();
        noises.sort_by(f64::total_cmp);
        (!noises.is_empty()).then(|| stats::median(&noises).exp2() - 1.0)
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::diff::fixture::run;

    #[test]
    fn the_noise_of_a_baseline_is_that_of_its_middle_functions() {
        let of = |deviations: &[f64]| {
            let functions = deviations.iter().enumerate().map(|(at, &sd)| {
                let mut noises = [None; 3];
                noises[Measure::Net.index()] = Some(Noise { sd, df: 5.0 });
                ((format!("f{at}"), None), noises)
            });
            let functions = functions.collect();
            let found = Calibration { baseline: String::new(), runs: 3, functions }.median_noise();
            found.map(|noise| (noise * 1e6).round() as i64)
        };
        assert_eq!(of(&[]), None);
        // 2 to the 0.1 is 1.071773, to the 0.15 1.109569.
        assert_eq!(of(&[0.3, 0.1, 0.05]), Some(71_773));
        assert_eq!(of(&[0.3, 0.1, 0.05, 0.2]), Some(109_569));
    }

    /// Six runs in which `f` of either module is called ten times, `g` nine times and an idle loop
    /// often, with a cost of either `f`.
    fn baseline(costs: [[u64; 2]; 6]) -> Side {
        let one = |(at, [f, other]): (usize, [u64; 2])| {
            let mut line = String::new();
            let mut now = 0;
            let calls = [("f", 10, f), ("m:f", 10, other), ("g", 9, 100), ("idle", 20, 100)];
            for (name, n, cost) in calls {
                for _ in 0..n {
                    write!(line, "{now} {name}( {} ) ", now + cost).unwrap();
                    now += cost;
                }
            }
            run(&format!("r{at}"), &line)
        };
        let runs = costs.into_iter().enumerate().map(one).collect();
        Side { name: "base".into(), runs, skipped: 0 }
    }

    #[test]
    fn noise_is_learned_of_functions_that_are_called_enough() {
        let steady = [[1000, 1000]; 6];
        let mut varied = steady;
        varied.iter_mut().zip([0, 90, 20, 160, 70, 110]).for_each(|(one, by)| one[1] += by);
        let options = Options { calls_min: 10.0, ..Options::default() };
        let learned = Calibration::learn(baseline(varied), &options).unwrap();
        assert_eq!((learned.runs, learned.n_functions()), (6, 2));
        let sd = |module: Option<&str>| {
            let key = ("f".to_owned(), module.map(str::to_owned));
            learned.functions[&key][Measure::Net.index()].unwrap().sd
        };
        assert!(sd(Some("m")) > 2.0 * sd(None), "{} {}", sd(Some("m")), sd(None));
        let one = Options { calls_min: 10.1, ..Options::default() };
        assert_eq!(Calibration::learn(baseline(varied), &one).unwrap().n_functions(), 0);
        let few = Side { runs: baseline(varied).runs[..4].to_vec(), ..baseline(varied) };
        let error = Calibration::learn(few, &options).unwrap_err();
        assert_eq!(error, "base: 4 runs of the baseline, expected 5 or more");
    }

    #[test]
    fn the_noise_of_a_function_is_pulled_to_that_of_functions_with_as_many_calls() {
        // Functions of 10 to 320 calls in a run; those of more calls vary less.
        let calls = [10, 20, 40, 80, 160, 320];
        let mut random = crate::random::Random(3);
        let mut one = |at: usize| {
            let (mut line, mut now) = (String::new(), 0);
            for n in calls {
                for name in ["a", "b", "c"] {
                    let cost = (10_000.0 + 3_000.0 / f64::from(n) * random.normal()).round() as u64;
                    for _ in 0..n {
                        write!(line, "{now} {name}{n}( {} ) ", now + cost).unwrap();
                        now += cost;
                    }
                }
            }
            run(&format!("r{at}"), &line)
        };
        let runs: Vec<_> = (0..6).map(&mut one).collect();
        let side = Side { name: "base".into(), runs, skipped: 0 };
        let options = Options::default();
        let learned = Calibration::learn(side.clone(), &options).unwrap();
        assert_eq!(learned.n_functions(), 18);
        // The same rows by hand.
        let net = Measure::Net;
        let names: Vec<&String> = learned.functions.keys().map(|(name, _)| name).collect();
        let of_run = |name: &str, run: &crate::diff::Run| {
            net.of(&run.profile.rows.iter().find(|row| row.name == name).unwrap().stats)
        };
        let rows: Vec<Vec<f64>> = names
            .iter()
            .map(|name| side.runs.iter().map(|run| of_run(name, run)).collect())
            .collect();
        let intensities: Vec<f64> =
            names.iter().map(|name| name[1..].parse::<f64>().unwrap().log2()).collect();
        let known =
            stats::Calibration::new(&[0, 1, 2, 3, 4, 5], &rows, &intensities, &options.stats);
        for (expected, (key, found)) in known.unwrap().rows.iter().zip(&learned.functions) {
            assert_eq!(found[net.index()], expected.map(short), "{key:?}");
        }
    }

    #[test]
    fn a_change_is_that_of_the_logarithms_and_unknown_noise_has_no_verdict() {
        let noise = |at: usize| (at != 1).then_some(Noise { sd: 0.01, df: 8.0 });
        let functions = (0..2).map(|at| ((format!("f{at}"), None), [noise(at); 3])).collect();
        let calibration = Calibration { baseline: String::new(), runs: 5, functions };
        let names = ["f0", "f1"].map(str::to_owned);
        let row = stats::Row { before: vec![10.0], after: vec![12.5], ..stats::Row::default() };
        let asked = names.iter().map(|name| (name, &None, 0.02));
        let options = stats::Options::default();
        let found = calibration.judge(Measure::Net, asked, &[row.clone(), row], &options);
        assert!((found[0].estimate - 2.5).abs() < 1e-12, "{}", found[0].estimate);
        assert_eq!(found[0].verdict, stats::Verdict::Regressed);
        assert_eq!(found[1].verdict, stats::Verdict::NotTested);
    }

    #[test]
    fn noise_is_that_of_the_same_function_under_the_name_of_another_build() {
        let noise = |sd: f64| [Some(Noise { sd, df: 8.0 }); 3];
        let known = [("f.isra.0", 0.01), ("g", 0.01), ("g.constprop.0", 0.5), ("h.a", 0.01)];
        let two = [("k.isra.0", 0.01), ("k.constprop.0", 0.01)];
        let functions = known.iter().chain(&two);
        let functions = functions.map(|&(name, sd)| ((name.to_owned(), None), noise(sd))).collect();
        let calibration = Calibration { baseline: String::new(), runs: 5, functions };
        let verdict = |name: &str, module: Option<&str>| {
            let (name, module) = (name.to_owned(), module.map(str::to_owned));
            let row = stats::Row { before: vec![10.0], after: vec![10.5], ..stats::Row::default() };
            let asked = std::iter::once((&name, &module, 0.02));
            let found = calibration.judge(Measure::Net, asked, &[row], &stats::Options::default());
            found[0].verdict
        };
        let regressed = stats::Verdict::Regressed;
        assert_eq!([verdict("f", None), verdict("f.constprop.1", None)], [regressed; 2]);
        // Its own name counts, whatever others there are.
        assert_eq!(verdict("g", None), regressed);
        assert_eq!(verdict("g.constprop.0", None), stats::Verdict::Inconclusive);
        // A piece of a function, another module, one of several: these are not known.
        for (name, module) in [("f.cold", None), ("f", Some("m")), ("h", None), ("k", None)] {
            assert_eq!(verdict(name, module), stats::Verdict::NotTested, "{name}");
        }
    }

    #[test]
    fn noise_that_a_file_cannot_mean_is_not_known() {
        let n_known = |noises: &[(f64, f64)]| {
            let function = |(at, (sd, df)): (usize, &(f64, f64))| {
                let noise = format!("{{\"sd\":{sd},\"df\":{df}}}");
                format!("{{\"name\":\"f{at}\",\"module\":null,\"net\":{noise}}}")
            };
            let functions: Vec<String> = noises.iter().enumerate().map(function).collect();
            let head = format!("\"schema\":\"{SCHEMA}\",\"baseline\":\"b\",\"runs\":5");
            let text = format!("{{{head},\"functions\":[{}]}}", functions.join(","));
            Calibration::from_json(text.as_bytes()).unwrap().n_functions()
        };
        assert_eq!(n_known(&[(0.1, 4.0), (0.0, 0.5)]), 2);
        assert_eq!(n_known(&[(-0.1, 4.0), (0.1, 0.0), (0.1, -1.0)]), 0);
    }
}
