//! Reads an input in turn: one reader, batch after batch.

use std::io;
use std::sync::atomic::Ordering;

use profctl_model::SpanSink;

use super::stage::StitchStage;
use crate::decompress::OpenFile;
use crate::emit::Emitter;
use crate::in_turn::{InTurn, Input};
use crate::stitch::BlockView;

/// What became of the input: its bytes, and why it ended early if it did.
pub(super) fn run<S: SpanSink>(
    stage: &mut StitchStage<'_, S>,
    reader: &mut dyn InTurn,
    file: OpenFile<'_>,
    progress: &(dyn Fn(u64) + Sync),
) -> (u64, Option<io::Error>) {
    let mut out = Emitter::default();
    let mut lines = 0;
    let mut take = |out: &mut Emitter, bytes: &[u8], offset: u64| {
        let mut events = out.take();
        let view = BlockView { bytes, stream: 0, source: 0, offset, lines: Some(lines) };
        stage.take(0, &mut events, view);
        lines += events.lines;
        out.reuse(events.events);
        progress(file.taken.load(Ordering::Relaxed));
    };
    let mut input = Input::new(reader.wrap(file.bytes), Some(&mut take));
    reader.read(&mut input, &mut out);
    input.flush(&mut out);
    (input.dealt_with(), input.broken)
}
