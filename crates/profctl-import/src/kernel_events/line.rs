//! One line of an event trace, as tracefs and `trace-cmd report` print it:
//!
//! ```text
//!         workload-396     (    396) [001] d..2.    35.691546: sched_waking: comm=…
//!         workload-369   [000]   445.522020: sys_exit:             NR 1 = 1
//! workload-279       0d..2. 89768us+: sched_switch: …
//!         workload     318   1 0 00000000 00000000 [02082bac] 93.640ms (+0.038ms): sys_exit: …
//! workload-484     0...1.   716.134983: funcgraph_exit: …
//! ```
//!
//! Names of tasks may hold anything. The first 16 columns are the name in all but the third and the
//! fifth form (`trace-cmd report -l`), which cut it to 8; only a report of several buffers puts more in
//! front.

use super::{context_of_flags, context_of_letters};
use crate::emit::WakerContext;
use crate::text;

/// A line that says when and on whom an event was recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EventLine<'a> {
    /// The name of the thread; `<...>` if the recorder had forgotten it.
    pub task: &'a [u8],
    /// Its id.
    pub tid: u64,
    /// Its process, if the line says.
    pub pid: Option<u64>,
    /// The CPU.
    pub cpu: u32,
    /// In what context it was recorded.
    pub context: WakerContext,
    /// When, as the clock printed it.
    pub time: Stamp,
    /// The event with its arguments.
    pub body: &'a [u8],
}

/// A time as it is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stamp {
    /// Nanoseconds, from seconds with a fraction.
    Nanos(u64),
    /// A count without a unit: of cycles, ticks or events.
    Count(u64),
    /// Nanoseconds since the beginning of the trace (`latency-format`).
    SinceStart(u64),
}

/// Letters that the flags have at least, where they are behind the CPU.
const FLAGS: usize = 4;

/// Columns that a name is padded to.
const NAME_WIDTH: usize = 16;

/// Reads a line without its end.
#[inline]
pub fn parse(line: &[u8]) -> Option<EventLine<'_>> {
    if line.get(NAME_WIDTH) == Some(&b'-')
        && let Some(found) = usual(line, NAME_WIDTH)
    {
        return Some(found);
    }
    unusual(line)
}

#[cold]
fn unusual(line: &[u8]) -> Option<EventLine<'_>> {
    if let Some(found) = verbose(line) {
        return Some(found);
    }
    memchr::memchr_iter(b'-', line)
        .find_map(|dash| usual(line, dash).or_else(|| latency(line, dash)))
}

/// The first two forms, if the name ends at `dash`.
#[inline]
fn usual(line: &[u8], dash: usize) -> Option<EventLine<'_>> {
    let (tid, mut rest) = number(&line[dash + 1..])?;
    rest = skip_spaces(rest);
    let mut pid = None;
    if let Some(inside) = rest.strip_prefix(b"(") {
        let end = inside.iter().take(12).position(|&byte| byte == b')')?;
        pid = number(skip_spaces(&inside[..end])).map(|(pid, _)| pid);
        rest = skip_spaces(&inside[end + 1..]);
    }
    let (cpu, rest) = number(rest.strip_prefix(b"[")?)?;
    let mut rest = skip_spaces(rest.strip_prefix(b"]")?);
    let mut context = WakerContext::Unknown;
    if !rest.first()?.is_ascii_digit() {
        let end = memchr::memchr(b' ', &rest[..rest.len().min(16)])?;
        context = context_of_letters(&rest[..end]);
        rest = skip_spaces(&rest[end..]);
    }
    let (time, body) = stamp(rest)?;
    let body = without_difference(body);
    let task = line[..dash].trim_ascii();
    let cpu = u32::try_from(cpu).ok()?;
    Some(EventLine { task, tid, pid, cpu, context, time, body })
}

/// What is after the time since the line before, `(+27)`, of `trace-cmd report --ts-diff`; the
/// first line has spaces there.
#[inline]
fn without_difference(body: &[u8]) -> &[u8] {
    if body.first() == Some(&b' ') {
        return skip_spaces(body);
    }
    let difference = body.strip_prefix(b"(+").and_then(number);
    match difference.and_then(|(_, rest)| rest.strip_prefix(b")")) {
        Some(rest) => skip_spaces(rest),
        None => body,
    }
}

/// `35.691546: …` or `12588316: …`
#[inline]
fn stamp(text: &[u8]) -> Option<(Stamp, &[u8])> {
    let mut value = 0_u64;
    let mut decimals = None;
    for (at, &byte) in text.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                value = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
                decimals = decimals.map(|n: u32| n + 1);
            }
            b'.' if decimals.is_none() && at > 0 => decimals = Some(0),
            b':' if at > 0 => {
                let body = &text[at + 1..];
                let body = body.strip_prefix(b" ").unwrap_or(body);
                let stamp = match decimals {
                    None => Stamp::Count(value),
                    Some(n) => {
                        let missing = 9_u32.checked_sub(n)?;
                        Stamp::Nanos(value.checked_mul(10_u64.pow(missing))?)
                    }
                };
                return Some((stamp, body));
            }
            _ => return None,
        }
    }
    None
}

/// The third form, or the fifth, if the name ends at `dash`.
fn latency(line: &[u8], dash: usize) -> Option<EventLine<'_>> {
    let (tid, rest) = number(&line[dash + 1..])?;
    let rest = rest.strip_prefix(b" ")?;
    let (cpu, rest) = number(skip_spaces(rest))?;
    let end = memchr::memchr(b' ', &rest[..rest.len().min(16)])?;
    let letters = &rest[..end];
    let rest = skip_spaces(&rest[end..]);
    let (time, body) = match stamp(rest) {
        Some((time @ Stamp::Nanos(_), body)) if letters.len() >= FLAGS => {
            (time, without_difference(body))
        }
        _ => {
            let (micros, rest) = number(rest)?;
            let rest = rest.strip_prefix(b"us")?;
            // The mark says how long it took until the next line.
            let body = rest.get(1..)?.strip_prefix(b":")?;
            (Stamp::SinceStart(micros.checked_mul(1000)?), body)
        }
    };
    Some(EventLine {
        task: line[..dash].trim_ascii(),
        tid,
        pid: None,
        cpu: u32::try_from(cpu).ok()?,
        context: if letters.is_empty() {
            WakerContext::Unknown
        } else {
            context_of_letters(letters)
        },
        time,
        body: body.strip_prefix(b" ").unwrap_or(body),
    })
}

/// The fourth form.
fn verbose(line: &[u8]) -> Option<EventLine<'_>> {
    let rest = line.get(NAME_WIDTH..)?.strip_prefix(b" ")?;
    let (tid, rest) = number(skip_spaces(rest))?;
    let (cpu, rest) = number(skip_spaces(rest))?;
    let (flags, rest) = number(skip_spaces(rest))?;
    let bracket = memchr::memchr(b'[', &rest[..rest.len().min(40)])?;
    let rest = &rest[bracket..];
    let rest = skip_spaces(&rest[memchr::memchr(b']', rest)? + 1..]);
    let end = memchr::memmem::find(rest, b"ms (")?;
    let nanos = text::decimal(&rest[..end], 6)?;
    let body = &rest[memchr::memmem::find(rest, b"):")? + 2..];
    Some(EventLine {
        task: line[..NAME_WIDTH].trim_ascii(),
        tid,
        pid: None,
        cpu: u32::try_from(cpu).ok()?,
        context: context_of_flags(flags),
        time: Stamp::SinceStart(nanos),
        body: body.strip_prefix(b" ").unwrap_or(body),
    })
}

/// Events that were lost: their CPU and their number, if stated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Lost {
    /// Where.
    pub cpu: Option<u32>,
    /// How many.
    pub events: Option<u64>,
}

/// `CPU:0 [LOST 12 EVENTS]` (tracefs), `CPU:0 [12 EVENTS DROPPED]` (`trace-cmd report`), and the
/// forms without a number.
pub fn lost(line: &[u8]) -> Option<Lost> {
    let at = memchr::memmem::find(line, b"CPU:")?;
    // A report of several buffers puts the name of the buffer in front.
    let (cpu, rest) = number(&line[at + 4..])?;
    let inside = skip_spaces(rest).strip_prefix(b"[")?.trim_ascii().strip_suffix(b"]")?;
    let is_loss = inside.starts_with(b"LOST") || inside.ends_with(b"DROPPED");
    let events = inside.split(|&byte| byte == b' ').find_map(|word| text::decimal(word, 0));
    is_loss.then(|| Lost { cpu: u32::try_from(cpu).ok(), events })
}

fn skip_spaces(text: &[u8]) -> &[u8] {
    &text[text.iter().take_while(|&&byte| byte == b' ').count()..]
}

/// The number with which `text` begins, and what is after it.
#[inline]
fn number(text: &[u8]) -> Option<(u64, &[u8])> {
    let mut value = 0_u64;
    let mut length = 0;
    for &byte in text.iter().take(20) {
        if !byte.is_ascii_digit() {
            break;
        }
        value = value.checked_mul(10)?.checked_add(u64::from(byte - b'0'))?;
        length += 1;
    }
    (length > 0).then(|| (value, &text[length..]))
}
