//! The Common Trace Format 1.8: directories of a metadata file and stream files, as LTTng, barectf
//! and Zephyr write them.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use profctl_model::{TickUnit, Ticks, Timebase, Timeline};

use super::{
    Descriptor, Extents, ImportError, ImportOptions, Importer, Opened, Probe, Quirks, Recognition,
    Stream,
};
use crate::files::{FileId, Files, ReadAt};
use crate::kernel_events::IrqNames;
use crate::lttng::TracerEvents;
use crate::lttng::meaning::{Meaning, meaning};
use crate::lttng::modules::{Module, Modules};
use crate::symbols::Symbols;

mod calls;
mod decode;
mod events;
mod header;
mod layout;
mod lex;
mod packet;
mod parse;
mod read;
#[cfg(test)]
mod tests;
mod trace;
mod types;

use calls::Call;
use events::{Event, Take};
use read::{Contents, PacketFile, Packets};
use trace::Trace;
use types::Metadata;

/// The importer of `ctf`.
pub struct Directory;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "ctf",
    about: "CTF 1.8 trace of LTTng, barectf or Zephyr: a directory with `metadata`",
    recognized: "a directory with a file `metadata` in TSDL, in packets or as text",
    ..Descriptor::PLAIN
};

/// The first bytes of a packet of events, and of one of metadata, in either byte order.
const MAGICS: [[u8; 4]; 4] = [
    [0xc1, 0x1f, 0xfc, 0xc1],
    [0xc1, 0xfc, 0x1f, 0xc1],
    [0x57, 0x1d, 0xd1, 0x75],
    [0x75, 0xd1, 0x1d, 0x57],
];
/// Bytes of a metadata file at most.
const METADATA_MAX: usize = 64 << 20;
/// Bytes of each stream that are searched for where programs are mapped.
const SEARCHED: u64 = 8 << 20;

impl Importer for Directory {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        if MAGICS.iter().any(|magic| probe.head.starts_with(magic)) || is_text(probe.head) {
            return Recognition::Neighbor(
                "is one file of a CTF trace, expected the directory that it is in".into(),
            );
        }
        Recognition::No
    }

    fn recognize_directory(&self, files: &dyn Files) -> Recognition {
        let mut reason = Recognition::No;
        for file in metadata_files(files) {
            let Ok(head) = files.head(file) else { continue };
            if head.bytes.starts_with(&MAGICS[2]) || head.bytes.starts_with(&MAGICS[3]) {
                return Recognition::Yes("`metadata` is in packets of CTF 1.8".into());
            }
            if is_text(&head.bytes) {
                return Recognition::Yes("`metadata` is text of CTF 1.8".into());
            }
            if head.bytes.starts_with(b"\x1e{") || head.bytes.starts_with(b"{") {
                reason = Recognition::Neighbor(
                    "is a CTF 2 trace, which is not read: `babeltrace2 convert --output-format=ctf \
                     --params='ctf-version=\"1\"'` writes CTF 1.8"
                        .into(),
                );
            }
        }
        reason
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let mut found = Vec::new();
        for file in metadata_files(files) {
            found.push((folder(&files.entries()[file.0].name).to_owned(), metadata(files, file)?));
        }
        if found.is_empty() {
            let message = "found no file `metadata`, expected a directory of a CTF trace";
            return Err(ImportError::whole(message));
        }
        let frequency = |of: &Metadata| of.clocks.first().map_or(1_000_000_000, |it| it.frequency);
        let whole = frequency(&found[0].1);
        let (mut streams, mut sources, mut mapped) = (Vec::new(), Vec::new(), Vec::new());
        let facts = facts(&found);
        let mut traces = Vec::new();
        for (row, (folder, metadata)) in found.into_iter().enumerate() {
            let trace = trace(metadata, whole);
            for file in stream_files(files, &folder) {
                let name = &files.entries()[file.0].name;
                let unreadable = |error: io::Error| {
                    ImportError::whole(format!("{name} cannot be read: {error}"))
                };
                let reader = files.open_at(file).map_err(unreadable)?;
                let (packets, damaged) =
                    packet::all(&trace.metadata, &*reader).map_err(unreadable)?;
                if packets.is_empty() {
                    continue;
                }
                search(&trace, &packets, &*reader, &mut mapped).map_err(unreadable)?;
                let ranges: Vec<Range<u64>> =
                    packets.iter().map(|placed| placed.range.clone()).collect();
                streams.push(Stream::part(file, Extents::Blocks(ranges)));
                sources.push(PacketFile { trace: row, packets, damaged });
            }
            traces.push(trace);
        }
        if streams.is_empty() {
            let message = "found no packet that the metadata describes, expected stream files";
            return Err(ImportError::whole(message));
        }
        let symbols = options.symbols.as_ref().map(|file| Symbols::parse(file).map(Arc::new));
        let symbols = symbols.transpose().map_err(ImportError::whole)?;
        let modules = Modules::new(mapped, symbols, options.no_demangle);
        let mut facts = facts;
        facts.push(("streams", streams.len().to_string()));
        facts.push(("modules", modules.len().to_string()));
        Ok(Opened {
            timebase: Timebase {
                unit: TickUnit::Seconds { numerator: 1, denominator: whole },
                resolution: Ticks(1),
                timeline: Timeline::Recorded,
            },
            streams,
            quirks: Quirks { leaf_ends_are_stamps: true, ..Quirks::default() },
            facts,
            reader: Box::new(Packets::new(
                Contents { traces, sources },
                TracerEvents::new(Arc::new(modules)),
            )),
            state: Arc::new(IrqNames::default()),
        })
    }
}

/// Whether a metadata file begins like this.
fn is_text(head: &[u8]) -> bool {
    head.trim_ascii_start().starts_with(b"/* CTF 1.")
}

/// The folder of a path; nothing for what is directly in the directory.
fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

fn metadata_files(files: &dyn Files) -> Vec<FileId> {
    let is_metadata = |name: &str| name.rsplit('/').next() == Some("metadata");
    let entries = files.entries().iter().enumerate();
    entries.filter(|(_, entry)| is_metadata(&entry.name)).map(|(n, _)| FileId(n)).collect()
}

/// The stream files beside a metadata file.
fn stream_files(files: &dyn Files, beside: &str) -> Vec<FileId> {
    let is_stream = |name: &str| {
        let base = name.rsplit('/').next().unwrap_or(name);
        folder(name) == beside && base != "metadata" && !base.starts_with('.')
    };
    let entries = files.entries().iter().enumerate();
    let found = entries.filter(|(_, entry)| is_stream(&entry.name) && entry.size != Some(0));
    found.map(|(n, _)| FileId(n)).collect()
}

fn metadata(files: &dyn Files, file: FileId) -> Result<Metadata, ImportError> {
    let name = &files.entries()[file.0].name;
    let read = || files.open_at(file)?.bytes_at(0, METADATA_MAX);
    let bytes = read().map_err(|e| ImportError::whole(format!("{name} cannot be read: {e}")))?;
    let text = parse::text(&bytes).map_err(|what| ImportError::whole(format!("{name}: {what}")))?;
    parse::metadata(&text)
        .map_err(|(line, what)| ImportError::whole(format!("{name}, line {line}: found {what}")))
}

fn trace(metadata: Metadata, whole: u64) -> Trace {
    let clock = metadata.clocks.first();
    let own = clock.map_or(whole, |clock| clock.frequency);
    let offset = clock.map_or(0, |clock| {
        let ticks = i128::from(clock.offset) * i128::from(whole) / i128::from(own);
        i128::from(clock.offset_seconds) * i128::from(whole) + ticks
    });
    let meanings = meanings(&metadata);
    let layouts = layout::all(&metadata);
    let of = |class| calls::Calls::of(&metadata, class, (&meanings, &layouts));
    let calls = metadata.streams.iter().map(of).collect();
    Trace { meanings, layouts, calls, frequency: (own, whole), offset, metadata }
}

/// What each event of the metadata means, by its row there.
fn meanings(metadata: &Metadata) -> Vec<Meaning> {
    let of = |event: &types::EventClass| {
        let has = |field: &str| {
            let fields = event.fields.iter().flat_map(|fields| &fields.fields);
            fields.map(|(name, _)| name.strip_prefix('_').unwrap_or(name)).any(|name| name == field)
        };
        let there = |name: &str| {
            let mut events = metadata.events.iter();
            events.any(|other| other.stream == event.stream && other.name == name)
        };
        meaning(&event.name, has, there)
    };
    metadata.events.iter().map(of).collect()
}

/// Looks where programs and libraries are mapped, in the first packets.
fn search(
    trace: &Trace,
    packets: &[packet::Placed],
    file: &dyn ReadAt,
    mapped: &mut Vec<Module>,
) -> io::Result<()> {
    if !trace.meanings.contains(&Meaning::Mapped) {
        return Ok(());
    }
    for placed in packets.iter().take_while(|placed| placed.range.start < SEARCHED) {
        let length = (placed.range.end - placed.range.start) as usize;
        let bytes = file.bytes_at(placed.range.start, length)?;
        // What cannot be read is stated when it is read for its events.
        let _ = events::each(trace, &placed.packet, &bytes, &mut MappedModules { trace, mapped });
    }
    Ok(())
}

/// Keeps where programs and libraries are mapped.
struct MappedModules<'t> {
    trace: &'t Trace,
    mapped: &'t mut Vec<Module>,
}

impl<'a> Take<'a> for MappedModules<'_> {
    fn call(&mut self, _call: Call<'a>) {}

    fn event(&mut self, event: &Event<'a>) {
        if self.trace.meanings[event.row] == Meaning::Mapped {
            self.mapped.extend(Module::of(event));
        }
    }
}

fn facts(found: &[(String, Metadata)]) -> Vec<(&'static str, String)> {
    let mut facts = vec![("layout", "CTF 1.8".to_owned())];
    for (_, metadata) in found {
        let mut add = |key, value: Option<String>| {
            facts.extend(value.filter(|value| !value.is_empty()).map(|value| (key, value)));
        };
        let environment = |key: &str| metadata.environment(key).map(str::to_owned);
        let version = [environment("tracer_major"), environment("tracer_minor")];
        let version = version.into_iter().flatten().collect::<Vec<_>>().join(".");
        let tracer = environment("tracer_name").map(|name| format!("{name} {version}"));
        add("tracer", tracer.map(|tracer| tracer.trim().to_owned()));
        add("domain", environment("domain"));
        add("kernel", environment("kernel_release"));
        add("host", environment("hostname"));
        add("clock", metadata.clocks.first().map(|clock| clock.name.clone()));
        add("events", Some(metadata.events.len().to_string()));
    }
    facts
}
