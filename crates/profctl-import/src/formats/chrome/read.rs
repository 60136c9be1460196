//! Blocks of a file to events, wherever the file was cut.
//!
//! A block is cut after an event, at a place that looks as if another followed ([`boundary`]): such
//! a block begins with a comma and can be read alone. If the place was none (the inside of an event
//! may look the same), the block before ends in the middle of something, says so in its state, and
//! the next one is read again from there. So a wrong guess costs time and nothing else.

use std::sync::Arc;

use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};

use super::SAMPLES;
use super::event::{Fields, Meaning};
use crate::blocks::RECORD_MAX;
use crate::emit::Emitter;
use crate::formats::systrace::read::Lines;
use crate::formats::{Block, Reader, State};
use crate::json::{Scanner, Stop, Text, is_space};
use crate::kernel_events::{IrqNames, Scope};
use crate::sort::Order;
use crate::text;

/// Where a block ended. The default is "after an event, a comma is next" and, at the very
/// beginning, "nothing was read": the next byte distinguishes them.
#[derive(Clone, Debug, Default)]
pub(super) struct Position {
    place: Place,
    /// The beginning of what the end of the block cut in two.
    carry: Vec<u8>,
    /// How deep in a value that does not matter.
    skipping: Option<Skipping>,
    /// The interrupts that the kernel's events have named.
    irqs: IrqNames,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Place {
    /// See [`Position`].
    #[default]
    ByLooks,
    /// Among the events.
    Events,
    /// Among the keys of the outermost object.
    Keys,
    /// In the text of `systemTraceEvents`.
    KernelEvents,
    /// After everything.
    Behind,
}

/// A value that is skipped, however long it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Skipping {
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Skipping {
    /// Goes on to the end of the value; returns where that is, or nothing if it is not here.
    fn pass(&mut self, bytes: &[u8]) -> Option<usize> {
        for (at, &byte) in bytes.iter().enumerate() {
            if self.in_string {
                match byte {
                    _ if self.escaped => self.escaped = false,
                    b'\\' => self.escaped = true,
                    b'"' => {
                        self.in_string = false;
                        if self.depth == 0 {
                            return Some(at + 1);
                        }
                    }
                    _ => {}
                }
                continue;
            }
            match byte {
                b'"' => self.in_string = true,
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' | b',' if self.depth == 0 => return Some(at),
                b'}' | b']' => {
                    self.depth -= 1;
                    if self.depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// Reads blocks.
pub(super) struct Events {
    order: Order,
    meaning: Meaning,
    kernel: Lines,
}

impl Events {
    pub(super) fn new(order: Order) -> Self {
        Self { order, meaning: Meaning::default(), kernel: Lines::new(Scope::default()) }
    }
}

/// Bytes in which an event must have ended, or the block is cut anywhere.
const LOOKED_THROUGH: usize = 1 << 20;

impl Reader for Events {
    fn order(&self) -> Order {
        self.order
    }

    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self {
            order: self.order,
            meaning: Meaning::default(),
            kernel: self.kernel.forked(),
        })
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        match last_event_end(bytes) {
            Some(end) => end,
            None if bytes.len() >= LOOKED_THROUGH => bytes.len(),
            None => 0,
        }
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let &Block { bytes: block, at_end, .. } = block;
        let start = Position::default();
        let before = state.downcast_ref::<Position>().unwrap_or(&start);
        let joined;
        let (text, shift) = if before.carry.is_empty() {
            (block, 0)
        } else {
            joined = [&before.carry[..], block].concat();
            (&joined[..], before.carry.len())
        };
        self.kernel.begin(&before.irqs);
        let mut walk = Walk {
            meaning: &mut self.meaning,
            kernel: &mut self.kernel,
            text,
            shift,
            at_end,
            scanner: Scanner::new(text, 0),
            after: Position { carry: Vec::new(), ..before.clone() },
        };
        walk.all(out);
        let mut after = walk.after;
        if *self.kernel.irqs() != before.irqs {
            after.irqs = self.kernel.irqs().clone();
        }
        if after.place == Place::Events && after.carry.is_empty() && after.skipping.is_none() {
            after.place = Place::ByLooks;
        }
        let is_same = before.place == after.place
            && before.skipping == after.skipping
            && before.carry == after.carry
            && before.irqs == after.irqs;
        (!is_same).then(|| Arc::new(after) as State)
    }
}

/// The end of the last event that seems to be followed by another: `}`, a comma, `{` and a key that
/// events have.
fn last_event_end(bytes: &[u8]) -> Option<usize> {
    let skip_space = |at: usize| {
        let rest = bytes.get(at..)?;
        rest.iter().position(|&byte| !is_space(byte)).map(|n| at + n)
    };
    let begins_event = |at: usize| {
        let comma = skip_space(at).filter(|&at| bytes[at] == b',')?;
        let brace = skip_space(comma + 1).filter(|&at| bytes[at] == b'{')?;
        let quote = skip_space(brace + 1).filter(|&at| bytes[at] == b'"')?;
        let key = bytes.get(quote + 1..)?;
        let key = &key[..memchr::memchr(b'"', &key[..key.len().min(8)])?];
        let keys: [&[u8]; 10] =
            [b"ph", b"ts", b"name", b"pid", b"tid", b"cat", b"dur", b"args", b"id", b"tts"];
        keys.contains(&key).then_some(at)
    };
    let mut ends = memchr::memrchr_iter(b'}', bytes);
    ends.find_map(|at| begins_event(at + 1))
}

/// One block being read.
struct Walk<'a> {
    meaning: &'a mut Meaning,
    kernel: &'a mut Lines,
    text: &'a [u8],
    /// Bytes of `text` that stood in blocks before.
    shift: usize,
    at_end: bool,
    scanner: Scanner<'a>,
    after: Position,
}

impl<'a> Walk<'a> {
    /// Where `at` is in the block; negative in what stood in blocks before.
    fn offset(&self, at: usize) -> usize {
        at.wrapping_sub(self.shift)
    }

    fn all(&mut self, out: &mut Emitter) {
        let mut goes_on = true;
        while goes_on {
            goes_on = match self.after.place {
                _ if self.after.skipping.is_some() => self.pass_over(),
                Place::ByLooks => self.begin(out),
                Place::Events => self.event(out),
                Place::Keys => self.key(out),
                Place::KernelEvents => self.kernel_line(out),
                Place::Behind => false,
            };
        }
    }

    /// Decides where a block begins.
    fn begin(&mut self, out: &mut Emitter) -> bool {
        if self.scanner.at == 0 {
            self.scanner.at = text::after_byte_order_mark(self.text);
        }
        self.after.place = match self.scanner.peek() {
            Err(_) => return false,
            Ok(b',' | b']') => Place::Events,
            Ok(b'[') => {
                self.scanner.at += 1;
                Place::Events
            }
            Ok(b'{') => {
                self.scanner.at += 1;
                Place::Keys
            }
            Ok(_) if self.waits_for_more(self.scanner.at) => return false,
            Ok(_) => {
                self.complain(self.scanner.at, "an array or an object", out);
                Place::Behind
            }
        };
        true
    }

    #[inline]
    fn event(&mut self, out: &mut Emitter) -> bool {
        while let Ok(byte) = self.scanner.peek() {
            match byte {
                b'{' => {
                    let start = self.scanner.at;
                    match Fields::take(&mut self.scanner, &mut self.meaning.keys) {
                        Ok(fields) => {
                            out.records += 1;
                            let offset = self.offset(start);
                            self.meaning.say(&fields, offset, out);
                        }
                        Err(stop) => return self.stopped(start, stop, out),
                    }
                }
                b',' => self.scanner.at += 1,
                b']' => {
                    self.scanner.at += 1;
                    self.after.place = Place::Keys;
                    return true;
                }
                _ => {
                    let start = self.scanner.at;
                    return self.stopped(start, Stop::Expected("an event"), out);
                }
            }
        }
        false
    }

    /// An event cannot be taken: it is cut off, or it is none.
    #[cold]
    fn stopped(&mut self, start: usize, stop: Stop, out: &mut Emitter) -> bool {
        if let Stop::Expected(expected) = stop {
            self.scanner.at = start;
            let end = match self.scanner.skip() {
                Ok(()) => Some(self.scanner.at),
                Err(Stop::Expected(_)) => {
                    // Not even a value: on to the next event, if there is one.
                    let rest = &self.text[start..];
                    let next = rest.iter().skip(1).position(|byte| b"{,]".contains(byte));
                    next.map(|next| start + 1 + next)
                }
                Err(Stop::End) => None,
            };
            // What it is must not depend on where the block ends.
            let is_decided = end.is_some() || self.text.len() - start > RECORD_MAX;
            if !is_decided && self.carry(start) || self.waits_for_more(start) {
                return false;
            }
            out.records += 1;
            self.complain(start, expected, out);
            self.scanner.at = end.unwrap_or(self.text.len());
            if end.is_none() {
                self.after.skipping = self.skip_from(start);
            }
            return end.is_some();
        }
        if self.at_end {
            out.records += 1;
            let shown = text::excerpt(&self.text[start..]);
            out.diag(&CUT_RECORD, self.offset(start), || {
                format!("the last event stops in `{shown}`")
            });
            return false;
        }
        if self.text.len() - start > RECORD_MAX {
            self.complain(start, "an event of less than 16 MB", out);
            self.after.skipping = self.skip_from(start);
            return false;
        }
        self.carry(start);
        false
    }

    /// Keeps what begins at `start` for the next block, if there is one.
    fn carry(&mut self, start: usize) -> bool {
        if !self.at_end {
            self.after.carry = self.text[start..].to_vec();
        }
        !self.at_end
    }

    /// The same if there is less of it than a message shows: that must not depend on where the
    /// block ends either.
    fn waits_for_more(&mut self, start: usize) -> bool {
        self.text.len() - start < text::EXCERPT_MAX && self.carry(start)
    }

    /// How deep the end of the block is in a value that begins at `start`.
    fn skip_from(&self, start: usize) -> Option<Skipping> {
        let mut skipping = Skipping::default();
        skipping.pass(&self.text[start..]).is_none().then_some(skipping)
    }

    /// Goes on with a value that does not matter.
    fn pass_over(&mut self) -> bool {
        let Some(mut skipping) = self.after.skipping else { return true };
        let end = skipping.pass(&self.text[self.scanner.at..]);
        self.after.skipping = end.is_none().then_some(skipping);
        self.scanner.at = end.map_or(self.text.len(), |end| self.scanner.at + end);
        end.is_some()
    }

    /// A key of the outermost object.
    fn key(&mut self, out: &mut Emitter) -> bool {
        let Ok(byte) = self.scanner.peek() else { return false };
        let start = self.scanner.at;
        match byte {
            b',' => {
                self.scanner.at += 1;
                return true;
            }
            b'}' => {
                self.after.place = Place::Behind;
                return false;
            }
            b'"' => {}
            _ if self.waits_for_more(start) => return false,
            _ => {
                self.complain(start, "a key", out);
                self.after.place = Place::Behind;
                return false;
            }
        }
        match self.key_and_first_byte() {
            Ok((b"traceEvents", b'[')) => {
                self.scanner.at += 1;
                self.after.place = Place::Events;
            }
            Ok((b"systemTraceEvents", b'"')) => {
                self.scanner.at += 1;
                self.after.place = Place::KernelEvents;
            }
            Ok(_) => {
                if self.text[start..].starts_with(b"\"samples\"") {
                    out.diag(&SAMPLES, self.offset(start), || "a list of `samples`".into());
                }
                self.after.skipping = Some(Skipping::default());
            }
            Err(Stop::Expected(_)) if self.waits_for_more(start) => return false,
            Err(Stop::Expected(expected)) => {
                self.complain(start, expected, out);
                self.after.place = Place::Behind;
                return false;
            }
            Err(Stop::End) => {
                // Only a key that the end of the block cuts in two is worth keeping.
                if !self.at_end && self.text.len() - start <= RECORD_MAX {
                    self.after.carry = self.text[start..].to_vec();
                }
                return false;
            }
        }
        true
    }

    /// A key, and what its value begins with.
    fn key_and_first_byte(&mut self) -> Result<(&'a [u8], u8), Stop> {
        let key = self.scanner.string()?;
        self.scanner.expect(b':', "a colon after the key")?;
        Ok((key.raw, self.scanner.peek()?))
    }

    /// A line of the kernel's events: all of them are one string.
    fn kernel_line(&mut self, out: &mut Emitter) -> bool {
        let start = self.scanner.at;
        let rest = &self.text[start..];
        let mut ends = memchr::memchr2_iter(b'"', b'\\', rest);
        let mut escaped = None;
        let end = ends.find(|&at| {
            if escaped == Some(at) {
                return false;
            }
            escaped = (rest[at] == b'\\').then_some(at + 1);
            rest[at] == b'"' || rest.get(at + 1) == Some(&b'n')
        });
        let Some(end) = end else {
            if self.at_end {
                self.kernel_text(rest, false, start, out);
            } else if rest.len() > RECORD_MAX {
                self.complain(start, "a line of less than 16 MB", out);
                self.after.skipping = Some(Skipping { in_string: true, ..Skipping::default() });
                self.after.place = Place::Keys;
            } else {
                self.after.carry = rest.to_vec();
            }
            return false;
        };
        self.kernel_text(&rest[..end], true, start, out);
        if rest[end] == b'"' {
            self.after.place = Place::Keys;
            self.scanner.at += end + 1;
        } else {
            self.scanner.at += end + 2;
        }
        true
    }

    fn kernel_text(&mut self, raw: &[u8], ended: bool, at: usize, out: &mut Emitter) {
        let line = Text { raw, escaped: raw.contains(&b'\\') }.unescape();
        self.kernel.line(&line, ended, self.offset(at), out);
    }

    #[cold]
    fn complain(&self, at: usize, expected: &str, out: &mut Emitter) {
        let shown = text::excerpt(&self.text[at..]);
        out.diag(&SKIPPED_RECORD, self.offset(at), || {
            format!("found `{shown}`, expected {expected}")
        });
    }
}
