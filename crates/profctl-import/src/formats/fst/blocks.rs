//! The blocks of a file: what each begins with, the names of signals, how wide they are.

use std::ops::Range;
use std::sync::Arc;

use super::WRAPPED;
use super::pack::{Allowance, Fields, Wrong};
use crate::capture::Signal;
use crate::files::ReadAt;
use crate::text;

/// What the header says.
pub(super) struct Header {
    /// A tick is ten to the power of this seconds.
    pub(super) exponent: i8,
    pub(super) producer: String,
}

/// Everything but the changes.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) signals: Vec<Signal>,
    /// How wide each handle is; a key of a signal is a row.
    pub(super) widths: Vec<Width>,
    pub(super) sections: Vec<Section>,
    /// When the dump was turned off (false) and on again.
    pub(super) switched: Vec<(u64, bool)>,
}

/// What a handle holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Width {
    Bits(u32),
    Real,
    /// Text of any length.
    Text,
}

impl Width {
    /// Bytes of an initial value.
    pub(super) fn in_frame(self) -> u64 {
        match self {
            Self::Bits(bits) => bits.into(),
            Self::Real => 8,
            Self::Text => 0,
        }
    }
}

/// A block of changes.
pub(super) struct Section {
    /// Which of the three ways to say where a signal's changes are.
    pub(super) kind: u8,
    /// Where the block is in the file.
    pub(super) offset: u64,
    /// Without its length.
    pub(super) range: Range<u64>,
}

/// The file in a wrapper; nothing if it is in none.
pub(super) fn unwrap(
    file: &dyn ReadAt,
    allowance: &mut Allowance,
) -> Result<Option<Arc<[u8]>>, Wrong> {
    if file.bytes_at(0, 1).unwrap_or_default() != [WRAPPED] {
        return Ok(None);
    }
    let packed = load(file, 1..file.len())?;
    let mut fields = Fields { rest: &packed };
    let (_, length) = (fields.long()?, fields.long()?);
    Ok(Some(allowance.gzip(fields.rest, length)?.into()))
}

/// Bytes of a file, all of them.
pub(super) fn load(file: &dyn ReadAt, range: Range<u64>) -> Result<Vec<u8>, Wrong> {
    let length = usize::try_from(range.end - range.start).unwrap_or(usize::MAX);
    let bytes = file.bytes_at(range.start, length).map_err(|_| "it cannot be read")?;
    if bytes.len() == length { Ok(bytes) } else { Err("the file ends early") }
}

/// Reads the first block.
pub(super) fn header(file: &[u8]) -> Result<Header, String> {
    let read = || -> Result<Header, Wrong> {
        let mut fields = Fields { rest: file };
        if fields.byte()? != 0 {
            return Err("the first block is not a header");
        }
        // Length, start, end, the order of bytes in a float, memory, numbers of scopes,
        // variables, handles and blocks.
        fields.bytes(9 * 8)?;
        let exponent = fields.byte()? as i8;
        let producer = fields.bytes(128)?;
        let producer = producer.split(|&byte| byte == 0).next().unwrap_or_default();
        Ok(Header { exponent, producer: text::excerpt(producer) })
    };
    read().map_err(|wrong| format!("not an FST header: {wrong}"))
}

/// Reads all that does not change.
pub(super) fn contents(file: &dyn ReadAt, allowance: &mut Allowance) -> Result<Contents, String> {
    let mut found = Contents::default();
    let mut names = None;
    let mut at = 0;
    while at < file.len() {
        let head = file.bytes_at(at, 9).unwrap_or_default();
        let mut fields = Fields { rest: &head };
        // The length counts itself.
        let (kind, length) = (fields.byte(), fields.long().ok().filter(|length| *length >= 8));
        let offset = at + 1;
        let end = length.and_then(|length| offset.checked_add(length));
        let (Ok(kind), Some(end)) = (kind, end.filter(|end| *end <= file.len())) else {
            return Err("a block ends early: the writer did not finish, or the copy stopped".into());
        };
        let range = offset + 8..end;
        at = end;
        let read = match kind {
            1 | 5 | 8 => {
                found.sections.push(Section { kind, offset, range });
                Ok(())
            }
            2 => load(file, range)
                .and_then(|block| switches(&block))
                .map(|switched| found.switched = switched),
            3 => load(file, range)
                .and_then(|block| widths(&block, allowance))
                .map(|widths| found.widths = widths),
            4 | 6 | 7 => load(file, range)
                .and_then(|block| hierarchy(kind, &block, allowance))
                .map(|bytes| names = Some(bytes)),
            _ => Ok(()),
        };
        read.map_err(|wrong| format!("the block at byte {offset} (type {kind}): {wrong}"))?;
    }
    let names = names.ok_or("no names of signals: the writer did not finish")?;
    found.signals = signals(&names, &found.widths).map_err(|wrong| format!("names: {wrong}"))?;
    Ok(found)
}

fn widths(block: &[u8], allowance: &mut Allowance) -> Result<Vec<Width>, Wrong> {
    let mut fields = Fields { rest: block };
    let (length, n) = (fields.long()?, fields.long()?);
    let bytes = allowance.zlib_or_plain(fields.rest, length)?;
    let mut fields = Fields { rest: &bytes };
    let mut widths = Vec::new();
    while (widths.len() as u64) < n {
        widths.push(match fields.varint()? {
            0 => Width::Real,
            0xffff_ffff => Width::Text,
            bits => Width::Bits(u32::try_from(bits).map_err(|_| "a signal too wide")?),
        });
    }
    Ok(widths)
}

fn switches(block: &[u8]) -> Result<Vec<(u64, bool)>, Wrong> {
    let mut fields = Fields { rest: block };
    let n = fields.varint()?;
    let mut time = 0_u64;
    let mut switched = Vec::new();
    for _ in 0..n {
        let is_on = fields.byte()? != 0;
        time = time.saturating_add(fields.varint()?);
        switched.push((time, is_on));
    }
    Ok(switched)
}

fn hierarchy(kind: u8, block: &[u8], allowance: &mut Allowance) -> Result<Vec<u8>, Wrong> {
    let mut fields = Fields { rest: block };
    let length = fields.long()?;
    match kind {
        4 => allowance.gzip(fields.rest, length),
        6 => allowance.lz4(fields.rest, length),
        _ => {
            let once = fields.varint()?;
            let packed = allowance.lz4(fields.rest, once)?;
            allowance.lz4(&packed, length)
        }
    }
}

/// The signals that have levels, with the scopes that they are in.
fn signals(names: &[u8], widths: &[Width]) -> Result<Vec<Signal>, Wrong> {
    let mut fields = Fields { rest: names };
    let mut scopes: Vec<String> = Vec::new();
    let mut signals = Vec::new();
    let mut n_handles = 0_u64;
    while let Ok(kind) = fields.byte() {
        match kind {
            254 => {
                fields.byte()?;
                scopes.push(String::from_utf8_lossy(fields.string()?).into_owned());
                fields.string()?;
            }
            255 => {
                scopes.pop();
            }
            252 => {
                fields.bytes(2)?;
                fields.string()?;
                fields.varint()?;
            }
            253 => {}
            0..=29 => {
                fields.byte()?;
                let name = fields.string()?;
                fields.varint()?;
                // A variable without a handle of its own is another name of an earlier one.
                let alias = fields.varint()?;
                if alias == 0 {
                    n_handles += 1;
                }
                let handle = if alias == 0 { n_handles } else { alias } - 1;
                let width = usize::try_from(handle).ok().and_then(|handle| widths.get(handle));
                if let Some(&Width::Bits(width @ 1..)) = width {
                    let name = full_name(&scopes, name, width);
                    signals.push(Signal { name, width, key: handle as u32 });
                }
            }
            _ => return Err("an entry of an unknown kind"),
        }
    }
    Ok(signals)
}

/// A range after a space says how wide the signal is; a bit keeps its number.
fn full_name(scopes: &[String], name: &[u8], width: u32) -> String {
    let name = String::from_utf8_lossy(name);
    let name = match name.split_once(" [") {
        Some((stem, range)) if width == 1 && !range.contains(':') => format!("{stem}[{range}"),
        Some((stem, _)) => stem.into(),
        None => name.into(),
    };
    let path = scopes.iter().map(String::as_str).filter(|scope| !scope.is_empty());
    path.chain([name.trim()]).collect::<Vec<_>>().join(".")
}
