//! Directories that `uftrace record` and QEMU's uftrace plugin write: one file of records per
//! thread, text files that say which functions they are of, and scheduler records by CPU.

use std::io;
use std::sync::Arc;

use profctl_model::hash::FastSet;
use profctl_model::{Code, Severity, TickUnit, Ticks, Timebase, Timeline};

use super::{
    Descriptor, Extents, ImportError, ImportOptions, Importer, Opened, Probe, Quirks, Recognition,
    Stream,
};
use crate::files::{FileId, Files};
use crate::symbols::Symbols;

mod args;
mod events;
mod info;
mod kernel;
mod perf;
mod read;
mod record;
mod recording;
mod symbols;
mod tasks;
#[cfg(test)]
mod tests;

use events::Events;
use info::{Feature, Info};
use kernel::Kernel;
use read::{Contents, Records, StreamKind};
use record::Layout;
use recording::Recording;
use symbols::Table;
use tasks::Tasks;

/// The importer of `uftrace`.
pub struct Directory;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "uftrace",
    about: "directory of `uftrace record` or of QEMU's uftrace plugin",
    recognized: "a directory whose file `info` begins with `Ftrace!`",
    codes: &[&LOST_SCHED, &KERNEL_UNREAD, &UNKNOWN_DATA],
    ..Descriptor::PLAIN
};

/// Scheduler records that are missing.
pub static LOST_SCHED: Code = Code {
    name: "uftrace/lost-sched",
    severity: Severity::DataLoss,
    help: "records of context switches were lost: some time off CPU counts as elapsed and net \
           time of the functions that waited",
};

/// Functions of the kernel that cannot be read.
pub static KERNEL_UNREAD: Code = Code {
    name: "uftrace/kernel-unread",
    severity: Severity::Warning,
    help: "the recording has functions of the kernel (`kernel-cpu*.dat`) and no `kernel_header` \
           that describes them: copy the whole directory",
};

/// Data after a record that no specification explains.
pub static UNKNOWN_DATA: Code = Code {
    name: "uftrace/unknown-data",
    severity: Severity::Info,
    help: "`info` does not state the length of the arguments or the return value of a function: \
           reading resumed at the next record",
};

/// How files may end whose content is compressed.
const COMPRESSED: [&str; 4] = ["", ".gz", ".zst", ".xz"];
/// Bytes of a perf file that make a block.
const PERF_BLOCK: u64 = 1 << 20;

impl Importer for Directory {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        if probe.head.starts_with(info::MAGIC) {
            return Recognition::Neighbor(
                "is one file of a uftrace recording, expected the directory that it is in".into(),
            );
        }
        Recognition::No
    }

    fn recognize_directory(&self, files: &dyn Files) -> Recognition {
        let head = find(files, "info").and_then(|file| files.head(file).ok());
        match head {
            Some(head) if head.bytes.starts_with(info::MAGIC) => {
                Recognition::Yes("the file `info` begins with `Ftrace!`".into())
            }
            _ => Recognition::No,
        }
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let text = |name: &str| find(files, name).map(|file| all(files, file)).transpose();
        let Some(info) = text("info")? else {
            let message = "found no file `info`, expected a directory that `uftrace record` wrote";
            return Err(ImportError::whole(message));
        };
        let info = Info::parse(&info).map_err(ImportError::whole)?;
        let tasks = Tasks::parse(&text("task.txt")?.unwrap_or_default());
        let mut maps = Vec::new();
        for session in &tasks.sessions {
            maps.push(text(&format!("sid-{}.map", session.id))?.unwrap_or_default());
        }
        let symbols = options.symbols.as_ref().map(|file| Symbols::parse(file).map(Arc::new));
        let symbols = symbols.transpose().map_err(ImportError::whole)?;
        let recording = Recording::new(&info, &tasks, &maps, tables(files)?)
            .with_options(symbols, options.no_demangle);
        let events = Events::parse(&text("events.txt")?.unwrap_or_default());
        let kernel = kernel(files)?;
        let page = kernel.as_ref().map(|kernel| kernel.layout.size);
        let (streams, sources) = streams(files, &info, &tasks, &recording, page)?;
        let has_unread = page.is_none() && !pages_of(files).is_empty();
        if !sources.iter().any(|source| matches!(source, StreamKind::Task { .. })) {
            return Err(ImportError::whole("found no file `TID.dat` in the uftrace recording"));
        }
        let facts = facts(&info, &tasks, &recording, &sources);
        let thread = |task: &tasks::Task| (task.tid, (task.pid, tasks.name_of(task.tid)));
        let reader = Records::new(Contents {
            threads: tasks.threads.iter().map(thread).collect(),
            recording,
            events,
            sources,
            endian: info.endian,
            kernel,
            has_unread,
            unread_lines: tasks.unread,
        });
        Ok(Opened {
            timebase: Timebase {
                unit: TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 },
                resolution: Ticks(1),
                timeline: Timeline::Recorded,
            },
            streams,
            quirks: Quirks { leaf_ends_are_stamps: true, ..Quirks::default() },
            facts,
            reader: Box::new(reader),
            state: Arc::new(()),
        })
    }
}

/// The file of that name, compressed or not.
fn find(files: &dyn Files, name: &str) -> Option<FileId> {
    COMPRESSED.iter().find_map(|ending| files.find(&format!("{name}{ending}")))
}

fn all(files: &dyn Files, file: FileId) -> Result<Vec<u8>, ImportError> {
    let read = || {
        let file = files.open_at(file)?;
        file.bytes_at(0, usize::try_from(file.len()).unwrap_or(usize::MAX))
    };
    read().map_err(|error| unreadable(files, file, &error))
}

fn unreadable(files: &dyn Files, file: FileId, error: &io::Error) -> ImportError {
    ImportError::whole(format!("{} cannot be read: {error}", files.entries()[file.0].name))
}

/// `name` without the ending of its compression.
fn plain(name: &str) -> &str {
    COMPRESSED[1..].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name)
}

/// The files of symbols.
fn tables(files: &dyn Files) -> Result<Vec<Table>, ImportError> {
    let mut tables = Vec::new();
    for (n, entry) in files.entries().iter().enumerate() {
        let Some(stem) = plain(&entry.name).strip_suffix(".sym") else { continue };
        let mut table = Table::parse(&all(files, FileId(n))?);
        // Old ones do not say whose they are.
        let path = table.owner.path.take().unwrap_or_else(|| stem.to_owned());
        table.owner.path = Some(path);
        tables.push(table);
    }
    Ok(tables)
}

/// What describes the pages of the kernel's functions.
fn kernel(files: &dyn Files) -> Result<Option<Kernel>, ImportError> {
    let Some(header) = find(files, "kernel_header") else { return Ok(None) };
    let kallsyms = find(files, "kallsyms").map(|file| all(files, file)).transpose()?;
    Ok(Kernel::parse(&all(files, header)?, kallsyms.unwrap_or_default()))
}

/// The files `PREFIX<number>.dat`, in the order of their numbers.
fn numbered(files: &dyn Files, prefix: &str) -> Vec<(u64, FileId)> {
    let names = files.entries().iter().enumerate();
    let mut found: Vec<(u64, FileId)> = names
        .filter_map(|(n, entry)| {
            let stem = plain(&entry.name).strip_suffix(".dat")?.strip_prefix(prefix)?;
            Some((stem.parse().ok()?, FileId(n)))
        })
        .collect();
    found.sort_unstable_by_key(|(number, file)| (*number, file.0));
    found
}

/// The files of the kernel's functions that hold any.
fn pages_of(files: &dyn Files) -> Vec<(u64, FileId)> {
    let mut found = numbered(files, "kernel-cpu");
    found.retain(|(_, file)| files.head(*file).is_ok_and(|head| !head.bytes.is_empty()));
    found
}

/// The streams of the recording, those of tasks first, and what each is. `page` is the size of the
/// pages of the kernel's functions, if they can be read.
fn streams(
    files: &dyn Files,
    info: &Info,
    tasks: &Tasks,
    recording: &Recording,
    page: Option<usize>,
) -> Result<(Vec<Stream>, Vec<StreamKind>), ImportError> {
    let pages = if page.is_some() { pages_of(files) } else { Vec::new() };
    let (mut streams, mut sources) = (Vec::new(), Vec::new());
    // The plugin of QEMU writes exits at another depth than entries. The kernel counts the depth of
    // its functions from where it was entered.
    let is_plugin = tasks.sessions.iter().all(|session| session.id == "0");
    let has_depths = pages.is_empty() && (!is_plugin || tasks.sessions.is_empty());
    for (tid, file) in numbered(files, "") {
        // One that is damaged from its beginning is said to be when it is read.
        let head = files.head(file).map(|head| head.bytes);
        if head.as_ref().is_ok_and(|bytes| bytes.is_empty()) {
            continue;
        }
        let pid = tasks.of(tid).map(|task| task.pid);
        streams.push(Stream::whole(file));
        sources.push(StreamKind::Task {
            tid,
            pid,
            name: tasks.name_of(tid),
            scopes: recording.scopes_of(tasks, tid),
            layout: Layout::of(info.endian, &head.unwrap_or_default()),
            has_depths,
        });
    }
    for (cpu, file) in numbered(files, "perf-cpu") {
        let blocks =
            blocks_of(files, file, info).map_err(|error| unreadable(files, file, &error))?;
        if blocks.is_empty() {
            continue;
        }
        streams.push(Stream::part(file, Extents::Blocks(blocks)));
        sources.push(StreamKind::Cpu { cpu: u32::try_from(cpu).unwrap_or(u32::MAX) });
    }
    for (cpu, file) in pages {
        streams.push(Stream::whole(file));
        sources.push(StreamKind::Kernel { cpu: u32::try_from(cpu).unwrap_or(u32::MAX) });
    }
    let mut tids = FastSet::default();
    let is_own = |source: &StreamKind| match source {
        StreamKind::Task { tid, .. } => tids.insert(*tid),
        StreamKind::Cpu { .. } | StreamKind::Kernel { .. } => false,
    };
    let is_one_thread = sources.iter().all(is_own);
    for stream in &mut streams {
        stream.is_one_thread = is_one_thread;
    }
    Ok((streams, sources))
}

/// The blocks of a perf file: about [`PERF_BLOCK`] bytes of whole records each.
fn blocks_of(
    files: &dyn Files,
    file: FileId,
    info: &Info,
) -> io::Result<Vec<std::ops::Range<u64>>> {
    let file = files.open_at(file)?;
    let (length, mut start) = (file.len(), 0);
    let mut blocks = Vec::new();
    while start < length {
        let bytes = file.bytes_at(start, PERF_BLOCK as usize)?;
        let mut at = 0;
        while let Some(size) = perf::size(&bytes[at..], info.endian) {
            if size == 0 || at + size > bytes.len() {
                break;
            }
            at += size;
        }
        // What is not a record, or the end of a cut file, is left to the reader.
        let end = if at == 0 { length } else { start + at as u64 };
        blocks.push(start..end);
        start = end;
    }
    Ok(blocks)
}

fn facts(
    info: &Info,
    tasks: &Tasks,
    recording: &Recording,
    sources: &[StreamKind],
) -> Vec<(&'static str, String)> {
    let threads = sources.iter().filter(|source| matches!(source, StreamKind::Task { .. })).count();
    let mut facts = vec![("layout", format!("version {}", info.version))];
    let mut add = |key, value: Option<String>| facts.extend(value.map(|value| (key, value)));
    add("recorder", info.recorder().map(|version| format!("uftrace {version}")));
    add("program", info.value("exename").map(str::to_owned));
    add("command", info.value("cmdline").map(str::to_owned));
    add("recorded", info.value("record_date").map(str::to_owned));
    add("kernel", info.member("osinfo", "kernel").map(str::to_owned));
    let is_kernel = |source: &&StreamKind| matches!(source, StreamKind::Kernel { .. });
    let cpus = sources.iter().filter(is_kernel).count();
    add("kernel functions", (cpus > 0).then(|| format!("of {cpus} CPUs")));
    add("threads", Some(threads.to_string()));
    add("programs", (tasks.sessions.len() > 1).then(|| tasks.sessions.len().to_string()));
    add("symbols", Some(recording.functions().to_string()));
    if info.has(Feature::EstimatedReturn) {
        add("exits", Some("estimated by the recorder".into()));
    }
    facts
}
