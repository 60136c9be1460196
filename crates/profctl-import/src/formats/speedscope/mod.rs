//! The file format of speedscope, the viewer: frames, and profiles that name them by number. An
//! evented profile holds entries and exits, a sampled one stacks with weights.
//!
//! Frames may stand behind the profiles that use them, so the file is read as a whole.

use std::sync::Arc;

use profctl_model::{Code, Severity, TickUnit, Ticks, Timebase, Timeline};

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Verdict};
use crate::json::{self, Scanner};
use crate::text;

mod file;
mod profile;
mod read;
#[cfg(test)]
mod tests;

/// See the module.
pub struct Profiles;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "speedscope",
    about: "profiles for speedscope, by rbspy, py-spy, .NET, Clinic, hotspot and many converters",
    recognised: "an object whose `$schema` is speedscope's",
};

/// A profile in another unit than the first.
pub static OTHER_UNIT: Code = Code {
    name: "speedscope/other-unit",
    severity: Severity::Error,
    help: "one profile counts time and another bytes or nothing in particular: only those that \
           measure as the first one does were read",
};

/// A frame that the file does not describe.
pub static UNKNOWN_FRAME: Code = Code {
    name: "speedscope/unknown-frame",
    severity: Severity::Warning,
    help: "an event names a frame that the file does not describe, as when it was cut: the call \
           is called by the frame's number",
};

const SCHEMA: &[u8] = b"www.speedscope.app/file-format-schema.json";

impl Importer for Profiles {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, head: &[u8], _whole: bool) -> Verdict {
        let is_object = json::looks_like_json(head)
            && Scanner::new(head, text::after_byte_order_mark(head)).peek() == Ok(b'{');
        if is_object && memchr::memmem::find(head, SCHEMA).is_some() {
            return Verdict::Yes("`$schema` is speedscope's".into());
        }
        Verdict::No
    }

    fn open(&self, head: &[u8], _options: &ImportOptions) -> Result<Opened, ImportError> {
        let file = file::File::new(head);
        let unit = file.unit();
        let own = &file.own;
        let mut facts = vec![("profiles", file.profiles.len().to_string())];
        if own.ours {
            facts.push(("written by", "profctl".into()));
        } else if unit.unit == TickUnit::Cycles {
            let unit = String::from_utf8_lossy(file.first_unit()).into_owned();
            facts.push(("unit", format!("{unit}, shown as cycles")));
        }
        Ok(Opened {
            timebase: Timebase {
                unit: unit.unit,
                resolution: own.resolution.unwrap_or(Ticks(1)),
                timeline: Timeline::Recorded,
            },
            counter_bits: None,
            has_lines: true,
            leaf_ends_are_stamps: true,
            exits_may_be_late: false,
            whole: true,
            initial: Vec::new(),
            facts,
            reader: Box::new(read::Whole),
            state: Arc::new(()),
        })
    }
}
