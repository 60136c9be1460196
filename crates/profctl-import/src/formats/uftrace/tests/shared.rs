//! Recordings that are too large to commit.

use std::collections::BTreeMap;

use super::report::{Calls, Row, compare_with, printed, rows};
use super::*;

/// Every function is as uftrace 0.19 reports it, or differs by a rule of docs/formats/uftrace.md.
#[test]
fn large_recordings_are_as_uftrace_reports_them() {
    let Some(shared) = fixtures::shared() else { return };
    let compare = |name: &str| {
        let recording = shared.join("peers").join(format!("uftrace-{name}"));
        let report = shared.join(format!("peers/uftrace-outputs/{name}/report-all.v019.csv"));
        compare_with(name, &fixtures::parts(&recording), &report)
    };
    expect![""].assert_eq(&compare("lua"));
    expect!["linux:schedule: time off CPU"].assert_eq(&compare("sqlite"));
    expect![[r"
        exit: shorter incomplete calls
        linux:schedule: time off CPU
        linux:schedule (pre-empted): time off CPU
        main: shorter incomplete calls
        tuklib_exit: shorter incomplete calls
        worker_start: shorter incomplete calls
        stitch/unclosed-entry 5"]]
    .assert_eq(&compare("xz-mt"));
    expect![[r"
        auxresume: incomplete calls are in sums only
        docall: incomplete calls are in sums only
        f_call: incomplete calls are in sums only
        luaB_auxwrap: incomplete calls are in sums only
        luaB_yield: incomplete calls are in sums only
        luaD_call: incomplete calls are in sums only
        luaD_callnoyield: incomplete calls are in sums only
        luaD_pcall: incomplete calls are in sums only
        luaD_precall: incomplete calls are in sums only
        luaD_rawrunprotected: incomplete calls are in sums only
        luaD_throw: incomplete calls are in sums only
        luaE_resetthread: incomplete calls are in sums only
        luaV_execute: incomplete calls are in sums only
        lua_pcallk: incomplete calls are in sums only
        lua_resume: incomplete calls are in sums only
        lua_yieldk: incomplete calls are in sums only
        main: incomplete calls are in sums only
        pmain: incomplete calls are in sums only
        resume: incomplete calls are in sums only
        stitch/unclosed-entry 28"]]
    .assert_eq(&compare("lua-longjmp-crash"));
}

/// What `uftrace report` 0.13 prints of them: total and self time, each with average, minimum and
/// maximum, and calls.
const SLEEPS: [(&str, &str); 2] = [
    (
        "sleep-fast",
        "69.696 ms 69.696 ms 69.696 ms 69.696 ms 0.350 us 0.350 us 0.350 us 0.350 us 1 main
         69.695 ms 69.695 ms 69.695 ms 69.695 ms 2.876 us 2.876 us 2.876 us 2.876 us 1 work
         69.692 ms 69.692 ms 69.692 ms 69.692 ms 69.692 ms 69.692 ms 69.692 ms 69.692 ms 1 usleep
         1.962 us 1.962 us 1.962 us 1.962 us 1.962 us 1.962 us 1.962 us 1.962 us 1 __monstartup
         1.012 us 1.012 us 1.012 us 1.012 us 1.012 us 1.012 us 1.012 us 1.012 us 1 __cxa_atexit
         0.941 us 0.941 us 0.941 us 0.941 us 0.941 us 0.941 us 0.941 us 0.941 us 1 atoi",
    ),
    (
        "sleep-slow",
        "95.128 ms 95.128 ms 95.128 ms 95.128 ms 0.370 us 0.370 us 0.370 us 0.370 us 1 main
         95.127 ms 95.127 ms 95.127 ms 95.127 ms 2.595 us 2.595 us 2.595 us 2.595 us 1 work
         95.124 ms 95.124 ms 95.124 ms 95.124 ms 95.124 ms 95.124 ms 95.124 ms 95.124 ms 1 usleep
         1.372 us 1.372 us 1.372 us 1.372 us 1.372 us 1.372 us 1.372 us 1.372 us 1 __monstartup
         1.032 us 1.032 us 1.032 us 1.032 us 1.032 us 1.032 us 1.032 us 1.032 us 1 __cxa_atexit
         1.001 us 1.001 us 1.001 us 1.001 us 1.001 us 1.001 us 1.001 us 1.001 us 1 atoi",
    ),
];

#[test]
fn small_recordings_are_as_uftrace_prints_them() {
    let Some(shared) = fixtures::shared() else { return };
    for (name, report) in SLEEPS {
        let trace = read(&fixtures::parts(&shared.join("peers").join(format!("uftrace-{name}"))));
        let ours = rows(&trace);
        assert_eq!(ours.len(), report.lines().count(), "{name}");
        for line in report.lines() {
            let (function, times, calls) = printed(line);
            let Calls { row, partial, .. } = ours[&function];
            let Row { total, avg, min, max, own, own_avg, own_min, own_max, .. } = row;
            assert_eq!((row.calls, partial), (calls, 0), "{name}: {function}");
            let found = [total, avg, min, max, own, own_avg, own_min, own_max];
            for (found, (expected, step)) in found.iter().zip(times) {
                assert_eq!(found / step * step, expected, "{name}: {function}");
            }
        }
    }
}

/// Ten million records. What another program found in them is in nanoseconds, and equals the report.
#[test]
fn a_recording_of_ten_million_records_is_as_uftrace_reports_it() {
    let Some(shared) = fixtures::shared() else { return };
    let packed = fixtures::read(&shared.join("peers/uftrace-sqlite-10m.tar.zst"));
    let archive = zstd::decode_all(packed.as_slice()).unwrap();
    let parts = fixtures::unpack(&archive).into_iter().filter_map(|(name, bytes)| {
        let (_, name) = name.split_once('/').filter(|(_, name)| !name.is_empty())?;
        Some((name.to_owned(), bytes.to_vec()))
    });
    let ours = rows(&read(&parts.collect()));
    let oracle =
        String::from_utf8(fixtures::read(&shared.join("peers/sqlite10m.oracle.csv"))).unwrap();
    let (header, lines) = oracle.split_once('\n').unwrap();
    let columns =
        "name,calls,total_ns,total_incl_recursive_ns,self_ns,min_ns,max_ns,self_min_ns,self_max_ns";
    assert_eq!(header, columns);
    let row = |line: &str| {
        let mut fields = line.rsplitn(9, ',').map(str::to_owned);
        let mut number = || fields.next().unwrap().parse::<u64>().unwrap();
        let (own_max, own_min, max, min) = (number(), number(), number(), number());
        let (own, all, total, calls) = (number(), number(), number(), number());
        let (avg, own_avg) = (all / calls, own / calls);
        let row = Row { calls, total, own, min, max, own_min, own_max, avg, own_avg };
        (fields.next().unwrap(), row)
    };
    let expected: BTreeMap<String, Row> = lines.lines().map(row).collect();
    assert_eq!(expected.len(), 804);
    for (name, row) in &expected {
        let Calls { row: found, partial, .. } = ours[name];
        assert_eq!((found, partial), (*row, 0), "{name}");
    }
    assert_eq!(ours.len(), expected.len());
}
