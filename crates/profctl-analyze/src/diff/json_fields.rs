//! The fields of `profctl.diff/1` and `profctl.gate/1`, in their order.

use serde::Serialize;

pub(super) const DIFF: &str = "profctl.diff/1";
pub(super) const GATE: &str = "profctl.gate/1";

#[derive(Serialize)]
pub(super) struct DiffFile<'a> {
    pub(super) schema: &'static str,
    pub(super) before: SideFile<'a>,
    pub(super) after: SideFile<'a>,
    pub(super) timebase: TimebaseFile,
    pub(super) whole: WholeFile<'a>,
    pub(super) global: Option<GlobalFile>,
    pub(super) interval: &'static str,
    pub(super) replicate: &'static str,
    pub(super) confounded: bool,
    pub(super) components: Option<ComponentsFile>,
    pub(super) margin: f64,
    pub(super) fdr: f64,
    pub(super) sensitivity: Option<f64>,
    pub(super) sensitivities: SensitivitiesFile,
    pub(super) plan: Option<PlanFile>,
    pub(super) comparability: Vec<WarningFile<'a>>,
    pub(super) odd_runs: Vec<OddFile<'a>>,
    pub(super) retracted: Vec<&'a str>,
    pub(super) counts: CountsFile,
    pub(super) matched: Vec<MatchedCountFile>,
    pub(super) renames: Vec<RenameFile<'a>>,
    pub(super) moved: Vec<MovedFile<'a>>,
    pub(super) functions: Vec<FunctionFile<'a>>,
}

#[derive(Serialize)]
pub(super) struct GateFile<'a> {
    pub(super) schema: &'static str,
    pub(super) verdict: &'static str,
    pub(super) exit_code: u8,
    pub(super) baseline: &'a str,
    pub(super) candidate: &'a str,
    pub(super) reasons: &'a [String],
    pub(super) policy: &'a serde_json::Value,
    pub(super) before: SideFile<'a>,
    pub(super) after: SideFile<'a>,
    pub(super) timebase: TimebaseFile,
    pub(super) whole: WholeFile<'a>,
    pub(super) global: Option<GlobalFile>,
    pub(super) interval: &'static str,
    pub(super) sensitivity: Option<f64>,
    pub(super) plan: Option<PlanFile>,
    pub(super) comparability: Vec<WarningFile<'a>>,
    pub(super) odd_runs: Vec<OddFile<'a>>,
    pub(super) retracted: Vec<&'a str>,
    pub(super) counts: CountsFile,
    pub(super) excused: Vec<ExcusedFile<'a>>,
    pub(super) budgets: Vec<BudgetFile<'a>>,
    pub(super) rows: Vec<FunctionFile<'a>>,
}

#[derive(Serialize)]
pub(super) struct SideFile<'a> {
    pub(super) name: &'a str,
    pub(super) sources: Vec<SourceFile<'a>>,
    pub(super) runs: Vec<RunFile<'a>>,
    pub(super) blocks: u32,
    pub(super) skipped: u64,
    pub(super) totals: TotalsFile,
    pub(super) quality: QualityFile,
}

#[derive(Serialize)]
pub(super) struct SourceFile<'a> {
    pub(super) path: &'a str,
    pub(super) format: &'a str,
    pub(super) bytes: u64,
}

#[derive(Serialize)]
pub(super) struct RunFile<'a> {
    pub(super) name: &'a str,
    pub(super) block: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct TotalsFile {
    pub(super) real: u64,
    pub(super) lanes: u64,
    pub(super) busy: u64,
    pub(super) idle: u64,
    pub(super) calls: u64,
    pub(super) partial: u64,
    pub(super) events: u64,
    pub(super) functions: u64,
    pub(super) threads: u64,
}

#[derive(Serialize)]
pub(super) struct QualityFile {
    pub(super) complete: bool,
    pub(super) lost_events: Option<u64>,
    pub(super) gaps: u64,
    pub(super) unmatched_exits: u64,
    pub(super) unclosed_entries: u64,
    pub(super) forced_exits: u64,
    pub(super) skipped_records: u64,
    pub(super) backwards: u64,
    pub(super) clamped: u64,
    pub(super) cut_records: u64,
}

#[derive(Serialize)]
pub(super) struct TimebaseFile {
    pub(super) unit: &'static str,
    pub(super) resolution: u64,
    pub(super) timeline: &'static str,
}

#[derive(Serialize)]
pub(super) struct GlobalFile {
    pub(super) ratio: f64,
    pub(super) ci_low: Option<f64>,
    pub(super) ci_high: Option<f64>,
    pub(super) p: Option<f64>,
    pub(super) verdict: &'static str,
    pub(super) normalized: bool,
}

#[derive(Serialize)]
pub(super) struct WholeFile<'a> {
    pub(super) busy_before: u64,
    pub(super) busy_after: u64,
    pub(super) calls_before: u64,
    pub(super) calls_after: u64,
    pub(super) ratio: Option<f64>,
    pub(super) verdict: &'static str,
    pub(super) busy: Option<TestFile>,
    pub(super) calls: Option<TestFile>,
    pub(super) causes: Vec<CauseFile<'a>>,
}

#[derive(Serialize)]
pub(super) struct CauseFile<'a> {
    pub(super) name: &'a str,
    pub(super) why: &'static str,
    pub(super) delta_net: i64,
    pub(super) caller: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct SensitivitiesFile {
    pub(super) net: Option<f64>,
    pub(super) total: Option<f64>,
    pub(super) elapsed: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct PlanFile {
    pub(super) more: u32,
    pub(super) found: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct OddFile<'a> {
    pub(super) run: &'a str,
    pub(super) side: &'static str,
    pub(super) ratio: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct ExcusedFile<'a> {
    pub(super) function: &'a str,
    pub(super) why: &'static str,
    pub(super) reason: String,
    pub(super) owner: Option<&'a str>,
}

#[derive(Serialize)]
pub(super) struct ComponentsFile {
    pub(super) between_share: f64,
    pub(super) runs_per_block: f64,
    pub(super) runs_advised: Option<u32>,
}

#[derive(Serialize)]
pub(super) struct WarningFile<'a> {
    pub(super) code: &'static str,
    pub(super) message: &'a str,
    pub(super) veto: bool,
    pub(super) confounds: bool,
}

/// How many functions have which verdict; `unchanged` ones are in none of the others.
#[derive(Serialize)]
pub(super) struct CountsFile {
    pub(super) tested: u64,
    pub(super) unchanged: u64,
    pub(super) regressed: u64,
    pub(super) suspect: u64,
    pub(super) improved: u64,
    pub(super) equivalent: u64,
    pub(super) inconclusive: u64,
    #[serde(rename = "not-tested")]
    pub(super) not_tested: u64,
    pub(super) new: u64,
    pub(super) gone: u64,
}

#[derive(Serialize)]
pub(super) struct MatchedCountFile {
    pub(super) by: &'static str,
    pub(super) rows: u64,
    pub(super) names: u64,
}

#[derive(Serialize)]
pub(super) struct RenameFile<'a> {
    pub(super) before: &'a str,
    pub(super) after: &'a str,
}

#[derive(Serialize)]
pub(super) struct MovedFile<'a> {
    pub(super) kind: &'static str,
    pub(super) callee: &'a str,
    pub(super) caller: &'a str,
    pub(super) net: u64,
    pub(super) caller_delta_net: i64,
}

#[derive(Serialize)]
pub(super) struct FunctionFile<'a> {
    pub(super) name: &'a str,
    pub(super) module: Option<&'a str>,
    pub(super) kind: Option<&'static str>,
    pub(super) before: StatsFile,
    pub(super) after: StatsFile,
    pub(super) delta_net: i64,
    pub(super) delta_from_calls: i64,
    pub(super) delta_from_cost: i64,
    pub(super) measure: &'static str,
    pub(super) ratio: Option<f64>,
    pub(super) ci_low: Option<f64>,
    pub(super) ci_high: Option<f64>,
    pub(super) p: Option<f64>,
    pub(super) q: Option<f64>,
    pub(super) verdict: &'static str,
    pub(super) runs_needed: Option<u32>,
    pub(super) matched_as: Option<String>,
    pub(super) matched_by: Option<&'static str>,
    pub(super) names_before: Option<&'a [String]>,
    pub(super) names_after: Option<&'a [String]>,
    pub(super) moved: Option<&'a str>,
    pub(super) charged: Option<ChargedFile<'a>>,
    pub(super) flags: Vec<&'static str>,
    pub(super) p99: Option<TailFile<'a>>,
    pub(super) tests: Option<TestsFile>,
}

#[derive(Serialize)]
pub(super) struct StatsFile {
    pub(super) calls: u64,
    pub(super) net: u64,
    pub(super) net_avg: Option<u64>,
    pub(super) elapsed: u64,
    pub(super) elapsed_avg: Option<u64>,
    pub(super) runs: u32,
    pub(super) calls_total: u64,
    pub(super) partial_total: u64,
    pub(super) net_total: u64,
}

#[derive(Serialize)]
pub(super) struct TailFile<'a> {
    pub(super) before: &'a [u64],
    pub(super) after: &'a [u64],
    pub(super) ratio: f64,
    pub(super) ci_low: Option<f64>,
    pub(super) ci_high: Option<f64>,
}

#[derive(Serialize)]
pub(super) struct TestsFile {
    pub(super) net: Option<TestFile>,
    pub(super) total: Option<TestFile>,
    pub(super) elapsed: Option<TestFile>,
}

#[derive(Serialize)]
pub(super) struct ChargedFile<'a> {
    pub(super) caller: &'a str,
    #[serde(flatten)]
    pub(super) tested: TestFile,
}

#[derive(Serialize)]
pub(super) struct TestFile {
    pub(super) verdict: &'static str,
    pub(super) ratio: Option<f64>,
    pub(super) ci_low: Option<f64>,
    pub(super) ci_high: Option<f64>,
    pub(super) p: Option<f64>,
    pub(super) q: Option<f64>,
    pub(super) q_regressed: Option<f64>,
    pub(super) q_improved: Option<f64>,
    pub(super) q_equivalent: Option<f64>,
    pub(super) q_dealt: Option<f64>,
    pub(super) retracted: bool,
    pub(super) single_call: bool,
    pub(super) p_ranks: Option<f64>,
    pub(super) sensitivity: Option<f64>,
    pub(super) runs_needed: Option<u32>,
}

#[derive(Serialize)]
pub(super) struct BudgetFile<'a> {
    pub(super) function: &'a str,
    pub(super) what: &'static str,
    pub(super) limit: Option<u64>,
    pub(super) limit_ratio: Option<f64>,
    pub(super) before: Option<u64>,
    pub(super) after: Option<u64>,
    pub(super) state: &'static str,
}
