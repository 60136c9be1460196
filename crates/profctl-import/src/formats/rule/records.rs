//! Binary records by a rule: what the hooks of `-finstrument-functions` and other small recorders
//! write as they are in memory.
//!
//! ```toml
//! about = "my hooks: struct { uint64_t ns; void *fn; uint32_t tid; uint8_t is_exit; } and 3 bytes"
//! ts_unit = "ns"
//!
//! [record]
//! size = 24
//! ts = "0:8"
//! addr = "8:8"
//! tid = "16:4"
//! kind = "20:1"
//!
//! [kind]
//! 0 = "enter"
//! 1 = "exit"
//! ```

#[cfg(test)]
mod tests;

use std::sync::Arc;

use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};
use profctl_model::hash::FastMap;
use profctl_model::{Func, Ticks, Timebase, Timeline};
use toml::Spanned;

use super::compile::{Kind, kind_named};
use super::file::{self, RecordEntry, objection};
use super::times;
use crate::bytes::{Endian, integer};
use crate::emit::{At, Emitter, LaneKey, LaneRef, NameRef, Stated, ThreadKey};
use crate::files::{FileId, Files};
use crate::formats::{Block, Extents, ImportError, Opened, Reader, State, unreadable};
use crate::kernel_events::format::Int;
use crate::symbols::Symbols;

/// The longest record.
const SIZE_MAX: u64 = 4096;

/// A rule that is ready to read records.
#[derive(Debug)]
pub(super) struct Layout {
    size: usize,
    header: u64,
    endian: Endian,
    ts: Int,
    addr: Int,
    kind: Int,
    tid: Option<Int>,
    pid: Option<Int>,
    cpu: Option<Int>,
    /// What addresses count from where the symbols count from 0.
    base: u64,
    kinds: Vec<(u64, Kind)>,
    /// By what number a time is multiplied to become ticks.
    factor: u64,
    timebase: Timebase,
    bits: Option<u32>,
}

/// The layout that the rule `text` states; nothing if it is a rule for lines.
pub(super) fn layout(text: &str) -> Result<Option<Layout>, ImportError> {
    let file = file::parse(text)?;
    let Some(record) = &file.record else { return Ok(None) };
    let entry = record.get_ref();
    if file.pattern.is_some() {
        let message = "both `record` and `pattern`, expected one of them";
        return Err(objection(text, Some(record.span()), message));
    }
    let size = *entry.size.get_ref();
    if size == 0 || size > SIZE_MAX {
        let message = format!("{size} bytes, expected 1 to {SIZE_MAX}");
        return Err(objection(text, Some(entry.size.span()), message));
    }
    let endian =
        match entry.endian.as_ref().map(|endian| (endian.get_ref().as_str(), endian.span())) {
            None | Some(("little", _)) => Endian::Little,
            Some(("big", _)) => Endian::Big,
            Some((other, span)) => {
                let message = format!("endian `{other}`, expected little or big");
                return Err(objection(text, Some(span), message));
            }
        };
    let place = |entry: &Spanned<String>| place(text, entry, size);
    let optional = |entry: &Option<Spanned<String>>| entry.as_ref().map(place).transpose();
    let RecordEntry { ts, addr, kind, tid, pid, cpu, .. } = entry;
    let (ts, addr, kind) = (place(ts)?, place(addr)?, place(kind)?);
    let (tid, pid, cpu) = (optional(tid)?, optional(pid)?, optional(cpu)?);
    let mut kinds = Vec::new();
    for (word, meaning) in &file.kind {
        let number = crate::text::integer(word.as_bytes()).ok_or_else(|| {
            let message = format!("`{word}` in `kind`, expected a number");
            objection(text, Some(meaning.span()), message)
        })?;
        kinds.push((number, kind_named(text, meaning)?));
    }
    if kinds.is_empty() {
        kinds = vec![(0, Kind::Enter), (1, Kind::Exit)];
    }
    let unit = file.ts_unit.as_ref().map_or("ns", |unit| unit.get_ref());
    let (unit, digits) = times::unit(unit).ok_or_else(|| {
        let span = file.ts_unit.as_ref().map(Spanned::span);
        objection(text, span, format!("unit `{unit}`, expected s, ms, us, ns, cycles or a rate"))
    })?;
    Ok(Some(Layout {
        size: size as usize,
        header: entry.header,
        endian,
        ts,
        addr,
        kind,
        tid,
        pid,
        cpu,
        base: entry.base,
        kinds,
        factor: 10_u64.pow(digits),
        timebase: Timebase {
            unit,
            resolution: Ticks(10_u64.pow(digits)),
            timeline: Timeline::Recorded,
        },
        bits: file.ts_bits.as_ref().map(|bits| *bits.get_ref()),
    }))
}

/// `OFFSET:SIZE`, in bytes.
fn place(text: &str, entry: &Spanned<String>, record: u64) -> Result<Int, ImportError> {
    let parsed = entry.get_ref().split_once(':').and_then(|(offset, size)| {
        Some((offset.trim().parse::<u64>().ok()?, size.trim().parse::<u64>().ok()?))
    });
    match parsed {
        Some((offset, size))
            if (1..=8).contains(&size) && offset.saturating_add(size) <= record =>
        {
            Ok(Int { offset: offset as usize, size: size as usize, signed: false })
        }
        _ => {
            let message = format!(
                "`{}`, expected OFFSET:SIZE, such as `8:4`, within {record} bytes",
                entry.get_ref()
            );
            Err(objection(text, Some(entry.span()), message))
        }
    }
}

/// Gets ready to read the file.
pub(super) fn open(
    layout: Layout,
    files: &dyn Files,
    symbols: Option<Arc<Symbols>>,
    name: &str,
) -> Result<Opened, ImportError> {
    let from = match symbols {
        Some(_) => "named by --symbols",
        None => "not named: no --symbols were given",
    };
    let facts = vec![
        ("rule", name.to_owned()),
        ("records", format!("of {} bytes", layout.size)),
        ("addresses", from.to_owned()),
    ];
    let (timebase, bits, header) = (layout.timebase, layout.bits, layout.header);
    let reader = Records {
        layout: Arc::new(layout),
        symbols,
        names: FastMap::default(),
        lanes: FastMap::default(),
    };
    let mut opened =
        Opened::records(timebase, Box::new(reader)).with_facts(facts).with_counter(bits);
    if header > 0 {
        let file = files.open_at(FileId(0)).map_err(|error| unreadable(&error))?;
        let end = file.len();
        opened.streams[0].extents = Extents::Bytes(std::iter::once(header.min(end)..end).collect());
    }
    Ok(opened)
}

/// Process, thread and CPU of a record.
type Whom = (Option<u64>, Option<u64>, Option<u64>);

/// Reads blocks of records.
struct Records {
    layout: Arc<Layout>,
    symbols: Option<Arc<Symbols>>,
    names: FastMap<u64, NameRef>,
    lanes: FastMap<Whom, LaneRef>,
}

impl Reader for Records {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self {
            layout: Arc::clone(&self.layout),
            symbols: self.symbols.clone(),
            names: FastMap::default(),
            lanes: FastMap::default(),
        })
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        bytes.len() / self.layout.size * self.layout.size
    }

    fn read(&mut self, block: &Block<'_>, _state: &State, out: &mut Emitter) -> Option<State> {
        let layout = Arc::clone(&self.layout);
        let records = block.bytes.chunks_exact(layout.size);
        let cut = records.remainder().len();
        for (n, record) in records.enumerate() {
            out.records += 1;
            let offset = n * layout.size;
            let field = |place: Int| {
                integer(record, place.offset, place.size, layout.endian).unwrap_or_default()
            };
            let number = field(layout.kind);
            let kind = layout.kinds.iter().find(|(known, _)| *known == number);
            let Some((_, kind)) = kind else {
                out.diag(&SKIPPED_RECORD, offset, || {
                    format!("a record of kind {number}, which the rule does not name")
                });
                continue;
            };
            let whom = (layout.pid.map(field), layout.tid.map(field), layout.cpu.map(field));
            let lane = *self.lanes.entry(whom).or_insert_with(|| lane(whom, out));
            let time = field(layout.ts).saturating_mul(layout.factor);
            let at = At { time: Some(time), lane, offset };
            let name = self.name(field(layout.addr), &layout, out);
            match kind {
                Kind::Enter => out.enter(at, name, Stated::NOTHING),
                Kind::Exit => out.exit(at, Some(name), Stated::NOTHING),
                Kind::Mark => out.instant(at, name),
                Kind::Leaf | Kind::Return | Kind::Lost | Kind::Switch | Kind::Ignore => {}
            }
        }
        if cut > 0 {
            let offset = block.bytes.len() - cut;
            out.diag(&CUT_RECORD, offset, || format!("{cut} of {} bytes of a record", layout.size));
        }
        None
    }
}

impl Records {
    fn name(&mut self, address: u64, layout: &Layout, out: &mut Emitter) -> NameRef {
        let symbols = self.symbols.as_deref();
        *self.names.entry(address).or_insert_with(|| {
            let symbol = symbols.and_then(|symbols| {
                symbols.lookup(address.wrapping_sub(layout.base)).map(|(name, _)| name.to_owned())
            });
            let name = symbol.unwrap_or_else(|| format!("0x{address:x}"));
            out.name(name.as_bytes(), |_| Func { name: name.clone(), ..Func::default() })
        })
    }
}

fn lane((pid, tid, cpu): Whom, out: &mut Emitter) -> LaneRef {
    let name = String::new();
    let thread = match (pid, tid) {
        (Some(pid), Some(tid)) => ThreadKey::Member { pid, tid, name },
        (None, Some(tid)) | (Some(tid), None) => ThreadKey::Tid(tid, name),
        (None, None) => ThreadKey::Unstated,
    };
    out.lane(LaneKey { cpu: cpu.and_then(|cpu| u32::try_from(cpu).ok()), thread })
}
