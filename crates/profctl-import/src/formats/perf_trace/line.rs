//! One line of `perf trace`.
//!
//! ```text
//!      0.487 ( 0.026 ms): sh/29610 access(filename: 0x8222d2a0, mode: R)   = -1 ENOENT (No such …)
//!      1.000 (         ): sh/29610 wait4(upid: -1)                          ...
//!      1.000 ( 2.500 ms): sh/29610  ... [continued]: wait4())               = 29611
//! ```

use crate::text;

/// What is before every record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Head<'a> {
    /// Nanoseconds since the start; unknown (`?`) for a call that began before it.
    pub(super) time: Option<u64>,
    /// How long the call took, nanoseconds.
    pub(super) length: Option<u64>,
    pub(super) name: &'a [u8],
    pub(super) tid: Option<u64>,
}

/// What a record says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What<'a> {
    /// A call from beginning to end.
    Call { name: &'a [u8], result: &'a [u8] },
    /// A call that has not ended when something else happens.
    Open { name: &'a [u8] },
    /// Its end; the time in front is still that of its beginning.
    Continued { name: &'a [u8], result: &'a [u8] },
    /// Another event, such as a tracepoint or a page fault.
    Event { name: &'a [u8], arguments: &'a [u8] },
}

/// A line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Line<'a> {
    Record(Head<'a>, What<'a>),
    Lost(u64),
    /// Of the table after the records (`-s`, `-S`), or empty.
    Aside,
    Other,
}

/// What `line` says.
pub(super) fn parse(line: &[u8]) -> Line<'_> {
    let body = line.trim_ascii();
    if is_aside(body) {
        return Line::Aside;
    }
    if let Some(rest) = body.strip_prefix(b"LOST ") {
        let digits = rest.split(u8::is_ascii_whitespace).next().unwrap_or_default();
        return text::decimal(digits, 0).map_or(Line::Other, Line::Lost);
    }
    record(body).unwrap_or(Line::Other)
}

fn record(body: &[u8]) -> Option<Line<'_>> {
    let mut head = Head::default();
    let space = memchr::memchr(b' ', body)?;
    let (stamp, rest) = (&body[..space], body[space..].trim_ascii_start());
    head.time = match stamp {
        b"?" => None,
        stamp => Some(milliseconds(stamp)?),
    };
    let mut rest = rest;
    let mut is_call = false;
    if let Some(inner) = rest.strip_prefix(b"(") {
        let end = memchr::memmem::find(inner, b"):")?;
        let length = inner[..end].trim_ascii();
        if !length.is_empty() {
            head.length = Some(milliseconds(length.strip_suffix(b" ms")?)?);
        }
        rest = inner[end + 2..].trim_ascii_start();
        is_call = true;
    }
    (head.name, head.tid, rest) = who(rest);
    if let Some(continued) = rest.strip_prefix(b"... [continued]: ") {
        let name = name(continued)?;
        let result = result(&continued[name.len()..])?;
        return Some(Line::Record(head, What::Continued { name, result }));
    }
    let name = name(rest)?;
    let behind = rest[name.len() + 1..].trim_ascii_end();
    if !is_call || memchr::memchr(b':', name).is_some() {
        let arguments = behind.strip_suffix(b")").unwrap_or(behind);
        return Some(Line::Record(head, What::Event { name, arguments }));
    }
    if behind.ends_with(b" ...") && head.length.is_none() {
        return Some(Line::Record(head, What::Open { name }));
    }
    if let Some(result) = result(behind) {
        let what = match head.length {
            Some(_) => What::Call { name, result },
            // It never returns: `exit() = ?`.
            None => What::Open { name },
        };
        return Some(Line::Record(head, what));
    }
    let arguments = behind.strip_suffix(b")")?;
    Some(Line::Record(head, What::Event { name, arguments }))
}

/// `sh/29610 ` or `29610 `; neither is printed for a program without threads and children.
fn who(text: &[u8]) -> (&[u8], Option<u64>, &[u8]) {
    // Names may hold spaces, so the id is sought before what is called.
    let end = memchr::memchr(b'(', text).unwrap_or(text.len());
    let end = memchr::memmem::find(&text[..end], b" ... [").unwrap_or(end);
    let mut at = 0;
    while let Some(slash) = memchr::memchr(b'/', &text[at..end]) {
        let start = at + slash + 1;
        let digits = text[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits > 0
            && text.get(start + digits) == Some(&b' ')
            && let Some(tid) = text::decimal(&text[start..start + digits], 0)
        {
            let behind = text[start + digits..].trim_ascii_start();
            return (&text[..start - 1], Some(tid), behind);
        }
        at = start;
    }
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if digits > 0 && text.get(digits) == Some(&b' ') {
        let tid = text::decimal(&text[..digits], 0);
        return (b"", tid, text[digits..].trim_ascii_start());
    }
    (b"", None, text)
}

/// The name before `(`.
fn name(text: &[u8]) -> Option<&[u8]> {
    let end = memchr::memchr(b'(', text)?;
    let name = &text[..end];
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_:.-".contains(byte);
    (!name.is_empty() && name.iter().all(is_word)).then_some(name)
}

/// What is after the last `) = `.
fn result(text: &[u8]) -> Option<&[u8]> {
    let mut end = text.len();
    loop {
        let close = memchr::memrchr(b')', &text[..end])?;
        if let Some(result) = text[close + 1..].trim_ascii_start().strip_prefix(b"=") {
            return Some(result.trim_ascii());
        }
        end = close;
    }
}

fn milliseconds(text: &[u8]) -> Option<u64> {
    memchr::memchr(b'.', text)?;
    text::decimal(text, 6)
}

/// Lines of the summary: ` Summary of events:`, ` sh (29610), 84 events, 96.6%`, and the rows of
/// its table, which are numbers after a name.
fn is_aside(body: &[u8]) -> bool {
    if body.is_empty() || body.starts_with(b"Summary of events") {
        return true;
    }
    if body.starts_with(b"syscall ") || body.starts_with(b"(msec)") || body.starts_with(b"---") {
        return true;
    }
    if body.ends_with(b"%") {
        return true;
    }
    let mut words = body.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let is_number = |word: &[u8]| word.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.');
    words.next().is_some_and(|first| first[0].is_ascii_alphabetic())
        && words.clone().count() >= 3
        && words.all(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        match parse(line.as_bytes()) {
            Line::Record(Head { time, length, name, tid }, what) => {
                let what = match what {
                    What::Call { name, result } => format!("call {}|{}", text(name), text(result)),
                    What::Open { name } => format!("open {}", text(name)),
                    What::Continued { name, result } => {
                        format!("continued {}|{}", text(name), text(result))
                    }
                    What::Event { name, arguments } => {
                        format!("event {}|{}", text(name), text(arguments))
                    }
                };
                let number = |n: Option<u64>| n.map_or("-".to_owned(), |n| n.to_string());
                format!(
                    "{} {} <{}> {} {what}",
                    number(time),
                    number(length),
                    text(name),
                    number(tid)
                )
            }
            Line::Lost(events) => format!("lost {events}"),
            Line::Aside => "aside".into(),
            Line::Other => "other".into(),
        }
    }

    #[test]
    fn every_shape() {
        for (line, expected) in [
            (
                "     0.487 ( 0.026 ms): sh/29610 access(filename: 0x8, mode: R)     = -1 ENOENT (No such file)",
                "487000 26000 <sh> 29610 call access|-1 ENOENT (No such file)",
            ),
            (
                "         ? (         ): prog/29610  ... [continued]: execve())     = 0",
                "- - <prog> 29610 continued execve|0",
            ),
            (
                "  1234.000 (         ): a b/c/7 wait4(upid: -1)        ...",
                "1234000000 - <a b/c> 7 open wait4",
            ),
            (
                "  1.000 (12.500 ms): 7  ... [continued]: wait4())        = 29611",
                "1000000 12500000 <> 7 continued wait4|29611",
            ),
            ("  1.000 ( 0.500 ms): getppid()      = ", "1000000 500000 <> - call getppid|"),
            (
                "  1.000 ( 0.500 ms): write(buf: \"a) = 3\", fd: 4<pipe:[1]>)   = 5",
                "1000000 500000 <> - call write|5",
            ),
            (
                "  1.000 (         ): sh/7 sched:sched_switch(prev_comm: \"sh\", next_pid: 3)",
                "1000000 - <sh> 7 event sched:sched_switch|prev_comm: \"sh\", next_pid: 3",
            ),
            ("  1.000 sh/7 probe:f(a: 1)", "1000000 - <sh> 7 event probe:f|a: 1"),
            (
                "  5.076 (         ): prog/7 exit()                = ?",
                "5076000 - <prog> 7 open exit",
            ),
            ("LOST 12 events!", "lost 12"),
            (" Summary of events:", "aside"),
            (" prog (29610), 118 events, 65.2%", "aside"),
            (
                "   syscall            calls  errors  total       min       avg       max       stddev",
                "aside",
            ),
            (
                "                                     (msec)    (msec)    (msec)    (msec)        (%)",
                "aside",
            ),
            (
                "   mmap                   8      0     0.245     0.017     0.031     0.059     16.51%",
                "aside",
            ),
            ("hello (a): b", "other"),
            ("", "aside"),
        ] {
            assert_eq!(shown(line), expected, "{line}");
        }
    }
}
