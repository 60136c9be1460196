//! What threads were doing, from the definitions.

use std::collections::BTreeMap;

use super::{Execution, Leaves, What};

/// How long each thread was in each state, by the names of [`profctl_model::RunState`], from the
/// first to the last record. For executions without losses.
pub fn states(execution: &Execution) -> BTreeMap<usize, BTreeMap<&'static str, u64>> {
    let records = &execution.records;
    let (Some(first), Some(last)) = (records.first(), records.last()) else {
        return BTreeMap::new();
    };
    let mut all: BTreeMap<usize, BTreeMap<&'static str, u64>> = BTreeMap::new();
    for thread in 0..execution.n_threads {
        let mut state = "unknown";
        let mut since = first.time;
        let mut is_known = false;
        let mut change = |time: u64, now: &mut &'static str, next: &'static str| {
            if time > since {
                *all.entry(thread).or_default().entry(*now).or_default() += time - since;
            }
            (since, *now) = (time, next);
        };
        for record in records {
            match record.what {
                What::Switch { prev, leaves, .. } if prev == Some(thread) => {
                    is_known = true;
                    let next = match leaves {
                        Leaves::Runnable => "runnable-preempted",
                        Leaves::Sleeping => "sleeping",
                        Leaves::Uninterruptible => "uninterruptible",
                    };
                    change(record.time, &mut state, next);
                }
                What::Switch { next, .. } if next == Some(thread) => {
                    is_known = true;
                    change(record.time, &mut state, "running");
                }
                What::Wake(woken) if woken == thread => {
                    is_known = true;
                    change(record.time, &mut state, "runnable-woken");
                }
                _ => {}
            }
        }
        if is_known {
            change(last.time, &mut state, "unknown");
        }
    }
    all
}
