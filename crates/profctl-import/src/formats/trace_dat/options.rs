//! The options of a trace.dat: where and when it was recorded, and what to make of its times.

use crate::bytes::{self, Endian};

mod id {
    pub(super) const DATE: u16 = 1;
    pub(super) const CPUSTAT: u16 = 2;
    pub(super) const TRACECLOCK: u16 = 4;
    pub(super) const UNAME: u16 = 5;
    pub(super) const OFFSET: u16 = 7;
    pub(super) const VERSION: u16 = 9;
    pub(super) const TIME_SHIFT: u16 = 12;
    pub(super) const TSC2NSEC: u16 = 14;
}

/// How cycles become nanoseconds: `offset + (cycles × multiplier >> shift)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CyclesToNanos {
    pub(super) multiplier: u32,
    pub(super) shift: u32,
    pub(super) offset: u64,
}

impl CyclesToNanos {
    #[inline]
    pub(super) fn nanos(self, cycles: u64) -> u64 {
        let scaled = (u128::from(cycles) * u128::from(self.multiplier)) >> self.shift.min(63);
        (scaled as u64).wrapping_add(self.offset)
    }
}

/// What the kernel counted for one CPU of one buffer while it recorded.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct CpuStat {
    /// The buffer; empty for the main one.
    pub(super) buffer: String,
    pub(super) cpu: u32,
    /// Events that were read while it recorded, and those that were left at the end: all in the file.
    pub(super) events: u64,
    /// Events that were overwritten before they were read.
    pub(super) overrun: u64,
    /// Events for which there was no space, and so were not recorded.
    pub(super) dropped: u64,
}

impl CpuStat {
    /// ` of NAME`, unless it is the main buffer.
    pub(super) fn of_buffer(&self) -> String {
        match self.buffer.as_str() {
            "" => String::new(),
            buffer => format!(" of {buffer}"),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Options {
    /// The clock in brackets, of the list that the kernel offers.
    pub(super) clock: Option<String>,
    pub(super) uname: Option<String>,
    /// The version of trace-cmd.
    pub(super) version: Option<String>,
    /// Nanoseconds that are added to every time: a date, or what the user asked for.
    pub(super) offset: i64,
    pub(super) tsc: Option<CyclesToNanos>,
    /// Corrections against the clock of another machine: not applied.
    pub(super) time_shift: bool,
    pub(super) stats: Vec<CpuStat>,
    /// The buffer that the statistics that follow belong to.
    buffer: String,
}

impl Options {
    /// Takes an option. Those that say nothing about times or places are omitted.
    pub(super) fn add(&mut self, id: u16, value: &[u8], endian: Endian) {
        let text = || {
            let end = memchr::memchr(0, value).unwrap_or(value.len());
            String::from_utf8_lossy(&value[..end]).trim().to_owned()
        };
        match id {
            // Microseconds.
            id::DATE => {
                self.offset = self.offset.saturating_add(number(&text()).saturating_mul(1000));
            }
            id::OFFSET => self.offset = self.offset.saturating_add(number(&text())),
            id::CPUSTAT => self.add_stat(&text()),
            id::TRACECLOCK => self.set_clock(&text()),
            id::UNAME => self.uname = Some(text()),
            id::VERSION => self.version = Some(text()),
            id::TIME_SHIFT => self.time_shift = true,
            id::TSC2NSEC => {
                let field = |offset, width| bytes::integer(value, offset, width, endian);
                if let (Some(multiplier), Some(shift), Some(offset)) =
                    (field(0, 4), field(4, 4), field(8, 8))
                {
                    let (multiplier, shift) = (multiplier as u32, shift as u32);
                    self.tsc = Some(CyclesToNanos { multiplier, shift, offset });
                }
            }
            _ => {}
        }
    }

    /// Takes the clock in brackets of the list that the kernel offers.
    pub(super) fn set_clock(&mut self, list: &str) {
        let clock = list.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        self.clock = clock.map(|(clock, _)| clock.to_owned());
    }

    /// `CPU: 0`, then one line per number; or `Buffer: NAME` before those of an instance.
    fn add_stat(&mut self, text: &str) {
        let mut stat = None;
        for line in text.lines() {
            let Some((key, value)) = line.split_once(':') else { continue };
            let value = value.trim();
            match (key.trim(), &mut stat) {
                ("Buffer", _) => value.clone_into(&mut self.buffer),
                ("CPU", _) => {
                    stat = value.parse().ok().map(|cpu| CpuStat {
                        buffer: self.buffer.clone(),
                        cpu,
                        ..CpuStat::default()
                    });
                }
                ("entries" | "read events", Some(stat)) => {
                    stat.events = stat.events.saturating_add(value.parse().unwrap_or(0));
                }
                ("overrun", Some(stat)) => stat.overrun = value.parse().unwrap_or(0),
                ("dropped events", Some(stat)) => stat.dropped = value.parse().unwrap_or(0),
                _ => {}
            }
        }
        self.stats.extend(stat);
    }
}

/// A number as C reads it, which trace-cmd writes in hexadecimal for dates.
fn number(text: &str) -> i64 {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    let value = value.unwrap_or(0);
    if negative { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(added: &[(u16, &str)]) -> Options {
        let mut options = Options::default();
        for (id, text) in added {
            options.add(*id, text.as_bytes(), Endian::Little);
        }
        options
    }

    #[test]
    fn clocks_dates_and_places() {
        let found = options(&[
            (id::TRACECLOCK, "local [global] counter\n\0"),
            (id::UNAME, "Linux (none) 6.1.0-47-amd64 x86_64\0"),
            (id::VERSION, "3.1.6 not-a-git-repo"),
            (id::DATE, "0x10\0"),
            (id::OFFSET, "-5"),
            (99, "future"),
        ]);
        assert_eq!(found.clock.as_deref(), Some("global"));
        assert_eq!(found.uname.as_deref(), Some("Linux (none) 6.1.0-47-amd64 x86_64"));
        assert_eq!(found.offset, 16_000 - 5);
    }

    #[test]
    fn statistics_of_instances_are_told_apart() {
        let cpu = "CPU: 1\nentries: 47\noverrun: 1558\ncommit overrun: 0\nbytes: 1688\n\
                   oldest event ts:   492.704850\nnow ts: 1\ndropped events: 3\nread events: 6335\n";
        let found = options(&[(2, cpu), (2, "\nBuffer: evbuf\n\n\0"), (2, cpu), (2, "CPU: x")]);
        let stat = |buffer: &str| CpuStat {
            buffer: buffer.into(),
            cpu: 1,
            events: 6382,
            overrun: 1558,
            dropped: 3,
        };
        assert_eq!(found.stats, [stat(""), stat("evbuf")]);
    }

    #[test]
    fn cycles_become_nanoseconds() {
        let mut value = Vec::new();
        value.extend_from_slice(&(1_u32 << 31).to_be_bytes());
        value.extend_from_slice(&32_u32.to_be_bytes());
        value.extend_from_slice(&7_u64.to_be_bytes());
        let mut options = Options::default();
        options.add(id::TSC2NSEC, &value, Endian::Big);
        assert_eq!(options.tsc.unwrap().nanos(1_000_000_000_000), 500_000_000_007);
        options.tsc = None;
        options.add(id::TSC2NSEC, &value[..15], Endian::Big);
        assert_eq!(options.tsc, None);
    }
}
