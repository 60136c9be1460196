//! What a program wrote to `trace_marker` by the convention of Android.

use profctl_model::{Func, FuncKind};

use crate::emit::{At, Emitter, NameRef, Stated};

/// A mark of a program.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Mark<'a> {
    /// `B|pid|name`: a slice begins on the thread.
    Begin { process: Option<u64>, name: &'a [u8] },
    /// `E|pid` or `E`: the innermost one ends.
    End,
    /// `C|pid|name|value`.
    Counter { name: &'a [u8], value: f64 },
    /// `S|pid|name|cookie` and `F|…` (of a track: `G|pid|track|name|cookie` and `H|…`): the ends of
    /// what may overlap. What is after the name is its detail.
    Async { begins: bool, name: &'a [u8], detail: &'a [u8] },
    /// `I|pid|name` (of a track: `N|pid|track|name`).
    Instant { name: &'a [u8] },
}

impl Mark<'_> {
    /// Says it to the emitter.
    pub(crate) fn say(&self, at: At, out: &mut Emitter) {
        let text = String::from_utf8_lossy;
        match *self {
            Mark::Begin { name, .. } => {
                let name = out.name(&[b"slice ", name].concat(), |_| Func {
                    name: text(name).into_owned(),
                    ..Func::default()
                });
                out.enter(at, name, Stated::NOTHING);
            }
            Mark::End => out.exit(at, None, Stated::NOTHING),
            Mark::Counter { name, value } => {
                let name = marked(b"counter ", name, out);
                out.counter(at, name, value);
            }
            Mark::Async { begins, name, detail } => {
                let kind: &[u8] = if begins { b"begin " } else { b"end " };
                let name = marked(kind, &[kind, name].concat(), out);
                out.instant_with(at, name, &text(detail));
            }
            Mark::Instant { name } => {
                let name = marked(b"instant ", name, out);
                out.instant(at, name);
            }
        }
    }
}

fn marked(kind: &[u8], name: &[u8], out: &mut Emitter) -> NameRef {
    out.name(&[kind, b"|", name].concat(), |_| Func {
        name: String::from_utf8_lossy(name).into_owned(),
        kind: FuncKind::Mark,
        ..Func::default()
    })
}

/// The name of a slice that has none.
pub(crate) const NAMELESS: &[u8] = b"unnamed";

/// The mark that an event is, if it is one. `print` is what the kernel calls the event today; its
/// text may have an address in front. In pages of 2012 the event has no name: `0`.
pub(crate) fn of<'a>(event: &[u8], arguments: &'a [u8]) -> Option<Mark<'a>> {
    let text = match event {
        b"tracing_mark_write" | b"0" => arguments,
        b"print" => match memchr::memmem::find(arguments, b": ") {
            Some(at) if arguments[..at].iter().all(|byte| !b" |".contains(byte)) => {
                &arguments[at + 2..]
            }
            _ => arguments,
        },
        _ => return None,
    };
    parse(text.trim_ascii())
}

fn parse(text: &[u8]) -> Option<Mark<'_>> {
    let (kind, rest) = text.split_first()?;
    if rest.is_empty() {
        return (*kind == b'E').then_some(Mark::End);
    }
    let rest = rest.strip_prefix(b"|")?;
    let (process, rest) = split(rest);
    let process = crate::text::decimal(process, 0);
    Some(match kind {
        // Its end comes all the same.
        b'B' => Mark::Begin { process, name: named(rest).unwrap_or(NAMELESS) },
        b'E' => Mark::End,
        b'C' => {
            let at = memchr::memrchr(b'|', rest)?;
            let value = std::str::from_utf8(&rest[at + 1..]).ok()?.trim().parse().ok()?;
            Mark::Counter { name: named(&rest[..at])?, value }
        }
        b'S' | b'F' | b'G' | b'H' => {
            let at = memchr::memrchr(b'|', rest);
            let (name, detail) = at.map_or((rest, &b""[..]), |at| (&rest[..at], &rest[at + 1..]));
            Mark::Async { begins: matches!(kind, b'S' | b'G'), name: named(name)?, detail }
        }
        b'I' => Mark::Instant { name: named(rest)? },
        b'N' => {
            let (track, name) = split(rest);
            Mark::Instant { name: named(if name.is_empty() { track } else { name })? }
        }
        _ => return None,
    })
}

fn split(text: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memchr(b'|', text) {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, b""),
    }
}

fn named(name: &[u8]) -> Option<&[u8]> {
    (!name.is_empty()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_mark() {
        for (text, expected) in [
            ("B|12|a|b: c", Some(Mark::Begin { process: Some(12), name: b"a|b: c" })),
            ("E", Some(Mark::End)),
            ("E|12", Some(Mark::End)),
            ("C|12|queued|-3", Some(Mark::Counter { name: b"queued", value: -3.0 })),
            ("S|12|a|b|7", Some(Mark::Async { begins: true, name: b"a|b", detail: b"7" })),
            ("F|12|a|7", Some(Mark::Async { begins: false, name: b"a", detail: b"7" })),
            ("I|12|vsync", Some(Mark::Instant { name: b"vsync" })),
            ("N|12|track|hit", Some(Mark::Instant { name: b"hit" })),
            ("B|12|", Some(Mark::Begin { process: Some(12), name: b"unnamed" })),
            ("S|12||7", None),
            ("trace_event_clock_sync: parent_ts=12.5", None),
            ("Bang", None),
            ("", None),
        ] {
            assert_eq!(of(b"tracing_mark_write", text.as_bytes()), expected, "{text}");
        }
        assert_eq!(of(b"print", b"0: E|1"), Some(Mark::End));
        assert_eq!(of(b"print", b"tracing_mark_write: E|1"), Some(Mark::End));
        assert_eq!(of(b"print", b"E|1"), Some(Mark::End));
        assert_eq!(of(b"0", b"E"), Some(Mark::End));
        assert_eq!(of(b"sched_switch", b"E|1"), None);
    }
}
