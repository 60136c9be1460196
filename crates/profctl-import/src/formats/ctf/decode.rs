//! Bits to values, by the types of the metadata.

use super::types::{ELEMENTS_MAX, Integer, Struct, Type};
use crate::bytes::{Endian, low_bits};

/// A value of a field.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Value<'a> {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    Text(&'a [u8]),
    /// A structure or a list, whose fields come one by one where it is asked for.
    Other,
}

impl<'a> Value<'a> {
    /// The value of an integer; negative ones as they are stored.
    pub(super) fn number(self) -> Option<u64> {
        match self {
            Self::Unsigned(number) => Some(number),
            Self::Signed(number) => Some(number.cast_unsigned()),
            _ => None,
        }
    }

    /// A text, up to its NUL.
    pub(super) fn text(self) -> Option<&'a [u8]> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The decoded fields of a structure.
pub(super) trait Visitor<'a> {
    /// A field: its name, its type, its value, and in how many structures it lies.
    fn field(&mut self, name: &'a str, of: &'a Type, value: Value<'a>, depth: usize);
}

/// An integer that was read, which lengths and choices may name.
#[derive(Clone, Copy)]
struct Known<'a> {
    name: &'a str,
    value: u64,
    of: &'a Type,
}

/// Reads fields of one packet.
pub(super) struct Decoder<'a> {
    bytes: &'a [u8],
    /// Bits from the start of the packet.
    pub(super) at: u64,
    end: u64,
    known: Vec<Known<'a>>,
}

/// An integer that lies at a fixed distance behind a place which is known when it is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fixed {
    /// Bits from there.
    distance: u64,
    of: Integer,
    /// Where it is in the 8 bytes that begin with its first, if that place is at a whole byte and
    /// they hold all of it: bits to drop above it, then below it.
    drops: Option<(u32, u32)>,
}

impl Fixed {
    pub(super) fn new(distance: u64, of: Integer) -> Self {
        let within = (distance % 8) as u32;
        let is_held = (1..=u64::BITS - within).contains(&of.bits);
        let below = u64::BITS.saturating_sub(of.bits);
        let above = match of.endian {
            Endian::Little => below.saturating_sub(within),
            Endian::Big => within,
        };
        Self { distance, of, drops: is_held.then_some((above, below)) }
    }

    /// The same, counted from a place that is so many bits before.
    pub(super) fn behind(&self, bits: u64) -> Self {
        Self::new(self.distance.saturating_add(bits), self.of)
    }

    /// The number, where it is counted from the first of `bytes`; nothing if the 8 bytes from its
    /// first one on are not all there or do not hold it.
    #[inline]
    pub(super) fn within(&self, bytes: &[u8]) -> Option<u64> {
        let (above, below) = self.drops?;
        let window = *bytes.get((self.distance / 8) as usize..)?.first_chunk()?;
        Some(self.of_window(window, above, below))
    }

    #[inline]
    fn of_window(&self, window: [u8; 8], above: u32, below: u32) -> u64 {
        let window = match self.of.endian {
            Endian::Little => u64::from_le_bytes(window),
            Endian::Big => u64::from_be_bytes(window),
        };
        let bits = window << above;
        if self.of.signed { (bits.cast_signed() >> below).cast_unsigned() } else { bits >> below }
    }
}

/// There are no bits left, or a field is invalid.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stopped;

impl<'a> Decoder<'a> {
    /// A decoder over a packet of which the first `end` bits are content.
    pub(super) fn new(bytes: &'a [u8], end: u64) -> Self {
        Self { bytes, at: 0, end: end.min(bytes.len() as u64 * 8), known: Vec::new() }
    }

    /// Whether nothing is left.
    pub(super) fn is_done(&self) -> bool {
        self.at >= self.end
    }

    /// Clears the integers of the previous event.
    pub(super) fn forget(&mut self) {
        self.known.clear();
    }

    /// The latest integer of that name.
    pub(super) fn latest(&self, name: &str) -> Option<u64> {
        self.known.iter().rev().find(|known| known.name == name).map(|known| known.value)
    }

    /// Limits the content, once its size is known.
    pub(super) fn limit(&mut self, end: u64) {
        self.end = self.end.min(end);
    }

    /// Passes bits that are not needed.
    #[inline]
    pub(super) fn pass(&mut self, bits: u64) -> Result<(), Stopped> {
        let to = self.at.checked_add(bits).ok_or(Stopped)?;
        if to > self.end && bits > 0 {
            return Err(Stopped);
        }
        self.at = to;
        Ok(())
    }

    #[inline]
    pub(super) fn align(&mut self, bits: u32) -> Result<(), Stopped> {
        let bits = u64::from(bits.max(1));
        self.at = if bits.is_power_of_two() {
            // Nearly all are, and a division for each field is half of what a field takes.
            self.at.checked_add(bits - 1).ok_or(Stopped)? & !(bits - 1)
        } else {
            self.at.checked_next_multiple_of(bits).ok_or(Stopped)?
        };
        Ok(())
    }

    /// Reads a structure.
    pub(super) fn structure(
        &mut self,
        of: &'a Struct,
        depth: usize,
        visitor: &mut impl Visitor<'a>,
    ) -> Result<(), Stopped> {
        self.align(of.align)?;
        for (name, field) in &of.fields {
            self.field(name, field, depth, visitor)?;
        }
        Ok(())
    }

    /// The number in a field that was passed, which lies behind `start`; a negative one as it is
    /// stored in 64 bits.
    #[inline]
    pub(super) fn number_at(&self, start: u64, number: &Fixed) -> u64 {
        let at = start + number.distance;
        if let Some((above, below)) = number.drops
            && start.is_multiple_of(8)
            && let Some(rest) = self.bytes.get((at / 8) as usize..)
            && let Some(&window) = rest.first_chunk()
        {
            return number.of_window(window, above, below);
        }
        self.any_number_at(at, &number.of)
    }

    /// The next whole byte that is at a multiple of so many bits: its number in the packet, and all
    /// from it on.
    #[inline]
    pub(super) fn rest(&self, align: u32) -> Option<(usize, &'a [u8])> {
        let align = u64::from(align);
        let at = (self.at.checked_add(align - 1)? & !(align - 1)) / 8;
        let at = usize::try_from(at).ok()?;
        Some((at, self.bytes.get(at..)?))
    }

    /// Goes on behind `bits` bits from that byte on, if they are content.
    #[inline]
    pub(super) fn go_behind(&mut self, byte: usize, bits: u64) -> Option<()> {
        let to = (byte as u64 * 8).checked_add(bits).filter(|to| *to <= self.end)?;
        self.at = to;
        Some(())
    }

    #[inline(never)]
    fn any_number_at(&self, at: u64, of: &Integer) -> u64 {
        extended(bits_at(self.bytes, at, of.bits, of.endian), of)
    }

    /// The text in a field that was passed, in so many bytes if that is given.
    #[inline(never)]
    pub(super) fn text_at(&self, at: u64, length: Option<u64>) -> Option<&'a [u8]> {
        let mut there = self.there(at);
        match length {
            Some(length) => there.letters(length).ok()?.text(),
            None => there.text().ok(),
        }
    }

    /// The value of a field that was passed.
    pub(super) fn value_at(&self, at: u64, of: &'a Type) -> Option<Value<'a>> {
        self.there(at).simple(of).ok()
    }

    fn there(&self, at: u64) -> Self {
        Self { bytes: self.bytes, at, end: self.end, known: Vec::new() }
    }

    /// Reads a field of a type that [`Type::is_simple`].
    #[inline]
    pub(super) fn simple(&mut self, of: &'a Type) -> Result<Value<'a>, Stopped> {
        self.align(of.align())?;
        match of {
            Type::Integer(integer) => self.integer(integer),
            Type::Enum(labels) => self.integer(&labels.container),
            Type::Float { bits, endian, .. } => {
                let raw = self.bits(*bits, *endian)?;
                let float = match bits {
                    32 => f32::from_bits(raw as u32).into(),
                    _ => f64::from_bits(raw),
                };
                Ok(Value::Float(float))
            }
            Type::Text => Ok(Value::Text(self.text()?)),
            Type::Array(_, length) => self.letters(*length),
            Type::Struct(_) | Type::Variant(_) | Type::Sequence(..) => Err(Stopped),
        }
    }

    fn field(
        &mut self,
        name: &'a str,
        of: &'a Type,
        depth: usize,
        visitor: &mut impl Visitor<'a>,
    ) -> Result<(), Stopped> {
        if depth > 64 {
            return Err(Stopped);
        }
        self.align(of.align())?;
        let value = match of {
            Type::Integer(_) | Type::Enum(_) => {
                let value = self.simple(of)?;
                if let Some(value) = value.number() {
                    self.known.push(Known { name, value, of });
                }
                value
            }
            Type::Float { .. } | Type::Text => self.simple(of)?,
            Type::Struct(inside) => {
                visitor.field(name, of, Value::Other, depth);
                return self.structure(inside, depth + 1, visitor);
            }
            Type::Variant(variant) => {
                let chosen = self.choose(&variant.tag);
                let field = variant.fields.iter().find(|(label, _)| Some(label.as_str()) == chosen);
                let (label, field) = field.ok_or(Stopped)?;
                visitor.field(name, of, Value::Other, depth);
                return self.field(label, field, depth + 1, visitor);
            }
            Type::Array(element, length) => {
                return self.list(name, (of, element), *length, depth, visitor);
            }
            Type::Sequence(element, length) => {
                let length = self.latest(length).ok_or(Stopped)?;
                return self.list(name, (of, element), length, depth, visitor);
            }
        };
        visitor.field(name, of, value, depth);
        Ok(())
    }

    fn list(
        &mut self,
        name: &'a str,
        (of, element): (&'a Type, &'a Type),
        length: u64,
        depth: usize,
        visitor: &mut impl Visitor<'a>,
    ) -> Result<(), Stopped> {
        if length > ELEMENTS_MAX {
            return Err(Stopped);
        }
        if element.is_letter() {
            let text = self.letters(length)?;
            visitor.field(name, of, text, depth);
            return Ok(());
        }
        visitor.field(name, of, Value::Other, depth);
        for _ in 0..length {
            self.field("", element, depth + 1, visitor)?;
        }
        Ok(())
    }

    #[inline]
    fn integer(&mut self, integer: &Integer) -> Result<Value<'a>, Stopped> {
        let number = self.number(integer)?;
        Ok(if integer.signed {
            Value::Signed(number.cast_signed())
        } else {
            Value::Unsigned(number)
        })
    }

    /// An integer; a negative one as it is stored in 64 bits.
    #[inline]
    pub(super) fn number(&mut self, integer: &Integer) -> Result<u64, Stopped> {
        Ok(extended(self.bits(integer.bits, integer.endian)?, integer))
    }

    /// A text in a list of that many bytes, up to its NUL.
    fn letters(&mut self, length: u64) -> Result<Value<'a>, Stopped> {
        if length > ELEMENTS_MAX {
            return Err(Stopped);
        }
        let bytes = self.slice(length)?;
        Ok(Value::Text(&bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())]))
    }

    /// The label that the latest enumeration of that name has.
    fn choose(&self, tag: &str) -> Option<&'a str> {
        let known = self.known.iter().rev().find(|known| known.name == tag)?;
        let Type::Enum(labels) = known.of else { return None };
        let value = if labels.container.signed {
            i128::from(known.value.cast_signed())
        } else {
            i128::from(known.value)
        };
        labels.label(value)
    }

    /// Whole bytes, from a byte on.
    fn slice(&mut self, length: u64) -> Result<&'a [u8], Stopped> {
        self.align(8)?;
        let end = self.at.checked_add(length.checked_mul(8).ok_or(Stopped)?).ok_or(Stopped)?;
        if end > self.end {
            return Err(Stopped);
        }
        let slice = &self.bytes[(self.at / 8) as usize..(end / 8) as usize];
        self.at = end;
        Ok(slice)
    }

    pub(super) fn text(&mut self) -> Result<&'a [u8], Stopped> {
        let rest = self.bytes.get((self.at / 8) as usize..(self.end / 8) as usize);
        let rest = rest.ok_or(Stopped)?;
        let length = memchr::memchr(0, rest).ok_or(Stopped)?;
        self.at += 8 * (length as u64 + 1);
        Ok(&rest[..length])
    }

    /// An integer of up to 64 bits, which may begin and end within bytes.
    #[inline]
    fn bits(&mut self, bits: u32, endian: Endian) -> Result<u64, Stopped> {
        let end = self.at.checked_add(bits.into()).ok_or(Stopped)?;
        if end > self.end {
            return Err(Stopped);
        }
        let raw = bits_at(self.bytes, self.at, bits, endian);
        self.at = end;
        Ok(raw)
    }
}

/// An integer of up to 64 bits, `at` bits from the start of `bytes`.
#[inline]
fn bits_at(bytes: &[u8], at: u64, bits: u32, endian: Endian) -> u64 {
    let within = (at % 8) as u32;
    if let Some((&window, _)) = bytes.get((at / 8) as usize..).and_then(<[u8]>::split_first_chunk)
        && (1..=u64::BITS - within).contains(&bits)
    {
        return match endian {
            Endian::Little => u64::from_le_bytes(window) >> within & low_bits(bits),
            Endian::Big => u64::from_be_bytes(window) << within >> (u64::BITS - bits),
        };
    }
    bits_by_bytes(bytes, at, bits, endian)
}

/// The same at the end of a packet, and where it is in more than 8 bytes.
#[cold]
fn bits_by_bytes(bytes: &[u8], at: u64, bits: u32, endian: Endian) -> u64 {
    let within = (at % 8) as u32;
    let field = &bytes[(at / 8) as usize..(at + u64::from(bits)).div_ceil(8) as usize];
    let mask = (1_u128 << bits) - 1;
    match endian {
        // The lowest bit of the first byte comes first.
        Endian::Little => {
            let word = field.iter().rev().fold(0_u128, |word, &byte| word << 8 | u128::from(byte));
            (word >> within & mask) as u64
        }
        // The highest bit of the first byte comes first.
        Endian::Big => {
            let word = field.iter().fold(0_u128, |word, &byte| word << 8 | u128::from(byte));
            let behind = field.len() as u32 * 8 - within - bits;
            (word >> behind & mask) as u64
        }
    }
}

/// The number that the lowest bits of `raw` are; a negative one as it is stored in 64 bits.
#[inline]
fn extended(raw: u64, integer: &Integer) -> u64 {
    if !integer.signed {
        return raw;
    }
    let unused = u64::BITS - integer.bits;
    ((raw << unused).cast_signed() >> unused).cast_unsigned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_any_size_at_any_bit() {
        for (endian, expected) in
            [(Endian::Little, [0x2, 0x1f, 0x11, 0x22]), (Endian::Big, [0x2, 0x1d, 0x11, 0x22])]
        {
            // Three bits, five bits, then two bytes.
            let first = match endian {
                Endian::Little => 0x2 | 0x1f << 3,
                Endian::Big => 0x2 << 5 | 0x1d,
            };
            let bytes = [first, 0x11, 0x22];
            let mut decoder = Decoder::new(&bytes, 24);
            let found = [3, 5, 8, 8].map(|bits| decoder.bits(bits, endian).unwrap());
            assert_eq!(found, expected);
            assert_eq!(decoder.bits(1, endian), Err(Stopped));
        }
        let bytes = [0xff; 9];
        for endian in [Endian::Little, Endian::Big] {
            let mut decoder = Decoder::new(&bytes, 72);
            decoder.bits(3, endian).unwrap();
            assert_eq!(decoder.bits(64, endian), Ok(u64::MAX));
        }
    }
}
