//! One line of a code trace.
//!
//! ```text
//!    2:394 311         -> werint (187 us, 4768 total)   *****
//!    │ │   │   │       │  │       │       └ with all it called; only if it called anything
//!    │ │   │   │       │  │       └ its own time
//!    │ │   │   └───────┴ one space, then four a level
//!    └─┴───┴ seconds, milliseconds, microseconds (maybe with decimals)
//! ```

use profctl_model::Fidelity;

use crate::emit::DEPTH_MAX;
use crate::text;

/// What a line says; times in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Record<'a> {
    /// Since the start of the clock.
    pub(super) time: u64,
    /// Whether a figure had decimals after its microseconds.
    pub(super) has_decimals: bool,
    /// The thread, as `replay` labels it, and the CPU; neither in traces of one thread.
    pub(super) thread: Option<&'a [u8]>,
    pub(super) cpu: Option<u32>,
    /// Number of callers.
    pub(super) depth: u16,
    /// Entry or exit.
    pub(super) arrow: Arrow<'a>,
    /// What of the call was seen, as `replay` says.
    pub(super) fidelity: Fidelity,
}

/// Entry or exit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Arrow<'a> {
    /// `->`, with the times that the call will have taken.
    Enter {
        /// The function.
        name: &'a [u8],
        /// Its own time.
        net: u64,
        /// With its callees, if it has any.
        total: Option<u64>,
    },
    /// `<-`.
    Exit,
    /// `==`: an instant.
    Mark(&'a [u8]),
}

/// Columns of indentation a level.
const INDENT: usize = 4;

/// What `line` says, or what was expected instead.
pub(super) fn parse(line: &[u8]) -> Result<Record<'_>, &'static str> {
    let (time, has_decimals, rest) = parse_time(line).ok_or("a time `S:MMM UUU`")?;
    let (lane, rest) = match rest.strip_prefix(b" [").and_then(split_lane) {
        Some((lane, rest)) => (Some(lane), rest),
        None => (None, rest),
    };
    let (thread, cpu) = lane.map_or((None, None), thread_and_cpu);
    let (indent, arrow) = indented(rest).ok_or("an indentation of one space and four per level")?;
    let depth = u16::try_from(indent / INDENT).ok().filter(|&depth| depth <= DEPTH_MAX);
    let depth = depth.ok_or("a depth below 65535")?;
    let (arrow, fidelity) = flags(arrow);
    let exit = Arrow::Exit;
    let record = Record { time, has_decimals, thread, cpu, depth, arrow: exit, fidelity };
    if arrow == b"<-" {
        return Ok(record);
    }
    if let Some(name) = arrow.strip_prefix(b"== ").filter(|name| !name.is_empty()) {
        return Ok(Record { arrow: Arrow::Mark(name), ..record });
    }
    let call = arrow.strip_prefix(b"-> ").ok_or("`-> name (N us)` or `<-`")?;
    let (name, net, total) = parse_call(call).ok_or("`name (N us)` or `name (N us, T total)`")?;
    let nanos = |text| text::decimal(text, 3).ok_or("a time of up to three decimals");
    let total_nanos = total.map(nanos).transpose()?;
    Ok(Record {
        has_decimals: has_decimals || [Some(net), total].into_iter().flatten().any(is_decimal),
        arrow: Arrow::Enter { name, net: nanos(net)?, total: total_nanos },
        ..record
    })
}

/// Cuts the flags off that `replay` writes behind a call of which not all was seen.
fn flags(arrow: &[u8]) -> (&[u8], Fidelity) {
    let mut rest = arrow.trim_ascii_end();
    let mut fidelity = Fidelity::EXACT;
    loop {
        let mut cut = |flag: &[u8], start: bool, end: bool, gap: bool| {
            let Some(before) = rest.strip_suffix(flag) else { return false };
            let is_flag = before.ends_with(b"  ") || before.ends_with(b", ");
            if is_flag {
                fidelity.start_inferred |= start;
                fidelity.end_inferred |= end;
                fidelity.at_gap |= gap;
                rest = before.trim_ascii_end();
                rest = rest.strip_suffix(b",").unwrap_or(rest).trim_ascii_end();
            }
            is_flag
        };
        let found = cut(b"no entry/exit", true, true, false)
            || cut(b"no entry", true, false, false)
            || cut(b"no exit", false, true, false)
            || cut(b"gap", false, true, true);
        if !found {
            return (rest, fidelity);
        }
    }
}

/// The columns of indentation and what stands behind them, if they make whole levels.
fn indented(rest: &[u8]) -> Option<(usize, &[u8])> {
    let arrow = rest.trim_ascii_start();
    let indent = rest.len() - arrow.len();
    (indent % INDENT == 1).then_some((indent, arrow))
}

/// Cuts `LANE]  -> …` at the bracket that an arrow follows: names of threads may hold brackets.
fn split_lane(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_arrow = |rest: &[u8]| {
        let arrow = indented(rest).map(|(_, arrow)| arrow);
        arrow.is_some_and(|arrow| [b"->", b"<-", b"=="].iter().any(|a| arrow.starts_with(*a)))
    };
    let mut ends = memchr::memchr_iter(b']', text);
    let end = ends.find(|end| is_arrow(&text[end + 1..]))?;
    Some((text[..end].trim_ascii_end(), &text[end + 1..]))
}

/// The thread and the CPU in `THREAD @CPU`.
fn thread_and_cpu(lane: &[u8]) -> (Option<&[u8]>, Option<u32>) {
    let cpu = lane.iter().rposition(|&byte| byte == b'@').and_then(|at| {
        let number = text::decimal(&lane[at + 1..], 0)?;
        Some((lane[..at].strip_suffix(b" ")?, u32::try_from(number).ok()?))
    });
    cpu.map_or((Some(lane), None), |(thread, cpu)| (Some(thread), Some(cpu)))
}

/// Whether a line that `parse` refused may be the first half of one that it would take.
pub(super) fn begins_like_record(line: &[u8]) -> bool {
    let line = line.trim_ascii_start();
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0 && (digits == line.len() || line[digits] == b':')
}

/// The time in nanoseconds, whether it had decimals, and what follows it.
fn parse_time(line: &[u8]) -> Option<(u64, bool, &[u8])> {
    let line = line.trim_ascii_start();
    let colon = line.iter().position(|byte| !byte.is_ascii_digit())?;
    let rest = line[colon..].strip_prefix(b":")?;
    let seconds = text::decimal(&line[..colon], 0)?;
    let (millis, rest) = rest.split_at_checked(3)?;
    let rest = rest.strip_prefix(b" ")?;
    let micros = &rest[..rest.iter().position(|&byte| byte == b' ')?];
    if memchr::memchr(b'.', micros).unwrap_or(micros.len()) != 3 {
        return None;
    }
    let nanos = text::decimal(millis, 6)?.checked_add(text::decimal(micros, 3)?)?;
    let time = seconds.checked_mul(1_000_000_000)?.checked_add(nanos)?;
    Some((time, is_decimal(micros), &rest[micros.len()..]))
}

/// The text of the name of a call, its net time and its total.
type Call<'a> = (&'a [u8], &'a [u8], Option<&'a [u8]>);

/// Cuts `name (N us)` or `name (N us, T total)`, with or without stars behind, into its parts.
fn parse_call(call: &[u8]) -> Option<Call<'_>> {
    let stars = call.iter().rev().take_while(|&&byte| byte == b'*').count();
    let call = call[..call.len() - stars].trim_ascii_end().strip_suffix(b")")?;
    // From behind: the name may have parentheses of its own, the figures have none.
    let open = memchr::memrchr(b'(', call)?;
    let name = call[..open].strip_suffix(b" ")?.trim_ascii();
    let figures = &call[open + 1..];
    if name.is_empty() {
        return None;
    }
    if let Some(net) = figures.strip_suffix(b" us") {
        return Some((name, net, None));
    }
    let comma = memchr::memchr(b',', figures)?;
    let net = figures[..comma].strip_suffix(b" us")?;
    let total = figures[comma..].strip_prefix(b", ")?.strip_suffix(b" total")?;
    Some((name, net, Some(total)))
}

fn is_decimal(text: &[u8]) -> bool {
    memchr::memchr(b'.', text).is_some()
}
