//! The log of Spike, the RISC-V simulator (`-l`, with or without `--log-commits`): a line for every
//! instruction, and one for every symbol whose address is reached.

use std::collections::BTreeMap;
use std::sync::Arc;

use profctl_model::TickUnit;

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::emit::Emitter;
use crate::files::Files;
use crate::flow::{self, Flow, InstructionLog, Said, Step, Stretch, asm};
use crate::symbols::{self, Symbols};

mod line;
#[cfg(test)]
mod tests;

use line::Line;

/// The importer of `spike`.
pub struct SpikeLog;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "spike",
    about: "log of the RISC-V simulator Spike (`-l`), instruction by instruction",
    recognized: "two lines `core N: 0xPC (0xINSN) DISASSEMBLY`",
    ..Descriptor::PLAIN
};

/// No instruction of RISC-V that calls is longer.
const REACH: u64 = 4;

impl Importer for SpikeLog {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let reason = "lines `core N: 0xPC (0xINSN) DISASSEMBLY`";
        Recognition::of_lines(probe, reason, |line| {
            matches!(line::parse(line), Ok(Line::Step { .. }))
        })
    }

    fn open(&self, _files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let symbols = flow::symbols(options)?;
        let names = match symbols {
            Some(_) => "from the symbol file",
            None => "from lines `>>>>`, where every label counts as a function",
        };
        let facts = vec![("functions", names.into())];
        Ok(flow::opened(TickUnit::Instructions, Log { symbols, labels: BTreeMap::new() }, facts))
    }
}

#[derive(Clone)]
struct Log {
    symbols: Option<Arc<Symbols>>,
    /// By core: the symbol that its next instruction begins.
    labels: BTreeMap<u32, Vec<u8>>,
}

impl InstructionLog for Log {
    fn line(&mut self, line: &[u8], offset: usize, flow: &mut Flow, out: &mut Emitter) -> Said {
        match line::parse(line) {
            Ok(Line::Step { core, pc, disassembly }) => {
                let label = self.labels.remove(&core);
                let found = self.symbols.as_ref().and_then(|symbols| symbols.lookup(pc));
                let (name, at_start) = match found {
                    Some((name, offset)) => (Some(name.as_bytes()), Some(offset == 0)),
                    None => (label.as_deref(), label.is_some().then_some(true)),
                };
                let ending = Some(asm::ending(pc, disassembly));
                let stretch = Stretch { instructions: 1, last: pc, reach: REACH, ending };
                let step = Step { cpu: core, pc, name, at_start, time: None, stretch, offset };
                flow.step(&step, out);
                Said::Step
            }
            Ok(Line::Label { core, name }) => {
                if !symbols::is_mapping(&String::from_utf8_lossy(name)) {
                    self.labels.insert(core, name.to_owned());
                }
                Said::Other
            }
            Ok(Line::Trap { core, pc }) => {
                flow.trap(core, pc);
                Said::Other
            }
            Ok(Line::Commit | Line::Detail) => Said::Other,
            Err(None) => Said::Foreign,
            Err(Some(expected)) => Said::Bad(expected),
        }
    }
}
