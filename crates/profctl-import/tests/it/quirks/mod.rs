//! The oddities of ftrace text that real kernels printed, line by line as they printed them.
//!
//! Every test shows a few lines and what they mean: one line per call, by thread, in the order of
//! entry, with its times in nanoseconds; then the diagnostics.

#![expect(clippy::needless_raw_string_hashes, reason = "expect-test writes them")]

mod columns;
mod contents;

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use profctl_import::{ReadOptions, Single, load};
use profctl_model::{FuncKind, Timeline, Trace};

/// `# CPU  DURATION                  FUNCTION CALLS`
pub(super) const DEFAULT: &str = "# tracer: function_graph
#
# CPU  DURATION                  FUNCTION CALLS
# |     |   |                     |   |   |   |
";
/// With funcgraph-abstime and funcgraph-proc.
pub(super) const WIDE: &str = "# tracer: function_graph
#
#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS
#      |          |     |    |           |   |                     |   |   |   |
";

pub(super) fn read(text: &str) -> Trace {
    let input = Single::new("trace", Box::new(text.as_bytes()));
    load(&input, &ReadOptions::default(), &|_| ()).unwrap().0
}

pub(super) fn refusal(text: &[u8]) -> String {
    let input = Single::new("trace", Box::new(text));
    match load(&input, &ReadOptions::default(), &|_| ()) {
        Ok((_, origin)) => panic!("recognized as {}: {}", origin.format.name, origin.reason),
        Err(error) => error.to_string(),
    }
}

pub(super) fn show(trace: &Trace) -> String {
    let mut out = String::new();
    let mut last = None;
    let spans = &trace.spans;
    for id in spans.ids() {
        let row = id.index();
        let thread = spans.thread[row];
        if last.replace(thread) != Some(thread) {
            let _ = writeln!(out, "{}", trace.names.threads[thread].label());
        }
        let func = &trace.names.funcs[spans.func[id]];
        let indent = 2 + 2 * spans.depth[row] as usize;
        let _ = write!(out, "{:indent$}{}", "", func.name);
        if let Some(module) = &func.module {
            let _ = write!(out, " [{module}]");
        }
        let _ = write!(out, " {}/{}", spans.wall[row].0, spans.net[row].0);
        if spans.off_cpu[row].0 > 0 {
            let _ = write!(out, " off {}", spans.off_cpu[row].0);
        }
        if spans.fidelity[row].is_partial() {
            out += " partial";
        }
        out.push('\n');
    }
    for entry in trace.meta.diags.sorted() {
        let _ = writeln!(out, "{} {}", entry.code.name, entry.count);
    }
    out
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "`expect!` stands in the call")]
pub(super) fn check(header: &str, lines: &str, expected: Expect) {
    expected.assert_eq(&show(&read(&format!("{header}{lines}"))));
}

pub(super) fn marks(trace: &Trace) -> Vec<&str> {
    trace.marks.iter().map(|mark| trace.names.funcs[mark.func].name.as_str()).collect()
}
