//! Which test covers which format.

use profctl_import::FORMATS;

/// How the numbers of a format are known to be right.
enum Covered {
    /// A test here writes it.
    Here(&'static str),
    /// It has the reader of another one; what it adds is compared with that one.
    With(&'static str, &'static str),
    /// It has no calls to be compared.
    NoCalls(&'static str),
}

/// Every importer, and what checks its numbers against an execution of which everything is known.
const FAMILIES: &[(&str, Covered)] = &[
    ("systrace", Covered::Here("events_of_the_kernel")),
    ("function_graph", Covered::With("", "differential.rs: an evaluator that works line by line")),
    ("kernel_log", Covered::With("function_graph", "kernel_log/tests.rs: the dump of a file")),
    ("ftrace", Covered::Here("events_of_the_kernel")),
    ("trace_cmd_report", Covered::Here("events_of_the_kernel")),
    ("trace_dat", Covered::Here("events_of_the_kernel, losses_between_packets")),
    ("kdump", Covered::Here("logs_of_calls")),
    ("ktrace", Covered::Here("records_of_ktrace")),
    ("strace", Covered::Here("logs_of_calls")),
    ("ltrace", Covered::Here("lines_of_text")),
    ("perf_data", Covered::With("perf_script", "perf_data/tests.rs: what perf prints of the file")),
    ("perf_trace", Covered::With("strace", "perf_trace/tests.rs: the sums that perf prints")),
    ("perf_script", Covered::Here("events_of_the_kernel")),
    ("otf2", Covered::Here("lines_of_text")),
    ("babeltrace", Covered::Here("events_of_the_kernel, losses_between_packets")),
    ("mcrae", Covered::Here("code_traces")),
    ("plain", Covered::Here("plain_text")),
    ("probe", Covered::Here("records_of_probes")),
    ("vcd", Covered::Here("wires")),
    ("fst", Covered::With("vcd", "fst/tests.rs: the same signals as VCD")),
    ("sigrok", Covered::Here("wires")),
    ("saleae", Covered::Here("wires")),
    ("itm", Covered::Here("ports_of_microcontrollers")),
    ("systemview", Covered::Here("ports_of_microcontrollers")),
    ("uftrace", Covered::Here("streams_of_threads")),
    ("measureme", Covered::Here("intervals_where_they_end")),
    ("ctf", Covered::Here("events_of_the_kernel, losses_between_packets")),
    ("perfetto", Covered::Here("events_of_the_kernel")),
    ("callgrind", Covered::NoCalls("sums by function")),
    ("chrome", Covered::Here("events_that_programs_exchange")),
    ("cpuprofile", Covered::NoCalls("samples")),
    ("firefox", Covered::NoCalls("samples")),
    ("speedscope", Covered::Here("events_that_programs_exchange")),
    ("folded", Covered::Here("folded_stacks")),
    ("execlog", Covered::Here("flows_of_instructions")),
    ("gem5", Covered::Here("flows_of_instructions")),
    ("qemu", Covered::Here("flows_of_instructions")),
    ("spike", Covered::Here("flows_of_instructions")),
    ("rule", Covered::Here("lines_of_text")),
];

#[test]
fn every_format_is_covered() {
    let formats: Vec<&str> = FORMATS.iter().map(|format| format.descriptor().name).collect();
    let covered: Vec<&str> = FAMILIES.iter().map(|(name, _)| *name).collect();
    assert_eq!(covered, formats);
    let source = [include_str!("mod.rs"), include_str!("records.rs")].concat();
    for (name, how) in FAMILIES {
        match how {
            Covered::Here(tests) => {
                for test in tests.split(", ") {
                    assert!(source.contains(&format!("#[test]\nfn {test}()")), "{name}: {test}");
                }
                let is_read = source.contains(&format!("\"{name}\", "))
                    || source.contains(&format!("of(\"{name}\")"));
                assert!(is_read, "{name} is not read");
            }
            Covered::With("", place) => assert!(!place.is_empty()),
            Covered::With(other, place) => {
                assert!(covered.contains(other) && !place.is_empty(), "{name}");
            }
            Covered::NoCalls(why) => assert!(!why.is_empty(), "{name}"),
        }
    }
}
