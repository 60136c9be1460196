//! FST: the compressed wave form files of GTKWave's writer, which Icarus Verilog, Verilator, GHDL
//! and `vcd2fst` link in.
//!
//! Says the same as a value change dump, but by signal rather than by time, with the names at the
//! end. The reader is our own because those there are stop the program at
//! bytes that they did not expect.

use std::sync::Arc;

use profctl_model::TickUnit;

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::decompress::too_large;
use crate::files::{FileId, Files, ReadAt};

mod blocks;
mod changes;
mod pack;
mod read;
#[cfg(test)]
mod tests;

use pack::{Allowance, TOO_LARGE};

/// The importer of `fst`.
pub struct WaveForm;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "fst",
    about: "FST waveform file of a simulator, with a tag bus or one wire per function",
    recognized: "its first block: type 0, 329 bytes",
    extensions: &[".fst"],
    ..Descriptor::PLAIN
};

/// Bytes that hold the header.
const HEAD: usize = 512;
/// How a file begins: a header block, or a wrapper around a file that was compressed once more.
const HEADER: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 1, 0x49];
const WRAPPED: u8 = 254;

impl Importer for WaveForm {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let head = probe.head;
        if head.starts_with(HEADER) {
            return Recognition::Yes("a header block of FST".into());
        }
        // After the wrapper's type and two lengths stands gzip.
        if head.first() == Some(&WRAPPED) && head.get(17..20) == Some(&[0x1f, 0x8b, 8]) {
            return Recognition::Yes("a compressed FST".into());
        }
        Recognition::No
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let file = files.open_at(FileId(0)).map_err(|error| super::unreadable(&error))?;
        let max_expansion = files.max_expansion();
        let wrong = |wrong: &str| match wrong {
            TOO_LARGE => super::unreadable(&too_large(max_expansion)),
            wrong => ImportError::whole(wrong),
        };
        let mut allowance = Allowance::new(file.len(), max_expansion);
        let unwrapped = blocks::unwrap(&*file, &mut allowance).map_err(wrong)?;
        let file: Arc<dyn ReadAt> = match unwrapped {
            Some(unwrapped) => Arc::new(unwrapped),
            None => file,
        };
        let head = file.bytes_at(0, HEAD).map_err(|error| super::unreadable(&error))?;
        let header = blocks::header(&head).map_err(ImportError::whole)?;
        let mut facts = Vec::new();
        // The names are at the end.
        let contents = blocks::contents(&*file, &mut allowance);
        let contents = Arc::new(contents.map_err(|message| match message {
            message if message.ends_with(TOO_LARGE) => wrong(TOO_LARGE),
            message => ImportError::whole(message),
        })?);
        let plan = crate::capture::plan(&contents.signals, options)?;
        facts.push(("signals", contents.signals.len().to_string()));
        facts.extend(plan.facts());
        facts.push(("producer", header.producer.clone()));
        Ok(Opened::in_turn(
            super::recorded(tick(header.exponent).map_err(ImportError::whole)?),
            Box::new(read::Dump { file, contents, plan, max_expansion }),
        )
        .with_facts(facts)
        .with_tied_entries())
    }
}

/// Ten to the power of `exponent` seconds.
fn tick(exponent: i8) -> Result<TickUnit, String> {
    let power = 10_u64.checked_pow(u32::from(exponent.unsigned_abs()));
    match power {
        Some(numerator) if exponent >= 0 => Ok(TickUnit::Seconds { numerator, denominator: 1 }),
        Some(denominator) => Ok(TickUnit::Seconds { numerator: 1, denominator }),
        None => Err(format!("found a timescale of 10^{exponent} s, expected s to as")),
    }
}
