//! One line of any layout. This is the reference: what [`super::fast`] reads must read the same.

use super::layout::{Layout, Time};

/// What a line is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Line<'a> {
    /// Nothing on it.
    Blank,
    /// A header line.
    Header,
    /// The rule above and below a switch banner.
    Rule,
    /// ` 0)  bash-103  =>  <idle>-0 `: who runs on a CPU from here on. Only a line between two
    /// rules is one; the caller knows.
    Banner { cpu: u32, before: &'a [u8], now: &'a [u8] },
    /// `CPU:0 [LOST 12 EVENTS]`.
    Lost { cpu: Option<u32>, events: Option<u64> },
    /// ` (Overruns: 3)` after a return.
    Overruns(u64),
    /// A line of the graph.
    Call(Call<'a>),
    /// Anything else.
    Other,
}

/// A line of the graph.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Call<'a> {
    /// Nanoseconds.
    pub(super) time: Option<u64>,
    pub(super) cpu: Option<u32>,
    /// The task column, trimmed.
    pub(super) task: Option<&'a [u8]>,
    /// The letters of the flags (latency-format).
    pub(super) flags: Option<&'a [u8]>,
    /// Nanoseconds.
    pub(super) duration: Option<u64>,
    /// Callers, by indentation.
    pub(super) depth: u16,
    pub(super) body: Body<'a>,
    /// Bytes of the line before the duration column (or the function, if there is none).
    pub(super) prefix: usize,
}

/// What is in the function column.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Body<'a> {
    /// `name() {`
    Enter(&'a [u8]),
    /// `name();`
    Leaf(&'a [u8]),
    /// `}` or `} /* name */`
    Exit(Option<&'a [u8]>),
    /// `/* event: … */`
    Event(&'a [u8]),
    /// `==========>`
    InterruptEnter,
    /// `<==========`
    InterruptExit,
}

/// Columns an indentation level takes.
const INDENT: usize = 2;
/// The task column is padded to this width, and wider if name and pid are.
const TASK_WIDTH: usize = 14;

/// Reads a line (without its end).
pub(super) fn parse(line: &[u8], layout: Layout) -> Line<'_> {
    let trimmed = line.trim_ascii();
    match trimmed {
        [] => return Line::Blank,
        [b'-', b'-', b'-', ..] if trimmed.iter().all(|&byte| byte == b'-') => return Line::Rule,
        [b'#', ..] if !overhead_mark(line) => return Line::Header,
        [b'C', b'P', b'U', b':', rest @ ..] => {
            if let Some(lost) = lost(rest) {
                return lost;
            }
        }
        _ => {}
    }
    if let Some(n) = trimmed.strip_prefix(b"(Overruns: ").and_then(|rest| rest.strip_suffix(b")")) {
        return number(n).map_or(Line::Other, Line::Overruns);
    }
    if let Some(call) = call(line, layout) {
        return Line::Call(call);
    }
    banner(trimmed).unwrap_or(Line::Other)
}

/// Whether a line that begins with `#` is data: without a CPU column, the mark for "longer than a
/// millisecond" is first.
pub(super) fn overhead_mark(line: &[u8]) -> bool {
    line.first() == Some(&b'#')
        && line.get(1) == Some(&b' ')
        && line.get(2..).is_some_and(|rest| {
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit() || **byte == b'.');
            let n = digits.count();
            n > 0 && rest[n..].starts_with(b" us ")
        })
}

/// ` 1)  name-12  =>  <idle>-0`.
pub(super) fn banner(trimmed: &[u8]) -> Option<Line<'_>> {
    let close = trimmed.iter().position(|&byte| byte == b')')?;
    let cpu = u32::try_from(number(&trimmed[..close])?).ok()?;
    let rest = &trimmed[close + 1..];
    // Names may hold anything, `=>` too: the arrow that has a task on both sides is the one.
    let arrow = memchr::memmem::find_iter(rest, b" => ").find(|&at| {
        split_task(rest[..at].trim_ascii()).is_some()
            && split_task(rest[at + 4..].trim_ascii()).is_some()
    })?;
    let (before, now) = (rest[..arrow].trim_ascii(), rest[arrow + 4..].trim_ascii());
    Some(Line::Banner { cpu, before, now })
}

/// `name-pid`, cut at the last `-`.
pub(super) fn split_task(task: &[u8]) -> Option<(&[u8], u64)> {
    let dash = memchr::memrchr(b'-', task)?;
    Some((&task[..dash], number(&task[dash + 1..])?))
}

/// `0 [LOST 12 EVENTS]`, and the forms without a number.
fn lost(rest: &[u8]) -> Option<Line<'static>> {
    let bracket = rest.iter().position(|&byte| byte == b'[')?;
    let cpu = number(rest[..bracket].trim_ascii()).and_then(|cpu| u32::try_from(cpu).ok());
    let inside = rest[bracket + 1..].trim_ascii().strip_suffix(b"]")?;
    let is_loss = inside.starts_with(b"LOST") || inside.ends_with(b"DROPPED");
    let events = inside.split(|&byte| byte == b' ').find_map(number);
    is_loss.then_some(Line::Lost { cpu, events })
}

pub(super) fn number(digits: &[u8]) -> Option<u64> {
    crate::text::decimal(digits, 0)
}

fn spaces(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&byte| byte == b' ').count()
}

fn call(line: &[u8], layout: Layout) -> Option<Call<'_>> {
    let mut rest = line;
    let mut time = None;
    let mut cpu = None;
    let mut task = None;
    let mut flags = None;
    if layout.time != Time::None {
        rest = &rest[spaces(rest)..];
        let end = rest.iter().position(|&byte| byte == b' ')?;
        let (stamp, behind) = rest.split_at(end);
        (time, rest) = match layout.time {
            Time::Relative => {
                let micros = number(stamp)?;
                (Some(micros.checked_mul(1000)?), behind.strip_prefix(b" us")?)
            }
            _ => (Some(crate::text::decimal(stamp, 9)?), behind),
        };
        rest = rest.strip_prefix(b" |")?;
    }
    if layout.cpu {
        rest = &rest[spaces(rest)..];
        let close = rest.iter().take(8).position(|&byte| byte == b')')?;
        cpu = Some(u32::try_from(number(&rest[..close])?).ok()?);
        rest = rest[close + 1..].strip_prefix(b" ")?;
    }
    if layout.task {
        if !layout.cpu {
            // The column starts with the line then, or after the time's separator.
            rest = if layout.time == Time::None { rest } else { rest.strip_prefix(b"  ")? };
        }
        let padded = rest.get(TASK_WIDTH..)?;
        let end = TASK_WIDTH + memchr::memmem::find(padded, b" |")?;
        let named = rest[..end].trim_ascii();
        split_task(named)?;
        task = Some(named);
        rest = rest[end + 2..].strip_prefix(b" ")?;
    }
    if layout.flags {
        rest = &rest[spaces(rest)..];
        let end = rest.iter().position(|&byte| byte == b' ')?;
        flags = Some(&rest[..end]);
        rest = rest[end..].strip_prefix(b" |")?;
        rest = rest.strip_prefix(b" ").unwrap_or(rest);
    }
    let prefix = line.len() - rest.len();
    let marked = &rest[spaces(rest)..];
    let interrupt = if marked.starts_with(b"==========>") {
        Some(Body::InterruptEnter)
    } else if marked.starts_with(b"<==========") {
        Some(Body::InterruptExit)
    } else {
        None
    };
    if let Some(body) = interrupt {
        return Some(Call { time, cpu, task, flags, duration: None, depth: 0, body, prefix });
    }
    if layout.duration {
        let (duration, depth, body) = column_and_body(marked)?;
        return Some(Call { time, cpu, task, flags, duration, depth, body, prefix });
    }
    if layout.time != Time::None && !layout.cpu && !layout.task && !layout.flags {
        rest = rest.strip_prefix(b"  ").unwrap_or(rest);
    }
    let (depth, body) = indented(rest)?;
    Some(Call { time, cpu, task, flags, duration: None, depth, body, prefix })
}

/// What is in the last two columns, the duration and the indented statement: nanoseconds, the
/// number of callers, and the statement.
pub(crate) fn column_and_body(text: &[u8]) -> Option<(Option<u64>, u16, Body<'_>)> {
    let text = &text[spaces(text)..];
    let (duration, rest) = match text.strip_prefix(b"|") {
        Some(rest) => (None, rest),
        None => duration_column(text).map(|(nanos, rest)| (Some(nanos), rest))?,
    };
    let (depth, body) = indented(rest.strip_prefix(b"  ")?)?;
    Some((duration, depth, body))
}

fn indented(text: &[u8]) -> Option<(u16, Body<'_>)> {
    let indent = spaces(text);
    let depth = u16::try_from(indent / INDENT).unwrap_or(u16::MAX - 1).min(u16::MAX - 1);
    Some((depth, body(&text[indent..])?))
}

/// `+ 15.013 us |`, from the overhead mark on: nanoseconds, and what is after the bar.
fn duration_column(column: &[u8]) -> Option<(u64, &[u8])> {
    let column = match column {
        [b'+' | b'!' | b'#' | b'*' | b'@' | b'$', b' ', rest @ ..] => rest,
        _ => column,
    };
    let column = &column[spaces(column)..];
    let end = column.iter().position(|&byte| byte == b' ')?;
    let nanos = crate::text::decimal(&column[..end], 3)?;
    let rest = column[end..].strip_prefix(b" us")?;
    let rest = rest[spaces(rest)..].strip_prefix(b"|")?;
    Some((nanos, rest))
}

fn body(text: &[u8]) -> Option<Body<'_>> {
    let text = text.trim_ascii_end();
    match text {
        [b'}'] => return Some(Body::Exit(None)),
        [b'}', rest @ ..] => {
            let inside = comment(rest.trim_ascii())?;
            return Some(Body::Exit(tail_name(inside)));
        }
        [b'/', b'*', ..] => return Some(Body::Event(comment(text)?)),
        _ => {}
    }
    // Newer kernels put return values and callers into a comment after the statement.
    let statement = match text.strip_suffix(b"*/") {
        Some(_) => text[..memchr::memmem::rfind(text, b"/*")?].trim_ascii_end(),
        None => text,
    };
    let open = memchr::memchr(b'(', statement)?;
    let name = statement[..open].trim_ascii_end();
    if name.is_empty() {
        return None;
    }
    match statement.last()? {
        b';' => Some(Body::Leaf(name)),
        b'{' => Some(Body::Enter(name)),
        _ => None,
    }
}

/// What is between `/*` and `*/`.
fn comment(text: &[u8]) -> Option<&[u8]> {
    Some(text.strip_prefix(b"/*")?.strip_suffix(b"*/")?.trim_ascii())
}

/// The function named after a closing brace, with its module; return values and callers are not
/// names.
fn tail_name(inside: &[u8]) -> Option<&[u8]> {
    let is_value = |word: &[u8]| {
        word.starts_with(b"=") || word.starts_with(b"ret=") || word.starts_with(b"<-")
    };
    let word_end = |from: usize| {
        inside[from..].iter().position(|&byte| byte == b' ').map_or(inside.len(), |n| from + n)
    };
    let first = word_end(0);
    if first == 0 || is_value(&inside[..first]) {
        return None;
    }
    let behind = first + spaces(&inside[first..]);
    if inside.get(behind) == Some(&b'[') {
        return Some(&inside[..word_end(behind)]);
    }
    Some(&inside[..first])
}
