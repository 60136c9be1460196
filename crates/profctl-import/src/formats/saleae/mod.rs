//! Exports of Saleae's Logic: a CSV of transitions, or the binary file of one digital channel.

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::files::Files;

mod binary;
mod csv;
mod seconds;
#[cfg(test)]
mod tests;

/// The importer of `saleae`.
pub struct Export;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "saleae",
    about: "Saleae Logic export: digital CSV, or the binary file of one digital channel",
    recognized: "a header `Time [s],…` over rows of 0 and 1, or `<SALEAE>`",
    ..Descriptor::PLAIN
};

impl Importer for Export {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let head = probe.head;
        if let Some(kind) = binary::kind(head) {
            return match kind {
                binary::Kind::Digital => Recognition::Yes("`<SALEAE>`, digital".into()),
                binary::Kind::Analog => Recognition::Neighbor(
                    "is an analog channel of Saleae's Logic: export the digital ones".into(),
                ),
            };
        }
        csv::sniff(head)
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = super::head(files)?;
        let head = &*head.bytes;
        let opened = match binary::kind(head) {
            Some(_) => binary::open(head, options),
            None => csv::open(head, options),
        };
        Ok(opened?.with_tied_entries())
    }
}
