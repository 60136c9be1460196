//! Properties of the trace, from the first megabyte: the thread on each CPU, whether the clock
//! measures time, whether entries were recorded at all.

use profctl_model::hash::FastMap;

use super::layout::{Layout, Time};
use super::line::{self, Body, Line};
use super::read::task_key;
use crate::emit::LaneKey;
use crate::text;

pub(super) struct Head {
    pub(super) initial: Vec<LaneKey>,
    pub(super) clock: Clock,
    pub(super) returns_only: bool,
    pub(super) release: Option<String>,
}

/// Whether the time column can be used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Clock {
    Absent,
    Time,
    /// A counter, ticks or cycles: it runs at another speed than the durations.
    NotTime,
}

impl Clock {
    pub(super) fn tells_time(self) -> bool {
        self == Self::Time
    }

    pub(super) fn why_not(self) -> Option<&'static str> {
        match self {
            Self::Time => None,
            Self::Absent => Some("no time column: calls are laid end to end on each CPU"),
            Self::NotTime => Some(
                "the time column does not advance with the durations (trace_clock is a counter, \
                 ticks or cycles): calls are laid end to end on each CPU",
            ),
        }
    }
}

/// The tracer that the header names.
pub(super) fn tracer(head: &[u8]) -> Option<&[u8]> {
    let line = text::lines(head).next()?.text;
    line.strip_prefix(b"# tracer: ").map(<[u8]>::trim_ascii)
}

/// Calls shorter than this say nothing about a clock that prints microseconds, nanoseconds.
const TELLING: u64 = 20_000;

pub(super) fn look(head: &[u8], layout: Layout) -> Head {
    let mut initial: Vec<LaneKey> = Vec::new();
    let mut met: Vec<u32> = Vec::new();
    let mut release = None;
    let (mut entries, mut returns) = (0_u64, 0_u64);
    let mut open: FastMap<(u32, u16), u64> = FastMap::default();
    let mut ratios: Vec<u64> = Vec::new();
    let mut after_rule = false;
    for text in text::lines(head).filter(|line| line.ended) {
        let mut parsed = line::parse(text.text, layout);
        if after_rule && let Some(banner) = line::banner(text.text.trim_ascii()) {
            parsed = banner;
        }
        after_rule = parsed == Line::Rule;
        match parsed {
            Line::Header => {
                if let Some(at) = memchr::memmem::find(text.text, b" latency trace v") {
                    let behind = &text.text[at..];
                    release = memchr::memmem::find(behind, b" on ")
                        .map(|on| String::from_utf8_lossy(behind[on + 4..].trim_ascii()).into());
                }
            }
            // The left side of a CPU's first banner says who ran there from the start.
            Line::Banner { cpu, before, .. } if !met.contains(&cpu) => {
                met.push(cpu);
                if let Some(thread) = task_key(before) {
                    initial.push(LaneKey { cpu: Some(cpu), thread });
                }
            }
            Line::Call(call) => {
                match call.body {
                    Body::Enter(_) | Body::Leaf(_) => entries += 1,
                    Body::Exit(_) => returns += 1,
                    _ => {}
                }
                let key = (call.cpu.unwrap_or(0), call.depth);
                match (call.body, call.time, call.duration) {
                    (Body::Enter(_), Some(time), _) => {
                        open.insert(key, time);
                    }
                    (Body::Exit(_), Some(time), Some(duration)) if duration >= TELLING => {
                        if let Some(entry) = open.remove(&key) {
                            let passed = u128::from(time.saturating_sub(entry));
                            ratios.push((passed * 1000 / u128::from(duration)) as u64);
                        }
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }
    ratios.sort_unstable();
    // A thousandth: 1000 is a clock as fast as the durations.
    let median = ratios.get(ratios.len() / 2).copied();
    let clock = match (layout.time, median) {
        (Time::None, _) => Clock::Absent,
        (_, Some(500..=2000) | None) => Clock::Time,
        _ => Clock::NotTime,
    };
    Head { initial, clock, returns_only: entries == 0 && returns > 0, release }
}
