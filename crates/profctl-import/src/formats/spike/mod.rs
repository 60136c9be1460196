//! The log of Spike, the RISC-V simulator (`-l`, with or without `--log-commits`): a line for every
//! instruction, and one for every symbol whose address is reached.

use std::collections::BTreeMap;
use std::sync::Arc;

use profctl_model::{TickUnit, Ticks, Timebase, Timeline};

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Verdict};
use crate::emit::Emitter;
use crate::flow::{self, Carried, Flow, Said, Source, Step, Stretch, asm};
use crate::symbols::{self, Symbols};
use crate::text;

mod line;
#[cfg(test)]
mod tests;

use line::Line;

/// See the module.
pub struct SpikeLog;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "spike",
    about: "log of the RISC-V simulator Spike (`-l`), instruction by instruction",
    recognised: "two lines `core N: 0xPC (0xINSN) DISASSEMBLY`",
};

/// No instruction of RISC-V that calls is longer.
const REACH: u64 = 4;

impl Importer for SpikeLog {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn sniff(&self, head: &[u8], _whole: bool) -> Verdict {
        if !text::looks_like_text(head) {
            return Verdict::No;
        }
        let is_one =
            |line: &text::Line<'_>| matches!(line::parse(line.text), Ok(Line::Step { .. }));
        let reason = || "lines `core N: 0xPC (0xINSN) DISASSEMBLY`".to_owned();
        match text::lines(head).filter(is_one).take(2).count() {
            0 => Verdict::No,
            1 => Verdict::Maybe(reason()),
            _ => Verdict::Yes(reason()),
        }
    }

    fn open(&self, _head: &[u8], options: &ImportOptions) -> Result<Opened, ImportError> {
        let symbols = flow::symbols(options)?;
        let names = match symbols {
            Some(_) => "from the symbol file",
            None => "from lines `>>>>`, where every label counts as a function",
        };
        Ok(Opened {
            timebase: Timebase {
                unit: TickUnit::Instructions,
                resolution: Ticks(1),
                timeline: Timeline::Recorded,
            },
            counter_bits: None,
            has_lines: true,
            leaf_ends_are_stamps: true,
            exits_may_be_late: false,
            whole: false,
            initial: Vec::new(),
            facts: vec![("functions", names.into())],
            reader: Box::<flow::Lines<Log>>::default(),
            state: Carried::start(Log { symbols, labels: BTreeMap::new() }),
        })
    }
}

#[derive(Clone)]
struct Log {
    symbols: Option<Arc<Symbols>>,
    /// By core: the symbol that its next instruction begins.
    labels: BTreeMap<u32, Vec<u8>>,
}

impl Source for Log {
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
