//! Texts in, calls out: what the tests of formats ask of the whole way through reader, sorter and
//! stitcher.

use std::fmt::Write as _;

use profctl_model::Trace;

use crate::{ImportOptions, Input, ReadOptions, load};

/// `text` as a trace, read in blocks of `block_size` bytes.
pub(crate) fn trace(
    format: &str,
    text: &[u8],
    import: ImportOptions,
    block_size: usize,
    workers: usize,
) -> Trace {
    let input = Input { name: "test".into(), bytes: Box::new(text) };
    let options = ReadOptions {
        format: Some(format.into()),
        import,
        block_size,
        workers,
        ..ReadOptions::default()
    };
    load(input, &options, &|_| ()).expect("a text that can be read").0
}

/// The calls of `text`, a line each.
pub(crate) fn spans(format: &str, text: &str, import: ImportOptions) -> String {
    told(format, text, import).0
}

/// The calls of `text`, a line each, and the codes of what was wrong with how often each was met.
pub(crate) fn told(format: &str, text: &str, import: ImportOptions) -> (String, Vec<String>) {
    let trace = trace(format, text.as_bytes(), import, 0, 1);
    let codes = trace.meta.diags.sorted();
    (show(&trace), codes.iter().map(|e| format!("{} {}", e.code.name, e.count)).collect())
}

/// Calls as `THREAD DEPTH NAME START+LENGTH net NET`, then what is unusual about them.
pub(crate) fn show(trace: &Trace) -> String {
    let mut text = String::new();
    let spans = &trace.spans;
    for id in spans.ids() {
        let row = id.index();
        let (start, length) = (spans.start[row].0, spans.end[row].0 - spans.start[row].0);
        let thread = trace.names.threads[spans.thread[row]].label();
        let name = &trace.names.funcs[spans.func[id]].name;
        write!(text, "{thread} {} {name} {start}+{length}", spans.depth[row]).unwrap();
        if spans.wall[row].0 != length {
            write!(text, " wall {}", spans.wall[row].0).unwrap();
        }
        if spans.off_cpu[row].0 != 0 {
            write!(text, " off {}", spans.off_cpu[row].0).unwrap();
        }
        write!(text, " net {}", spans.net[row].0).unwrap();
        let fidelity = spans.fidelity[row];
        match (fidelity.start_inferred, fidelity.end_inferred) {
            (false, false) => {}
            (true, false) => text.push_str(" unseen entry"),
            (false, true) => text.push_str(" unseen exit"),
            (true, true) => text.push_str(" unseen both"),
        }
        if fidelity.at_gap {
            text.push_str(" gap");
        }
        text.push('\n');
    }
    for mark in &trace.marks {
        let thread = trace.names.threads[mark.thread].label();
        let name = &trace.names.funcs[mark.func].name;
        writeln!(text, "{thread} mark {name} {}", mark.time.0).unwrap();
    }
    text
}
