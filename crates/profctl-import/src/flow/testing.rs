//! What the tests of all logs of instructions do.

use std::collections::BTreeMap;
use std::fmt::Write;

use profctl_model::{Trace, TraceMeta};

use crate::importer::Importer;
use crate::options::ImportOptions;
use crate::{ReadOptions, Single, load};

/// The whole of `bytes`, read in blocks of `block_size` (0: one) by `workers`.
pub(crate) fn trace(
    importer: &dyn Importer,
    bytes: &[u8],
    import: &ImportOptions,
    (block_size, workers): (usize, usize),
) -> Trace {
    let options = ReadOptions {
        format: Some(importer.descriptor().name.to_owned()),
        import: import.clone(),
        block_size,
        workers,
        ..ReadOptions::default()
    };
    let input = Single::new("log", Box::new(bytes));
    load(&input, &options, &|_| ()).expect("a log that can be read").0
}

/// Every call, indented by its depth, with its entry, elapsed and net time: `main 0 90 13`, and
/// `~` on the side that was not seen; then what was said of the log.
pub(crate) fn calls(importer: &dyn Importer, text: &str, import: &ImportOptions) -> String {
    let trace = trace(importer, text.as_bytes(), import, (0, 1));
    let mut shown = String::new();
    for id in trace.spans.ids() {
        let row = id.index();
        let fidelity = trace.spans.fidelity[row];
        writeln!(
            shown,
            "{}{}{}{} {} {} {}",
            "  ".repeat(trace.spans.depth[row] as usize),
            if fidelity.start_inferred { "~" } else { "" },
            trace.names.funcs[trace.spans.func[id]].name,
            if fidelity.end_inferred { "~" } else { "" },
            trace.spans.start[row].0,
            trace.spans.elapsed(id).0,
            trace.spans.net[row].0,
        )
        .expect("a string takes everything");
    }
    complaints(&trace.meta, &mut shown);
    shown
}

fn complaints(meta: &TraceMeta, shown: &mut String) {
    for entry in meta.diags.sorted() {
        writeln!(shown, "{} {}", entry.code.name, entry.count).expect("a string takes everything");
    }
}

/// By function: complete calls, incomplete ones, net time.
pub(crate) fn sums(trace: &Trace) -> BTreeMap<String, (u64, u64, u64)> {
    let mut sums: BTreeMap<String, (u64, u64, u64)> = BTreeMap::new();
    for id in trace.spans.ids() {
        let name = trace.names.funcs[trace.spans.func[id]].name.clone();
        let sum = sums.entry(name).or_default();
        let is_partial = trace.spans.fidelity[id.index()].is_partial();
        *(if is_partial { &mut sum.1 } else { &mut sum.0 }) += 1;
        sum.2 += trace.spans.net[id.index()].0;
    }
    sums
}

/// Reads `text` in blocks of every small size and on several workers, and cut after every byte.
pub(crate) fn check_blocks(importer: &dyn Importer, text: &str, import: &ImportOptions) {
    let digest = |trace: &Trace| {
        let mut shown = format!("{:?} {:?}\n", trace.meta.first, trace.meta.last);
        complaints(&trace.meta, &mut shown);
        format!("{shown}{:?}", trace.spans)
    };
    let whole = digest(&trace(importer, text.as_bytes(), import, (0, 1)));
    for how in [(1, 1), (64, 1), (64, 3), (1_000, 2), (4_096, 7)] {
        let read = digest(&trace(importer, text.as_bytes(), import, how));
        assert_eq!(read, whole, "blocks and workers: {how:?}");
    }
    let mut events = 0;
    for cut in 1..text.len() {
        let read = trace(importer, &text.as_bytes()[..cut], import, (4_096, 1));
        assert!(read.meta.events >= events, "cut at {cut}");
        let diags = read.meta.diags.sorted();
        let is_cut = diags.iter().any(|entry| entry.code.name == "input/cut-record");
        assert_eq!(is_cut, text.as_bytes()[cut - 1] != b'\n', "cut at {cut}");
        events = read.meta.events - u64::from(is_cut);
    }
}
