//! Protocol Buffers messages, written field by field.

/// A message that is being written.
#[derive(Clone, Default, Debug)]
pub(super) struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// What was written so far.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Begins another message in the same memory.
    pub(super) fn clear(&mut self) {
        self.bytes.clear();
    }

    /// A whole number, of any type whose wire form is a varint.
    pub(super) fn number(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field) << 3);
        self.varint(value);
    }

    /// A text, or bytes.
    pub(super) fn text(&mut self, field: u32, text: impl AsRef<[u8]>) {
        let text = text.as_ref();
        self.varint(u64::from(field) << 3 | 2);
        self.varint(text.len() as u64);
        self.bytes.extend_from_slice(text);
    }

    /// A message within this one.
    pub(super) fn message(&mut self, field: u32, message: &Self) {
        self.text(field, &message.bytes);
    }

    /// A message within this one, as `fill` writes it.
    pub(super) fn with(&mut self, field: u32, fill: impl FnOnce(&mut Self)) {
        let mut message = Self::default();
        fill(&mut message);
        self.message(field, &message);
    }

    /// Whole numbers, one after the other without a tag each.
    pub(super) fn numbers(&mut self, field: u32, values: impl IntoIterator<Item = u64>) {
        self.with(field, |packed| values.into_iter().for_each(|value| packed.varint(value)));
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification() {
        // "Protocol Buffers: Encoding": field 1 is 150; field 2 is "testing"; field 3 is the first.
        let mut message = Message::default();
        message.number(1, 150);
        assert_eq!(message.bytes(), [0x08, 0x96, 0x01]);
        let inner = message.clone();
        message.clear();
        message.text(2, "testing");
        message.message(3, &inner);
        let expected = b"\x12\x07testing\x1a\x03\x08\x96\x01";
        assert_eq!(message.bytes(), expected);
    }

    #[test]
    fn the_largest_number_takes_ten_bytes() {
        let mut message = Message::default();
        message.number(1, u64::MAX);
        message.numbers(4, [3, 270, 86_942]);
        let expected =
            b"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x22\x06\x03\x8e\x02\x9e\xa7\x05";
        assert_eq!(message.bytes(), expected);
    }
}
