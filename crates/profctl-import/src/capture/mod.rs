//! Signals to calls: what logic analysers, simulators and their dumps have in common.
//!
//! A capture holds levels of wires. Which wires tell of calls is for the user to say: a bus that
//! carries a probe's tags and a strobe that says when to look at it, a wire for each function that
//! is high while it runs, or a bus with the program counter. [`select`] turns that into a plan over
//! the signals of one capture, [`sampler`] turns changes of levels into events by it. Every change
//! of one timestamp is applied before anything is looked at, so the order in which a dump lists
//! them never matters.

use profctl_model::{Code, Severity, TickUnit};

use crate::text;

mod counter;
pub(crate) mod rows;
mod sampler;
mod select;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;

pub(crate) use sampler::{Levels, Sampler};
pub(crate) use select::{Plan, Signal, plan};

/// A level that is neither 0 nor 1 where one was needed.
pub static UNKNOWN_LEVEL: Code = Code {
    name: "capture/unknown-level",
    severity: Severity::Error,
    help: "a wire that was to be looked at was neither 0 nor 1 (`x`, `z`, no data), so what it \
           said is not known and was left out: check the wiring, or start later",
};

/// A bus of tags without a strobe.
pub static NO_STROBE: Code = Code {
    name: "capture/no-strobe",
    severity: Severity::Info,
    help: "the bus of tags is read whenever it changes, so the same tag twice in a row is seen \
           once, and wires that change one after the other make tags that never were: name the \
           wire that says when a tag is valid with --strobe",
};

/// Calls that were concluded from a program counter.
pub static INFERRED_CALLS: Code = Code {
    name: "capture/inferred-calls",
    severity: Severity::Info,
    help: "calls were concluded from the program counter: the first instruction of a function is \
           its entry, and coming back to a caller is its exit; a jump to the first instruction \
           looks like a call",
};

/// A program counter outside every function.
pub static UNKNOWN_ADDRESS: Code = Code {
    name: "capture/unknown-address",
    severity: Severity::Warning,
    help: "the program counter was in none of the functions of the symbol file and was passed \
           over: the file may belong to another build",
};

/// Which signals tell of calls, and how. All text is as typed; the signals of a capture are not
/// known before it is opened.
///
/// A bus is a signal (`tag`, `top.probe.tag`), bits of one (`data[15:8]`), or several with the most
/// significant first (`T15,T14,T13`). A range `T15..T0` stands for its wires, the highest number
/// first whichever way it is written. `NAME#2` is the second of the signals with one name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CaptureOptions {
    /// The bus that carries tags; `LABEL=` may stand before it. For ITM, the stimulus ports whose
    /// writes are tags.
    pub tag: Option<String>,
    /// The wire whose edge says that the bus is to be looked at: `stb`, `stb@fall`, `stb@both`.
    /// Without one, every change of the bus counts.
    pub strobe: Option<String>,
    /// What must hold at that edge, as `SIGNAL=VALUE`.
    pub valid: Vec<String>,
    /// Wires that are high while a function runs, as `WIRE` or `WIRE=NAME`, with the marks `^`
    /// (interrupt) or `~` (idle) behind the name; `*` is every wire.
    pub gpio: Option<String>,
    /// The bus that carries the program counter.
    pub pc: Option<String>,
    /// The bus that carries the id of the running thread.
    pub thread: Option<String>,
    /// The clock of a capture that counts cycles without saying how long one is.
    pub clock: Option<TickUnit>,
}

/// The same as a section of a rule file.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    tag: Option<String>,
    strobe: Option<String>,
    valid: Option<OneOrMore>,
    gpio: Option<String>,
    pc: Option<String>,
    thread: Option<String>,
    clock: Option<String>,
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl CaptureOptions {
    /// The options in a rule file that is about signals: one with a `[capture]` section. Nothing if
    /// it has none (or is no TOML, which whoever reads it as rules for lines will say).
    pub fn from_rule(text: &str) -> Option<Result<Self, String>> {
        let file: toml::Table = text.parse().ok()?;
        match file.get("capture") {
            Some(toml::Value::Table(section)) => Some(Self::from_toml_table(section)),
            _ => None,
        }
    }

    /// The options in a `[capture]` table: the fields of this struct by name, `valid` a string or a
    /// list of them, `clock` as `72MHz` or `1us`. The error says what was found and expected.
    pub fn from_toml_table(table: &toml::Table) -> Result<Self, String> {
        let section: Section = table.clone().try_into().map_err(|error: toml::de::Error| {
            let message = error.message().lines().next().unwrap_or_default().to_owned();
            format!("[capture]: {message}")
        })?;
        let Section { tag, strobe, valid, gpio, pc, thread, clock } = section;
        let valid = match valid {
            None => Vec::new(),
            Some(OneOrMore::One(one)) => vec![one],
            Some(OneOrMore::More(all)) => all,
        };
        let clock = match clock {
            None => None,
            Some(clock) => Some(text::tick_unit(&clock).ok_or_else(|| {
                format!("[capture]: found clock `{clock}`, expected one such as 72MHz or 1us")
            })?),
        };
        Ok(Self { tag, strobe, valid, gpio, pc, thread, clock })
    }

    /// Whether nothing was chosen.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
