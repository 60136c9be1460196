//! Options for an input, before its format is known.

use profctl_model::TickUnit;

use crate::bytes::Endian;
use crate::text;

/// What the user adds to an input.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The text of a `--names` file.
    pub names: Option<Vec<u8>>,
    /// The content of a `--symbols` file: an `nm` listing or an ELF file.
    pub symbols: Option<Vec<u8>>,
    /// Whether C++ and Rust names are kept as the linker sees them.
    pub no_demangle: bool,
    /// The variant of a format that `--dialect` forces.
    pub dialect: Option<String>,
    /// The rule by which the `rule` format reads a text.
    pub rule: Option<RuleText>,
    /// The layout of probe records.
    pub probe: ProbeOptions,
    /// The signals of a capture that carry calls.
    pub capture: CaptureOptions,
}

/// A rule file as the user gives it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RuleText {
    /// Its path, or the name of a preset.
    pub name: String,
    /// What it says.
    pub text: String,
}

/// The layout of a probe's records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProbeOptions {
    /// Bits of a tag, 1 to 32. A field takes whole bytes; bits beyond these are not looked at.
    pub tag_bits: u32,
    /// Bits of the counter, 1 to 64, likewise; it wraps after the last of them.
    pub time_bits: u32,
    /// What one step of the counter is.
    pub tick: TickUnit,
    /// Which byte of a field comes first.
    pub endian: Endian,
    /// Which field comes first.
    pub order: FieldOrder,
    /// Bytes from one record to the next, if there is something after the two fields.
    pub record_bytes: Option<usize>,
}

impl Default for ProbeOptions {
    fn default() -> Self {
        Self {
            tag_bits: 16,
            time_bits: 24,
            tick: TickUnit::Seconds { numerator: 1, denominator: 1_000_000 },
            endian: Endian::Little,
            order: FieldOrder::TagTime,
            record_bytes: None,
        }
    }
}

/// Which field of a record comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FieldOrder {
    /// The tag.
    #[default]
    TagTime,
    /// The counter.
    TimeTag,
}

/// The signals that carry calls, and how. All text is as typed; the signals of a capture are not
/// known before it is opened.
///
/// A bus is a signal (`tag`, `top.probe.tag`), bits of one (`data[15:8]`), or several with the most
/// significant first (`T15,T14,T13`). A range `T15..T0` stands for its wires, the highest number
/// first whichever way it is written. `NAME#2` is the second of the signals with one name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CaptureOptions {
    /// The bus that carries tags; `LABEL=` may be before it. For ITM, the stimulus ports whose
    /// writes are tags.
    pub tag: Option<String>,
    /// The wire whose edge says that the bus is to be looked at: `stb`, `stb@fall`, `stb@both`.
    /// Without one, every change of the bus counts.
    pub strobe: Option<String>,
    /// What must hold at that edge, as `SIGNAL=VALUE`.
    pub valid: Vec<String>,
    /// Wires that are high while a function runs, as `WIRE` or `WIRE=NAME`, with the marks `^`
    /// (interrupt) or `~` (idle) after the name; `*` is every wire.
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
    /// it has none (or is not TOML, which the reader of rules reports).
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
