//! What the tests of formats do with a reader: show its events in the plain format, cut its input
//! everywhere.

use std::fmt::Write;

use super::write;
use crate::emit::{At, Emitter, Record, place};
use crate::formats::{ImportOptions, Importer};
use crate::testing::{ImporterOfBytes, ReaderOfBytes};

/// What a reader says of `input`: events as lines, then the diagnostics.
pub(crate) fn show(importer: &dyn Importer, input: &[u8], options: &ImportOptions) -> String {
    let opened = importer.open_bytes(input, options).expect("an input that can be opened");
    let said = read(importer, input, options);
    let mut text = write(&said, &opened.timebase);
    for diag in &said.diags {
        writeln!(text, "{} +{}: {}", diag.code.name, diag.offset, diag.message).unwrap();
    }
    for (code, n) in &said.more_diags {
        writeln!(text, "{} {n} more", code.name).unwrap();
    }
    text
}

/// What a reader says of `input`, read as one block.
pub(crate) fn read(importer: &dyn Importer, input: &[u8], options: &ImportOptions) -> Emitter {
    let opened = importer.open_bytes(input, options).expect("an input that can be opened");
    let mut said = Emitter::default();
    opened.reader.fork().read_bytes(input, true, &opened.state, &mut said);
    said
}

/// Cuts `input` after every byte, as if the copy had stopped there, and in two blocks, and says
/// where that changed what it should not have.
pub(crate) fn check_cuts(importer: &dyn Importer, input: &[u8], options: &ImportOptions) {
    let whole = read(importer, input, options);
    let whole: Vec<(At, Record<'_>)> = whole.said().collect();
    for cut in 0..=input.len() {
        let start = &input[..cut];
        let opened = importer.open_bytes(input, options).expect("an input that can be opened");
        let mut reader = opened.reader;
        let boundary = reader.boundary(start);

        let mut said = Emitter::default();
        reader.read_bytes(start, true, &opened.state, &mut said);
        let complete = |(at, _): &(At, Record<'_>)| at.offset < boundary;
        let kept: Vec<_> = said.said().filter(complete).collect();
        let expected: Vec<_> = whole.iter().copied().filter(complete).collect();
        assert_eq!(kept, expected, "cut at byte {cut}");
        assert!(said.said().len() <= kept.len() + 1, "one half record at most, cut at {cut}");

        let mut reader = reader.fork();
        let mut said = Emitter::default();
        let after = reader.read_bytes(&input[..boundary], false, &opened.state, &mut said);
        let first = said.take();
        let state = after.as_ref().unwrap_or(&opened.state);
        reader.read_bytes(&input[boundary..], true, state, &mut said);
        let mut both: Vec<(At, Record<'_>)> = first.said().collect();
        for (at, record) in said.said() {
            let offset = place(boundary as u64, at.offset as u32) as usize;
            both.push((At { offset, ..at }, record));
        }
        assert_eq!(both, whole, "two blocks, the second from byte {boundary}");
    }
}

/// The first example in a page of `docs/formats/` that is fenced off as `text`.
pub(crate) fn example(page: &str) -> &str {
    let (_, after) = page.split_once("```text\n").expect("an example");
    after.split_once("```").expect("the end of the example").0
}
