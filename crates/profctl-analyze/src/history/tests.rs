use std::fmt::Write;

use super::*;
use crate::diff::Run;
use crate::random::Random;
use crate::testing::Calls;

/// Builds of three runs in which `g` takes always the same and `f` as long as `of` says.
fn history(builds: u64, of: impl Fn(u64) -> u64) -> History {
    let mut history = History::default();
    for build in 0..builds {
        let one = |run: u64| {
            let mut line = String::new();
            for call in 0..20 {
                let (at, noise) = (call * 10_000, (build * 7 + run * 3 + call) % 5);
                let (f, g) = (at + of(build) + noise, at + 5_000 + 1_000 + noise);
                write!(line, "{at} f( {f} ) {} g( {g} ) ", at + 5_000).unwrap();
            }
            let profile = Calls::parse(&line).profile();
            let name = format!("b{build}-{run}");
            Run { name, block: None, profile, facts: Vec::new(), series: None, paths: None }
        };
        let name = format!("b{build}");
        let side = Side { name: name.clone(), runs: (0..3).map(one).collect(), skipped: 0 };
        history.add(Build { name, ..Build::default() }, side);
    }
    history
}

#[test]
fn a_step_is_found_at_its_build_with_its_size() {
    let found =
        history(14, |build| if build < 8 { 1_000 } else { 1_300 }).find(&Options::default());
    let of_f: Vec<_> =
        found.changes.iter().filter(|one| one.function.as_deref() == Some("f")).collect();
    let [step] = of_f[..] else { panic!("{:?}", found.changes) };
    assert_eq!((step.previous, step.build, step.persistent), (7, 8, true));
    assert!((step.ratio - 1.3).abs() < 0.01, "{step:?}");
    assert!(step.interval.0 > 1.2 && step.interval.1 < 1.4, "{step:?}");
    assert!(found.changes.iter().all(|one| one.function.as_deref() != Some("g")));
}

#[test]
fn without_a_step_nothing_is_found() {
    assert_eq!(history(14, |_| 1_000).find(&Options::default()).changes, []);
}

/// A history in which each function has these levels, a list of runs by build, and ten calls a run;
/// none where a level is NaN.
fn of_levels(functions: &[(&str, &[&[f64]])]) -> History {
    let mut history = History::default();
    for build in 0..functions[0].1.len() {
        let runs = functions[0].1[build].len();
        history.builds.push(Build { name: format!("b{build}"), runs, ..Build::default() });
        for run in 0..runs {
            for (name, levels) in functions {
                let value = levels[build][run];
                if value.is_finite() {
                    history.push((*name).into(), [value, f64::NAN, f64::NAN], 10);
                }
            }
            history.runs += 1;
        }
    }
    history
}

/// See the next test.
const SHARE: f64 = 0.422_842_006_174;

const UNEQUAL: [&[f64]; 8] = [
    &[5.00, 5.06],
    &[5.03, 5.09, 5.02],
    &[5.12, 5.04],
    &[4.98, 5.05, 5.00, 5.07],
    &[5.06],
    &[5.02, 5.12],
    &[5.02, 4.96],
    &[5.20, 5.28, 5.21],
];

/// In numpy, of the builds with several runs and their means m:
/// `w = mean([var(b, ddof=1) for b in builds])`, `d = median(diff(m) ** 2 / 2) / 0.455`,
/// `v = d - w * mean([1 / len(b) for b in builds])`, `v / (v + w)`.
#[test]
fn the_share_between_builds_is_what_neighbors_differ_by_less_what_their_runs_do() {
    let of_run: Vec<usize> =
        UNEQUAL.iter().zip(0..).flat_map(|(b, at)| vec![at; b.len()]).collect();
    let values = UNEQUAL.concat();
    let share = share_between(&values, &of_run, 8).unwrap();
    assert!((share - SHARE).abs() < 1e-9, "{share}");
    // A change of level is in one pair of seven.
    let stepped: Vec<f64> =
        values.iter().zip(&of_run).map(|(v, &b)| v + if b > 6 { 9.0 } else { 0.0 }).collect();
    assert!((share_between(&stepped, &of_run, 8).unwrap() - SHARE).abs() < 1e-9);
    // Of two builds with several runs, nothing is known, and nothing where no run differs.
    assert_eq!(share_between(&values[..5], &of_run[..5], 8), None);
    assert!(share_between(&values[..7], &of_run[..7], 8).is_some());
    assert_eq!(share_between(&[5.0; 6], &[0, 0, 1, 1, 2, 2], 3), None);
    // Builds that differ by less than their runs do.
    let same = [1.0, 3.0, 1.0, 3.0, 1.0, 3.0];
    assert_eq!(share_between(&same, &[0, 0, 1, 1, 2, 2], 3), Some(0.0));
}

#[test]
fn the_share_between_builds_is_that_of_the_middle_of_the_functions() {
    let still: Vec<&[f64]> = UNEQUAL.iter().map(|of| &[1.0, 3.0, 2.0, 2.0][..of.len()]).collect();
    let options = Options::default();
    let of = |functions: &[(&str, &[&[f64]])]| of_levels(functions).find(&options).between_share;
    let near = |found: Option<f64>, share: f64| (found.unwrap() - share).abs() < 1e-9;
    assert!(near(of(&[("f", &UNEQUAL)]), SHARE));
    assert!(near(of(&[("f", &UNEQUAL), ("g", &still), ("h", &UNEQUAL)]), SHARE));
    assert!(near(of(&[("f", &UNEQUAL), ("g", &still)]), SHARE / 2.0));
    // Too few builds.
    assert_eq!(of(&[("f", &UNEQUAL[..6])]), None);
}

fn change(function: &str, measure: Measure, build: usize, ratio: f64) -> Change {
    Change {
        function: (function != WHOLE_RUN).then(|| function.into()),
        build,
        previous: build - 1,
        measure,
        ratio,
        interval: (ratio, ratio),
        before: Ticks(1),
        after: Ticks(1),
        p: 0.01,
        persistent: true,
    }
}

/// `function measure build`, with a `-` before what did not stay, of the changes that are kept.
fn settled(changes: &[(&str, Measure, usize, f64)]) -> Vec<String> {
    let changes = changes.iter().map(|&(f, measure, build, r)| change(f, measure, build, r));
    let kept = settle(changes.collect(), &Options::default());
    let text = |one: &Change| {
        let gone = if one.persistent { "" } else { "-" };
        let function = one.function.as_deref().unwrap_or("all");
        format!("{gone}{function} {} {}", one.measure.name(), one.build)
    };
    kept.iter().map(text).collect()
}

#[test]
fn a_change_that_several_measures_show_is_one_change() {
    use Measure::{Elapsed, Net, Total};
    // At the same build or the next, in the same direction: the first measure is kept.
    assert_eq!(settled(&[("f", Elapsed, 4, 1.2), ("f", Net, 5, 1.3)]), ["f net 5"]);
    assert_eq!(settled(&[("f", Total, 5, 0.8), ("f", Net, 4, 0.7)]), ["f net 4"]);
    assert_eq!(settled(&[("f", Net, 4, 1.3), ("f", Total, 6, 1.3)]), ["f total 6", "f net 4"]);
    assert_eq!(settled(&[("f", Net, 4, 0.7), ("f", Total, 4, 1.2)]), ["f net 4", "f total 4"]);
    assert_eq!(settled(&[("f", Net, 4, 1.3), ("g", Total, 4, 1.3)]), ["f net 4", "g total 4"]);
    assert_eq!(settled(&[("f", Net, 4, 1.3), ("f", Net, 5, 1.3)]), ["f net 5", "f net 4"]);
}

#[test]
fn the_latest_and_largest_change_comes_first_and_the_whole_run_before_functions() {
    use Measure::Net;
    let found = settled(&[
        ("a", Net, 4, 1.1),
        ("b", Net, 4, 0.5),
        ("c", Net, 4, 1.9),
        (WHOLE_RUN, Net, 4, 1.05),
        ("d", Net, 6, 1.05),
        ("e", Net, 4, 1.1),
    ]);
    assert_eq!(found, ["d net 6", "all net 4", "b net 4", "c net 4", "a net 4", "e net 4"]);
}

#[test]
fn a_change_that_later_ones_undo_did_not_stay() {
    use Measure::{Elapsed, Net};
    assert_eq!(settled(&[("f", Net, 4, 1.3), ("f", Net, 8, 1.0 / 1.29)]), ["f net 8", "-f net 4"]);
    // 1.3 × 0.8 is 4 % more than before, and the margin 2 %.
    assert_eq!(settled(&[("f", Net, 4, 1.3), ("f", Net, 8, 0.8)]), ["f net 8", "f net 4"]);
    // 1.2 × 1.25 ÷ 1.5 = 1: both together undo the first, and the last alone not the second.
    let steps = [("f", Net, 4, 1.2), ("f", Net, 8, 1.25), ("f", Net, 12, 1.0 / 1.5)];
    assert_eq!(settled(&steps), ["f net 12", "f net 8", "-f net 4"]);
    // Another function, or measure, reverses nothing.
    assert_eq!(settled(&[("f", Net, 4, 1.3), ("g", Net, 8, 1.0 / 1.3)]), ["g net 8", "f net 4"]);
    let other = settled(&[("f", Net, 4, 1.3), ("f", Elapsed, 8, 1.0 / 1.3)]);
    assert_eq!(other, ["f elapsed 8", "f net 4"]);
}

#[test]
fn the_last_change_of_each_function_is_known() {
    let mut found = history(1, |_| 1_000).find(&Options::default());
    let changes = [("f", 4), ("f", 9), ("f", 6), ("g", 2), (WHOLE_RUN, 7)];
    found.changes =
        changes.map(|(function, build)| change(function, Measure::Net, build, 1.3)).to_vec();
    let last = History::last_changes(&found);
    let expected = [("f", 9), ("g", 2), (WHOLE_RUN, 7)].map(|(name, build)| (name.into(), build));
    assert_eq!(last, BTreeMap::from(expected));
}

#[test]
fn levels_are_those_of_the_runs_that_have_the_function() {
    let nan = f64::NAN;
    let f: [&[f64]; 3] = [&[3.0, nan], &[nan, nan], &[nan, 5.0]];
    let g: [&[f64]; 3] = [&[1.0, 1.0], &[1.0, 1.0], &[1.0, nan]];
    let history = of_levels(&[("f", &f), ("g", &g)]);
    let of = |name: &str| history.levels(name, Measure::Net).unwrap();
    assert_eq!(of("f"), [vec![8.0], vec![], vec![32.0]]);
    assert_eq!(of("g"), [vec![2.0, 2.0], vec![2.0, 2.0], vec![2.0]]);
    assert_eq!(of("f.isra.0"), of("f"));
    let unknown = history.levels("ff", Measure::Net).unwrap_err();
    assert!(unknown.contains("`f`"), "{unknown}");
    assert_eq!(History::key("f.isra.0"), "f");
}

/// Runs of a build around a level.
fn around(level: f64, build: usize) -> Vec<f64> {
    (0..3).map(|run| level + 0.001 * ((build * 7 + run * 5) % 11) as f64).collect()
}

#[test]
fn each_change_is_tested_between_its_neighbors_and_the_others_at_the_middle() {
    // Nothing is in build 3, and `f` changes at 7 and 14. The others do not, and vary by as much: their
    // variances are part of what is known of that of `f`.
    let mut random = Random(7);
    let mut series = |of: [f64; 3]| -> Vec<Vec<f64>> {
        let level = |build: usize| if build == 3 { f64::NAN } else { of[build / 7] };
        let mut run = |level: f64| level + 0.01 * random.normal();
        (0..21).map(|build| (0..3).map(|_| run(level(build))).collect()).collect()
    };
    let f = series([10.0, 10.5, 10.2]);
    let others = ["a", "b", "c", "d", "g", "h"].map(|name| (name, series([4.0; 3])));
    let levels: Vec<_> = std::iter::once(("f", &f))
        .chain(others.iter().map(|(name, of)| (*name, of)))
        .map(|(name, of)| (name, of.iter().map(Vec::as_slice).collect::<Vec<_>>()))
        .collect();
    let levels: Vec<(&str, &[&[f64]])> =
        levels.iter().map(|(name, of)| (*name, of.as_slice())).collect();
    let options = Options { measures: vec![Measure::Net], ..Options::default() };
    let found = of_levels(&levels).find(&options);
    assert_eq!(found.functions, 7);
    let places: Vec<_> = found.changes.iter().map(|one| (one.previous, one.build)).collect();
    assert_eq!(places, [(13, 14), (6, 7)]);
    // The same rows by hand.
    let part = |of: &[Vec<f64>], builds: std::ops::Range<usize>| -> Vec<f64> {
        let known = |(at, build): (usize, &Vec<f64>)| {
            if builds.contains(&at) { build.clone() } else { vec![f64::NAN; 3] }
        };
        of.iter().enumerate().flat_map(known).collect()
    };
    let row = |of: &[Vec<f64>], from: usize, at: usize, to: usize| Row {
        before: part(of, from..at),
        after: part(of, at..to),
        intensity: f64::log2(600.0 / 63.0),
        ..Row::default()
    };
    let mut rows = vec![row(&f, 0, 7, 14), row(&f, 7, 14, 21)];
    rows.extend(others.iter().map(|(_, of)| row(of, 0, 10, 21)));
    let blocks: Vec<u32> = (0..63).map(|run| run / 3).collect();
    let design = Design { before: blocks.clone(), after: blocks, paired: false };
    let outcome = test_together(&design, &[rows], &options.stats).swap_remove(0);
    let level = stats::selected_level(&outcome.rows);
    for (change, tested) in found.changes.iter().rev().zip(&outcome.rows) {
        let (low, high) = tested.interval(level);
        assert_eq!(change.interval, (low.exp2(), high.exp2()));
    }
    // 2^10 and 2^10.5, and their ratio √2.
    let first = &found.changes[1];
    assert!((first.ratio / 0.5_f64.exp2() - 1.0).abs() < 5e-3, "{first:?}");
    assert!(first.before.0.abs_diff(1024) <= 5 && first.after.0.abs_diff(1448) <= 5, "{first:?}");
}

#[test]
fn functions_that_are_called_too_little_are_not_looked_at() {
    let levels: Vec<Vec<f64>> = (0..8).map(|build| around(4.0, build)).collect();
    let levels: Vec<&[f64]> = levels.iter().map(Vec::as_slice).collect();
    let functions = |calls_min: f64| {
        of_levels(&[("f", &levels)]).find(&Options { calls_min, ..Options::default() }).functions
    };
    assert_eq!((functions(10.0), functions(10.1)), (1, 0));
}

#[test]
fn a_function_is_flaky_if_states_remain_without_its_changes() {
    let builds = |of: &dyn Fn(usize, usize) -> f64| -> Vec<Vec<f64>> {
        let one = |build| (0..3).map(|run| around(of(build, run), build)[run]).collect();
        (0..12).map(one).collect()
    };
    let flips = builds(&|_, run| if run == 0 { 10.3 } else { 10.0 });
    let steps = builds(&|build, _| if build < 6 { 10.0 } else { 10.3 });
    let of = |n: usize| {
        let [flips, steps] =
            [&flips, &steps].map(|of| of[..n].iter().map(Vec::as_slice).collect::<Vec<_>>());
        let found = of_levels(&[("flips", &flips), ("steps", &steps)]).find(&Options::default());
        found.flaky.into_iter().map(|flaky| flaky.function).collect::<Vec<_>>()
    };
    assert_eq!(of(12), ["flips"]);
    // Of too few builds nothing is said: changes could not be found.
    assert_eq!(of(6), Vec::<String>::new());
}

#[test]
fn the_whole_run_is_the_net_time_of_what_counts() {
    // Twenty calls of either function, of 1000 and on average 2 microseconds more; an idle loop is no
    // cost, and a run of nothing else has none.
    let busy = history(2, |_| 1_000);
    let total =
        |history: &History| history.functions[WHOLE_RUN].values[Measure::Total.index()].clone();
    let found = total(&busy);
    assert_eq!(found.len(), 6);
    assert!(found.iter().all(|log| (log.exp2() - 40_080_000.0).abs() < 1e-3), "{found:?}");
    let mut idle = History::default();
    let profile = Calls::parse("0 idle( 50 )").profile();
    let run = Run {
        name: "r".into(),
        block: None,
        profile,
        facts: Vec::new(),
        series: None,
        paths: None,
    };
    idle.add(Build::default(), Side { name: "b".into(), runs: vec![run], skipped: 0 });
    assert!(total(&idle)[0].is_nan());
}

#[test]
fn a_build_is_the_mean_of_its_runs_and_without_any_it_is_no_part_of_the_series() {
    let nan = f64::NAN;
    let history = of_levels(&[("f", &[&[1.0, 4.0, 4.0], &[nan, nan], &[6.0, nan], &[2.0, 5.0]])]);
    let of_run = [0, 0, 0, 1, 1, 2, 2, 3, 3];
    let mut values = history.functions["f"].values[0].clone();
    values.resize(9, nan);
    let (places, means) = history.means(&values, &of_run);
    assert_eq!((places, means), (vec![0, 2, 3], vec![3.0, 6.0, 3.5]));
}

#[test]
fn states_closer_than_the_margin_are_not_flaky() {
    let flaky = |apart: f64| {
        let state =
            |run: usize| 10.0 + if run.is_multiple_of(3) { apart } else { 0.0 } + run as f64 * 1e-5;
        let levels: Vec<[f64; 3]> =
            (0..10).map(|build| [0, 1, 2].map(|run| state(3 * build + run))).collect();
        let levels: Vec<&[f64]> = levels.iter().map(<[f64; 3]>::as_slice).collect();
        of_levels(&[("f", &levels)]).find(&Options::default()).flaky.len()
    };
    // `np.log2(1.02)` is 0.02857.
    assert_eq!([flaky(0.028), flaky(0.029)], [0, 1]);
}
