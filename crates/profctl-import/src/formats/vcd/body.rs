//! The changes after the declarations. A dump says only what changed, so it is read in order.

use std::sync::Arc;

use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};
use profctl_model::hash::FastMap;

use super::header::{Header, words};
use crate::capture::{Levels, Plan, Sampler};
use crate::emit::Emitter;
use crate::formats::{InTurn, Input};
use crate::text;

/// How far reading came.
struct Point {
    levels: Levels,
    /// The present timestamp; nothing before the first. Then where its changes began.
    time: Option<u64>,
    group: usize,
    inside: Inside,
    /// The value that waits for the code after it: bits, and those that are neither 0 nor 1.
    value: Option<Value>,
}

/// What the words are part of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Inside {
    /// The declarations.
    Header,
    /// Text up to `$end`, or levels that are said of a dump that was turned off.
    Skipped,
    /// Changes.
    Body,
}

/// A value before its code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Value {
    Bits(u64, u64),
    /// A real number or a string.
    Other,
}

/// Reads changes.
pub(super) struct Changes {
    sampler: Sampler,
    /// The watched signals by their codes.
    sources: Arc<FastMap<Box<[u8]>, usize>>,
}

impl Changes {
    pub(super) fn new(header: &Header, plan: &Arc<Plan>) -> Self {
        let code = |key: u32| header.codes[key as usize].clone();
        let sources = plan.sources().map(|(key, source)| (code(key), source)).collect();
        Self { sampler: Sampler::new(plan), sources: Arc::new(sources) }
    }
}

impl InTurn for Changes {
    fn fork(&self) -> Box<dyn InTurn> {
        Box::new(Self { sampler: self.sampler.fork(), sources: Arc::clone(&self.sources) })
    }

    fn read(&mut self, input: &mut Input<'_>, out: &mut Emitter) {
        let levels = self.sampler.levels();
        let (time, inside, value) = (None, Inside::Header, None);
        let mut point = Point { levels, time, group: 0, inside, value };
        // A last line without an end was cut: what its last word would have been is not known, and
        // what more would have changed at its time is not either.
        let (mut is_cut, mut next_began, mut last) = (false, false, 0);
        while let Some(line) = input.line() {
            out.lines += u64::from(line.ended);
            is_cut = !line.ended;
            for (at, word) in words(line.text) {
                last = line.offset + at;
                if is_cut && at + word.len() == line.text.len() {
                    next_began = word[0] == b'#' && point.inside == Inside::Body;
                    break;
                }
                self.word(&mut point, word, last, out);
            }
            if point.levels.is_settled() && input.hand_on(out) {
                point.group = 0;
            }
        }
        if !is_cut || next_began {
            self.settle(&mut point, out);
        }
        if is_cut || point.inside == Inside::Header || point.value.is_some() {
            out.diag(&CUT_RECORD, last, || "the dump ends within a word or a change".into());
        }
    }
}

impl Changes {
    fn word(&mut self, point: &mut Point, word: &[u8], offset: usize, out: &mut Emitter) {
        match point.inside {
            Inside::Body => {}
            Inside::Header => {
                if word == b"$enddefinitions" {
                    point.inside = Inside::Skipped;
                }
                return;
            }
            Inside::Skipped => {
                if word == b"$end" {
                    point.inside = Inside::Body;
                }
                return;
            }
        }
        if let Some(value) = point.value.take() {
            out.records += 1;
            if let (Value::Bits(bits, unknown), Some(&source)) = (value, self.sources.get(word)) {
                self.sampler.change(&mut point.levels, source, bits, unknown);
            }
            return;
        }
        match word[0] {
            b'#' if word.get(1).is_some_and(u8::is_ascii_digit) => {
                // A time that cannot be read still ends what belongs to the one before.
                self.settle(point, out);
                point.group = offset;
                match text::decimal(&word[1..], 0) {
                    Some(time) => point.time = Some(time),
                    None => skip(word, offset, "a time of 64 bits after `#`", out),
                }
            }
            b'#' => skip(word, offset, "a time behind `#`", out),
            b'$' => self.keyword(point, word, offset, out),
            b'b' | b'B' => match bits(&word[1..]) {
                Some((value, unknown)) => point.value = Some(Value::Bits(value, unknown)),
                None => skip(word, offset, "bits 0, 1, x or z after `b`", out),
            },
            b'r' | b'R' | b's' | b'S' => point.value = Some(Value::Other),
            first => match level(first) {
                Some((value, unknown)) if word.len() > 1 => {
                    out.records += 1;
                    if let Some(&source) = self.sources.get(&word[1..]) {
                        self.sampler.change(&mut point.levels, source, value, unknown);
                    }
                }
                Some(_) | None => skip(word, offset, "a change such as `1!` or `b101 !`", out),
            },
        }
    }

    fn keyword(&mut self, point: &mut Point, word: &[u8], offset: usize, out: &mut Emitter) {
        match word {
            b"$dumpvars" | b"$dumpall" | b"$dumpon" | b"$end" => {}
            b"$dumpoff" => {
                point.inside = Inside::Skipped;
                let time = point.time.unwrap_or(0);
                self.sampler.blackout(&mut point.levels, time, offset, out);
            }
            _ => point.inside = Inside::Skipped,
        }
    }

    fn settle(&mut self, point: &mut Point, out: &mut Emitter) {
        let time = point.time.unwrap_or(0);
        self.sampler.settle(&mut point.levels, time, point.group, out);
    }
}

#[cold]
fn skip(word: &[u8], offset: usize, expected: &str, out: &mut Emitter) {
    out.records += 1;
    out.diag(&SKIPPED_RECORD, offset, || {
        format!("found `{}`, expected {expected}", text::excerpt(word))
    });
}

/// One level, and whether it is neither 0 nor 1. VHDL has nine of them.
fn level(byte: u8) -> Option<(u64, u64)> {
    match byte {
        b'0' | b'l' | b'L' => Some((0, 0)),
        b'1' | b'h' | b'H' => Some((1, 0)),
        b'x' | b'X' | b'z' | b'Z' | b'u' | b'U' | b'w' | b'W' | b'-' => Some((0, 1)),
        _ => None,
    }
}

/// The lowest 64 bits. A value may be shorter than its signal: what is missing on the left is 0, or
/// unknown if the first bit is.
fn bits(digits: &[u8]) -> Option<(u64, u64)> {
    let (mut value, mut unknown) = match level(*digits.first()?)? {
        (_, 1) => (0, u64::MAX),
        _ => (0, 0),
    };
    for &digit in digits {
        let (bit, odd) = level(digit)?;
        value = (value << 1) | bit;
        unknown = (unknown << 1) | odd;
    }
    Some((value, unknown))
}
