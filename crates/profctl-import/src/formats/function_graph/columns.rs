//! The last two columns of a usual line, the duration and the statement, by the position of their
//! bytes: of `function_graph`, and of what `trace-cmd report` prints of it.
//!
//! ```text
//!  0) + 49.053 us   |    irq_enter_rcu();
//!   |~~~~~~~~~~~~~~|~~ width of the duration column and its bar, then two blanks of margin
//! ```
//!
//! What costs time here is not work but surprise: a branch that is taken now and then stalls the
//! processor for longer than it takes to read a column. So columns are read without branches,
//! whether or not they hold anything, and a line has one unpredictable branch: whether it is an
//! exit.

use std::hint::select_unpredictable;

use super::known::Known;
use super::wide::{chunk, equal, first_of, fitting, word};
use crate::emit::{At, CallPart, Emitter, NameRef, Stated};

/// The bar and two blanks.
const MARGIN: usize = 3;
/// No duration: all bits are set.
const BLANK: u64 = u64::MAX;
/// What is seen of a line at once. Longer lines, and the last few of a block, are read slowly; in
/// return, that a column lies within the block is checked once a line.
pub(in crate::formats) const VIEW: usize = 256;

/// Reads lines from offset `line` on with `read`, which returns the length of a line, or nothing if the
/// line is not usual; returns the offset of the first such line.
#[expect(clippy::inline_always, reason = "what a line says stays in registers")]
#[inline(always)]
pub(in crate::formats) fn lines(
    block: &[u8],
    mut line: usize,
    out: &mut Emitter,
    mut read: impl FnMut(&[u8; VIEW], usize, &mut Emitter) -> Option<usize>,
) -> usize {
    let mut n = 0;
    while let Some(view) = chunk::<VIEW>(block, line) {
        let Some(length) = read(view, line, out) else { break };
        n += 1;
        line += length;
    }
    out.lines += n;
    out.records += n;
    line
}

/// What these columns say besides which part of a call it is.
#[derive(Clone, Copy)]
struct Said {
    name: Option<NameRef>,
    depth: u16,
    /// Nanoseconds, or [`BLANK`]. Not an option, because one of those is made with a branch.
    wall: u64,
}

#[expect(clippy::inline_always, reason = "what a line says stays in registers")]
#[inline(always)]
fn emit(part: CallPart, said: Said, at: At, out: &mut Emitter) {
    let Said { name, depth, wall } = said;
    let wall = (wall != BLANK).then_some(wall);
    out.call(part, at, name, Stated { depth: Some(depth), wall, net: None });
}

/// How the lines of entries and leaves end: a mask, what is left by it, and what it means; by the
/// lowest bit of the third byte.
static ENDS: [(u64, u64, CallPart); 2] = [
    (0xFF_FFFF_FFFF, u64::from_le_bytes(*b"() {\n\0\0\0"), CallPart::Enter),
    (0xFFFF_FFFF, u64::from_le_bytes(*b"();\n\0\0\0\0"), CallPart::Leaf),
];

/// Reads the line at the beginning of `view` from its duration column on, which begins at `begin`
/// and is `WIDTH` bytes wide, and emits what it says, in each case from its own place: that keeps
/// it in registers. The length of the line with its end; nothing if it is not a usual one.
#[expect(clippy::inline_always, reason = "what a line says stays in registers")]
#[inline(always)]
pub(in crate::formats) fn read<const WIDTH: usize>(
    view: &[u8; VIEW],
    begin: usize,
    names: &Known,
    place: At,
    out: &mut Emitter,
) -> Option<usize> {
    let column: &[u8; COLUMN] = chunk(view, begin)?;
    if word(column, WIDTH) & 0xFF_FFFF != u64::from_le_bytes(*b"|  \0\0\0\0\0") {
        return None;
    }
    let duration = duration::<WIDTH>(column)?;

    let body = begin + WIDTH + MARGIN;
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
            emit(CallPart::Exit, Said { name: None, depth, wall: duration }, place, out);
            return Some(at + 2);
        }
        let end = at + memchr::memchr(b'\n', &view[at..])?;
        let name = view.get(at + 1..end)?.strip_prefix(b" /* ")?.strip_suffix(b" */")?;
        let name = names.get(chunk(view, at + 5)?, name)?;
        emit(CallPart::Exit, Said { name: Some(name), depth, wall: duration }, place, out);
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
    let name = names.get(text, view.get(at..open)?)?;
    // Where all bits are set, nothing is stated.
    let wall = duration | is_leaf.wrapping_sub(1);
    emit(part, Said { name: Some(name), depth, wall }, place, out);
    // No name contains a line end, so this is the first one.
    Some(open + 5 - is_leaf as usize)
}

/// The number in the eight characters of `word` (the first one in its lowest byte), of which the
/// first `cut` are zero bytes, and whether the others are digits. The usual divide and conquer:
/// pairs, then fours, then eight digits.
#[inline]
pub(in crate::formats) fn digits(word: u64, cut: u32) -> (u64, bool) {
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
fn duration<const WIDTH: usize>(column: &[u8; COLUMN]) -> Option<u64> {
    let shapes = const { &shapes(WIDTH) };
    let bytes = chunk(column, 0)?;
    let point = first_of(bytes, b'.');
    let Shape { fixed, digits: are_digits, free } = &shapes[point % shapes.len()];
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

/// What is looked at of the duration column, its bar and what is after it.
const COLUMN: usize = 24;

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

/// By the position of the point, of columns `width` bytes wide. There are one to four digits before
/// it; anything else is not a shape that a column could have.
const fn shapes(width: usize) -> [Shape; 16] {
    let mut blank = [b' '; 16];
    blank[width] = b'|';
    let mut shapes = [Shape { fixed: [0; 16], digits: 0, free: 0 }; 16];
    let mut whole = 1;
    while whole <= 4 {
        let mut fixed = blank;
        let point = 2 + whole;
        fixed[point] = b'.';
        fixed[point + 5] = b'u';
        fixed[point + 6] = b's';
        let digits = ((1 << whole) - 1) << 2 | 0b111 << (point + 1);
        shapes[point] = Shape { fixed, digits, free: 1 };
        whole += 1;
    }
    shapes[NO_POINT] = Shape { fixed: blank, digits: 0, free: 0 };
    shapes
}

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
