//! What the targets share: reading an input in several ways, which must all tell the same.

use profctl_import::{Files, Memory, ReadOptions, Single};
use profctl_model::{SpanId, Trace};

/// Reads `bytes` as one block, as small blocks, and as small blocks by two workers, and checks
/// what must hold of any trace.
pub fn check(bytes: &[u8], options: &ReadOptions) {
    check_read(options, |options| {
        load(&Single::new("fuzz", Box::new(bytes)), options)
    });
}

/// The same for a directory whose files are one trace; order them by name.
pub fn check_directory(files: &[(String, Vec<u8>)], options: &ReadOptions) {
    check_read(options, |options| {
        load(&Memory::new("fuzz", files.to_vec()), options)
    });
}

fn check_read(options: &ReadOptions, load: impl Fn(&ReadOptions) -> Option<Trace>) {
    let Some(whole) = load(options) else {
        return;
    };
    for id in whole.spans.ids() {
        check_call(&whole, id);
    }
    let whole = told(&whole);
    for (block_size, workers) in [(32, 1), (32, 2)] {
        let parts = load(&ReadOptions {
            block_size,
            workers,
            ..options.clone()
        });
        let parts = parts.as_ref().map(told);
        assert_eq!(
            parts.as_ref(),
            Some(&whole),
            "{block_size} bytes a block, {workers} worker(s)"
        );
    }
}

fn load(files: &dyn Files, options: &ReadOptions) -> Option<Trace> {
    profctl_import::load(files, options, &|_| {})
        .ok()
        .map(|(trace, _)| trace)
}

fn check_call(trace: &Trace, id: SpanId) {
    let (spans, row) = (&trace.spans, id.index());
    assert!(spans.start[row] <= spans.end[row]);
    assert!(spans.off_cpu[row] <= spans.wall[row]);
    assert!(spans.net[row] <= spans.elapsed(id) || spans.fidelity[row].is_partial());
    if let Some(parent) = spans.parent[row] {
        assert!(parent < id, "a caller comes before its callees");
        assert!(spans.start[parent.index()] <= spans.start[row]);
        assert!(spans.end[row] <= spans.end[parent.index()]);
    }
}

/// All that a trace tells, without its ids.
fn told(trace: &Trace) -> Vec<String> {
    let spans = &trace.spans;
    let call = |id: SpanId| {
        let row = id.index();
        format!(
            "{:?} on {:?} {} {:?}..{:?} {:?} {:?} {:?} {:?} {:?}",
            trace.names.funcs[spans.func[id]],
            trace.names.threads[spans.thread[row]],
            spans.depth[row],
            spans.start[row],
            spans.end[row],
            spans.wall[row],
            spans.off_cpu[row],
            spans.net[row],
            spans.stolen[row],
            spans.fidelity[row],
        )
    };
    let mut told: Vec<_> = spans.ids().map(call).collect();
    told.extend(trace.states.iter().map(|state| format!("{state:?}")));
    told.extend(trace.wakes.iter().map(|wake| format!("{wake:?}")));
    told.extend(trace.gaps.iter().map(|gap| format!("{gap:?}")));
    told.extend(trace.marks.iter().map(|mark| format!("{mark:?}")));
    let codes =
        |entry: &&profctl_model::diag::Entry| format!("{} {}", entry.code.name, entry.count);
    told.extend(trace.meta.diags.sorted().iter().map(codes));
    told.push(format!(
        "{:?} {:?} {}",
        trace.meta.first, trace.meta.last, trace.meta.events
    ));
    told
}
