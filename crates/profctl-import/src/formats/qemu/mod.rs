//! The log of QEMU's `-d exec,nochain`, with or without `in_asm`: a line for every block of
//! translated code that is executed.
//!
//! Without `nochain` QEMU logs a block only the first few times, and nothing can be made of that.

use std::sync::Arc;

use profctl_model::TickUnit;

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::files::Files;
use crate::flow::{self, Flow, InstructionLog, Said, Step, Stretch};
use crate::symbols::Symbols;
use crate::text;

mod blocks;
mod line;
#[cfg(test)]
mod tests;

use blocks::Blocks;
use line::Trace;

/// The importer of `qemu`.
pub struct ExecLog;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "qemu",
    about: "QEMU `-d exec,nochain[,in_asm]` log, block by block",
    recognized: "a line `Trace CPU: 0xHOST [CS_BASE/PC/FLAGS/CFLAGS] SYMBOL`",
    ..Descriptor::PLAIN
};

/// How far a block without disassembly may reach: what follows a call in it is looked for there.
const BLOCK_REACH: u64 = 512;

impl Importer for ExecLog {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let Some(head) = probe.text() else { return Recognition::No };
        match text::lines(head).find(|line| line::trace(line.text).is_ok()) {
            Some(_) => Recognition::Yes("lines `Trace CPU: 0xHOST […/PC/…] SYMBOL`".into()),
            None => Recognition::No,
        }
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = super::head(files)?;
        let head = &*head.bytes;
        let symbols = flow::symbols(options)?;
        let mut traces = text::lines(head).filter_map(|line| line::trace(line.text).ok());
        let singly = traces.any(|trace| trace.most == Some(1));
        let disassembled = text::lines(head).any(|line| line.text.starts_with(b"IN:"));
        let tick = match (singly, disassembled) {
            (true, _) => "instructions: one line each",
            (false, true) => "instructions, counted in the disassembly of each block",
            (false, false) => "blocks, not instructions: record with one-insn-per-tb, or in_asm",
        };
        let calls = if disassembled {
            "by the last instruction of each block"
        } else {
            "inferred from addresses: record with in_asm for exact calls"
        };
        let facts = vec![("tick", tick.into()), ("calls", calls.into())];
        Ok(flow::opened(TickUnit::Instructions, Log { symbols, blocks: Blocks::default() }, facts))
    }
}

/// What must be known of the log so far.
#[derive(Clone)]
struct Log {
    symbols: Option<Arc<Symbols>>,
    blocks: Blocks,
}

impl InstructionLog for Log {
    fn line(
        &mut self,
        line: &[u8],
        offset: usize,
        flow: &mut Flow,
        out: &mut crate::emit::Emitter,
    ) -> Said {
        if line.starts_with(b"Trace ") {
            self.blocks.end();
            let trace = match line::trace(line) {
                Ok(trace) => trace,
                Err(expected) => return Said::Bad(expected),
            };
            flow.step(&self.step(&trace, offset), out);
            return Said::Step;
        }
        if let Some(pc) = line::stopped(line) {
            flow.cancel(pc);
            return Said::Other;
        }
        if self.blocks.line(line) { Said::Other } else { Said::Foreign }
    }
}

impl Log {
    fn step<'a>(&'a self, trace: &Trace<'a>, offset: usize) -> Step<'a> {
        let pc = trace.pc;
        let found = self.symbols.as_ref().and_then(|symbols| symbols.lookup(pc));
        let printed = (!trace.symbol.is_empty()).then_some(trace.symbol);
        // A table of part of the program may take one function for the next.
        let agreed = found.filter(|(name, _)| printed.is_none_or(|p| p == name.as_bytes()));
        let singly = trace.most == Some(1);
        let unknown = Stretch {
            instructions: 1,
            last: pc,
            reach: if singly { flow::LONGEST } else { BLOCK_REACH },
            ending: None,
        };
        Step {
            cpu: trace.cpu,
            pc,
            name: printed.or(agreed.map(|(name, _)| name.as_bytes())),
            at_start: agreed.map(|(_, offset)| offset == 0),
            time: None,
            stretch: self.blocks.at(pc, trace.most).unwrap_or(unknown),
            offset,
        }
    }
}
