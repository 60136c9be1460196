//! One event: its fields, and what they mean.

use profctl_model::diag::codes::SKIPPED_RECORD;
use profctl_model::hash::FastMap;
use profctl_model::{Func, FuncKind};

use super::keys::{Key, Keys};
use super::{NO_DURATION, OTHER_EVENTS, SAMPLES};
use crate::emit::{
    At, Emitter, LaneKey, LaneRef, NameRef, PrevState, Stated, ThreadKey, ThreadName,
};
use crate::json::{Scanner, Stop, Text, scaled};
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

    /// Reads the key after the value of `before`, to where its value begins; nothing at the end of
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
        scanner.expect(b':', "a colon after the key")?;
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

/// Turns events into records; a worker has its own.
#[derive(Debug, Default)]
pub(super) struct Meaning {
    pub(super) keys: Keys,
    /// The lanes of threads that were met, by their numbers.
    lanes: FastMap<(u64, u64), LaneRef>,
    /// The one met last.
    last: Option<Last>,
}

/// A thread as its process and itself were spelled.
#[derive(Debug)]
struct Last {
    pid: Vec<u8>,
    tid: Vec<u8>,
    lane: LaneRef,
}

const NO_NAME: &[u8] = b"(unnamed)";

/// Microseconds, as nanoseconds.
#[inline]
fn nanoseconds(spelled: &[u8]) -> Option<u64> {
    scaled(spelled, 3).filter(|&time| time < u64::MAX)
}

impl Meaning {
    /// Says what an event at byte `offset` says.
    #[inline]
    pub(super) fn say(&mut self, fields: &Fields<'_>, offset: usize, out: &mut Emitter) {
        let said = match fields.phase {
            b"X" | b"B" | b"E" | b"i" | b"I" | b"R" => self.call(fields, offset, out),
            b"M" => {
                Self::metadata(fields, offset, out);
                return;
            }
            b"P" => {
                out.diag(&SAMPLES, offset, || "a sample or a part of a profile".into());
                return;
            }
            // Asynchronous spans in both spellings, flows, counters, objects, memory dumps, clock
            // synchronization, contexts, links.
            b"b" | b"n" | b"e" | b"S" | b"T" | b"p" | b"F" | b"s" | b"t" | b"f" | b"C" | b"N"
            | b"O" | b"D" | b"V" | b"v" | b"c" | b"(" | b")" | b"=" => {
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
        if let Err(expected) = said {
            out.diag(&SKIPPED_RECORD, offset, || format!("an event without {expected}"));
        }
    }

    #[inline]
    fn call(
        &mut self,
        fields: &Fields<'_>,
        offset: usize,
        out: &mut Emitter,
    ) -> Result<(), &'static str> {
        const TS: &str = "a time: expected `ts`, microseconds not below 0";
        const DUR: &str = "a length: expected `dur`, microseconds not below 0";
        let time = fields.ts.and_then(nanoseconds).ok_or(TS)?;
        let length = match fields.phase {
            b"X" => {
                fields.dur.or(fields.tdur).map(|dur| nanoseconds(dur).ok_or(DUR)).transpose()?
            }
            _ => None,
        };
        let at = At { time: Some(time), lane: self.lane(fields, out), offset };
        match (fields.phase, length) {
            (b"X", Some(length)) => {
                let name = name(fields, FuncKind::Function, out);
                out.complete(at, name, length, None);
            }
            (b"B" | b"E", _) if let Some(state) = off_cpu(fields) => {
                let nobody = out.lane(LaneKey { cpu: None, thread: ThreadKey::Unstated });
                let (prev, next) = match fields.phase {
                    b"B" => (at.lane, nobody),
                    _ => (nobody, at.lane),
                };
                out.sched_switch(at, Some(prev), state, Some(next));
            }
            (b"X" | b"B", _) => {
                if fields.phase == b"X" {
                    out.diag(&NO_DURATION, offset, || "a complete event without `dur`".into());
                }
                let name = name(fields, FuncKind::Function, out);
                out.enter(at, name, Stated::NOTHING);
            }
            (b"E", _) => {
                let name = fields.name.map(|_| name(fields, FuncKind::Function, out));
                out.exit(at, name, Stated::NOTHING);
            }
            _ => {
                let name = name(fields, FuncKind::Mark, out);
                out.instant(at, name);
            }
        }
        Ok(())
    }

    /// The names of threads. Those of processes, and how viewers should sort, do not matter.
    #[cold]
    fn metadata(fields: &Fields<'_>, offset: usize, out: &mut Emitter) {
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
        let ThreadKey::Member { pid, tid, .. } = Self::thread(fields) else { return };
        let lane = out.lane(LaneKey { cpu: None, thread: ThreadKey::Member { pid, tid, name } });
        out.name_thread(lane, offset, ThreadName { tid: Some(tid), pid: Some(pid), idle: false });
    }

    #[inline]
    fn lane(&mut self, fields: &Fields<'_>, out: &mut Emitter) -> LaneRef {
        if let (Some(last), Some(tid)) = (&self.last, fields.tid)
            && tid == last.tid
            && fields.pid == last.pid
        {
            return last.lane;
        }
        self.other_lane(fields, out)
    }

    #[inline(never)]
    fn other_lane(&mut self, fields: &Fields<'_>, out: &mut Emitter) -> LaneRef {
        let Some(ids) = ids(fields) else {
            let thread = Self::thread(fields);
            return out.lane(LaneKey { cpu: None, thread });
        };
        let (pid, tid) = ids;
        let lane = *self.lanes.entry(ids).or_insert_with(|| {
            let thread = ThreadKey::Member { pid, tid, name: String::new() };
            out.lane(LaneKey { cpu: None, thread })
        });
        if let Some(tid) = fields.tid {
            let empty = || Last { pid: Vec::new(), tid: Vec::new(), lane };
            let last = self.last.get_or_insert_with(empty);
            last.lane = lane;
            fields.pid.clone_into(&mut last.pid);
            tid.clone_into(&mut last.tid);
        }
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

/// In what state the thread leaves its CPU, where the event is how uftrace writes that it does:
/// begin and end of a function.
#[inline]
fn off_cpu(fields: &Fields<'_>) -> Option<PrevState> {
    match fields.name?.raw.strip_prefix(b"linux:schedule")? {
        b"" => Some(PrevState::Sleeping),
        b" (pre-empted)" => Some(PrevState::Preempted),
        _ => None,
    }
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

/// The function that an event names. An instant may have the name of a function.
#[inline]
fn name(fields: &Fields<'_>, kind: FuncKind, out: &mut Emitter) -> NameRef {
    let unescaped;
    let spelling = match fields.name {
        None => NO_NAME,
        Some(text) if text.escaped => {
            unescaped = text.unescape();
            &unescaped
        }
        Some(text) => text.raw,
    };
    let lossy = || String::from_utf8_lossy(spelling).into_owned();
    if kind == FuncKind::Function {
        return out.name(spelling, |_| Func { name: lossy(), ..Func::default() });
    }
    out.func(&lossy(), kind)
}
