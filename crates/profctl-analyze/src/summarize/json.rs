//! A profile as a file: `profctl.summary/1`, described in `docs/schemas/summary-1.md`.
//!
//! The file carries nanoseconds (or counts) and says how many of them make a tick, so that a clock
//! of microseconds comes back as one; a clock finer than a nanosecond, or no multiple of it, is
//! rounded to it on the way out.

use profctl_model::diag::Sample;
use profctl_model::{FuncKind, Place, Severity, TickUnit, Ticks, Timebase, Timeline};
use serde::{Deserialize, Serialize};

use super::profile::{self, Profile, Row, Source};
use super::stats::{FuncStats, Lengths};
use super::{By, Diagnostic, Histogram, Quality};

const SCHEMA: &str = "profctl.summary/1";

#[derive(Serialize, Deserialize)]
struct ProfileFile {
    schema: String,
    #[serde(default)]
    sources: Vec<SourceFile>,
    timebase: TimebaseFile,
    totals: TotalsFile,
    #[serde(default)]
    quality: QualityFile,
    functions: Vec<FunctionFile>,
    by: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct SourceFile {
    path: String,
    format: String,
    bytes: u64,
}

#[derive(Serialize, Deserialize)]
struct TimebaseFile {
    unit: String,
    resolution: u64,
    timeline: String,
    tick: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct TotalsFile {
    real: u64,
    lanes: u64,
    busy: u64,
    idle: u64,
    calls: u64,
    partial: u64,
    events: u64,
    functions: u64,
    threads: u64,
    capacity: Option<u64>,
}

#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
struct QualityFile {
    complete: bool,
    lost_events: Option<u64>,
    gaps: u64,
    unmatched_exits: u64,
    unclosed_entries: u64,
    forced_exits: u64,
    skipped_records: u64,
    backwards: u64,
    clamped: u64,
    diagnostics: Vec<DiagnosticFile>,
    cut_records: u64,
}

#[derive(Serialize, Deserialize)]
struct DiagnosticFile {
    code: String,
    severity: String,
    count: u64,
    #[serde(default)]
    samples: Vec<SampleFile>,
}

#[derive(Serialize, Deserialize)]
struct SampleFile {
    source: String,
    offset: u64,
    line: Option<u64>,
    message: String,
}

#[derive(Serialize, Deserialize)]
struct FunctionFile {
    name: String,
    module: Option<String>,
    kind: Option<String>,
    calls: u64,
    partial: u64,
    wall: u64,
    off_cpu: Option<u64>,
    elapsed: u64,
    net: u64,
    stolen: u64,
    net_min: Option<u64>,
    net_avg: Option<u64>,
    net_max: Option<u64>,
    net_stddev: Option<u64>,
    net_p50: Option<u64>,
    net_p90: Option<u64>,
    net_p99: Option<u64>,
    elapsed_min: Option<u64>,
    elapsed_avg: Option<u64>,
    elapsed_max: Option<u64>,
    real_pct: Option<f64>,
    net_pct: Option<f64>,
    histogram: Option<String>,
    elapsed_histogram: Option<String>,
    net_sum: Option<u64>,
    net_squares: Option<String>,
    elapsed_sum: Option<u64>,
    elapsed_squares: Option<String>,
    idle: Option<u64>,
    outermost: Option<u64>,
    callees: Option<u64>,
    descendants: Option<u64>,
}

impl Profile {
    /// The profile as JSON, on one line.
    pub fn to_json(&self) -> String {
        let rounded;
        let (profile, tick) = match self.units_per_tick() {
            Some(tick) => (self, tick),
            None => {
                let mut copy = self.clone();
                copy.to_reported_unit();
                rounded = copy;
                (&rounded, 1)
            }
        };
        serde_json::to_string(&write(profile, tick)).expect("only strings, integers and floats")
    }

    /// Reads a profile back. The figures that follow from others are not read but made again.
    pub fn from_json(bytes: &[u8]) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
        }
        let expected = |found: String| format!("{found}, expected a saved profile ({SCHEMA})");
        let head: Head =
            serde_json::from_slice(bytes).map_err(|error| expected(error.to_string()))?;
        if head.schema != SCHEMA {
            return Err(expected(format!("schema is {:?}", head.schema)));
        }
        let file: ProfileFile =
            serde_json::from_slice(bytes).map_err(|error| expected(error.to_string()))?;
        read(file)
    }
}

fn write(profile: &Profile, tick: u64) -> ProfileFile {
    let busy = profile.busy();
    ProfileFile {
        schema: SCHEMA.into(),
        sources: profile
            .sources
            .iter()
            .map(|source| SourceFile {
                path: source.path.clone(),
                format: source.format.clone(),
                bytes: source.bytes,
            })
            .collect(),
        timebase: TimebaseFile {
            unit: profile.timebase.unit_name().into(),
            resolution: profile.timebase.resolution.0.saturating_mul(tick),
            timeline: timeline_name(profile.timebase.timeline).into(),
            tick: Some(tick),
        },
        totals: TotalsFile {
            real: profile.real.saturating_mul(tick),
            lanes: profile.lanes,
            busy: busy.saturating_mul(tick),
            idle: profile.idle().saturating_mul(tick),
            calls: profile.calls(),
            partial: profile.partial(),
            events: profile.events,
            functions: profile.n_functions,
            threads: profile.n_threads,
            capacity: Some(profile.capacity.saturating_mul(tick)),
        },
        quality: write_quality(&profile.quality),
        functions: profile
            .rows
            .iter()
            .map(|row| write_row(profile, row, busy, tick))
            .collect(),
        by: Some(profile.by.name().into()),
    }
}

fn write_quality(quality: &Quality) -> QualityFile {
    QualityFile {
        complete: quality.is_complete(),
        lost_events: quality.lost_events,
        gaps: quality.gaps,
        unmatched_exits: quality.unmatched_exits,
        unclosed_entries: quality.unclosed_entries,
        forced_exits: quality.forced_exits,
        skipped_records: quality.skipped_records,
        backwards: quality.backwards,
        clamped: quality.clamped,
        diagnostics: quality.diagnostics.iter().map(write_diagnostic).collect(),
        cut_records: quality.cut_records,
    }
}

fn write_diagnostic(diagnostic: &Diagnostic) -> DiagnosticFile {
    let sample = |sample: &Sample| SampleFile {
        source: sample.place.source.clone(),
        offset: sample.place.offset,
        line: sample.place.line,
        message: sample.message.clone(),
    };
    DiagnosticFile {
        code: diagnostic.code.clone(),
        severity: diagnostic.severity.name().into(),
        count: diagnostic.count,
        samples: diagnostic.samples.iter().map(sample).collect(),
    }
}

fn write_row(profile: &Profile, row: &Row, busy: u64, tick: u64) -> FunctionFile {
    let stats = &row.stats;
    let time = |ticks: u64| ticks.saturating_mul(tick);
    let some = |ticks: Option<u64>| ticks.map(time);
    let kept = profile.has_percentiles;
    let (net, elapsed) = (&stats.net_of_calls, &stats.elapsed_of_calls);
    let percentile = |percent| some(net.percentile(percent).filter(|_| kept));
    let of_calls = |ticks| (stats.calls > 0).then_some(time(ticks));
    // Millionths of a percent tell any two functions apart and keep the file small.
    let percent = |share: Option<f64>| share.map(|share| (share * 1e6).round() / 1e6);
    FunctionFile {
        name: row.name.clone(),
        module: row.module.clone(),
        kind: row.kind.map(|kind| kind.name().into()),
        calls: stats.calls,
        partial: stats.partial,
        wall: time(stats.wall),
        off_cpu: profile.knows_off_cpu.then_some(time(stats.off_cpu)),
        elapsed: time(stats.elapsed),
        net: time(stats.net),
        stolen: time(stats.stolen),
        net_min: of_calls(net.min),
        net_avg: some(net.avg(stats.calls)),
        net_max: of_calls(net.max),
        net_stddev: some(net.stddev(stats.calls)),
        net_p50: percentile(50.0),
        net_p90: percentile(90.0),
        net_p99: percentile(99.0),
        elapsed_min: of_calls(elapsed.min),
        elapsed_avg: some(elapsed.avg(stats.calls)),
        elapsed_max: of_calls(elapsed.max),
        real_pct: percent(profile.real_pct(row)),
        net_pct: percent(profile.net_pct(row, busy)),
        histogram: kept.then(|| net.histogram.encode()),
        elapsed_histogram: kept.then(|| elapsed.histogram.encode()),
        net_sum: Some(time(net.sum)),
        net_squares: Some(net.squares.to_string()),
        elapsed_sum: Some(time(elapsed.sum)),
        elapsed_squares: Some(elapsed.squares.to_string()),
        idle: Some(time(stats.idle)),
        outermost: Some(stats.outermost),
        callees: Some(stats.callees),
        descendants: Some(stats.descendants),
    }
}

fn read(file: ProfileFile) -> Result<Profile, String> {
    let tick = file.timebase.tick.unwrap_or(1);
    let timebase = read_timebase(&file.timebase, tick)?;
    let by = match file.by.as_deref() {
        None => By::Function,
        Some(name) => By::from_name(name).ok_or_else(|| {
            format!("by is {name:?}, expected function, module, thread, cpu or kind")
        })?,
    };
    let totals = &file.totals;
    let capacity = totals
        .capacity
        .unwrap_or(totals.real.saturating_mul(totals.lanes));
    let functions = &file.functions;
    Ok(Profile {
        real: ticks("totals", "real", totals.real, tick)?,
        lanes: totals.lanes.max(1),
        capacity: ticks("totals", "capacity", capacity, tick)?,
        events: totals.events,
        n_functions: totals.functions,
        n_threads: totals.threads,
        knows_off_cpu: !functions.is_empty() && functions.iter().all(|f| f.off_cpu.is_some()),
        has_percentiles: functions.iter().all(|f| f.histogram.is_some()),
        rows: {
            let rows: Result<Vec<_>, _> = file
                .functions
                .into_iter()
                .map(|function| read_row(function, tick))
                .collect();
            profile::collapse(rows?)
        },
        sources: file
            .sources
            .into_iter()
            .map(
                |SourceFile {
                     path,
                     format,
                     bytes,
                 }| Source {
                    path,
                    format,
                    bytes,
                },
            )
            .collect(),
        timebase,
        by,
        quality: read_quality(file.quality)?,
    })
}

fn read_timebase(file: &TimebaseFile, tick: u64) -> Result<Timebase, String> {
    if tick == 0 {
        return Err("a tick of 0, expected 1 or more".into());
    }
    let unit = match file.unit.as_str() {
        "ns" => TickUnit::Seconds {
            numerator: tick,
            denominator: 1_000_000_000,
        },
        "cycles" => TickUnit::Cycles,
        "instructions" => TickUnit::Instructions,
        other => {
            return Err(format!(
                "unit is {other:?}, expected ns, cycles or instructions"
            ));
        }
    };
    if tick != 1 && !matches!(unit, TickUnit::Seconds { .. }) {
        return Err(format!("a tick of {tick} {}, expected 1", file.unit));
    }
    let timeline = match file.timeline.as_str() {
        "recorded" => Timeline::Recorded,
        "synthetic" => Timeline::Synthetic,
        other => {
            return Err(format!(
                "timeline is {other:?}, expected recorded or synthetic"
            ));
        }
    };
    let resolution = ticks("timebase", "resolution", file.resolution, tick)?;
    Ok(Timebase {
        unit,
        resolution: Ticks(resolution.max(1)),
        timeline,
    })
}

fn timeline_name(timeline: Timeline) -> &'static str {
    match timeline {
        Timeline::Recorded => "recorded",
        Timeline::Synthetic => "synthetic",
    }
}

/// A time of the file in ticks.
fn ticks(owner: &str, field: &str, time: u64, tick: u64) -> Result<u64, String> {
    if !time.is_multiple_of(tick) {
        return Err(format!(
            "{owner}: {field} is {time}, expected a multiple of the tick, {tick}"
        ));
    }
    Ok(time / tick)
}

fn read_quality(file: QualityFile) -> Result<Quality, String> {
    let mut quality = Quality {
        lost_events: file.lost_events,
        gaps: file.gaps,
        unmatched_exits: file.unmatched_exits,
        unclosed_entries: file.unclosed_entries,
        forced_exits: file.forced_exits,
        skipped_records: file.skipped_records,
        backwards: file.backwards,
        clamped: file.clamped,
        cut_records: file.cut_records,
        diagnostics: Vec::new(),
    };
    for diagnostic in file.diagnostics {
        quality.diagnostics.push(read_diagnostic(diagnostic)?);
    }
    quality.sort();
    Ok(quality)
}

fn read_diagnostic(file: DiagnosticFile) -> Result<Diagnostic, String> {
    let known = [
        Severity::Info,
        Severity::Warning,
        Severity::DataLoss,
        Severity::Error,
    ];
    let severity = known
        .into_iter()
        .find(|severity| severity.name() == file.severity);
    let sample = |SampleFile {
                      source,
                      offset,
                      line,
                      message,
                  }| Sample {
        place: Place {
            source,
            offset,
            line,
        },
        message,
    };
    Ok(Diagnostic {
        severity: severity.ok_or_else(|| {
            let (code, found) = (&file.code, &file.severity);
            format!("{code}: severity is {found:?}, expected info, warning, data-loss or error")
        })?,
        code: file.code,
        count: file.count,
        samples: file.samples.into_iter().map(sample).collect(),
    })
}

/// What the file says of one length of the calls of a function.
struct LengthsFile<'a> {
    name: &'static str,
    min: Option<u64>,
    avg: Option<u64>,
    max: Option<u64>,
    stddev: Option<u64>,
    sum: Option<u64>,
    squares: Option<&'a str>,
    histogram: Option<&'a str>,
}

fn read_row(file: FunctionFile, tick: u64) -> Result<Row, String> {
    let time = |field, time| ticks(&file.name, field, time, tick);
    let kind = match file.kind.as_deref() {
        None => None,
        Some(name) => Some(
            FuncKind::from_name(name)
                .ok_or_else(|| format!("{}: kind is {name:?}, expected a known one", file.name))?,
        ),
    };
    let net = LengthsFile {
        name: "net",
        min: file.net_min,
        avg: file.net_avg,
        max: file.net_max,
        stddev: file.net_stddev,
        sum: file.net_sum,
        squares: file.net_squares.as_deref(),
        histogram: file.histogram.as_deref(),
    };
    let elapsed = LengthsFile {
        name: "elapsed",
        min: file.elapsed_min,
        avg: file.elapsed_avg,
        max: file.elapsed_max,
        stddev: None,
        sum: file.elapsed_sum,
        squares: file.elapsed_squares.as_deref(),
        histogram: file.elapsed_histogram.as_deref(),
    };
    let is_idle = kind == Some(FuncKind::Idle);
    let stats = FuncStats {
        calls: file.calls,
        partial: file.partial,
        wall: time("wall", file.wall)?,
        off_cpu: time("off_cpu", file.off_cpu.unwrap_or(0))?,
        elapsed: time("elapsed", file.elapsed)?,
        net: time("net", file.net)?,
        stolen: time("stolen", file.stolen)?,
        idle: time(
            "idle",
            file.idle.unwrap_or(if is_idle { file.net } else { 0 }),
        )?,
        outermost: file
            .outermost
            .unwrap_or(file.calls.saturating_add(file.partial)),
        callees: file.callees.unwrap_or(0),
        descendants: file.descendants.unwrap_or(0),
        net_of_calls: read_lengths(&file, &net, tick)?,
        elapsed_of_calls: read_lengths(&file, &elapsed, tick)?,
    };
    Ok(Row {
        name: file.name,
        module: file.module,
        kind,
        stats,
    })
}

/// Reads one length; a file by another hand may have only the figures of the contract, from which
/// the sums are then made as well as they allow.
fn read_lengths(file: &FunctionFile, of: &LengthsFile<'_>, tick: u64) -> Result<Lengths, String> {
    if file.calls == 0 {
        return Ok(Lengths::default());
    }
    let what = |text: &str| format!("{}: {}_{text}", file.name, of.name);
    let avg = of
        .avg
        .ok_or_else(|| format!("{} is null, expected a number", what("avg")))?;
    let (min, max) = (of.min.unwrap_or(avg), of.max.unwrap_or(avg));
    if min > max {
        return Err(format!(
            "{} is {min}, expected at most {max}, the longest",
            what("min")
        ));
    }
    let time = |field, time| ticks(&file.name, &format!("{}_{field}", of.name), time, tick);
    let (avg, stddev) = (
        u128::from(avg / tick),
        u128::from(of.stddev.unwrap_or(0) / tick),
    );
    let squares = match of.squares {
        None => (avg * avg)
            .saturating_add(stddev * stddev)
            .saturating_mul(u128::from(file.calls)),
        Some(text) => text
            .parse()
            .map_err(|_| format!("{} is {text:?}, expected an integer", what("squares")))?,
    };
    let histogram = Histogram::decode(of.histogram.unwrap_or(""))
        .map_err(|problem| format!("{}: {problem}", what("histogram")))?;
    let sum = avg.saturating_mul(u128::from(file.calls));
    Ok(Lengths {
        sum: match of.sum {
            Some(sum) => time("sum", sum)?,
            None => u64::try_from(sum).unwrap_or(u64::MAX),
        },
        squares,
        min: time("min", min)?,
        max: time("max", max)?,
        histogram,
    })
}
