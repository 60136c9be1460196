//! Inputs that pause while they are read: a pause changes nothing, and what came before it can be
//! asked for.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use profctl_import::pause::pause;
use profctl_import::{ReadOptions, Single, stream};
use profctl_model::{Names, Record, Span, SpanSink};
use profctl_testkit::fixtures;

use crate::recorder::{Outcome, read, read_files};

/// Bytes that come in pieces, with a pause after each. The first piece is half of them, so that the
/// format can be recognized.
struct Pausing {
    bytes: Vec<u8>,
    at: usize,
    /// Where the next pause is.
    next: usize,
    piece: usize,
}

impl Pausing {
    fn new(bytes: Vec<u8>, piece: usize) -> Self {
        let next = bytes.len() / 2;
        Self { bytes, at: 0, next, piece }
    }
}

impl Read for Pausing {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.next && self.at < self.bytes.len() {
            self.next = (self.next + self.piece).min(self.bytes.len());
            return Err(pause());
        }
        let n = buffer.len().min(self.next - self.at);
        buffer[..n].copy_from_slice(&self.bytes[self.at..self.at + n]);
        self.at += n;
        Ok(n)
    }
}

/// Formats that programs write line by line.
const OF_STREAMS: [&str; 5] = ["function_graph", "ftrace", "plain", "mcrae", "strace"];

/// Who runs where at the beginning is looked up in the head, which ends at the first pause: the order
/// of threads may differ, but no number does.
#[test]
fn pauses_change_nothing() {
    for format in OF_STREAMS {
        let mut n_read = 0;
        for path in fixtures::of_format(format) {
            let parts = fixtures::parts(&path);
            let [(_, bytes)] = &parts[..] else { continue };
            for piece in [700, 5_000, 100_000] {
                for workers in [1, 3] {
                    let options = ReadOptions { workers, ..ReadOptions::default() };
                    let Ok(expected) = read(bytes, &options) else { continue };
                    let input = Single::new("test", Box::new(Pausing::new(bytes.clone(), piece)));
                    let got = read_files(&input, &options).unwrap();
                    n_read += 1;
                    let what = format!("{}, pieces of {piece}", path.display());
                    let n_calls = |outcome: &Outcome| outcome.recorded.spans.len();
                    assert_eq!(n_calls(&got), n_calls(&expected), "{what}");
                    assert!(got.totals() == expected.totals(), "{what}");
                    let read = |outcome: &Outcome| (outcome.events, outcome.bytes);
                    assert_eq!(read(&got), read(&expected), "{what}");
                    assert_eq!(got.span_of_time, expected.span_of_time, "{what}");
                    assert_eq!(got.diags, expected.diags, "{what}");
                }
            }
        }
        assert!(n_read > 0, "none of the fixtures of {format} was read");
    }
}

/// Counts calls, and those that came before each report.
#[derive(Default)]
struct Counting {
    calls: u64,
    reports: Vec<(u64, u64)>,
    asked: Arc<AtomicBool>,
}

impl SpanSink for Counting {
    fn span(&mut self, _: &Span, _: &Names) {
        self.calls += 1;
    }

    fn record(&mut self, record: Record<'_>, names: &Names) {
        if let Record::SoFar(meta) = record {
            assert!(meta.first <= meta.last && !names.funcs.is_empty());
            self.reports.push((self.calls, meta.events));
            self.asked.store(true, Ordering::Relaxed);
        }
    }
}

#[test]
fn what_was_read_so_far_can_be_asked_for() {
    let path = fixtures::root().join("fixtures/function_graph/abstime-proc-tail-6.12.txt");
    let asked = Arc::new(AtomicBool::new(true));
    let options = ReadOptions { asked: Some(Arc::clone(&asked)), ..ReadOptions::default() };
    let input = Single::new("test", Box::new(Pausing::new(fixtures::read(&path), 10_000)));
    let sink = Counting { asked, ..Counting::default() };
    let read = stream(&input, &options, sink, &|_| ()).map_err(|error| error.message).unwrap();
    let (sink, events) = (read.sink, read.meta.events);
    assert!(sink.reports.len() > 3, "{:?}", sink.reports);
    assert!(sink.reports.is_sorted(), "{:?}", sink.reports);
    let (first, last) = (sink.reports[0], sink.reports[sink.reports.len() - 1]);
    assert!(first.0 > 100 && first.1 < last.1 && last.1 <= events, "{:?}", sink.reports);
    assert!(last.0 < sink.calls, "calls that were open are passed on at the end");
}
