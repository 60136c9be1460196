//! Profiles of the Firefox Profiler, processed: what profiler.firefox.com saves, what samply and
//! `perf script gecko` write. Stacks that were sampled, and markers.
//!
//! ```text
//! {"meta": {"interval": 1, "preprocessedProfileVersion": 48, …}, "threads": [{"name": "main", "pid": 1, "tid": 2,
//!  "samples": {"stack": [0, 1, null], "time": [5.0, 6.0, 7.0], "weight": null}, "markers": {…},
//!  "stackTable": {"prefix": [null, 0], "frame": [0, 1]}, "frameTable": {"func": [0, 1]},
//!  "funcTable": {"name": [0, 1], "resource": [-1, 0]}, "stringArray": ["main", "work"]}]}
//! ```
//!
//! Tables are columns; later versions keep those of all threads in `shared`.

use profctl_model::{TickUnit, Ticks, Timebase, Timeline};

use super::{
    Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition, all_bytes,
};
use crate::files::Files;
use crate::json::{self, Scanner};
use crate::text;

mod parse;
mod read;
#[cfg(test)]
mod tests;

use parse::{Profile, Thread};

/// The format `firefox`.
pub struct FirefoxProfile;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "firefox",
    about: "profile of the Firefox Profiler, samply or perf script gecko: samples, or markers",
    recognized: "an object whose `meta` has a `preprocessedProfileVersion`",
    ..Descriptor::PLAIN
};

/// What of a profile is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Mode {
    /// Sampled stacks, summed up.
    Samples,
    /// Markers, as calls.
    Markers,
}

impl Importer for FirefoxProfile {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let head = probe.head;
        let is_object = json::looks_like_json(head)
            && Scanner::new(head, text::after_byte_order_mark(head)).peek() == Ok(b'{');
        let has = |key: &[u8]| memchr::memmem::find(head, key).is_some();
        if !is_object || has(b"\"traceEvents\"") {
            return Recognition::No;
        }
        if has(b"\"preprocessedProfileVersion\"") {
            return Recognition::Yes("`meta` with a `preprocessedProfileVersion`".into());
        }
        if has(b"\"meta\"") && has(b"\"gcpoison\"") {
            return Recognition::Neighbor(
                "is a raw profile of Firefox: open it in profiler.firefox.com and save it there"
                    .into(),
            );
        }
        Recognition::No
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let bytes = all_bytes(files)?;
        let profile = Profile::new(&bytes);
        let samples: usize = profile.threads.iter().map(Thread::samples).sum();
        let markers: usize = profile.threads.iter().map(Thread::markers).sum();
        let mode = match (options.dialect.as_deref(), samples) {
            (Some("samples"), _) | (None, 1..) => Mode::Samples,
            (Some("markers"), _) | (None, 0) => Mode::Markers,
            (Some(other), _) => {
                let message = format!("found dialect `{other}`, expected samples or markers");
                return Err(ImportError::whole(message));
            }
        };
        if profile.threads.is_empty() {
            return Err(ImportError::whole("a profile without `threads`"));
        }
        let (timeline, what) = match mode {
            Mode::Samples => {
                (Timeline::Synthetic, "samples, summed up (`--dialect markers` reads the markers)")
            }
            Mode::Markers => {
                (Timeline::Recorded, "markers (`--dialect samples` reads the samples)")
            }
        };
        let mut facts = vec![("product", profile.product.clone())];
        facts.retain(|(_, value)| !value.is_empty());
        facts.push(("version", profile.version.to_string()));
        facts.push(("threads", profile.threads.len().to_string()));
        facts.push(("samples", samples.to_string()));
        facts.push(("markers", markers.to_string()));
        facts.push(("read", what.to_owned()));
        let timebase = Timebase {
            unit: TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 },
            resolution: Ticks(1),
            timeline,
        };
        let reader = read::Whole { mode };
        Ok(Opened::lines(timebase, Box::new(reader)).with_facts(facts).in_one_block())
    }
}
