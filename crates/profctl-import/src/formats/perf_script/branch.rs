//! Branches: from where to where, and of what kind.

use super::symbol::{Symbol, first_word, frame};

/// Of what kind a branch is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Call,
    Return,
    /// Conditional or not.
    Jump,
    Syscall,
    /// `sysret`.
    SyscallReturn,
    /// An interrupt that the program asked for.
    Interrupt,
    /// An interrupt or an exception.
    HardwareInterrupt,
    /// `iret`.
    InterruptReturn,
    /// Recording goes on: what was executed before was not recorded.
    TraceStart,
    /// What follows is not recorded; how it was left.
    TraceEnd(End),
    /// A transaction was aborted.
    Abort,
    /// Printed without its kind.
    Unknown,
}

/// How what was recorded was left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum End {
    Call,
    Return,
    Syscall,
    SyscallReturn,
    /// An interrupt, a context switch, the end of the recording.
    Other,
}

/// A branch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Branch<'a> {
    pub(super) kind: Kind,
    pub(super) from: Symbol<'a>,
    pub(super) to: Symbol<'a>,
}

/// The words for kinds as perf prints them, longer ones first where one begins another.
static WORDS: &[(&[u8], Kind)] = &[
    (b"syscall", Kind::Syscall),
    (b"sysret", Kind::SyscallReturn),
    (b"call", Kind::Call),
    (b"return", Kind::Return),
    (b"jcc", Kind::Jump),
    (b"jmp", Kind::Jump),
    (b"iret", Kind::InterruptReturn),
    (b"int", Kind::Interrupt),
    (b"hw int", Kind::HardwareInterrupt),
    (b"async", Kind::Jump),
    (b"tx abrt", Kind::Abort),
    (b"vmentry", Kind::Jump),
    (b"vmexit", Kind::Jump),
];

/// The kind that the flags before `text` name, and what is behind them.
fn kind(text: &[u8]) -> (Kind, &[u8]) {
    if let Some(rest) = behind(text, b"tr strt") {
        // `tr strt jmp`: the branch by which it went on.
        let rest = word(rest).map_or(rest, |(_, rest)| rest);
        return (Kind::TraceStart, rest);
    }
    if let Some(rest) = behind(text, b"tr end") {
        let (by, rest) = word(rest).unwrap_or((Kind::Unknown, rest));
        let end = match by {
            Kind::Call => End::Call,
            Kind::Return => End::Return,
            Kind::Syscall => End::Syscall,
            Kind::SyscallReturn => End::SyscallReturn,
            _ => End::Other,
        };
        return (Kind::TraceEnd(end), rest);
    }
    word(text).unwrap_or((Kind::Unknown, text))
}

fn word(text: &[u8]) -> Option<(Kind, &[u8])> {
    WORDS.iter().find_map(|(word, kind)| Some((*kind, behind(text, word)?)))
}

/// What is after `word` if `text` begins with it: whole, perhaps with `/miss,not_taken/` right
/// after it and `(x)`, `(D)` or `(t)` after a space.
fn behind<'a>(text: &'a [u8], word: &[u8]) -> Option<&'a [u8]> {
    let mut rest = text.strip_prefix(word)?;
    if rest.first() == Some(&b'/') {
        let end = memchr::memchr(b'/', &rest[1..])?;
        rest = &rest[end + 2..];
    }
    if !rest.is_empty() && !rest[0].is_ascii_whitespace() {
        return None;
    }
    let inner = rest.trim_ascii_start();
    for mark in [&b"(x)"[..], b"(D)", b"(t)", b"(xD)", b"(xt)", b"(Dt)", b"(xDt)"] {
        if let Some(after) = inner.strip_prefix(mark) {
            return Some(after.trim_ascii_start());
        }
    }
    Some(inner)
}

/// The words that name a kind at the start of `text`, and what is behind them with its indentation;
/// nothing if it names none.
pub(super) fn flags(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (kind, rest) = kind(text);
    if kind == Kind::Unknown {
        return None;
    }
    let words = text[..text.len() - rest.len()].trim_ascii_end();
    Some((words, &text[words.len()..]))
}

/// The branch that flags, two addresses and an arrow say.
pub(super) fn branch(text: &[u8]) -> Option<Branch<'_>> {
    let mut at = 0;
    let (kind, rest) = kind(text.trim_ascii());
    // A symbol may hold an arrow as well: that before an address is meant.
    while let Some(arrow) = memchr::memmem::find(&rest[at..], b" => ") {
        let (left, right) = (&rest[..at + arrow], &rest[at + arrow + 4..]);
        at += arrow + 4;
        if first_word(right).1.is_empty() {
            continue;
        }
        if let (Some(from), Some(to)) = (source(left), frame(right)) {
            return Some(Branch { kind, from, to });
        }
    }
    None
}

/// Where a branch comes from: a frame, which `callindent` precedes with the name of a function and
/// its padding.
fn source(left: &[u8]) -> Option<Symbol<'_>> {
    let padded = memchr::memmem::rfind(left, b"  ").and_then(|at| frame(&left[at + 2..]));
    padded.or_else(|| frame(left))
}
