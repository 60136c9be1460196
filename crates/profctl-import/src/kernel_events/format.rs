//! The descriptions that the kernel gives of its binary records: `events/SYSTEM/EVENT/format` of
//! tracefs, as trace.dat, perf.data and Perfetto carry them.
//!
//! ```text
//! name: sched_waking
//! ID: 322
//! format:
//!     field:unsigned short common_type;    offset:0;    size:2;    signed:0;
//!     …
//!     field:char comm[16];    offset:8;    size:16;    signed:1;
//!     field:pid_t pid;    offset:24;    size:4;    signed:1;
//!
//! print fmt: "comm=%s pid=%d", REC->comm, REC->pid
//! ```

use crate::bytes::{self, Endian};

/// An integer in a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Int {
    /// Bytes from the start of the record.
    pub offset: usize,
    /// Bytes, 8 at most.
    pub size: usize,
    /// Whether it may be negative.
    pub signed: bool,
}

impl Int {
    /// The number, extended to 64 bits; nothing if the record ends before it does.
    #[inline]
    pub fn get(self, record: &[u8], endian: Endian) -> Option<u64> {
        let field = record.get(self.offset..self.offset.checked_add(self.size)?)?;
        // The sizes that hot records have, without a loop.
        if endian == Endian::Little && (self.size == 8 || (self.size == 4 && !self.signed)) {
            return Some(match *field {
                [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
                _ => u64::from_le_bytes(field.try_into().ok()?),
            });
        }
        Some(self.extended(field, endian))
    }

    fn extended(self, field: &[u8], endian: Endian) -> u64 {
        let value = match endian {
            Endian::Little => bytes::little(field),
            Endian::Big => bytes::big(field),
        };
        // A damaged description may give a number any size.
        let unused = 64_usize.saturating_sub(self.size.saturating_mul(8));
        if self.signed && (1..64).contains(&unused) {
            ((value << unused) as i64 >> unused) as u64
        } else {
            value
        }
    }
}

/// What a field holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FieldKind {
    /// A number.
    Integer,
    /// A text in the record itself, up to its first NUL (`char comm[16]`).
    Text,
    /// Where in the record a text stands: 16 bits offset, 16 bits length (`__data_loc char[]`).
    TextAt,
    /// The same, counted from the end of the field (`__rel_loc char[]`).
    TextBehind,
    /// A text that fills the rest of the record (`char buf[]`).
    TextToEnd,
    /// Numbers of that many bytes, in parallel.
    Numbers(usize),
    /// Anything else.
    Bytes,
}

/// A field of a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Where it stands; of an array the whole of it.
    pub place: Int,
    /// What it holds.
    pub kind: FieldKind,
    /// Whether numbers are better shown in hexadecimal: addresses.
    pub is_address: bool,
}

impl Field {
    /// The text that it holds, without what follows a NUL.
    pub fn text<'a>(&self, record: &'a [u8], endian: Endian) -> Option<&'a [u8]> {
        let place = self.place;
        let bytes = match self.kind {
            FieldKind::Text => record.get(place.offset..place.offset + place.size)?,
            FieldKind::TextToEnd => record.get(place.offset..)?,
            FieldKind::TextAt | FieldKind::TextBehind => {
                let at = Int { signed: false, ..place }.get(record, endian)?;
                let (offset, length) = ((at & 0xFFFF) as usize, (at >> 16 & 0xFFFF) as usize);
                let behind = self.kind == FieldKind::TextBehind;
                let base = if behind { place.offset + place.size } else { 0 };
                record.get(base + offset..base + offset + length)?
            }
            _ => return None,
        };
        Some(&bytes[..memchr::memchr(0, bytes).unwrap_or(bytes.len())])
    }
}

/// How the records of an event are laid out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct EventFormat {
    /// The system that it belongs to, such as `sched`.
    pub system: String,
    /// Its name.
    pub name: String,
    /// The number that its records begin with.
    pub id: u32,
    /// The fields that the records of every event begin with.
    pub common: Common,
    /// Its own fields.
    pub fields: Vec<Field>,
    /// How the kernel prints it: a format and its arguments, in C.
    pub print: String,
}

/// The fields of every record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Common {
    /// The number of the event.
    pub kind: Int,
    /// Flags, see [`super::context_of_flags`].
    pub flags: Int,
    /// How deep preemption was disabled.
    pub preempt_count: Int,
    /// Who ran.
    pub pid: Int,
}

impl Default for Common {
    /// The layout of every kernel since 2009.
    fn default() -> Self {
        let int = |offset, size, signed| Int { offset, size, signed };
        Self {
            kind: int(0, 2, false),
            flags: int(2, 1, false),
            preempt_count: int(3, 1, false),
            pid: int(4, 4, true),
        }
    }
}

/// Fields that a damaged description may have at most.
const FIELDS_MAX: usize = 256;

impl EventFormat {
    /// Reads a description. Nothing if it has no name or no number.
    pub fn parse(system: &str, text: &str) -> Option<Self> {
        let mut format = Self { system: system.to_owned(), ..Self::default() };
        let mut id = None;
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let line = line.trim();
            if let Some(name) = line.strip_prefix("name:") {
                name.trim().clone_into(&mut format.name);
            } else if let Some(number) = line.strip_prefix("ID:") {
                id = number.trim().parse().ok();
            } else if let Some(print) = line.strip_prefix("print fmt:") {
                print.trim().clone_into(&mut format.print);
                for more in lines.by_ref() {
                    format.print.push('\n');
                    format.print.push_str(more);
                }
            } else if let Some(field) = line.strip_prefix("field:")
                && format.fields.len() < FIELDS_MAX
                && let Some(field) = parse_field(field)
            {
                format.add(field);
            }
        }
        format.id = id?;
        (!format.name.is_empty()).then_some(format)
    }

    fn add(&mut self, field: Field) {
        match field.name.as_str() {
            "common_type" => self.common.kind = field.place,
            "common_flags" => self.common.flags = field.place,
            "common_preempt_count" => self.common.preempt_count = field.place,
            "common_pid" => self.common.pid = field.place,
            name if name.starts_with("common_") => {}
            _ => self.fields.push(field),
        }
    }

    /// The field of that name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// The number of that name.
    pub fn int(&self, name: &str) -> Option<Int> {
        self.field(name).filter(|field| field.kind == FieldKind::Integer).map(|field| field.place)
    }
}

/// `unsigned long func; offset:8; size:8; signed:0;`, with tabs between them.
fn parse_field(text: &str) -> Option<Field> {
    let mut parts = text.split(';').map(str::trim);
    let declaration = parts.next()?;
    let (mut offset, mut size, mut signed) = (None, None, false);
    for part in parts {
        if let Some(number) = part.strip_prefix("offset:") {
            offset = number.trim().parse::<u32>().ok();
        } else if let Some(number) = part.strip_prefix("size:") {
            size = number.trim().parse::<u32>().ok();
        } else if let Some(number) = part.strip_prefix("signed:") {
            signed = number.trim() == "1";
        }
    }
    // No record is longer than a page.
    let small = |number: u32| (number <= 1 << 20).then_some(number as usize);
    let place = Int { offset: small(offset?)?, size: small(size?)?, signed };
    let is_loc = |prefix| declaration.starts_with(prefix);
    let (before, array) = match declaration.split_once('[') {
        // `__data_loc char[] name`: the brackets belong to the type.
        Some((_, rest)) if is_loc("__data_loc") || is_loc("__rel_loc") => {
            (rest.split_once(']')?.1, true)
        }
        Some((before, _)) => (before, true),
        None => (declaration, false),
    };
    let name = before.rsplit([' ', '*']).next()?.trim();
    if name.is_empty() {
        return None;
    }
    let is_text = array && declaration.contains("char") && !declaration.contains("unsigned char");
    let is_pointer = declaration.contains('*');
    let kind = if is_loc("__data_loc") || is_loc("__rel_loc") {
        match (is_text, place.size) {
            (true, 4) if is_loc("__data_loc") => FieldKind::TextAt,
            (true, 4) => FieldKind::TextBehind,
            _ => FieldKind::Bytes,
        }
    } else if is_text {
        if place.size == 0 { FieldKind::TextToEnd } else { FieldKind::Text }
    } else if array {
        match element_size(before) {
            Some(element) if place.size.is_multiple_of(element) => FieldKind::Numbers(element),
            _ => FieldKind::Bytes,
        }
    } else if (1..=8).contains(&place.size) {
        FieldKind::Integer
    } else {
        FieldKind::Bytes
    };
    let is_address = is_pointer || (declaration.contains("unsigned long") && place.size > 4);
    Some(Field { name: name.to_owned(), place, kind, is_address })
}

/// The size of the elements of an array, from what is before its bracket.
fn element_size(declaration: &str) -> Option<usize> {
    let kind = declaration.rsplit_once(' ')?.0.trim();
    Some(match kind {
        "u8" | "__u8" | "unsigned char" | "s8" | "bool" => 1,
        "u16" | "__u16" | "s16" | "short" | "unsigned short" => 2,
        "u32" | "__u32" | "s32" | "int" | "unsigned int" | "unsigned" | "pid_t" => 4,
        "u64" | "__u64" | "s64" | "long" | "unsigned long" | "unsigned long long" => 8,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_any_size_is_read() {
        for size in [0, 3, 9, usize::MAX] {
            let number = Int { offset: 1, size, signed: true };
            number.get(&[0xff; 16], Endian::Big);
        }
        let number = Int { offset: 0, size: 3, signed: true };
        assert_eq!(number.get(&[0xfe, 0xff, 0xff], Endian::Little), Some(-2_i64 as u64));
    }
}
