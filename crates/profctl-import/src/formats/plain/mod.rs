//! Our own text format: one line per event, every kind of event, nothing implied. For logs that a
//! few lines of script turn into something readable, and for tests.
//!
//! [`write()`] is its inverse: what a reader of any format says, written so that it can be read.

use profctl_model::{TickUnit, Ticks, Timebase, Timeline};

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition};
use crate::bytes::low_bits;
use crate::files::Files;
use crate::text;

pub(crate) mod file;
mod lex;
mod parse;
#[cfg(test)]
pub(crate) mod show;
#[cfg(test)]
mod tests;
mod write;

pub use write::write;

/// The importer of `plain`.
pub struct Plain;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "plain",
    about: "one line per event: `TIME [cpuN] [THREAD] > NAME`, written by scripts",
    recognized: "first line `# profctl plain 1`",
    extensions: &[".plain"],
    ..Descriptor::PLAIN
};

const MAGIC: &str = "# profctl plain";

/// What the first line says of the lines below it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Header {
    unit: TickUnit,
    timeline: Timeline,
    resolution: Ticks,
    counter_bits: Option<u32>,
    leaf_ends_are_stamps: bool,
    exits_may_be_late: bool,
    entries_may_tie: bool,
}

impl Importer for Plain {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let head = probe.head;
        let first = text::lines(head).next();
        match first.and_then(|line| line.text.strip_prefix(MAGIC.as_bytes())) {
            Some([] | [b' ', ..]) => Recognition::Yes(format!("first line `{MAGIC}`")),
            _ => Recognition::No,
        }
    }

    fn open(&self, files: &dyn Files, _options: &ImportOptions) -> Result<Opened, ImportError> {
        let head = super::head(files)?;
        let head = &*head.bytes;
        let first = text::lines(head).next().map_or(&b""[..], |line| line.text);
        let header = parse_header(first).map_err(|message| ImportError {
            offset: None,
            line: Some(1),
            message,
        })?;
        let time_max = header.counter_bits.map_or(u64::MAX - 1, low_bits);
        let Header { unit, resolution, timeline, .. } = header;
        let mut opened = Opened::lines(
            Timebase { unit, resolution, timeline },
            Box::new(parse::Lines { timeline, time_max }),
        )
        .with_counter(header.counter_bits);
        opened.quirks.leaf_ends_are_stamps = header.leaf_ends_are_stamps;
        opened.quirks.exits_may_be_late = header.exits_may_be_late;
        opened.quirks.entries_may_tie = header.entries_may_tie;
        Ok(opened)
    }
}

/// What the first line says; the defaults if it is not a header, as where the format was forced.
fn parse_header(line: &[u8]) -> Result<Header, String> {
    let mut header = Header {
        unit: TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 },
        timeline: Timeline::Recorded,
        resolution: Ticks(1),
        counter_bits: None,
        leaf_ends_are_stamps: true,
        exits_may_be_late: false,
        entries_may_tie: false,
    };
    let line = String::from_utf8_lossy(line);
    let Some(fields) = line.strip_prefix(MAGIC) else {
        return Ok(header);
    };
    let mut fields = fields.split_ascii_whitespace();
    match fields.next() {
        Some("1") => {}
        Some(version) => return Err(format!("version {version} of the plain format, expected 1")),
        None => return Err("no version of the plain format, expected 1".into()),
    }
    for field in fields {
        let (key, value) = field.split_once('=').unwrap_or((field, ""));
        match key {
            "unit" => {
                header.unit = fraction(value).or(text::tick_unit(value)).ok_or_else(|| {
                    format!("unit `{value}`, expected one such as ns, 250ns, MHz or cycles")
                })?;
            }
            "counter-bits" => {
                let bits = value.parse().ok().filter(|bits| (1..=63).contains(bits));
                let error = || format!("counter-bits `{value}`, expected 1 to 63");
                header.counter_bits = Some(bits.ok_or_else(error)?);
            }
            "resolution" => {
                let ticks = value.parse().ok().filter(|&ticks| ticks > 0);
                let error = || format!("resolution `{value}`, expected a number of ticks");
                header.resolution = Ticks(ticks.ok_or_else(error)?);
            }
            "leaf-ends" if value == "rough" => header.leaf_ends_are_stamps = false,
            "entries" if value == "tied" => header.entries_may_tie = true,
            "exits" if value == "late" => header.exits_may_be_late = true,
            "timeline" => {
                header.timeline = match value {
                    "recorded" => Timeline::Recorded,
                    "synthetic" => Timeline::Synthetic,
                    _ => {
                        return Err(format!("timeline `{value}`, expected recorded or synthetic"));
                    }
                };
            }
            _ => {
                return Err(format!("`{field}`, expected unit=, counter-bits= or timeline="));
            }
        }
    }
    Ok(header)
}

/// The unit in `N/Ds`: a tick of N/D seconds.
fn fraction(text: &str) -> Option<TickUnit> {
    let (numerator, denominator) = text.strip_suffix('s')?.split_once('/')?;
    let (numerator, denominator) = (numerator.parse().ok()?, denominator.parse().ok()?);
    (numerator > 0 && denominator > 0).then_some(TickUnit::Seconds { numerator, denominator })
}
