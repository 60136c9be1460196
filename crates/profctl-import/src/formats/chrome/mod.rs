//! Trace events in JSON, as browsers' tracing, viewers of it and a hundred tools write them: an
//! array of events, or an object that holds one under `traceEvents`.
//!
//! [`read`] walks over the text whatever block it is cut into, [`event`] says what one event means,
//! [`own`] knows what our own export adds.

use std::sync::Arc;

use profctl_model::{Code, Severity, TickUnit, Ticks, Timebase, Timeline};

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Verdict};
use crate::json::{self, Scanner, Stop};
use crate::sort::Order;
use crate::text;

mod event;
mod head;
mod keys;
mod own;
mod read;
#[cfg(test)]
mod tests;

use head::Head;
use read::Position;

/// See the module.
pub struct TraceEvents;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "chrome",
    about: "trace-event JSON of Chrome, Perfetto's legacy viewer, uftrace, viztracer and many tools",
    recognised: "an array of objects with `ph`, or an object with `traceEvents`",
};

/// Events that are no calls.
pub static OTHER_EVENTS: Code = Code {
    name: "chrome/other-events",
    severity: Severity::Info,
    help: "asynchronous spans, flows, counters, object snapshots and memory dumps are no calls of \
           a thread: they are not read",
};

/// Stacks that were sampled.
pub static SAMPLES: Code = Code {
    name: "chrome/samples",
    severity: Severity::Warning,
    help: "the file also holds stacks that were sampled: a sample tells of no entry and no exit, \
           so it is not read",
};

/// A complete event without a length.
pub static NO_DURATION: Code = Code {
    name: "chrome/no-duration",
    severity: Severity::Warning,
    help: "a complete event (`X`) without `dur` and `tdur`: the call is taken to be open until \
           its caller ends",
};

impl Importer for TraceEvents {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, head: &[u8], _whole: bool) -> Verdict {
        if !json::looks_like_json(head) || !text::looks_like_text(head) {
            return Verdict::No;
        }
        let mut scanner = Scanner::new(head, text::after_byte_order_mark(head));
        match scanner.peek() {
            Ok(b'[') => match sniff_array(&mut scanner) {
                Ok(true) if phase_is_near(head) => {
                    Verdict::Yes("an array of objects with `ph`".into())
                }
                _ => Verdict::No,
            },
            Ok(b'{') if has_key(scanner, b"traceEvents") && phase_is_near(head) => {
                Verdict::Yes("an object with `traceEvents`".into())
            }
            _ => Verdict::No,
        }
    }

    fn open(&self, head: &[u8], options: &ImportOptions) -> Result<Opened, ImportError> {
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
        let mut facts = vec![("order", order_fact(order).to_owned())];
        if found.own.is_some() {
            facts.push(("written by", "profctl".into()));
        }
        let own = found.own.unwrap_or_default();
        Ok(Opened {
            timebase: Timebase {
                unit: own.unit,
                resolution: own.resolution.unwrap_or(Ticks(found.step)),
                timeline: if own.synthetic { Timeline::Synthetic } else { Timeline::Recorded },
            },
            counter_bits: None,
            has_lines: false,
            leaf_ends_are_stamps: true,
            exits_may_be_late: false,
            whole: false,
            initial: Vec::new(),
            facts,
            reader: Box::new(read::Events::new(order, own)),
            state: Arc::new(Position::default()),
        })
    }
}

/// A tick of one nanosecond, which every time is rounded to.
const NANOSECOND: TickUnit = Timebase::NANOSECONDS.unit;

fn order_fact(order: Order) -> &'static str {
    match order {
        Order::Any => "calls stand in the order of their ends, or in none: sorted in memory",
        Order::AsWritten | Order::Nearly => "by time, thread by thread",
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
