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
//! What costs time here is not work but surprise: a branch that is taken now and then stalls the
//! processor for longer than it takes to read a column. So columns are read without branches,
//! whether or not they hold anything, and a line has one unpredictable branch: whether it is an
//! exit.

use std::hint::select_unpredictable;

use super::known::{Known, words_of};
use super::layout::{Layout, Time};
use super::wide::{chunk, equal, first_of, fitting, same, word};
use crate::emit::{At, CallPart, Emitter, LaneRef, NameRef, Stated};

/// Width of the duration column, up to its bar.
const DURATION: usize = 14;
/// The bar and two blanks.
const MARGIN: usize = 3;
/// No duration: all bits are set.
const BLANK: u64 = u64::MAX;
/// The point and the decimals of the time column, and the bar after it.
const AFTER_SECONDS: usize = 9;
/// What is seen of a line at once. Longer lines, and the last few of a block, are read slowly; in
/// return, that a column lies within the block is checked once a line.
const VIEW: usize = 256;

/// What this worker has met, by its bytes.
#[derive(Debug)]
pub(super) struct Memory {
    lanes: Vec<(LaneBytes, LaneRef)>,
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

/// Slots for lanes; a collision costs a slow line.
const LANES: usize = 1024;

impl Default for Memory {
    fn default() -> Self {
        Self {
            lanes: vec![([0; LANE_WORDS], LaneRef(0)); LANES],
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
            self.lanes.fill(([0; LANE_WORDS], LaneRef(0)));
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
            self.lanes[lane_slot(bytes)] = (bytes, lane);
        }
        if let Some(known) = known
            && is_plain(name)
        {
            self.names.insert(name, known);
        }
    }

    #[inline]
    fn lane(&self, bytes: LaneBytes) -> Option<LaneRef> {
        let (known, lane) = &self.lanes[lane_slot(bytes)];
        same(known, &bytes).then_some(*lane)
    }
}

/// Whether a name means the same wherever it stands: before a parenthesis and in the comment of a
/// closing brace, of which only the first word, or a word and a module, is the name.
fn is_plain(name: &[u8]) -> bool {
    let word = |word: &[u8]| {
        let plain = |&byte: &u8| byte.is_ascii_alphanumeric() || b"_.$:-".contains(&byte);
        word.iter().all(plain)
    };
    match memchr::memmem::find(name, b" [") {
        None => word(name),
        Some(at) => name[at + 2..].strip_suffix(b"]").is_some_and(word) && word(&name[..at]),
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

#[inline]
fn lane_slot(bytes: LaneBytes) -> usize {
    let mixed = bytes.iter().fold(0_u64, |mixed, word| mixed.rotate_left(17) ^ word);
    (mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - LANES.trailing_zeros())) as usize
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
    mut line: usize,
    memory: &Memory,
    uses_time: bool,
    out: &mut Emitter,
) -> usize {
    let mut second = Second::default();
    let mut lane = ([0; LANE_WORDS], LaneRef(0));
    let mut lines = 0;
    while let Some(view) = chunk::<VIEW>(block, line) {
        let mut to = Target { out: &mut *out, offset: line, uses_time };
        let length = usual_line::<TIMED, SHORT>(view, memory, &mut second, &mut lane, &mut to);
        let Some(length) = length else { break };
        lines += 1;
        line += length;
    }
    out.lines += lines;
    out.records += lines;
    line
}

/// What a line says besides which part of a call it is.
#[derive(Clone, Copy)]
struct Said {
    time: Option<u64>,
    name: Option<NameRef>,
    depth: u16,
    /// Nanoseconds, or [`BLANK`]. Not an option, because one of those is made with a branch.
    wall: u64,
}

/// Where a line is said, and where it is.
struct Target<'a> {
    out: &'a mut Emitter,
    offset: usize,
    uses_time: bool,
}

impl Target<'_> {
    #[expect(clippy::inline_always, reason = "what a line says stays in registers")]
    #[inline(always)]
    fn emit(&mut self, part: CallPart, said: Said, lane: LaneRef) {
        let Said { time, name, depth, wall } = said;
        let wall = (wall != BLANK).then_some(wall);
        let stated = Stated { depth: Some(depth), wall, net: None };
        let time = time.filter(|_| self.uses_time);
        self.out.call(part, At { time, lane, offset: self.offset }, name, stated);
    }
}

/// How the lines of entries and leaves end: a mask, what is left by it, and what it means; by the
/// lowest bit of the third byte.
static ENDS: [(u64, u64, CallPart); 2] = [
    (0xFF_FFFF_FFFF, u64::from_le_bytes(*b"() {\n\0\0\0"), CallPart::Enter),
    (0xFFFF_FFFF, u64::from_le_bytes(*b"();\n\0\0\0\0"), CallPart::Leaf),
];

/// Reads the line at the beginning of `view`, and emits what it says, in each case from its own
/// place: that keeps it in registers. The length of the line with its end.
#[expect(clippy::inline_always, reason = "what a line says stays in registers")]
#[inline(always)]
fn usual_line<const TIMED: bool, const SHORT: bool>(
    view: &[u8; VIEW],
    memory: &Memory,
    second: &mut Second,
    lane: &mut (LaneBytes, LaneRef),
    to: &mut Target<'_>,
) -> Option<usize> {
    let columns = memory.columns;
    let column: &[u8; DURATION + 10] = chunk(view, columns.duration)?;
    if word(column, DURATION) & 0xFF_FFFF != u64::from_le_bytes(*b"|  \0\0\0\0\0") {
        return None;
    }
    let time = if TIMED { Some(time(view, columns.lane, second)?) } else { None };
    let bytes = if SHORT { short_lane(view, columns)? } else { long_lane(view, columns)? };
    if !same(&bytes, &lane.0) {
        *lane = (bytes, memory.lane(bytes)?);
    }
    let duration = duration(column)?;

    let body = columns.duration + DURATION + MARGIN;
    let blanks = equal::<64>(chunk(view, body)?, b' ');
    let at = if blanks == u64::MAX {
        let behind = body + 64;
        behind + view[behind..].iter().position(|&byte| byte != b' ')?
    } else {
        body + (!blanks).trailing_zeros() as usize
    };
    if (at - body) & 1 != 0 {
        return None;
    }
    let depth = ((at - body) / 2) as u16;
    let text: &[u8; 32] = chunk(view, at)?;
    if text[0] == b'}' {
        if text[1] == b'\n' {
            to.emit(CallPart::Exit, Said { time, name: None, depth, wall: duration }, lane.1);
            return Some(at + 2);
        }
        let end = at + memchr::memchr(b'\n', &view[at..])?;
        let name = view.get(at + 1..end)?.strip_prefix(b" /* ")?.strip_suffix(b" */")?;
        let name = memory.names.get(chunk(view, at + 5)?, name)?;
        let said = Said { time, name: Some(name), depth, wall: duration };
        to.emit(CallPart::Exit, said, lane.1);
        return Some(end + 1);
    }
    let opens = equal(text, b'(');
    let open = at
        + match opens {
            0 => memchr::memchr(b'(', &view[at..])?,
            opens => opens.trailing_zeros() as usize,
        };
    let behind = word::<8>(chunk(view, open)?, 0);
    let is_leaf = behind >> 16 & 1;
    let (mask, end, part) = ENDS[is_leaf as usize];
    if behind & mask != end {
        return None;
    }
    let name = memory.names.get(text, view.get(at..open)?)?;
    // Where all bits are set, nothing is stated.
    let wall = duration | is_leaf.wrapping_sub(1);
    to.emit(part, Said { time, name: Some(name), depth, wall }, lane.1);
    // No name contains a line end, so this is the first one.
    Some(open + 5 - is_leaf as usize)
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

/// The number in the eight characters of `word` (the first one in its lowest byte), of which the
/// first `cut` are zero bytes, and whether the others are digits. The usual divide and conquer:
/// pairs, then fours, then eight digits.
#[inline]
fn digits(word: u64, cut: u32) -> (u64, bool) {
    let value = word.wrapping_sub(0x3030_3030_3030_3030_u64.wrapping_shl(8_u32.wrapping_mul(cut)));
    let not_digits = value.wrapping_add(0x7676_7676_7676_7676) | value;
    let pairs = value.wrapping_mul(10).wrapping_add(value >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_FFFF_0000_FFFF;
    let eight = fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xFFFF_FFFF;
    (eight, not_digits & 0x8080_8080_8080_8080 == 0)
}

/// `+ 49.053 us   ` or blanks, and what is behind: nanoseconds, or [`BLANK`]. Both are computed
/// and one is taken, because a branch between them would be a coin that is tossed on every line.
#[inline]
fn duration(column: &[u8; DURATION + 10]) -> Option<u64> {
    let bytes = chunk(column, 0)?;
    let point = first_of(bytes, b'.');
    let Shape { fixed, digits: are_digits, free } = &SHAPES[point % SHAPES.len()];
    let fits = fitting(bytes, fixed, *are_digits) | free == u32::from(u16::MAX);
    if !(fits && MARKS[usize::from(bytes[0])]) {
        return None;
    }
    // The point is moved to the fifth byte, then cut out: four digits before it, three behind.
    let whole = (point as u32).wrapping_sub(2);
    let aligned = word(column, 2).wrapping_shl(32_u32.wrapping_sub(whole.wrapping_mul(8)));
    let seven = (aligned & 0xFFFF_FFFF) << 8 | aligned >> 40 << 40;
    let (nanos, _) = digits(seven, 5_u32.wrapping_sub(whole));
    Some(select_unpredictable(point == NO_POINT, BLANK, nanos))
}

/// How a duration column, its bar and a blank look like.
#[derive(Clone, Copy, Debug)]
struct Shape {
    /// The bytes that are not digits.
    fixed: [u8; 16],
    /// A bit for each digit.
    digits: u32,
    /// A bit for each byte that is looked at elsewhere: the mark.
    free: u32,
}

/// Where the point of a blank column is assumed to be: after the bar, where none can be.
const NO_POINT: usize = 15;

/// By the position of the point. There are one to four digits before it; anything else is not a
/// shape that a column could have.
static SHAPES: [Shape; 16] = {
    let mut shapes = [Shape { fixed: [0; 16], digits: 0, free: 0 }; 16];
    let mut whole = 1;
    while whole <= 4 {
        let mut fixed = *b"              | ";
        let point = 2 + whole;
        fixed[point] = b'.';
        fixed[point + 5] = b'u';
        fixed[point + 6] = b's';
        let digits = ((1 << whole) - 1) << 2 | 0b111 << (point + 1);
        shapes[point] = Shape { fixed, digits, free: 1 };
        whole += 1;
    }
    shapes[NO_POINT] = Shape { fixed: *b"              | ", digits: 0, free: 0 };
    shapes
};

/// Overhead marks, or a blank. Calls of a second and more (`$`), or a tenth of one (`@`), are left
/// to the slow path.
static MARKS: [bool; 256] = {
    let mut marks = [false; 256];
    let mut at = 0;
    while at < b" +!#*".len() {
        marks[b" +!#*"[at] as usize] = true;
        at += 1;
    }
    marks
};
