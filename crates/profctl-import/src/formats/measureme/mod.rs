//! What `rustc -Zself-profile` and other users of the `measureme` crate write: intervals, which are
//! in the file in the order of their ends, in pages among those of a string table.

use std::io;
use std::ops::Range;

use profctl_model::TickUnit;

use super::{
    Descriptor, Extents, ImportError, ImportOptions, Importer, Opened, Probe, Recognition,
};
use crate::files::{FileId, Files, ReadAt};
use crate::json::Scanner;

mod backwards;
mod layout;
mod open_calls;
mod read;
mod rows;
mod sorted;
mod steps;
mod strings;
#[cfg(test)]
mod tests;

use layout::{HEADER, MAGIC, PAGE_HEAD, Page, Version};
use open_calls::OpenCalls;
use read::{Contents, Records};
use strings::Strings;

/// The importer of `measureme`.
pub struct SelfProfile;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "measureme",
    about: "self-profile of rustc (`.mm_profdata`), or of another program with measureme",
    recognized: "begins with `MMPD` and version 8 or 9",
    extensions: &[".mm_profdata"],
    ..Descriptor::PLAIN
};

/// The string table must fit into memory; longer ones are damaged.
const STRINGS_MAX: u64 = 1 << 32;

impl Importer for SelfProfile {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        match Version::of(probe.head) {
            Some(Ok(version)) => {
                Recognition::Yes(format!("begins with `MMPD` and version {}", version.number()))
            }
            Some(Err(other)) => Recognition::Neighbor(format!(
                "is a self-profile of version {other}, expected version 8 or 9 (rustc since 2021)"
            )),
            None => Recognition::No,
        }
    }

    fn open(&self, files: &dyn Files, _options: &ImportOptions) -> Result<Opened, ImportError> {
        let unreadable = |error: io::Error| ImportError::whole(format!("cannot be read: {error}"));
        let file = files.open_at(FileId(0)).map_err(unreadable)?;
        let head = file.bytes_at(0, HEADER).map_err(unreadable)?;
        let version = match Version::of(&head) {
            Some(Ok(version)) => version,
            Some(Err(other)) => {
                let message = format!("found version {other} of measureme, expected 8 or 9");
                return Err(ImportError::whole(message));
            }
            None => {
                let magic = String::from_utf8_lossy(MAGIC);
                let message = format!("found no `{magic}`, expected a profile of measureme");
                return Err(ImportError::whole(message));
            }
        };
        let pages = Pages::of(&*file).map_err(unreadable)?;
        let strings = Strings::new(
            pages.bytes(&*file, Page::Strings).map_err(unreadable)?,
            &pages.bytes(&*file, Page::Index).map_err(unreadable)?,
            version,
        );
        let events = pages.events();
        let about = About::of(&strings.metadata().unwrap_or_default());
        let bytes: u64 = events.iter().map(|range| range.end - range.start).sum();
        let facts = about.facts(version, bytes / version.event_bytes() as u64);
        let unit = about.unit();
        let open_calls = open_calls(&*file, &events, version).map_err(unreadable)?;
        let reader = Records::new(Contents { version, strings, about, open_calls });
        let timebase = super::recorded(unit);
        let mut opened = Opened::records(timebase, Box::new(reader)).with_facts(facts);
        opened.streams[0].extents = Extents::Bytes(events);
        opened.quirks.exits_are_paired = true;
        Ok(opened)
    }
}

/// Bytes that are read at once: whole events of each version.
const READ: usize = 3 << 16;

/// Reads all events once, to learn which calls are open where a part of them begins.
fn open_calls(file: &dyn ReadAt, events: &[Range<u64>], version: Version) -> io::Result<OpenCalls> {
    let mut found = OpenCalls::default();
    let size = version.event_bytes();
    let mut bytes = vec![0; READ];
    // Bytes of an event that two pages share, at the beginning.
    let mut pending = 0;
    for range in events {
        let mut at = range.start;
        while at < range.end {
            let length = usize::try_from(range.end - at).unwrap_or(READ).min(READ - pending);
            let n = match file.read_at(at, &mut bytes[pending..pending + length]) {
                Ok(0) => break,
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            at += n as u64;
            let there = pending + n;
            for event in bytes[..there].chunks_exact(size) {
                found.take(&version.event(event));
            }
            pending = there % size;
            bytes.copy_within(there - pending..there, 0);
        }
    }
    found.finish();
    Ok(found)
}

/// What the description of a recording says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct About {
    command: Option<String>,
    process: Option<u64>,
    counter: Option<String>,
}

impl About {
    fn of(json: &[u8]) -> Self {
        let mut about = Self::default();
        let mut scanner = Scanner::new(json, 0);
        // What is damaged says nothing.
        let _ = scanner.object(|scanner, key| {
            match key.to_string_lossy().as_str() {
                "cmd" => about.command = Some(scanner.string()?.to_string_lossy()),
                "process_id" => {
                    let number = String::from_utf8_lossy(scanner.scalar()?).parse().ok();
                    about.process = number;
                }
                "counter" => scanner.object(|scanner, key| {
                    if key.to_string_lossy() == "name" {
                        about.counter = Some(scanner.string()?.to_string_lossy());
                        return Ok(());
                    }
                    scanner.skip()
                })?,
                _ => scanner.skip()?,
            }
            Ok(())
        });
        about
    }

    /// What the counter counts: nanoseconds, unless the recording says otherwise.
    fn unit(&self) -> TickUnit {
        match self.counter.as_deref() {
            Some(name) if name.starts_with("instructions") => TickUnit::Instructions,
            Some(name) if !name.starts_with("wall-time") => TickUnit::Cycles,
            _ => TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 },
        }
    }

    /// The program, without its folder.
    fn program(&self) -> &str {
        let command = self.command.as_deref().unwrap_or_default();
        let program = command.split_whitespace().next().unwrap_or_default();
        program.rsplit('/').next().unwrap_or(program)
    }

    fn facts(&self, version: Version, events: u64) -> Vec<(&'static str, String)> {
        let mut facts = vec![("layout", format!("version {}", version.number()))];
        let mut add = |key, value: Option<String>| facts.extend(value.map(|value| (key, value)));
        add("command", self.command.as_deref().map(|command| command.trim().to_owned()));
        add("process", self.process.map(|process| process.to_string()));
        add("counter", self.counter.clone());
        add("events", Some(events.to_string()));
        facts
    }
}

/// Where the pages of each stream are.
struct Pages(Vec<(Page, Range<u64>)>);

impl Pages {
    /// Goes from page to page. The last one may be cut.
    fn of(file: &dyn ReadAt) -> io::Result<Self> {
        let (mut at, end) = (HEADER as u64, file.len());
        let mut pages = Vec::new();
        while at + PAGE_HEAD as u64 <= end {
            let head = file.bytes_at(at, PAGE_HEAD)?;
            if head.len() < PAGE_HEAD {
                break;
            }
            let (page, length) = layout::page(&head);
            let start = at + PAGE_HEAD as u64;
            at = start.saturating_add(length).min(end);
            if let Some(page) = page {
                pages.push((page, start..at));
            }
        }
        Ok(Self(pages))
    }

    fn ranges(&self, wanted: Page) -> impl Iterator<Item = Range<u64>> {
        let pages = self.0.iter().filter(move |(page, _)| *page == wanted);
        pages.map(|(_, range)| range.clone())
    }

    /// All bytes of a stream, with its header.
    fn bytes(&self, file: &dyn ReadAt, page: Page) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        for range in self.ranges(page) {
            let length = (range.end - range.start).min(STRINGS_MAX);
            bytes.extend(file.bytes_at(range.start, length as usize)?);
            if bytes.len() as u64 > STRINGS_MAX {
                break;
            }
        }
        Ok(bytes)
    }

    /// Where the events are, without the header of their stream.
    fn events(&self) -> Vec<Range<u64>> {
        let mut header = HEADER as u64;
        let ranges = self.ranges(Page::Events).map(|range| {
            let skipped = header.min(range.end - range.start);
            header -= skipped;
            range.start + skipped..range.end
        });
        ranges.filter(|range| !range.is_empty()).collect()
    }
}
