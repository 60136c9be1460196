//! Comparisons and judgements as files: `profctl.diff/1` and `profctl.gate/1`, described in
//! `docs/schemas/`.

use profctl_model::FuncKind;
use serde::Serialize;

use super::gate::{Judgement, Limit, Policy, Spent};
use super::json_fields::{
    BudgetFile, CauseFile, ChargedFile, ComponentsFile, CountsFile, DIFF, DiffFile, ExcusedFile,
    FunctionFile, GATE, GateFile, GlobalFile, MatchedCountFile, MovedFile, OddFile, PlanFile,
    QualityFile, RenameFile, RunFile, SensitivitiesFile, SideFile, SourceFile, StatsFile, TailFile,
    TestFile, TestsFile, TimebaseFile, TotalsFile, WarningFile, WholeFile,
};
use super::notes::BLOCK_COST;
use super::stats::{self, Components, Tested};
use super::table::{chances, matched_as};
use super::types::{Comparison, Function, MatchedBy, SideSummary, Tail};
use super::{Measure, SideStats, Verdict};

impl Comparison {
    /// The comparison as `profctl.diff/1`, on one line.
    pub fn to_json(&self) -> String {
        let file = DiffFile {
            schema: DIFF,
            before: side(&self.before),
            after: side(&self.after),
            timebase: timebase(self),
            whole: whole(self),
            global: global(self),
            interval: self.interval.name(),
            replicate: self.replicate.name(),
            confounded: self.confounded,
            components: self.components.as_ref().map(components),
            margin: self.margin,
            fdr: self.fdr,
            sensitivity: self.sensitivity.and_then(finite),
            sensitivities: {
                let [net, total, elapsed] =
                    self.sensitivities.map(|sensitivity| sensitivity.and_then(finite));
                SensitivitiesFile { net, total, elapsed }
            },
            plan: plan(self),
            comparability: warnings(self),
            odd_runs: odd(self),
            retracted: retracted(self),
            counts: counts(self),
            matched: matched(self),
            renames: self
                .renames
                .iter()
                .map(|rename| RenameFile { before: &rename.before, after: &rename.after })
                .collect(),
            moved: self
                .moved
                .iter()
                .map(|moved| MovedFile {
                    kind: if moved.inlined { "inlined" } else { "outlined" },
                    callee: &moved.callee,
                    caller: &moved.caller,
                    net: moved.net,
                    caller_delta_net: moved.caller_delta,
                })
                .collect(),
            functions: self.changed().map(function).collect(),
        };
        text(&file)
    }

    /// The judgement on this comparison as `profctl.gate/1`. `policy` is what was asked for, and
    /// `exit_code` how the program ends.
    pub fn to_gate_json(
        &self,
        judgement: &Judgement,
        judged_by: &Policy,
        policy: &serde_json::Value,
        exit_code: u8,
    ) -> String {
        let file = GateFile {
            schema: GATE,
            verdict: judgement.answer.name(),
            exit_code,
            baseline: &self.before.name,
            candidate: &self.after.name,
            reasons: &judgement.reasons,
            policy,
            before: side(&self.before),
            after: side(&self.after),
            timebase: timebase(self),
            whole: whole(self),
            global: global(self),
            interval: self.interval.name(),
            sensitivity: self.sensitivity.and_then(finite),
            plan: plan(self),
            comparability: warnings(self),
            odd_runs: odd(self),
            retracted: retracted(self),
            counts: counts(self),
            excused: judgement
                .excused
                .iter()
                .map(|(at, excuse)| {
                    let function = self.functions[*at].name.as_str();
                    let standing = judged_by.standings.get(function);
                    ExcusedFile {
                        function,
                        why: excuse.name(),
                        reason: excuse.text(),
                        owner: standing.and_then(|standing| standing.owner.as_deref()),
                    }
                })
                .collect(),
            budgets: judgement.budgets.iter().map(budget).collect(),
            rows: judgement.offending.iter().map(|&at| function(&self.functions[at])).collect(),
        };
        text(&file)
    }
}

fn text(file: &impl Serialize) -> String {
    let json = serde_json::to_string(file);
    json.expect("only strings, integers and finite numbers") + "\n"
}

/// JSON has no number for what is not one.
fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

fn side(side: &SideSummary) -> SideFile<'_> {
    let (profile, quality) = (&side.profile, &side.profile.quality);
    SideFile {
        name: &side.name,
        sources: profile
            .sources
            .iter()
            .map(|source| SourceFile {
                path: &source.path,
                format: &source.format,
                bytes: source.bytes,
            })
            .collect(),
        runs: side
            .runs
            .iter()
            .map(|(name, block)| RunFile { name, block: block.as_deref() })
            .collect(),
        blocks: side.n_blocks,
        skipped: side.skipped,
        totals: TotalsFile {
            real: profile.real,
            lanes: profile.lanes,
            busy: profile.busy(),
            idle: profile.idle(),
            calls: profile.calls(),
            partial: profile.partial(),
            events: profile.events,
            functions: profile.n_functions,
            threads: profile.n_threads,
        },
        quality: QualityFile {
            complete: quality.is_complete(),
            lost_events: quality.lost_events,
            gaps: quality.gaps,
            unmatched_exits: quality.unmatched_exits,
            unclosed_entries: quality.unclosed_entries,
            forced_exits: quality.forced_exits,
            skipped_records: quality.skipped_records,
            backwards: quality.backwards,
            clamped: quality.clamped,
            cut_records: quality.cut_records,
        },
    }
}

fn timebase(comparison: &Comparison) -> TimebaseFile {
    let timebase = &comparison.timebase;
    TimebaseFile {
        unit: timebase.unit_name(),
        resolution: timebase.resolution.0,
        timeline: timebase.timeline.name(),
    }
}

fn global(comparison: &Comparison) -> Option<GlobalFile> {
    comparison.global.map(|global| GlobalFile {
        ratio: global.factor.exp2(),
        ci_low: finite(global.ci_low.exp2()),
        ci_high: finite(global.ci_high.exp2()),
        p: finite(global.p),
        verdict: Verdict::from(global.verdict).name(),
        normalized: global.normalized,
    })
}

fn components(components: &Components) -> ComponentsFile {
    ComponentsFile {
        between_share: components.between_share(),
        runs_per_block: components.runs,
        runs_advised: components.runs_advised(BLOCK_COST),
    }
}

fn whole(comparison: &Comparison) -> WholeFile<'_> {
    let whole = &comparison.whole;
    WholeFile {
        busy_before: whole.busy[0],
        busy_after: whole.busy[1],
        calls_before: whole.calls[0],
        calls_after: whole.calls[1],
        ratio: whole.ratio(),
        verdict: whole.verdict.name(),
        busy: whole.busy_tested.as_ref().map(test),
        calls: whole.calls_tested.as_ref().map(test),
        causes: whole
            .causes
            .iter()
            .map(|cause| CauseFile {
                name: &cause.name,
                why: cause.why.name(),
                delta_net: cause.delta,
                caller: cause.caller.as_deref(),
            })
            .collect(),
    }
}

fn plan(comparison: &Comparison) -> Option<PlanFile> {
    comparison.plan.map(|plan| PlanFile { more: plan.more, found: finite(plan.found) })
}

fn odd(comparison: &Comparison) -> Vec<OddFile<'_>> {
    let mut files = Vec::new();
    for super::Odd { after, run, ratio } in &comparison.odd {
        let side = if *after { "after" } else { "before" };
        files.push(OddFile { run, side, ratio: finite(*ratio) });
    }
    files
}

fn retracted(comparison: &Comparison) -> Vec<&str> {
    comparison.retracted().map(|function| function.name.as_str()).collect()
}

fn warnings(comparison: &Comparison) -> Vec<WarningFile<'_>> {
    comparison
        .warnings
        .iter()
        .map(|warning| WarningFile {
            code: warning.code,
            message: &warning.message,
            veto: warning.veto,
            confounds: warning.confounds,
        })
        .collect()
}

fn counts(comparison: &Comparison) -> CountsFile {
    let count = |verdict| comparison.count(verdict);
    CountsFile {
        tested: comparison.tested,
        unchanged: comparison.unchanged,
        regressed: count(Verdict::Regressed),
        suspect: count(Verdict::Suspect),
        improved: count(Verdict::Improved),
        equivalent: count(Verdict::Equivalent),
        inconclusive: count(Verdict::Inconclusive),
        not_tested: count(Verdict::NotTested),
        new: count(Verdict::New),
        gone: count(Verdict::Gone),
    }
}

fn matched(comparison: &Comparison) -> Vec<MatchedCountFile> {
    let of = |by: MatchedBy| {
        let (rows, names) = comparison.n_matched(by);
        (rows > 0).then_some(MatchedCountFile { by: by.name(), rows, names })
    };
    MatchedBy::ALL.into_iter().filter_map(of).collect()
}

fn function(function: &Function) -> FunctionFile<'_> {
    let (p, q) = chances(function);
    let matched = function.matched.as_ref();
    let tested = function.tested();
    FunctionFile {
        name: &function.name,
        module: function.module.as_deref(),
        kind: function.kind.map(FuncKind::name),
        before: stats(&function.before),
        after: stats(&function.after),
        delta_net: function.parts.delta_net,
        delta_from_calls: function.parts.from_calls,
        delta_from_cost: function.parts.from_cost,
        measure: function.measure.name(),
        ratio: function.ratio.and_then(finite),
        ci_low: function.interval.and_then(|ends| finite(ends.0)),
        ci_high: function.interval.and_then(|ends| finite(ends.1)),
        p,
        q,
        verdict: function.verdict.name(),
        runs_needed: tested.and_then(|tested| tested.runs_needed),
        matched_as: matched_as(function),
        matched_by: matched.map(|matched| matched.by.name()),
        names_before: matched.map(|matched| matched.before.as_slice()),
        names_after: matched.map(|matched| matched.after.as_slice()),
        moved: function.moved.as_deref(),
        charged: function
            .charged
            .as_ref()
            .map(|one| ChargedFile { caller: &one.caller, tested: test(&one.tested) }),
        flags: tested.map_or_else(Vec::new, flags),
        p99: function.tail.as_ref().map(tail),
        tests: function.was_tested().then(|| {
            let of = |measure: Measure| {
                let tested = function.tests[measure.index()].as_ref();
                tested.filter(|t| t.verdict != stats::Verdict::NotTested).map(test)
            };
            TestsFile {
                net: of(Measure::Net),
                total: of(Measure::Total),
                elapsed: of(Measure::Elapsed),
            }
        }),
    }
}

fn tail(tail: &Tail) -> TailFile<'_> {
    TailFile {
        before: &tail.before,
        after: &tail.after,
        ratio: tail.ratio,
        ci_low: tail.interval.and_then(|ends| finite(ends.0)),
        ci_high: tail.interval.and_then(|ends| finite(ends.1)),
    }
}

/// Warnings about the verdict.
pub(super) fn flags(tested: &Tested) -> Vec<&'static str> {
    let all = [
        (tested.disagrees, "ranks-disagree"),
        (tested.unequal_variance, "unequal-variance"),
        (tested.bimodal, "bimodal"),
    ];
    all.into_iter().filter(|flag| flag.0).map(|flag| flag.1).collect()
}

fn stats(side: &SideStats) -> StatsFile {
    StatsFile {
        calls: side.calls,
        net: side.net,
        net_avg: side.net_avg(),
        elapsed: side.elapsed,
        elapsed_avg: side.elapsed_avg(),
        runs: side.runs,
        calls_total: side.total.calls,
        partial_total: side.total.partial,
        net_total: side.total.net,
    }
}

fn test(tested: &Tested) -> TestFile {
    TestFile {
        verdict: Verdict::from(tested.verdict).name(),
        ratio: finite(tested.estimate.exp2()),
        ci_low: finite(tested.ci_low.exp2()),
        ci_high: finite(tested.ci_high.exp2()),
        p: finite(tested.p),
        q: finite(tested.q),
        q_regressed: finite(tested.q_regressed),
        q_improved: finite(tested.q_improved),
        q_equivalent: finite(tested.q_equivalent),
        q_dealt: finite(tested.q_dealt),
        retracted: tested.retracted,
        single_call: tested.single_call,
        p_ranks: tested.p_ranks.and_then(finite),
        sensitivity: finite(tested.mde.exp2() - 1.0),
        runs_needed: tested.runs_needed,
    }
}

fn budget(spent: &Spent) -> BudgetFile<'_> {
    let (limit, limit_ratio) = match spent.budget.limit {
        Limit::Time(most) | Limit::Calls(most) => (Some(most), None),
        Limit::Ratio(most) => (None, Some(most)),
    };
    BudgetFile {
        function: &spent.budget.function,
        what: spent.budget.what.name(),
        limit,
        limit_ratio,
        before: spent.before,
        after: spent.after,
        state: spent.state.name(),
    }
}
