//! Where in a record tag and counter lie.

use profctl_model::TickUnit;

use super::{FieldOrder, ProbeOptions};
use crate::bytes::{Endian, low_bits};

/// The widest valid record, bytes.
const RECORD_BYTES_MAX: usize = 4096;

/// A checked layout.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    /// Bytes from one record to the next.
    pub(super) stride: usize,
    /// The tag.
    pub(super) tag: Field,
    /// The counter.
    pub(super) time: Field,
    /// Which byte comes first.
    pub(super) endian: Endian,
}

/// One field of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Field {
    /// Byte offset in the record.
    pub(super) at: usize,
    /// How far eight bytes, read at `at` with the most significant one first, are to be shifted
    /// down.
    pub(super) shift: u32,
    /// The bits that count.
    pub(super) mask: u64,
    /// Bytes it takes.
    width: usize,
}

impl Field {
    fn new(bits: u32) -> Self {
        let width = bits.div_ceil(8);
        Self { at: 0, shift: 64 - 8 * width, mask: low_bits(bits), width: width as usize }
    }

    /// The byte offset after it.
    pub(super) fn end(self) -> usize {
        self.at + self.width
    }

    /// How far to shift the first eight bytes of the record down, if the field is among them.
    pub(super) fn shift_in_record<const BIG: bool>(self) -> u32 {
        let bytes = if BIG { 8 - self.end() } else { self.at };
        8 * bytes as u32
    }
}

impl Layout {
    /// The layout that `options` describe, or what is wrong with them.
    pub(super) fn of(options: &ProbeOptions) -> Result<Self, String> {
        let ProbeOptions { tag_bits, time_bits, tick, endian, order, record_bytes } = *options;
        if !(1..=32).contains(&tag_bits) {
            return Err(format!("tags of {tag_bits} bits, expected 1 to 32"));
        }
        if !(1..=64).contains(&time_bits) {
            return Err(format!("a counter of {time_bits} bits, expected 1 to 64"));
        }
        if let TickUnit::Seconds { numerator, denominator } = tick
            && (numerator == 0 || denominator == 0)
        {
            return Err("a tick without a length, expected one such as 1us".into());
        }
        let (mut tag, mut time) = (Field::new(tag_bits), Field::new(time_bits));
        match order {
            FieldOrder::TagTime => time.at = tag.width,
            FieldOrder::TimeTag => tag.at = time.width,
        }
        let used = tag.width + time.width;
        let stride = record_bytes.unwrap_or(used);
        if !(used..=RECORD_BYTES_MAX).contains(&stride) {
            return Err(format!(
                "records of {stride} bytes, expected {used} (tag {}, counter {}) to \
                 {RECORD_BYTES_MAX}",
                tag.width, time.width,
            ));
        }
        Ok(Self { stride, tag, time, endian })
    }

    /// The layout in words.
    pub(super) fn describe(&self, options: &ProbeOptions) -> String {
        let tag = format!("tag {} bits", options.tag_bits);
        let time = format!("counter {} bits", options.time_bits);
        let (first, second) = match options.order {
            FieldOrder::TagTime => (tag, time),
            FieldOrder::TimeTag => (time, tag),
        };
        let endian = match self.endian {
            Endian::Little => "little-endian",
            Endian::Big => "big-endian",
        };
        format!("{first}, {second}, {endian}, {} bytes", self.stride)
    }
}
