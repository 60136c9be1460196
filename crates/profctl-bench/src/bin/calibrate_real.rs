//! `calibrate_real [--write] [FOLDER [COMPARISONS]]`: what the gate makes of real recordings. Runs of one
//! kernel are assigned to two sides, which must come out without an alarm; changes of known size are
//! planted in one side, which must come out with the right answer and the cause named first.
//!
//! FOLDER holds a folder a kernel with recordings at any depth below it. `--write` puts the tables into
//! `docs/statistics.md`.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use profctl_analyze::diff::gate::{Judgement, Policy, judge};
use profctl_analyze::diff::{Comparison, Measure, Options, Run, Side, Verdict, compare};
use profctl_analyze::summarize::{self, Lengths, Profile, Row, Source, Summary};
use profctl_bench::page::{Block, DEALT, PAGE, PLANTED, ended, error_percent};
use profctl_import::{ReadOptions, Single, load};
use profctl_model::report::Answer;
use profctl_testkit::generate::Random;
use profctl_testkit::plant::{Calls, Change, NEW, renamed};

/// Where the recordings are, seen from the repository, unless told.
const FOLDER: &str = "../shared/kernel/stat";

/// The variable that tells it.
const VARIABLE: &str = "PROFCTL_RECORDINGS";

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let n = arguments.len();
    arguments.retain(|argument| argument != "--write");
    let is_for_page = arguments.len() < n;
    let folder = arguments
        .first()
        .filter(|folder| !folder.is_empty())
        .cloned()
        .or_else(|| variable(VARIABLE))
        .unwrap_or_else(|| FOLDER.to_owned());
    let comparisons = arguments.get(1).map_or(Ok(300), |text| text.parse());
    let (Ok(comparisons), 0..=2) = (comparisons, arguments.len()) else {
        let _ = writeln!(io::stderr(), "usage: calibrate_real [--write] [FOLDER [COMPARISONS]]");
        return ExitCode::from(2);
    };
    let folder = PathBuf::from(folder);
    if !folder.is_dir() {
        let place = folder.display();
        let _ = writeln!(io::stderr(), "skipped: no recordings in {place}; name their folder");
        return ExitCode::SUCCESS;
    }
    ended("calibrate_real", run(&folder, comparisons, is_for_page))
}

#[expect(clippy::disallowed_methods, reason = "a program of its own")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// One kernel: its recordings, in the order of their names.
struct Kernel {
    runs: Vec<Calls>,
}

fn run(folder: &Path, comparisons: usize, is_for_page: bool) -> io::Result<()> {
    let mut kernels = Vec::new();
    for place in entries(folder)?.into_iter().filter(|place| place.is_dir()) {
        let mut files = Vec::new();
        traces(&place, &mut files)?;
        let runs = files.iter().map(|file| read(file)).collect::<io::Result<Vec<_>>>()?;
        if runs.len() >= 2 {
            kernels.push(Kernel { runs });
        }
    }
    let write = |block: Block, text: &str| {
        if is_for_page { block.write(Path::new(PAGE), text) } else { Ok(()) }
    };
    if comparisons > 0 {
        let mut out = Table::default();
        deals(&kernels, comparisons, &mut out)?;
        write(DEALT, &out.0)?;
    }
    let mut out = Table::default();
    planted(&kernels, &mut out)?;
    write(PLANTED, &out.0)
}

/// What is printed, and kept for the page.
#[derive(Default)]
struct Table(String);

impl Write for Table {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.push_str(&String::from_utf8_lossy(bytes));
        io::stdout().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stdout().flush()
    }
}

fn entries(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = std::fs::read_dir(folder)?
        .map(|entry| Ok(entry?.path()))
        .collect::<io::Result<Vec<_>>>()?;
    found.sort();
    Ok(found)
}

fn traces(folder: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    for place in entries(folder)? {
        if place.is_dir() {
            traces(&place, found)?;
        } else if place.to_string_lossy().contains(".txt") {
            found.push(place);
        }
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a program of its own")]
fn read(file: &Path) -> io::Result<Calls> {
    let bytes = std::fs::read(file)?;
    let name = file.display().to_string();
    let input = Single::new(&name, Box::new(bytes.as_slice()));
    let (trace, _) = load(&input, &ReadOptions::default(), &|_| ())
        .map_err(|error| io::Error::other(format!("{name}: {error}")))?;
    Ok(Calls::of(&trace))
}

fn profile(calls: &Calls) -> Profile {
    let options = summarize::Options { call_graph: true, ..summarize::Options::default() };
    let mut summary = Summary::new(options);
    calls.tell(&mut summary);
    let source = Source { path: "-".into(), format: "function_graph".into(), bytes: 0 };
    summary.finish(&calls.names, &calls.meta, source)
}

fn side(name: &str, profiles: impl IntoIterator<Item = Profile>) -> Side {
    let run = |(number, profile): (usize, Profile)| Run {
        name: format!("{name}/run{number}"),
        block: None,
        profile,
        facts: Vec::new(),
        series: None,
        paths: None,
    };
    let runs = profiles.into_iter().enumerate().map(run).collect();
    Side { name: name.into(), runs, skipped: 0 }
}

fn gate(before: Side, after: Side, options: &Options<'_>) -> io::Result<(Comparison, Judgement)> {
    let comparison = compare(before, after, options).map_err(io::Error::other)?;
    let judgement = judge(&comparison, &Policy::default());
    Ok((comparison, judgement))
}

/// Nothing changed: how often is the gate red?
fn deals(kernels: &[Kernel], comparisons: usize, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "Nothing changed: runs assigned to two sides. *One kernel* permutes its recordings in every way; the\n\
         others deal those of all kernels, each function of which was brought to one level (the median).\n\n\
         {}\n| --- | --: | --: | --: | --- | --: |",
        DEALT.columns
    )?;
    let recorded: Vec<Vec<Profile>> =
        kernels.iter().map(|kernel| kernel.runs.iter().map(profile).collect()).collect();
    let mut tally = Tally::default();
    for profiles in &recorded {
        let n = profiles.len();
        for taken_runs in 0..1_u32 << n {
            if taken_runs.count_ones() as usize != n / 2 {
                continue;
            }
            let of = |taken: bool| {
                let runs = (0..n).filter(move |at| (taken_runs >> at & 1 == 1) == taken);
                runs.map(|at| profiles[at].clone()).take(n / 2).collect::<Vec<_>>()
            };
            let (before, after) = (side("before", of(false)), side("after", of(true)));
            tally.add(&gate(before, after, &Options::default())?);
        }
    }
    tally.print("one kernel, 2 or 3 of each", out)?;
    let pool = leveled(&recorded);
    for n in [3, 4, 5] {
        let mut tally = Tally::default();
        for comparison in 0..comparisons.min(if pool.len() < 2 * n { 0 } else { usize::MAX }) {
            let mut random = Random::new(1000 * n as u64 + comparison as u64);
            let mut left: Vec<usize> = (0..pool.len()).collect();
            let mut take = |n: usize| -> Vec<Profile> {
                let mut one = || left.swap_remove(random.below(left.len() as u64) as usize);
                (0..n).map(|_| pool[one()].clone()).collect()
            };
            let (before, after) = (side("before", take(n)), side("after", take(n)));
            tally.add(&gate(before, after, &Options::default())?);
        }
        tally.print(&format!("{n} v {n}"), out)?;
    }
    Ok(())
}

/// The runs of all kernels as if they were of one: each function that all of them have is brought to
/// its level in the first, by calls, own time and elapsed time.
fn leveled(kernels: &[Vec<Profile>]) -> Vec<Profile> {
    let key = |row: &Row| row.name.clone();
    let levels: Vec<BTreeMap<String, [f64; 3]>> = kernels
        .iter()
        .map(|runs| {
            let mut logs: BTreeMap<String, Vec<[f64; 3]>> = BTreeMap::new();
            for row in runs.iter().flat_map(|run| &run.rows) {
                let stats = &row.stats;
                let calls = stats.calls as f64;
                let inclusive = stats.elapsed_of_calls.sum.saturating_sub(stats.interrupted);
                let of = [calls, stats.net as f64 / calls, inclusive as f64 / calls].map(f64::ln);
                logs.entry(key(row)).or_default().push(of);
            }
            let n = runs.len();
            let all = logs.into_iter().filter(|(_, logs)| {
                logs.len() == n && logs.iter().flatten().all(|log| log.is_finite())
            });
            let middle = |logs: Vec<[f64; 3]>| {
                [0, 1, 2].map(|at| {
                    let mut logs: Vec<f64> = logs.iter().map(|of| of[at]).collect();
                    logs.sort_by(f64::total_cmp);
                    f64::midpoint(logs[(n - 1) / 2], logs[n / 2])
                })
            };
            all.map(|(name, logs)| (name, middle(logs))).collect()
        })
        .collect();
    let Some(first) = levels.first() else { return Vec::new() };
    let mut pool = Vec::new();
    for (runs, own) in kernels.iter().zip(&levels) {
        for run in runs {
            let mut run = run.clone();
            run.rows.retain(|row| levels.iter().all(|levels| levels.contains_key(&row.name)));
            for row in &mut run.rows {
                let (to, from) = (first[&row.name], own[&row.name]);
                let [calls, net, elapsed] = [0, 1, 2].map(|at| (to[at] - from[at]).exp());
                let scaled = |value: u64, by: f64| (value as f64 * by).round() as u64;
                let stats = &mut row.stats;
                stats.calls = scaled(stats.calls, calls);
                stats.net = scaled(stats.net, calls * net);
                stretch(&mut stats.net_of_calls, calls, net);
                stats.elapsed = scaled(stats.elapsed, calls * elapsed);
                stretch(&mut stats.elapsed_of_calls, calls, elapsed);
                stats.interrupted = scaled(stats.interrupted, calls * elapsed);
            }
            pool.push(run);
        }
    }
    pool
}

/// So many times the calls, each so many times as long.
fn stretch(lengths: &mut Lengths, calls: f64, by: f64) {
    lengths.sum = (lengths.sum as f64 * calls * by).round() as u64;
    lengths.squares = (lengths.squares as f64 * calls * by * by).round() as u128;
    lengths.max = (lengths.max as f64 * by).round() as u64;
}

#[derive(Default)]
struct Tally {
    comparisons: u64,
    red: u64,
    inconclusive: u64,
    by: BTreeMap<String, u64>,
}

impl Tally {
    fn add(&mut self, (comparison, judgement): &(Comparison, Judgement)) {
        self.comparisons += 1;
        match judgement.answer {
            Answer::Pass => {}
            Answer::Inconclusive => self.inconclusive += 1,
            Answer::Regressed => {
                self.red += 1;
                if variable("CALIBRATE_VERBOSE").is_some() {
                    for &at in &judgement.offending {
                        let one = &comparison.functions[at];
                        let side = |side: &profctl_analyze::diff::SideStats| {
                            (side.calls, side.net_avg(), side.inclusive_avg())
                        };
                        let (name, measure) = (&one.name, one.measure.name());
                        let (before, after) = (side(&one.before), side(&one.after));
                        let said = one.tested().map(|t| (t.estimate.exp2(), t.se, t.df, t.q_dealt));
                        let _ = writeln!(
                            io::stderr(),
                            "red {name} {measure}: {before:?} {after:?} {said:?}"
                        );
                    }
                    let _ = writeln!(io::stderr(), "red: {}", judgement.reasons.join("; "));
                }
                let mut measures: Vec<&str> = judgement
                    .offending
                    .iter()
                    .map(|&at| comparison.functions[at].measure.name())
                    .chain(judgement.whole.then_some("whole run"))
                    .collect();
                measures.sort_unstable();
                measures.dedup();
                for measure in measures {
                    *self.by.entry(measure.to_owned()).or_default() += 1;
                }
            }
        }
    }

    fn print(&self, what: &str, out: &mut impl Write) -> io::Result<()> {
        let share = 100.0 * self.red as f64 / self.comparisons.max(1) as f64;
        let error = error_percent(self.red, self.comparisons);
        let by: Vec<String> = self.by.iter().map(|(measure, n)| format!("{measure} {n}")).collect();
        writeln!(
            out,
            "| {what} | {} | {} | {share:.1} ± {error:.1} | {} | {} |",
            self.comparisons,
            self.red,
            by.join(", "),
            self.inconclusive
        )?;
        out.flush()
    }
}

/// Functions of each kernel in which a slow-down is planted.
const SLOWED: usize = 25;
/// Functions, or pairs of them, for each other change.
const CHANGED: usize = 8;

/// What is expected of a planted change.
struct Expected {
    answer: Answer,
    /// The function that is to be named first; nothing if it is the whole run.
    first: Option<String>,
}

/// What is planted in one kernel.
type Cases = fn(&Planted) -> Vec<(Change, Expected)>;

/// Changes were planted: does the gate say so?
fn planted(kernels: &[Kernel], out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "Changes planted in one side of 3 v 3 recorded runs of one kernel.\n\n\
         {}\n| --- | --: | --: | --: | --- |",
        PLANTED.columns
    )?;
    let usable: Vec<&Kernel> = kernels.iter().filter(|kernel| kernel.runs.len() >= 6).collect();
    let sides: Vec<Planted> = usable.iter().map(|kernel| Planted::of(kernel)).collect();
    for percent in [5, 8, 15, 50] {
        let factor = 1.0 + f64::from(percent) / 100.0;
        let answer = if percent > 5 { Answer::Regressed } else { Answer::Pass };
        let cases = |ground: &Planted| -> Vec<(Change, Expected)> {
            let case = |name: &String| {
                let first = Some(name.clone());
                (Change::Slower(name.clone(), factor), Expected { answer, first })
            };
            ground.functions.iter().take(SLOWED).map(case).collect()
        };
        table_row(&format!("{percent} % slower"), &sides, &cases, false, out)?;
    }
    let all: [(&str, bool, Cases); 9] = [
        ("called twice", false, |ground| {
            let names = ground.called.iter().take(CHANGED);
            names
                .map(|name| (Change::CalledTwice(name.clone()), regressed(Some(name.clone()))))
                .collect()
        }),
        ("a new function", false, |ground| {
            let names = ground.called.iter().take(CHANGED);
            names
                .map(|name| (Change::New(name.clone(), 1.0), regressed(Some(NEW.into()))))
                .collect()
        }),
        ("a callee inlined", false, |ground| {
            let pairs = ground.pairs.iter().take(CHANGED);
            pairs.map(|(to, from)| (Change::Inlined(from.clone(), to.clone()), passed())).collect()
        }),
        ("cost moved to a callee", false, |ground| {
            let pairs = ground.pairs.iter().take(CHANGED);
            pairs.map(|(a, b)| (Change::MovedDown(a.clone(), b.clone()), passed())).collect()
        }),
        ("cost moved to the caller", false, |ground| {
            let pairs = ground.pairs.iter().take(CHANGED);
            pairs.map(|(a, b)| (Change::MovedUp(a.clone(), b.clone()), passed())).collect()
        }),
        ("renamed and 50 % slower", false, |ground| {
            let names = ground.functions.iter().take(CHANGED);
            names
                .map(|name| {
                    let expected = regressed(Some(renamed(name)));
                    (Change::RenamedAndSlower(name.clone(), 1.5), expected)
                })
                .collect()
        }),
        ("everything twice", false, |_| vec![(Change::EverythingTwice, regressed(None))]),
        ("everything 10 % slower", false, |_| {
            vec![(Change::EverythingSlower(1.1), regressed(None))]
        }),
        ("everything 10 % slower, normalized", true, |_| {
            vec![(Change::EverythingSlower(1.1), regressed(None))]
        }),
    ];
    for (name, normalize, cases) in all {
        table_row(name, &sides, &cases, normalize, out)?;
    }
    Ok(())
}

fn regressed(first: Option<String>) -> Expected {
    Expected { answer: Answer::Regressed, first }
}

fn passed() -> Expected {
    Expected { answer: Answer::Pass, first: None }
}

/// Two sides of one kernel, and where to plant.
struct Planted {
    before: Side,
    after: Vec<Calls>,
    /// Functions that are tested, in no order that has to do with their cost.
    functions: Vec<String>,
    /// Those of them that take a noticeable part of their run.
    called: Vec<String>,
    /// Callers and callees: of each caller the callee that it alone calls.
    pairs: Vec<(String, String)>,
}

impl Planted {
    fn of(kernel: &Kernel) -> Self {
        // Every other run, so that both boots are on both sides.
        let (mut first, mut second) = (Vec::new(), Vec::new());
        for (at, calls) in kernel.runs.iter().enumerate() {
            if at % 2 == 0 { first.push(calls.clone()) } else { second.push(calls.clone()) }
        }
        let before: Vec<Profile> = first.iter().take(3).map(profile).collect();
        let after: Vec<Calls> = second.into_iter().take(3).collect();
        let all: Vec<Profile> = before.iter().cloned().chain(after.iter().map(profile)).collect();
        let busy = all[0].busy();
        let steady = |name: &str, share: f64| {
            all.iter().all(|profile| {
                let row = profile.rows.iter().find(|row| row.name == name);
                row.is_some_and(|row| {
                    let is_one = row.kind.is_none_or(|kind| {
                        kind != profctl_model::FuncKind::Idle
                            && kind != profctl_model::FuncKind::Interrupt
                    });
                    let calls = if share > 0.0 { 30 } else { 10 };
                    is_one
                        && row.stats.calls >= calls
                        && row.stats.net as f64 >= share * busy as f64
                })
            })
        };
        let mut functions: Vec<String> = all[0]
            .rows
            .iter()
            .filter(|row| steady(&row.name, 0.0))
            .map(|row| row.name.clone())
            .collect();
        let hash = |name: &String| {
            name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
            })
        };
        functions.sort_by_key(hash);
        let called = functions.iter().filter(|name| steady(name, 0.0005)).cloned().collect();
        let edges = after[0].edges();
        let mut callers: BTreeMap<&String, Vec<&String>> = BTreeMap::new();
        for (caller, callee) in edges.keys() {
            callers.entry(callee).or_default().push(caller);
        }
        let mut pairs: Vec<(String, String)> = callers
            .into_iter()
            .filter(|(callee, callers)| callers.len() == 1 && callers[0] != *callee)
            .filter(|(callee, callers)| {
                edges[&(callers[0].clone(), (*callee).clone())] >= 20
                    && steady(callee, 0.0002)
                    && steady(callers[0], 1e-9)
            })
            .map(|(callee, callers)| (callers[0].clone(), callee.clone()))
            .collect();
        pairs.sort_by_key(|(_, callee)| hash(callee));
        Self { before: side("before", before), after, functions, called, pairs }
    }
}

fn table_row(
    what: &str,
    grounds: &[Planted],
    cases: &dyn Fn(&Planted) -> Vec<(Change, Expected)>,
    normalize: bool,
    out: &mut impl Write,
) -> io::Result<()> {
    let (mut planted, mut right, mut named) = (0_u64, 0_u64, 0_u64);
    let mut verdicts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut options = Options::default();
    options.stats.normalize = normalize;
    let verbose = variable("CALIBRATE_VERBOSE").is_some();
    for ground in grounds {
        for (change, expected) in cases(ground) {
            let after = ground.after.iter().map(|calls| profile(&calls.with(&change)));
            let (comparison, judgement) =
                gate(ground.before.clone(), side("after", after), &options)?;
            planted += 1;
            let is_right = judgement.answer == expected.answer;
            right += u64::from(is_right);
            let order = judgement.in_order(&comparison);
            let first = order.first().map(|one| &comparison.functions[one.at].name);
            let is_named = match &expected.first {
                None if expected.answer == Answer::Pass => is_right,
                None => judgement.whole,
                Some(name) if judgement.answer == Answer::Regressed => first == Some(name),
                Some(_) => expected.answer == Answer::Pass && is_right,
            };
            named += u64::from(is_named);
            let function = expected.first.as_ref().and_then(|name| {
                comparison.functions.iter().find(|function| function.name == *name)
            });
            if let Some(function) = function {
                let verdict = function.verdict.name();
                *verdicts.entry(verdict).or_default() += 1;
            }
            if verbose && !(is_right && is_named) {
                let said: Vec<String> = order
                    .iter()
                    .take(4)
                    .map(|one| {
                        let function = &comparison.functions[one.at];
                        format!("{} {} {:?}", function.name, function.measure.name(), one.why)
                    })
                    .collect();
                let of = function.map(|function| {
                    let shown = |measure: Measure| {
                        let tested = function.tests[measure as usize].as_ref();
                        tested.map(|t| {
                            format!(
                                "{}: {:?} {:.3} se {:.4} df {:.1} q {:.3} permuted {:.3}",
                                measure.name(),
                                t.verdict,
                                t.estimate.exp2(),
                                t.se,
                                t.df,
                                t.q_regressed,
                                t.q_dealt
                            )
                        })
                    };
                    (function.verdict == Verdict::New, Measure::ALL.map(shown))
                });
                writeln!(
                    io::stderr(),
                    "{change:?}: {:?}: {}; first {said:?}; {of:?}",
                    judgement.answer,
                    judgement.reasons.join("; ")
                )?;
            }
        }
    }
    let percent = |n: u64| 100.0 * n as f64 / planted.max(1) as f64;
    let verdicts: Vec<String> = verdicts.iter().map(|(name, n)| format!("{n} {name}")).collect();
    writeln!(
        out,
        "| {what} | {planted} | {:.0} ± {:.0} | {:.0} | {} |",
        percent(right),
        error_percent(right, planted),
        percent(named),
        verdicts.join(", ")
    )?;
    out.flush()
}
