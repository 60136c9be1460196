//! The lines about execution.

use crate::text;

/// `Trace CPU: 0xHOST [CS_BASE/PC/FLAGS/CFLAGS] SYMBOL`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Trace<'a> {
    pub(super) cpu: u32,
    pub(super) pc: u64,
    /// The most instructions that the block may have, if it was made under a limit.
    pub(super) most: Option<u64>,
    /// Empty where QEMU has none.
    pub(super) symbol: &'a [u8],
}

/// The part of `cflags` that holds that limit (`CF_COUNT_MASK`).
const LIMIT: u64 = 0x1ff;

/// Reads a trace line, or says what was expected.
pub(super) fn trace(line: &[u8]) -> Result<Trace<'_>, &'static str> {
    let line = line.strip_prefix(b"Trace ").ok_or("`Trace `")?;
    let open = memchr::memchr(b'[', line).ok_or("`[` before the addresses")?;
    let close = open + memchr::memchr(b']', &line[open..]).ok_or("`]` after the addresses")?;
    let (before, inside) = (line[..open].trim_ascii(), &line[open + 1..close]);
    let symbol = line[close + 1..].trim_ascii();
    // Until version 2.8 the CPU stood in the brackets: `Trace 0xHOST [CPU: PC] SYMBOL`.
    let is_old = before.starts_with(b"0x") && !before.contains(&b':');
    let with_cpu = if is_old { inside } else { before };
    let colon = memchr::memchr(b':', with_cpu).ok_or("`:` after the number of the CPU")?;
    let cpu = text::decimal(&with_cpu[..colon], 0).and_then(|cpu| u32::try_from(cpu).ok());
    let cpu = cpu.ok_or("the number of the CPU")?;
    if is_old {
        let pc = hexadecimal(inside[colon + 1..].trim_ascii()).ok_or("the address")?;
        return Ok(Trace { cpu, pc, most: None, symbol });
    }
    if text::integer(before[colon + 1..].trim_ascii()).is_none() {
        return Err("the host address `0x…`");
    }
    let mut fields = inside.split(|&byte| byte == b'/');
    let mut field = || fields.next().and_then(hexadecimal);
    let (_, Some(pc)) = (field(), field()) else { return Err("`CS_BASE/PC/FLAGS`") };
    field().ok_or("`CS_BASE/PC/FLAGS`")?;
    let most = field().map(|cflags| cflags & LIMIT).filter(|&most| most > 0);
    Ok(Trace { cpu, pc, most, symbol })
}

/// The block that a line `Stopped execution of TB chain before 0xHOST […/PC/…] SYMBOL` takes back;
/// it does not say on which CPU.
pub(super) fn stopped(line: &[u8]) -> Option<u64> {
    let line = line.strip_prefix(b"Stopped execution of TB chain before ")?;
    let open = memchr::memchr(b'[', line)?;
    let close = open + memchr::memchr(b']', &line[open..])?;
    let mut fields = line[open + 1..close].split(|&byte| byte == b'/');
    let first = fields.next()?;
    let pc = fields.next().unwrap_or(first);
    hexadecimal(pc)
}

/// A number in hexadecimal with or without `0x`.
pub(super) fn hexadecimal(text: &[u8]) -> Option<u64> {
    let digits = text.strip_prefix(b"0x").unwrap_or(text);
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0, |value: u64, &digit| {
        Some(value << 4 | u64::from(char::from(digit).to_digit(16)?))
    })
}
