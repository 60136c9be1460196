//! One line of kdump text.
//!
//! ```text
//!   100   1001 my demo  1700000000.000312 0.000312 CSW   stop kernel "biord"
//!   │     │    │        └──────┬────────┘          │     └ what the record says
//!   pid   tid  command         stamps, 1 to 3      type
//! ```
//!
//! How many ids and stamps there are depends on the options of kdump and is the same on every line,
//! so it is detected from the head of an input. That makes the line unambiguous: a command may hold
//! blanks, and anything that looks like a stamp.

use crate::text;

/// The types of records, as all dialects print them.
const TYPES: [&[u8]; 23] = [
    b"CALL", b"RET", b"NAMI", b"GIO", b"PSIG", b"CSW", b"USER", b"MISC", b"STRU", b"SCTL", b"CAP",
    b"PFLT", b"PRET", b"EMUL", b"ARG", b"ARGS", b"ENV", b"PLDG", b"FD", b"MIB", b"STRT", b"PINS",
    b"SAU",
];

/// How ids are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ids {
    /// `pid`.
    Process,
    /// `pid tid`: NetBSD, and FreeBSD with `-H`.
    ProcessThread,
    /// `pid/tid`: OpenBSD with `-H`.
    Slash,
}

/// What every line of an input has in common.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    pub(super) ids: Ids,
    pub(super) stamps: usize,
}

/// A line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Line<'a> {
    /// The first line of a record.
    Record(Record<'a>),
    /// `Events dropped.`
    Dropped,
    /// More of the record before: data, a hex dump, arguments.
    More,
    /// Nothing of kdump's.
    Other,
}

/// Who a record is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Who<'a> {
    pub(super) pid: u64,
    pub(super) tid: Option<u64>,
    pub(super) command: &'a [u8],
}

/// The first line of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Record<'a> {
    pub(super) who: Who<'a>,
    /// The first of the stamps.
    pub(super) stamp: Option<Stamp>,
    /// `CALL`, `RET`, …
    pub(super) kind: &'a [u8],
    pub(super) rest: &'a [u8],
}

/// A stamp in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stamp {
    pub(super) nanos: i128,
    /// How many decimals were printed.
    pub(super) decimals: usize,
}

/// What `line` is, in an input of that layout.
pub(super) fn parse(line: &[u8], layout: Layout) -> Line<'_> {
    if is_more(line) {
        return Line::More;
    }
    record(line, layout).unwrap_or(Line::Other)
}

/// Whether a line belongs to the record before it: records begin with a number in the first six
/// columns, everything else is further in or after a tab.
pub(super) fn is_more(line: &[u8]) -> bool {
    let blanks = line.iter().take_while(|&&byte| byte == b' ').count();
    blanks > 5 || line.get(blanks).is_none_or(|&byte| byte == b'\t')
}

/// Whether a line can be the first of a record.
pub(super) fn may_be_record(line: &[u8]) -> bool {
    !is_more(line) && line.trim_ascii_start().first().is_some_and(u8::is_ascii_digit)
}

fn record(line: &[u8], layout: Layout) -> Option<Line<'_>> {
    let (first, mut rest) = word(line)?;
    let mut tid = None;
    let pid = match layout.ids {
        Ids::Process => first,
        Ids::ProcessThread => {
            let (second, after) = word(rest)?;
            (tid, rest) = (Some(text::decimal(second, 0)?), after);
            first
        }
        Ids::Slash => {
            let slash = memchr::memchr(b'/', first)?;
            tid = Some(text::decimal(&first[slash + 1..], 0)?);
            &first[..slash]
        }
    };
    let pid = text::decimal(pid, 0)?;
    let (command, tail) = body(rest.trim_ascii_start(), layout.stamps)?;
    let who = Who { pid, tid, command };
    Some(match tail {
        Tail::Dropped => Line::Dropped,
        Tail::Record { stamp, kind, rest } => Line::Record(Record { who, stamp, kind, rest }),
    })
}

enum Tail<'a> {
    Dropped,
    Record { stamp: Option<Stamp>, kind: &'a [u8], rest: &'a [u8] },
}

/// Cuts what is after the ids into the command and what follows it: the first place where all the
/// stamps and a type are in a row.
fn body(body: &[u8], stamps: usize) -> Option<(&[u8], Tail<'_>)> {
    if let Some(command) = body.strip_suffix(b" Events dropped.") {
        return Some((command.trim_ascii_end(), Tail::Dropped));
    }
    let mut at = 0;
    while let Some(blank) = memchr::memchr(b' ', &body[at..]) {
        at += blank + 1;
        if at < 2 || body[at..].starts_with(b" ") {
            continue;
        }
        if let Some(tail) = tail(&body[at..], stamps) {
            return Some((body[..at].trim_ascii_end(), tail));
        }
    }
    None
}

fn tail(text: &[u8], stamps: usize) -> Option<Tail<'_>> {
    let mut rest = text;
    let mut first = None;
    for _ in 0..stamps {
        let (token, after) = word(rest)?;
        let stamp = stamp(token)?;
        first = first.or(Some(stamp));
        rest = after;
    }
    let (kind, after) = word(rest)?;
    let known = TYPES.contains(&kind) || kind.starts_with(b"UNKNOWN(");
    // Two blanks follow a type, which three letters are filled up to.
    if !known || !(after.starts_with(b"  ") || after.trim_ascii().is_empty()) {
        return None;
    }
    Some(Tail::Record { stamp: first, kind, rest: abi(after.trim_ascii()) })
}

/// Skips the ABI that FreeBSD's `-A` puts before what a record says, such as `F64`.
fn abi(rest: &[u8]) -> &[u8] {
    match rest {
        [b'A'..=b'Z', b'0'..=b'9', b'0'..=b'9', b' ', after @ ..] => after.trim_ascii_start(),
        _ => rest,
    }
}

/// The first word of `text` and what is after it.
fn word(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.trim_ascii_start();
    let end = memchr::memchr(b' ', text).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

/// `[-]seconds.fraction` with six to nine decimals.
pub(super) fn stamp(token: &[u8]) -> Option<Stamp> {
    let (sign, digits) = match token.strip_prefix(b"-") {
        Some(digits) => (-1, digits),
        None => (1, token),
    };
    let decimals = digits.len() - memchr::memchr(b'.', digits)? - 1;
    if !(6..=9).contains(&decimals) {
        return None;
    }
    let nanos = text::decimal(digits, 9)?;
    Some(Stamp { nanos: sign * i128::from(nanos), decimals })
}

/// The layout that reads the lines of `head`; nothing if they are not kdump's. The second number
/// is how many records were read, the third how many lines were no part of any.
pub(super) fn survey(head: &[u8]) -> Option<(Layout, usize, usize)> {
    let lines: Vec<_> = text::lines(head).filter(|line| line.ended).map(|l| l.text).collect();
    let lines: Vec<_> = lines.into_iter().filter(|line| !is_more(line)).take(2_000).collect();
    let mut best: Option<(Layout, usize, usize)> = None;
    // Fewer stamps and ids read what has more of them, as a part of the command: the most that
    // reads as many lines is right.
    for stamps in (0..=3).rev() {
        for ids in [Ids::Slash, Ids::ProcessThread, Ids::Process] {
            let layout = Layout { ids, stamps };
            let read = lines
                .iter()
                .filter(|line| matches!(record(line, layout), Some(Line::Record(_))))
                .count();
            if read > best.map_or(0, |(_, most, _)| most) {
                let dropped =
                    lines.iter().filter(|line| line.ends_with(b" Events dropped.")).count();
                best = Some((layout, read, lines.len().saturating_sub(read + dropped)));
            }
        }
    }
    best
}
