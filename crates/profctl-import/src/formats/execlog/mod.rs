//! The log of QEMU's `execlog` plugin: a line for every executed instruction, with its disassembly.
//!
//! It names no functions: without `--symbols` they are called by the addresses at which they were
//! entered.

use std::sync::Arc;

use profctl_model::TickUnit;

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::emit::Emitter;
use crate::files::Files;
use crate::flow::{self, Flow, InstructionLog, LONGEST, Said, Step, Stretch, asm};
use crate::symbols::Symbols;
use crate::text;

#[cfg(test)]
mod tests;

/// The importer of `execlog`.
pub struct PluginLog;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "execlog",
    about: "log of QEMU's execlog plugin, instruction by instruction (takes --symbols)",
    recognized: "two lines `CPU, 0xPC, 0xOPCODE, \"DISASSEMBLY\"`",
    ..Descriptor::PLAIN
};

impl Importer for PluginLog {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let reason = "lines `CPU, 0xPC, 0xOPCODE, \"DISASSEMBLY\"`";
        Recognition::of_lines(probe, reason, |line| parse(line).is_ok())
    }

    fn open(&self, _files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let symbols = flow::symbols(options)?;
        let names = match symbols {
            Some(_) => "from the symbol file",
            None => "addresses: name them with --symbols",
        };
        let facts = vec![("functions", names.into())];
        Ok(flow::opened(TickUnit::Instructions, Log { symbols }, facts))
    }
}

#[derive(Clone)]
struct Log {
    symbols: Option<Arc<Symbols>>,
}

/// One line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Record<'a> {
    cpu: u32,
    pc: u64,
    disassembly: &'a str,
}

impl InstructionLog for Log {
    fn line(&mut self, line: &[u8], offset: usize, flow: &mut Flow, out: &mut Emitter) -> Said {
        let Record { cpu, pc, disassembly } = match parse(line) {
            Ok(record) => record,
            Err(expected) if line.first().is_some_and(u8::is_ascii_digit) => {
                return Said::Bad(expected);
            }
            Err(_) => return Said::Foreign,
        };
        let found = self.symbols.as_ref().and_then(|symbols| symbols.lookup(pc));
        let ending = Some(asm::ending(pc, disassembly));
        let step = Step {
            cpu,
            pc,
            name: found.map(|(name, _)| name.as_bytes()),
            at_start: found.map(|(_, offset)| offset == 0),
            time: None,
            stretch: Stretch { instructions: 1, last: pc, reach: LONGEST, ending },
            offset,
        };
        flow.step(&step, out);
        Said::Step
    }
}

/// `CPU, 0xPC, 0xOPCODE, "DISASSEMBLY"`, then whatever the instruction loaded, stored and changed.
fn parse(line: &[u8]) -> Result<Record<'_>, &'static str> {
    let line = std::str::from_utf8(line).map_err(|_| "text")?;
    let mut fields = line.splitn(4, ',').map(str::trim);
    let mut field = || fields.next().unwrap_or("");
    let cpu = text::decimal(field().as_bytes(), 0).and_then(|cpu| u32::try_from(cpu).ok());
    let cpu = cpu.ok_or("the number of a CPU")?;
    let hexadecimal =
        |field: &str| text::integer(field.as_bytes()).filter(|_| field.starts_with("0x"));
    let pc = hexadecimal(field()).ok_or("an address `0x…`")?;
    hexadecimal(field()).ok_or("the instruction `0x…`")?;
    let quoted = field().strip_prefix('"').ok_or("the disassembly in double quotes")?;
    let (disassembly, _) = quoted.split_once('"').ok_or("the closing double quote")?;
    Ok(Record { cpu, pc, disassembly })
}
