//! What readers found in an input, apart by stream: blocks of several streams come in an order that
//! depends on how large they are, and only the first few of each code are kept.

use profctl_model::DiagLog;
use profctl_model::diag::{Place, Sample, codes};

use super::{BlockView, Setup};
use crate::emit::{BlockEvents, place};

#[derive(Debug, Default)]
pub(super) struct Found {
    by_stream: Vec<DiagLog>,
}

impl Found {
    fn of(&mut self, stream: usize) -> &mut DiagLog {
        if self.by_stream.len() <= stream {
            self.by_stream.resize_with(stream + 1, DiagLog::default);
        }
        &mut self.by_stream[stream]
    }

    /// Takes what was found in a block.
    pub(super) fn take(&mut self, setup: &Setup, block: &BlockEvents, view: BlockView<'_>) {
        if block.diags.is_empty() && block.more_diags.is_empty() {
            return;
        }
        let log = self.of(view.stream);
        for found in &block.diags {
            log.add(found.code, 1, || setup.sample(view, found.offset, found.message.clone()));
        }
        for (code, n) in &block.more_diags {
            log.count(code, *n);
        }
    }

    /// Counts a record of so many bytes that was too long to be read.
    pub(super) fn skipped(&mut self, setup: &Setup, bytes: u64, view: BlockView<'_>) {
        self.of(view.stream).add(&codes::SKIPPED_LINE_TOO_LONG, 1, || {
            setup.sample(view, 0, format!("an unterminated record of {bytes} bytes"))
        });
    }

    /// All of it, stream by stream, and then what was found in pairing.
    pub(super) fn with(&self, paired: &DiagLog) -> DiagLog {
        let mut all = DiagLog::default();
        for log in self.by_stream.iter().chain([paired]) {
            all.merge(log);
        }
        all
    }
}

impl Setup {
    /// Something that was found in a block, with its place.
    pub(super) fn sample(&self, view: BlockView<'_>, offset: u32, message: String) -> Sample {
        let before = view.bytes.get(..offset as usize).unwrap_or(view.bytes);
        let lines = view.lines.filter(|_| self.quirks.has_lines);
        let line = lines.map(|lines| lines + 1 + memchr::memchr_iter(b'\n', before).count() as u64);
        let source = self.sources.get(view.source).cloned().unwrap_or_default();
        let place = Place { source, offset: place(view.offset, offset), line };
        Sample { place, message }
    }
}
