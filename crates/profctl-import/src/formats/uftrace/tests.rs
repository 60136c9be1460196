#![expect(clippy::case_sensitive_file_extension_comparisons, reason = "names of a recorder")]

mod damage;
mod kernel;
mod report;
mod shared;

use expect_test::expect;
use profctl_model::Trace;
use profctl_testkit::{fixtures, invariants};

use super::*;
use crate::testing::show;
use crate::{Memory, ReadOptions, load};

use report::{compare, rows};

type Parts = Vec<(String, Vec<u8>)>;

fn parts(name: &str) -> Parts {
    fixtures::parts(&fixtures::root().join("fixtures/uftrace").join(name))
}

fn read_as(parts: &Parts, options: &ReadOptions) -> Trace {
    let files = Memory::new("test", parts.clone());
    load(&files, options, &|_| ()).unwrap_or_else(|error| panic!("{error}")).0
}

fn read(parts: &Parts) -> Trace {
    read_as(parts, &ReadOptions::default())
}

fn codes(trace: &Trace) -> Vec<String> {
    let entries = trace.meta.diags.sorted();
    entries.iter().map(|entry| format!("{} {}", entry.code.name, entry.count)).collect()
}

#[test]
fn one_thread_is_as_uftrace_reports_it() {
    expect![""].assert_eq(&compare("sleep-0.13"));
    expect![""].assert_eq(&compare("classes-0.19"));
}

#[test]
fn time_off_cpu_is_as_uftrace_reports_it() {
    expect!["linux:schedule: time off CPU"].assert_eq(&compare("schedule-0.13"));
    let trace = read(&parts("schedule-0.13"));
    // What uftrace reports as `linux:schedule`.
    let off: u64 = trace
        .spans
        .ids()
        .filter(|id| trace.spans.parent[id.index()].is_none())
        .map(|id| trace.spans.off_cpu[id.index()].0)
        .sum();
    assert_eq!(off, 13_692_798);
}

#[test]
fn threads_that_never_end_are_shorter_than_in_uftrace() {
    expect![[r"
        exit: shorter incomplete calls
        linux:schedule: time off CPU
        linux:schedule (pre-empted): time off CPU
        main: shorter incomplete calls
        tuklib_exit: shorter incomplete calls
        worker_start: shorter incomplete calls
        stitch/unclosed-entry 5"]]
    .assert_eq(&compare("threads-0.13"));
}

#[test]
fn forks_libraries_and_long_jumps_are_as_uftrace_reports_them() {
    let expected = expect![[r"
        _setjmp: shorter incomplete calls
        fork: incomplete calls are in sums only
        linux:schedule: time off CPU
        deep: only here, 0 complete, 5 not
        longjmp: only here, 0 complete, 1 not
        stitch/forced-exit 6
        stitch/unmatched-exit 2"]];
    expected.assert_eq(&compare("forks-0.13"));
    expected.assert_eq(&compare("forks-0.19"));
}

#[test]
fn arguments_and_return_values_are_passed_over() {
    expect![[r"
        _setjmp: shorter incomplete calls
        fork: shorter incomplete calls
        linux:schedule: time off CPU
        linux:schedule (pre-empted): time off CPU
        deep: only here, 0 complete, 5 not
        longjmp: only here, 0 complete, 1 not
        stitch/forced-exit 6
        stitch/unmatched-exit 2"]]
    .assert_eq(&compare("arguments-0.19"));
}

#[test]
fn events_are_marks_with_what_they_say() {
    compare("events-0.19");
    let trace = read(&parts("events-0.19"));
    let marks: Vec<&str> =
        trace.marks.iter().map(|mark| trace.names.funcs[mark.func].name.as_str()).collect();
    let count = |name| marks.iter().filter(|mark| **mark == name).count();
    assert_eq!((count("read:page-fault"), count("diff:page-fault")), (5, 5));
    assert!(count("watch:cpu") >= 3);
}

/// What the specifications say is what the records say: without them it is the same.
#[test]
fn data_of_unknown_length_is_passed_over_too() {
    let known = parts("arguments-0.19");
    let mut unknown = known.clone();
    let info = unknown.iter_mut().find(|(name, _)| name == "info").unwrap();
    let text =
        String::from_utf8_lossy(&info.1[40..]).replace("argspec:", "x:").replace("auto:", ":");
    info.1.truncate(40);
    info.1.extend(text.replace("retspec:", "y:").into_bytes());
    let (known, unknown) = (read(&known), read(&unknown));
    assert_eq!(show(&known), show(&unknown));
    assert!(codes(&unknown).iter().any(|code| code.starts_with("uftrace/unknown-data ")));
    assert!(!codes(&known).iter().any(|code| code.starts_with("uftrace/")));
}

#[test]
fn names_of_c_plus_plus_are_kept_where_that_is_asked_for() {
    let parts = parts("classes-0.19");
    let mut options = ReadOptions::default();
    options.import.no_demangle = true;
    let mangled = rows(&read_as(&parts, &options));
    let name = "_ZN4shopL7guardedERNS_4TillEi";
    assert_eq!(mangled[name], rows(&read(&parts))["shop::guarded(shop::Till&, int)"]);
}

/// A library that is loaded while the program runs is known from then on.
#[test]
fn functions_have_modules() {
    let trace = read(&parts("forks-0.19"));
    let module = |name: &str| {
        let func = trace.names.funcs.as_slice().iter().find(|func| func.name == name).unwrap();
        func.module.clone()
    };
    assert_eq!(module("main").as_deref(), Some("prog"));
    assert_eq!(module("helper").as_deref(), Some("libplug.so"));
    assert_eq!(module("usleep"), None, "it is known from where it is called only");
    let threads = trace.names.threads.as_slice().iter().map(|t| (t.pid == t.tid, t.name.as_str()));
    let mut threads: Vec<_> = threads.collect();
    threads.sort_unstable();
    assert_eq!(threads, [(false, "prog"), (false, "prog"), (true, "prog"), (true, "prog")]);
}

/// The recording as a machine with the other byte order writes it.
fn swapped(parts: &Parts) -> Parts {
    let reverse = |bytes: &mut [u8], widths: &[usize]| {
        let mut at = 0;
        for width in widths {
            bytes[at..at + width].reverse();
            at += width;
        }
    };
    let swap = |(name, bytes): &(String, Vec<u8>)| {
        let mut bytes = bytes.clone();
        if name == "info" {
            reverse(&mut bytes[8..], &[4, 2]);
            bytes[14] = 2;
            reverse(&mut bytes[16..], &[8, 8, 2]);
        } else if name.starts_with("perf-cpu") {
            let mut at = 0;
            while at < bytes.len() {
                let size = usize::from(u16::from_le_bytes([bytes[at + 6], bytes[at + 7]]));
                let kind = bytes[at];
                reverse(&mut bytes[at..], &[4, 2, 2]);
                let body = &mut bytes[at + 8..at + size];
                let tail = body.len() - 16;
                match kind {
                    14 => {}
                    3 => reverse(body, &[4, 4]),
                    _ => reverse(body, &[4, 4, 4, 4, 8]),
                }
                reverse(&mut body[tail..], &[4, 4, 8]);
                at += size;
            }
        } else if name.ends_with(".dat") {
            bytes.chunks_exact_mut(8).for_each(<[u8]>::reverse);
        }
        (name.clone(), bytes)
    };
    parts.iter().map(swap).collect()
}

#[test]
fn the_other_byte_order_and_word_size_say_the_same() {
    for name in ["forks-0.13", "sleep-0.13"] {
        let parts = parts(name);
        let mut swapped = swapped(&parts);
        assert_eq!(show(&read(&parts)), show(&read(&swapped)), "{name}");
        swapped.iter_mut().find(|(name, _)| name == "info").unwrap().1[15] = 1;
        assert_eq!(show(&read(&parts)), show(&read(&swapped)), "{name}");
    }
}

/// A recording of one thread, made by hand.
fn made(info: &str, task: &str, files: &[(&str, Vec<u8>)]) -> Parts {
    let mut header = info::MAGIC.to_vec();
    header.extend([4, 0, 0, 0, 40, 0, 1, 2, 0x63, 0x12, 0, 0, 0, 0, 0, 0]);
    header.resize(40, 0);
    header.extend(info.as_bytes());
    let mut parts = vec![("info".to_owned(), header), ("task.txt".to_owned(), task.into())];
    parts.extend(files.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.clone())));
    parts.sort();
    parts
}

fn record(time: u64, kind: u64, depth: u64, address: u64) -> Vec<u8> {
    let word = kind | 5 << 3 | depth << 6 | address << 16;
    [time.to_le_bytes(), word.to_le_bytes()].concat()
}

/// As QEMU's plugin writes it: entries count from 1, and an exit states the depth after it unless
/// the whole stack is left.
fn qemu() -> Parts {
    let records = [
        record(100, 0, 1, 0x1000),
        record(110, 0, 2, 0x1100),
        record(120, 1, 1, 0x1100),
        record(130, 0, 2, 0x1200),
        record(140, 1, 2, 0x1200),
        record(140, 1, 1, 0x1000),
        record(150, 0, 1, 0x1300),
        record(160, 1, 0, 0x1300),
    ];
    let task = "SESS timestamp=0.0 pid=100 sid=0 exename=\"cpu0 EL1\"\n\
                TASK timestamp=0.0 tid=100 pid=100\n";
    let map = b"# map stack on highest address possible\n\
        000000000000-000000002000 r-xp 00000000 00:00 0 /kernel\n\
        ffffffffffff-ffffffffffff rw-p 00000000 00:00 0 [stack]\n";
    let sym = b"# symbols: 3\n# path name: /kernel\n1000 100 T start\n1100 100 T early\n1200 100 T late\n";
    let info = "exename:\nuftrace_version:\ntaskinfo:nr_tid=1\n";
    let files =
        [("100.dat", records.concat()), ("sid-0.map", map.to_vec()), ("kernel.sym", sym.to_vec())];
    made(info, task, &files)
}

#[test]
fn what_the_plugin_of_qemu_writes_is_read() {
    let trace = read(&qemu());
    expect![[r"
        cpu0 EL1-100 0 start 100+40 net 20
        cpu0 EL1-100 1 early 110+10 net 10
        cpu0 EL1-100 1 late 130+10 net 10
        cpu0 EL1-100 0 0x1300 150+10 net 10
    "]]
    .assert_eq(&show(&trace));
    assert!(codes(&trace).is_empty());
}

#[test]
fn a_loss_ends_the_calls_of_its_thread_only() {
    let first = [
        record(10, 0, 0, 0x10),
        record(20, 0, 1, 0x20),
        record(0, 2, 0, 7),
        record(50, 1, 0, 0x10),
    ];
    let second = [record(15, 0, 0, 0x30), record(60, 1, 0, 0x30)];
    let parts = made("", "", &[("1.dat", first.concat()), ("2.dat", second.concat())]);
    let trace = read(&parts);
    expect![[r"
        1 0 0x10 10+10 net 10 unseen exit gap
        1 1 0x20 20+0 net 0 unseen exit gap
        1 0 0x10 50+0 net 0 unseen entry
        2 0 0x30 15+45 net 45
    "]]
    .assert_eq(&show(&trace));
    expect![[r#"["stitch/gap 1", "stitch/lost-events 7", "stitch/unmatched-exit 1"]"#]]
        .assert_eq(&format!("{:?}", codes(&trace)));
}

#[test]
fn what_is_no_recording_is_refused() {
    let refused = |parts: Parts, part: &str| {
        let files = Memory::new("test", parts);
        let options = ReadOptions { format: Some("uftrace".into()), ..ReadOptions::default() };
        let error = load(&files, &options, &|_| ()).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    let with = |change: fn(&mut Parts)| {
        let mut parts = qemu();
        change(&mut parts);
        parts
    };
    refused(vec![("a".into(), vec![1]), ("b".into(), vec![2])], "no file `info`");
    refused(with(|parts| parts.retain(|(name, _)| name != "100.dat")), "no file `TID.dat`");
    refused(with(|parts| parts.iter_mut().for_each(|(_, bytes)| bytes.truncate(20))), "20 bytes");
    let probe = Probe { name: "info", head: &qemu()[1].1, whole: true };
    assert!(matches!(Directory.recognize(&probe), Recognition::Neighbor(_)));
}

/// Of two libraries of one name, uftrace puts a part of the build id, or a sum over the path, into the
/// name of the second file of symbols.
#[test]
fn symbols_of_libraries_of_one_name_are_told_apart() {
    let records = [0x1010, 0x2010, 0x3010, 0x4010].iter().zip(1..).map(|(address, n)| {
        [record(n * 10, 0, 0, *address), record(n * 10 + 5, 1, 0, *address)].concat()
    });
    let records: Vec<u8> = records.flatten().collect();
    let map = b"001000-002000 r-xp 00000000 00:00 0 /a/lib.so build-id:11112222\n\
        002000-003000 r-xp 00000000 00:00 0 /b/lib.so build-id:33334444\n\
        003000-004000 r-xp 00000000 00:00 0 /a/own.so\n\
        004000-005000 r-xp 00000000 00:00 0 /b/own.so\n\
        7ffe0000-7fff0000 rw-p 00000000 00:00 0 [stack]\n";
    let table = |path: &str, id: &str, name: &str| {
        format!("# symbols: 1\n# path name: {path}\n{id}0 100 T {name}\n").into_bytes()
    };
    let task = "SESS timestamp=0.0 pid=1 sid=5 exename=\"x\"\nTASK timestamp=0.0 tid=1 pid=1\n";
    let files = [
        ("1.dat", records),
        ("sid-5.map", map.to_vec()),
        ("lib.so-3333.sym", table("/b/lib.so", "# build-id: 33334444\n", "second")),
        ("lib.so.sym", table("/a/lib.so", "# build-id: 11112222\n", "first")),
        ("own.so-02f1.sym", table("/b/own.so", "", "fourth")),
        ("own.so.sym", table("/a/own.so", "", "third")),
    ];
    let mut parts = made("", task, &files);
    // Addresses of symbols count from the start of a mapping.
    parts.iter_mut().find(|(name, _)| name == "info").unwrap().1[16] = 0x22;
    let trace = read(&parts);
    let names: Vec<&str> =
        trace.spans.func.iter().map(|func| trace.names.funcs[*func].name.as_str()).collect();
    assert_eq!(names, ["first", "second", "third", "fourth"]);
}

#[test]
fn blocks_and_workers_change_nothing() {
    for name in ["forks-0.19", "arguments-0.19", "events-0.19", "threads-0.13"] {
        let parts = parts(name);
        let whole = read(&parts);
        for (block_size, workers) in [(1, 1), (40, 2), (72, 1), (128, 3), (4_096, 2)] {
            let options = ReadOptions { workers, block_size, ..ReadOptions::default() };
            let cut = read_as(&parts, &options);
            assert_eq!(show(&cut), show(&whole), "{name} in blocks of {block_size}");
            assert_eq!(codes(&cut), codes(&whole), "{name} in blocks of {block_size}");
        }
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 48, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_bytes_are_read_alike_in_any_blocks(
        changes in proptest::collection::vec((0_usize..1_000, 0_u8..=255), 0..12),
        block_size in 16_usize..700,
        from in 0_usize..3,
    ) {
        let mut parts = parts(["arguments-0.19", "events-0.19", "forks-0.19"][from]);
        for (name, bytes) in &mut parts {
            if name.ends_with(".dat") && !name.starts_with("perf") {
                for (at, byte) in &changes {
                    let at = at % bytes.len();
                    bytes[at] = *byte;
                }
            }
        }
        let whole = read(&parts);
        let cut = read_as(&parts, &ReadOptions { block_size, ..ReadOptions::default() });
        proptest::prop_assert_eq!(show(&cut), show(&whole));
        proptest::prop_assert_eq!(codes(&cut), codes(&whole));
    }
}

/// A generated recording with threads and switches keeps what holds of every trace, and threads
/// lose the CPU to one another only.
#[test]
fn a_made_up_recording_keeps_the_invariants() {
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);
    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut files: Vec<(String, Shared)> = Vec::new();
    let records = profctl_testkit::generate::write_uftrace(100_000, 3, &mut |name| {
        let file = Shared::default();
        files.push((name.to_owned(), file.clone()));
        Ok(Box::new(file))
    });
    let mut made: Parts =
        files.into_iter().map(|(name, file)| (name, file.0.lock().unwrap().clone())).collect();
    made.sort();
    let trace = read(&made);
    invariants::check(&trace, "made");
    assert_eq!(trace.meta.events, records.unwrap());
    assert!(trace.meta.knows_off_cpu && trace.spans.len() > 2_000);
    let options = ReadOptions { workers: 3, block_size: 200, ..ReadOptions::default() };
    assert_eq!(show(&trace), show(&read_as(&made, &options)));
}

#[test]
fn streams_are_threads_unless_switches_are_recorded() {
    let mut parts = parts("forks-0.19");
    let are_threads = |parts: &Parts| {
        let files = Memory::new("forks", parts.clone());
        let opened = Directory.open(&files, &ImportOptions::default()).unwrap();
        opened.streams.iter().all(|stream| stream.is_one_thread)
    };
    assert!(!are_threads(&parts));
    parts.retain(|(name, _)| !name.starts_with("perf-cpu"));
    assert!(are_threads(&parts));
    // Two files of one thread have to be merged.
    let (name, bytes) = parts.iter().find(|(name, _)| name.ends_with(".dat")).unwrap().clone();
    parts.push((format!("{name}.gz"), bytes));
    assert!(!are_threads(&parts));
}
