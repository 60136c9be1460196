//! A whole file to events, profile by profile.

use profctl_model::Func;
use profctl_model::hash::FastMap;

use super::OTHER_UNIT;
use super::file::{self, File, Frame, Profile};
use super::profile::Context;
use crate::emit::{Emitter, LaneKey, LaneRef, NameRef, ThreadKey};
use crate::formats::{Block, Reader, State};
use crate::json::Text;
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
        let mut same_name = FastMap::default();
        let mut stopped = file.stopped;
        for (number, profile) in file.profiles.iter().enumerate() {
            let own_unit = file::unit(profile.unit);
            if own_unit.unit != unit.unit {
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
                unit: own_unit,
                lane: lane(profile, number, &mut same_name, out),
            };
            // Where a list cannot be followed, the file could not be either.
            stopped = context.say(profile, out).err().or(stopped);
        }
        if let Some((at, stop)) = stopped {
            stop.report(block, at, out);
        }
        None
    }
}

/// The function of a frame. The file that it is in is its module.
fn name(frame: &Frame<'_>, out: &mut Emitter) -> NameRef {
    let name = frame.name.map_or("(unnamed)".into(), Text::to_string_lossy);
    let file = frame.file.map(Text::to_string_lossy);
    let of_file = file.as_deref().and_then(|path| path.rsplit(['/', '\\']).next());
    let module = of_file.filter(|file| !file.is_empty()).map(str::to_owned);
    let spelling = [name.as_bytes(), b"\0", module.as_deref().unwrap_or("\0").as_bytes()].concat();
    out.name(&spelling, |_| Func { name: name.clone(), module: module.clone(), ..Func::default() })
}

/// The thread of a profile: by its name, and by its number if another has the same.
fn lane(
    profile: &Profile<'_>,
    number: usize,
    same_name: &mut FastMap<String, u32>,
    out: &mut Emitter,
) -> LaneRef {
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
