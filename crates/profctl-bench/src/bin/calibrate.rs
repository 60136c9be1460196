//! `calibrate [REPEATS [LINE]]`: how often the comparison of runs is wrong where nothing changed,
//! and how much it finds where something did; in all lines, or in those whose name contains LINE.
//! The tables of `docs/statistics.md` come from here.

use std::io::{self, Write};
use std::process::ExitCode;

use profctl_analyze::diff::stats::{Design, Options, Row, Verdict, test};
use profctl_testkit::generate::{Noise, Runs, Series};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let repeats = arguments.first().map_or(Ok(200), |text| text.parse());
    let (Ok(repeats), 0..=2) = (repeats, arguments.len()) else {
        let _ = writeln!(io::stderr(), "usage: calibrate [REPEATS [LINE]]");
        return ExitCode::from(2);
    };
    let only = arguments.get(1).map_or("", String::as_str);
    match tables(repeats, only, &mut io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "calibrate: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The seeds below were used during development of the method, so they are not used for its error
/// rates.
const FIRST_SEED: u64 = 100_000;

/// Of so many comparisons where nothing changed, one is repeated with changes: each of these tests
/// fifty functions at once.
const FEWER_CHANGED: u64 = 4;

/// A line of a table.
struct Line {
    name: String,
    runs: Runs,
    normalize: bool,
}

/// Runs that differ in nothing but what the tables vary.
const PLAIN: Runs = Runs {
    noise: Noise::Normal,
    n_functions: 1000,
    n_boots: 1,
    n_runs: 1,
    boots: 0.0,
    changed_percent: 5,
    ratio: 1.15,
};

fn by_noise() -> Vec<Line> {
    let mut lines = Vec::new();
    for noise in Noise::ALL {
        for n_boots in [3, 5, 10] {
            let name = format!("{noise:?}, {n_boots} runs");
            lines.push(Line { name, runs: Runs { noise, n_boots, ..PLAIN }, normalize: false });
        }
    }
    let runs = Runs { noise: Noise::Drift, n_boots: 10, ..PLAIN };
    lines.push(Line { name: "Drift, 10 runs, normalized".into(), runs, normalize: true });
    lines
}

fn by_design() -> Vec<Line> {
    let mut lines = Vec::new();
    for (n_boots, n_runs) in [(2, 3), (3, 3), (5, 2)] {
        for boots in [0.0, 1.0, 3.0] {
            let name = format!("{n_boots} boots of {n_runs}, {boots} times");
            let runs = Runs { n_boots, n_runs, boots, ..PLAIN };
            lines.push(Line { name, runs, normalize: false });
        }
    }
    lines
}

fn by_effect() -> Vec<Line> {
    let mut lines = Vec::new();
    for ratio in [1.08, 1.1, 1.2, 1.3, 1.5, 2.0] {
        for n_boots in [5, 10] {
            let name = format!("x {ratio}, {n_boots} runs");
            lines.push(Line { name, runs: Runs { ratio, n_boots, ..PLAIN }, normalize: false });
        }
    }
    lines
}

fn tables(repeats: u64, only: &str, out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "1000 functions, 5 % of them 15 % slower unless stated otherwise; {repeats} comparisons \
         of equals, {} of what changed.",
        repeats.div_ceil(FEWER_CHANGED)
    )?;
    let tables = [
        ("noise", by_noise()),
        ("boots, which vary so many times as far as runs", by_design()),
        ("change", by_effect()),
    ];
    for (what, mut lines) in tables {
        lines.retain(|line| line.name.contains(only));
        if lines.is_empty() {
            continue;
        }
        writeln!(
            out,
            "\n| {what} | red | red, strict | found | found, strict | false | false, strict |\n\
             | --- | --: | --: | --: | --: | --: | --: |"
        )?;
        for line in lines {
            measure(&line, repeats, out)?;
        }
    }
    Ok(())
}

/// What came of some comparisons: first with `Regressed` as an alarm, then with `Suspect` too.
#[derive(Clone, Copy, Default)]
struct Tally {
    red: [u64; 2],
    found: [u64; 2],
    false_alarms: [u64; 2],
    changed: u64,
}

impl Tally {
    fn add(&mut self, series: &[Series], verdicts: &[Verdict]) {
        let mut red = [false; 2];
        for (series, verdict) in series.iter().zip(verdicts) {
            self.changed += u64::from(series.changed);
            let alarms = [
                *verdict == Verdict::Regressed,
                matches!(verdict, Verdict::Regressed | Verdict::Suspect),
            ];
            for (rule, alarm) in alarms.into_iter().enumerate() {
                red[rule] |= alarm;
                let count = if series.changed { &mut self.found } else { &mut self.false_alarms };
                count[rule] += u64::from(alarm);
            }
        }
        self.red.iter_mut().zip(red).for_each(|(count, red)| *count += u64::from(red));
    }
}

fn measure(line: &Line, repeats: u64, out: &mut impl Write) -> io::Result<()> {
    let options = Options { normalize: line.normalize, ..Options::default() };
    let mut unchanged = Tally::default();
    let mut changed = Tally::default();
    let fewer = repeats.div_ceil(FEWER_CHANGED);
    for (changed_percent, repeats, tally) in
        [(0, repeats, &mut unchanged), (line.runs.changed_percent, fewer, &mut changed)]
    {
        for seed in FIRST_SEED..FIRST_SEED + repeats {
            let series = Runs { changed_percent, ..line.runs }.make(seed);
            tally.add(&series, &verdicts(&line.runs, &series, &options));
        }
    }
    let share = |part: u64, whole: u64| part as f64 / whole as f64;
    // The standard error of a share: for a share of 0, that of one occurrence.
    let error = |share: f64, of: u64| {
        let share = share.max(1.0 / of as f64);
        (share * (1.0 - share) / of as f64).sqrt()
    };
    writeln!(
        out,
        "| {} | {:.3} ± {:.3} | {:.3} | {:.2} | {:.2} | {:.2} | {:.2} |",
        line.name,
        share(unchanged.red[0], repeats),
        error(share(unchanged.red[0], repeats), repeats),
        share(unchanged.red[1], repeats),
        share(changed.found[0], changed.changed),
        share(changed.found[1], changed.changed),
        share(changed.false_alarms[0], fewer),
        share(changed.false_alarms[1], fewer),
    )?;
    out.flush()
}

fn verdicts(runs: &Runs, series: &[Series], options: &Options) -> Vec<Verdict> {
    let side: Vec<u32> =
        (0..runs.n_boots * runs.n_runs).map(|run| (run / runs.n_runs) as u32).collect();
    let design = Design { before: side.clone(), after: side, paired: false };
    let rows: Vec<Row> = series
        .iter()
        .map(|series| Row {
            before: series.before.clone(),
            after: series.after.clone(),
            intensity: series.intensity,
            margin: None,
        })
        .collect();
    test(&design, &rows, options).rows.iter().map(|row| row.verdict).collect()
}
