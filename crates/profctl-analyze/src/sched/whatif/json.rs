//! Variants as a document: `profctl.whatif/1`, described in `docs/schemas/whatif-1.md`.

use profctl_model::Ticks;
use serde_json::{Value, json};

use super::{Program, Recorded, Scenario, WhatIf, error_pct};

/// The document. Integers are nanoseconds, or counts where the clock counts something else.
pub fn document(whatif: &WhatIf) -> String {
    let timebase = &whatif.workload.timebase;
    let length = |ticks: Ticks| timebase.reported(ticks);
    let thread = |(program, sums): (&Program, &Recorded)| -> Value {
        json!({
            "tid": program.tid,
            "thread": program.name,
            "endless": program.is_endless(),
            "first_run": sums.first_run.map(length),
            "finish": length(sums.finish),
            "run": length(sums.run),
            "runnable": length(sums.runnable),
            "blocked": length(sums.blocked),
            "switches": sums.switches,
            "bursts": sums.bursts,
            "response_avg": sums.response.0.checked_div(sums.bursts).map(|avg| length(Ticks(avg))),
            "response_max": length(sums.response_max),
        })
    };
    let programs = &whatif.workload.programs;
    let scenario = |scenario: &Scenario| -> Value {
        let (policy, outcome) = (&scenario.policy, &scenario.outcome);
        json!({
            "quantum": policy.quantum.map(length),
            "wake": policy.wake.name(),
            "cost": length(policy.cost),
            "cpus": policy.cpus,
            "makespan": length(outcome.makespan),
            "switches": outcome.switches,
            "lost": length(outcome.lost),
            "fairness": outcome.fairness(),
            "released": outcome.released,
            "threads": programs.iter().zip(&outcome.threads).map(thread).collect::<Vec<_>>(),
        })
    };
    let calibration = whatif.model.as_ref().map(|model| {
        let threads = programs.iter().zip(&model.outcome.threads).map(|(program, model)| {
            let recorded = &program.recorded;
            json!({
                "tid": program.tid,
                "thread": program.name,
                "recorded": length(recorded.finish),
                "finish": length(model.finish),
                "error_pct": error_pct(recorded.finish, model.finish),
                "recorded_response": length(recorded.response),
                "response": length(model.response),
            })
        });
        json!({
            "quantum": model.policy.quantum.map(length),
            "wake": model.policy.wake.name(),
            "cpus": model.policy.cpus,
            "makespan": length(model.outcome.makespan),
            "recorded": length(whatif.recorded),
            "error_pct": error_pct(whatif.recorded, model.outcome.makespan),
            "threads": threads.collect::<Vec<_>>(),
        })
    });
    let document = json!({
        "schema": "profctl.whatif/1",
        "timebase": {"unit": timebase.unit_name()},
        "calibration": calibration,
        "scenarios": whatif.variants.iter().map(scenario).collect::<Vec<_>>(),
    });
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}
