//! Profile to file. What follows from other figures is worked out here.

use profctl_model::hash::FastMap;

use super::{
    FunctionFile, PathsFile, ProfileFile, QualityFile, RunFile, SAME_HISTOGRAM, SCHEMA, SourceFile,
    TimebaseFile, TotalsFile,
};
use crate::summarize::call_graph::Between;
use crate::summarize::{
    CallGraph, FuncStats, Lengths, Profile, Quality, Row, RunNode, RunPaths, SavedRun, Sums,
};

/// The file of a profile whose tick is `tick` reported units.
pub(super) fn file(profile: &Profile, tick: u64) -> ProfileFile {
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
            timeline: profile.timebase.timeline.name().into(),
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
        quality: Some(write_quality(&profile.quality)),
        functions: profile.rows.iter().map(|row| write_row(profile, row, busy, tick)).collect(),
        call_graph: profile.call_graph.as_ref().map(|graph| write_graph(graph, profile, tick)),
        by: Some(profile.by.name().into()),
        runs: profile.runs.as_ref().map(|runs| runs.iter().map(write_run).collect()),
        paths: profile.paths.as_ref().filter(|_| profile.runs.is_none()).map(write_paths),
    }
}

fn write_graph(graph: &CallGraph, profile: &Profile, tick: u64) -> Vec<[u64; 4]> {
    let rows = profile.rows.iter().zip(0_u64..);
    let places: FastMap<_, u64> =
        rows.map(|(row, place)| ((row.name.as_str(), row.module.as_deref()), place)).collect();
    let edge = |(caller, callee, between): (_, _, Between)| {
        let Between { calls, net } = between;
        Some([*places.get(&caller)?, *places.get(&callee)?, calls, net.saturating_mul(tick)])
    };
    graph.iter().filter_map(edge).collect()
}

fn write_paths(paths: &RunPaths) -> PathsFile {
    let node = |node: &RunNode| {
        let Sums { calls, partial, elapsed, net, elapsed_of_calls, net_of_calls, interrupted } =
            node.sums;
        let (func, above) = (node.func.into(), node.parent.map_or(0, |above| u64::from(above) + 1));
        [func, above, calls, partial, elapsed, net, elapsed_of_calls, net_of_calls, interrupted]
    };
    PathsFile { functions: paths.funcs.clone(), nodes: paths.nodes.iter().map(node).collect() }
}

fn write_run(run: &SavedRun) -> RunFile {
    let SavedRun { name, block, facts, profile } = run;
    let (name, block, facts) = (name.clone(), block.clone(), facts.clone());
    RunFile { name, block, facts, profile: profile.to_file() }
}

pub(super) fn write_quality(quality: &Quality) -> QualityFile {
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
        diagnostics: quality.diagnostics.iter().map(Into::into).collect(),
        cut_records: quality.cut_records,
        damaged: quality.damaged,
    }
}

fn write_row(profile: &Profile, row: &Row, busy: u64, tick: u64) -> FunctionFile {
    let stats = &row.stats;
    let time = |ticks: u64| ticks.saturating_mul(tick);
    let some = |ticks: Option<u64>| ticks.map(time);
    let kept = profile.has_percentiles;
    let (net, elapsed) = (&stats.net_of_calls, &stats.elapsed_of_calls);
    let percentile = |of: &Lengths, percent| some(of.percentile(percent).filter(|_| kept));
    let of_calls = |ticks| (stats.measured() > 0).then_some(time(ticks));
    // Six decimals distinguish any two functions and keep the file small.
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
        interrupted: Some(time(stats.interrupted)),
        net_min: of_calls(net.min),
        net_avg: some(net.avg(stats.measured())),
        net_max: of_calls(net.max),
        net_stddev: some(net.stddev(stats.measured())),
        net_p50: percentile(net, 50.0),
        net_p90: percentile(net, 90.0),
        net_p99: percentile(net, 99.0),
        elapsed_min: of_calls(elapsed.min),
        elapsed_avg: some(elapsed.avg(stats.measured())),
        elapsed_max: of_calls(elapsed.max),
        elapsed_p50: percentile(elapsed, 50.0),
        elapsed_p90: percentile(elapsed, 90.0),
        elapsed_p99: percentile(elapsed, 99.0),
        real_pct: percent(profile.real_pct(row)),
        net_pct: percent(profile.net_pct(row, busy)),
        histogram: kept.then(|| net.histogram.encode()),
        elapsed_histogram: kept.then(|| elapsed_histogram(stats)),
        net_sum: Some(time(net.sum)),
        net_squares: Some(net.squares.to_string()),
        elapsed_sum: Some(time(elapsed.sum)),
        elapsed_squares: Some(elapsed.squares.to_string()),
        counted: Some(stats.counted),
        idle: Some(time(stats.idle)),
        outermost: Some(stats.outermost),
        callees: Some(stats.callees),
        descendants: Some(stats.descendants),
    }
}

/// The histogram of elapsed times; the sign for "as that of net", where a function calls nothing.
fn elapsed_histogram(stats: &FuncStats) -> String {
    let (net, elapsed) = (&stats.net_of_calls.histogram, &stats.elapsed_of_calls.histogram);
    if net == elapsed && elapsed.count() > 0 {
        return SAME_HISTOGRAM.into();
    }
    elapsed.encode()
}
