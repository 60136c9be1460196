//! Recordings that are too large to commit, beside what is known of them without this program.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::PathBuf;

use profctl_model::Trace;
use profctl_testkit::fixtures;

use super::records::{Call, Cpu, Sums, bytes_of, records};
use super::{assert_same, read};

/// The recordings, by name.
fn recordings() -> Vec<(String, PathBuf)> {
    let folder = fixtures::shared().map(|shared| shared.join("kernel/dat"));
    let files = folder.map(|folder| fixtures::files(&folder)).unwrap_or_default();
    let named = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.strip_suffix(".zst").map(String::from);
        let name = name.or_else(|| Some(path.file_name()?.to_str()?.to_owned()))?;
        Some((name.strip_suffix(".dat")?.to_owned(), path))
    };
    files.into_iter().filter_map(named).collect()
}

fn oracle(name: &str, kind: &str) -> Option<String> {
    let folder = fixtures::shared()?.join("kernel/dat/oracle");
    let paths =
        [format!("{name}.{kind}"), format!("{name}.{kind}.zst")].map(|file| folder.join(file));
    let path = paths.into_iter().find(|path| path.exists())?;
    Some(String::from_utf8(bytes_of(&path)).unwrap())
}

/// The sums of a `funcs.tsv`.
fn told(text: &str) -> BTreeMap<String, Sums> {
    let (header, rows) = text.split_once('\n').unwrap();
    assert_eq!(header, "func\tcalls\telapsed_ns\tnet_ns\tmin_ns\tavg_ns\tmax_ns");
    let row = |line: &str| {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |n: usize| fields[n].parse::<u64>().unwrap();
        let sums = Sums {
            calls: number(1),
            elapsed: number(2),
            net: fields[3].parse().unwrap(),
            min: number(4),
            max: number(6),
        };
        assert_eq!(fields[5], format!("{:.1}", sums.elapsed as f64 / sums.calls as f64));
        (fields[0].to_owned(), sums)
    };
    rows.lines().map(row).collect()
}

/// The same of a trace, of calls whose exit was recorded. Time off CPU counts as net here.
fn found(trace: &Trace) -> BTreeMap<String, Sums> {
    let spans = &trace.spans;
    let mut asleep: Vec<i64> = spans.off_cpu.iter().map(|ticks| ticks.0 as i64).collect();
    for id in spans.ids() {
        if let Some(parent) = spans.parent[id.index()] {
            asleep[parent.index()] -= spans.off_cpu[id.index()].0 as i64;
        }
    }
    let mut found: BTreeMap<String, Sums> = BTreeMap::new();
    for id in spans.ids() {
        let row = id.index();
        if !spans.fidelity[row].end_inferred {
            let name = trace.names.funcs[spans.func[id]].name.clone();
            let net = spans.net[row].0 as i64 + asleep[row];
            found.entry(name).or_default().add(spans.wall[row].0, net);
        }
    }
    found
}

/// The functions with a call that took less, time off CPU excluded, than its callees did.
fn clamped(trace: &Trace) -> BTreeSet<&str> {
    let spans = &trace.spans;
    let elapsed = |row: usize| spans.wall[row].0 - spans.off_cpu[row].0;
    let mut below = vec![0; spans.len()];
    for id in spans.ids() {
        if let Some(parent) = spans.parent[id.index()] {
            below[parent.index()] += elapsed(id.index());
        }
    }
    let clamped = spans.ids().filter(|id| below[id.index()] > elapsed(id.index()));
    clamped.map(|id| trace.names.funcs[spans.func[id]].name.as_str()).collect()
}

/// What the kernel counted on a CPU.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Stat {
    /// Read from the ring buffer while it recorded, and left in it at the end: all are in the file.
    left: u64,
    read: u64,
    overrun: u64,
    dropped: u64,
}

/// What `trace-cmd report --stat` prints, by CPU, those of the main buffer first.
fn stats(text: &str) -> Vec<Stat> {
    let mut stats = Vec::new();
    for line in text.lines() {
        let Some((key, value)) = line.split_once(": ") else { continue };
        let value = value.trim().parse().ok();
        match (key, stats.last_mut(), value) {
            ("CPU", ..) => stats.push(Stat::default()),
            ("entries", Some(stat), Some(n)) => stat.left = n,
            ("read events", Some(stat), Some(n)) => stat.read = n,
            ("overrun", Some(stat), Some(n)) => stat.overrun = n,
            ("dropped events", Some(stat), Some(n)) => stat.dropped = n,
            _ => {}
        }
    }
    stats
}

type LeftReadOverrun = (u64, u64, u64);

/// Of recordings whose statistics are not beside them: what trace-cmd 3.1.6 prints of them.
const STATS: [(&str, &[LeftReadOverrun]); 8] = [
    ("nano-spin-6.1-v7-zstd", &[(0, 166, 0), (0, 210, 0)]),
    ("forkwait-6.1-v7-none", &[(103, 0, 0), (71, 0, 0)]),
    ("7.3.4__d34_fg_args_v7", &[(50_299, 4_197, 0), (23_671, 4_459, 0)]),
    ("7.3.4__d_fg_F_small_v7", &[(54_089, 0, 0), (14_926, 7_458, 0)]),
    ("d_fn_v7", &[(16_264, 0, 0), (28_694, 5_945, 0)]),
    ("d_fg_events_v7", &[(131_594, 0, 0), (95_823, 0, 0)]),
    ("d_fg_lost_v7", &[(546, 59_701, 221_358), (1, 61_388, 194_971)]),
    ("d_instances_v7", &[(90, 17_549, 10_292), (47, 6_335, 1_558), (676, 166, 0), (404, 551, 0)]),
];

fn stats_of(name: &str) -> Option<Vec<Stat>> {
    if let Some(text) = oracle(name, "stat.txt") {
        return Some(stats(&text));
    }
    let (_, stats) = STATS.iter().find(|(of, _)| *of == name)?;
    let stat = |&(left, read, overrun)| Stat { left, read, overrun, dropped: 0 };
    Some(stats.iter().map(stat).collect())
}

/// The kernel left this many of a recording's events in its ring buffer when trace-cmd had read it.
fn is_left_behind(name: &str, cpu: usize) -> bool {
    (name, cpu) == ("d_fg_lost_v7", 1)
}

#[test]
fn every_cpu_has_the_events_that_the_kernel_counted() {
    let fixtures = fixtures::of_format("trace_dat").into_iter();
    let named = |path: PathBuf| (path.file_stem().unwrap().to_str().unwrap().to_owned(), path);
    let mut compared = 0;
    for (name, path) in fixtures.map(named).chain(recordings()) {
        let Some(stats) = stats_of(&name) else { continue };
        let records = records(&bytes_of(&path));
        assert_eq!(records.cpus.len(), stats.len(), "{name}");
        for (row, (cpu, stat)) in records.cpus.iter().zip(&stats).enumerate() {
            let left = if is_left_behind(&name, row) { 0 } else { stat.left };
            assert_eq!(cpu.records, stat.read + left, "{name}, CPU {}", cpu.number);
            // A page may not say how many were lost before it.
            let known: u64 = cpu.losses.iter().flatten().sum();
            let is_known = cpu.losses.iter().all(Option::is_some);
            assert!(known <= stat.overrun, "{name}, CPU {}: {known}", cpu.number);
            assert_eq!(is_known, known == stat.overrun, "{name}, CPU {}", cpu.number);
            let Stat { overrun, dropped, .. } = stat;
            let told = format!("{overrun} overwritten, {dropped} dropped");
            let is_told = records.facts.iter().any(|(key, fact)| {
                *key == "lost"
                    && fact.starts_with(&format!("CPU {}", cpu.number))
                    && fact.ends_with(&told)
            });
            assert_eq!(is_told, *overrun > 0 || *dropped > 0, "{name}, CPU {}", cpu.number);
        }
        compared += 1;
    }
    println!("{compared} recordings");
    assert!(compared >= 2, "{compared}");
}

/// Calls, elapsed and net time, minimum and maximum of every function.
#[test]
fn functions_have_the_sums_of_their_exits() {
    for (name, path) in recordings() {
        let Some(text) = oracle(&name, "funcs.tsv") else { continue };
        let (bytes, told) = (bytes_of(&path), told(&text));
        let records = records(&bytes);
        assert_eq!(records.sums_by_depth(), told, "{name}");
        let trace = read(&bytes);
        let found = found(&trace);
        if records.cpus.iter().any(|cpu| !cpu.losses.is_empty()) {
            same_despite_losses(&name, &trace, &told);
            continue;
        }
        assert!(found.keys().eq(told.keys()), "{name}");
        let (late, clamped) = (records.with_late_callees(), clamped(&trace));
        let is_rule = |name: &str| late.contains(name) || clamped.contains(name);
        let mut differ = 0;
        for (function, sums) in &told {
            let got = found[function];
            let net = if is_rule(function) { sums.net } else { got.net };
            assert_eq!(Sums { net, ..got }, *sums, "{name}: {function}");
            differ += u64::from(got.net != sums.net);
        }
        println!("{name}: {differ} of {} functions differ in net time by a rule", told.len());
    }
}

/// Where events were lost, the sums are those of functions of which every call is complete.
fn same_despite_losses(name: &str, trace: &Trace, told: &BTreeMap<String, Sums>) {
    let spans = &trace.spans;
    let name_of = |id| trace.names.funcs[spans.func[id]].name.as_str();
    let incomplete = spans.ids().filter(|id| spans.fidelity[id.index()].is_partial());
    let incomplete: BTreeSet<&str> = incomplete.map(name_of).collect();
    let found = found(trace);
    let mut compared = 0;
    for (function, sums) in told {
        let got = found[function];
        assert_eq!(got.calls, sums.calls, "{name}: {function}");
        if !incomplete.contains(function.as_str()) {
            assert_eq!(Sums { net: 0, ..got }, Sums { net: 0, ..*sums }, "{name}: {function}");
            compared += 1;
        }
    }
    assert!(compared * 3 > told.len(), "{name}: {compared}");
}

/// Names of one address: the first of kallsyms, which the kernel prints, and the last, which
/// trace-cmd does.
const ALIASES: [(&str, &str); 1] = [("__do_sys_rt_sigreturn", "__ia32_sys_rt_sigreturn")];

/// The report with the names of exits, which it does not print but for the option `tailprint`: line by
/// line those of the records. Fails where a line is not the record, or a record has no line.
fn with_names(name: &str, report: &str, cpus: &[Cpu]) -> String {
    let mut rest: BTreeMap<u32, std::slice::Iter<'_, Call>> = BTreeMap::new();
    for cpu in cpus.iter().filter(|cpu| !cpu.calls.is_empty()) {
        assert!(
            rest.insert(cpu.number, cpu.calls.iter()).is_none(),
            "{name}: two buffers of calls"
        );
    }
    let mut text = String::new();
    for line in report.lines() {
        text.push_str(line);
        if let Some((head, shown)) = line.split_once("funcgraph_") {
            let cpu = head.rsplit_once('[').unwrap().1.split(']').next().unwrap();
            let rest = rest.get_mut(&cpu.parse().unwrap()).unwrap();
            let (kind, shown) = shown.split_once(':').unwrap();
            let shown = shown.rsplit_once('|').map_or(shown, |(_, shown)| shown);
            let mut next = |is_exit: bool| {
                let call = rest.next().unwrap_or_else(|| panic!("{name}: no record of {line}"));
                let depth = (shown.len() - shown.trim_start().len() - 2) / 2;
                assert_eq!(
                    (call.took.is_some(), call.depth),
                    (is_exit, depth as u16),
                    "{name}: {line}"
                );
                call
            };
            let call = next(kind == "exit");
            let shown = shown.trim();
            let function = shown.split(['(', ' ']).next().unwrap();
            if kind == "entry" && function != call.name {
                assert!(
                    ALIASES.contains(&(call.name.as_str(), function)),
                    "{name}: {line}, {call:?}"
                );
                text.truncate(text.len() - line.len());
                text.push_str(&line.replace(function, &call.name));
            }
            if kind == "exit" {
                text.push_str(" /* ");
                text.push_str(&call.name);
                text.push_str(" */");
            } else if shown.ends_with(';') {
                next(true);
            }
        }
        text.push('\n');
    }
    for (cpu, mut calls) in rest {
        assert_eq!(calls.next(), None, "{name}, CPU {cpu}");
    }
    text
}

/// Line by line, and then the calls, states and times.
#[test]
fn reports_with_names_of_exits_say_what_the_files_say() {
    for (name, path) in recordings() {
        let Some(report) = oracle(&name, "report.txt") else { continue };
        let bytes = bytes_of(&path);
        let report = with_names(&name, &report, &records(&bytes).cpus);
        println!("{name}");
        let resolution = if name.contains("_tsc_") { 0 } else { 1_001 };
        assert_same(&name, &read(&bytes), &read(report.as_bytes()), resolution);
    }
}

/// Each as trace.dat, as report and as the text of tracefs.
#[test]
fn the_same_recording_in_three_forms_is_the_same() {
    let Some(folder) = fixtures::shared().map(|shared| shared.join("kernel/sched")) else { return };
    let mut archive = Vec::new();
    let packed = fixtures::read(&folder.join("dat.tar.xz"));
    liblzma::read::XzDecoder::new(packed.as_slice()).read_to_end(&mut archive).unwrap();
    let mut compared = 0;
    for (file, bytes) in fixtures::unpack(&archive) {
        let name = file.strip_suffix(".dat").unwrap();
        let of =
            |kind: &str, ending: &str| folder.join(kind).join(format!("{name}.{ending}.txt.zst"));
        if !of("text", "trace").exists() {
            continue;
        }
        let dat = read(bytes);
        let report = String::from_utf8(bytes_of(&of("report", "report"))).unwrap();
        let report = with_names(name, &report, &records(bytes).cpus);
        assert_same(name, &dat, &read(report.as_bytes()), 1_001);
        assert_same(name, &dat, &read(&bytes_of(&of("text", "trace"))), 1_001);
        compared += 1;
    }
    assert_eq!(compared, 6);
}
