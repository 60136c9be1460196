//! perf.data files with tracepoints: `perf sched record`, `perf record -e 'sched:*'`, `perf trace
//! record`.
//!
//! Sampled stacks and processor traces hold addresses that only perf can name, with the programs
//! available: such files are named, with the command that prints them as [`super::perf_script`]
//! text.

use std::sync::Arc;

use profctl_model::hash::FastMap;
use profctl_model::{Code, Severity, TickUnit, Timebase, Timeline};

use super::{
    Descriptor, Extents, ImportError, ImportOptions, Importer, Opened, Probe, Recognition,
};
use crate::files::{FileId, Files, ReadAt};
use crate::kernel_events::record::Decoder;
use crate::kernel_events::syscalls::Machine;
use crate::kernel_events::{Applier, Scope};
use crate::sort::Order;

mod head;
mod read;
#[cfg(test)]
mod tests;
mod tracing;

use head::Head;

/// The importer of `perf_data`.
pub struct PerfData;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "perf_data",
    about: "perf.data with tracepoints: perf sched record, perf record -e 'sched:*', perf trace record",
    recognized: "begins with `PERFILE2`",
    codes: &[&SAMPLES_LEFT_OUT],
    ..Descriptor::PLAIN
};

/// Samples among tracepoints.
pub static SAMPLES_LEFT_OUT: Code = Code {
    name: "perf_data/samples-left-out",
    severity: Severity::Warning,
    help: "a sample is not a call and was skipped; for a recording without tracepoints, read the \
           stacks that `perf script` prints",
};

const PROCESSOR_TRACE: &str = "perf.data with a processor trace, which only perf can decode: run \
                               `perf script --ns --itrace=be -F comm,tid,cpu,time,event,period,\
                               flags,ip,sym,symoff,dso,addr -i FILE > trace.txt`, and read that";
const SAMPLES: &str = "perf.data without tracepoints, whose addresses only perf can name: run \
                       `perf script --ns -i FILE > trace.txt`, and read that";
const COMPRESSED: &str = "perf.data with compressed records (-z): run \
                          `perf script --ns -i FILE > trace.txt`, and read that";
const PIPED: &str = "perf.data in pipe mode: run `perf script --ns -i FILE > trace.txt`, \
                     and read that";

/// The ids of an event that are read at most: one for each CPU and thread.
const IDS_MAX: u64 = 1 << 20;
/// Bytes of formats that are read at most.
const FORMATS_MAX: u64 = 64 << 20;

/// Why a recording is refused, according to its head.
fn obstacle(head: &Head) -> Option<&'static str> {
    if head.has(head::AUXTRACE) {
        Some(PROCESSOR_TRACE)
    } else if !head.has(head::TRACING_DATA) {
        Some(SAMPLES)
    } else if head.has(head::COMPRESSED) {
        Some(COMPRESSED)
    } else {
        None
    }
}

impl Importer for PerfData {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        if !probe.head.starts_with(b"PERFILE2") && !probe.head.starts_with(b"2ELIFREP") {
            return Recognition::No;
        }
        match Head::new(probe.head) {
            None => Recognition::Neighbor(format!("is {PIPED}")),
            Some(head) => match obstacle(&head) {
                Some(what) => Recognition::Neighbor(format!("is {what}")),
                None => Recognition::Yes("begins with `PERFILE2`".into()),
            },
        }
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let order = match options.dialect.as_deref() {
            None | Some("sorted") => Order::Nearly,
            Some("unsorted") => Order::Any,
            Some(other) => {
                return Err(ImportError::whole(format!(
                    "unknown dialect `{other}`, expected sorted or unsorted"
                )));
            }
        };
        let unreadable =
            |error: std::io::Error| ImportError::whole(format!("cannot be read: {error}"));
        let file = files.open_at(FileId(0)).map_err(unreadable)?;
        let bytes = |offset, length| file.bytes_at(offset, length).map_err(unreadable);
        let Some(head) = Head::new(&bytes(0, head::HEAD)?) else {
            return Err(ImportError::whole(PIPED));
        };
        if let Some(what) = obstacle(&head) {
            return Err(ImportError::whole(what));
        }
        let recording = recording(&*file, &head).map_err(unreadable)?;
        if recording.decoders.is_empty() {
            return Err(ImportError::whole(SAMPLES));
        }
        let names = || recording.attributes.iter().filter_map(|attribute| attribute.tracepoint);
        let is_raw = |number: &u32| {
            let decoder = recording.decoders.get(number);
            decoder.is_some_and(|decoder| decoder.format.system == "raw_syscalls")
        };
        let scope = Scope {
            has_raw_syscalls: names().any(|number| is_raw(&number)),
            machine: Machine::X86,
            ..Scope::default()
        };
        let facts = vec![("tracepoints", names().count().to_string())];
        // The size is 0 if perf was killed.
        let data = if head.data.is_empty() { head.data.start..file.len() } else { head.data };
        let reader =
            read::Records { recording: Arc::new(recording), applier: Applier::new(scope), order };
        let timebase = Timebase {
            unit: TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 },
            resolution: read::RESOLUTION,
            timeline: Timeline::Recorded,
        };
        let mut opened = Opened::records(timebase, Box::new(reader)).with_facts(facts);
        let end = data.end.min(file.len());
        let data = data.start.min(end)..end;
        opened.streams[0].extents = Extents::Bytes(Vec::from([data]));
        Ok(opened)
    }
}

/// What the head and what it points to say of the records.
fn recording(file: &dyn ReadAt, head: &Head) -> std::io::Result<read::Recording> {
    let mut attributes = Vec::new();
    let mut of_id = FastMap::default();
    let size = head.attribute_size.max(1);
    let n_attributes = ((head.attributes.end - head.attributes.start) / size).min(head::EVENTS_MAX);
    for row in 0..n_attributes {
        let bytes = file.bytes_at(
            head.attributes.start.saturating_add(row * size),
            usize::try_from(size).unwrap_or(usize::MAX).min(1 << 16),
        )?;
        let Some(attribute) = head.attribute(&bytes) else { break };
        let ids = &attribute.id_section;
        let length = (ids.end - ids.start).min(8 * IDS_MAX);
        let bytes = file.bytes_at(ids.start, length as usize)?;
        for at in (0..bytes.len() / 8).map(|id| 8 * id) {
            if let Some(id) = head::number(&bytes, at, 8, head.endian) {
                of_id.insert(id, attributes.len());
            }
        }
        attributes.push(attribute);
    }
    let mut decoders = FastMap::default();
    if let Some(at) = head.feature(head::TRACING_DATA) {
        let section = file.bytes_at(at, 16)?;
        let place = head::number(&section, 0, 8, head.endian).zip(head::number(
            &section,
            8,
            8,
            head.endian,
        ));
        if let Some((offset, length)) = place {
            let formats = file.bytes_at(offset, length.min(FORMATS_MAX) as usize)?;
            for format in tracing::formats(&formats) {
                decoders.insert(format.id, Decoder::new(format));
            }
        }
    }
    Ok(read::Recording { endian: head.endian, attributes, of_id, decoders })
}
