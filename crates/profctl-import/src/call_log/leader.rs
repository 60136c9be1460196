//! What is before a record: who made it, and when.
//!
//! `[pid 22524<true>] 1795337377.887380 (+     0.000144) [  17] [00007fd9151c2b9a] read(…`: all of
//! it is optional, and each part is known by its shape.

use crate::text;

/// Linux gives no process a greater id (`PID_MAX_LIMIT`), so a greater number is a time.
const PID_MAX: u64 = 1 << 22;

/// Who made a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Who<'a> {
    /// The thread's id, if the line says.
    pub(crate) tid: Option<u64>,
    /// Its name, which strace prints with `-Y`.
    pub(crate) name: &'a [u8],
    /// Whether the id stood in `[pid N]`: such output leaves it out while only one process runs.
    pub(crate) is_labeled: bool,
}

/// What the digits of a stamp count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StampKind {
    /// Seconds since 1970, or since the record before.
    Seconds,
    /// Hours, minutes and seconds since midnight.
    TimeOfDay,
}

/// A time as it was printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    /// Nanoseconds of what [`StampKind`] says.
    pub(crate) nanos: u64,
    /// What is counted.
    pub(crate) kind: StampKind,
    /// Digits after the point.
    pub(crate) decimals: u8,
}

/// Who and when.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Leader<'a> {
    /// Who.
    pub(crate) who: Who<'a>,
    /// When, if the line says.
    pub(crate) stamp: Option<Stamp>,
}

/// The leader of a line, and what is after it.
pub(crate) fn leader(line: &[u8]) -> (Leader<'_>, &[u8]) {
    let mut found = Leader::default();
    let mut rest = line.trim_ascii_start();
    if let Some(labeled) = rest.strip_prefix(b"[pid") {
        let Some(end) = memchr::memchr(b']', labeled) else { return (found, rest) };
        let Some(who) = who(labeled[..end].trim_ascii()) else { return (found, rest) };
        found.who = Who { is_labeled: true, ..who };
        rest = labeled[end + 1..].trim_ascii_start();
    } else if let Some((id, behind)) = id_column(rest) {
        found.who = id;
        rest = behind;
    }
    if let Some((stamp, behind)) = stamp(rest) {
        found.stamp = Some(stamp);
        rest = behind;
        if let Some(relative) = rest.strip_prefix(b"(+")
            && let Some(end) = memchr::memchr(b')', relative)
        {
            rest = relative[end + 1..].trim_ascii_start();
        }
    }
    // The number of the system call (-n) and the instruction pointer (-i).
    while rest.first() == Some(&b'[') {
        let Some(end) = memchr::memchr(b']', rest) else { break };
        rest = rest[end + 1..].trim_ascii_start();
    }
    (found, rest)
}

/// `22524` or `22524<true>`.
fn who(text: &[u8]) -> Option<Who<'_>> {
    let (id, name) = match memchr::memchr(b'<', text) {
        Some(at) => (&text[..at], text[at + 1..].strip_suffix(b">")?),
        None => (text, &[][..]),
    };
    let tid = text::decimal(id, 0).filter(|tid| *tid <= PID_MAX)?;
    Some(Who { tid: Some(tid), name, is_labeled: false })
}

/// The id before a record that was written to a file. Its name may hold spaces.
fn id_column(line: &[u8]) -> Option<(Who<'_>, &[u8])> {
    let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let end = match line.get(digits)? {
        b' ' => digits,
        b'<' => digits + memchr::memmem::find(&line[digits..], b"> ")? + 1,
        _ => return None,
    };
    Some((who(&line[..end])?, line[end..].trim_ascii_start()))
}

/// The length of a printed time, with the space after it.
fn stamp(line: &[u8]) -> Option<(Stamp, &[u8])> {
    let end = memchr::memchr(b' ', line)?;
    let (digits, behind) = (&line[..end], line[end..].trim_ascii_start());
    let decimals = memchr::memchr(b'.', digits).map_or(0, |at| digits.len() - at - 1);
    let decimals = u8::try_from(decimals).ok().filter(|decimals| *decimals <= 9)?;
    let (kind, nanos) = match digits.get(2) {
        Some(b':') if digits.len() >= 8 && digits[5] == b':' => {
            let hours = text::decimal(&digits[..2], 0).filter(|hours| *hours < 24)?;
            let minutes = text::decimal(&digits[3..5], 0).filter(|minutes| *minutes < 60)?;
            let seconds = text::decimal(&digits[6..], 9)?;
            // 60 in a leap second.
            let seconds = Some(seconds).filter(|nanos| *nanos < 61_000_000_000)?;
            (StampKind::TimeOfDay, (hours * 60 + minutes) * 60_000_000_000 + seconds)
        }
        _ => (StampKind::Seconds, text::decimal(digits, 9)?),
    };
    Some((Stamp { nanos, kind, decimals }, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str) -> String {
        let (Leader { who, stamp }, rest) = leader(line.as_bytes());
        let tid = who.tid.map_or("-".into(), |tid| tid.to_string());
        let label = if who.is_labeled { "[]" } else { "" };
        let name = String::from_utf8_lossy(who.name);
        let time = stamp.map_or("-".into(), |s| format!("{}.{} {:?}", s.nanos, s.decimals, s.kind));
        format!("{tid}{label} <{name}> {time} | {}", String::from_utf8_lossy(rest))
    }

    #[test]
    fn every_leader_of_the_manual_page() {
        for (line, expected) in [
            ("execve(\"a\") = 0", "- <> - | execve(\"a\") = 0"),
            ("23 f() = 0", "23 <> - | f() = 0"),
            ("23 1795297781.351433 f()", "23 <> 1795297781351433000.6 Seconds | f()"),
            ("1795297781.351433 f()", "- <> 1795297781351433000.6 Seconds | f()"),
            // Seconds without a fraction are no process.
            ("1795297781 f()", "- <> 1795297781000000000.0 Seconds | f()"),
            ("23      0.000432 f()", "23 <> 432000.6 Seconds | f()"),
            ("     0.000432 f()", "- <> 432000.6 Seconds | f()"),
            ("23 08:49:37 f()", "23 <> 31777000000000.0 TimeOfDay | f()"),
            ("23:59:60.5 f()", "- <> 86400500000000.1 TimeOfDay | f()"),
            ("[pid 4194304] 2.5 f()", "4194304[] <> 2500000000.1 Seconds | f()"),
            ("[pid     7<my sh>] f()", "7[] <my sh> - | f()"),
            ("7<my sh> 1.25 f()", "7 <my sh> 1250000000.2 Seconds | f()"),
            ("7 1.5 (+     0.000144) f()", "7 <> 1500000000.1 Seconds | f()"),
            ("7 1.5 [  17] [00007fd9] f([1])", "7 <> 1500000000.1 Seconds | f([1])"),
            ("7 1.5 [ 231] [????????] +++ x", "7 <> 1500000000.1 Seconds | +++ x"),
            ("[0x40125d]   strcmp(", "- <> - | strcmp("),
        ] {
            assert_eq!(shown(line), expected, "{line}");
        }
    }

    #[test]
    fn what_is_no_leader_stays() {
        for line in ["[pid x] f", "99:00:00 f()", "1.0000000001 f()", "", "12", "[pid 1"] {
            let (found, rest) = leader(line.as_bytes());
            assert_eq!((found, rest), (Leader::default(), line.as_bytes()), "{line}");
        }
    }
}
