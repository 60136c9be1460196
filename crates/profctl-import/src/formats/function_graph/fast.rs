//! The usual lines of the usual layouts, by the position of their bytes.
//!
//! Two layouts make up nearly all captures: the default (`CPU DURATION`) and the one that scripts
//! ask for (`TIME CPU TASK DURATION`). In both, columns stand at fixed positions, so a line is
//! checked byte by byte at those positions and taken, or left to [`super::line`] on any surprise.
//! A name is only taken if [`super::line`] has read it before: what a name may look like is
//! decided in one place.
//!
//! ```text
//!  0) + 49.053 us   |    irq_enter_rcu();
//!   |~~~~~~~~~~~~~~|~~ width of the duration column and its bar, then two blanks of margin
//!   173.994448 |   1)  workloa-1109  |   5.612 us    |  } /* __f_unlock_pos */
//! ~~~~~~~~~~~~ |~~~~~~~~~~~~~~~~~~~~~ the lane: the same bytes mean the same lane
//! ```

use super::layout::{Layout, Time};
use super::read::{GraphReader, blank};
use crate::emit::{Emitter, Event, EventKind, LaneRef, NameRef, UNSTATED};

/// Width of the duration column, up to its bar.
const DURATION: usize = 14;
/// Width of the time column, up to the blank before its bar.
const TIME: usize = 12;

/// What this worker has met, by its bytes.
#[derive(Debug)]
pub(super) struct Memory {
    lanes: Vec<(LaneBytes, LaneRef)>,
    names: Vec<KnownName>,
    /// The spellings of `names`, one after the other.
    spellings: Vec<u8>,
    /// The width of everything before the duration column; 0 until a line has told it.
    prefix: usize,
}

/// Slots for names, a power of two: three times what a kernel calls in one trace. A name that
/// finds none of its places free is read slowly, every time.
const NAMES: usize = 1 << 14;
/// Places where a name may be.
const PLACES: usize = 8;
/// Slots for lanes; a collision costs a slow line.
const LANES: usize = 64;

#[derive(Clone, Copy, Debug)]
struct KnownName {
    hash: u32,
    length: u32,
    start: u32,
    name: NameRef,
}

impl Default for Memory {
    fn default() -> Self {
        let free = KnownName { hash: 0, length: 0, start: 0, name: NameRef::ANONYMOUS };
        Self {
            lanes: vec![([0; LANE_WORDS], LaneRef(0)); LANES],
            names: vec![free; NAMES],
            spellings: Vec::new(),
            prefix: 0,
        }
    }
}

impl Memory {
    /// Remembers what the general path made of a line, whose duration column begins at `prefix`,
    /// so that the next one like it is fast.
    pub(super) fn learn(&mut self, line: &[u8], prefix: usize, event: &Event, name: &[u8]) {
        self.prefix = prefix;
        if let Some(bytes) = lane_bytes(line, prefix) {
            self.lanes[lane_slot(bytes)] = (bytes, event.lane);
        }
        let hash = name_hash(name);
        if name.is_empty() || self.name(hash, name).is_some() {
            return;
        }
        let places = (0..PLACES).map(|n| (first_place(hash) + n) % NAMES);
        if let Some(free) = places.into_iter().find(|&at| self.names[at].length == 0) {
            let start = self.spellings.len() as u32;
            self.spellings.extend_from_slice(name);
            let length = name.len() as u32;
            self.names[free] = KnownName { hash, length, start, name: event.name };
        }
    }

    #[inline]
    fn name(&self, hash: u32, name: &[u8]) -> Option<NameRef> {
        let first = first_place(hash);
        for place in first..first + PLACES {
            let known = &self.names[place % NAMES];
            if known.hash == hash && known.length as usize == name.len() {
                let start = known.start as usize;
                if same(self.spellings.get(start..start + name.len())?, name) {
                    return Some(known.name).filter(|&name| name != NameRef::ANONYMOUS);
                }
            }
            if known.length == 0 {
                return None;
            }
        }
        None
    }

    #[inline]
    fn lane(&self, bytes: LaneBytes) -> Option<LaneRef> {
        let (known, lane) = &self.lanes[lane_slot(bytes)];
        (*known == bytes).then_some(*lane)
    }
}

/// The bytes that tell the lane, padded with zeros, which no such column contains.
type LaneBytes = [u64; LANE_WORDS];
const LANE_WORDS: usize = 4;

/// What stands between the time column (if there is one: a prefix is short without it) and the
/// duration column.
#[inline]
fn lane_bytes(line: &[u8], prefix: usize) -> Option<LaneBytes> {
    let start = if prefix > TIME + 2 { TIME + 2 } else { 0 };
    let length = prefix - start;
    if length <= 8 {
        let only = u64::MAX >> (64 - 8 * length.max(1));
        return Some([word(line, start) & only, length as u64, 0, 0]);
    }
    if !(16..=8 * LANE_WORDS).contains(&length) || line.len() < prefix {
        return None;
    }
    // The last word overlaps the one before it: together they hold every byte.
    let third = if length > 24 { word(line, start + 16) } else { length as u64 };
    Some([word(line, start), word(line, start + 8), third, word(line, prefix - 8)])
}

const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    match bytes.get(at..at + 8) {
        Some(eight) => u64::from_le_bytes(eight.try_into().expect("eight bytes")),
        None => 0,
    }
}

/// Whether two names of one length are the same; a call of `memcmp` costs more than most names.
#[inline]
fn same(a: &[u8], b: &[u8]) -> bool {
    let n = a.len();
    if n < 8 {
        return a == b;
    }
    let mut at = 0;
    while at + 8 < n {
        if word(a, at) != word(b, at) {
            return false;
        }
        at += 8;
    }
    word(a, n - 8) == word(b, n - 8)
}

fn name_hash(name: &[u8]) -> u32 {
    let mut hash = 0;
    let mut words = name.chunks_exact(8);
    for eight in &mut words {
        hash = mix(hash, word(eight, 0));
    }
    let mut rest = [0; 8];
    rest[..words.remainder().len()].copy_from_slice(words.remainder());
    (mix(hash, u64::from_le_bytes(rest)) >> 32) as u32
}

#[inline]
fn first_place(hash: u32) -> usize {
    hash as usize >> (32 - NAMES.trailing_zeros())
}

#[inline]
fn lane_slot([a, b, c, d]: LaneBytes) -> usize {
    let mixed = a ^ b.rotate_left(17) ^ c.rotate_left(34) ^ d.rotate_left(51);
    (mixed.wrapping_mul(MULTIPLIER) >> (64 - LANES.trailing_zeros())) as usize
}

/// Reads lines from `offset` on for as long as they are usual; says where it stopped.
pub(super) fn read(
    block: &[u8],
    mut offset: usize,
    layout: Layout,
    reader: &GraphReader,
    out: &mut Emitter,
) -> usize {
    let timed = match layout {
        Layout { cpu: true, duration: true, flags: false, time: Time::None, task: false } => false,
        Layout { cpu: true, duration: true, flags: false, time: Time::Absolute, task: true } => {
            true
        }
        _ => return offset,
    };
    let memory = &reader.memory;
    if memory.prefix == 0 || reader.is_returns_only() {
        return offset;
    }
    let uses_time = timed && reader.is_timed();
    let mut lines = 0;
    let mut second = Second::default();
    while let Some((event, length)) =
        usual(&block[offset..], offset, timed, uses_time, memory, &mut second)
    {
        out.events.push(event);
        lines += 1;
        offset += length;
    }
    out.lines += lines;
    out.records += lines;
    offset
}

/// The line at the beginning of `rest`, and its length with its end. Every byte up to the margin
/// is checked, so the line end is sought behind it only.
#[inline]
fn usual(
    rest: &[u8],
    offset: usize,
    timed: bool,
    uses_time: bool,
    memory: &Memory,
    second: &mut Second,
) -> Option<(Event, usize)> {
    let prefix = memory.prefix;
    let bar = prefix + DURATION;
    if rest.get(bar..bar + 3)? != b"|  " {
        return None;
    }
    let mut event = blank(offset);
    if timed {
        let stamp = time(rest, second)?;
        if uses_time {
            event.time = stamp;
        }
    }
    event.lane = memory.lane(lane_bytes(rest, prefix)?)?;
    let duration = duration(rest.get(prefix..bar)?)?;

    let body = rest.get(bar + 3..)?;
    let indent = blanks(body);
    if indent & 1 != 0 {
        return None;
    }
    event.depth = u16::try_from(indent / 2).ok().filter(|&depth| depth < u16::MAX - 1)?;
    let text = &body[indent..];
    let behind = bar + 3 + indent;
    if let [b'}', rest @ ..] = text {
        event.kind = EventKind::Exit;
        event.duration = duration;
        if rest.first() == Some(&b'\n') {
            return Some((event, behind + 2));
        }
        let named = rest.strip_prefix(b" /* ")?;
        let (hash, end) = name_at::<b' '>(named)?;
        named.get(end..)?.strip_prefix(b" */\n")?;
        event.name = memory.name(hash, &named[..end])?;
        return Some((event, behind + 5 + end + 4));
    }
    let (hash, end) = name_at::<b'('>(text)?;
    let name = &text[..end];
    match *text.get(end..end + 5)? {
        [_, b')', b';', b'\n', _] => {
            event.kind = EventKind::Leaf;
            event.name = memory.name(hash, name)?;
            event.duration = duration;
            Some((event, behind + end + 4))
        }
        [_, b')', b' ', b'{', b'\n'] => {
            event.kind = EventKind::Enter;
            event.name = memory.name(hash, name)?;
            Some((event, behind + end + 5))
        }
        _ => None,
    }
}

/// The name that ends before the first `END`: its hash, and where it ends. One pass does both,
/// eight bytes at a time.
#[inline]
fn name_at<const END: u8>(text: &[u8]) -> Option<(u32, usize)> {
    let ends = u64::from_le_bytes([END; 8]);
    let mut hash = 0_u64;
    let mut at = 0;
    loop {
        let eight = u64::from_le_bytes(text.get(at..at + 8)?.try_into().ok()?);
        let other = eight ^ ends;
        let zeros = other.wrapping_sub(0x0101_0101_0101_0101) & !other & 0x8080_8080_8080_8080;
        if zeros == 0 {
            hash = mix(hash, eight);
            at += 8;
            continue;
        }
        let bits = zeros.trailing_zeros() & !7;
        let rest = eight & ((1 << bits) - 1);
        return Some(((mix(hash, rest) >> 32) as u32, at + bits as usize / 8));
    }
}

#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    (hash.rotate_left(23) ^ word).wrapping_mul(MULTIPLIER)
}

/// The seconds of the latest time column: they seldom change.
#[derive(Clone, Copy, Debug, Default)]
struct Second {
    /// The five characters.
    text: u64,
    nanos: u64,
}

/// `  173.994448 |`: nanoseconds.
#[inline]
fn time(line: &[u8], second: &mut Second) -> Option<u64> {
    const SECONDS: u64 = 0xFF_FFFF_FFFF;
    if line.get(TIME..TIME + 2)? != b" |" || line[5] != b'.' {
        return None;
    }
    let text = word(line, 0) & SECONDS;
    if text != second.text {
        let seconds = super::line::number(line[..5].trim_ascii_start())?;
        *second = Second { text, nanos: seconds * 1_000_000_000 };
    }
    // `3.994448`: the last digit of the seconds and the point are cut off.
    let micros = digits(word(line, 4) & !0xFFFF, 2)?;
    Some(second.nanos + micros * 1_000)
}

/// The number in the eight characters of `word` (the first one in its lowest byte), of which the
/// first `cut` are zero bytes. The usual divide and conquer: pairs, then fours, then eight digits.
#[inline]
fn digits(word: u64, cut: u32) -> Option<u64> {
    let value = word.wrapping_sub(0x3030_3030_3030_3030 << (8 * cut));
    let not_digits = value.wrapping_add(0x7676_7676_7676_7676) | value;
    if not_digits & 0x8080_8080_8080_8080 != 0 {
        return None;
    }
    let pairs = value.wrapping_mul(10).wrapping_add(value >> 8) & 0x00FF_00FF_00FF_00FF;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_FFFF_0000_FFFF;
    Some(fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xFFFF_FFFF)
}

/// `+ 49.053 us   ` or blanks: nanoseconds, or [`UNSTATED`].
#[inline]
fn duration(column: &[u8]) -> Option<u64> {
    const BLANKS: u64 = u64::from_le_bytes([b' '; 8]);
    const UNIT: u64 = u64::from_le_bytes(*b" us     ");
    const POINTS: u64 = u64::from_le_bytes([b'.'; 8]);
    let column: &[u8; DURATION] = column.try_into().ok()?;
    let number = word(column, 2);
    if number == BLANKS {
        let blank = word(column, 0) == BLANKS && word(column, 6) == BLANKS;
        return blank.then_some(UNSTATED);
    }
    if column[1] != b' ' || !matches!(column[0], b' ' | b'+' | b'!' | b'#' | b'*' | b'@' | b'$') {
        return None;
    }
    // The lowest zero byte of `points` is the first point.
    let points = number ^ POINTS;
    let zeros = points.wrapping_sub(0x0101_0101_0101_0101) & !points & 0x8080_8080_8080_8080;
    let whole = zeros.trailing_zeros() / 8;
    if !(1..=4).contains(&whole) || word(column, 6) >> (8 * whole) != UNIT & u64::MAX >> (8 * whole)
    {
        return None;
    }
    // Close the gap that the point leaves, and push the digits to the end of the word.
    let before = number & ((1 << (8 * whole)) - 1);
    let behind = number >> (8 * (whole + 1)) & 0xFF_FFFF;
    let cut = 8 - (whole + 3);
    digits((before | behind << (8 * whole)) << (8 * cut), cut)
}

/// How many blanks `text` begins with.
#[inline]
fn blanks(text: &[u8]) -> usize {
    let mut at = 0;
    while let Some(eight) = text.get(at..at + 8) {
        let eight = u64::from_le_bytes(eight.try_into().expect("eight bytes"));
        let other = eight ^ u64::from_le_bytes([b' '; 8]);
        if other != 0 {
            return at + (other.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + text[at..].iter().take_while(|&&byte| byte == b' ').count()
}
