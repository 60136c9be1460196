//! What is in a trace.dat besides the records: descriptions, symbols, names of threads, options,
//! and where the records of each buffer and CPU are.
//!
//! Sources: trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5) of trace-cmd 3.1, and files written by
//! trace-cmd 3.1.6 and 3.4.

use super::cut;
use super::data::CpuData;
use super::input::{Compression, Cursor, at};
use super::options::{CpuStat, Options};
use crate::bytes::Endian;
use crate::files::ReadAt;
use crate::formats::ImportError;
use crate::kernel_events::format::EventFormat;

/// How every file begins.
pub(super) const MAGIC: &[u8] = b"\x17\x08\x44tracing";

/// A ring buffer: the main one, or that of an instance.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Buffer {
    /// Empty for the main one.
    pub(super) name: String,
    /// The clock of its times, if stated for the buffer.
    pub(super) clock: Option<String>,
    pub(super) cpus: Vec<CpuData>,
}

#[derive(Debug, Default)]
pub(super) struct Container {
    pub(super) version: u32,
    pub(super) endian: Endian,
    pub(super) page_size: u32,
    pub(super) compression: Compression,
    pub(super) header_page: String,
    pub(super) formats: Vec<EventFormat>,
    pub(super) kallsyms: Vec<u8>,
    pub(super) printk: Vec<u8>,
    pub(super) cmdlines: Vec<u8>,
    pub(super) options: Options,
    pub(super) buffers: Vec<Buffer>,
    /// CPUs whose records the file had before it was cut.
    pub(super) absent: Vec<CpuStat>,
    /// The file holds the text of a latency tracer instead of records.
    pub(super) has_text: bool,
}

/// What is before the places of records in version 6.
const FLYRECORD: &[u8] = b"flyrecord\0";

/// Sections that a file may have, and events, CPUs and options: damaged files have more.
const COUNT_MAX: u32 = 1 << 16;

mod option {
    pub(super) const DONE: u16 = 0;
    pub(super) const BUFFER: u16 = 3;
    pub(super) const HEADER_INFO: u16 = 16;
    pub(super) const FTRACE_EVENTS: u16 = 17;
    pub(super) const EVENT_FORMATS: u16 = 18;
    pub(super) const KALLSYMS: u16 = 19;
    pub(super) const PRINTK: u16 = 20;
    pub(super) const CMDLINES: u16 = 21;
    pub(super) const BUFFER_TEXT: u16 = 22;
}

impl Container {
    /// Reads everything but the records.
    pub(super) fn open(source: &dyn ReadAt) -> Result<Self, ImportError> {
        let mut cursor = Cursor::new(source, 0, Endian::Little);
        if cursor.bytes(MAGIC.len() as u64)? != MAGIC {
            return Err(at(0, "not a trace.dat: it begins with other bytes"));
        }
        let version = cursor.text()?;
        let version = match version.as_str() {
            "6" => 6,
            "7" => 7,
            other => {
                let other = other.chars().take(20).collect::<String>();
                return Err(ImportError::whole(format!(
                    "is a trace.dat of version {other}, expected 6 or 7"
                )));
            }
        };
        let [endian, _long] = cursor.bytes(2)?[..] else {
            return Err(at(cursor.at, "ends in its header"));
        };
        cursor.endian = match endian {
            0 => Endian::Little,
            1 => Endian::Big,
            other => return Err(at(cursor.at - 2, format!("byte order {other}, expected 0 or 1"))),
        };
        let page_size = cursor.u32()?;
        let mut file = Self { version, endian: cursor.endian, page_size, ..Self::default() };
        if version == 6 {
            file.read_v6(source, cursor)?;
        } else {
            let name = cursor.text()?;
            file.compression = Compression::named(&name).ok_or_else(|| {
                ImportError::whole(format!(
                    "is compressed with `{name}`, expected none, zlib or zstd"
                ))
            })?;
            cursor.text()?;
            let options = cursor.u64()?;
            file.read_options(source, options)?;
        }
        Ok(file)
    }

    /// Version 6: one part after the other.
    fn read_v6(&mut self, source: &dyn ReadAt, mut cursor: Cursor<'_>) -> Result<(), ImportError> {
        self.read_headers(&mut cursor)?;
        self.read_ftrace_events(&mut cursor)?;
        self.read_events(&mut cursor)?;
        let size = cursor.u32()?;
        self.kallsyms = cursor.bytes(size.into())?;
        let size = cursor.u32()?;
        self.printk = cursor.bytes(size.into())?;
        let size = cursor.u64()?;
        self.cmdlines = cursor.bytes(size)?;
        let cpus = cursor.u32()?;
        let mut instances = Vec::new();
        let mut tag = cursor.bytes(10)?;
        if tag == b"options  \0" {
            loop {
                let id = cursor.u16()?;
                if id == option::DONE {
                    break;
                }
                let size = cursor.u32()?;
                let start = cursor.at;
                let value = cursor.bytes(size.into())?;
                if id == option::BUFFER {
                    let mut inside = Cursor::new(source, start, self.endian);
                    instances.push((inside.u64()?, inside.text()?));
                } else {
                    self.options.add(id, &value, self.endian);
                }
            }
            tag = cursor.bytes(10)?;
        }
        self.read_v6_buffer(&mut cursor, &tag, cpus, String::new())?;
        for (offset, name) in instances {
            let mut cursor = Cursor::new(source, offset, self.endian);
            // The instance that is there for the main buffer's sake has no name and no place.
            if offset == 0 || name.is_empty() {
                continue;
            }
            // Old versions put the number of CPUs in front.
            let mut tag = cursor.bytes(10)?;
            let mut of_it = cpus;
            if tag != FLYRECORD {
                cursor.at = offset;
                of_it = cursor.u32()?;
                tag = cursor.bytes(10)?;
            }
            self.read_v6_buffer(&mut cursor, &tag, of_it, name)?;
        }
        Ok(())
    }

    fn read_v6_buffer(
        &mut self,
        cursor: &mut Cursor<'_>,
        tag: &[u8],
        cpus: u32,
        name: String,
    ) -> Result<(), ImportError> {
        match tag {
            FLYRECORD => {}
            b"latency  \0" => {
                self.has_text = true;
                return Ok(());
            }
            _ => {
                let place = cursor.at - 10;
                return Err(at(place, "neither records nor the text of a latency tracer"));
            }
        }
        let mut buffer = Buffer { name, ..Buffer::default() };
        for cpu in 0..counted(cpus, cursor.at)? {
            let (offset, size) = (cursor.u64()?, cursor.u64()?);
            let range = offset..offset.saturating_add(size);
            buffer.cpus.push(CpuData { cpu, range, compressed: false });
        }
        self.buffers.push(buffer);
        Ok(())
    }

    /// Version 7: lists of options, which say where the sections are.
    fn read_options(&mut self, source: &dyn ReadAt, first: u64) -> Result<(), ImportError> {
        let (mut offset, mut behind) = (first, None);
        for _ in 0..COUNT_MAX {
            let Some(end) = cut::whole_section(source, offset, self.endian) else {
                let found =
                    behind.and_then(|at| cut::buffer(source, at, self.endian, self.page_size));
                let Some(cpus) = found else {
                    return Err(ImportError::whole(format!(
                        "is truncated before its records: the list of sections at byte {offset} is \
                         missing"
                    )));
                };
                self.add_cut(cpus);
                return Ok(());
            };
            let next = self.read_list(source, offset)?;
            if next == 0 {
                return Ok(());
            }
            (offset, behind) = (next, Some(end));
        }
        Err(at(offset, "too many lists of options"))
    }

    /// Takes the CPUs that were found in the buffer in which the file is cut. Which buffer that is,
    /// and which CPUs had events, is known if the kernel's statistics are there, in the list before.
    fn add_cut(&mut self, mut cpus: Vec<CpuData>) {
        let mut expected: Vec<&CpuStat> = Vec::new();
        let mut names: Vec<&str> = Vec::new();
        for stat in &self.options.stats {
            if !names.contains(&stat.buffer.as_str()) {
                names.push(&stat.buffer);
            }
            if names.len() > self.buffers.len() && stat.events > 0 {
                expected.push(stat);
            }
        }
        let name = names.get(self.buffers.len()).copied().unwrap_or_default().to_owned();
        for (cpu, stat) in cpus.iter_mut().zip(&expected).filter(|(_, stat)| stat.buffer == name) {
            cpu.cpu = stat.cpu;
        }
        let absent = expected.into_iter().skip(cpus.len());
        self.absent = absent.cloned().collect();
        self.buffers.push(Buffer { name, cpus, ..Buffer::default() });
    }

    /// Reads a list of options; says where the next one is, or 0.
    fn read_list(&mut self, source: &dyn ReadAt, offset: u64) -> Result<u64, ImportError> {
        let (section, _) = self.section(source, offset, 0)?;
        let section: &dyn ReadAt = &section;
        let mut cursor = Cursor::new(section, 0, self.endian);
        loop {
            let id = cursor.u16().map_err(|_| at(offset, "an unterminated list of options"))?;
            let size = cursor.u32().map_err(|_| at(offset, "an unterminated list of options"))?;
            let start = cursor.at;
            let value =
                cursor.bytes(size.into()).map_err(|_| at(offset, "an option is truncated"))?;
            let mut inside = Cursor::new(section, start, self.endian);
            match id {
                option::DONE => return if size >= 8 { inside.u64() } else { Ok(0) },
                option::BUFFER => self.read_buffer(source, &mut inside)?,
                option::BUFFER_TEXT => self.has_text = true,
                option::HEADER_INFO..=option::CMDLINES if size >= 8 => {
                    let place = inside.u64()?;
                    self.read_part(source, id, place)?;
                }
                _ => self.options.add(id, &value, self.endian),
            }
        }
    }

    /// The content of the section at `offset`, decompressed, and whether its header says so.
    fn section(
        &self,
        source: &dyn ReadAt,
        offset: u64,
        expected: u16,
    ) -> Result<(std::sync::Arc<[u8]>, bool), ImportError> {
        let mut cursor = Cursor::new(source, offset, self.endian);
        let (id, flags) = (cursor.u16()?, cursor.u16()?);
        cursor.u32()?;
        let size = cursor.u64()?;
        if id != expected {
            return Err(at(offset, format!("section {id}, expected section {expected}")));
        }
        let compressed = flags & 1 != 0;
        if !compressed {
            return Ok((cursor.bytes(size)?.into(), false));
        }
        let (packed, length) = (cursor.u32()?, cursor.u32()?);
        let packed = cursor.bytes(packed.into())?;
        let content = self.compression.decompressed(&packed, length.into());
        Ok((content.map_err(|message| at(offset, message))?.into(), true))
    }

    fn read_part(&mut self, source: &dyn ReadAt, id: u16, place: u64) -> Result<(), ImportError> {
        let (content, _) = self.section(source, place, id)?;
        let mut cursor = Cursor::new(&content, 0, self.endian);
        let parsed = match id {
            option::HEADER_INFO => self.read_headers(&mut cursor),
            option::FTRACE_EVENTS => self.read_ftrace_events(&mut cursor),
            option::EVENT_FORMATS => self.read_events(&mut cursor),
            option::KALLSYMS => cursor
                .u32()
                .and_then(|size| cursor.bytes(size.into()))
                .map(|bytes| self.kallsyms = bytes),
            option::PRINTK => cursor
                .u32()
                .and_then(|size| cursor.bytes(size.into()))
                .map(|bytes| self.printk = bytes),
            _ => {
                cursor.u64().and_then(|size| cursor.bytes(size)).map(|bytes| self.cmdlines = bytes)
            }
        };
        // Offsets within a section are not useful.
        parsed.map_err(|error| at(place, format!("section {id}: {}", error.message)))
    }

    fn read_buffer(
        &mut self,
        source: &dyn ReadAt,
        option: &mut Cursor<'_>,
    ) -> Result<(), ImportError> {
        let section = option.u64()?;
        let name = option.text()?;
        let clock = option.text()?;
        let page_size = option.u32()?;
        let cpus = option.u32()?;
        let mut header = Cursor::new(source, section, self.endian);
        let (_, flags) = (header.u16()?, header.u16()?);
        let compressed = flags & 1 != 0;
        if page_size != 0 {
            self.page_size = page_size;
        }
        let mut buffer = Buffer { name, clock: Some(clock), cpus: Vec::new() };
        for _ in 0..counted(cpus, section)? {
            let cpu = option.u32()?;
            let (offset, size) = (option.u64()?, option.u64()?);
            let mut range = offset..offset.saturating_add(size);
            if compressed {
                // The number of chunks is first; they follow each other to the end. trace-cmd 3.1
                // does not count its four bytes in the size, 3.4 does: the reader ignores what is too
                // short for a chunk.
                range = range.start.saturating_add(4)..range.end.saturating_add(4);
            }
            buffer.cpus.push(CpuData { cpu, range, compressed });
        }
        self.buffers.push(buffer);
        Ok(())
    }

    fn read_headers(&mut self, cursor: &mut Cursor<'_>) -> Result<(), ImportError> {
        let mut part = |name: &[u8]| {
            let place = cursor.at;
            if cursor.bytes(name.len() as u64)? != name {
                let name = String::from_utf8_lossy(&name[..name.len() - 1]).into_owned();
                return Err(at(place, format!("no `{name}` where expected")));
            }
            let size = cursor.u64()?;
            cursor.bytes(size)
        };
        self.header_page = lossy(&part(b"header_page\0")?);
        part(b"header_event\0")?;
        Ok(())
    }

    fn read_ftrace_events(&mut self, cursor: &mut Cursor<'_>) -> Result<(), ImportError> {
        let n = cursor.u32()?;
        for _ in 0..counted(n, cursor.at)? {
            self.read_format("ftrace", cursor)?;
        }
        Ok(())
    }

    fn read_events(&mut self, cursor: &mut Cursor<'_>) -> Result<(), ImportError> {
        let systems = cursor.u32()?;
        for _ in 0..counted(systems, cursor.at)? {
            let system = cursor.text()?;
            let n = cursor.u32()?;
            for _ in 0..counted(n, cursor.at)? {
                self.read_format(&system, cursor)?;
            }
        }
        Ok(())
    }

    fn read_format(&mut self, system: &str, cursor: &mut Cursor<'_>) -> Result<(), ImportError> {
        let size = cursor.u64()?;
        let text = cursor.bytes(size)?;
        self.formats.extend(EventFormat::parse(system, &lossy(&text)));
        Ok(())
    }
}

/// A number of things, unless there are absurdly many.
fn counted(n: u32, place: u64) -> Result<u32, ImportError> {
    if n > COUNT_MAX {
        return Err(at(place, format!("{n} of a kind, expected at most {COUNT_MAX}")));
    }
    Ok(n)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
