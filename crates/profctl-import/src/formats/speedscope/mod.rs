//! The file format of speedscope, the viewer: frames, and profiles that name them by number. An
//! evented profile holds entries and exits, a sampled one stacks with weights.
//!
//! Frames may be after the profiles that use them, so the file is read as a whole.

use profctl_model::{Code, Severity, TickUnit};

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::files::Files;
use crate::json::{self, Scanner};
use crate::text;

mod file;
mod profile;
mod read;
#[cfg(test)]
mod tests;

/// The importer of `speedscope`.
pub struct Profiles;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "speedscope",
    about: "profiles for speedscope, by rbspy, py-spy, .NET, Clinic, hotspot and many converters",
    recognized: "an object whose `$schema` is speedscope's",
    extensions: &[".speedscope.json"],
    codes: &[&OTHER_UNIT, &UNKNOWN_FRAME],
};

/// A profile in another unit than the first.
pub static OTHER_UNIT: Code = Code {
    name: "speedscope/other-unit",
    severity: Severity::Error,
    help: "profiles have different units (time, bytes, none): only those compatible with the \
           first one were read",
};

/// A frame that the file does not describe.
pub static UNKNOWN_FRAME: Code = Code {
    name: "speedscope/unknown-frame",
    severity: Severity::Warning,
    help: "an event refers to a frame that the file does not define, as when it is truncated: \
           the call is named by the number of the frame",
};

const SCHEMA: &[u8] = b"www.speedscope.app/file-format-schema.json";

impl Importer for Profiles {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let head = probe.head;
        let is_object = json::looks_like_json(head)
            && Scanner::new(head, text::after_byte_order_mark(head)).peek() == Ok(b'{');
        if is_object && memchr::memmem::find(head, SCHEMA).is_some() {
            return Recognition::Yes("`$schema` is speedscope's".into());
        }
        Recognition::No
    }

    fn open(&self, files: &dyn Files, _options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = &*super::all_bytes(files)?;
        let file = file::File::new(head);
        let unit = file.unit();
        let mut facts = vec![("profiles", file.profiles.len().to_string())];
        if unit.unit == TickUnit::Cycles {
            let unit = String::from_utf8_lossy(file.first_unit()).into_owned();
            facts.push(("unit", format!("{unit}, shown as cycles")));
        }
        Ok(Opened::lines(super::recorded(unit.unit), Box::new(read::Whole))
            .with_facts(facts)
            .in_one_block())
    }
}
