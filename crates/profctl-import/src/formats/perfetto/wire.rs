//! The fields of a Protocol Buffers message, as they stand in its bytes.

/// Why something cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wrong {
    /// It goes on after the end.
    Cut,
    /// It is invalid.
    Nonsense,
}

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value<'a> {
    Number(u64),
    /// Eight bytes or four of a fixed width.
    Fixed(u64),
    /// A text, or a message of its own.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    /// The number, if it is one.
    pub(super) fn number(self) -> Option<u64> {
        match self {
            Self::Number(number) | Self::Fixed(number) => Some(number),
            Self::Bytes(_) => None,
        }
    }

    /// The bytes, if it has any.
    pub(super) fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            Self::Number(_) | Self::Fixed(_) => None,
        }
    }
}

/// The most bytes that a number takes.
pub(super) const VARINT_MAX: usize = 10;

/// A number of seven bits per byte, the least significant first, and how many bytes it takes.
#[inline]
pub(super) fn varint(bytes: &[u8]) -> Result<(u64, usize), Wrong> {
    let mut value = 0;
    for (at, &byte) in bytes.iter().enumerate().take(VARINT_MAX) {
        if at == VARINT_MAX - 1 && byte > 1 {
            return Err(Wrong::Nonsense);
        }
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return Ok((value, at + 1));
        }
    }
    Err(if bytes.len() < VARINT_MAX { Wrong::Cut } else { Wrong::Nonsense })
}

/// The fields of a message, by number. It ends where the message does, or where it is invalid.
#[derive(Clone, Debug)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    wrong: bool,
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8]) -> Self {
        Self { rest: message, wrong: false }
    }

    /// Whether what it ended at is invalid.
    pub(super) fn is_wrong(&self) -> bool {
        self.wrong
    }

    fn field(&mut self) -> Result<(u32, Value<'a>), Wrong> {
        let (tag, length) = varint(self.rest)?;
        let rest = &self.rest[length..];
        let number = u32::try_from(tag >> 3).map_err(|_| Wrong::Nonsense)?;
        if number == 0 {
            return Err(Wrong::Nonsense);
        }
        let (value, length) = match tag & 7 {
            0 => varint(rest).map(|(value, length)| (Value::Number(value), length))?,
            1 => (Value::Fixed(crate::bytes::little(rest.get(..8).ok_or(Wrong::Cut)?)), 8),
            5 => (Value::Fixed(crate::bytes::little(rest.get(..4).ok_or(Wrong::Cut)?)), 4),
            2 => {
                let (size, length) = varint(rest)?;
                let size = usize::try_from(size).map_err(|_| Wrong::Cut)?;
                let end = length.checked_add(size).ok_or(Wrong::Cut)?;
                (Value::Bytes(rest.get(length..end).ok_or(Wrong::Cut)?), end)
            }
            _ => return Err(Wrong::Nonsense),
        };
        self.rest = &rest[length..];
        Ok((number, value))
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = (u32, Value<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() || self.wrong {
            return None;
        }
        let field = self.field().ok();
        self.wrong = field.is_none();
        field
    }
}

/// The messages in a field of a message.
pub(super) fn messages(message: &[u8], wanted: u32) -> impl Iterator<Item = &[u8]> {
    let fields = Fields::of(message).filter(move |(number, _)| *number == wanted);
    fields.filter_map(|(_, value)| value.bytes())
}

/// The numbers in these fields of a message.
pub(super) fn numbers<const N: usize>(message: &[u8], wanted: [u32; N]) -> [Option<u64>; N] {
    let mut found = [None; N];
    for (number, value) in Fields::of(message) {
        if let Some(row) = wanted.iter().position(|wanted| *wanted == number) {
            found[row] = value.number();
        }
    }
    found
}

/// The text in a field of a message; empty if it is not there.
pub(super) fn text(message: &[u8], wanted: u32) -> &[u8] {
    let field = Fields::of(message).find(|(number, _)| *number == wanted);
    field.and_then(|(_, value)| value.bytes()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_at_most_64_bits() {
        assert_eq!(varint(&[0x96, 0x01]), Ok((150, 2)));
        let largest = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01];
        assert_eq!(varint(&largest), Ok((u64::MAX, 10)));
        let overflow = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02];
        assert_eq!(varint(&overflow), Err(Wrong::Nonsense));
        assert_eq!(varint(&overflow[..9]), Err(Wrong::Cut));
        assert_eq!(varint(&[]), Err(Wrong::Cut));
    }

    #[test]
    fn a_field_that_makes_no_sense_ends_the_message() {
        // 1: 150, then a group, which is obsolete.
        let mut fields = Fields::of(&[0x08, 0x96, 0x01, 0x0b]);
        assert_eq!(fields.next(), Some((1, Value::Number(150))));
        assert_eq!(fields.next(), None);
        assert!(fields.is_wrong());
        for message in [&[0x0a, 0x05, 1][..], &[0x09, 1], &[0x00, 0x00], &[0x80]] {
            let mut fields = Fields::of(message);
            assert_eq!(fields.by_ref().count(), 0, "{message:?}");
            assert!(fields.is_wrong(), "{message:?}");
        }
    }
}
