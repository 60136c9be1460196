//! One line of `perf script`.
//!
//! ```text
//! ls 1234/1234 [001] 62709.735347701: 1 branches:uH: call 40bc5a main+0x3a (ls) => 40a550 f+0x0 (ls)
//! ls 1234 [001] 62709.735347701: (/usr/bin/ls ) call     main
//! ls 1234 [001] 62709.735347: sched:sched_switch: prev_comm=ls …
//! ls 1234 62709.735347:     200040 cpu-clock:
//!         ffffffff821cfeae mas_prev+0x6e ([kernel.kallsyms])
//!  instruction trace error type 1 time 62709.735347760 cpu -1 pid 1 tid 1 ip 0x7fff code 7: Overflow packet
//! ```
//!
//! Which columns there are depends on `-F`; each is known by its shape.

use super::branch::{Branch, branch, flags};
use super::symbol::{Symbol, first_word, frame};
use crate::text;

/// What is before every record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Head<'a> {
    pub(super) name: &'a [u8],
    pub(super) pid: Option<u64>,
    pub(super) tid: Option<u64>,
    pub(super) cpu: Option<u32>,
    /// Nanoseconds of perf's clock.
    pub(super) time: Option<u64>,
    /// Digits after the point of the time.
    pub(super) decimals: u8,
}

/// A line of `--call-trace` and `--call-ret-trace`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Indented<'a> {
    pub(super) flags: &'a [u8],
    pub(super) object: &'a [u8],
    /// The column of the name, four more for each caller.
    pub(super) indent: usize,
    pub(super) name: &'a [u8],
}

/// Trouble of the decoder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Trouble<'a> {
    pub(super) time: Option<u64>,
    pub(super) cpu: Option<u32>,
    pub(super) tid: Option<u64>,
    pub(super) message: &'a [u8],
}

/// A line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Line<'a> {
    Branch(Head<'a>, Branch<'a>),
    CallTrace(Head<'a>, Indented<'a>),
    /// A tracepoint: its system, name and arguments.
    Event(Head<'a>, &'a [u8], &'a [u8], &'a [u8]),
    /// A sample, with its weight and what was counted; its frames are on the lines after it, or the
    /// innermost one on this line.
    Sample(Head<'a>, Option<u64>, &'a [u8], Option<Symbol<'a>>),
    /// A frame of the sample above, the innermost first.
    Frame(Symbol<'a>),
    Trouble(Trouble<'a>),
    /// An empty line, a comment, a note of the decoder (`cbr: 42 freq: 4219 MHz`).
    Aside,
    Other,
}

/// What `line` says.
pub(super) fn parse(line: &[u8]) -> Line<'_> {
    let trimmed = line.trim_ascii();
    if trimmed.is_empty() || trimmed.starts_with(b"#") {
        return Line::Aside;
    }
    if let Some(trouble) = trimmed.strip_prefix(b"instruction trace error ") {
        return Line::Trouble(self::trouble(trouble));
    }
    if line.starts_with(b"\t")
        || (trimmed.first().is_some_and(u8::is_ascii_hexdigit) && line.starts_with(b"         "))
    {
        // A frame; a head begins further left, or its first word is not an address.
        if let Some(frame) = frame(trimmed) {
            return Line::Frame(frame);
        }
    }
    record(trimmed).unwrap_or(Line::Other)
}

fn record(line: &[u8]) -> Option<Line<'_>> {
    let (head, body) = head(line)?;
    if body.starts_with(b"(")
        && let Some(end) = memchr::memchr(b')', body)
        && let Some(branch) = branch(&body[end + 1..])
    {
        // `callindent` with addresses, but without the event.
        return Some(Line::Branch(head, branch));
    }
    if let Some(indented) = indented(body) {
        return Some(Line::CallTrace(head, indented));
    }
    let (weight, behind) = match first_word(body) {
        (word, behind) if word.iter().all(u8::is_ascii_digit) && !word.is_empty() => {
            (text::decimal(word, 0), behind)
        }
        _ => (None, body),
    };
    let (event, rest) = first_word(behind);
    let Some(event) = event.strip_suffix(b":").filter(|event| !event.is_empty()) else {
        // A branch may be printed without its event.
        return branch(body).map(|branch| Line::Branch(head, branch));
    };
    if let Some(branch) = branch(rest) {
        return Some(Line::Branch(head, branch));
    }
    let mut parts = event.splitn(2, |byte| *byte == b':');
    let (system, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    if matches!(system, b"cbr" | b"psb" | b"pwrx" | b"mwait" | b"pwre" | b"exstop" | b"ptwrite") {
        return Some(Line::Aside);
    }
    if is_modifier(name) {
        let symbol = (!rest.is_empty()).then(|| frame(rest)).flatten();
        return (rest.is_empty() || symbol.is_some())
            .then_some(Line::Sample(head, weight, system, symbol));
    }
    Some(Line::Event(head, system, name, rest))
}

/// What is after the colon of an event that is not a tracepoint: `uH`, `ppp`, nothing.
fn is_modifier(name: &[u8]) -> bool {
    name.iter().all(|byte| b"ukhGHpPSDIWe".contains(byte))
}

/// The words up to the time, which ends in a colon; or, where no time was printed, up to the id.
fn head(line: &[u8]) -> Option<(Head<'_>, &[u8])> {
    let mut at = 0;
    let (mut time, mut body) = (None, &b""[..]);
    let mut end = line.len();
    while let Some(word) = word_from(line, at) {
        if let Some(found) = stamp(&line[word.clone()]) {
            time = Some(found);
            end = word.start;
            body = line[word.end..].trim_ascii_start();
            break;
        }
        at = word.end;
    }
    let mut head = Head::default();
    if let Some((nanos, decimals)) = time {
        (head.time, head.decimals) = (Some(nanos), decimals);
    } else {
        // `comm 1234 cpu-clock:`: the last word that is an id, with nothing but a weight and an
        // event after it.
        let mut words = Vec::new();
        let mut at = 0;
        while let Some(word) = word_from(line, at) {
            at = word.end;
            words.push(word);
        }
        let event = words.iter().position(|word| line[word.clone()].ends_with(b":"))?;
        let is_weight = event >= 2 && text::decimal(&line[words[event - 1].clone()], 0).is_some();
        let first =
            event - usize::from(is_weight && ids(&line[words[event - 2].clone()]).is_some());
        end = words.get(first)?.start;
        body = &line[end..];
    }
    let mut front = line[..end].trim_ascii_end();
    if let Some(word) = last_word(front)
        && let Some(cpu) = word.strip_prefix(b"[").and_then(|word| word.strip_suffix(b"]"))
    {
        head.cpu = Some(u32::try_from(text::decimal(cpu, 0)?).ok()?);
        front = front[..front.len() - word.len()].trim_ascii_end();
    }
    if let Some(word) = last_word(front)
        && let Some((pid, tid)) = ids(word)
    {
        (head.pid, head.tid) = (pid, tid);
        front = front[..front.len() - word.len()].trim_ascii_end();
    } else if head.time.is_none() {
        return None;
    }
    head.name = front;
    Some((head, body))
}

/// `1234` or `1234/1235`; a thread that has gone is `-1`.
fn ids(word: &[u8]) -> Option<(Option<u64>, Option<u64>)> {
    let id = |text: &[u8]| match text {
        b"-1" => Some(None),
        _ => text::decimal(text, 0).map(Some),
    };
    match memchr::memchr(b'/', word) {
        Some(at) => Some((id(&word[..at])?, id(&word[at + 1..])?)),
        None => Some((None, id(word)?)),
    }
}

/// `62709.735347701:`.
fn stamp(word: &[u8]) -> Option<(u64, u8)> {
    let digits = word.strip_suffix(b":")?;
    let point = memchr::memchr(b'.', digits)?;
    let decimals = digits.len() - point - 1;
    let nanos = text::decimal(digits, 9).filter(|_| (3..=9).contains(&decimals))?;
    Some((nanos, decimals as u8))
}

fn word_from(line: &[u8], at: usize) -> Option<std::ops::Range<usize>> {
    let start = at + line[at..].iter().position(|byte| !byte.is_ascii_whitespace())?;
    let length = line[start..].iter().position(u8::is_ascii_whitespace);
    Some(start..length.map_or(line.len(), |length| start + length))
}

fn last_word(text: &[u8]) -> Option<&[u8]> {
    text.rsplit(u8::is_ascii_whitespace).next().filter(|word| !word.is_empty())
}

/// `(/usr/bin/ls ) call main`, where the columns before the name count.
fn indented(body: &[u8]) -> Option<Indented<'_>> {
    let inner = body.strip_prefix(b"(")?;
    let end = memchr::memchr(b')', inner)?;
    let object = inner[..end].trim_ascii();
    // `(+27)` of a report of trace-cmd: the time since the line before.
    if object.starts_with(b"+") {
        return None;
    }
    let rest = inner[end + 1..].strip_prefix(b"\t").unwrap_or(&inner[end + 1..]);
    let (flags, behind) = flags(rest.trim_ascii_start()).unwrap_or((b"", rest));
    let behind = behind.trim_ascii_start();
    let name = behind.trim_ascii_end();
    if name.is_empty() {
        return None;
    }
    // Flags are padded to a width of their own, so the column counts, not the space in front.
    let indent = rest.len() - behind.len();
    Some(Indented { flags, object, indent, name })
}

/// What is after `instruction trace error `.
fn trouble(text: &[u8]) -> Trouble<'_> {
    let behind = |key: &[u8]| {
        let at = memchr::memmem::find(text, key)?;
        Some(first_word(&text[at + key.len()..]).0)
    };
    let message = match memchr::memmem::find(text, b" code ") {
        Some(at) => {
            let code = &text[at + 6..];
            memchr::memmem::find(code, b": ").map_or(code, |at| &code[at + 2..])
        }
        None => text,
    };
    let number = |key: &[u8]| behind(key).and_then(|word| text::decimal(word, 0));
    Trouble {
        time: behind(b" time ").and_then(|word| text::decimal(word, 9)),
        cpu: number(b" cpu ").and_then(|cpu| u32::try_from(cpu).ok()),
        tid: number(b" tid "),
        message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: &[u8]) -> String {
        String::from_utf8_lossy(bytes).into_owned()
    }

    fn symbol(symbol: Symbol<'_>) -> String {
        let offset = symbol.offset.map_or(String::new(), |offset| format!("+{offset:#x}"));
        format!("{:x} {}{offset} in {}", symbol.address, text(symbol.name), text(symbol.object))
    }

    fn head(head: Head<'_>) -> String {
        format!(
            "<{}> {:?}/{:?} {:?} {:?}.{}",
            text(head.name),
            head.pid,
            head.tid,
            head.cpu,
            head.time,
            head.decimals
        )
        .replace("None", "-")
        .replace("Some(", "")
        .replace(')', "")
    }

    fn shown(line: &str) -> String {
        match parse(line.as_bytes()) {
            Line::Branch(at, branch) => format!(
                "{} {:?}: {} => {}",
                head(at),
                branch.kind,
                symbol(branch.from),
                symbol(branch.to)
            ),
            Line::CallTrace(at, line) => format!(
                "{} {}|{}|{}|{}",
                head(at),
                text(line.flags),
                text(line.object),
                line.indent,
                text(line.name)
            ),
            Line::Event(at, system, name, arguments) => {
                format!("{} {}:{} {}", head(at), text(system), text(name), text(arguments))
            }
            Line::Sample(at, weight, event, frame) => format!(
                "{} sample {weight:?} {} {}",
                head(at),
                text(event),
                frame.map_or(String::new(), symbol)
            ),
            Line::Frame(frame) => format!("frame {}", symbol(frame)),
            Line::Trouble(trouble) => format!(
                "trouble {:?} {:?} {:?} {}",
                trouble.time,
                trouble.cpu,
                trouble.tid,
                text(trouble.message)
            ),
            Line::Aside => "aside".into(),
            Line::Other => "other".into(),
        }
    }

    #[test]
    fn branches() {
        for (line, expected) in [
            (
                "364691/364691 62709.735347701:     1   branches:uH:   call       40bc5a \
                 Book::delete_order+0x3ca (foo.so) =>           40a550 remove_leaf_kv+0x0 (foo.so)",
                "<> 364691/364691 - 62709735347701.9 Call: 40bc5a Book::delete_order+0x3ca in \
                 foo.so => 40a550 remove_leaf_kv+0x0 in foo.so",
            ),
            (
                "  my sh  1234 [001] 2.000000005:  1 branches:k:  tr strt jmp   0 [unknown] \
                 ([unknown]) => ffffffffae200ab0 asm_exc_page_fault+0x0 ([kernel.kallsyms])",
                "<my sh> -/1234 1 2000000005.9 TraceStart: 0 [unknown] in [unknown] => \
                 ffffffffae200ab0 asm_exc_page_fault+0x0 in [kernel.kallsyms]",
            ),
            // Without flags, and a symbol that holds an arrow.
            (
                "a 1 [000] 2.000005:  1 branches:u:  10 <fn() => i32 as F>::call+0x4 (a) => 20 g+0x0 (a)",
                "<a> -/1 0 2000005000.6 Unknown: 10 <fn( => i32 as F>::call+0x4 in a => 20 g+0x0 in a",
            ),
            (
                "a 1 [000] 2.000005: 1 branches:u: hw int 10 f+0x4 (a) => 20 asm_sysvec_x+0x0 (b)",
                "<a> -/1 0 2000005000.6 HardwareInterrupt: 10 f+0x4 in a => 20 asm_sysvec_x+0x0 in b",
            ),
            (
                "a 1 [000] 2.000005: 1 branches:u: tr end  syscall 10 f+0x4 (a) => 0 [unknown] ([unknown])",
                "<a> -/1 0 2000005000.6 TraceEnd(Syscall: 10 f+0x4 in a => 0 [unknown] in [unknown]",
            ),
            // With `callindent`: names that could be addresses, and an object.
            (
                "a 1 [000] 2.000005: 1 branches:u: call      add              10 f+0x4 (a) => 20 add+0x0 (a)",
                "<a> -/1 0 2000005000.6 Call: 10 f+0x4 in a => 20 add+0x0 in a",
            ),
            (
                "a 1 [000] 2.000005: (/bin/a )\t return        f(int, char)   10 f(int, char)+0x4 (/bin/a) => 20 g+0x9 (/bin/a)",
                "<a> -/1 0 2000005000.6 Return: 10 f(int, char+0x4 in /bin/a => 20 g+0x9 in /bin/a",
            ),
            (
                "a 1 [000] 2.000005: 1 branches:u: jcc (x) 10 f (a) => 20 g (a)",
                "<a> -/1 0 2000005000.6 Jump: 10 f in a => 20 g in a",
            ),
        ] {
            let seen = shown(line).replace(')', "");
            assert_eq!(seen, expected.replace(')', ""), "{line}");
        }
    }

    #[test]
    fn everything_else() {
        for (line, expected) in [
            (
                " uname 14003 [005] 15321.764961566: (/usr/lib/ld-2.31.so     )      _start",
                "<uname> -/14003 5 15321764961566.9 |/usr/lib/ld-2.31.so|6|_start",
            ),
            (
                " uname 30805 [000] 2.058784629: ([kernel.kallsyms])            down_read  ",
                "<uname> -/30805 0 2058784629.9 |[kernel.kallsyms]|12|down_read",
            ),
            (
                " uname 30805 [000] 2.058784629: ([kernel.kallsyms])\t call          f(int)",
                "<uname> -/30805 0 2058784629.9 call|[kernel.kallsyms]|15|f(int)",
            ),
            (" uname 14003 [005] 15321.764958566:  cbr: 42 freq: 4219 MHz (156%)", "aside"),
            (
                "prog 29593 [001]   974.823673:       sched:sched_waking: comm=rcu pid=15 prio=120",
                "<prog> -/29593 1 974823673000.6 sched:sched_waking comm=rcu pid=15 prio=120",
            ),
            (
                "lua 25206  1862.788065:     200040 cpu-clock: ",
                "<lua> -/25206 - 1862788065000.6 sample Some(200040) cpu-clock ",
            ),
            ("lua 25206     200040 cycles:u: ", "<lua> -/25206 - -.0 sample Some(200040) cycles "),
            (
                "lua 25206 1862.788065:  200040 cpu-clock:u:  148c8 f+0xc8 (/lib/ld.so)",
                "<lua> -/25206 - 1862788065000.6 sample Some(200040) cpu-clock 148c8 f+0xc8 in /lib/ld.so",
            ),
            (
                "\tffffffff821cfeae mas_prev+0x6e ([kernel.kallsyms])",
                "frame ffffffff821cfeae mas_prev+0x6e in [kernel.kallsyms]",
            ),
            ("\t               0 [unknown] ([unknown])", "frame 0 [unknown] in [unknown]"),
            (
                "            7f165b22b12e f(int, char)+0x80 (/usr/lib64/libc.so.6)",
                "frame 7f165b22b12e f(int, char)+0x80 in /usr/lib64/libc.so.6",
            ),
            (
                " instruction trace error type 1 time 62709.735347760 cpu -1 pid 364691 tid 364692 ip 0x7ffff7327730 code 7: Overflow packet (foo.so)",
                "trouble Some(62709735347760) None Some(364692) Overflow packet (foo.so)",
            ),
            ("", "aside"),
            ("# ========", "aside"),
            ("hello", "other"),
            ("1795297782.237100 execve(\"/usr/bin/sh\") = 0", "other"),
        ] {
            assert_eq!(shown(line).replace(')', ""), expected.replace(')', ""), "{line}");
        }
    }
}
