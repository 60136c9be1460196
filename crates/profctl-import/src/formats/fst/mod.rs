//! FST: the compressed wave form files of GTKWave's writer, which Icarus Verilog, Verilator, GHDL
//! and `vcd2fst` link in.
//!
//! Says the same as a value change dump, but by signal rather than by time, with the names at the
//! end: it is read as a whole. The reader is our own because those there are stop the program at
//! bytes that they did not expect.

use std::borrow::Cow;
use std::sync::Arc;

use profctl_model::{TickUnit, Ticks, Timebase, Timeline};

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Verdict};
use crate::source::HEAD;

mod blocks;
mod changes;
mod pack;
mod read;
#[cfg(test)]
mod tests;

pub use read::NOT_WATCHED;

/// See the module.
pub struct WaveForm;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "fst",
    about: "FST wave form file of a simulator, with a tag bus or a wire a function",
    recognised: "its first block: type 0, 329 bytes",
};

/// How a file begins: a header block, or a wrapper around a file that was compressed once more.
const HEADER: &[u8] = &[0, 0, 0, 0, 0, 0, 0, 1, 0x49];
const WRAPPED: u8 = 254;

impl Importer for WaveForm {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, head: &[u8], _whole: bool) -> Verdict {
        if head.starts_with(HEADER) {
            return Verdict::Yes("a header block of FST".into());
        }
        // Behind the wrapper's type and two lengths stands gzip.
        if head.first() == Some(&WRAPPED) && head.get(17..20) == Some(&[0x1f, 0x8b, 8]) {
            return Verdict::Yes("a compressed FST".into());
        }
        Verdict::No
    }

    fn open(&self, head: &[u8], options: &ImportOptions) -> Result<Opened, ImportError> {
        let unwrapped = blocks::unwrap(head);
        let header = blocks::header(&unwrapped).map_err(ImportError::whole)?;
        let mut facts = Vec::new();
        let mut plan = None;
        // The names stand at the end, which is only seen here if the file is small. Else the
        // signals are found when it is read.
        if head.len() < HEAD {
            let contents = blocks::contents(&unwrapped).map_err(ImportError::whole)?;
            let found = crate::capture::plan(&contents.signals, options)?;
            facts.push(("signals", contents.signals.len().to_string()));
            facts.extend(found.facts());
            plan = Some(found);
        }
        facts.push(("producer", header.producer.clone()));
        Ok(Opened {
            timebase: Timebase {
                unit: tick(header.exponent).map_err(ImportError::whole)?,
                resolution: Ticks(1),
                timeline: Timeline::Recorded,
            },
            counter_bits: None,
            has_lines: false,
            leaf_ends_are_stamps: true,
            exits_may_be_late: false,
            whole: true,
            initial: Vec::new(),
            facts,
            reader: Box::new(read::Whole { plan, options: Arc::new(options.clone()) }),
            state: Arc::new(()),
        })
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

/// A file without its wrapper.
type Unwrapped<'a> = Cow<'a, [u8]>;
