//! Takes the prefixes of a kernel log away, and the lines that are not of the dump.

use crate::text;

const BEGIN: &[u8] = b"Dumping ftrace ";
/// The rule above and below a dump. Those of a switch in function_graph are longer.
const RULE: &[u8] = b"---------------------------------";

/// Where in a log a line stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Within {
    /// Before a dump, or after it.
    #[default]
    Log,
    /// After the line that announces a dump; its rule is still to come.
    Announced,
    /// In a dump.
    Dump,
}

/// The lines of a dump without their prefixes.
#[derive(Debug, Default)]
pub(super) struct Stripped {
    pub(super) text: Vec<u8>,
    /// Lines of the log, those that were omitted included.
    pub(super) lines: u64,
    /// Where a line begins here, and where its text begins in the log.
    origins: Vec<(usize, usize)>,
}

impl Stripped {
    /// The dump in `log`, which begins at a line and `within` there.
    pub(super) fn fill(&mut self, log: &[u8], within: &mut Within) {
        self.text.clear();
        self.origins.clear();
        self.lines = 0;
        for line in text::lines(log) {
            self.lines += 1;
            let said = message(line.text);
            *within = match *within {
                _ if said.starts_with(BEGIN) => Within::Announced,
                Within::Announced if said == RULE => Within::Dump,
                Within::Dump if said == RULE => Within::Log,
                Within::Dump => {
                    let offset = line.offset + (line.text.len() - said.len());
                    self.origins.push((self.text.len(), offset));
                    self.text.extend_from_slice(said);
                    if line.ended {
                        self.text.push(b'\n');
                    }
                    Within::Dump
                }
                other => other,
            };
        }
    }

    /// Where in the log a byte of the dump stood.
    pub(super) fn original(&self, offset: usize) -> usize {
        let line = self.origins.partition_point(|&(here, _)| here <= offset);
        match line.checked_sub(1).and_then(|line| self.origins.get(line)) {
            Some((here, there)) => there + (offset - here),
            None => offset,
        }
    }
}

/// Where in a log the line stands that announces a dump.
pub(super) fn find_dump(log: &[u8]) -> Option<usize> {
    text::lines(log).find(|line| message(line.text).starts_with(BEGIN)).map(|line| line.offset)
}

/// What a line says after the prefix of the log: `<4>`, what a system logger puts before it, the
/// time in brackets, who printed it.
fn message(line: &[u8]) -> &[u8] {
    let Some(open) = memchr::memchr(b'[', line) else { return line };
    let Some(rest) = bracketed(&line[open..], is_time) else { return line };
    let rest = bracketed(rest, is_caller).unwrap_or(rest);
    rest.strip_prefix(b" ").unwrap_or(rest)
}

/// What follows a bracket with a content that fits.
fn bracketed(text: &[u8], fits: impl Fn(&[u8]) -> bool) -> Option<&[u8]> {
    let inner = text.strip_prefix(b"[")?;
    let close = memchr::memchr(b']', inner)?;
    fits(inner[..close].trim_ascii_start()).then(|| &inner[close + 1..])
}

fn is_time(text: &[u8]) -> bool {
    text::decimal(text, 6).is_some() && text.contains(&b'.')
}

/// `T123`, `C0`: a thread or a CPU.
fn is_caller(text: &[u8]) -> bool {
    matches!(text, [b'T' | b'C', digits @ ..] if text::decimal(digits, 0).is_some())
}
