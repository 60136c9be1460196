//! Formats of binary records: packets and pages that say what was lost, intervals where they end,
//! the dialects of ktrace, the trace ports of microcontrollers.

use profctl_testkit::execution::write::{self, Ktrace, Packing};
use profctl_testkit::execution::{Leaves, Mix, What};
use profctl_testkit::generate::trace_dat::DatShape;

use super::{check, is_told_by_depth_only, of, with_symbols};
use crate::recorder::{read, read_parts};

/// What a packet, or a page, says of events lost before it.
#[test]
fn losses_between_packets() {
    let broken = Mix { step: 2, ties: false, unwinding: false, ..Mix::BROKEN };
    for overwrites in [false, true] {
        let packing = Packing { packet: 300, big_endian: overwrites, overwrites };
        check(&format!("ctf, {packing:?}"), 200, &broken, |execution, _| {
            if is_told_by_depth_only(execution) {
                return None;
            }
            let files = write::ctf(execution, packing);
            let options = with_symbols("ctf", &write::ctf_symbols(execution));
            Some((execution.clone(), read_parts(&files, &options)))
        });
    }
    check("babeltrace", 200, &broken, |execution, _| {
        if is_told_by_depth_only(execution) {
            return None;
        }
        let options = with_symbols("babeltrace", &write::ctf_symbols(execution));
        Some((execution.clone(), read(write::babeltrace(execution).as_bytes(), &options)))
    });
    for version in [6, 7] {
        check(&format!("trace_dat {version}"), 300, &broken, |execution, _| {
            let shape = DatShape { version, big_endian: version == 6, ..DatShape::PLAIN };
            let file = write::trace_dat(execution, &shape)?;
            Some((execution.clone(), read(&file, &of("trace_dat"))))
        });
    }
}

/// Interrupts that are printed inside a call that had returned.
#[test]
fn late_interrupts() {
    let mut n = 0;
    for (what, threads) in [("one thread", 1), ("two threads", 2)] {
        let mix = Mix { threads, ties: false, ..Mix::WHOLE };
        check(&format!("trace_dat, {what}"), 300, &mix, |execution, _| {
            n += write::late_interrupts(execution).iter().flatten().count();
            let file = write::trace_dat(execution, &DatShape::PLAIN)?;
            Some((execution.clone(), read(&file, &of("trace_dat"))))
        });
    }
    assert!(n > 100, "only {n} came late");
}

/// Intervals that are recorded where they end: what has not ended is missing, and where a caller
/// begins is only seen behind its callees, thousands of events later.
#[test]
fn intervals_where_they_end() {
    let cut = Mix { cut_start: true, cut_end: true, ..Mix::WHOLE };
    let long = Mix { records: 9_000, threads: 2, depth: 30, ..cut };
    for (what, seeds, mix) in [("whole", 150, Mix::WHOLE), ("cut", 150, cut), ("long", 3, long)] {
        for version in [8, 9] {
            check(&format!("measureme {version}, {what}"), seeds, &mix, |execution, seed| {
                let page = [7, 100, 4_096, 1 << 20][seed as usize % 4];
                let (file, said) = write::measureme(execution, version, page);
                Some((said, read(&file, &of("measureme"))))
            });
        }
    }
}

#[test]
fn records_of_ktrace() {
    let flat = Mix { depth: 1, functions: write::SYSCALLS, ..Mix::WHOLE };
    let switched = |mix: Mix| Mix { cpus: 2, threads: 4, ties: false, ..mix };
    let broken = |mix: Mix| Mix { cut_start: true, cut_end: true, losses: true, ..mix };
    let systems = [
        Ktrace::FreeBsd { big_endian: false },
        Ktrace::FreeBsd { big_endian: true },
        Ktrace::NetBsd,
        Ktrace::OpenBsd,
    ];
    for system in systems {
        for (what, mix, is_flat) in [
            ("system calls", flat, true),
            ("system calls, broken", broken(flat), true),
            ("system calls, switched", switched(flat), true),
            ("functions", Mix::WHOLE, false),
            ("functions, broken", broken(Mix::WHOLE), false),
            ("functions, switched", switched(Mix::WHOLE), false),
        ] {
            let has_switches = !matches!(system, Ktrace::OpenBsd);
            let counts_losses = matches!(system, Ktrace::FreeBsd { .. });
            let mix = Mix {
                cpus: if has_switches { mix.cpus } else { 0 },
                losses: mix.losses && counts_losses,
                ..mix
            };
            check(&format!("ktrace, {system:?}, {what}"), 100, &mix, |execution, _| {
                let mut execution = execution.clone();
                if matches!(execution.records.last(), Some(last) if matches!(last.what, What::Lost(_)))
                {
                    return None;
                }
                // The only other state is that a thread waits.
                for record in &mut execution.records {
                    if let What::Switch { leaves, .. } = &mut record.what
                        && *leaves == Leaves::Uninterruptible
                    {
                        *leaves = Leaves::Sleeping;
                    }
                }
                let (bytes, named) = write::ktrace(&execution, system, is_flat);
                let mut options = of("ktrace");
                if !is_flat {
                    // What programs announce looks alike in all dialects.
                    let dialect = match system {
                        Ktrace::FreeBsd { big_endian: false } => "freebsd-v1-64",
                        Ktrace::FreeBsd { big_endian: true } => "freebsd-v1-64-be",
                        Ktrace::NetBsd => "netbsd-v2-64",
                        Ktrace::OpenBsd => "openbsd-64",
                    };
                    options.import.dialect = Some(dialect.to_owned());
                }
                let outcome = read(&bytes, &options);
                if let (Ok(outcome), Some(first), Some(last)) =
                    (&outcome, named.records.first(), named.records.last())
                    && mix.cpus == 0
                {
                    let (start, end) = outcome.span_of_time;
                    assert_eq!(end.0 - start.0, last.time - first.time, "{system:?}, {what}: real");
                }
                Some((named, outcome))
            });
        }
    }
}

#[test]
fn ports_of_microcontrollers() {
    let one = Mix { threads: 1, ties: false, ..Mix::WHOLE };
    for (what, mix) in [
        ("whole", one),
        ("cut", Mix { cut_start: true, cut_end: true, ..one }),
        ("lossy", Mix { losses: true, ..one }),
    ] {
        check(&format!("itm, {what}"), 150, &mix, |execution, _| {
            if is_told_by_depth_only(execution) {
                return None;
            }
            let mut options = of("itm");
            options.import.names = Some(write::probe_names(execution).into_bytes());
            Some((execution.clone(), read(&write::itm(execution), &options)))
        });
    }
    let tasks = Mix { cpus: 1, wakes: true, threads: 3, ties: false, ..Mix::WHOLE };
    for (what, mix) in [
        ("whole", tasks),
        ("cut", Mix { cut_end: true, ..tasks }),
        ("never switched", one),
        ("lossy", Mix { losses: true, cut_start: true, ..one }),
    ] {
        check(&format!("systemview, {what}"), 150, &mix, |execution, _| {
            if is_told_by_depth_only(execution) {
                return None;
            }
            let (bytes, said) = write::systemview(execution);
            Some((said, read(&bytes, &of("systemview"))))
        });
    }
}
