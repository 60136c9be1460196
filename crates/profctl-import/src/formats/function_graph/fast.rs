//! The usual lines of the usual layouts, by the position of their bytes.
//!
//! Columns are at fixed positions as long as nothing outgrows its column, so a line is checked byte
//! by byte at the positions of the line that was read slowly before it and taken, or left to
//! [`super::line`] on any surprise. A name is only taken if [`super::line`] has read it before: what
//! a name may look like is decided in one place. So is what stands between the time and the
//! duration: the CPU, the task, the flags.
//!
//! ```text
//!  0) + 49.053 us   |    irq_enter_rcu();
//!   |~~~~~~~~~~~~~~|~~ width of the duration column and its bar, then two blanks of margin
//!   173.994448 |   1)  workloa-1109  |   5.612 us    |  } /* __f_unlock_pos */
//! ~~~~~~~~~~~~ |~~~~~~~~~~~~~~~~~~~~~ the lane: the same bytes mean the same lane
//! ```
//!
//! [`super::columns`] reads the duration and what is after it.

use super::columns::{self, VIEW, digits};
use super::known::{Known, Repeated, words_of};
use super::layout::{Layout, Time};
use super::wide::{chunk, same, word};
use crate::emit::{At, Emitter, LaneRef, NameRef};

/// Width of the duration column, up to its bar.
const DURATION: usize = 14;
/// The point and the decimals of the time column, and the bar after it.
const AFTER_SECONDS: usize = 9;

/// What this worker has met, by its bytes.
#[derive(Debug)]
pub(super) struct Memory {
    lanes: Repeated<LANE_WORDS, LaneRef>,
    names: Known,
    columns: Columns,
    /// The layout of those lines: the same bytes are another lane in another.
    layout: Layout,
}

/// Where columns begin.
#[derive(Clone, Copy, Debug, Default)]
struct Columns {
    /// What identifies the lane: after the time column, if there is one.
    lane: usize,
    /// The duration; 0 until the first line.
    duration: usize,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            lanes: Repeated::new(LaneRef(0)),
            names: Known::default(),
            columns: Columns::default(),
            layout: Layout::DEFAULT,
        }
    }
}

impl Memory {
    /// Remembers what the general path made of a line, whose duration column begins at `prefix`,
    /// so that the next one like it is fast.
    pub(super) fn learn(
        &mut self,
        (line, layout): (&[u8], Layout),
        prefix: usize,
        lane: LaneRef,
        (name, known): (&[u8], Option<NameRef>),
    ) {
        if self.layout != layout {
            self.layout = layout;
            self.lanes.clear();
        }
        let bar = memchr::memchr(b'|', line);
        let after_time = bar.filter(|_| layout.time != Time::None).map_or(0, |bar| bar + 1);
        self.columns = Columns { lane: after_time, duration: prefix };
        let view = padded(line);
        let bytes = if self.columns.are_short() {
            short_lane(&view, self.columns)
        } else {
            long_lane(&view, self.columns)
        };
        if let Some(bytes) = bytes {
            self.lanes.insert(bytes, lane);
        }
        if let Some(known) = known {
            self.names.insert(name, known);
        }
    }
}

/// The beginning of a line as it would be seen in a block.
fn padded(line: &[u8]) -> [u8; VIEW] {
    let mut view = [b'\n'; VIEW];
    let length = line.len().min(VIEW);
    view[..length].copy_from_slice(&line[..length]);
    view
}

/// The bytes that identify the lane, padded with zeros, which no such column contains.
type LaneBytes = [u64; LANE_WORDS];
const LANE_WORDS: usize = 5;

impl Columns {
    /// Whether the lane is less than a word at the beginning of the line.
    fn are_short(self) -> bool {
        self.lane == 0 && self.duration < 8
    }
}

/// What identifies the lane of a line of short columns: a CPU below a thousand.
#[inline]
fn short_lane(view: &[u8; VIEW], columns: Columns) -> Option<LaneBytes> {
    let only = 1_u64.checked_shl(8 * columns.duration as u32)?.wrapping_sub(1);
    Some([word(view, 0) & only, columns.duration as u64, 0, 0, 0])
}

/// What identifies the lane of any other line.
#[inline]
fn long_lane(view: &[u8; VIEW], columns: Columns) -> Option<LaneBytes> {
    let length = columns.duration.checked_sub(columns.lane)?;
    let text: &[u8; 8 * LANE_WORDS] = chunk(view, columns.lane)?;
    (length < text.len()).then(|| words_of(text, length))
}

/// Reads lines from `offset` on for as long as they are usual; says where it stopped. `uses_time`:
/// whether the time column is a time.
pub(super) fn read(
    block: &[u8],
    offset: usize,
    layout: Layout,
    (memory, uses_time): (&Memory, bool),
    out: &mut Emitter,
) -> usize {
    let columns = memory.columns;
    if columns.duration == 0 || memory.layout != layout || !(layout.cpu && layout.duration) {
        return offset;
    }
    match layout.time {
        Time::None if columns.are_short() => {
            usual::<false, true>(block, offset, memory, false, out)
        }
        Time::None => usual::<false, false>(block, offset, memory, false, out),
        Time::Absolute => usual::<true, false>(block, offset, memory, uses_time, out),
        Time::Relative => offset,
    }
}

/// Lines with or without a time column, and whether their lanes are short. Every byte up to the
/// margin is checked, so the line end is sought after it only.
fn usual<const TIMED: bool, const SHORT: bool>(
    block: &[u8],
    line: usize,
    memory: &Memory,
    uses_time: bool,
    out: &mut Emitter,
) -> usize {
    let mut second = Second::default();
    let mut lane = ([0; LANE_WORDS], LaneRef(0));
    columns::lines(block, line, out, |view, offset, out| {
        let time = if TIMED { Some(time(view, memory.columns.lane, &mut second)?) } else { None };
        let lane = lane_of::<SHORT>(view, memory, &mut lane)?;
        let place = At { time: time.filter(|_| uses_time), lane, offset };
        columns::read::<DURATION>(view, memory.columns.duration, &memory.names, place, out)
    })
}

/// The lane of the line at the beginning of `view`: mostly that of the line before, in `latest`.
#[expect(clippy::inline_always, reason = "what a line says stays in registers")]
#[inline(always)]
fn lane_of<const SHORT: bool>(
    view: &[u8; VIEW],
    memory: &Memory,
    latest: &mut (LaneBytes, LaneRef),
) -> Option<LaneRef> {
    let columns = memory.columns;
    let bytes = if SHORT { short_lane(view, columns)? } else { long_lane(view, columns)? };
    if !same(&bytes, &latest.0) {
        *latest = (bytes, memory.lanes.get(bytes)?);
    }
    Some(latest.1)
}

/// The seconds of the latest time column: they seldom change.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    /// The characters.
    text: u64,
    nanos: u64,
}

/// `  173.994448 |`, the lane after it at `end`: nanoseconds.
#[inline]
fn time(line: &[u8; VIEW], end: usize, second: &mut Second) -> Option<u64> {
    // Of the seconds: five, or more from the second day on.
    let width = end.checked_sub(AFTER_SECONDS).filter(|width| (1..=8).contains(width))?;
    if line[width + 7..width + AFTER_SECONDS] != *b" |" || line[width] != b'.' {
        return None;
    }
    let text = word(line, 0) & u64::MAX >> (64 - 8 * width);
    if text != second.text {
        // Blanks only: the end of an empty line is in this place where the stamp is cut.
        let blanks = line[..width].iter().take_while(|&&byte| byte == b' ').count();
        let seconds = super::line::number(&line[blanks..width])?;
        *second = Second { text, nanos: seconds * 1_000_000_000 };
    }
    // `3.994448`: the last digit of the seconds and the point are cut off.
    let (micros, are_digits) = digits(word(line, width - 1) & !0xFFFF, 2);
    are_digits.then_some(second.nanos + micros * 1_000)
}
