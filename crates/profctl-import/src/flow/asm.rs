//! How an instruction goes on, from its disassembly: x86, AArch64, ARM, RISC-V and MIPS, as the
//! disassemblers of QEMU, Spike and gem5 write them.
//!
//! Equal mnemonics of different processors mean the same here, so the processor need not be known;
//! `b` and `j`, `bl` and `jal` never clash.

/// Where an interval of instructions goes when it ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// To the next instruction.
    Plain,
    /// Into a function that will come back.
    Call,
    /// Back from one.
    Return,
    /// Elsewhere, permanently.
    Jump,
    /// Back from an interrupt or an exception.
    TrapReturn,
}

/// How an interval of instructions ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Ending {
    pub(crate) kind: Kind,
    /// Where to, if the instruction itself says.
    pub(crate) target: Option<u64>,
    /// Whether it may as well go on to the next instruction.
    pub(crate) conditional: bool,
    /// Whether where to is fixed in the instruction, even if `target` does not say. What goes where
    /// a register says may be a return.
    pub(crate) direct: bool,
}

impl Ending {
    pub(crate) const PLAIN: Self =
        Self { kind: Kind::Plain, target: None, conditional: false, direct: false };
}

const ARM_CONDITIONS: [&str; 16] = [
    "eq", "ne", "cs", "hs", "cc", "lo", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le",
];
/// Words before an x86 mnemonic.
const PREFIXES: [&str; 8] = ["bnd", "notrack", "rep", "repz", "repe", "repne", "repnz", "data16"];

/// How the instruction at `pc` that reads `text` goes on.
pub(crate) fn ending(pc: u64, text: &str) -> Ending {
    let mut rest = text.trim();
    loop {
        let (mnemonic, operands) = match rest.split_once(char::is_whitespace) {
            Some((mnemonic, operands)) => (mnemonic, operands.trim()),
            None => (rest, ""),
        };
        if PREFIXES.contains(&mnemonic) && !operands.is_empty() {
            rest = operands;
            continue;
        }
        let Some((kind, conditional)) = classify(mnemonic, operands) else {
            return Ending::PLAIN;
        };
        let goes = matches!(kind, Kind::Call | Kind::Jump);
        let target = if goes { target(pc, operands) } else { None };
        let bare = mnemonic.strip_prefix("c.").unwrap_or(mnemonic);
        let by_distance = matches!(bare, "b" | "b.n" | "b.w" | "bal" | "bl" | "j" | "jal");
        let by_register = mnemonic.starts_with("bx") || operands.starts_with("pc,");
        let branches = conditional && kind == Kind::Jump && !by_register;
        let direct = goes && (target.is_some() || by_distance || branches);
        return Ending { kind, target, conditional, direct };
    }
}

/// The kind of an instruction, and whether it is conditional; nothing if it just goes on.
fn classify(mnemonic: &str, operands: &str) -> Option<(Kind, bool)> {
    use Kind::{Call, Jump, Return, TrapReturn};
    let mnemonic = mnemonic.strip_prefix("c.").unwrap_or(mnemonic);
    let mnemonic = mnemonic.strip_suffix(".w").or(mnemonic.strip_suffix(".n")).unwrap_or(mnemonic);
    let first = operands.split([',', ' ', '\t']).next().unwrap_or("");
    let always = |kind| Some((kind, false));
    match mnemonic {
        "call" | "callq" | "calll" | "callw" | "lcall" | "lcallq" | "lcalll" | "bl" | "blx"
        | "blr" | "blraa" | "blrab" | "blraaz" | "blrabz" | "bal" | "balr" => always(Call),
        "ret" | "retq" | "retl" | "retw" | "lret" | "lretq" | "lretl" | "retaa" | "retab" => {
            always(Return)
        }
        "jmp" | "jmpq" | "jmpl" | "jmpw" | "ljmp" | "ljmpq" | "ljmpl" | "b" | "br" | "braa"
        | "brab" | "braaz" | "brabz" | "j" => always(Jump),
        "iret" | "iretq" | "iretl" | "iretd" | "sysret" | "sysretq" | "sysretl" | "sysexit"
        | "eret" | "eretaa" | "eretab" | "rfe" | "rfeia" | "rfedb" | "mret" | "sret" | "uret"
        | "mnret" => always(TrapReturn),
        "subs" | "movs" if operands.replace(' ', "").starts_with("pc,lr") => always(TrapReturn),
        "bx" => always(if first == "lr" { Return } else { Jump }),
        "cbz" | "cbnz" | "tbz" | "tbnz" => Some((Jump, true)),
        "jal" | "jalr" => {
            // RISC-V names the link register unless it is `ra`; `zero` means no link at all.
            let links = !matches!(first, "zero" | "x0");
            match (links, mnemonic, operands.contains("ra")) {
                (true, ..) => always(Call),
                (false, "jalr", true) => always(Return),
                (false, ..) => always(Jump),
            }
        }
        "jr" => always(if matches!(first, "ra" | "$ra" | "x1") { Return } else { Jump }),
        _ => classify_family(mnemonic, operands),
    }
}

/// Mnemonics that are made of parts.
fn classify_family(mnemonic: &str, operands: &str) -> Option<(Kind, bool)> {
    let condition = |mnemonic: &str, stem: &str| {
        let rest = mnemonic.strip_prefix(stem)?;
        let condition = rest.strip_prefix('.').unwrap_or(rest);
        (condition == "al" || ARM_CONDITIONS.contains(&condition)).then_some(condition != "al")
    };
    // `bls` and `blt` are branches on a condition, `blls` and `bllt` calls on one.
    if let Some(conditional) = condition(mnemonic, "b") {
        return Some((Kind::Jump, conditional));
    }
    for (stem, kind) in [("bl", Kind::Call), ("blx", Kind::Call)] {
        if let Some(conditional) = condition(mnemonic, stem) {
            return Some((kind, conditional));
        }
    }
    if let Some(conditional) = condition(mnemonic, "bx") {
        let kind = if operands == "lr" { Kind::Return } else { Kind::Jump };
        return Some((kind, conditional));
    }
    if let Some(kind) = arm_write_of_pc(mnemonic, operands) {
        let conditional = ARM_CONDITIONS.iter().any(|condition| mnemonic.ends_with(condition));
        return Some((kind, conditional));
    }
    // Every other mnemonic of x86 that begins with `j` jumps on a condition, as do the loops; of
    // RISC-V and MIPS, those of `b` with a register first.
    let is_x86 = mnemonic.starts_with('j') || mnemonic.starts_with("loop");
    let is_risc = matches!(
        mnemonic,
        "beqz" | "bnez" | "blez" | "bgez" | "bltz" | "bgtz" | "bltu" | "bgeu" | "bgtu" | "bleu"
    );
    (is_x86 || is_risc).then_some((Kind::Jump, true))
}

/// ARM jumps by writing the program counter: a return if it comes from the stack or from `lr`.
fn arm_write_of_pc(mnemonic: &str, operands: &str) -> Option<Kind> {
    let loads_many = mnemonic.starts_with("pop") || mnemonic.starts_with("ldm");
    if loads_many && operands.contains("pc") && operands.contains('}') {
        let from_trap = operands.trim_end().ends_with('^');
        return Some(if from_trap { Kind::TrapReturn } else { Kind::Return });
    }
    if !operands.starts_with("pc,") {
        return None;
    }
    let source = operands[3..].trim();
    if mnemonic.starts_with("mov") {
        return Some(if source == "lr" { Kind::Return } else { Kind::Jump });
    }
    if mnemonic.starts_with("ldr") {
        return Some(if source.starts_with("[sp]") { Kind::Return } else { Kind::Jump });
    }
    (mnemonic.starts_with("add") || mnemonic.starts_with("sub")).then_some(Kind::Jump)
}

/// The address to which operands send the processor, if they name one.
fn target(pc: u64, operands: &str) -> Option<u64> {
    let hexadecimal = |text: &str| {
        let end = text.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(text.len());
        u64::from_str_radix(&text[..end], 16).ok()
    };
    // A comment that works it out is best: `jal ra,-4  # 0x8000abc`, `bl #+0x1c (addr 0x4000)`.
    for mark in ["# 0x", "(addr 0x"] {
        if let Some((_, address)) = operands.split_once(mark) {
            return hexadecimal(address);
        }
    }
    // Spike counts from the instruction.
    if let Some((_, address)) = operands.split_once("pc + 0x") {
        return hexadecimal(address).map(|offset| pc.wrapping_add(offset));
    }
    if let Some((_, address)) = operands.split_once("pc - 0x") {
        return hexadecimal(address).map(|offset| pc.wrapping_sub(offset));
    }
    if operands.contains(['(', '[', '*', '%']) {
        return None;
    }
    let last = operands.rsplit(',').next()?.trim();
    let last = last.strip_prefix('#').unwrap_or(last);
    hexadecimal(last.strip_prefix("0x")?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `text` as an instruction at 0x1000: kind, target, and `?` if it is conditional.
    fn told(text: &str) -> String {
        let Ending { kind, target, conditional, .. } = ending(0x1000, text);
        let target = target.map_or(String::new(), |target| format!(" {target:x}"));
        format!("{kind:?}{target}{}", if conditional { "?" } else { "" })
    }

    #[test]
    fn instructions_of_every_processor() {
        let cases = [
            // x86, AT&T and Intel
            ("callq    0x408980", "Call 408980"),
            ("call 0x401681", "Call 401681"),
            ("callq    *0x2fe2(%rip)", "Call"),
            ("call qword ptr [rip + 0x2fe2]", "Call"),
            ("callq    *%rax", "Call"),
            ("retq     ", "Return"),
            ("rep retq", "Return"),
            ("bnd ret", "Return"),
            ("retq $8", "Return"),
            ("jmp      0x409b50", "Jump 409b50"),
            ("notrack jmp *%rdx", "Jump"),
            ("jle      0x4017d4", "Jump 4017d4?"),
            ("jrcxz 0x40", "Jump 40?"),
            ("loop 0x40", "Jump 40?"),
            ("iretq", "TrapReturn"),
            ("rep movsb (%rsi), %es:(%rdi)", "Plain"),
            ("movl     $0xa, %edx", "Plain"),
            ("leave", "Plain"),
            // AArch64
            ("bl       #0x4005d4", "Call 4005d4"),
            ("bl #+0x1c (addr 0x400abc)", "Call 400abc"),
            ("blr      x3", "Call"),
            ("ret      ", "Return"),
            ("ret x30", "Return"),
            ("retaa", "Return"),
            ("b        #0x400", "Jump 400"),
            ("br       x17", "Jump"),
            ("b.ne     #0x400600", "Jump 400600?"),
            ("cbz x0, #0x400600", "Jump 400600?"),
            ("tbnz w0, #3, #0x400600", "Jump 400600?"),
            ("eret", "TrapReturn"),
            ("bic w0, w0, #0x3", "Plain"),
            ("bfi w0, w1, #4, #8", "Plain"),
            // ARM
            ("bl #0x8000", "Call 8000"),
            ("blx r3", "Call"),
            ("bleq #0x8000", "Call 8000?"),
            ("bls #0x8000", "Jump 8000?"),
            ("blt #0x8000", "Jump 8000?"),
            ("ble #0x8000", "Jump 8000?"),
            ("blls #0x8000", "Call 8000?"),
            ("b.n #0x8000", "Jump 8000"),
            ("beq.w #0x8000", "Jump 8000?"),
            ("bx lr", "Return"),
            ("bxeq lr", "Return?"),
            ("bx r3", "Jump"),
            ("pop {r4, r5, pc}", "Return"),
            ("popne {r4, pc}", "Return?"),
            ("pop {r4, r5}", "Plain"),
            ("ldm sp!, {r4, pc}", "Return"),
            ("ldm sp, {r0, pc}^", "TrapReturn"),
            ("mov pc, lr", "Return"),
            ("ldr pc, [sp], #4", "Return"),
            ("ldr pc, [pc, #-4]", "Jump"),
            ("subs pc, lr, #4", "TrapReturn"),
            ("mov r0, #0x10", "Plain"),
            // RISC-V, QEMU and Spike
            ("jal             ra,-4                   # 0x80000abc", "Call 80000abc"),
            ("jal             zero,-4                 # 0x80000abc", "Jump 80000abc"),
            ("jal     pc + 0x50", "Call 1050"),
            ("jal     t0, pc - 0x10", "Call ff0"),
            ("j       pc + 0x50", "Jump 1050"),
            ("c.j     pc - 0x2", "Jump ffe"),
            ("jalr    a5", "Call"),
            ("jalr    ra, ra, -1234", "Call"),
            ("jalr    zero,ra,0", "Return"),
            ("jalr    zero,t1,0", "Jump"),
            ("jr      t0", "Jump"),
            ("jr      ra", "Return"),
            ("c.jr    ra", "Return"),
            ("ret", "Return"),
            ("beqz    a0, pc + 8", "Jump?"),
            ("bne     a0, a1, pc + 0x14", "Jump 1014?"),
            ("mret", "TrapReturn"),
            ("aes64ks1i s1, t6, 15", "Plain"),
            ("", "Plain"),
        ];
        for (text, expected) in cases {
            assert_eq!(told(text), expected, "{text}");
        }
    }
}
