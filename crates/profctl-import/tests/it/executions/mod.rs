//! Generated executions, written as each family of formats writes them and read again: what is found
//! is compared, to the tick, with what the definitions of the numbers say of the execution.

mod covered;
mod records;

use std::collections::BTreeMap;

use profctl_import::bytes::Endian;
use profctl_import::formats::probe::ProbeOptions;
use profctl_import::formats::rule::RuleText;
use profctl_import::{ImportError, ImportOptions, ReadOptions};
use profctl_model::{RunState, Ticks};
use profctl_testkit::execution::write::{self, Counter, Packing};
use profctl_testkit::execution::{Execution, Expected, Mix, What, expected, make, states};
use profctl_testkit::generate::trace_dat::DatShape;

use crate::recorder::{Outcome, read, read_parts};

/// What was found, in the terms of what is expected. Functions that no execution has are omitted.
fn found(outcome: &Outcome, execution: &Execution, ticks: impl Fn(Ticks) -> u64) -> Expected {
    let mut found = Expected {
        unmatched: outcome.count("stitch/unmatched-exit"),
        unclosed: outcome.count("stitch/unclosed-entry"),
        forced: outcome.count("stitch/forced-exit"),
        gaps: outcome.count("stitch/gap"),
        ..Expected::default()
    };
    let mut add =
        |func, calls: u64, partial: u64, net: Ticks, wall: Ticks, off_cpu: Ticks, is_more: bool| {
            let name = &outcome.func(func).name;
            if !execution.functions.contains(name) {
                return;
            }
            let of = found.functions.entry(name.clone()).or_default();
            of.calls += calls;
            of.partial += partial;
            of.net += ticks(net);
            if is_more {
                of.wall += ticks(wall);
                of.off_cpu += ticks(off_cpu);
            } else {
                of.wall -= ticks(wall);
                of.off_cpu -= ticks(off_cpu);
            }
        };
    let none = Ticks(0);
    for span in &outcome.recorded.spans {
        let partial = u64::from(span.fidelity.is_partial());
        let (wall, off_cpu) = if span.outermost { (span.wall, span.off_cpu) } else { (none, none) };
        add(span.func, 1 - partial, partial, span.net, wall, off_cpu, true);
    }
    for calls in &outcome.recorded.outermost {
        add(calls.func, 0, 0, none, calls.wall, calls.off_cpu, true);
    }
    for calls in &outcome.recorded.enclosed {
        add(calls.func, 0, 0, none, calls.wall, calls.off_cpu, false);
    }
    found
}

/// Reads what `write` makes of the execution of each seed, and compares. `write` may leave an
/// execution out that its format cannot say; most must be in.
fn check(
    what: &str,
    seeds: u64,
    mix: &Mix,
    mut write: impl FnMut(&Execution, u64) -> Option<(Execution, Result<Outcome, ImportError>)>,
) {
    let mut n_compared = 0;
    for seed in 0..seeds {
        let execution = make(seed, mix);
        let Some((execution, outcome)) = write(&execution, seed) else { continue };
        let mut expected = expected(&execution);
        if expected.functions.is_empty() {
            continue;
        }
        let outcome = outcome.unwrap_or_else(|error| panic!("{what}, seed {seed}: {error}"));
        let mut got = found(&outcome, &execution, |ticks| outcome.nanos(ticks));
        if expected.gaps > 0 {
            // Some losses are stated once for every CPU.
            (got.gaps, expected.gaps) = (0, 0);
        }
        if got != expected {
            let differs: Vec<_> = expected
                .functions
                .iter()
                .map(|(name, sums)| (name, sums, got.functions.get(name)))
                .filter(|(_, sums, got)| Some(*sums) != *got)
                .collect();
            panic!(
                "{what}, seed {seed}: {differs:#?}\n{:?}\n{:?}\n{}",
                Expected { functions: BTreeMap::new(), ..got.clone() },
                Expected { functions: BTreeMap::new(), ..expected.clone() },
                write::plain(&execution, true),
            );
        }
        n_compared += 1;
    }
    assert!(
        n_compared * 3 >= seeds,
        "{what}: only {n_compared} of {seeds} executions were compared"
    );
}

fn with_symbols(format: &str, symbols: &str) -> ReadOptions {
    let symbols = Some(symbols.as_bytes().to_vec());
    ReadOptions { import: ImportOptions { symbols, ..ImportOptions::default() }, ..of(format) }
}

fn of(format: &str) -> ReadOptions {
    ReadOptions {
        format: Some(format.to_owned()),
        workers: 2,
        block_size: 700,
        ..ReadOptions::default()
    }
}

/// Whether names alone do not tell what happened: a call ended with a caller whose entry is
/// missing, so that this caller may as well have been one of its callees; or the exit of a call whose
/// entry is missing may as well be the late one of another call of that function.
fn is_told_by_depth_only(execution: &Execution) -> bool {
    let segments = execution.records.split(|record| matches!(record.what, What::Lost(_)));
    segments.into_iter().any(|segment| {
        let has = |what: What| segment.iter().any(|record| record.what == what);
        let forced: Vec<(usize, usize)> = (0..execution.calls.len())
            .filter(|&call| has(What::Enter(call)) && !has(What::Exit(call)))
            .filter_map(|call| {
                let mut callers = execution.callers(call);
                Some((call, callers.find(|&caller| has(What::Exit(caller)))?))
            })
            .collect();
        let is_same = |one: usize, other: usize| {
            let (one, other) = (execution.calls[one], execution.calls[other]);
            (one.function, one.thread) == (other.function, other.thread)
        };
        let mut unseen = (0..execution.calls.len())
            .filter(|&call| has(What::Exit(call)) && !has(What::Enter(call)));
        forced.iter().any(|&(_, caller)| !has(What::Enter(caller)))
            || unseen.any(|call| forced.iter().any(|&(other, _)| is_same(call, other)))
    })
}

/// The same in microseconds, for formats that print those.
const MICROSECONDS: u64 = 1_000;

#[test]
fn plain_text() {
    for (what, mix, cpus) in [
        ("whole", Mix::WHOLE, 0),
        ("broken", Mix::BROKEN, 0),
        ("switched", Mix::SWITCHED, 2),
        ("switched and broken", Mix { threads: 4, wakes: true, ..Mix::BROKEN }, 2),
    ] {
        for depths in [true, false] {
            let mix = Mix { cpus, ..mix };
            check(&format!("plain, {what}, depths {depths}"), 150, &mix, |execution, _| {
                if !depths && is_told_by_depth_only(execution) {
                    return None;
                }
                let text = write::plain(execution, depths);
                Some((execution.clone(), read(text.as_bytes(), &of("plain"))))
            });
        }
    }
}

#[test]
fn code_traces() {
    check("mcrae", 150, &Mix { recursion: true, ..Mix::WHOLE }, |execution, _| {
        let text = write::mcrae(execution);
        Some((execution.clone(), read(text.as_bytes(), &of("mcrae"))))
    });
}

#[test]
fn events_that_programs_exchange() {
    let in_order = Mix { ties: false, ..Mix::WHOLE };
    let broken = Mix { ties: false, losses: false, ..Mix::BROKEN };
    for (what, mix) in [("whole", in_order), ("broken", broken)] {
        check(&format!("chrome, entries and exits, {what}"), 200, &mix, |execution, _| {
            if is_told_by_depth_only(execution) {
                return None;
            }
            let text = write::chrome_begin_end(execution);
            Some((execution.clone(), read(text.as_bytes(), &of("chrome"))))
        });
    }
    check("chrome, complete calls", 200, &in_order, |execution, seed| {
        let text = write::chrome_complete(execution, seed);
        Some((execution.clone(), read(text.as_bytes(), &of("chrome"))))
    });
    check("speedscope", 150, &Mix::WHOLE, |execution, _| {
        let text = write::speedscope(execution);
        Some((execution.clone(), read(text.as_bytes(), &of("speedscope"))))
    });
}

/// Only sums are stated: own time by path.
#[test]
fn folded_stacks() {
    for seed in 0..200 {
        let execution = make(seed, &Mix::WHOLE);
        let expected = expected(&execution);
        let text = write::folded(&execution);
        if text.is_empty() {
            continue;
        }
        let outcome = read(text.as_bytes(), &of("folded")).unwrap();
        let found = found(&outcome, &execution, |ticks| outcome.nanos(ticks));
        for (name, sums) in &expected.functions {
            let found = found.functions.get(name).copied().unwrap_or_default();
            assert_eq!(
                (found.net, found.wall),
                (sums.net, sums.wall),
                "seed {seed}, {name}\n{text}"
            );
        }
    }
}

#[test]
fn records_of_probes() {
    let tick = MICROSECONDS;
    let counters = [
        (Counter { tag_bytes: 2, counter_bytes: 3, big_endian: false }, 24),
        (Counter { tag_bytes: 2, counter_bytes: 4, big_endian: true }, 32),
        (Counter { tag_bytes: 4, counter_bytes: 2, big_endian: false }, 16),
    ];
    for (counter, bits) in counters {
        // The longest pause must be below a period; a few of them make one.
        let step = (1_u64 << bits) / 64;
        let of_threads = Mix { cpus: 1, own_functions: true, waits: true, step, ..Mix::WHOLE };
        for (what, mix) in [
            ("one thread", Mix { threads: 1, step, ..Mix::WHOLE }),
            ("broken", Mix { threads: 1, step, losses: false, ..Mix::BROKEN }),
            ("switches", of_threads),
        ] {
            check(&format!("probe, {bits} bits, {what}"), 120, &mix, |execution, _| {
                if is_told_by_depth_only(execution) {
                    return None;
                }
                let names = write::probe_names(execution);
                let bytes = write::probe_records(execution, counter);
                let mut options = of("probe");
                options.import.names = Some(names.into_bytes());
                options.import.probe = ProbeOptions {
                    tag_bits: 8 * counter.tag_bytes as u32,
                    time_bits: bits,
                    endian: if counter.big_endian { Endian::Big } else { Endian::Little },
                    ..ProbeOptions::default()
                };
                let mut execution = execution.clone();
                execution.records.iter_mut().for_each(|record| record.time *= tick);
                Some((execution, read(&bytes, &options)))
            });
        }
    }
}

/// Wires that rise together are distinguished only where they fall one after the other.
fn is_ambiguous(execution: &Execution) -> bool {
    let time = |what: What| {
        let found = execution.records.iter().find(|record| record.what == what);
        found.map(|record| record.time)
    };
    let ends = |call: usize| (time(What::Enter(call)), time(What::Exit(call)));
    let seen = |call: &usize| ends(*call) != (None, None);
    (0..execution.calls.len())
        .filter(seen)
        .any(|call| execution.callers(call).filter(seen).any(|caller| ends(call) == ends(caller)))
}

#[test]
fn wires() {
    type Write = fn(&Execution) -> String;
    let writers: [(&str, Write); 3] =
        [("vcd", write::vcd), ("saleae", write::saleae), ("sigrok", write::sigrok)];
    let one = Mix { threads: 1, recursion: false, ..Mix::WHOLE };
    for (what, mix) in [
        ("whole", one),
        ("cut", Mix { cut_start: true, cut_end: true, ..one }),
        ("no ties", Mix { ties: false, cut_start: true, cut_end: true, ..one }),
    ] {
        for (format, writer) in writers {
            check(&format!("{format}, {what}"), 200, &mix, |execution, _| {
                if is_ambiguous(execution) {
                    return None;
                }
                let mut options = of(format);
                options.import.capture.gpio = Some("*".into());
                Some((execution.clone(), read(writer(execution).as_bytes(), &options)))
            });
        }
    }
}

#[test]
fn flows_of_instructions() {
    let mix = Mix { threads: 1, ties: false, step: 3, ..Mix::WHOLE };
    for seed in 0..200 {
        let logs = write::instructions(&make(seed, &mix));
        let expected = expected(&logs.counted);
        for (format, text, ticks) in [
            ("gem5", &logs.gem5, 500),
            ("spike", &logs.spike, 1),
            ("execlog", &logs.execlog, 1),
            ("qemu", &logs.qemu, 1),
            ("qemu", &logs.qemu_singly, 1),
        ] {
            let outcome = read(text.as_bytes(), &with_symbols(format, &logs.symbols)).unwrap();
            let found = found(&outcome, &logs.counted, |length| length.0 / ticks);
            assert_eq!(found.functions, expected.functions, "{format}, seed {seed}\n{text}");
        }
    }
}

/// How long each thread was in each state.
fn states_found(outcome: &Outcome) -> BTreeMap<usize, BTreeMap<&'static str, u64>> {
    let mut found: BTreeMap<usize, BTreeMap<&'static str, u64>> = BTreeMap::new();
    for state in &outcome.recorded.states {
        let thread = &outcome.threads[state.thread.index()];
        let Some(tid) = thread.tid.filter(|tid| *tid > 100) else { continue };
        let length = outcome.nanos(state.length());
        if length > 0 {
            let states = found.entry(tid as usize - 101).or_default();
            *states.entry(state.state.name()).or_default() += length;
        }
    }
    found
}

/// What is known of the states of a thread before its first switch differs with what else is.
fn without_unknown(
    mut states: BTreeMap<usize, BTreeMap<&'static str, u64>>,
) -> BTreeMap<usize, BTreeMap<&'static str, u64>> {
    for states in states.values_mut() {
        states.remove(RunState::Unknown.name());
    }
    states.retain(|_, states| !states.is_empty());
    states
}

type Written = (Vec<(String, Vec<u8>)>, Execution);
type Writer<'a> = (&'a str, Mix, &'a dyn Fn(&Execution) -> Written);

#[test]
fn events_of_the_kernel() {
    let one = |text: String| vec![("trace".to_owned(), text.into_bytes())];
    let nested = Mix { ties: false, ..Mix::SWITCHED };
    let flat = Mix { depth: 1, ..nested };
    let micros = |mix: Mix| Mix { step: MICROSECONDS, ..mix };
    let ftrace = |execution: &Execution| -> Written {
        let (text, named) = write::ftrace(execution);
        (one(text), named)
    };
    let perf_script = |execution: &Execution| -> Written {
        let (text, named) = write::perf_script(execution);
        (one(text), named)
    };
    let systrace =
        |execution: &Execution| -> Written { (one(write::systrace(execution)), execution.clone()) };
    let perfetto = |execution: &Execution| -> Written {
        (vec![("trace".to_owned(), write::perfetto(execution))], execution.clone())
    };
    let plain = |execution: &Execution| -> Written {
        (one(write::plain(execution, false)), execution.clone())
    };
    let cut = |mix: Mix| Mix { cut_end: true, ..mix };
    let report = |execution: &Execution| -> Written {
        let (text, named) = write::trace_cmd_report(execution);
        (one(text), named)
    };
    let babeltrace = |execution: &Execution| -> Written {
        (one(write::babeltrace(execution)), execution.clone())
    };
    let ctf = |packet: usize, big_endian: bool| {
        move |execution: &Execution| -> Written {
            let packing = Packing { packet, big_endian, overwrites: false };
            (write::ctf(execution, packing), execution.clone())
        }
    };
    let (small, large) = (ctf(400, false), ctf(4_096, true));
    let trace_dat = |version: u32, big_endian: bool| {
        move |execution: &Execution| -> Written {
            let shape = DatShape { version, big_endian, ..DatShape::PLAIN };
            let file = write::trace_dat(execution, &shape).expect("nothing is lost");
            (vec![("trace.dat".to_owned(), file)], execution.clone())
        }
    };
    let (six, seven) = (trace_dat(6, true), trace_dat(7, false));
    // Times that short stamps cannot hold, and those of which a record holds the difference.
    let far = |mix: Mix| Mix { step: 1 << 25, ..mix };
    let writers: [Writer<'_>; 19] = [
        ("trace_cmd_report", micros(flat), &report),
        ("trace_cmd_report", micros(cut(flat)), &report),
        ("babeltrace", nested, &babeltrace),
        ("babeltrace", far(cut(nested)), &babeltrace),
        ("ctf", nested, &small),
        ("ctf", far(cut(nested)), &small),
        ("ctf", far(nested), &large),
        ("trace_dat", nested, &seven),
        ("trace_dat", far(cut(nested)), &seven),
        ("trace_dat", far(nested), &six),
        ("ftrace", micros(flat), &ftrace),
        ("ftrace", micros(cut(flat)), &ftrace),
        ("perf_script", flat, &perf_script),
        ("perf_script", cut(flat), &perf_script),
        ("systrace", micros(nested), &systrace),
        ("systrace", micros(cut(nested)), &systrace),
        ("perfetto", nested, &perfetto),
        ("perfetto", cut(nested), &perfetto),
        ("plain", cut(nested), &plain),
    ];
    for (format, mix, writer) in writers {
        let mut wakes = 0;
        // Of the addresses of a program; they do not depend on the execution.
        let options = with_symbols(format, &write::ctf_symbols(&make(0, &mix)));
        check(&format!("{format}, {mix:?}"), 120, &mix, |execution, _| {
            let (parts, named) = writer(execution);
            Some((named, read_parts(&parts, &options)))
        });
        for seed in 0..120 {
            let execution = make(seed, &mix);
            let outcome = read_parts(&writer(&execution).0, &options).unwrap();
            let (found, expected) = (states_found(&outcome), states(&execution));
            assert_eq!(
                without_unknown(found),
                without_unknown(expected),
                "{format}, seed {seed}\n{}",
                write::plain(&execution, false)
            );
            // However many records report a waking, it is one, and none of these is redundant.
            let n = execution.records.iter().filter(|r| matches!(r.what, What::Wake(_))).count();
            assert_eq!(outcome.recorded.wakes.len(), n, "{format}, seed {seed}");
            let redundant: u64 =
                outcome.recorded.lives.iter().map(|life| life.redundant_wakings).sum();
            assert_eq!(redundant, 0, "{format}, seed {seed}");
            wakes += n;
        }
        assert!(wakes > 100, "{format}: only {wakes} wakings");
    }
}

#[test]
fn streams_of_threads() {
    for (what, mix) in [("whole", Mix::WHOLE), ("broken", Mix { losses: false, ..Mix::BROKEN })] {
        check(&format!("uftrace, {what}"), 150, &mix, |execution, _| {
            Some((execution.clone(), read_parts(&write::uftrace(execution), &of("uftrace"))))
        });
    }
}

#[test]
fn logs_of_calls() {
    let flat = Mix { depth: 1, functions: write::SYSCALLS, step: MICROSECONDS, ..Mix::WHOLE };
    let apart = Mix { ties: false, ..flat };
    check("strace", 200, &apart, |execution, _| {
        let (text, named) = write::strace(execution);
        Some((named, read(text.as_bytes(), &of("strace"))))
    });
    for (what, mix) in [("whole", flat), ("cut", Mix { cut_start: true, cut_end: true, ..flat })] {
        check(&format!("kdump, {what}"), 200, &mix, |execution, _| {
            let (text, named) = write::kdump(execution);
            Some((named, read(text.as_bytes(), &of("kdump"))))
        });
    }
}

#[test]
fn lines_of_text() {
    let in_order = Mix { ties: false, ..Mix::WHOLE };
    let broken = Mix { losses: false, ..Mix::BROKEN };
    for (what, mix) in [("whole", Mix::WHOLE), ("broken", broken)] {
        check(&format!("otf2, {what}"), 150, &mix, |execution, _| {
            if is_told_by_depth_only(execution) {
                return None;
            }
            Some((execution.clone(), read(write::otf2(execution).as_bytes(), &of("otf2"))))
        });
        check(&format!("rule, {what}"), 150, &mix, |execution, _| {
            if is_told_by_depth_only(execution) {
                return None;
            }
            let mut options = of("rule");
            let text = write::RULE.to_owned();
            options.import.rule = Some(RuleText { name: "test".to_owned(), text });
            Some((execution.clone(), read(write::ruled(execution).as_bytes(), &options)))
        });
    }
    check("ltrace", 200, &Mix { step: MICROSECONDS, ..in_order }, |execution, _| {
        Some((execution.clone(), read(write::ltrace(execution).as_bytes(), &of("ltrace"))))
    });
}
