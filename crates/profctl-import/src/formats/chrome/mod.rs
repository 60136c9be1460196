//! Trace events in JSON, as browsers' tracing, viewers of it and a hundred tools write them: an
//! array of events, or an object that holds one under `traceEvents`.
//!
//! [`read`] walks over the text whatever block it is cut into, [`event`] says what one event means.

use std::sync::Arc;

use profctl_model::{Code, Severity, Ticks, Timebase};

use super::cpuprofile::are_samples;
use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::files::Files;
use crate::json::{self, Scanner, Stop};
use crate::sort::Order;
use crate::text;

mod event;
mod head;
mod keys;
mod read;
#[cfg(test)]
mod tests;

use head::Head;
use read::Position;

/// The importer of `chrome`.
pub struct TraceEvents;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "chrome",
    about: "trace-event JSON of Chrome, Perfetto's legacy viewer, uftrace, viztracer and many tools",
    recognized: "an array of objects with `ph`, or an object with `traceEvents`",
    codes: &[&OTHER_EVENTS, &SAMPLES, &NO_DURATION],
    ..Descriptor::PLAIN
};

/// Events that are not calls.
pub static OTHER_EVENTS: Code = Code {
    name: "chrome/other-events",
    severity: Severity::Info,
    help: "asynchronous spans, flows, counters, object snapshots and memory dumps are not calls \
           of a thread and are not read",
};

/// Stacks that were sampled.
pub static SAMPLES: Code = Code {
    name: "chrome/samples",
    severity: Severity::Warning,
    help: "the file also has sampled stacks, which have no entries and exits and are not read: \
           `--format cpuprofile` reads only these",
};

/// A complete event without a length.
pub static NO_DURATION: Code = Code {
    name: "chrome/no-duration",
    severity: Severity::Warning,
    help: "a complete event (`X`) without `dur` and `tdur`: the call counts as open until its \
           caller ends",
};

impl Importer for TraceEvents {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let head = probe.head;
        if !json::looks_like_json(head) || !text::looks_like_text(head) || are_samples(head) {
            return Recognition::No;
        }
        let mut scanner = Scanner::new(head, text::after_byte_order_mark(head));
        match scanner.peek() {
            Ok(b'[') => match sniff_array(&mut scanner) {
                Ok(true) if phase_is_near(head) => {
                    Recognition::Yes("an array of objects with `ph`".into())
                }
                _ => Recognition::No,
            },
            Ok(b'{') if has_key(scanner, b"traceEvents") && phase_is_near(head) => {
                Recognition::Yes("an object with `traceEvents`".into())
            }
            _ => Recognition::No,
        }
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = super::head(files)?;
        let head = &*head.bytes;
        let found = Head::new(head);
        let order = match options.dialect.as_deref() {
            None => found.order,
            Some("sorted") => Order::Nearly,
            Some("unsorted") => Order::Any,
            Some(other) => {
                let message = format!("found dialect `{other}`, expected sorted or unsorted");
                return Err(ImportError::whole(message));
            }
        };
        let timebase = Timebase { resolution: Ticks(found.step), ..Timebase::NANOSECONDS };
        Ok(Opened::records(timebase, Box::new(read::Events::new(order)))
            .with_facts(vec![("order", order_fact(order).to_owned())])
            .with_state(Arc::new(Position::default())))
    }
}

fn order_fact(order: Order) -> &'static str {
    match order {
        Order::Any => "calls in the order of their ends, or unordered: sorted in memory",
        Order::AsWritten | Order::Nearly => "by time, per thread",
    }
}

/// Whether the first element of an array is an object.
fn sniff_array(scanner: &mut Scanner<'_>) -> Result<bool, Stop> {
    scanner.expect(b'[', "an array")?;
    Ok(scanner.peek()? == b'{')
}

/// Whether one of the first objects has a phase.
fn phase_is_near(head: &[u8]) -> bool {
    memchr::memmem::find(head, b"\"ph\"").is_some()
}

/// Whether an object has `key` at its top, as far as it can be seen.
fn has_key(mut scanner: Scanner<'_>, wanted: &[u8]) -> bool {
    let mut found = false;
    // The head ends in the middle of most values: what was seen before counts.
    let _ = scanner.object(|scanner, key| {
        found |= key.raw == wanted;
        if found { Err(Stop::End) } else { scanner.skip() }
    });
    found
}
