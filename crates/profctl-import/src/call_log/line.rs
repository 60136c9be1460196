//! One line of strace or ltrace.

use super::leader::{Leader, leader};
use crate::text;

/// A length as it was printed: `<0.000225>`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Length {
    /// Nanoseconds.
    pub(crate) nanos: u64,
    /// Digits after the point.
    pub(crate) decimals: u8,
}

/// What a record says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What<'a> {
    /// A call with its result, on one line.
    Call { name: &'a [u8], arguments: &'a [u8], result: &'a [u8], length: Option<Length> },
    /// A call that has not returned by the end of the line; maybe it never does.
    Open { name: &'a [u8], arguments: &'a [u8] },
    /// The rest of a call that was open.
    Resumed { name: &'a [u8], result: &'a [u8], length: Option<Length> },
    /// A signal, or why the thread stopped: the first word, and all of it.
    Signal { name: &'a [u8], text: &'a [u8] },
    /// The thread ended: how.
    Exit { text: &'a [u8] },
}

/// A line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Line<'a> {
    /// A record.
    Record(Leader<'a>, What<'a>),
    /// The tracer's own words, the table of `-C`, a stack of `-k`, an empty line.
    Aside,
    /// The tracer says that it follows another process from here on.
    Attached(u64),
    /// The beginning of a call. Where the log goes to a terminal, something else may have been
    /// printed before its rest, which is then on the next line.
    Torn,
    /// Nothing of that.
    Other,
}

/// What `line` says.
pub(crate) fn parse(line: &[u8]) -> Line<'_> {
    if is_aside(line) {
        return match attached(line) {
            Some(tid) => Line::Attached(tid),
            None => Line::Aside,
        };
    }
    let (leader, body) = leader(line);
    match what(body.trim_ascii_end()) {
        Some(what) => Line::Record(leader, what),
        None if leader.stamp.is_some() && name(body).is_some() => Line::Torn,
        None => Line::Other,
    }
}

/// The part of a call on an interrupted line, and the process that strace attached to in between.
pub(crate) fn before_message(torn: &[u8]) -> (&[u8], Option<u64>) {
    match memchr::memmem::rfind(torn, ATTACHED) {
        Some(at) => (&torn[..at], attached(&torn[at..])),
        None => (torn, None),
    }
}

const ATTACHED: &[u8] = b"strace: Process ";

fn what(body: &[u8]) -> Option<What<'_>> {
    if let Some(text) = between(body, b"+++ ", b" +++") {
        return Some(What::Exit { text });
    }
    if let Some(text) = between(body, b"--- ", b" ---") {
        let word = text.split(|byte| *byte == b' ').next().unwrap_or(text);
        let is_signal = word.starts_with(b"SIG");
        return Some(What::Signal { name: if is_signal { word } else { text }, text });
    }
    if let Some(resumed) = body.strip_prefix(b"<... ") {
        let end = memchr::memmem::find(resumed, b" resumed>")?;
        let (name, rest) = (&resumed[..end], &resumed[end + b" resumed>".len()..]);
        if name.is_empty() {
            return None;
        }
        return Some(match returned(rest) {
            Some((_, result, length)) => What::Resumed { name, result, length },
            // It was resumed only to be interrupted once more.
            None if is_open(rest) => What::Open { name: &[], arguments: &[] },
            None => return None,
        });
    }
    let name = name(body)?;
    let behind = &body[name.len() + 1..];
    if is_open(behind) {
        return Some(What::Open { name, arguments: behind });
    }
    let (arguments, result, length) = returned(behind)?;
    // What ends with the thread, such as `exit_group`.
    if result == b"?" && length.is_none() {
        return Some(What::Open { name, arguments });
    }
    Some(What::Call { name, arguments, result, length })
}

/// The name before `(`. Demangled C++ may hold parentheses of its own.
fn name(body: &[u8]) -> Option<&[u8]> {
    let mut end = memchr::memchr(b'(', body)?;
    let is_cpp = memchr::memmem::find(&body[..end], b"::").is_some();
    while let Some(close) = memchr::memchr(b')', &body[end..]).filter(|_| is_cpp) {
        let behind = &body[end + close + 1..];
        let gap = if behind.starts_with(b" const(") { b" const".len() } else { 0 };
        if behind.get(gap) != Some(&b'(') {
            break;
        }
        end += close + 1 + gap;
    }
    let name = &body[..end];
    let first = *name.first()?;
    let is_name = (first.is_ascii_alphanumeric() || b"_?~.$".contains(&first))
        && (is_cpp || name.iter().all(u8::is_ascii_graphic))
        && !name.iter().any(|byte| b"\"',;={".contains(byte));
    is_name.then_some(name)
}

/// Whether a line ends before its call did. A string would be closed after these words.
fn is_open(behind: &[u8]) -> bool {
    let behind = behind.strip_suffix(b") = ?").unwrap_or(behind).trim_ascii_end();
    [&b"<unfinished ...>"[..], b"<no return ...>", b"<detached ...>"]
        .iter()
        .any(|words| behind.ends_with(words))
}

/// The arguments, the result and the length after the parenthesis of a call.
fn returned(behind: &[u8]) -> Option<(&[u8], &[u8], Option<Length>)> {
    let (behind, length) = match length(behind) {
        Some((shorter, length)) => (shorter, Some(length)),
        None => (behind, None),
    };
    // Strings may hold `) = ` as well, so the last one counts.
    let mut end = behind.len();
    loop {
        let close = memchr::memrchr(b')', &behind[..end])?;
        let result = behind[close + 1..].trim_ascii_start();
        if let Some(result) = result.strip_prefix(b"= ") {
            return Some((&behind[..close], result.trim_ascii(), length));
        }
        end = close;
    }
}

/// The length at the end of a line, and what is before it.
fn length(line: &[u8]) -> Option<(&[u8], Length)> {
    let inner = line.strip_suffix(b">")?;
    let start = memchr::memrchr(b'<', inner)?;
    let before = inner[..start].strip_suffix(b" ")?;
    let digits = &inner[start + 1..];
    let decimals = memchr::memchr(b'.', digits).map_or(0, |at| digits.len() - at - 1);
    let nanos = text::decimal(digits, 9)?;
    Some((before, Length { nanos, decimals: decimals as u8 }))
}

fn between<'a>(text: &'a [u8], before: &[u8], behind: &[u8]) -> Option<&'a [u8]> {
    text.strip_prefix(before)?.strip_suffix(behind)
}

/// Lines that are expected besides records.
fn is_aside(line: &[u8]) -> bool {
    let text = line.trim_ascii();
    if text.is_empty() || line.starts_with(b" > ") {
        return true;
    }
    let is_message = [&b"strace: "[..], b"ltrace: ", b"% time", b"------"];
    if is_message.iter().any(|start| text.starts_with(start)) {
        return true;
    }
    // A row of the table of -c and -C: the share of time, then the time.
    let mut fields = text.split(u8::is_ascii_whitespace).filter(|field| !field.is_empty());
    let is_number = |field: Option<&[u8]>, decimals: usize| {
        field.is_some_and(|field| {
            let point = memchr::memchr(b'.', field);
            point.is_some_and(|at| field.len() - at == decimals + 1)
                && text::decimal(field, 9).is_some()
        })
    };
    text.first().is_some_and(u8::is_ascii_digit)
        && is_number(fields.next(), 2)
        && is_number(fields.next(), 6)
}

fn attached(line: &[u8]) -> Option<u64> {
    let id = between(line.trim_ascii(), ATTACHED, b" attached")?;
    text::decimal(id.split(|byte| *byte == b'<').next()?, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let lasted = |length: Option<Length>| {
            length.map_or(String::new(), |l| format!(" <{}.{}>", l.nanos, l.decimals))
        };
        match parse(line.as_bytes()) {
            Line::Record(_, what) => match what {
                What::Call { name, arguments, result, length } => format!(
                    "call {}|{}|{}{}",
                    text(name),
                    text(arguments),
                    text(result),
                    lasted(length)
                ),
                What::Open { name, .. } => format!("open {}", text(name)),
                What::Resumed { name, result, length } => {
                    format!("resumed {}|{}{}", text(name), text(result), lasted(length))
                }
                What::Signal { name, text: all } => format!("signal {}|{}", text(name), text(all)),
                What::Exit { text: how } => format!("exit {}", text(how)),
            },
            Line::Attached(tid) => format!("attached {tid}"),
            Line::Aside => "aside".into(),
            Line::Torn => "torn".into(),
            Line::Other => "other".into(),
        }
    }

    #[test]
    fn lines_of_strace() {
        for (line, expected) in [
            ("1 2.5 close(3)              = 0 <0.027798>", "call close|3|0 <27798000.6>"),
            ("1 2.5 close(3) = -1 EBADF (Bad file) <0>", "call close|3|-1 EBADF (Bad file) <0.0>"),
            // Arguments that look like the end of a call.
            (
                r#"1 2.5 write(1, ") = 3 <0.5>", 10) = 10 <0.000001>"#,
                r#"call write|1, ") = 3 <0.5>", 10|10 <1000.6>"#,
            ),
            (
                r#"1 2.5 open("a <unfinished ...>") = 3</a (b) <0.5>> <0.25>"#,
                r#"call open|"a <unfinished ...>"|3</a (b) <0.5>> <250000000.2>"#,
            ),
            ("1 2.5 read(3,  <unfinished ...>", "open read"),
            ("1 2.5 nanosleep({},  <unfinished ...>) = ?", "open nanosleep"),
            ("1 2.5 read(3,  <detached ...>", "open read"),
            ("1 2.5 exit_group(0) = ?", "open exit_group"),
            (
                "1 2.5 pause() = ? ERESTARTNOHAND (To be restarted) <0.02>",
                "call pause||? ERESTARTNOHAND (To be restarted) <20000000.2>",
            ),
            (
                "1 2.5 restart_syscall(<... resuming interrupted read ...>) = 0 <0.5>",
                "call restart_syscall|<... resuming interrupted read ...>|0 <500000000.1>",
            ),
            ("1 2.5 <... wait4 resumed>[{s}], 0) = 7 <0.5>", "resumed wait4|7 <500000000.1>"),
            ("1 2.5 <... futex resumed>) = ?", "resumed futex|?"),
            ("1 2.5 syscall_0x1c8(0, 1) = -1 ENOSYS", "call syscall_0x1c8|0, 1|-1 ENOSYS"),
            ("1 2.5 ???( <unfinished ...>", "open ???"),
            ("1 2.5 --- SIGCHLD {si_pid=1} ---", "signal SIGCHLD|SIGCHLD {si_pid=1}"),
            ("1 2.5 --- stopped by SIGSTOP ---", "signal stopped by SIGSTOP|stopped by SIGSTOP"),
            (
                "1 2.5 +++ killed by SIGKILL (core dumped) +++",
                "exit killed by SIGKILL (core dumped)",
            ),
            ("1 2.5 +++ superseded by execve in pid 9 +++", "exit superseded by execve in pid 9"),
            ("strace: Process 23690 attached", "attached 23690"),
            ("strace: Process 23690<sh> attached", "attached 23690"),
            ("strace: [ Process PID=1 runs in 32 bit mode. ]", "aside"),
            (" > /lib/libc.so.6(read+0x1) [0x1]", "aside"),
            ("% time     seconds  usecs/call     calls    errors syscall", "aside"),
            (" 54.68    0.349055        8117        43           read", "aside"),
            ("", "aside"),
            ("1 2.5 read(3, \"a", "torn"),
            ("hello world (a) = b", "other"),
            ("1 2.5 f(1)", "torn"),
        ] {
            assert_eq!(shown(line), expected, "{line}");
        }
    }

    #[test]
    fn lines_of_ltrace() {
        for (line, expected) in [
            (
                "1 2.5 free(0x2b8592a0)  = <void> <0.000069>",
                "call free|0x2b8592a0|<void> <69000.6>",
            ),
            ("1 2.5 _exit(2 <no return ...>", "open _exit"),
            (
                "1 2.5 <... qsort resumed> )    = <void> <0.000939>",
                "resumed qsort|<void> <939000.6>",
            ),
            ("1 2.5 libc.so.6->malloc(1) = 1", "call libc.so.6->malloc|1|1"),
            (
                "1 2.5 std::ostream::operator<<(int)(0x1, 2) = 3",
                "call std::ostream::operator<<(int)|0x1, 2|3",
            ),
            (
                "1 2.5 std::vector<int>::size() const(0x1) = 3",
                "call std::vector<int>::size() const|0x1|3",
            ),
            ("1 2.5 --- SIGALRM (Alarm clock) ---", "signal SIGALRM|SIGALRM (Alarm clock)"),
            ("1 2.5 --- Called exec() ---", "signal Called exec()|Called exec()"),
            ("1 2.5 +++ exited (status 2) +++", "exit exited (status 2)"),
        ] {
            assert_eq!(shown(line), expected, "{line}");
        }
    }
}
