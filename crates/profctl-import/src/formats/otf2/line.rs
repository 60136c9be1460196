//! One line of `otf2-print`.
//!
//! ```text
//! CLOCK_PROPERTIES           Ticks per Seconds: 2095197216, Global Offset: 7397466976977800, …
//! LOCATION                0  Name: "Master thread" <12>, Type: CPU_THREAD, …, Group: "Rank 0" <0>
//! ENTER                   1     7397466977040830  Region: "int main(int, char**)" <3>
//! ```

use crate::text;

/// An event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Record<'a> {
    pub(super) event: &'a [u8],
    pub(super) location: u64,
    pub(super) time: u64,
    /// The region that is entered or left.
    pub(super) region: Option<&'a [u8]>,
    pub(super) attributes: &'a [u8],
}

/// A line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Line<'a> {
    /// Ticks per second.
    Clock(u64),
    Location {
        id: u64,
        name: &'a [u8],
        group: &'a [u8],
    },
    Record(Record<'a>),
    /// Headings, other definitions, attributes on a line of their own.
    Aside,
    Other,
}

/// What `line` says.
pub(super) fn parse(line: &[u8]) -> Line<'_> {
    if line.is_empty() || line[0] == b' ' || line[0] == b'=' || line[0] == b'-' {
        return Line::Aside;
    }
    let is_event = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || *byte == b'_';
    let end = line.iter().position(|byte| !is_event(byte)).unwrap_or(line.len());
    let (word, rest) = (&line[..end], &line[end..]);
    if end < 2 || !rest.starts_with(b" ") {
        // `Event  Location …`, `Version  2.3.0`: words in lower case.
        let is_heading =
            line[0].is_ascii_uppercase() && line.get(1).is_some_and(u8::is_ascii_lowercase);
        return if is_heading { Line::Aside } else { Line::Other };
    }
    let rest = rest.trim_ascii_start();
    if word == b"CLOCK_PROPERTIES" {
        let rate = behind(rest, b"Ticks per Seconds: ").and_then(number);
        return rate.filter(|rate| *rate > 0).map_or(Line::Aside, Line::Clock);
    }
    let Some((first, rest)) = split_number(rest) else {
        // A definition without a number.
        return if memchr::memchr(b':', rest).is_some() { Line::Aside } else { Line::Other };
    };
    if let Some((time, attributes)) = split_number(rest) {
        let region = behind(attributes, b"Region: ").and_then(quoted);
        return Line::Record(Record { event: word, location: first, time, region, attributes });
    }
    if word == b"LOCATION" {
        let name = behind(rest, b"Name: ").and_then(quoted).unwrap_or_default();
        let group = memchr::memmem::rfind(rest, b"Group: ");
        let group = group.and_then(|at| quoted(&rest[at + 7..])).unwrap_or_default();
        return Line::Location { id: first, name, group };
    }
    // Any other definition: its number, then names and values.
    if rest.starts_with(b"\"") || memchr::memchr(b':', rest).is_some() {
        Line::Aside
    } else {
        Line::Other
    }
}

fn behind<'a>(text: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    text.strip_prefix(key)
}

fn number(text: &[u8]) -> Option<u64> {
    text::decimal(text.split(|byte| !byte.is_ascii_digit()).next()?, 0)
}

/// A number, and what is after the space that follows it.
fn split_number(text: &[u8]) -> Option<(u64, &[u8])> {
    let text = text.trim_ascii_start();
    let end = memchr::memchr(b' ', text).unwrap_or(text.len());
    Some((text::decimal(&text[..end], 0)?, text[end..].trim_ascii_start()))
}

/// What is in `"…" <3>`: names may hold quotes, so the last one before the number counts.
fn quoted(text: &[u8]) -> Option<&[u8]> {
    let inner = text.strip_prefix(b"\"")?;
    let end = memchr::memmem::find(inner, b"\" <")?;
    Some(&inner[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_line() {
        let shown = |line: &str| match parse(line.as_bytes()) {
            Line::Clock(rate) => format!("clock {rate}"),
            Line::Location { id, name, group } => format!(
                "location {id} {} in {}",
                String::from_utf8_lossy(name),
                String::from_utf8_lossy(group)
            ),
            Line::Record(record) => format!(
                "{} {} {} {}",
                String::from_utf8_lossy(record.event),
                record.location,
                record.time,
                record.region.map_or("-".into(), String::from_utf8_lossy)
            ),
            Line::Aside => "aside".into(),
            Line::Other => "other".into(),
        };
        for (line, expected) in [
            (
                "CLOCK_PROPERTIES        Ticks per Seconds: 2095197216, Global Offset: 7",
                "clock 2095197216",
            ),
            (
                "LOCATION          0  Name: \"Master thread\" <12>, Type: CPU_THREAD, # Events: 60, Group: \"MPI Rank 0\" <0>",
                "location 0 Master thread in MPI Rank 0",
            ),
            (
                "ENTER             1     7397466977040830  Region: \"f(const char*, \"x\")\" <3>",
                "ENTER 1 7397466977040830 f(const char*, \"x\")",
            ),
            (
                "LEAVE             18446744073709551615     5  Region: \"f\" <3>",
                "LEAVE 18446744073709551615 5 f",
            ),
            (
                "MPI_SEND          0     73  Receiver: 1 (\"Master thread\" <1>), Tag: 10",
                "MPI_SEND 0 73 -",
            ),
            ("      ADDITIONAL ATTRIBUTES: (\"ProcessId\" <2>; UINT64; 26602)", "aside"),
            ("STRING                                 2  \"Linux\"", "aside"),
            ("REGION                                 2  Name: \"x\" <2>, (Aliases: ..)", "aside"),
            ("=== Events ====", "aside"),
            ("Event               Location            Timestamp  Attributes", "aside"),
            ("Version                        2.3.0", "aside"),
            ("Machine name", "aside"),
            ("", "aside"),
            ("ENTER x", "other"),
            ("enter 1 2", "other"),
        ] {
            assert_eq!(shown(line), expected, "{line}");
        }
    }
}
