//! CPU profiles of V8: `node --cpu-prof`, the profiler of Chrome's developer tools, Deno, VS Code.
//! Stacks that were sampled, as a tree of calls and a list of its nodes.
//!
//! ```text
//! {"nodes": [{"id": 1, "callFrame": {"functionName": "f", "url": …, "lineNumber": 0}, "children": [2]}, …],
//!  "startTime": 6523927231, "endTime": 6524088346, "samples": [2, 7, …], "timeDeltas": [17429, …]}
//! ```
//!
//! Times are microseconds. A sample stands for the time until the next, the last one until the end.
//!
//! The same in parts, as trace events ([`events`]).

use profctl_model::{TickUnit, Ticks, Timebase, Timeline};

use super::{
    Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition, all_bytes,
};
use crate::emit::ThreadKey;
use crate::files::Files;
use crate::json::{self, Scanner};
use crate::text;

mod events;
mod read;
#[cfg(test)]
mod tests;

pub use events::are_samples;
use read::{Profile, Stopped};

/// The importer of `cpuprofile`.
pub struct CpuProfile;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "cpuprofile",
    about: "CPU profile of V8: node --cpu-prof, Chrome's developer tools, Deno (.cpuprofile)",
    recognized: "an object with `nodes` that have a `callFrame`; trace events that are sampled stacks",
    extensions: &[".cpuprofile"],
    ..Descriptor::PLAIN
};

impl Importer for CpuProfile {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let head = probe.head;
        if are_samples(head) {
            return Recognition::Yes("trace events that are sampled stacks".into());
        }
        let is_object = json::looks_like_json(head)
            && Scanner::new(head, text::after_byte_order_mark(head)).peek() == Ok(b'{');
        let has = |key: &[u8]| memchr::memmem::find(head, key).is_some();
        if is_object && has(b"\"nodes\"") && has(b"\"callFrame\"") && !has(b"\"traceEvents\"") {
            return Recognition::Yes("`nodes` with a `callFrame`".into());
        }
        Recognition::No
    }

    fn open(&self, files: &dyn Files, _options: &ImportOptions) -> Result<Opened, ImportError> {
        let bytes = all_bytes(files)?;
        let (profiles, _) = profiles(&bytes);
        if profiles.iter().all(|(_, profile)| profile.nodes.is_empty()) {
            return Err(ImportError::whole("a CPU profile without `nodes`"));
        }
        let samples: usize = profiles.iter().map(|(_, profile)| profile.samples.len()).sum();
        let timebase = Timebase {
            unit: TickUnit::Seconds { numerator: 1, denominator: 1_000_000 },
            resolution: Ticks(1),
            timeline: Timeline::Recorded,
        };
        let facts = vec![("samples", samples.to_string())];
        Ok(Opened::lines(timebase, Box::new(read::Whole)).with_facts(facts).in_one_block())
    }
}

/// The samples of each thread.
fn profiles(bytes: &[u8]) -> (Vec<(ThreadKey, Profile<'_>)>, Stopped) {
    if events::are_events(bytes) {
        return events::profiles(bytes);
    }
    let (profile, stopped) = Profile::new(bytes);
    (vec![(ThreadKey::Named("main".into()), profile)], stopped)
}
