//! Value change dumps (IEEE 1364): what simulators and logic analyzers write about wires.
//!
//! A dump has no calls: `--tag`, `--gpio` or `--pc` select the signals that carry them; see
//! [`crate::capture`].

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::capture;
use crate::files::Files;

mod body;
mod header;
#[cfg(test)]
mod tests;

/// The importer of `vcd`.
pub struct Dump;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "vcd",
    about: "value change dump of a simulator or logic analyzer, with a tag bus or one wire per \
            function",
    recognized: "begins with `$date`, `$version`, `$timescale` or the like, and declares signals",
    extensions: &[".vcd"],
    ..Descriptor::PLAIN
};

/// What may come first.
const FIRST: [&[u8]; 7] =
    [b"$date", b"$version", b"$comment", b"$timescale", b"$scope", b"$var", b"$attrbegin"];

impl Importer for Dump {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let Some(head) = probe.text() else { return Recognition::No };
        let first = header::words(head).next().map(|(_, word)| word);
        let declares = [&b"$var "[..], b"$scope ", b"$timescale"]
            .into_iter()
            .any(|keyword| memchr::memmem::find(head, keyword).is_some());
        match first {
            Some(first) if declares && FIRST.contains(&first) => {
                let first = String::from_utf8_lossy(first);
                Recognition::Yes(format!("declarations of a value change dump from `{first}` on"))
            }
            _ => Recognition::No,
        }
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = super::head(files)?;
        let head = &*head.bytes;
        let header = header::read(head).map_err(ImportError::whole)?;
        let plan = capture::plan(&header.signals, options)?;
        let changes = body::Changes::new(&header, &plan);
        let mut facts = vec![("signals", header.signals.len().to_string())];
        facts.extend(plan.facts());
        facts.extend(header.producer.map(|producer| ("producer", producer)));
        Ok(Opened::in_turn(super::recorded(header.tick), Box::new(changes))
            .with_lines()
            .with_facts(facts)
            .with_tied_entries())
    }
}
