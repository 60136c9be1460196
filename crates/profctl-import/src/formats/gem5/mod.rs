//! The instruction trace of the gem5 simulator (`--debug-flags=Exec`), with simulated time.

use std::sync::Arc;

use profctl_model::TickUnit;

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::emit::Emitter;
use crate::files::Files;
use crate::flow::{self, Flow, InstructionLog, LONGEST, Said, Step, Stretch};
use crate::symbols::Symbols;

mod line;
#[cfg(test)]
mod tests;

use line::Record;

/// The importer of `gem5`.
pub struct ExecTrace;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "gem5",
    about: "gem5 `--debug-flags=Exec` trace, instruction by instruction",
    recognized: "two lines `TICK: system.cpu: [0xPC] @SYMBOL+OFFSET : INSTRUCTION …`",
    ..Descriptor::PLAIN
};

impl Importer for ExecTrace {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let reason = "lines `TICK: system.cpu: @SYMBOL+OFFSET : INSTRUCTION`";
        Recognition::of_lines(probe, reason, |line| line::parse(line).is_ok())
    }

    fn open(&self, _files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let symbols = flow::symbols(options)?;
        let facts = vec![("tick", "1 ps of simulated time, the default".into())];
        Ok(flow::opened(
            TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000_000 },
            Log { symbols, cpus: Vec::new() },
            facts,
        ))
    }
}

#[derive(Clone)]
struct Log {
    symbols: Option<Arc<Symbols>>,
    /// The CPUs (and threads of them) met so far: name, number, address of the latest instruction.
    cpus: Vec<(String, u32, u64)>,
}

impl InstructionLog for Log {
    fn line(&mut self, line: &[u8], offset: usize, flow: &mut Flow, out: &mut Emitter) -> Said {
        let record = match line::parse(line) {
            Ok(record) => record,
            Err(None) => return Said::Foreign,
            Err(Some(expected)) => return Said::Bad(expected),
        };
        let row = self.cpu(record.cpu);
        let Record { time, symbol, micro, ending, .. } = record;
        let pc = self.address(&record);
        let (_, cpu, latest) = &mut self.cpus[row];
        // The parts of an instruction follow the line of the whole, if there is one.
        if micro.is_some_and(|micro| micro > 0 || *latest == pc) {
            return Said::Other;
        }
        *latest = pc;
        let found = self.symbols.as_ref().and_then(|symbols| symbols.lookup(pc));
        let place = symbol.or(found);
        let name = place.map(|(name, _)| name.as_bytes());
        let at_start = place.map(|(_, offset)| offset == 0);
        let stretch = Stretch { instructions: 0, last: pc, reach: LONGEST, ending: Some(ending) };
        let step = Step { cpu: *cpu, pc, name, at_start, time: Some(time), stretch, offset };
        flow.step(&step, out);
        Said::Step
    }
}

impl Log {
    /// The row of a CPU. Its number is the one in its name, unless another one has that.
    fn cpu(&mut self, name: &str) -> usize {
        if let Some(row) = self.cpus.iter().position(|cpu| cpu.0 == name) {
            return row;
        }
        let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
        let wanted = name[name.len() - digits..].parse().unwrap_or(0);
        let taken = |number: u32| self.cpus.iter().any(|cpu| cpu.1 == number);
        let number = (wanted..=u32::MAX).find(|&number| !taken(number)).unwrap_or(wanted);
        self.cpus.push((name.to_owned(), number, u64::MAX));
        self.cpus.len() - 1
    }

    /// Older versions print the symbol instead of the address: only distances within a function
    /// matter then, so any place will do.
    fn address(&self, record: &Record<'_>) -> u64 {
        let (name, offset) = match (record.pc, record.symbol) {
            (Some(pc), _) => return pc,
            (None, Some(symbol)) => symbol,
            (None, None) => ("", 0),
        };
        let known = self.symbols.as_ref().and_then(|symbols| symbols.start_of(name));
        let start = known.unwrap_or_else(|| {
            let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
            });
            hash & !0xffff_ffff
        });
        start.wrapping_add(offset)
    }
}
