//! Sinks that watch the progress of reading get the same calls as others, and what is final by it,
//! is.

use profctl_import::{Files, Memory, ReadOptions, Single, stream};
use profctl_model::{IdVec, Names, Progress, Record, Span, SpanSink, ThreadId, Tick};
use profctl_testkit::fixtures;

use crate::recorder::{Recorder, read};

/// Keeps everything, and checks each call against what [`Progress`] said before.
#[derive(Default)]
struct Watching {
    recorder: Recorder,
    /// When the calls of each thread that may still get a caller began.
    roots: IdVec<ThreadId, Vec<Tick>>,
    /// The latest [`Progress::open_from`] of each thread.
    open_from: IdVec<ThreadId, Option<Tick>>,
    settled: usize,
}

impl SpanSink for Watching {
    fn span(&mut self, span: &Span, names: &Names) {
        let roots = self.roots.grow_to(span.thread);
        if let Some(open_from) = *self.open_from.grow_to(span.thread) {
            let earliest = roots.iter().fold(open_from, |earliest, &start| earliest.min(start));
            assert!(span.start >= earliest, "{span:?} begins before {earliest:?}");
        }
        let [callees, late] = [span.callees, span.late.roots].map(|n| n as usize);
        assert!(callees + late <= roots.len(), "{span:?} has callees that were final");
        let late = roots.split_off(roots.len() - late);
        roots.truncate(roots.len() - callees);
        roots.push(span.start);
        roots.extend(late);
        self.recorder.span(span, names);
    }
    fn record(&mut self, record: Record<'_>, names: &Names) {
        self.recorder.record(record, names);
    }
    const WATCHES_PROGRESS: bool = true;
    fn progress(&mut self, progress: &Progress, _: &Names) {
        *self.open_from.grow_to(progress.thread) = progress.open_from;
        if progress.open_from.is_none() {
            self.roots.grow_to(progress.thread).clear();
            self.settled = self.recorder.spans.len();
        }
    }
}

/// Compares what both kinds of sinks get of an input, and says how many calls were final before its
/// end.
fn compare(name: &str, input: &dyn Files) -> Option<usize> {
    let options = ReadOptions::default();
    let usual = stream(input, &options, Recorder::default(), &|_| ()).ok()?;
    let watching = stream(input, &options, Watching::default(), &|_| ()).ok()?;
    assert!(watching.sink.recorder == usual.sink, "{name}");
    assert_eq!(watching.meta.diags.sorted(), usual.meta.diags.sorted(), "{name}");
    Some(watching.sink.settled)
}

#[test]
fn whoever_watches_gets_the_same_calls() {
    let mut settled = 0;
    for format in profctl_import::FORMATS {
        for path in fixtures::of_format(format.descriptor().name) {
            let name = path.display().to_string();
            if path.is_dir() {
                compare(&name, &Memory::new(&*name, fixtures::parts(&path)));
                continue;
            }
            let bytes = fixtures::read(&path);
            // Cut anywhere, it begins and ends within calls.
            for part in [&bytes[..], &bytes[bytes.len() / 3..], &bytes[..bytes.len() / 7 * 5]] {
                settled += compare(&name, &Single::new(&*name, Box::new(part))).unwrap_or(0);
            }
        }
    }
    assert!(settled > 10_000, "{settled} calls were final before the end");
}

/// The call beside late ones is no interrupt, so none of them is late, however it is paired.
#[test]
fn late_calls_are_the_last_ones() {
    let text = "# profctl plain 1 timeline=synthetic\n\
                - > a depth=0\n- > b depth=1\n- > irq^ depth=2\n- . c 5 depth=3\n\
                - < irq^ depth=2 wall=40\n- > rearm depth=2\n- . c 7 depth=3\n\
                - < rearm depth=2 wall=30\n- < b depth=1 wall=10\n- < a depth=0 wall=100\n";
    assert!(compare("text", &Single::new("text", Box::new(text.as_bytes()))).is_some());
    let outcome = read(text.as_bytes(), &ReadOptions::default()).unwrap();
    let spans = &outcome.recorded.spans;
    let net =
        |name: &str| spans.iter().find(|span| outcome.func(span.func).name == name).unwrap().net.0;
    assert_eq!([net("a"), net("b"), net("irq"), net("rearm")], [90, 0, 35, 23]);
}
