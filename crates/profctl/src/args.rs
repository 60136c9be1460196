//! The arguments that several commands share; each command's own stand beside it.

use std::path::PathBuf;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ColorChoice, Parser};
use profctl_import::bytes::Endian;
use profctl_import::capture::CaptureOptions;
use profctl_import::formats::probe::{FieldOrder, ProbeOptions};
use profctl_import::{FORMATS, Only};
use profctl_model::{TickUnit, Timebase};
use profctl_render::TimeUnit;
use profctl_render::table::Format;

use crate::commands::Command;
use crate::duration::{self, Length};
use crate::exit::Failure;

const AFTER_HELP: &str = "\
Exit codes:
  0  done; gate: nothing became slower
  1  gate: at least one function became slower, or a budget was exceeded
  2  the arguments make no sense, or the output cannot be written
  3  an input cannot be read or is no trace; nothing was written
  4  gate: inconclusive: too few runs, incomplete traces, or sides that cannot be compared
  5  --strict was given and the input was incomplete

A TRACE is a file, `-` for standard input, a directory of runs, or a saved profile. \
gzip, zstd and xz are undone on the way. The format is recognised from content.";

/// Where did the time go? Reads traces of function calls and says.
#[derive(Parser, Debug)]
#[command(name = "profctl", version, after_help = AFTER_HELP, disable_help_subcommand = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// How to talk and where to write.
#[derive(Args, Debug)]
#[command(next_help_heading = "Output")]
pub(crate) struct Global {
    /// Write to FILE (atomically) instead of standard output
    #[arg(short = 'o', long = "output", value_name = "FILE", global = true)]
    pub(crate) out_file: Option<PathBuf>,
    /// Output format
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "table",
        value_parser = output_parser(),
        global = true
    )]
    pub(crate) format: Format,
    /// The unit of times for people
    #[arg(
        long,
        value_name = "UNIT",
        default_value = "auto",
        value_parser = unit_parser(),
        global = true
    )]
    pub(crate) unit: TimeUnit,
    /// When to use colours
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub(crate) color: ColorChoice,
    /// Cut lines of a table after that many columns [default: as wide as the terminal]; in
    /// `flame`, the pixels of a picture [default: 1200]
    #[arg(long, value_name = "COLUMNS", value_parser = columns_parser, global = true)]
    pub(crate) width: Option<usize>,
    /// Say nothing on standard error but errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Say on standard error what each input was taken for
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

fn output_parser() -> impl TypedValueParser<Value = Format> {
    let formats = Format::ALL.map(|format| PossibleValue::new(format.name()).help(format.about()));
    let parquet = Format::Parquet;
    let parquet = PossibleValue::new(parquet.name()).help(parquet.about());
    PossibleValuesParser::new(formats.into_iter().chain([parquet])).try_map(|name| {
        if name != Format::Parquet.name() {
            return name.parse::<Format>();
        }
        if !cfg!(feature = "tables") {
            return Err("this build writes no Parquet: it was made without tables".to_owned());
        }
        Ok(Format::Parquet)
    })
}

fn unit_parser() -> impl TypedValueParser<Value = TimeUnit> {
    PossibleValuesParser::new(TimeUnit::ALL.map(TimeUnit::name))
        .try_map(|name| name.parse::<TimeUnit>())
}

fn columns_parser(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("no columns, expected at least 1".into()),
        Ok(columns) => Ok(columns),
        Err(_) => Err("not a number of columns".into()),
    }
}

/// More worker threads than this never help and cost memory.
const JOBS_MAX: usize = 256;

fn jobs_parser(text: &str) -> Result<usize, String> {
    match text.parse::<u128>() {
        Ok(0) => Err("expected at least 1".into()),
        Ok(jobs) => Ok(usize::try_from(jobs).unwrap_or(JOBS_MAX).min(JOBS_MAX)),
        Err(_) => Err("not a number of threads".into()),
    }
}

/// How to read.
#[derive(Args, Debug)]
#[command(next_help_heading = "Input")]
pub(crate) struct Reading {
    /// Read the input as this format
    #[arg(long, value_name = "NAME", value_parser = format_names())]
    pub(crate) input_format: Option<String>,
    /// Read the input by this rule: a rule file, or the name of a preset that `profctl formats`
    /// lists
    #[arg(long, value_name = "RULE")]
    pub(crate) rule: Option<PathBuf>,
    /// A file that says what the tags of a probe capture mean, `name/tag` a line
    #[arg(long, value_name = "FILE")]
    pub(crate) names: Option<PathBuf>,
    /// A file that says which function an address belongs to: an `nm` listing or an ELF file
    #[arg(long, value_name = "FILE")]
    pub(crate) symbols: Option<PathBuf>,
    /// The variant of the format, where it has several and telling them apart fails
    #[arg(long, value_name = "NAME")]
    pub(crate) dialect: Option<String>,
    /// Worker threads [default: all CPUs]
    #[arg(short, long, value_name = "N", value_parser = jobs_parser)]
    pub(crate) jobs: Option<usize>,
    /// End with code 5 if the input was incomplete: lost, unmatched or skipped records
    #[arg(long)]
    pub(crate) strict: bool,
    /// Bytes read at a time; any number gives the same result
    #[arg(long, value_name = "BYTES", default_value_t = 0, hide = true)]
    pub(crate) block_size: usize,
    #[command(flatten)]
    pub(crate) probe: Probe,
    #[command(flatten)]
    pub(crate) capture: Capture,
}

fn format_names() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.iter().map(|format| {
        let descriptor = format.descriptor();
        PossibleValue::new(descriptor.name).help(descriptor.about)
    }))
}

/// What of a trace to look at.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Selection")]
pub(crate) struct Selection {
    /// Only from this time on, counted from the first timestamp (`1.5s`); calls that cross it are
    /// partial
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) from: Option<Length>,
    /// Only before this time, likewise
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    pub(crate) until: Option<Length>,
    /// Only this thread: its id, its name, or both as `name-id`; may be repeated
    #[arg(long, value_name = "THREAD")]
    pub(crate) thread: Vec<String>,
    /// Only the threads of this process, where the input tells processes from threads, else the
    /// thread that Linux gave this pid; may be repeated
    #[arg(long, value_name = "PID")]
    pub(crate) pid: Vec<u64>,
}

impl Selection {
    /// Whether the window was given in what the clock of the trace counts.
    pub(crate) fn fits(&self, timebase: &Timebase) -> Result<(), Failure> {
        for (length, flag) in [(self.from, "--from"), (self.until, "--until")] {
            length.map(|length| length.ticks(timebase, flag)).transpose()?;
        }
        Ok(())
    }

    /// Lets only what was asked for through to `inner`.
    pub(crate) fn only<S>(&self, inner: S, cpus: &[u32]) -> Only<S> {
        let (threads, pids) = (self.thread.clone(), self.pid.clone());
        Only { inner, threads, pids, cpus: cpus.to_vec() }
    }
}

/// How the records of a hardware probe are laid out.
#[derive(Args, Debug)]
#[command(next_help_heading = "Probe captures")]
pub(crate) struct Probe {
    /// Bits of a tag
    #[arg(long, value_name = "BITS", default_value_t = default_probe().tag_bits)]
    tag_bits: u32,
    /// Bits of the counter, which wraps after the last of them
    #[arg(long, value_name = "BITS", default_value_t = default_probe().time_bits)]
    time_bits: u32,
    /// What one step of the counter is: `1us`, `62.5ns`, `24MHz`, `cycles`, `instructions`
    #[arg(long, value_name = "DURATION", default_value = "1us", value_parser = duration::parse_tick)]
    tick: TickUnit,
    /// Which byte of a field comes first: the least or the most significant
    #[arg(long, value_name = "ORDER", default_value = "le", value_parser = endian_parser())]
    endian: Endian,
    /// Which field comes first
    #[arg(long, value_name = "FIELDS", default_value = "tag,time", value_parser = order_parser())]
    record_order: FieldOrder,
    /// Bytes from one record to the next [default: those of tag and counter]
    #[arg(long, value_name = "BYTES")]
    record_bytes: Option<usize>,
}

impl Probe {
    /// The same for the reader.
    pub(crate) fn options(&self) -> ProbeOptions {
        ProbeOptions {
            tag_bits: self.tag_bits,
            time_bits: self.time_bits,
            tick: self.tick,
            endian: self.endian,
            order: self.record_order,
            record_bytes: self.record_bytes,
        }
    }
}

/// Which signals of a logic analyser, a waveform or a trace port tell the calls.
///
/// A bus is one signal (`tag`), or wires with the most significant first (`T15,T14,T13`, `T15..T0`).
#[derive(Args, Debug)]
#[command(next_help_heading = "Logic captures")]
pub(crate) struct Capture {
    /// The bus that carries tags, whose meaning `--names` tells; the stimulus ports of an ITM
    #[arg(long, value_name = "BUS")]
    tag: Option<String>,
    /// The wire whose edge says when to look at the bus: `stb`, `stb@fall`, `stb@both`
    #[arg(long, value_name = "WIRE[@EDGE]")]
    strobe: Option<String>,
    /// What must hold at that edge; may be repeated
    #[arg(long, value_name = "SIGNAL=VALUE")]
    valid: Vec<String>,
    /// Wires that are high while a function runs: `WIRE` or `WIRE=NAME`, or `*` for all
    #[arg(long, value_name = "WIRES")]
    gpio: Option<String>,
    /// The bus that carries the program counter; functions are told by `--symbols`
    #[arg(long, value_name = "BUS")]
    pc: Option<String>,
    /// The bus that carries the id of the running thread
    #[arg(long, value_name = "BUS")]
    thread_bus: Option<String>,
    /// The clock of a capture that counts cycles without saying how long one is: `72MHz`, `1us`
    #[arg(long, value_name = "RATE", value_parser = duration::parse_tick)]
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

fn default_probe() -> ProbeOptions {
    ProbeOptions::default()
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
