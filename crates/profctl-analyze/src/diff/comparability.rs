//! Checks before a comparison whether two sides are comparable.

use super::{Options, Run, Side, odd, stats};
use crate::summarize::{By, Profile, Quality, count};

/// A difference between the sides that affects how to read the comparison.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Warning {
    /// What kind of thing, stable: `unit`, `loss`, `duration` …
    pub code: &'static str,
    /// What was found.
    pub message: String,
    /// Whether no verdict can be given because of it.
    pub veto: bool,
    /// Whether the sides differ in more than the build, so that a verdict may be about that: a gate
    /// does not give one unless it is asked to.
    pub confounds: bool,
}

/// The warning that each side is one block.
pub(super) fn one_block() -> Warning {
    Warning {
        code: "blocks",
        message: "each side is one block: differences between blocks and between builds cannot be \
                  separated"
            .into(),
        veto: false,
        confounds: true,
    }
}

/// The code of a warning that runs are incomplete.
pub(super) const LOSS: &str = "loss";

/// Warns of runs that drift in the order of their names, where the drift alone can make a difference
/// of more than `margin`.
pub(super) fn order_of_runs(
    sides: [&Side; 2],
    rows: &[stats::Row],
    margin: f64,
    warnings: &mut Vec<Warning>,
) {
    // Runs in blocks of their own, or paired ones, were not recorded one after the other.
    if sides.iter().any(|side| side.runs.iter().any(|run| run.block.is_some())) {
        return;
    }
    let Some(drift) = odd::drift(sides, rows).filter(|drift| drift.abs() > margin) else { return };
    let percent = (drift.abs().exp2() - 1.0) * 100.0;
    let direction = if drift > 0.0 { "slower" } else { "faster" };
    warnings.push(Warning {
        code: "order",
        message: format!(
            "runs become {direction} in the order of their names, by {percent:.0}% from the middle \
             of one side to that of the other if sides were recorded one after the other: record \
             them interleaved"
        ),
        veto: false,
        confounds: true,
    });
}

/// How much longer the runs of one side may last before it is mentioned.
const DURATION_MAX: f64 = 1.1;
/// Which share of the net time should be in functions that both sides have.
const COMMON_MIN: f64 = 0.5;

/// Everything of note.
pub(super) fn check(
    sides: [&Side; 2],
    merged: [&Profile; 2],
    common: [f64; 2],
    options: &Options<'_>,
) -> Vec<Warning> {
    let mut warnings = Vec::new();
    let mut say = |code, veto, message| {
        warnings.push(Warning { code, message, veto, confounds: false });
    };
    let [before, after] = merged;
    for profile in merged {
        if profile.by != By::Function {
            let by = profile.by.name();
            say("by", true, format!("a saved profile is grouped by {by}, expected by function"));
            break;
        }
    }
    let units = merged.map(|profile| profile.timebase.unit_name());
    if units[0] != units[1] {
        say("unit", true, format!("before counts {}, after {}", units[0], units[1]));
    }
    if before.knows_off_cpu != after.knows_off_cpu && has_rows(before) && has_rows(after) {
        let (knows, not) = order(before.knows_off_cpu);
        let message = format!(
            "{knows} records context switches, {not} does not: elapsed and net time are not \
             comparable"
        );
        say("events", true, message);
    }
    for (name, side) in ["before", "after"].into_iter().zip(sides) {
        for (what, share) in loss(side) {
            if share > options.loss_max {
                let percent = share * 100.0;
                let limit = options.loss_max * 100.0;
                let message = format!("{name}: {what}: {percent:.1}%, expected at most {limit}%");
                say(LOSS, true, message);
            }
        }
        for message in unknown_loss(side) {
            say(LOSS, options.loss_max < 1.0, format!("{name}: {message}"));
        }
    }
    differences(sides, merged, &mut say);
    let by_length = lengths(sides);
    for (name, share) in ["before", "after"].into_iter().zip(common) {
        if share < COMMON_MIN {
            let percent = share * 100.0;
            let message =
                format!("only {percent:.0}% of the net time {name} is in functions of both sides");
            say("functions", false, message);
        }
    }
    warnings.extend(by_length);
    warnings
}

fn has_rows(profile: &Profile) -> bool {
    !profile.rows.is_empty()
}

fn order(first: bool) -> (&'static str, &'static str) {
    if first { ("before", "after") } else { ("after", "before") }
}

/// What differs between the sides and need not matter.
fn differences(
    sides: [&Side; 2],
    merged: [&Profile; 2],
    say: &mut impl FnMut(&'static str, bool, String),
) {
    let [before, after] = merged;
    let formats = merged.map(|profile| {
        let mut names: Vec<&str> = profile.sources.iter().map(|s| s.format.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names.join(", ")
    });
    if formats[0] != formats[1] {
        say("format", false, format!("before is {}, after {}", formats[0], formats[1]));
    }
    let timelines = merged.map(|profile| profile.timebase.timeline.name());
    if timelines[0] != timelines[1] {
        let message = format!("the timeline is {} before, {} after", timelines[0], timelines[1]);
        say("timeline", false, message);
    }
    let resolutions = merged.map(|profile| profile.timebase.resolution.0);
    if resolutions[0] != resolutions[1] {
        let unit = before.timebase.unit_name();
        let [a, b] = resolutions;
        say("resolution", false, format!("clock resolution: {a} {unit} before, {b} {unit} after"));
    }
    if before.lanes != after.lanes {
        let cpus = |profile: &Profile| count(profile.lanes, "CPU", "CPUs");
        say("cpus", false, format!("{} before, {} after", cpus(before), cpus(after)));
    }
    // Functions of different kinds mean different events: a recording with interrupts distinguished
    // takes their time out of what they interrupted.
    let kinds = merged.map(|profile| profile.rows.iter().any(|row| row.stats.stolen > 0));
    if kinds[0] != kinds[1] {
        let (tells, not) = order(kinds[0]);
        say("events", false, format!("{tells} marks interrupts, {not} does not"));
    }
    for (name, [a, b]) in facts(sides) {
        // A recorder that filters calls gives different sums.
        say("input", name == RECORDED, format!("{name}: before {a}, after {b}"));
    }
}

/// Whether the runs of one side last longer, and what that means: a build that does more needs more
/// time, and a caller that records for longer sees more of everything.
fn lengths(sides: [&Side; 2]) -> Option<Warning> {
    let logs = |of: fn(&Profile) -> u64| {
        sides.map(|side| -> Vec<f64> {
            side.runs.iter().map(|run| (of(&run.profile) as f64).log2()).collect()
        })
    };
    let (real, calls) = (logs(|profile| profile.real), logs(Profile::calls));
    if !real.iter().chain(&calls).flatten().all(|log| log.is_finite()) {
        return None;
    }
    let mean = |side: &[f64]| side.iter().sum::<f64>() / side.len() as f64;
    let (longer, more) = (mean(&real[1]) - mean(&real[0]), mean(&calls[1]) - mean(&calls[0]));
    if longer.abs() <= DURATION_MAX.log2() {
        return None;
    }
    let (word, _) = order(longer < 0.0);
    let factor = longer.abs().exp2();
    let message = |rest: &str| format!("runs {word} last {factor:.2} times longer{rest}");
    let say = |confounds, rest: &str| {
        Some(Warning { code: "duration", message: message(rest), veto: false, confounds })
    };
    if more.abs() <= DURATION_MAX.log2() {
        return say(false, ", and make about as many calls");
    }
    // Where a user stopped the recording after a time, times of runs agree better than their calls.
    let spread = |logs: &[Vec<f64>; 2]| {
        logs.iter().flat_map(|side| side.iter().map(|log| (log - mean(side)).powi(2))).sum::<f64>()
    };
    let by_time = spread(&real) < spread(&calls) / 4.0;
    let times = (more * longer.signum()).exp2();
    let rest = format!(" and make {times:.2} times the calls: is it the same workload?");
    say(by_time || more < 0.0, &rest)
}

/// The fact that says which calls were recorded, where not all were.
const RECORDED: &str = "recorded";

/// What the heads of the inputs say differently. The kernel is meant to differ.
fn facts(sides: [&Side; 2]) -> Vec<(String, [String; 2])> {
    // A saved profile does not have the head of its trace.
    if sides.iter().any(|side| side.runs.iter().any(|run| run.facts.is_empty())) {
        return Vec::new();
    }
    let told = |side: &Side, name: &str| -> String {
        let of_run = |run: &Run| {
            let fact = run.facts.iter().find(|fact| fact.0 == name);
            fact.map_or_else(|| "not stated".to_owned(), |fact| fact.1.clone())
        };
        let mut values: Vec<String> = side.runs.iter().map(of_run).collect();
        values.sort_unstable();
        values.dedup();
        values.join("; ")
    };
    let runs = sides.iter().flat_map(|side| &side.runs);
    let mut names: Vec<&str> = runs.flat_map(|run| &run.facts).map(|f| f.0.as_str()).collect();
    names.retain(|&name| name != "kernel");
    names.sort_unstable();
    names.dedup();
    let both = names.into_iter().map(|name| (name.to_owned(), sides.map(|side| told(side, name))));
    both.filter(|(_, [before, after])| before != after).collect()
}

/// The worst run's share of what was lost, of calls that are incomplete, of records that could not
/// be read.
fn loss(side: &Side) -> [(&'static str, f64); 3] {
    let worst = |of: fn(&Profile) -> (u64, u64)| {
        side.runs.iter().map(|run| of(&run.profile)).fold(0.0, |worst: f64, (part, rest)| {
            let whole = part.saturating_add(rest);
            worst.max(if whole == 0 { 0.0 } else { part as f64 / whole as f64 })
        })
    };
    [
        (
            "events lost",
            worst(|profile| (profile.quality.lost_events.unwrap_or(0), profile.events)),
        ),
        ("incomplete calls", worst(|profile| (profile.partial(), profile.calls()))),
        ("records skipped", worst(|profile| (profile.quality.skipped_records, profile.events))),
    ]
}

/// Runs of which it is unknown how much is missing.
fn unknown_loss(side: &Side) -> impl Iterator<Item = String> {
    let runs = |is: fn(&Quality) -> bool| {
        let runs = side.runs.iter().filter(|run| is(&run.profile.quality)).count() as u64;
        (runs > 0).then(|| count(runs, "run", "runs"))
    };
    let lost = runs(|quality| quality.lost_events.is_none())
        .map(|runs| format!("{runs} lost an unknown number of events"));
    let damaged = runs(|quality| quality.damaged > 0)
        .map(|runs| format!("{runs} could not be read to the end"));
    [lost, damaged].into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;
    use crate::diff::fixture::run;

    /// Three runs alike: so long, with so many calls.
    fn side(real: u64, calls: u64) -> Side {
        let mut line = String::new();
        for at in 0..calls - 1 {
            write!(line, "{at} f( {at} ) ").unwrap();
        }
        write!(line, "{} f( {real} )", calls - 1).unwrap();
        let runs = (0..3).map(|number| run(&format!("run{number}"), &line)).collect();
        Side { name: String::new(), runs, skipped: 0 }
    }

    #[test]
    fn sides_of_unequal_length_are_compared_by_their_calls() {
        let same = " times longer, and make about as many calls";
        for (before, after, expected) in [
            ((1000, 100), (1050, 300), None),
            ((1000, 100), (2000, 105), Some((false, format!("after last 2.00{same}")))),
            ((2000, 105), (1000, 100), Some((false, format!("before last 2.00{same}")))),
            // Longer and more, by either side.
            (
                (1000, 100),
                (2000, 300),
                Some((false, "after last 2.00 times longer and make 3.00".into())),
            ),
            (
                (2000, 300),
                (1000, 100),
                Some((true, "before last 2.00 times longer and make 3.00".into())),
            ),
            // Longer, and yet less.
            (
                (1000, 100),
                (2000, 50),
                Some((true, "after last 2.00 times longer and make 0.50".into())),
            ),
            (
                (2000, 50),
                (1000, 100),
                Some((false, "before last 2.00 times longer and make 0.50".into())),
            ),
        ] {
            let (one, other) = (side(before.0, before.1), side(after.0, after.1));
            let found = lengths([&one, &other]);
            let told = found.as_ref().map(|found| (found.confounds, &*found.message));
            match (told, expected) {
                (None, None) => {}
                (Some((confounds, message)), Some((expected, part))) => {
                    assert!(message.starts_with(&format!("runs {part}")), "{message}");
                    assert_eq!(confounds, expected, "{message}");
                }
                (told, expected) => panic!("{told:?}, not {expected:?}"),
            }
        }
    }

    /// What is found with these runs and the parts of the net time in functions of both sides.
    fn found(sides: [&Side; 2], common: [f64; 2]) -> Vec<(&'static str, bool, String)> {
        let merged = sides.map(|side| side.merged().unwrap());
        check(sides, merged.each_ref(), common, &Options::default())
            .into_iter()
            .map(|warning| (warning.code, warning.veto, warning.message))
            .collect()
    }

    #[test]
    fn sides_that_differ_in_nothing_are_not_warned_of() {
        let one = side(1000, 20);
        assert_eq!(found([&one, &one], [1.0, 0.5]), []);
    }

    #[test]
    fn the_worst_run_of_a_side_says_what_is_missing() {
        let lost = |set: fn(&mut Profile)| {
            let (one, mut other) = (side(1000, 20), side(1000, 20));
            other.runs[0].profile.events = 99;
            set(&mut other.runs[0].profile);
            found([&one, &other], [1.0; 2])
        };
        // 1 of 100 is the limit, and 2 of 101 are beyond it.
        let limit = "expected at most 1%";
        assert_eq!(lost(|run| run.quality.lost_events = Some(1)), []);
        assert_eq!(
            lost(|run| run.quality.lost_events = Some(2)),
            [("loss", true, format!("after: events lost: 2.0%, {limit}"))]
        );
        assert_eq!(
            lost(|run| run.quality.skipped_records = 11),
            [("loss", true, format!("after: records skipped: 10.0%, {limit}"))]
        );
        // 5 of 25 calls.
        assert_eq!(
            lost(|run| run.rows[0].stats.partial = 5),
            [("loss", true, format!("after: incomplete calls: 20.0%, {limit}"))]
        );
    }

    #[test]
    fn less_than_half_of_the_time_in_functions_of_both_sides_is_said() {
        let one = side(1000, 20);
        let message = "only 49% of the net time after is in functions of both sides";
        assert_eq!(found([&one, &one], [0.5, 0.49]), [("functions", false, message.to_owned())]);
    }

    #[test]
    fn what_sides_record_differently_is_said() {
        let differs = |set: fn(&mut Profile)| {
            let (mut one, mut other) = (side(1000, 20), side(1000, 20));
            one.settle();
            other.settle();
            other.runs.iter_mut().for_each(|run| set(&mut run.profile));
            let found = found([&one, &other], [1.0; 2]);
            found
                .into_iter()
                .map(|(code, veto, message)| format!("{code} {veto}: {message}"))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            differs(|run| run.timebase.resolution.0 = 7),
            ["resolution false: clock resolution: 1000 ns before, 7 ns after"]
        );
        assert_eq!(differs(|run| run.lanes = 3), ["cpus false: 1 CPU before, 3 CPUs after"]);
        assert_eq!(
            differs(|run| run.rows[0].stats.stolen = 1),
            ["events false: after marks interrupts, before does not"]
        );
        let switches = "after records context switches, before does not: elapsed and net time are \
                        not comparable";
        assert_eq!(differs(|run| run.knows_off_cpu = true), [format!("events true: {switches}")]);
    }

    #[test]
    fn a_side_without_functions_needs_no_context_switches() {
        let (one, mut other) = (side(1000, 20), side(1000, 20));
        for run in &mut other.runs {
            run.profile.rows.clear();
            run.profile.knows_off_cpu = true;
        }
        let codes = |sides| found(sides, [1.0; 2]).into_iter().map(|of| of.0).collect::<Vec<_>>();
        assert!(!codes([&one, &other]).contains(&"events"));
        assert!(!codes([&other, &one]).contains(&"events"));
    }

    #[test]
    fn what_heads_say_differently_is_said_unless_it_is_the_kernel() {
        let with = |facts: [&[(&str, &str)]; 3]| {
            let mut side = side(1000, 20);
            for (run, facts) in side.runs.iter_mut().zip(facts) {
                run.facts = facts.iter().map(|of| (of.0.to_owned(), of.1.to_owned())).collect();
            }
            side
        };
        let before = with([&[("clock", "local"), ("kernel", "6.1"), ("cpus", "4")]; 3]);
        let other: &[(&str, &str)] = &[("clock", "global"), ("kernel", "6.2"), ("cpus", "4")];
        let more: &[(&str, &str)] = &[("clock", "local"), ("recorded", "some"), ("cpus", "4")];
        let after = with([other, more, other]);
        let expected = [
            ("input", false, "clock: before local, after global; local".to_owned()),
            ("input", true, "recorded: before not stated, after not stated; some".to_owned()),
        ];
        assert_eq!(found([&before, &after], [1.0; 2]), expected);
        assert_eq!(found([&before, &before], [1.0; 2]), []);
        // A run that says nothing at all has no head.
        assert_eq!(found([&before, &with([other, &[], other])], [1.0; 2]), []);
    }

    #[test]
    fn a_drift_is_said_in_percent_if_it_is_beyond_the_margin() {
        // Three functions of 8 runs in all, each of which takes `slope` more than the one before:
        // half of the runs is what a drift shifts a side by.
        let said = |slope: f64, margin: f64, in_blocks: bool| {
            let mut one = side(1000, 20);
            one.runs.push(one.runs[0].clone());
            for (at, run) in one.runs.iter_mut().enumerate() {
                run.name = format!("run{at}");
                run.block = in_blocks.then(|| "boot".to_owned());
            }
            let at = |place: f64, off: f64| slope * place + off;
            let values: Vec<f64> =
                vec![at(0.0, 1e-6), at(1.0, -1e-6), at(2.0, -1e-6), at(3.0, 1e-6)];
            let row = stats::Row { before: values.clone(), after: values, ..stats::Row::default() };
            let mut warnings = Vec::new();
            order_of_runs([&one, &one], &[row.clone(), row.clone(), row], margin, &mut warnings);
            warnings.into_iter().map(|of| (of.confounds, of.message)).collect::<Vec<_>>()
        };
        // `2 ** (4 * 0.1)` is 1.3195.
        for (slope, word) in [(0.1, "slower"), (-0.1, "faster")] {
            let found = said(slope, 0.39, false);
            let expected = format!("runs become {word} in the order of their names, by 32% from");
            assert_eq!(found.len(), 1);
            assert!(found[0].0 && found[0].1.starts_with(&expected), "{found:?}");
        }
        assert_eq!(said(0.1, 0.41, false), []);
        assert_eq!(said(0.1, 0.39, true), []);
    }

    #[test]
    fn runs_that_were_stopped_after_a_time_are_confounded() {
        let confounds = |real: [u64; 3]| {
            let of = |times: u64| {
                let mut all = side(1000, 20);
                for ((run, real), calls) in all.runs.iter_mut().zip(real).zip([76, 100, 132]) {
                    run.profile = side(times * real, times * calls).runs.remove(0).profile;
                }
                all
            };
            lengths([&of(1), &of(2)]).unwrap().confounds
        };
        // Less than half as far apart as the calls: `np.log2([76, 132])` is 0.4 off that of 100, and
        // `np.log2([880, 1136])` 0.184, `np.log2([860, 1163])` 0.218 off that of 1000.
        assert!(confounds([880, 1000, 1136]));
        assert!(!confounds([860, 1000, 1163]));
    }

    #[test]
    fn an_unknown_loss_is_a_veto_unless_any_loss_is_allowed() {
        let (one, mut other) = (side(1000, 20), side(1000, 20));
        other.runs[0].profile.quality.lost_events = None;
        let sides = [&one, &other];
        let merged = sides.map(|side| side.merged().unwrap());
        let found = |loss_max| {
            let options = Options { loss_max, ..Options::default() };
            let found = check(sides, merged.each_ref(), [1.0; 2], &options);
            found.iter().map(|of| (of.code, of.veto)).collect::<Vec<_>>()
        };
        assert_eq!(found(0.99), [("loss", true)]);
        assert_eq!(found(1.0), [("loss", false)]);
    }
}
