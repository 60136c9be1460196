use std::fmt::Write as _;

use expect_test::expect;
use proptest::prelude::*;

use super::*;
use crate::testing::{ImporterOfBytes, spans, told};

const GRAPH: &str = include_str!("../../../../../fixtures/function_graph/latency-7.3.txt");

/// `graph` as the console of a dying kernel prints it.
fn log(graph: &str, prefix: impl Fn(usize) -> String) -> String {
    let mut log = String::new();
    let dump = graph.lines().filter(|line| !line.starts_with('#'));
    let before = ["Kernel panic - not syncing: sysrq triggered crash", "Dumping ftrace buffer:"];
    let rule = "---------------------------------";
    let after = [rule, "Kernel Offset: 0x2a000000 from 0xffffffff81000000", "Rebooting in 1 s.."];
    for (n, line) in before.into_iter().chain([rule]).chain(dump).chain(after).enumerate() {
        writeln!(log, "{}{line}", prefix(n)).unwrap();
    }
    log
}

/// The dump says what the trace said, however the log prints its prefix.
#[test]
fn a_dump_in_a_log_reads_as_the_trace_itself() {
    let lines: Vec<&str> = GRAPH.lines().filter(|line| !line.starts_with('#')).collect();
    let bare = lines.join("\n") + "\n";
    let expected = spans("function_graph", &bare, ImportOptions::default());
    assert!(expected.lines().count() > 100);
    let prefixes: [&dyn Fn(usize) -> String; 4] = [
        &|n| format!("[{:5}.{:06}] ", 13 + n / 1000, n),
        &|n| format!("<4>[    1.{n:06}] "),
        &|n| format!("[   13.{n:06}][  T{}] ", n % 977),
        &|n| format!("Nov 22 09:31:02 host kernel: [ 1234.{n:06}] "),
    ];
    for prefix in prefixes {
        let log = log(GRAPH, prefix);
        let recognized = KernelLog.recognize_bytes(log.as_bytes(), true);
        assert!(matches!(recognized, Recognition::Yes(_)), "{recognized:?}");
        assert_eq!(spans("kernel_log", &log, ImportOptions::default()), expected);
    }
}

#[test]
fn a_place_is_one_of_the_log() {
    let graph = " 0)   1.000 us    |  a();\n 0)   nonsense\n 0)   2.000 us    |  b();\n";
    let log = log(graph, |n| format!("[   13.{n:06}] "));
    let files = Single::new("oops.txt", Box::new(log.as_bytes()));
    let options = crate::ReadOptions { format: Some("kernel_log".into()), ..Default::default() };
    let (trace, _) = crate::load(&files, &options, &|_| ()).unwrap();
    let place = trace.meta.diags.sorted()[0].samples[0].place.clone();
    assert_eq!(place.line, Some(5));
    assert_eq!(place.offset as usize, log.find(" 0)   nonsense").unwrap());
}

#[test]
fn a_log_without_a_graph_is_not_taken() {
    let recognized = |log: &str| KernelLog.recognize_bytes(log.as_bytes(), true);
    assert_eq!(recognized("[    0.000000] Linux version 6.1.0\n"), Recognition::No);
    assert_eq!(recognized(GRAPH), Recognition::No);
    let other = log("nothing that a tracer prints\n", |_| "[ 1.000000] ".into());
    assert!(matches!(recognized(&other), Recognition::Neighbor(_)));
}

/// Events and functions are printed in the latency format, without a header.
#[test]
fn a_dump_of_events_is_read() {
    let events = "workload-678       0d..2.. 157551us+: irq_handler_entry: irq=24 name=virtio\n\
                  workload-678       0d..2.. 157561us : irq_handler_exit: irq=24 ret=handled\n\
                  workload-678       0..... 157570us : mutex_unlock <-vfs_write\n";
    let log = log(events, |_| "[   13.500000] ".into());
    let recognized = KernelLog.recognize_bytes(log.as_bytes(), true);
    assert!(matches!(recognized, Recognition::Yes(_)), "{recognized:?}");
    let (calls, _) = told("kernel_log", &log, ImportOptions::default());
    assert!(calls.contains("irq:virtio 157551000+10000"), "{calls}");
}

#[test]
fn a_log_that_stops_in_the_dump() {
    let whole =
        log(" 0)   1.000 us    |  a();\n 0)   2.000 us    |  b();\n", |_| "[ 1.000000] ".into());
    let cut = &whole[..=whole.find("b();").unwrap()];
    let (calls, codes) = told("kernel_log", cut, ImportOptions::default());
    expect![[r"
        cpu0 0 a 0+1000 net 1000
    "]]
    .assert_eq(&calls);
    assert_eq!(codes, ["input/cut-record 1"]);
}

proptest! {
    /// Any bytes in any blocks give the same calls and diagnostics.
    #[test]
    fn blocks_do_not_matter(cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..4), size in 1_usize..4000) {
        let mut log = log(&GRAPH[..8000], |n| format!("[   13.{n:06}] ")).into_bytes();
        for cut in cuts {
            let at = cut.index(log.len());
            log[at] = b'#';
        }
        let read = |workers, block_size| {
            let trace = crate::testing::trace("kernel_log", &log, ImportOptions::default(), block_size, workers);
            (crate::testing::show(&trace), format!("{:?}", trace.meta.diags.sorted()))
        };
        let options = ImportOptions::default();
        if KernelLog.open_bytes(&log, &options).is_ok() {
            prop_assert_eq!(read(3, size), read(1, 0));
        }
    }
}
