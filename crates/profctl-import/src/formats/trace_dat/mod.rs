//! `trace.dat` of trace-cmd, versions 6 and 7: the kernel's ring-buffer pages of each CPU, with
//! everything that is needed to read them.
//!
//! [`container`] finds the parts, [`crate::ring_buffer`] reads pages, [`crate::kernel_events`] reads records by
//! the kernel's own descriptions, [`read`] says what they mean. Every CPU of every buffer is a
//! stream.

mod container;
mod cut;
mod data;
mod input;
mod names;
mod opened;
mod options;
mod raw;
mod read;
mod survey;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use super::unreadable;
use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::files::{FileId, Files};
use crate::ring_buffer::PageLayout;
use container::Container;
use data::Data;
use opened::Parts;

pub use read::{MISSING_RECORDS, UNKNOWN_EVENT};

/// The importer of `trace_dat`.
pub struct TraceDat;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "trace_dat",
    about: "trace.dat of trace-cmd, versions 6 and 7; trace_pipe_raw beside the events/ of its tracefs",
    recognized: "its first ten bytes; a directory: events/header_page and per_cpu/cpu*/trace_pipe_raw",
    codes: &[&MISSING_RECORDS, &UNKNOWN_EVENT],
    ..Descriptor::PLAIN
};

impl Importer for TraceDat {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        match probe.head.strip_prefix(container::MAGIC) {
            Some([version, 0, ..]) => Recognition::Yes(format!(
                "it begins as a trace.dat of version {} does",
                char::from(*version)
            )),
            Some(_) => Recognition::Maybe("it begins as a trace.dat does".into()),
            None => raw::recognize(probe.head),
        }
    }

    fn recognize_directory(&self, files: &dyn Files) -> Recognition {
        raw::recognize_directory(files)
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        if files.entries().len() > 1 {
            return raw::open(files, options);
        }
        let source = files.open_at(FileId(0)).map_err(|error| unreadable(&error))?;
        let file = Container::open(&*source)?;
        if file.buffers.iter().all(|buffer| buffer.cpus.is_empty()) {
            return Err(ImportError::whole(if file.has_text {
                "holds the text of a latency tracer and no records; read the output of \
                 `trace-cmd report`"
            } else {
                "has no records"
            }));
        }
        let layout = PageLayout::parse(&file.header_page, file.endian).ok_or_else(|| {
            ImportError::whole("describes pages of a ring buffer of another kind")
        })?;
        let mut facts = vec![
            ("version", file.version.to_string()),
            ("records compressed", file.compression.name().into()),
        ];
        let named = |buffer: &&container::Buffer| !buffer.name.is_empty();
        let instances: Vec<_> =
            file.buffers.iter().filter(named).map(|buffer| buffer.name.as_str()).collect();
        if !instances.is_empty() {
            facts.push(("instances", instances.join(", ")));
        }
        let clock = file.buffers.iter().find_map(|buffer| buffer.clock.clone());
        let data = file.buffers.iter().flat_map(|buffer| &buffer.cpus).map(|data| Data {
            file: FileId(0),
            source: Arc::clone(&source),
            cpu: data.cpu,
            range: data.range.clone(),
            compressed: data.compressed,
        });
        let data = data.collect();
        let Container {
            compression,
            formats,
            kallsyms,
            printk,
            cmdlines,
            options: found,
            absent,
            ..
        } = file;
        let parts = Parts {
            compression,
            formats,
            kallsyms,
            printk,
            cmdlines,
            found,
            clock,
            data,
            absent,
            facts,
        };
        parts.opened(layout, options)
    }
}
