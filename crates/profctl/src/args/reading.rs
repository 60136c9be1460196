//! How to read an input.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use profctl_import::FORMATS;
use profctl_import::bytes::Endian;
use profctl_import::capture::CaptureOptions;
use profctl_import::decompress::MAX_EXPANSION;
use profctl_import::formats::probe::{FieldOrder, ProbeOptions};
use profctl_model::TickUnit;

use crate::duration;

/// How to read.
#[derive(Args, Debug)]
#[command(next_help_heading = "Input")]
pub(crate) struct Reading {
    /// Read the input as this format
    #[arg(
        long,
        value_name = "NAME",
        value_parser = format_names(),
        hide_short_help = true,
        hide_possible_values = true
    )]
    pub(crate) input_format: Option<String>,
    /// Read the input by this rule: a rule file, or a preset that `profctl formats` lists
    #[arg(long, value_name = "RULE", hide = true)]
    pub(crate) rule: Option<PathBuf>,
    /// Name file for the tags of a probe or a logic capture, `name/tag` per line
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) names: Option<PathBuf>,
    /// Functions by address: the output of `nm`, or an ELF file
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) symbols: Option<PathBuf>,
    /// Keep C++ and Rust names as the linker sees them
    #[arg(long, hide_short_help = true)]
    pub(crate) no_demangle: bool,
    /// Variant of the format, if it is not detected correctly
    #[arg(long, value_name = "NAME", hide = true)]
    pub(crate) dialect: Option<String>,
    /// Worker threads [default: all CPUs]
    #[arg(short, long, value_name = "N", value_parser = jobs, hide_short_help = true)]
    pub(crate) jobs: Option<usize>,
    /// Exit with 5 if the input is incomplete: lost, unmatched or skipped records
    #[arg(long, hide_short_help = true)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) expansion: Expansion,
    /// Bytes per block; any number gives the same result
    #[arg(long, value_name = "BYTES", default_value_t = 0, hide = true)]
    pub(crate) block_size: usize,
    #[command(flatten)]
    pub(crate) probe: Probe,
    #[command(flatten)]
    pub(crate) capture: Capture,
}

/// How much a file may grow.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Expansion {
    /// Decompress a file into memory or a temporary file to at most N times its size
    #[arg(
        long,
        value_name = "N",
        default_value_t = MAX_EXPANSION,
        value_parser = clap::value_parser!(u64).range(1..),
        hide_short_help = true
    )]
    pub(crate) max_expansion: u64,
}

/// More worker threads than this never help and cost memory.
const JOBS_MAX: usize = 256;

fn jobs(text: &str) -> Result<usize, String> {
    match text.parse::<u128>() {
        Ok(0) => Err("expected at least 1".into()),
        Ok(jobs) => Ok(usize::try_from(jobs).unwrap_or(JOBS_MAX).min(JOBS_MAX)),
        Err(_) => Err("not a number of threads".into()),
    }
}

fn format_names() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.iter().map(|format| {
        let descriptor = format.descriptor();
        PossibleValue::new(descriptor.name).help(descriptor.about)
    }))
}

/// Flags that only some formats look at, with these formats. A test compares the list with the
/// sources of the readers.
const CONCERNED: [(&str, &[&str]); 5] = [
    (
        "--dialect",
        &[
            "kdump",
            "chrome",
            "firefox",
            "folded",
            "ftrace",
            "itm",
            "ktrace",
            "perf_data",
            "perf_script",
            "perfetto",
            "trace_dat",
        ],
    ),
    ("--tag", &["vcd", "fst", "sigrok", "saleae", "itm"]),
    ("--clock", &["vcd", "fst", "sigrok", "saleae", "itm", "systemview"]),
    ("--gpio", &["vcd", "fst", "sigrok", "saleae"]),
    ("--tag-bits", &["probe"]),
];

/// Formats that name their functions themselves and look at no `--names` and no `--symbols`.
const SELF_NAMED: [&str; 10] = [
    "function_graph",
    "mcrae",
    "plain",
    "callgrind",
    "chrome",
    "speedscope",
    "folded",
    "ktrace",
    "kdump",
    "perfetto",
];

impl Reading {
    /// A flag that was given and that a reader of `format` does not look at, with what does.
    pub(crate) fn without_effect(&self, format: &str) -> Option<(&'static str, &'static str)> {
        const PROBES: &str = "probe captures";
        const LOGIC: &str = "logic captures";
        let names_itself = SELF_NAMED.contains(&format);
        let of = |flag: &str| CONCERNED.iter().find(|(known, _)| *known == flag);
        let concerns = |flag: &str| of(flag).is_none_or(|(_, formats)| formats.contains(&format));
        let (probe, capture) = (&self.probe, &self.capture);
        [
            (probe.tag_bits.is_some(), "--tag-bits", "--tag-bits", PROBES),
            (probe.time_bits.is_some(), "--time-bits", "--tag-bits", PROBES),
            (probe.tick.is_some(), "--time-step", "--tag-bits", PROBES),
            (probe.endian.is_some(), "--endian", "--tag-bits", PROBES),
            (probe.record_order.is_some(), "--record-order", "--tag-bits", PROBES),
            (probe.record_bytes.is_some(), "--record-bytes", "--tag-bits", PROBES),
            (capture.tag.is_some(), "--tag", "--tag", LOGIC),
            (capture.clock.is_some(), "--clock", "--clock", LOGIC),
            (capture.strobe.is_some(), "--strobe", "--gpio", LOGIC),
            (!capture.valid.is_empty(), "--valid", "--gpio", LOGIC),
            (capture.gpio.is_some(), "--gpio", "--gpio", LOGIC),
            (capture.pc.is_some(), "--pc", "--gpio", LOGIC),
            (capture.thread_bus.is_some(), "--thread-bus", "--gpio", LOGIC),
            (self.dialect.is_some(), "--dialect", "--dialect", "formats with dialects"),
            (self.names.is_some() && names_itself, "--names", "", "formats that carry tags"),
            (self.symbols.is_some() && names_itself, "--symbols", "", "formats with addresses"),
        ]
        .into_iter()
        .find(|&(is_given, _, group, _)| is_given && (group.is_empty() || !concerns(group)))
        .map(|(_, flag, _, what)| (flag, what))
    }

    /// A flag that was given and that says how to read a trace, which a saved profile is not.
    pub(crate) fn beyond_profiles(&self) -> Option<&'static str> {
        [
            (self.input_format.is_some(), "--input-format"),
            (self.rule.is_some(), "--rule"),
            (self.names.is_some(), "--names"),
            (self.symbols.is_some(), "--symbols"),
        ]
        .into_iter()
        .find_map(|(is_given, flag)| is_given.then_some(flag))
        .or_else(|| self.without_effect("").map(|(flag, _)| flag))
    }
}

/// How the records of a hardware probe are laid out.
#[derive(Args, Debug)]
#[command(next_help_heading = "Probe captures")]
pub(crate) struct Probe {
    /// Bits of a tag [default: 16]
    #[arg(long, value_name = "BITS", hide = true)]
    tag_bits: Option<u32>,
    /// Bits of the counter, which wraps after the last of them [default: 24]
    #[arg(long, value_name = "BITS", hide = true)]
    time_bits: Option<u32>,
    /// One step of the counter: `1us`, `24MHz`, `cycles`, `instructions` [default: 1us]
    #[arg(long = "time-step", value_name = "DURATION", value_parser = duration::parse_tick, hide = true)]
    tick: Option<TickUnit>,
    /// Byte order of a field [default: le]
    #[arg(long, value_name = "ORDER", value_parser = endian_parser(), hide = true)]
    endian: Option<Endian>,
    /// Order of the fields [default: tag,time]
    #[arg(long, value_name = "FIELDS", value_parser = order_parser(), hide = true)]
    record_order: Option<FieldOrder>,
    /// Bytes from one record to the next [default: those of tag and counter]
    #[arg(long, value_name = "BYTES", hide = true)]
    record_bytes: Option<usize>,
}

impl Probe {
    /// The same for the reader.
    pub(crate) fn options(&self) -> ProbeOptions {
        let default = ProbeOptions::default();
        ProbeOptions {
            tag_bits: self.tag_bits.unwrap_or(default.tag_bits),
            time_bits: self.time_bits.unwrap_or(default.time_bits),
            tick: self.tick.unwrap_or(default.tick),
            endian: self.endian.unwrap_or(default.endian),
            order: self.record_order.unwrap_or(default.order),
            record_bytes: self.record_bytes,
        }
    }
}

/// Which signals of a logic analyzer, a waveform or a trace port carry the calls.
///
/// A bus is one signal (`tag`), or wires with the most significant first (`T15,T14,T13`, `T15..T0`).
#[derive(Args, Debug)]
#[command(next_help_heading = "Logic captures")]
pub(crate) struct Capture {
    /// Bus that carries tags, named by `--names`; of an ITM, its stimulus ports
    #[arg(long, value_name = "BUS", hide = true)]
    tag: Option<String>,
    /// Wire whose edge samples the bus: `stb`, `stb@fall`, `stb@both`
    #[arg(long, value_name = "WIRE[@EDGE]", hide = true)]
    strobe: Option<String>,
    /// Condition that must hold at that edge; repeatable
    #[arg(long, value_name = "SIGNAL=VALUE", hide = true)]
    valid: Vec<String>,
    /// Wires that are high while a function runs: `WIRE` or `WIRE=NAME`, or `*` for all
    #[arg(long, value_name = "WIRES", hide = true)]
    gpio: Option<String>,
    /// Bus that carries the program counter; functions come from `--symbols`
    #[arg(long, value_name = "BUS", hide = true)]
    pc: Option<String>,
    /// Bus that carries the id of the running thread
    #[arg(long, value_name = "BUS", hide = true)]
    thread_bus: Option<String>,
    /// Clock of a capture that counts cycles without stating their length: `72MHz`, `1us`
    #[arg(long, value_name = "RATE", value_parser = duration::parse_tick, hide = true)]
    clock: Option<TickUnit>,
}

impl Capture {
    /// The same for the reader.
    pub(crate) fn options(&self) -> CaptureOptions {
        CaptureOptions {
            tag: self.tag.clone(),
            strobe: self.strobe.clone(),
            valid: self.valid.clone(),
            gpio: self.gpio.clone(),
            pc: self.pc.clone(),
            thread: self.thread_bus.clone(),
            clock: self.clock,
        }
    }
}

fn endian_parser() -> impl TypedValueParser<Value = Endian> {
    PossibleValuesParser::new(["le", "be"]).map(|name| match name.as_str() {
        "be" => Endian::Big,
        _ => Endian::Little,
    })
}

fn order_parser() -> impl TypedValueParser<Value = FieldOrder> {
    PossibleValuesParser::new(["tag,time", "time,tag"]).map(|name| match name.as_str() {
        "time,tag" => FieldOrder::TimeTag,
        _ => FieldOrder::TagTime,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use profctl_testkit::fixtures::root;

    use super::*;

    /// The sources of a reader.
    fn sources(format: &str) -> String {
        let folder = root().join("crates/profctl-import/src/formats").join(format);
        let files = folder.read_dir().unwrap().map(|entry| entry.unwrap().path());
        files.filter_map(|file| fs::read_to_string(file).ok()).collect()
    }

    #[test]
    fn the_lists_of_flags_are_what_readers_look_at() {
        for format in FORMATS {
            let name = format.descriptor().name;
            let text = sources(name);
            let takes_dialect = text.contains("options.dialect");
            assert_eq!(CONCERNED[0].1.contains(&name), takes_dialect, "--dialect: {name}");
            assert!(
                !SELF_NAMED.contains(&name)
                    || !text.contains("options.names") && !text.contains("options.symbols"),
                "{name} looks at --names or --symbols"
            );
            let takes_probe = text.contains("options.probe");
            assert_eq!(CONCERNED[4].1.contains(&name), takes_probe, "--tag-bits: {name}");
        }
    }
}
