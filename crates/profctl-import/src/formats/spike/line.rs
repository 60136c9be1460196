//! The kinds of lines.

use crate::text;

/// What a line says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Line<'a> {
    /// `core   0: 0x80000000 (0x0500006f) j       pc + 0x50`: about to be executed.
    Step { core: u32, pc: u64, disassembly: &'a str },
    /// `core   0: >>>>  trap_vector`: the next instruction has this symbol's address.
    Label { core: u32, name: &'a [u8] },
    /// `core   0: exception trap_illegal_instruction, epc 0x8000017c`.
    Trap { core: u32, pc: u64 },
    /// `core   0: 3 0x80000004 (0x34202f73) x30 0x02`: what the instruction before changed.
    Commit,
    /// More about an exception.
    Detail,
}

/// Reads a line. The error is what was expected, or nothing if it is none of Spike's.
pub(super) fn parse(line: &[u8]) -> Result<Line<'_>, Option<&'static str>> {
    let rest = line.strip_prefix(b"core").ok_or(None)?;
    let colon = memchr::memchr(b':', rest).ok_or(None)?;
    let core = text::decimal(rest[..colon].trim_ascii(), 0).and_then(|core| core.try_into().ok());
    let core = core.ok_or(None)?;
    let rest = rest[colon + 1..].trim_ascii();
    if let Some(name) = rest.strip_prefix(b">>>>") {
        let name = name.trim_ascii();
        return if name.is_empty() {
            Err(Some("a symbol"))
        } else {
            Ok(Line::Label { core, name })
        };
    }
    let rest = std::str::from_utf8(rest).map_err(|_| Some("text"))?;
    if rest.starts_with("exception") || rest.starts_with("trap") {
        let (_, pc) = rest.split_once("epc ").ok_or(Some("`epc 0x…`"))?;
        let pc = text::integer(pc.trim().as_bytes()).ok_or(Some("`epc 0x…`"))?;
        return Ok(Line::Trap { core, pc });
    }
    if rest.starts_with("tval") {
        return Ok(Line::Detail);
    }
    let Some(after) = rest.strip_prefix("0x") else {
        let is_commit = rest.as_bytes().first().is_some_and(u8::is_ascii_digit);
        return if is_commit { Ok(Line::Commit) } else { Err(None) };
    };
    let (pc, after) = after.split_once(' ').ok_or(Some("`0xPC (0xINSN) …`"))?;
    let pc = u64::from_str_radix(pc, 16).map_err(|_| Some("`0xPC (0xINSN) …`"))?;
    let (instruction, disassembly) = after.split_once(')').ok_or(Some("`(0xINSN)`"))?;
    let instruction = instruction.trim().strip_prefix('(').ok_or(Some("`(0xINSN)`"))?;
    text::integer(instruction.as_bytes()).ok_or(Some("`(0xINSN)`"))?;
    Ok(Line::Step { core, pc, disassembly: disassembly.trim() })
}
