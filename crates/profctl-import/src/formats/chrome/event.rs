//! One event: its fields, and what they mean.

use profctl_model::diag::codes::SKIPPED_RECORD;
use profctl_model::hash::FastMap;
use profctl_model::{Func, FuncKind};

use super::keys::{Key, Keys};
use super::own::{Extra, Own};
use super::{NO_DURATION, OTHER_EVENTS};
use crate::emit::{
    Emitter, Event, EventKind, LaneKey, LaneRef, NO_DEPTH, NameRef, ThreadKey, UNSTATED,
};
use crate::json::{Scanner, Stop, Text};
use crate::text::{decimal, excerpt};

/// The fields that matter, as they are spelled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Fields<'a> {
    phase: &'a [u8],
    name: Option<Text<'a>>,
    ts: Option<&'a [u8]>,
    dur: Option<&'a [u8]>,
    tdur: Option<&'a [u8]>,
    pid: &'a [u8],
    tid: Option<&'a [u8]>,
    /// All of `args`, if it is an object.
    args: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    /// Takes an event.
    #[inline]
    pub(super) fn take(scanner: &mut Scanner<'a>, keys: &mut Keys) -> Result<Self, Stop> {
        let mut fields = Self::default();
        let mut key = Key::Start;
        loop {
            let rest = scanner.rest();
            if rest.first() == Some(&b'}') && key != Key::Start {
                scanner.at += 1;
                return Ok(fields);
            }
            key = match keys.next(key, rest) {
                Some((next, length)) => {
                    scanner.at += length;
                    next
                }
                None => match Self::key(scanner, key, keys)? {
                    Some(next) => next,
                    None => return Ok(fields),
                },
            };
            fields.value(key, scanner)?;
        }
    }

    /// Reads the key behind the value of `before`, to where its value begins; nothing at the end of
    /// the event.
    fn key(scanner: &mut Scanner<'a>, before: Key, keys: &mut Keys) -> Result<Option<Key>, Stop> {
        let start = scanner.at;
        if before == Key::Start {
            scanner.expect(b'{', "an object")?;
        } else if !scanner.take(b',')? {
            scanner.expect(b'}', "a comma, or the end of the object")?;
            return Ok(None);
        }
        // A comma too many is forgiven.
        if scanner.take(b'}')? {
            return Ok(None);
        }
        let key = Key::of(scanner.string()?.raw);
        scanner.expect(b':', "a colon behind the key")?;
        scanner.peek()?;
        keys.learn(before, scanner.since(start), key);
        Ok(Some(key))
    }

    #[inline]
    fn value(&mut self, key: Key, scanner: &mut Scanner<'a>) -> Result<(), Stop> {
        match key {
            Key::Phase => self.phase = scanner.spelled()?,
            Key::Time => self.ts = Some(scanner.spelled()?),
            Key::Duration => self.dur = Some(scanner.spelled()?),
            Key::Process => self.pid = scanner.spelled()?,
            Key::Thread => self.tid = Some(scanner.spelled()?),
            Key::ThreadDuration => self.tdur = Some(scanner.spelled()?),
            Key::Name if scanner.peek()? == b'"' => self.name = Some(scanner.string()?),
            Key::Arguments if scanner.peek()? == b'{' => {
                let start = scanner.at;
                scanner.skip()?;
                self.args = Some(scanner.since(start));
            }
            _ => scanner.skip()?,
        }
        Ok(())
    }
}

/// Turns events into those of the stitcher; a worker has its own.
#[derive(Debug, Default)]
pub(super) struct Meaning {
    pub(super) own: Own,
    pub(super) keys: Keys,
    /// The lanes of threads that were met, by their numbers.
    lanes: FastMap<(u64, u64), LaneRef>,
    /// The one met last, as process and thread were spelled.
    last: Option<(Vec<u8>, Vec<u8>, LaneRef)>,
}

const NO_NAME: &[u8] = b"(unnamed)";

impl Meaning {
    pub(super) fn new(own: Own) -> Self {
        Self { own, ..Self::default() }
    }

    /// Says what an event at byte `offset` says.
    #[inline]
    pub(super) fn say(&mut self, fields: &Fields<'_>, offset: usize, out: &mut Emitter) {
        let kind = match fields.phase {
            b"X" => EventKind::Complete,
            b"B" => EventKind::Enter,
            b"E" => EventKind::Exit,
            b"i" | b"I" | b"R" => EventKind::Mark,
            b"M" => {
                self.metadata(fields, offset, out);
                return;
            }
            // Asynchronous spans in both spellings, flows, counters, objects, samples, memory
            // dumps, clock synchronisation, contexts, links.
            b"b" | b"n" | b"e" | b"S" | b"T" | b"p" | b"F" | b"s" | b"t" | b"f" | b"C" | b"N"
            | b"O" | b"D" | b"P" | b"V" | b"v" | b"c" | b"(" | b")" | b"=" => {
                out.diag(&OTHER_EVENTS, offset, || {
                    format!("an event of phase `{}`", excerpt(fields.phase))
                });
                return;
            }
            other => {
                out.diag(&SKIPPED_RECORD, offset, || {
                    format!("found phase `{}`, expected one such as B, E or X", excerpt(other))
                });
                return;
            }
        };
        if let Err(expected) = self.call(kind, fields, offset, out) {
            out.diag(&SKIPPED_RECORD, offset, || format!("an event without {expected}"));
        }
    }

    #[inline]
    fn call(
        &mut self,
        kind: EventKind,
        fields: &Fields<'_>,
        offset: usize,
        out: &mut Emitter,
    ) -> Result<(), &'static str> {
        const TS: &str = "a time: expected `ts`, microseconds not below 0";
        const DUR: &str = "a length: expected `dur`, microseconds not below 0";
        let time = fields.ts.and_then(|ts| self.own.ticks(ts)).ok_or(TS)?;
        let mut event = Event {
            time,
            duration: UNSTATED,
            extra: UNSTATED,
            name: NameRef::ANONYMOUS,
            lane: LaneRef(0),
            offset: offset as u32,
            depth: NO_DEPTH,
            kind,
        };
        if kind == EventKind::Complete {
            match fields.dur.or(fields.tdur) {
                Some(dur) => event.duration = self.own.ticks(dur).ok_or(DUR)?,
                None => {
                    out.diag(&NO_DURATION, offset, || "a complete event without `dur`".into());
                    event.kind = EventKind::Enter;
                }
            }
        }
        if self.own.ours
            && let Some(extra) = fields.args.and_then(Extra::find)
        {
            say_more(event, fields, &extra, out);
            return Ok(());
        }
        event.lane = self.lane(fields, out);
        event.name = match fields.name {
            None if kind == EventKind::Exit => NameRef::ANONYMOUS,
            None => name(NO_NAME, kind, out),
            Some(text) if text.escaped => name(&text.unescape(), kind, out),
            Some(text) => name(text.raw, kind, out),
        };
        out.push(event);
        Ok(())
    }

    /// The names of threads. Those of processes, and how viewers should sort, do not matter.
    #[cold]
    fn metadata(&mut self, fields: &Fields<'_>, offset: usize, out: &mut Emitter) {
        if fields.name.is_none_or(|name| name.raw != b"thread_name") {
            return;
        }
        let Some(args) = fields.args else { return };
        let mut name = None;
        let _ = Scanner::new(args, 0).object(|scanner, key| {
            if key.raw == b"name" && scanner.peek()? == b'"' {
                name = Some(scanner.string()?.to_string_lossy());
                return Ok(());
            }
            scanner.skip()
        });
        let Some(name) = name else { return };
        let extra = if self.own.ours { Extra::find(args) } else { None }.unwrap_or_default();
        let ThreadKey::Member { pid, tid, .. } = Self::thread(fields) else { return };
        let lane = LaneKey { cpu: None, thread: ThreadKey::Member { pid, tid, name } };
        let event = Event {
            time: UNSTATED,
            duration: extra.tid.unwrap_or(tid),
            extra: extra.pid.unwrap_or(pid),
            name: NameRef::ANONYMOUS,
            lane: out.lane(lane),
            offset: offset as u32,
            depth: u16::from(extra.idle),
            kind: EventKind::Describe,
        };
        out.push(event);
    }

    #[inline]
    fn lane(&mut self, fields: &Fields<'_>, out: &mut Emitter) -> LaneRef {
        if let (Some((pid, tid, lane)), Some(spelled)) = (&self.last, fields.tid)
            && fields.pid == pid
            && spelled == tid
        {
            return *lane;
        }
        let Some(ids) = ids(fields) else {
            let thread = Self::thread(fields);
            return out.lane(LaneKey { cpu: None, thread });
        };
        let (pid, tid) = ids;
        let lane = *self.lanes.entry(ids).or_insert_with(|| {
            let thread = ThreadKey::Member { pid, tid, name: String::new() };
            out.lane(LaneKey { cpu: None, thread })
        });
        self.last = fields.tid.map(|tid| (fields.pid.to_vec(), tid.to_vec(), lane));
        lane
    }

    fn thread(fields: &Fields<'_>) -> ThreadKey {
        if let Some((pid, tid)) = ids(fields) {
            return ThreadKey::Member { pid, tid, name: String::new() };
        }
        match (fields.pid, fields.tid) {
            (b"", None) => ThreadKey::Unstated,
            (pid, None) => ThreadKey::Named(excerpt(pid)),
            (b"", Some(tid)) => ThreadKey::Named(excerpt(tid)),
            (pid, Some(tid)) => ThreadKey::Named(format!("{}/{}", excerpt(pid), excerpt(tid))),
        }
    }
}

/// An event of our own export that says more than its standard fields can.
#[cold]
fn say_more(mut event: Event, fields: &Fields<'_>, extra: &Extra<'_>, out: &mut Emitter) {
    event.time = extra.time.unwrap_or(event.time);
    event.depth = extra.depth.unwrap_or(NO_DEPTH);
    let thread = Meaning::thread(fields);
    event.lane = out.lane(LaneKey { cpu: extra.cpu, thread });
    if extra.gap {
        event.lane = out.lane(LaneKey { cpu: extra.cpu, thread: ThreadKey::Unstated });
        event.kind = EventKind::Gap;
        event.duration = extra.lost.unwrap_or(UNSTATED);
        event.extra = 0;
        out.push(event);
        return;
    }
    let spelled = fields.name.map_or(NO_NAME.into(), Text::unescape);
    let by_event = if event.kind == EventKind::Mark { FuncKind::Mark } else { FuncKind::Function };
    let kind = extra.kind.unwrap_or(by_event);
    let module = extra.module.map(Text::to_string_lossy);
    let spelling = [&spelled[..], b"\0", module.as_deref().unwrap_or("\0").as_bytes()].concat();
    event.name = out.name(&spelling, |_| Func {
        name: String::from_utf8_lossy(&spelled).into_owned(),
        module: module.clone(),
        kind,
        address: extra.address,
    });
    if event.kind == EventKind::Complete {
        event.duration = extra.duration.unwrap_or(event.duration);
        event.extra = extra.account.map_or(UNSTATED, |account| out.account(account));
    }
    out.push(event);
}

/// The numbers of process and thread. Without a thread it is the first of its process, which on
/// most systems has the same number.
#[inline]
fn ids(fields: &Fields<'_>) -> Option<(u64, u64)> {
    let pid = decimal(fields.pid, 0);
    match (pid, fields.tid) {
        (Some(pid), None) => Some((pid, pid)),
        (pid, Some(tid)) if pid.is_some() || fields.pid.is_empty() => {
            Some((pid.unwrap_or(0), decimal(tid, 0)?))
        }
        _ => None,
    }
}

#[inline]
fn name(spelling: &[u8], kind: EventKind, out: &mut Emitter) -> NameRef {
    let kind = if kind == EventKind::Mark { FuncKind::Mark } else { FuncKind::Function };
    out.name(spelling, |spelling| Func {
        name: String::from_utf8_lossy(spelling).into_owned(),
        kind,
        ..Func::default()
    })
}
