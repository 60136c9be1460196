//! Exports of Saleae's Logic: a CSV of transitions, or the binary file of one digital channel.

use profctl_model::Timebase;

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Reader, State, Verdict};

mod binary;
mod csv;
mod seconds;
#[cfg(test)]
mod tests;

/// See the module.
pub struct Export;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "saleae",
    about: "Saleae Logic export: digital CSV, or the binary file of one digital channel",
    recognised: "a head `Time [s],…` over rows of 0 and 1, or `<SALEAE>`",
};

impl Importer for Export {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, head: &[u8], _whole: bool) -> Verdict {
        if let Some(kind) = binary::kind(head) {
            return match kind {
                binary::Kind::Digital => Verdict::Yes("`<SALEAE>`, digital".into()),
                binary::Kind::Analog => Verdict::Neighbour(
                    "is an analog channel of Saleae's Logic: export the digital ones".into(),
                ),
            };
        }
        csv::sniff(head)
    }

    fn open(&self, head: &[u8], options: &ImportOptions) -> Result<Opened, ImportError> {
        match binary::kind(head) {
            Some(_) => binary::open(head, options),
            None => csv::open(head, options),
        }
    }
}

/// An input with times in nanoseconds.
fn opened(
    whole: bool,
    facts: Vec<(&'static str, String)>,
    reader: Box<dyn Reader>,
    state: State,
) -> Opened {
    Opened {
        timebase: Timebase::NANOSECONDS,
        counter_bits: None,
        has_lines: !whole,
        leaf_ends_are_stamps: true,
        exits_may_be_late: false,
        whole,
        initial: Vec::new(),
        facts,
        reader,
        state,
    }
}
