//! What a hardware probe captures: records of a tag and a free-running counter, and a name file
//! that says what the tags mean. After the manner of McRae's EPROM-socket board of 1993.
//!
//! The file holds nothing but records, so nothing in it can be recognized: it is read where
//! `--input-format probe` or a name file says so.

use profctl_model::{Code, TickUnit, Ticks, Timebase, Timeline};

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::bytes::Endian;
use crate::files::Files;

mod layout;
pub(crate) mod names;
mod records;
pub(crate) mod tags;
#[cfg(test)]
mod tests;

use layout::Layout;
/// See the module.
pub struct ProbeCapture;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "probe",
    about: "tag and counter records of a hardware probe, with a name file",
    recognized: "not from content: needs `--names FILE` (`name/tag` lines)",
};

/// The layout of a probe's records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProbeOptions {
    /// Bits of a tag, 1 to 32. A field takes whole bytes; bits beyond these are not looked at.
    pub tag_bits: u32,
    /// Bits of the counter, 1 to 64, likewise; it wraps after the last of them.
    pub time_bits: u32,
    /// What one step of the counter is.
    pub tick: TickUnit,
    /// Which byte of a field comes first.
    pub endian: Endian,
    /// Which field comes first.
    pub order: FieldOrder,
    /// Bytes from one record to the next, if there is something behind the two fields.
    pub record_bytes: Option<usize>,
}

impl Default for ProbeOptions {
    fn default() -> Self {
        Self {
            tag_bits: 16,
            time_bits: 24,
            tick: TickUnit::Seconds { numerator: 1, denominator: 1_000_000 },
            endian: Endian::Little,
            order: FieldOrder::TagTime,
            record_bytes: None,
        }
    }
}

/// Which field of a record comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FieldOrder {
    /// The tag.
    #[default]
    TagTime,
    /// The counter.
    TimeTag,
}

impl Importer for ProbeCapture {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn codes(&self) -> &'static [&'static Code] {
        static CODES: &[&Code] = &[&tags::UNKNOWN_TAG];
        CODES
    }

    fn recognize(&self, _probe: &Probe<'_>) -> Recognition {
        Recognition::No
    }

    fn open(&self, _files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let probe = &options.probe;
        let layout = Layout::of(probe).map_err(ImportError::whole)?;
        let Some(names) = &options.names else {
            return Err(ImportError::whole(
                "no name file, expected one that says what the tags mean (`--names FILE`, lines \
                 `name/tag`)",
            ));
        };
        let names = names::parse(names, probe.tag_bits)?;
        let facts = vec![("record", layout.describe(probe)), ("tags", names.len().to_string())];
        Ok(Opened::records(
            Timebase { unit: probe.tick, resolution: Ticks(1), timeline: Timeline::Recorded },
            Box::new(records::Records::new(layout, names)),
        )
        .with_facts(facts)
        .with_state(std::sync::Arc::new(()))
        .with_counter((probe.time_bits < u64::BITS).then_some(probe.time_bits)))
    }
}
