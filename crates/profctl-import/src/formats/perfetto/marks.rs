//! What programs and drivers mark in the events of the kernel: slices, numbers and instants.

use profctl_model::FuncKind;

use super::reading::Reading;
use super::wire::{numbers, text};
use crate::emit::At;
use crate::formats::systrace::mark::{self, Mark};

/// What a program wrote to `trace_marker`: slices by the convention of Android, or a mark.
pub(super) fn print(reading: &mut Reading<'_>, text: &[u8], at: At) {
    let text = text.trim_ascii();
    match mark::of(b"tracing_mark_write", text) {
        Some(mark) => mark.say(at, reading.out),
        None => {
            let name = reading.out.func("tracing_mark_write", FuncKind::Mark);
            reading.out.instant_with(at, name, &String::from_utf8_lossy(text));
        }
    }
}

/// The fields of an event with which a driver marks the same; 0 for none.
struct Layout {
    name: u32,
    /// The letter of the convention.
    letter: u32,
    /// Without a letter, whether a slice begins or ends.
    begins: u32,
    value: u32,
}

/// The event `zero` of kernels by Google has flags instead of a letter.
const ZERO: u32 = 331;
const ZERO_BEGINS: u64 = 1;
const ZERO_ENDS: u64 = 2;
const ZERO_COUNTS: u64 = 4;

/// The layouts of `*_tracing_mark_write`, by the field of the event
/// (`protos/perfetto/trace/ftrace` of Perfetto 56).
fn layout(kind: u32) -> Option<Layout> {
    let (name, letter, begins, value) = match kind {
        80 => (2, 0, 3, 0),
        ZERO => (2, 1, 0, 4),
        // sde
        333 => (2, 3, 5, 4),
        // dpu, g2d
        348 | 349 => (4, 5, 0, 6),
        // mali
        350 => (1, 3, 0, 4),
        // lwis
        467 => (4, 2, 0, 5),
        // samsung
        484 => (2, 4, 3, 5),
        _ => return None,
    };
    Some(Layout { name, letter, begins, value })
}

/// Says what the event of a driver marks; nothing if it is none that does.
pub(super) fn driver(reading: &mut Reading<'_>, kind: u32, fields: &[u8], at: At) -> Option<()> {
    let layout = layout(kind)?;
    let [letter, begins, value] = numbers(fields, [layout.letter, layout.begins, layout.value]);
    let letter = match (letter.unwrap_or(0), begins.unwrap_or(0)) {
        (flags, _) if kind == ZERO => match flags {
            flags if flags & ZERO_BEGINS != 0 => b'B',
            flags if flags & ZERO_ENDS != 0 => b'E',
            flags if flags & ZERO_COUNTS != 0 => b'C',
            _ => return None,
        },
        (0, 0) => b'E',
        (0, _) => b'B',
        (letter, _) => u8::try_from(letter).ok()?,
    };
    let name = match text(fields, layout.name) {
        b"" => mark::NAMELESS,
        name => name,
    };
    let mark = match letter {
        b'B' => Mark::Begin { process: None, name },
        b'E' => Mark::End,
        b'C' => Mark::Counter { name, value: value.unwrap_or(0).cast_signed() as f64 },
        b'I' => Mark::Instant { name },
        _ => return None,
    };
    mark.say(at, reading.out);
    Some(())
}
