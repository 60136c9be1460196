//! Ring-buffer pages as the kernel gives them, `per_cpu/cpuN/trace_pipe_raw`, beside the files of
//! tracefs that explain them: a directory with copies of `events/`, `per_cpu/` and what else is
//! available (`saved_cmdlines`, `printk_formats`, `trace_clock`, `/proc/kallsyms`, `uname`).

#[cfg(test)]
mod tests;

use std::io::Read as _;

use super::data::Data;
use super::opened::Parts;
use super::options::Options;
use crate::bytes::Endian;
use crate::files::{FileId, Files};
use crate::formats::{ImportError, ImportOptions, Opened, Recognition, unreadable};
use crate::kernel_events::format::EventFormat;
use crate::ring_buffer::{PageLayout, looks_like_pages};

/// No description of an event is longer.
const FORMAT_MAX: u64 = 1 << 20;
/// kallsyms of a kernel with every module takes about 20 MB.
const TEXT_MAX: u64 = 256 << 20;

/// Whether a file is pages without anything that explains them.
pub(super) fn recognize(head: &[u8]) -> Recognition {
    let is_raw = [Endian::Little, Endian::Big]
        .iter()
        .any(|endian| looks_like_pages(head, &PageLayout::usual(*endian, PAGE)));
    if !is_raw {
        return Recognition::No;
    }
    Recognition::Neighbor(
        "is a copy of ftrace's ring buffer (trace_pipe_raw), which needs the event descriptions \
         of its kernel: give a directory with copies of events/ and per_cpu/ of its tracefs, \
         or record with trace-cmd"
            .into(),
    )
}

/// Whether a directory is a copy of what explains pages, with pages.
pub(super) fn recognize_directory(files: &dyn Files) -> Recognition {
    let cpus = files.entries().iter().filter(|entry| cpu(&entry.name).is_some()).count();
    match (find(files, "events/header_page"), cpus) {
        (Some(_), 1..) => {
            Recognition::Yes(format!("it has events/header_page and the pages of {cpus} CPUs"))
        }
        _ => Recognition::No,
    }
}

/// Gets ready to read such a directory.
pub(super) fn open(files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
    let Some(header) = find(files, "events/header_page") else {
        return Err(ImportError::whole(
            "has no events/header_page: copy events/ of the tracefs that the pages are from",
        ));
    };
    let header = text(files, header, FORMAT_MAX)?;
    let mut data = Vec::new();
    let mut parts = Parts::default();
    for (row, entry) in files.entries().iter().enumerate() {
        let file = FileId(row);
        if let Some(cpu) = cpu(&entry.name) {
            let source = files.open_at(file).map_err(|error| unreadable(&error))?;
            let range = 0..source.len();
            data.push(Data { file, source, cpu, range, compressed: false });
        } else if let Some(system) = system(&entry.name) {
            let text = text(files, file, FORMAT_MAX)?;
            parts.formats.extend(EventFormat::parse(system, &String::from_utf8_lossy(&text)));
        }
    }
    let endian = [Endian::Little, Endian::Big].into_iter().find(|endian| {
        let layout = PageLayout::parse(&String::from_utf8_lossy(&header), *endian);
        layout.is_some_and(|layout| {
            data.iter().any(|data| {
                let head = data.source.bytes_at(0, layout.size).unwrap_or_default();
                looks_like_pages(&head, &layout)
            })
        })
    });
    let layout = PageLayout::parse(&String::from_utf8_lossy(&header), endian.unwrap_or_default());
    let layout = layout
        .ok_or_else(|| ImportError::whole("describes pages of a ring buffer of another kind"))?;
    parts.data = data;
    let optional = |name| match find(files, name) {
        Some(file) => text(files, file, TEXT_MAX),
        None => Ok(Vec::new()),
    };
    parts.kallsyms = match &options.symbols {
        Some(symbols) => symbols.clone(),
        None => optional("kallsyms")?,
    };
    parts.printk = optional("printk_formats")?;
    parts.cmdlines = optional("saved_cmdlines")?;
    let mut found = Options::default();
    found.set_clock(&String::from_utf8_lossy(&optional("trace_clock")?));
    let uname = optional("uname")?;
    found.uname =
        Some(String::from_utf8_lossy(&uname).trim().to_owned()).filter(|uname| !uname.is_empty());
    parts.found = found;
    if parts.kallsyms.is_empty() {
        let why = "no kallsyms: functions are shown by address (or give --symbols)";
        parts.facts.push(("symbols", why.into()));
    }
    parts.opened(layout, options)
}

/// Bytes of a page on most machines.
const PAGE: usize = 4096;

/// The file of that name, wherever in the directory the copy of tracefs begins.
fn find(files: &dyn Files, name: &str) -> Option<FileId> {
    let is_it = |entry: &crate::files::Entry| {
        entry.name.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    // `events/x/kallsyms` is not a kallsyms: the file that is nearest to the top.
    let found = files.entries().iter().enumerate().filter(|(_, entry)| is_it(entry));
    found.min_by_key(|(_, entry)| entry.name.len()).map(|(row, _)| FileId(row))
}

/// The CPU of `per_cpu/cpu3/trace_pipe_raw`.
fn cpu(name: &str) -> Option<u32> {
    let folder = name.strip_suffix("/trace_pipe_raw")?;
    folder.rsplit('/').next()?.strip_prefix("cpu")?.parse().ok()
}

/// The system of `events/sched/sched_switch/format`.
fn system(name: &str) -> Option<&str> {
    let event = name.strip_suffix("/format")?;
    let (system, _) = event.rsplit_once('/')?;
    let (above, system) = system.rsplit_once('/')?;
    (above == "events" || above.ends_with("/events")).then_some(system)
}

fn text(files: &dyn Files, file: FileId, longest: u64) -> Result<Vec<u8>, ImportError> {
    let mut bytes = Vec::new();
    let read =
        files.open(file).and_then(|opened| opened.bytes.take(longest).read_to_end(&mut bytes));
    read.map_err(|error| unreadable(&error))?;
    Ok(bytes)
}
