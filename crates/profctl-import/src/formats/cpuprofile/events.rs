//! Sampled stacks among trace events: profiles that V8 writes in parts (`Profile`, `ProfileChunk`),
//! and samples with a frame (`sf`) of a list of frames (`stackFrames`).
//!
//! ```text
//! {"ph": "P", "name": "Profile", "id": "0x1", "pid": 7, "tid": 7, "args": {"data": {"startTime": 100}}}
//! {"ph": "P", "name": "ProfileChunk", "id": "0x1", "pid": 7, "tid": 9, "args": {"data":
//!     {"cpuProfile": {"nodes": […], "samples": [2, 3]}, "timeDeltas": [10, 20]}}}
//! {"ph": "P", "name": "cycles", "pid": 7, "tid": 7, "ts": 100, "sf": "5"}
//! ```

use std::collections::BTreeMap;

use super::read::{Node, Profile, Stopped, signed};
use crate::emit::ThreadKey;
use crate::json::{self, Scanner, Stop, Text};
use crate::text::{self, decimal};

/// Whether a file consists of trace events.
pub(super) fn are_events(head: &[u8]) -> bool {
    let first = Scanner::new(head, text::after_byte_order_mark(head)).peek();
    first == Ok(b'[') || memchr::memmem::find(head, b"\"traceEvents\"").is_some()
}

/// Whether a file has trace events that are sampled stacks, and none that are calls, as far as can
/// be seen from its beginning.
pub fn are_samples(head: &[u8]) -> bool {
    let has_phase = |phase: &str| {
        let spelled = [format!("\"ph\":\"{phase}\""), format!("\"ph\": \"{phase}\"")];
        spelled.iter().any(|key| memchr::memmem::find(head, key.as_bytes()).is_some())
    };
    json::looks_like_json(head)
        && are_events(head)
        && has_phase("P")
        && !["X", "B", "E"].into_iter().any(has_phase)
}

/// A sample with a frame: its time, the number of the frame.
type Sample = (u64, u64);

#[derive(Default)]
struct Events<'a> {
    /// By process and id.
    profiles: BTreeMap<(u64, &'a [u8]), (u64, Profile<'a>)>,
    /// By process and thread.
    samples: BTreeMap<(u64, u64), Vec<Sample>>,
    frames: Vec<Node<'a>>,
    /// Names of threads.
    names: BTreeMap<(u64, u64), String>,
}

/// The samples of each thread.
pub(super) fn profiles(bytes: &[u8]) -> (Vec<(ThreadKey, Profile<'_>)>, Stopped) {
    let mut events = Events::default();
    let mut scanner = Scanner::new(bytes, text::after_byte_order_mark(bytes));
    let read = if scanner.peek() == Ok(b'[') {
        scanner.array(|scanner| events.event(scanner))
    } else {
        scanner.object(|scanner, key| match key.raw {
            b"traceEvents" | b"samples" => scanner.array(|scanner| events.event(scanner)),
            b"stackFrames" => scanner.object(|scanner, id| events.frame(scanner, id)),
            _ => scanner.skip(),
        })
    };
    let stopped = read.err().map(|stop| (scanner.at, stop));
    (events.threads(), stopped)
}

/// A number, in hexadecimal or not.
fn number(text: &[u8]) -> u64 {
    decimal(text, 0).unwrap_or_else(|| {
        let text = std::str::from_utf8(text).unwrap_or_default();
        u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap_or(u64::MAX)
    })
}

impl<'a> Events<'a> {
    /// Takes a trace event, or an element of `samples`.
    fn event(&mut self, scanner: &mut Scanner<'a>) -> Result<(), Stop> {
        let (mut name, mut id, mut arguments): (&[u8], &[u8], _) = (b"", b"", None);
        let (mut pid, mut tid, mut time, mut frame) = (0, None, None, None);
        scanner.object(|scanner, key| {
            match key.raw {
                b"name" if scanner.peek()? == b'"' => name = scanner.string()?.raw,
                b"id" => id = scanner.spelled()?,
                b"pid" => pid = number(scanner.spelled()?),
                b"tid" => tid = Some(number(scanner.spelled()?)),
                b"ts" => time = u64::try_from(signed(scanner.spelled()?)).ok(),
                b"sf" => frame = Some(number(scanner.spelled()?)),
                b"args" if scanner.peek()? == b'{' => {
                    let start = scanner.at;
                    scanner.skip()?;
                    arguments = Some(start);
                }
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        let tid = tid.unwrap_or(pid);
        if let (Some(frame), Some(time)) = (frame, time) {
            self.samples.entry((pid, tid)).or_default().push((time, frame));
        }
        let Some(start) = arguments else { return Ok(()) };
        let after = std::mem::replace(&mut scanner.at, start);
        match name {
            // Another thread may write the parts.
            b"Profile" | b"ProfileChunk" => {
                let profile = self.profiles.entry((pid, id)).or_default();
                if name == b"Profile" || profile.0 == 0 {
                    profile.0 = tid;
                }
                part(scanner, &mut profile.1)?;
            }
            b"thread_name" => scanner.object(|scanner, key| {
                if key.raw == b"name" && scanner.peek()? == b'"' {
                    self.names.insert((pid, tid), scanner.string()?.to_string_lossy());
                    return Ok(());
                }
                scanner.skip()
            })?,
            _ => {}
        }
        scanner.at = after;
        Ok(())
    }

    /// Takes an element of `stackFrames`.
    fn frame(&mut self, scanner: &mut Scanner<'a>, id: Text<'a>) -> Result<(), Stop> {
        let empty = Text { raw: b"", escaped: false };
        let (mut name, mut module, mut parent) = (empty, empty, None);
        scanner.object(|scanner, key| {
            match key.raw {
                b"name" if scanner.peek()? == b'"' => name = scanner.string()?,
                b"category" if scanner.peek()? == b'"' => module = scanner.string()?,
                b"parent" => parent = Some(number(scanner.spelled()?)),
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        self.frames.push(Node::frame(number(id.raw), parent, name, module));
        Ok(())
    }

    fn threads(self) -> Vec<(ThreadKey, Profile<'a>)> {
        let mut threads: Vec<(ThreadKey, Profile<'a>)> = Vec::new();
        let mut seen = BTreeMap::new();
        for ((pid, _), (tid, mut profile)) in self.profiles {
            profile.link();
            let n = seen.entry((pid, tid)).or_insert(0_u32);
            *n += 1;
            let name = self.names.get(&(pid, tid)).cloned().unwrap_or_default();
            // A thread may have been sampled by several at a time.
            let thread = match n {
                1 => ThreadKey::Member { pid, tid, name },
                n => ThreadKey::Named(format!("{name}-{tid}, profile {n}")),
            };
            threads.push((thread, profile));
        }
        let mut frames = Profile { nodes: self.frames, ..Profile::default() };
        frames.link();
        for ((pid, tid), mut samples) in self.samples {
            samples.sort_by_key(|(time, _)| *time);
            let start = samples.first().map_or(0, |(time, _)| *time);
            let name = self.names.get(&(pid, tid)).cloned().unwrap_or_default();
            let mut profile = Profile { start, ..frames.clone() };
            let mut before = start;
            for (time, frame) in samples {
                profile.samples.push(frame);
                profile.deltas.push(time.saturating_sub(before).try_into().unwrap_or(i64::MAX));
                before = time;
            }
            threads.push((ThreadKey::Member { pid, tid, name }, profile));
        }
        threads
    }
}

/// Takes a profile, or a part of one: `{"data": {"cpuProfile": {"nodes": …}, "timeDeltas": …}}`.
fn part<'a>(scanner: &mut Scanner<'a>, profile: &mut Profile<'a>) -> Result<(), Stop> {
    if scanner.peek()? != b'{' {
        return scanner.skip();
    }
    scanner.object(|scanner, key| match key.raw {
        b"data" | b"cpuProfile" => part(scanner, profile),
        key => profile.member(scanner, key),
    })
}
