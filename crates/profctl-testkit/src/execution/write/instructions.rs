//! Logs of instructions: calls are branches, and are seen at the first instruction behind them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::execution::{Execution, What};

/// The logs of one program, and the execution with the times that the logs give it.
#[derive(Clone, Debug)]
pub struct Instructions {
    /// gem5, AArch64.
    pub gem5: String,
    /// Spike, RISC-V.
    pub spike: String,
    /// QEMU's execlog plugin, AArch64.
    pub execlog: String,
    /// QEMU's `-d exec,nochain,in_asm`, AArch64: blocks that end with a branch. Some are announced
    /// and taken back before they are executed.
    pub qemu: String,
    /// The same with a block an instruction (`one-insn-per-tb`).
    pub qemu_singly: String,
    /// An `nm` listing of the program.
    pub symbols: String,
    /// Times count instructions.
    pub counted: Execution,
}

/// Bytes a function.
const SIZE: usize = 0x1000;
/// Ticks of gem5 an instruction.
const GEM5_TICKS: u64 = 500;

/// An open function and where it is.
struct Frame {
    function: usize,
    at: usize,
}

struct Log {
    gem5: String,
    spike: String,
    execlog: String,
    qemu: Blocks,
    qemu_singly: Blocks,
    n: u64,
}

/// QEMU's log, by blocks.
#[derive(Default)]
struct Blocks {
    text: String,
    singly: bool,
    /// What was translated, by address; code that is another now is translated again.
    translated: BTreeMap<usize, String>,
    /// The block so far: its function and its instructions with their addresses.
    function: String,
    block: Vec<(usize, String)>,
    executed: u64,
}

impl Blocks {
    fn put(&mut self, pc: usize, function: &str, instruction: &str, is_branch: bool) {
        let follows = self.block.last().is_none_or(|(last, _)| last + 4 == pc);
        if !follows {
            self.end();
        }
        function.clone_into(&mut self.function);
        self.block.push((pc, instruction.to_owned()));
        if is_branch || self.singly || self.block.len() == 20 {
            self.end();
        }
    }

    fn end(&mut self) {
        let Some((first, _)) = self.block.first() else { return };
        let (first, name) = (*first, &self.function);
        let mut listing = format!("----------------\nIN: {name}\n");
        for (pc, instruction) in self.block.drain(..) {
            let _ = writeln!(listing, "{pc:#010x}:  d503201f  {instruction}");
        }
        listing.push('\n');
        if self.translated.get(&first) != Some(&listing) {
            self.text += &listing;
            self.translated.insert(first, listing);
        }
        let most = if self.singly { 0xff00_0201_u32 } else { 0xff00_0200 };
        let place = format!("[00000000/{first:016x}/00000000/{most:08x}] {name}");
        let _ = writeln!(self.text, "Trace 0: 0x7f16afc3b3c0 {place}");
        self.executed += 1;
        if self.executed.is_multiple_of(7) {
            // An interrupt request came first.
            let stopped = "Stopped execution of TB chain before 0x7f16afc3b3c0";
            let _ = writeln!(self.text, "{stopped} {place}\nTrace 0: 0x7f16afc3b3c0 {place}");
        }
    }
}

impl Log {
    /// One instruction of the function numbered `function`, `offset` bytes in it; a call of another
    /// if that is given.
    fn put(&mut self, names: &[String], (function, at): (usize, usize), what: Option<Branch>) {
        let pc = address(function) + at;
        let name = &names[function];
        let place = if at == 0 { format!("@{name}") } else { format!("@{name}+{at}") };
        let target = |call: usize| address(call);
        let arm = match what {
            None => "nop".to_owned(),
            Some(Branch::Call(call)) => format!("bl   <{}>", names[call]),
            Some(Branch::Return) => "ret".to_owned(),
        };
        let time = self.n * GEM5_TICKS;
        let _ = writeln!(
            self.gem5,
            "{time:7}: system.cpu: T0 : {pc:#x} {place}    : {arm}           : IntAlu :"
        );
        let (insn, riscv) = match what {
            None => (0x13, "nop".to_owned()),
            Some(Branch::Return) => (0x8067, "ret".to_owned()),
            Some(Branch::Call(call)) => {
                let (sign, by) = match target(call).checked_sub(pc) {
                    Some(by) => ('+', by),
                    None => ('-', pc - target(call)),
                };
                (0xef, format!("jal     pc {sign} {by:#x}"))
            }
        };
        if at == 0 {
            let _ = writeln!(self.spike, "core   0: >>>>  {name}");
        }
        let _ = writeln!(self.spike, "core   0: {pc:#018x} ({insn:#010x}) {riscv}");
        let arm = match what {
            Some(Branch::Call(call)) => format!("bl #{:#x}", target(call)),
            _ => arm,
        };
        let _ = writeln!(self.execlog, "0, {pc:#x}, 0xd503201f, \"{arm}\"");
        self.qemu.put(pc, name, &arm, what.is_some());
        self.qemu_singly.put(pc, name, &arm, what.is_some());
        self.n += 1;
    }
}

#[derive(Clone, Copy)]
enum Branch {
    Call(usize),
    Return,
}

fn address(function: usize) -> usize {
    0x4000_0000 + SIZE * function
}

/// One thread's calls as instructions. A function that calls all others is around them.
pub fn instructions(execution: &Execution) -> Instructions {
    let mut names = execution.functions.clone();
    names.push("start".to_owned());
    let start = names.len() - 1;
    let mut log = Log {
        gem5: String::new(),
        spike: String::new(),
        execlog: String::new(),
        qemu: Blocks::default(),
        qemu_singly: Blocks { singly: true, ..Blocks::default() },
        n: 0,
    };
    let mut counted = execution.clone();
    let mut open = vec![Frame { function: start, at: 0 }];
    let mut waited = execution.records.first().map_or(0, |record| record.time);
    for (record, now) in execution.records.iter().zip(&mut counted.records) {
        // As many instructions as there are ticks before the branch.
        let pause = (record.time - waited).min(30);
        waited = record.time;
        for _ in 0..pause {
            step(&mut log, &names, &mut open, None);
        }
        match record.what {
            What::Enter(call) => {
                let function = execution.calls[call].function;
                step(&mut log, &names, &mut open, Some(Branch::Call(function)));
                open.push(Frame { function, at: 0 });
            }
            What::Exit(_) => {
                step(&mut log, &names, &mut open, Some(Branch::Return));
                open.pop();
            }
            _ => continue,
        }
        now.time = log.n;
        step(&mut log, &names, &mut open, None);
    }
    step(&mut log, &names, &mut open, None);
    let mut symbols = String::new();
    for (function, name) in names.iter().enumerate() {
        let _ = writeln!(symbols, "{:016x} T {name}", address(function));
    }
    log.qemu.end();
    let Log { gem5, spike, execlog, qemu, qemu_singly, .. } = log;
    let (qemu, qemu_singly) = (qemu.text, qemu_singly.text);
    Instructions { gem5, spike, execlog, qemu, qemu_singly, symbols, counted }
}

fn step(log: &mut Log, names: &[String], open: &mut [Frame], branch: Option<Branch>) {
    let Some(top) = open.last_mut() else { return };
    log.put(names, (top.function, top.at), branch);
    top.at += 4;
    // A loop, where a function is longer than its bytes.
    if top.at + 8 > SIZE {
        top.at = 4;
    }
}
