//! What a hardware probe captures: records of a tag and a free-running counter, and a name file
//! that says what the tags mean. After the manner of McRae's EPROM-socket board of 1993.
//!
//! The file holds nothing but records, so nothing in it can be recognized: it is read where
//! `--input-format probe` or a name file says so.

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::files::Files;
pub use crate::options::{FieldOrder, ProbeOptions};
use crate::tags;

mod layout;
mod records;
#[cfg(test)]
mod tests;

use layout::Layout;

/// The importer of `probe`.
pub struct ProbeCapture;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "probe",
    about: "tag and counter records of a hardware probe, with a name file",
    recognized: "not from content: needs `--names FILE` (`name/tag` lines)",
    ..Descriptor::PLAIN
};

impl Importer for ProbeCapture {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, _probe: &Probe<'_>) -> Recognition {
        Recognition::No
    }

    fn open(&self, _files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let probe = &options.probe;
        let layout = Layout::of(probe).map_err(ImportError::whole)?;
        let Some(names) = &options.names else {
            return Err(ImportError::whole(
                "no name file for the tags, expected `--names FILE` with lines `name/tag`",
            ));
        };
        let names = tags::parse(names, probe.tag_bits)?;
        let facts = vec![("record", layout.describe(probe)), ("tags", names.len().to_string())];
        Ok(Opened::records(
            super::recorded(probe.tick),
            Box::new(records::Records::new(layout, names)),
        )
        .with_facts(facts)
        .with_state(std::sync::Arc::new(()))
        .with_counter((probe.time_bits < u64::BITS).then_some(probe.time_bits)))
    }
}
