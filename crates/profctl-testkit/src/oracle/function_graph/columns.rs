//! Lines into records: which columns there are, and what is in them.

use super::body::{self, What};

/// Which columns the lines have, from left to right.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// `TIME` or `REL TIME`.
    pub time: bool,
    /// `CPU`.
    pub cpu: bool,
    /// `TASK/PID`.
    pub task: bool,
    /// The flags of latency-format.
    pub flags: bool,
    /// `DURATION`.
    pub duration: bool,
}

/// One line that is a record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Record {
    /// Nanoseconds, if the line has a time.
    pub time: Option<u64>,
    /// The CPU, if the line has it.
    pub cpu: Option<u32>,
    /// The pid, if the line has it.
    pub pid: Option<u64>,
    /// Number of callers.
    pub depth: usize,
    /// What it says.
    pub what: What,
}

/// All records of a text.
#[derive(Debug, Default)]
pub(super) struct Records {
    pub all: Vec<Record>,
    pub unread: u64,
    pub has_durations: bool,
    pub has_tasks: bool,
}

/// Reads a whole text.
pub(super) fn records(text: &[u8]) -> Records {
    let text = String::from_utf8_lossy(text);
    let lines: Vec<&str> = text.split('\n').collect();
    let mut layout = lines.iter().find_map(|line| header(line)).or_else(|| guess(&lines));
    let mut out = Records::default();
    for line in &lines {
        if let Some(told) = header(line) {
            layout = Some(told);
            continue;
        }
        let Some(layout) = layout else { continue };
        if let Some(record) = banner(line).or_else(|| lost(line)).or_else(|| split(line, layout)) {
            out.has_durations |= layout.duration;
            out.has_tasks |= layout.cpu || layout.task;
            out.all.push(record);
        } else if !is_furniture(line) {
            out.unread += 1;
        }
    }
    out
}

/// The header line that names the columns.
fn header(line: &str) -> Option<Layout> {
    let names = line.strip_prefix('#')?.trim_end().strip_suffix("FUNCTION CALLS")?;
    Some(Layout {
        time: names.contains("TIME"),
        cpu: names.contains("CPU"),
        task: names.contains("TASK/PID"),
        flags: names.contains("||"),
        duration: names.contains("DURATION"),
    })
}

/// The columns of a text without header: of all sets of columns, the one that fits most of the
/// first lines, and of those the largest.
fn guess(lines: &[&str]) -> Option<Layout> {
    let has = |bits: u32, bit: u32| bits & (1 << bit) != 0;
    (0..32u32)
        .map(|bits| Layout {
            time: has(bits, 0),
            cpu: has(bits, 1),
            task: has(bits, 2),
            flags: has(bits, 3),
            duration: has(bits, 4),
        })
        .map(|layout| {
            let fits = lines.iter().take(500).filter(|line| split(line, layout).is_some()).count();
            let columns = [layout.time, layout.cpu, layout.task, layout.flags, layout.duration];
            (fits, columns.iter().filter(|&&column| column).count(), layout)
        })
        .filter(|&(fits, ..)| fits > 0)
        .max_by_key(|&(fits, columns, _)| (fits, columns))
        .map(|(.., layout)| layout)
}

/// Empty lines, comments, rules around banners, the counts of funcgraph-overrun.
fn is_furniture(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with(['#', '(']) || line.bytes().all(|byte| byte == b'-')
}

/// ` 1)  <idle>-0  =>  sshd-123`.
fn banner(line: &str) -> Option<Record> {
    let (cpu, names) = line.split_once(')')?;
    let cpu = cpu.trim().parse().ok()?;
    // A name is at most seven characters and a pid ends each side, so an arrow inside a name
    // has no pid on both of its sides.
    let sides = names.match_indices(" => ").find_map(|(at, arrow)| {
        Some((trailing_pid(&names[..at])?, trailing_pid(&names[at + arrow.len()..])?))
    });
    let (from, to) = sides?;
    let what = What::Banner { from, to };
    Some(Record { time: None, cpu: Some(cpu), pid: None, depth: 0, what })
}

/// The number after the last dash.
fn trailing_pid(text: &str) -> Option<u64> {
    let (_, pid) = text.trim_end().rsplit_once('-')?;
    let all_digits = !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit());
    all_digits.then(|| pid.parse().ok()).flatten()
}

/// `CPU:1 [LOST 2513 EVENTS]`, or without a number where the kernel did not count.
fn lost(line: &str) -> Option<Record> {
    let (cpu, rest) = line.trim().strip_prefix("CPU:")?.split_once(" [LOST ")?;
    let counted = rest.strip_suffix("EVENTS]")?.trim();
    let n = if counted.is_empty() { None } else { Some(counted.parse().ok()?) };
    Some(Record { time: None, cpu: cpu.parse().ok(), pid: None, depth: 0, what: What::Lost(n) })
}

/// A record in the columns of `layout`.
fn split(line: &str, layout: Layout) -> Option<Record> {
    let mut rest = line;
    let mut record = Record { time: None, cpu: None, pid: None, depth: 0, what: What::Other };
    if layout.time {
        let (time, after) = rest.split_once(" |  ")?;
        record.time = Some(stamp(time.trim())?);
        rest = after;
    }
    if layout.cpu {
        let (cpu, after) = rest.split_once(')')?;
        record.cpu = Some(cpu.trim().parse().ok()?);
        rest = after.strip_prefix(' ')?;
    }
    if layout.task {
        let (pid, after) = task(rest)?;
        record.pid = Some(pid);
        rest = after;
    }
    if layout.flags {
        let (flags, after) = rest.split_once(" | ")?;
        let flags = flags.trim();
        let fits = (4..=10).contains(&flags.len()) && !flags.contains(' ');
        if !fits {
            return None;
        }
        rest = after;
    }
    let mut wall = None;
    if layout.duration {
        let (column, after) = rest.split_once('|')?;
        if is_arrow(column) {
            record.what = What::Arrow(column.contains('>'));
            return Some(record);
        }
        if !column.trim().is_empty() {
            wall = Some(body::duration(column)?);
        }
        rest = after.strip_prefix("  ").unwrap_or(after);
    } else if is_arrow(rest) {
        record.what = What::Arrow(rest.contains('>'));
        return Some(record);
    }
    (record.depth, record.what) = body::read(rest, wall)?;
    Some(record)
}

/// `==========>` and `<==========`: an interrupt begins or ends; its calls are ordinary ones.
fn is_arrow(text: &str) -> bool {
    matches!(text.trim().trim_end_matches('|').trim_end(), "==========>" | "<==========")
}

/// Seconds with six decimals, or `12109 us`.
fn stamp(text: &str) -> Option<u64> {
    if let Some(micros) = text.strip_suffix(" us") {
        return micros.trim().parse::<u64>().ok()?.checked_mul(1_000);
    }
    let (seconds, micros) = text.split_once('.')?;
    let plain = micros.len() == 6 && micros.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| format!("{seconds}{micros}000").parse().ok()).flatten()
}

/// ` comm-pid | `, padded to fourteen columns. The name is free text of up to seven characters:
/// only the width shows where the column ends.
fn task(rest: &str) -> Option<(u64, &str)> {
    (14..=20).find_map(|width| {
        let (column, after) = rest.split_at_checked(width)?;
        Some((trailing_pid(column)?, after.strip_prefix(" | ")?))
    })
}
