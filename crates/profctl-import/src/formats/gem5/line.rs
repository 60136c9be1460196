//! One line.

use crate::flow::asm::{self, Ending};
use crate::text;

/// `TICK: CPU: [A0] [T0 :] [0xPC] [@SYMBOL+OFFSET][.MICRO] : INSTRUCTION [: CLASS : DATA]`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Record<'a> {
    pub(super) time: u64,
    /// The path of the CPU and, if it is not the first one, the thread: `system.cpu0`,
    /// `system.cpu0 T1`.
    pub(super) cpu: &'a str,
    pub(super) pc: Option<u64>,
    /// Function, and bytes after its start.
    pub(super) symbol: Option<(&'a str, u64)>,
    /// Which part of an instruction, if it is one.
    pub(super) micro: Option<u64>,
    pub(super) ending: Ending,
}

/// Reads a line. The error is what was expected, or nothing if it is not an instruction at all.
pub(super) fn parse(line: &[u8]) -> Result<Record<'_>, Option<&'static str>> {
    let line = std::str::from_utf8(line).map_err(|_| None)?.trim();
    let (time, rest) = line.split_once(": ").ok_or(None)?;
    let time = text::decimal(time.as_bytes(), 0).ok_or(None)?;
    let rest = rest.trim_start();
    let end = rest.find([' ', ':']).ok_or(None)?;
    let mut cpu = &rest[..end];
    let mut behind = rest[end..].strip_prefix(':').unwrap_or(&rest[end..]).trim_start();
    if let Some(after) = numbered(behind, 'A') {
        behind = after;
    }
    if let Some(after) = numbered(behind, 'T') {
        if !behind.starts_with("T0") {
            let thread = rest.len() - after.len();
            cpu = rest[..thread].trim_end();
        }
        behind = after.strip_prefix(':').ok_or(None)?.trim_start();
    }
    if !behind.starts_with(['@', '0']) {
        return Err(None);
    }
    let place_end = behind.find(" : ").ok_or(Some("` : ` after the address"))?;
    let (place, instruction) = (&behind[..place_end], &behind[place_end + 3..]);
    let (pc, symbol, micro) = place_of(place).ok_or(Some("`0xPC @SYMBOL+OFFSET`"))?;
    let ending = ending(instruction.split(" : ").next().unwrap_or("").trim());
    Ok(Record { time, cpu, pc, symbol, micro, ending })
}

/// What follows `letter` and a number, if `text` begins with those.
fn numbered(text: &str, letter: char) -> Option<&str> {
    let rest = text.strip_prefix(letter)?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    rest[digits..].strip_prefix(' ').filter(|_| digits > 0).map(str::trim_start)
}

/// An address, a symbol with its offset, the number of a part.
type Place<'a> = (Option<u64>, Option<(&'a str, u64)>, Option<u64>);

fn place_of(place: &str) -> Option<Place<'_>> {
    // The number of a part is in a column of its own, which is blank for a whole instruction: the
    // dot of `memset.part.0` is none if that column follows.
    let bare = place.trim_end();
    let is_whole = place.len() - bare.len() >= 3;
    let dot = bare.rfind('.').filter(|_| !is_whole);
    let micro = dot.and_then(|dot| text::decimal(bare[dot + 1..].trim().as_bytes(), 0));
    let bare = if micro.is_some() { &bare[..dot?] } else { bare };
    let (address, symbol) = match bare.split_once('@') {
        Some((address, symbol)) => (address.trim(), Some(symbol)),
        None => (bare, None),
    };
    let pc = match address {
        "" => None,
        address => Some(text::integer(address.as_bytes()).filter(|_| address.starts_with("0x"))?),
    };
    let symbol = symbol.map(|symbol| {
        let parts = symbol.rsplit_once('+');
        let offset = parts.and_then(|(_, digits)| text::decimal(digits.as_bytes(), 0));
        match (parts, offset) {
            (Some((name, _)), Some(offset)) => (name, offset),
            _ => (symbol, 0),
        }
    });
    let is_named = symbol.is_none_or(|(name, _)| !name.is_empty());
    ((pc.is_some() || symbol.is_some()) && is_named).then_some((pc, symbol, micro))
}

/// How the instruction goes on. Where to is not taken from gem5, whose disassembly gives distances
/// and addresses alike.
fn ending(instruction: &str) -> Ending {
    let mnemonic = instruction.split(char::is_whitespace).next().unwrap_or("");
    let operands = &instruction[mnemonic.len()..];
    // x86: `CALL_NEAR_I`, `RET_NEAR`, `JNZ_I`; RISC-V: `c_jr`.
    let spelled = match mnemonic.split_once('_') {
        Some(("c", rest)) => format!("{rest}{operands}"),
        Some((stem, _)) if stem.bytes().all(|byte| byte.is_ascii_uppercase()) => {
            stem.to_ascii_lowercase()
        }
        _ => instruction.to_owned(),
    };
    let ending = asm::ending(0, &spelled);
    // x86 names the condition of a jump: `JMP_I` by a distance, `JMP_R` by a register.
    Ending { target: None, direct: ending.direct || mnemonic.ends_with("_I"), ..ending }
}
