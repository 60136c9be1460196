//! The parts of a recording put together, wherever they were found.

use std::sync::Arc;

use profctl_model::{TickUnit, Ticks, Timebase, Timeline};

use super::data::Data;
use super::input::Compression;
use super::names;
use super::options::{CpuStat, Options};
use super::read::{Clock, Cut, DatReader, Recording};
use super::survey::survey;

use crate::formats::{Extents, ImportError, ImportOptions, Opened, Quirks, Stream};
use crate::kernel_events::format::EventFormat;
use crate::kernel_events::kallsyms::Kallsyms;
use crate::kernel_events::record::Decoder;
use crate::kernel_events::syscalls::Machine;
use crate::kernel_events::{IrqNames, Scope};
use crate::ring_buffer::PageLayout;

#[derive(Default)]
pub(super) struct Parts {
    pub(super) compression: Compression,
    pub(super) formats: Vec<EventFormat>,
    pub(super) kallsyms: Vec<u8>,
    pub(super) printk: Vec<u8>,
    pub(super) cmdlines: Vec<u8>,
    pub(super) found: Options,
    /// The clock, if stated for the buffer; else it is that of the options.
    pub(super) clock: Option<String>,
    pub(super) data: Vec<Data>,
    /// CPUs whose records are missing.
    pub(super) absent: Vec<CpuStat>,
    /// What `info` shows before what follows from the parts.
    pub(super) facts: Vec<(&'static str, String)>,
}

/// The clock of a recording by the name that the kernel gives it.
fn timebase(clock: &str, has_tsc: bool) -> (TickUnit, bool) {
    match clock {
        "x86-tsc" if has_tsc => (nanos(), true),
        // An order of events, and cycles of unknown length.
        "counter" | "x86-tsc" | "ppc-tb" => (TickUnit::Cycles, false),
        "uptime" => (TickUnit::Seconds { numerator: 1, denominator: 100 }, false),
        _ => (nanos(), true),
    }
}

fn nanos() -> TickUnit {
    TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 }
}

/// The decoders by the number of the event, and where records have their common fields.
fn decoders(
    formats: Vec<EventFormat>,
) -> (Vec<Option<Decoder>>, crate::kernel_events::format::Common) {
    let mut decoders: Vec<Option<Decoder>> = Vec::new();
    let mut common = None;
    for format in formats {
        // The number has two bytes in a record.
        let Ok(id) = u16::try_from(format.id) else { continue };
        let id = usize::from(id);
        if id >= decoders.len() {
            decoders.resize_with(id + 1, || None);
        }
        common.get_or_insert(format.common);
        decoders[id] = Some(Decoder::new(format));
    }
    (decoders, common.unwrap_or_default())
}

impl Parts {
    /// A recording that is ready to be read.
    pub(super) fn opened(
        self,
        layout: PageLayout,
        options: &ImportOptions,
    ) -> Result<Opened, ImportError> {
        let Self { kallsyms, printk, cmdlines, found, mut facts, mut data, .. } = self;
        let (decoders, common) = decoders(self.formats);
        data.retain(|data| !data.range.is_empty());
        let packed = data.iter().filter(|data| data.compressed).count();
        if packed != 0 && packed != data.len() {
            return Err(ImportError::whole("has both compressed and plain records"));
        }
        let compression = if packed == 0 { Compression::None } else { self.compression };
        let cut = cut(&data, &self.absent)?;
        let seen = survey(&data, &layout, compression, &decoders);
        let clock = self.clock.or_else(|| found.clock.clone()).unwrap_or_else(|| "local".into());
        let (unit, is_nanos) = timebase(&clock, found.tsc.is_some());
        // Durations are nanoseconds whatever the clock is: they make the timeline then.
        let is_useless = seen.has_graph && !is_nanos;
        let machine = Machine::chosen(options.dialect.as_deref()).map_err(ImportError::whole)?;
        let machine = machine.or_else(|| found.uname.as_deref().and_then(Machine::named));
        let recording = Recording {
            layout,
            compression,
            decoders,
            common,
            kallsyms: Kallsyms::new(kallsyms),
            printk: names::printk(&printk),
            cmdlines: names::cmdlines(&cmdlines),
            cpus: data.iter().map(|data| data.cpu).collect(),
            clock: Clock {
                tsc: found.tsc.filter(|_| clock == "x86-tsc"),
                offset: if is_nanos { found.offset } else { 0 },
                is_nanos,
                is_useless,
            },
            cut,
            scope: Scope { machine: machine.unwrap_or_default(), ..seen },
        };
        add_facts(&found, clock, is_useless, &mut facts);
        let streams = data.into_iter().map(|data| {
            let end = data.source.len();
            let range = data.range.start.min(end)..data.range.end.min(end);
            let extents = Extents::Bytes(Vec::from([range]));
            Stream::part(data.file, extents)
        });
        Ok(Opened {
            timebase: Timebase {
                unit: if is_useless { nanos() } else { unit },
                resolution: Ticks(1),
                timeline: if is_useless { Timeline::Synthetic } else { Timeline::Recorded },
            },
            streams: streams.collect(),
            quirks: Quirks {
                leaf_ends_are_stamps: true,
                exits_may_be_late: true,
                ..Quirks::default()
            },
            facts,
            reader: Box::new(DatReader::new(Arc::new(recording))),
            state: Arc::new(IrqNames::default()),
        })
    }
}

/// What the file lacks at its end, and the stream with which that is said.
fn cut(data: &[Data], absent: &[CpuStat]) -> Result<Option<Cut>, ImportError> {
    let lacking = |data: &Data| {
        let end = data.source.len().clamp(data.range.start, data.range.end);
        let lacking = data.range.end - end;
        // The number of chunks may be counted or not: four bytes are not loss.
        (lacking > 4).then(|| format!("CPU {}: the last {lacking} bytes are missing", data.cpu))
    };
    let mut losses: Vec<String> = data.iter().filter_map(lacking).collect();
    losses.extend(absent.iter().map(|stat| {
        format!("CPU {}{}: all {} events are missing", stat.cpu, stat.of_buffer(), stat.events)
    }));
    if losses.is_empty() {
        return Ok(None);
    }
    match data.iter().rposition(|data| data.range.start < data.source.len()) {
        Some(stream) => Ok(Some(Cut { stream, losses })),
        None => Err(ImportError::whole("is truncated before its records: all of them are missing")),
    }
}

fn add_facts(
    found: &Options,
    clock: String,
    is_useless: bool,
    facts: &mut Vec<(&'static str, String)>,
) {
    let mut fact = |key, value: Option<String>| facts.extend(value.map(|value| (key, value)));
    fact("kernel", found.uname.clone());
    fact("trace-cmd", found.version.clone());
    fact("trace clock", Some(clock));
    for stat in found.stats.iter().filter(|stat| stat.overrun > 0 || stat.dropped > 0) {
        let of = stat.of_buffer();
        let lost = format!("{} overwritten, {} dropped", stat.overrun, stat.dropped);
        fact("lost", Some(format!("CPU {}{of}: {lost}", stat.cpu)));
    }
    if found.time_shift {
        let why = "corrections to the clock of another machine are not applied";
        fact("time shift", Some(why.into()));
    }
    if is_useless {
        let why = "the clock counts events or cycles: calls are laid end to end on each CPU";
        fact("timeline", Some(why.into()));
    }
}
