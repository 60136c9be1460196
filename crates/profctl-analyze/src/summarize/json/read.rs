//! File to profile. Files are untrusted: invalid values are refused, and missing fields are derived
//! from the others as far as possible.

use profctl_model::{DiagLog, FuncKind, Severity, TickUnit, Ticks, Timebase, Timeline};

use super::{
    DiagnosticFile, FunctionFile, PathsFile, ProfileFile, QualityFile, RunFile, SAME_HISTOGRAM,
    SourceFile, TimebaseFile,
};
use crate::summarize::call_graph::Between;
use crate::summarize::profile::collapse;
use crate::summarize::{
    By, CallGraph, Diagnostic, FuncStats, Histogram, Lengths, Profile, Quality, Row, RunNode,
    RunPaths, SavedRun, Source, Sums,
};

/// The profile in a file.
pub(super) fn profile(file: ProfileFile) -> Result<Profile, String> {
    let tick = file.timebase.tick.unwrap_or(1);
    let timebase = read_timebase(&file.timebase, tick)?;
    let by = match file.by.as_deref() {
        None => By::Function,
        Some(name) => By::from_name(name).ok_or_else(|| {
            format!("by is {name:?}, expected function, module, thread, cpu or kind")
        })?,
    };
    let totals = &file.totals;
    let capacity = totals.capacity.unwrap_or(totals.real.saturating_mul(totals.lanes));
    let functions = &file.functions;
    let call_graph = file.call_graph.as_deref().map(|edges| read_graph(edges, functions, tick));
    let call_graph = call_graph.transpose()?;
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
            let rows: Result<Vec<_>, _> =
                file.functions.into_iter().map(|function| read_row(function, tick)).collect();
            collapse(rows?)
        },
        sources: file
            .sources
            .into_iter()
            .map(|SourceFile { path, format, bytes }| Source { path, format, bytes })
            .collect(),
        timebase,
        by,
        call_graph,
        paths: file.paths.map(read_paths).transpose()?,
        runs: file.runs.map(|runs| runs.into_iter().map(read_run).collect()).transpose()?,
        quality: match file.quality {
            Some(quality) => read_quality(quality)?,
            None => Quality::of(&DiagLog::default()),
        },
    })
}

fn read_graph(
    edges: &[[u64; 4]],
    functions: &[FunctionFile],
    tick: u64,
) -> Result<CallGraph, String> {
    let names: Vec<_> =
        functions.iter().map(|one| (one.name.as_str(), one.module.as_deref())).collect();
    let place = |place: u64| {
        let known = usize::try_from(place).ok().filter(|&place| place < names.len());
        known.ok_or_else(|| format!("call_graph: no function {place}"))
    };
    let edge = |&[caller, callee, calls, net]: &[u64; 4]| {
        let between = Between { calls, net: ticks("call_graph", "net", net, tick)? };
        Ok((place(caller)?, place(callee)?, between))
    };
    let edges: Result<Vec<_>, String> = edges.iter().map(edge).collect();
    Ok(CallGraph::new(&names, edges?))
}

fn read_paths(file: PathsFile) -> Result<RunPaths, String> {
    let mut nodes = Vec::with_capacity(file.nodes.len());
    for (place, node) in file.nodes.into_iter().enumerate() {
        let [func, above, sums @ ..] = node;
        let [calls, partial, elapsed, net, elapsed_of_calls, net_of_calls, interrupted] = sums;
        let func = u32::try_from(func).ok().filter(|&func| (func as usize) < file.functions.len());
        let func =
            func.ok_or_else(|| format!("path {place} is of a function that is not listed"))?;
        // A caller comes before its callees.
        let above = u32::try_from(above).ok().filter(|&above| above as usize <= place);
        let above =
            above.ok_or_else(|| format!("path {place} has a caller that is not before it"))?;
        let sums =
            Sums { calls, partial, elapsed, net, elapsed_of_calls, net_of_calls, interrupted };
        nodes.push(RunNode { func, parent: above.checked_sub(1), sums });
    }
    Ok(RunPaths { funcs: file.functions, nodes })
}

fn read_run(file: RunFile) -> Result<SavedRun, String> {
    let RunFile { name, block, facts, profile: mut file } = file;
    // Runs have no runs; a file that says so could nest without end.
    file.runs = None;
    let profile = profile(file).map_err(|message| format!("run {name}: {message}"))?;
    Ok(SavedRun { name, block, facts, profile })
}

fn read_timebase(file: &TimebaseFile, tick: u64) -> Result<Timebase, String> {
    if tick == 0 {
        return Err("a tick of 0, expected 1 or more".into());
    }
    let unit = match file.unit.as_str() {
        "ns" => TickUnit::Seconds { numerator: tick, denominator: 1_000_000_000 },
        "cycles" => TickUnit::Cycles,
        "instructions" => TickUnit::Instructions,
        other => {
            return Err(format!("unit is {other:?}, expected ns, cycles or instructions"));
        }
    };
    if tick != 1 && !matches!(unit, TickUnit::Seconds { .. }) {
        return Err(format!("a tick of {tick} {}, expected 1", file.unit));
    }
    let timeline = Timeline::from_name(&file.timeline).ok_or_else(|| {
        format!("timeline is {:?}, expected recorded or synthetic", file.timeline)
    })?;
    let resolution = ticks("timebase", "resolution", file.resolution, tick)?;
    Ok(Timebase { unit, resolution: Ticks(resolution.max(1)), timeline })
}

/// A time of the file in ticks.
fn ticks(owner: &str, field: &str, time: u64, tick: u64) -> Result<u64, String> {
    if !time.is_multiple_of(tick) {
        return Err(format!("{owner}: {field} is {time}, expected a multiple of the tick, {tick}"));
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
        damaged: file.damaged,
        diagnostics: Vec::new(),
    };
    for diagnostic in file.diagnostics {
        quality.diagnostics.push(read_diagnostic(diagnostic)?);
    }
    quality.sort();
    Ok(quality)
}

fn read_diagnostic(file: DiagnosticFile) -> Result<Diagnostic, String> {
    let known = [Severity::Info, Severity::Warning, Severity::DataLoss, Severity::Error];
    let severity = known.into_iter().find(|severity| severity.name() == file.severity);
    Ok(Diagnostic {
        severity: severity.ok_or_else(|| {
            let (code, found) = (&file.code, &file.severity);
            format!("{code}: severity is {found:?}, expected info, warning, data-loss or error")
        })?,
        code: file.code,
        count: file.count,
        samples: file.samples.into_iter().map(Into::into).collect(),
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
        histogram: match file.elapsed_histogram.as_deref() {
            Some(SAME_HISTOGRAM) => file.histogram.as_deref(),
            other => other,
        },
    };
    let is_idle = kind == Some(FuncKind::Idle);
    let stats = FuncStats {
        calls: file.calls,
        counted: counted(&file),
        partial: file.partial,
        wall: time("wall", file.wall)?,
        off_cpu: time("off_cpu", file.off_cpu.unwrap_or(0))?,
        elapsed: time("elapsed", file.elapsed)?,
        net: time("net", file.net)?,
        stolen: time("stolen", file.stolen)?,
        interrupted: time("interrupted", file.interrupted.unwrap_or(0))?,
        idle: time("idle", file.idle.unwrap_or(if is_idle { file.net } else { 0 }))?,
        outermost: file.outermost.unwrap_or(file.calls.saturating_add(file.partial)),
        callees: file.callees.unwrap_or(0),
        descendants: file.descendants.unwrap_or(0),
        net_of_calls: read_lengths(&file, &net, tick)?,
        elapsed_of_calls: read_lengths(&file, &elapsed, tick)?,
    };
    Ok(Row { name: file.name, module: file.module, kind, stats })
}

/// How many of the calls have no length.
fn counted(file: &FunctionFile) -> u64 {
    file.counted.unwrap_or(0).min(file.calls)
}

/// Reads one length; a file of another program may have only the documented fields; the sums are
/// then derived from them as far as possible.
fn read_lengths(file: &FunctionFile, of: &LengthsFile<'_>, tick: u64) -> Result<Lengths, String> {
    let calls = file.calls - counted(file);
    if calls == 0 {
        return Ok(Lengths::default());
    }
    let what = |text: &str| format!("{}: {}_{text}", file.name, of.name);
    let avg = of.avg.ok_or_else(|| format!("{} is null, expected a number", what("avg")))?;
    let (min, max) = (of.min.unwrap_or(avg), of.max.unwrap_or(avg));
    if min > max {
        return Err(format!("{} is {min}, expected at most {max}, the longest", what("min")));
    }
    let time = |field, time| ticks(&file.name, &format!("{}_{field}", of.name), time, tick);
    let (avg, stddev) = (u128::from(avg / tick), u128::from(of.stddev.unwrap_or(0) / tick));
    let squares = match of.squares {
        None => (avg * avg).saturating_add(stddev * stddev).saturating_mul(u128::from(calls)),
        Some(text) => text
            .parse()
            .map_err(|_| format!("{} is {text:?}, expected an integer", what("squares")))?,
    };
    let histogram = Histogram::decode(of.histogram.unwrap_or(""))
        .map_err(|problem| format!("{}: {problem}", what("histogram")))?;
    let sum = avg.saturating_mul(u128::from(calls));
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
