//! A whole file to events, profile by profile.

use profctl_model::Func;
use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};
use profctl_model::hash::FastMap;

use super::OTHER_UNIT;
use super::file::{File, Frame, Profile};
use super::profile::Context;
use crate::emit::{
    Emitter, Event, EventKind, LaneKey, LaneRef, NO_DEPTH, NameRef, ThreadKey, UNSTATED,
};
use crate::formats::{Block, Reader, State};
use crate::json::{Stop, Text};
use crate::text;

/// Reads a whole file.
pub(super) struct Whole;

impl Reader for Whole {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self)
    }

    fn boundary(&self, _bytes: &[u8]) -> usize {
        // Only the end of the file is one.
        0
    }

    fn read(&mut self, block: &Block<'_>, _state: &State, out: &mut Emitter) -> Option<State> {
        let block = block.bytes;
        out.lines += memchr::memchr_iter(b'\n', block).count() as u64;
        let file = File::new(block);
        let names: Vec<NameRef> = file.frames.iter().map(|frame| name(frame, out)).collect();
        let unit = file.unit();
        if file.own.ours {
            say_span(&file, out);
        }
        let mut same_name = FastMap::default();
        let mut stopped = file.stopped;
        for (number, profile) in file.profiles.iter().enumerate() {
            if file.unit_of(profile.unit).unit != unit.unit {
                out.diag(&OTHER_UNIT, profile.at, || {
                    let (unit, first) = (profile.unit, file.first_unit());
                    let shown = [unit, first].map(text::excerpt);
                    format!("a profile in {}, the first is in {}", shown[0], shown[1])
                });
                continue;
            }
            let context = Context {
                bytes: block,
                names: &names,
                unit: file.unit_of(profile.unit),
                lane: lane(profile, number, &mut same_name, out),
                ours: file.own.ours,
            };
            // Where a list cannot be followed, the file could not be either.
            stopped = context.say(profile, out).err().or(stopped);
        }
        if let Some((at, stop)) = stopped {
            complain(block, at, stop, out);
        }
        None
    }
}

fn complain(block: &[u8], at: usize, stop: Stop, out: &mut Emitter) {
    let shown = text::excerpt(&block[at.min(block.len())..]);
    match stop {
        Stop::End => out.diag(&CUT_RECORD, at, || "the file ends before its last brace".into()),
        Stop::Expected(expected) => out.diag(&SKIPPED_RECORD, at, || {
            format!("found `{shown}`, expected {expected}: nothing behind it was read")
        }),
    }
}

/// The function of a frame. The file that it is in is its module.
fn name(frame: &Frame<'_>, out: &mut Emitter) -> NameRef {
    let name = frame.name.map_or("(unnamed)".into(), Text::to_string_lossy);
    let file = frame.file.map(Text::to_string_lossy);
    let of_file = file.as_deref().and_then(|path| path.rsplit(['/', '\\']).next());
    let of_file = of_file.filter(|file| !file.is_empty()).map(str::to_owned);
    let module = frame.module.map(Text::to_string_lossy).or(of_file);
    let spelling = [name.as_bytes(), b"\0", module.as_deref().unwrap_or("\0").as_bytes()].concat();
    let (kind, address) = (frame.kind, frame.address);
    out.name(&spelling, |_| Func { name: name.clone(), module: module.clone(), kind, address })
}

/// The thread of a profile: by its name, and by its number if another has the same.
fn lane(
    profile: &Profile<'_>,
    number: usize,
    same_name: &mut FastMap<String, u32>,
    out: &mut Emitter,
) -> LaneRef {
    if let Some(thread) = profile.thread {
        let name = thread.name.map_or(String::new(), Text::to_string_lossy);
        let key = ThreadKey::Member { pid: 0, tid: number as u64, name };
        let lane = out.lane(LaneKey { cpu: None, thread: key });
        out.push(Event {
            time: UNSTATED,
            duration: thread.tid.unwrap_or(UNSTATED),
            extra: thread.pid.unwrap_or(UNSTATED),
            name: NameRef::ANONYMOUS,
            lane,
            offset: profile.at as u32,
            depth: u16::from(thread.idle),
            kind: EventKind::Describe,
        });
        return lane;
    }
    let name = profile.name.map_or(String::new(), Text::to_string_lossy);
    let n = same_name.entry(name.clone()).or_default();
    *n += 1;
    let thread = match (name.as_str(), *n) {
        ("", _) => ThreadKey::Named(format!("profile {}", number + 1)),
        (_, 1) => ThreadKey::Named(name),
        _ => ThreadKey::Named(format!("{name} ({n})")),
    };
    out.lane(LaneKey { cpu: None, thread })
}

/// What our own export says of the time from the first to the last record.
fn say_span(file: &File<'_>, out: &mut Emitter) {
    let lane = out.lane(LaneKey { cpu: None, thread: ThreadKey::Unstated });
    for time in [file.own.first, file.own.last].into_iter().flatten() {
        out.push(Event {
            time,
            duration: UNSTATED,
            extra: u64::from(file.own.knows_off_cpu),
            name: NameRef::ANONYMOUS,
            lane,
            offset: 0,
            depth: NO_DEPTH,
            kind: EventKind::Pass,
        });
    }
}
