//! The usual lines of `function_graph` in a report, by the position of their bytes.
//!
//! The bytes before the decimal point of the time hold the thread, the CPU and the second. They are
//! compared as a whole with those of earlier lines. What they mean, and names, are learned from
//! [`super::read`], which reads all other lines.
//!
//! ```text
//!        workload-269   [001]   705.284017: funcgraph_entry:        1.552 us   |    mutex_unlock();
//! ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ lane and second                ~~~~~~~~~~~~~ duration
//! ```

use crate::emit::{At, Emitter, LaneRef, NameRef};
use crate::formats::function_graph::columns::{self, VIEW, digits};
use crate::formats::function_graph::known::{Known, Repeated, words_of};
use crate::formats::function_graph::wide::{chunk, same, word};
use crate::kernel_events::line::{EventLine, Stamp};

/// Width of the duration column, up to its bar.
const DURATION: usize = 13;
/// The decimals after the point: microseconds.
const DECIMALS: usize = 6;
/// What is between them and the duration.
const ENTRY: [u64; 3] = words(b": funcgraph_entry:      ");
const EXIT: [u64; 3] = words(b": funcgraph_exit:       ");
const EVENT: usize = 24;

/// What is before the point, padded with zeros; longer ones are not remembered.
type Start = [u64; START_WORDS];
const START_WORDS: usize = 6;

const fn words(text: &[u8; EVENT]) -> [u64; 3] {
    let (parts, _) = text.as_chunks::<8>();
    [u64::from_le_bytes(parts[0]), u64::from_le_bytes(parts[1]), u64::from_le_bytes(parts[2])]
}

/// What this worker has met, by its bytes.
#[derive(Debug)]
pub(super) struct Memory {
    /// Where the point is; 0 until the first line.
    point: usize,
    starts: Repeated<START_WORDS, Meaning>,
    names: Known,
}

/// What the bytes before the point mean.
#[derive(Clone, Copy, Debug)]
struct Meaning {
    lane: LaneRef,
    /// The whole seconds, in nanoseconds.
    second: u64,
}

const NOTHING: Meaning = Meaning { lane: LaneRef(0), second: 0 };

impl Default for Memory {
    fn default() -> Self {
        Self { point: 0, starts: Repeated::new(NOTHING), names: Known::default() }
    }
}

impl Memory {
    /// Remembers what `line` was found to be, an event on `lane`.
    pub(super) fn learn(&mut self, line: &[u8], event: &EventLine<'_>, lane: LaneRef) {
        let body = line.len() - event.body.len();
        let (Stamp::Nanos(nanos), Some(point)) = (event.time, body.checked_sub(DECIMALS + 3))
        else {
            return;
        };
        let is_usual = line[point] == b'.' && line[body - 2..body] == *b": ";
        if !is_usual || point >= 8 * START_WORDS {
            return;
        }
        let mut text = [0; 8 * START_WORDS];
        text[..point].copy_from_slice(&line[..point]);
        let bytes = words_of(&text, point);
        self.point = point;
        let second = nanos / 1_000_000_000 * 1_000_000_000;
        self.starts.insert(bytes, Meaning { lane, second });
    }

    /// Remembers a name.
    pub(super) fn learn_name(&mut self, name: &[u8], known: NameRef) {
        self.names.insert(name, known);
    }
}

/// Reads lines from `line` on for as long as they are usual; says where it stopped.
pub(super) fn read(block: &[u8], line: usize, memory: &Memory, out: &mut Emitter) -> usize {
    let point = memory.point;
    if point == 0 {
        return line;
    }
    let mut latest = ([0; START_WORDS], NOTHING);
    columns::lines(block, line, out, |view, offset, out| {
        usual(view, point, memory, &mut latest, offset, out)
    })
}

/// Reads the line at the beginning of `view`. Its length with its end.
#[expect(clippy::inline_always, reason = "what a line says stays in registers")]
#[inline(always)]
fn usual(
    view: &[u8; VIEW],
    point: usize,
    memory: &Memory,
    latest: &mut (Start, Meaning),
    offset: usize,
    out: &mut Emitter,
) -> Option<usize> {
    let text: &[u8; 8 * START_WORDS] = chunk(view, 0)?;
    let bytes = words_of(text, point.min(text.len() - 1));
    if !same(&bytes, &latest.0) {
        *latest = (bytes, memory.starts.get(bytes)?);
    }
    let Meaning { lane, second } = latest.1;
    // `5.284017`: the last digit of the seconds and the point are cut off.
    let (micros, are_digits) =
        digits(word(chunk::<8>(view, point.checked_sub(1)?)?, 0) & !0xFFFF, 2);
    let event: &[u8; EVENT] = chunk(view, point + 1 + DECIMALS)?;
    let event = words(event);
    if !are_digits || !(same(&event, &ENTRY) | same(&event, &EXIT)) || view[point] != b'.' {
        return None;
    }
    let place = At { time: Some(second + micros * 1_000), lane, offset };
    columns::read::<DURATION>(view, point + 1 + DECIMALS + EVENT, &memory.names, place, out)
}
