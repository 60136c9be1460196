//! One line of babeltrace2's text.
//!
//! ```text
//! [21:47:42.886671760] (+0.011086645) vm lttng_ust_cyg_profile:func_entry: { cpu_id = 1 }, { vtid = 21114, procname = "sh" }, { addr = 0x558A, call_site = 0x7F2D }
//! ```
//!
//! What stands in braces is the context of the packet, contexts of the event, and last its fields.

use std::borrow::Cow;

use crate::lttng::{Fields, Name, Part};
use crate::text;

/// How times are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Clock {
    /// `21:47:42.886671760`.
    OfDay,
    /// `2026-11-21 21:47:42.886671760` (`--clock-date`).
    Date,
    /// `1795296021.517346768` (`--clock-seconds`).
    Seconds,
    /// `00000000000123456789` (`--clock-cycles`).
    Cycles,
}

impl Clock {
    /// What `info` shows.
    pub(super) fn about(self) -> &'static str {
        match self {
            Self::OfDay => "time of day",
            Self::Date => "date and time of day",
            Self::Seconds => "seconds since 1970",
            Self::Cycles => "cycles (`babeltrace2` without `--clock-cycles` prints times)",
        }
    }
}

/// An event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Event<'a> {
    pub(super) clock: Clock,
    /// Nanoseconds or cycles.
    pub(super) time: u64,
    pub(super) name: &'a [u8],
    /// What is in braces, but for the last ones.
    contexts: &'a [u8],
    /// What is in the last ones.
    own: &'a [u8],
}

/// A line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Line<'a> {
    Event(Event<'a>),
    /// The tracer lost events: how many, if that is known.
    Discarded(Option<u64>),
    /// Empty, or a message of the program.
    Aside,
    Other,
}

/// What `line` says.
pub(super) fn parse(line: &[u8]) -> Line<'_> {
    if line.is_empty() {
        return Line::Aside;
    }
    let discarded = [&b"Tracer discarded "[..], b"Tracer may have discarded "];
    for key in discarded {
        if let Some(at) = memchr::memmem::find(line, key) {
            let rest = &line[at + key.len()..];
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
            // How many events a packet has is not printed.
            let is_events = rest[digits..].starts_with(b" event");
            let count = is_events.then(|| text::decimal(&rest[..digits], 0)).flatten();
            return Line::Discarded(count);
        }
    }
    if line.starts_with(b"WARNING: ") || line.starts_with(b"[warning]") {
        return Line::Aside;
    }
    event(line).map_or(Line::Other, Line::Event)
}

fn event(line: &[u8]) -> Option<Event<'_>> {
    let inner = line.strip_prefix(b"[")?;
    let end = memchr::memchr(b']', inner)?;
    let (clock, time) = stamp(&inner[..end])?;
    let mut rest = inner[end + 1..].trim_ascii_start();
    if rest.starts_with(b"(") {
        rest = rest[memchr::memchr(b')', rest)? + 1..].trim_ascii_start();
    }
    let brace = memchr::memchr(b'{', rest)?;
    // The name ends in a colon; what contexts are called may stand behind it (`--names`).
    let front = rest[..brace].trim_ascii_end();
    let front = front.strip_suffix(b"=").map_or(front, <[u8]>::trim_ascii_end);
    let words = front.rsplit(|byte| *byte == b' ').take(2);
    let name = words.into_iter().find_map(|word| word.strip_suffix(b":"))?;
    let (mut groups, mut at) = (Vec::new(), brace);
    while let Some(open) = memchr::memchr(b'{', &rest[at..]) {
        let start = at + open + 1;
        let length = closing(&rest[start..])?;
        groups.push(start..start + length);
        at = start + length + 1;
    }
    let own = groups.pop()?;
    let contexts = groups.last().map_or(brace..brace, |last| brace..last.end + 1);
    (!name.is_empty()).then_some(Event {
        clock,
        time,
        name,
        contexts: &rest[contexts],
        own: &rest[own],
    })
}

/// Where the bracket is closed inside of which `text` begins.
fn closing(text: &[u8]) -> Option<usize> {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        match text[at] {
            b'"' => at += quoted(&text[at + 1..])? + 1,
            b'{' | b'[' | b'(' => depth += 1,
            b'}' | b']' | b')' if depth == 0 => return Some(at),
            b'}' | b']' | b')' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
    None
}

/// Where the quotation mark is that ends a text.
fn quoted(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// A time as it is printed.
fn stamp(text: &[u8]) -> Option<(Clock, u64)> {
    const NANOS: u64 = 1_000_000_000;
    let digits =
        |text: &[u8]| text.iter().all(u8::is_ascii_digit).then(|| text::decimal(text, 0))?;
    if !text.contains(&b':') {
        let has_point = text.contains(&b'.');
        let time = text::decimal(text, if has_point { 9 } else { 0 })?;
        return Some((if has_point { Clock::Seconds } else { Clock::Cycles }, time));
    }
    let (date, time) = match memchr::memchr(b' ', text) {
        Some(at) => (Some(&text[..at]), &text[at + 1..]),
        None => (None, text),
    };
    let [h1, h2, b':', m1, m2, b':', seconds @ ..] = time else { return None };
    let (hours, minutes) = (digits(&[*h1, *h2])?, digits(&[*m1, *m2])?);
    let of_day = (hours * 60 + minutes) * 60 * NANOS + text::decimal(seconds, 9)?;
    let Some(date) = date else { return Some((Clock::OfDay, of_day)) };
    let [y @ .., b'-', m1, m2, b'-', d1, d2] = date else { return None };
    let days = days(digits(y)?, digits(&[*m1, *m2])?, digits(&[*d1, *d2])?)?;
    Some((Clock::Date, days.checked_mul(86_400 * NANOS)?.checked_add(of_day)?))
}

/// Days from 1970 on, by the Gregorian calendar.
fn days(year: u64, month: u64, day: u64) -> Option<u64> {
    const BEFORE: [u64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    if !(1970..=2500).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let leaps = |year: u64| year / 4 - year / 100 + year / 400;
    let is_leap = leaps(year) != leaps(year - 1);
    let in_year = BEFORE[month as usize - 1] + day - 1 + u64::from(is_leap && month > 2);
    Some((year - 1970) * 365 + leaps(year - 1) - leaps(1969) + in_year)
}

impl<'a> Event<'a> {
    /// The value of a field, as it is printed.
    fn value(&self, part: Part, name: &str) -> Option<&'a [u8]> {
        let own = || find(self.own, name);
        let context = || find(self.contexts, name);
        match part {
            Part::Own => own(),
            Part::Context => context(),
            Part::Any => own().or_else(context),
        }
    }

    /// The CPU that the context of the packet names.
    pub(super) fn cpu(&self) -> Option<u32> {
        u32::try_from(self.integer(Part::Context, "cpu_id")?).ok()
    }
}

/// What stands behind `name = ` in fields with commas between.
fn find<'a>(fields: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let name = name.as_bytes();
    let mut at = 0;
    while let Some(found) = memchr::memmem::find(&fields[at..], name) {
        let start = at + found;
        at = start + name.len();
        let before = fields[..start].trim_ascii_end().last();
        let is_field = matches!(before, None | Some(b',' | b'{'))
            || fields[..start].ends_with(b"_") && fields[..start].ends_with(b" _");
        if is_field && let Some(value) = fields[at..].strip_prefix(b" = ") {
            return Some(&value[..value_end(value)]);
        }
    }
    None
}

/// Where the value ends with which `text` begins.
fn value_end(text: &[u8]) -> usize {
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'"' => at += quoted(&text[at + 1..]).map_or(text.len(), |end| end + 1),
            b'{' | b'[' | b'(' => {
                at += closing(&text[at + 1..]).map_or(text.len(), |end| end + 1);
            }
            b',' | b'}' => return at,
            _ => {}
        }
        at += 1;
    }
    text.len()
}

impl Event<'_> {
    /// The integer in a field.
    pub(super) fn integer(&self, part: Part, name: &str) -> Option<u64> {
        let value = self.value(part, name)?.trim_ascii();
        // `( "RUNNING" : container = 0 )`.
        let container = b" : container = ";
        let value = match memchr::memmem::find(value, container) {
            Some(at) => value[at + container.len()..].strip_suffix(b")")?.trim_ascii(),
            None => value,
        };
        if let Some(digits) = value.strip_prefix(b"0x") {
            return u64::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok();
        }
        match value.strip_prefix(b"-") {
            Some(digits) => text::decimal(digits, 0).map(u64::wrapping_neg),
            None => text::decimal(value, 0),
        }
    }

    /// The text in a field.
    fn string(&self, part: Part, name: &str) -> Option<Cow<'_, [u8]>> {
        let inner = self.value(part, name)?.trim_ascii().strip_prefix(b"\"")?;
        let inner = inner.strip_suffix(b"\"")?;
        if !inner.contains(&b'\\') {
            return Some(Cow::Borrowed(inner));
        }
        let mut plain = Vec::with_capacity(inner.len());
        let mut bytes = inner.iter();
        while let Some(&byte) = bytes.next() {
            plain.push(if byte == b'\\' { *bytes.next().unwrap_or(&byte) } else { byte });
        }
        Some(Cow::Owned(plain))
    }
}

impl Fields for Event<'_> {
    fn number(&self, part: Part, name: Name) -> Option<u64> {
        self.integer(part, name.text())
    }

    fn text(&self, part: Part, name: Name) -> Option<Cow<'_, [u8]>> {
        self.string(part, name.text())
    }

    fn detail(&self) -> String {
        String::from_utf8_lossy(self.own.trim_ascii()).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event_of(line: &str) -> Event<'_> {
        match parse(line.as_bytes()) {
            Line::Event(event) => event,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn fields_are_found_by_name_and_context() {
        let line = "[00:00:01.5] (+0.5) my host k:sched_switch: { cpu_id = 3 }, { tid = 7, \
                    procname = \"a \\\"b, tid = 9 }\" }, { prev_comm = \"x = {\", prev_tid = -1, \
                    state = ( \"RUNNING\" : container = 2 ), tid = 0x1F, of = { tid = 5 }, \
                    list = [ [0] = 1, [1] = 2 ], last = 12 }";
        let event = event_of(line);
        assert_eq!((event.clock, event.time), (Clock::OfDay, 1_500_000_000));
        assert_eq!((event.name, event.cpu()), (&b"k:sched_switch"[..], Some(3)));
        let number = |part, name| event.integer(part, name);
        assert_eq!(number(Part::Context, "tid"), Some(7));
        assert_eq!(number(Part::Own, "tid"), Some(31));
        assert_eq!((number(Part::Any, "tid"), number(Part::Own, "cpu_id")), (Some(31), None));
        assert_eq!(number(Part::Own, "prev_tid"), Some(u64::MAX));
        assert_eq!((number(Part::Own, "state"), number(Part::Own, "last")), (Some(2), Some(12)));
        let text =
            |part, name| String::from_utf8(event.string(part, name).unwrap().into()).unwrap();
        assert_eq!(text(Part::Context, "procname"), "a \"b, tid = 9 }");
        assert_eq!(text(Part::Own, "prev_comm"), "x = {");
        assert!(
            event.detail().starts_with("prev_comm = ") && event.detail().ends_with("last = 12")
        );
    }

    #[test]
    fn times_in_every_form() {
        for (time, clock, ticks) in [
            ("23:59:59.000000001", Clock::OfDay, 86_399_000_000_001),
            ("1970-01-01 00:00:00.000000001", Clock::Date, 1),
            ("2024-03-01 00:00:00.0", Clock::Date, 1_709_251_200_000_000_000),
            ("2026-11-21 21:42:26.517346768", Clock::Date, 1_795_297_346_517_346_768),
            ("1795296021.517346768", Clock::Seconds, 1_795_296_021_517_346_768),
            ("00000000021384333210", Clock::Cycles, 21_384_333_210),
        ] {
            let line = format!("[{time}] (+?.?????????) a:b: {{ }}");
            let event = event_of(&line);
            assert_eq!(
                (event.clock, event.time, event.name),
                (clock, ticks, &b"a:b"[..]),
                "{time}"
            );
        }
    }

    #[test]
    fn everything_else() {
        let lost = |line: &str| match parse(line.as_bytes()) {
            Line::Discarded(n) => n,
            other => panic!("{line}: {other:?}"),
        };
        let at = "between [00:00:01.0] and [00:00:02.0] in trace \"x\"";
        assert_eq!(lost(&format!("WARNING: Tracer discarded 12 events {at}")), Some(12));
        assert_eq!(lost(&format!("[warning] Tracer discarded 70 events {at}")), Some(70));
        assert_eq!(lost(&format!("WARNING: Tracer discarded 2 packets {at}")), None);
        assert_eq!(lost(&format!("WARNING: Tracer may have discarded events {at}")), None);
        for other in ["", "WARNING: something"] {
            assert_eq!(parse(other.as_bytes()), Line::Aside, "{other}");
        }
        for other in [
            "[00:00:01.5] (+0.5) a: { x = 1",
            "[00:00:01.5] (+0.5) a { x = 1 }",
            "[0x10] a: { }",
            "[    1.5] usb 1-1: new device",
            "[25] { }",
            "hello",
        ] {
            assert_eq!(parse(other.as_bytes()), Line::Other, "{other}");
        }
        // Without the time between events, with what contexts are called.
        let named = "[1.5] a:b: stream.packet.context = { cpu_id = 2 }, event.fields = { x = 1 }";
        let event = event_of(named);
        assert_eq!((event.name, event.cpu()), (&b"a:b"[..], Some(2)));
        assert_eq!(event.integer(Part::Own, "x"), Some(1));
    }
}
