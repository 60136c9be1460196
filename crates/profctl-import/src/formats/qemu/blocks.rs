//! What `in_asm` says of each block when it is translated: how many instructions it has and how it
//! ends. It is said once, for as often as the block is executed afterwards.

use std::sync::Arc;

use profctl_model::hash::FastMap;

use super::line::hexadecimal;
use crate::flow::asm::{self, Ending};
use crate::flow::{LONGEST, Stretch};

/// The blocks seen so far, by their first address.
#[derive(Clone, Default)]
pub(super) struct Blocks {
    known: Arc<FastMap<u64, Stretch>>,
    /// The block that is being listed.
    listed: Option<Listed>,
}

#[derive(Clone, Copy, Default)]
struct Listed {
    first: Option<u64>,
    instructions: u64,
    last: u64,
    ending: Option<Ending>,
}

impl Blocks {
    /// Takes a line if it belongs to a listing.
    pub(super) fn line(&mut self, line: &[u8]) -> bool {
        let line = line.trim_ascii();
        if line.starts_with(b"----------------") {
            self.end();
            return true;
        }
        if line.starts_with(b"IN:") {
            self.end();
            self.listed = Some(Listed::default());
            return true;
        }
        if line.is_empty() {
            self.end();
            return true;
        }
        let Some(listed) = &mut self.listed else { return false };
        if let Some((address, disassembly)) = instruction(line) {
            listed.add(address, disassembly);
            return true;
        }
        // The mode of the processor, or the bare bytes where QEMU has no disassembler.
        line.starts_with(b"Priv:") || line.starts_with(b"OBJD-") || line.starts_with(b"PID:")
    }

    /// Ends the listing.
    pub(super) fn end(&mut self) {
        let Some(listed) = self.listed.take() else { return };
        let Some(first) = listed.first else { return };
        let Listed { instructions, last, ending, .. } = listed;
        let stretch = Stretch { instructions, last, reach: LONGEST, ending };
        if self.known.get(&first) != Some(&stretch) {
            Arc::make_mut(&mut self.known).insert(first, stretch);
        }
    }

    /// What is known of the block at `pc`, unless it was made under another limit.
    pub(super) fn at(&self, pc: u64, most: Option<u64>) -> Option<Stretch> {
        let known = self.known.get(&pc)?;
        most.is_none_or(|most| known.instructions <= most).then_some(*known)
    }
}

impl Listed {
    fn add(&mut self, address: u64, disassembly: &str) {
        if disassembly.is_empty() {
            // The rest of the bytes of a long instruction.
            return;
        }
        self.first.get_or_insert(address);
        self.instructions += 1;
        let ending = asm::ending(address, disassembly);
        // A jump that is not the last instruction has its delay slot after it.
        if ending != Ending::PLAIN || self.ending.is_none_or(|before| before == Ending::PLAIN) {
            self.last = address;
            self.ending = Some(ending);
        }
    }
}

/// `0x00401771: e8 00 72 00 00 callq 0x408980`: the address and what is after the bytes.
fn instruction(line: &[u8]) -> Option<(u64, &str)> {
    let line = std::str::from_utf8(line).ok()?;
    let (address, rest) = line.split_once(':')?;
    let address = hexadecimal(address.strip_prefix("0x")?.as_bytes())?;
    let rest = rest.trim_start();
    let gap = rest.find("  ").or(rest.find('\t'));
    let (bytes, disassembly) = gap.map_or((rest, ""), |gap| rest.split_at(gap));
    let is_bytes = |word: &str| word.bytes().all(|byte| byte.is_ascii_hexdigit());
    bytes.split(' ').all(is_bytes).then_some((address, disassembly.trim()))
}
