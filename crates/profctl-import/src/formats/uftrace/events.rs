//! Records of events among those of functions: their names and what their data says.

use crate::bytes::{self, Endian};
use crate::text;

/// The first number of events that uftrace defines itself, less one.
const BUILTIN: u64 = 100_000;
/// The first number of events of the program.
const USER: u64 = 1_000_000;
/// Names of the built-in events from [`BUILTIN`] + 1 on, with the names of their 64-bit fields.
const NAMES: [(&str, &[&str]); 10] = [
    ("read:proc/statm", &["vmsize", "vmrss", "shared"]),
    ("read:page-fault", &["major", "minor"]),
    ("diff:proc/statm", &["vmsize", "vmrss", "shared"]),
    ("diff:page-fault", &["major", "minor"]),
    ("read:pmu-cycle", &["cycles", "instructions"]),
    ("diff:pmu-cycle", &["cycles", "instructions"]),
    ("read:pmu-cache", &["refers", "misses"]),
    ("diff:pmu-cache", &["refers", "misses"]),
    ("read:pmu-branch", &["branch", "misses"]),
    ("diff:pmu-branch", &["branch", "misses"]),
];
const WATCH_CPU: u64 = BUILTIN + 11;
const WATCH_VARIABLE: u64 = BUILTIN + 12;
const CALL_SITE: u64 = BUILTIN + 13;

/// The names of a program's own events, from `events.txt`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Events {
    names: Vec<(u64, String)>,
}

impl Events {
    /// Parses `EVENT: ID PROVIDER:NAME` lines.
    pub(super) fn parse(file: &[u8]) -> Self {
        let line = |line: text::Line<'_>| {
            let line = String::from_utf8_lossy(line.text);
            let (id, name) = line.strip_prefix("EVENT:")?.trim().split_once(' ')?;
            Some((id.parse().ok()?, name.trim().to_owned()))
        };
        Self { names: text::lines(file).filter_map(line).collect() }
    }

    /// What the event of that number is called.
    pub(super) fn name(&self, id: u64) -> String {
        if let Some((name, _)) = id.checked_sub(BUILTIN + 1).and_then(|n| NAMES.get(n as usize)) {
            return (*name).to_owned();
        }
        match id {
            WATCH_CPU => "watch:cpu".into(),
            WATCH_VARIABLE => "watch:variable".into(),
            CALL_SITE => "call-site".into(),
            _ => match self.names.iter().find(|(known, _)| *known == id) {
                Some((_, name)) => name.clone(),
                None if id >= USER => format!("user-event:{id}"),
                None => format!("event:{id}"),
            },
        }
    }
}

/// What the data of event `id` says: `data` begins with its length in two bytes.
pub(super) fn detail(id: u64, data: &[u8], endian: Endian) -> Option<String> {
    let length = bytes::integer(data, 0, 2, endian)? as usize;
    let data = data.get(2..2 + length)?;
    let word = |n: usize| bytes::integer(data, 8 * n, 8, endian);
    if id == WATCH_CPU {
        return bytes::integer(data, 0, 4, endian).map(|cpu| format!("cpu={cpu}"));
    }
    if id == CALL_SITE {
        return word(0).map(|address| format!("0x{address:x}"));
    }
    let (name, fields) = NAMES.get(usize::try_from(id.checked_sub(BUILTIN + 1)?).ok()?)?;
    let is_difference = name.starts_with("diff:");
    let unit = if name.ends_with("statm") { "KB" } else { "" };
    let field = |(n, field): (usize, &&str)| {
        let value = word(n)?;
        Some(if is_difference {
            format!("{field}={:+}{unit}", value.cast_signed())
        } else {
            format!("{field}={value}{unit}")
        })
    };
    let fields: Option<Vec<String>> = fields.iter().enumerate().map(field).collect();
    Some(fields?.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_have_names() {
        let events = Events::parse(b"EVENT: 1000000 app:start\nEVENT: 1000001 app:stop\nodd\n");
        assert_eq!(events.name(1_000_001), "app:stop");
        assert_eq!(events.name(1_000_002), "user-event:1000002");
        assert_eq!(events.name(100_001), "read:proc/statm");
        assert_eq!(events.name(100_011), "watch:cpu");
        assert_eq!(events.name(100_000), "event:100000");
    }

    #[test]
    fn data_is_told_as_uftrace_tells_it() {
        let data = |words: &[i64]| {
            let mut data = (words.len() as u16 * 8).to_le_bytes().to_vec();
            data.extend(words.iter().flat_map(|word| word.to_le_bytes()));
            data
        };
        let told = |id, words: &[i64]| detail(id, &data(words), Endian::Little);
        assert_eq!(told(100_001, &[9, 5, 1]).unwrap(), "vmsize=9KB vmrss=5KB shared=1KB");
        assert_eq!(told(100_004, &[0, -3]).unwrap(), "major=+0 minor=-3");
        assert_eq!(told(100_004, &[0]), None);
        assert_eq!(told(99, &[0]), None);
        let cpu = detail(100_011, &[4, 0, 3, 0, 0, 0, 0, 0], Endian::Little);
        assert_eq!(cpu.unwrap(), "cpu=3");
    }
}
