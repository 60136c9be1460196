//! A trace.dat of function_graph and the scheduler: a list of pages for each CPU, and exits whose
//! records come late.

use super::tid;
use crate::execution::{Execution, Leaves, Record, What};
use crate::generate::trace_dat::{Contents, DatShape, Pages, Records, address, dat_file};

/// Which of these calls are interrupts that hit between the end of a call without callees and the
/// record of it, with that call: the tracer counts them one deeper, and the record follows them.
/// Only such as took longer than that call, by which they are known not to be its callees.
pub fn late_interrupts(execution: &Execution) -> Vec<Option<usize>> {
    let mut late = vec![None; execution.calls.len()];
    for around in execution.records.windows(5) {
        let [started, ended, entry, exit, next] = around else { continue };
        if let (What::Enter(before), What::Exit(same), What::Enter(call), What::Exit(other)) =
            (started.what, ended.what, entry.what, exit.what)
            && (before, call) == (same, other)
            && (started.thread, started.cpu) == (entry.thread, entry.cpu)
            && execution.calls[call].caller == execution.calls[before].caller
            && late[before].is_none()
            && ended.time < entry.time
            && exit.time - entry.time > ended.time - started.time
            && exit.time < next.time
        {
            late[call] = Some(before);
        }
    }
    late
}

/// The file. Where something is lost, each CPU says it before its next record; an execution of
/// which a CPU has none is not said.
pub fn trace_dat(execution: &Execution, shape: &DatShape<'_>) -> Option<Vec<u8>> {
    let records = Records { big: shape.big_endian };
    let late = late_interrupts(execution);
    let names: Vec<String> = (0..execution.n_threads).map(|thread| format!("t{thread}")).collect();
    let tasks: Vec<(u64, &str)> =
        (0..).zip(&names).map(|(n, name)| (id(Some(n)), &**name)).collect();
    let start = |call: usize| {
        let entry = execution.records.iter().find(|record| record.what == What::Enter(call));
        // The tracer knew when it was entered, even if that is not in the file.
        entry.map_or(0, |record| record.time)
    };
    let mut pages = Vec::new();
    for cpu in 0..execution.n_cpus {
        let mut own = Pages::new(shape.big_endian);
        let mut is_lossy = false;
        // An exit whose record is still to come, and of which call's end it comes at.
        let mut waiting: Option<(Vec<u8>, usize)> = None;
        for (at, record) in execution.records.iter().enumerate() {
            if let What::Lost(n) = record.what {
                own.lose((n % 2 == 0).then_some(n));
                is_lossy = true;
                continue;
            }
            if record.cpu != cpu {
                continue;
            }
            is_lossy = false;
            let thread = id(record.thread);
            let exit = |call: usize, end: u64| {
                let function = address(execution.calls[call].function);
                records.exit(thread, function, execution.depth(call), (start(call), end))
            };
            match record.what {
                What::Enter(call) => {
                    let depth = execution.depth(call) + usize::from(late[call].is_some());
                    let function = address(execution.calls[call].function);
                    own.record(record.time, &records.entry(thread, function, depth));
                }
                What::Exit(call) => {
                    if let Some(Record { what: What::Enter(next), .. }) =
                        execution.records.get(at + 1)
                        && late[*next] == Some(call)
                    {
                        waiting = Some((exit(call, record.time), *next));
                        continue;
                    }
                    match waiting.take_if(|(_, by)| *by == call) {
                        Some((ended, _)) => {
                            let function = address(execution.calls[call].function);
                            let depth = execution.depth(call) + 1;
                            let times = (start(call), record.time);
                            let own_exit = records.exit(thread, function, depth, times);
                            own.record(record.time, &own_exit);
                            own.record(record.time, &ended);
                        }
                        None => own.record(record.time, &exit(call, record.time)),
                    }
                }
                What::Switch { prev, leaves, next } => {
                    let (from, to) = (name(prev, cpu), name(next, cpu));
                    let state = match (prev, leaves) {
                        (None, _) | (_, Leaves::Runnable) => 0,
                        (_, Leaves::Sleeping) => 1,
                        (_, Leaves::Uninterruptible) => 2,
                    };
                    let (prev, next) = ((id(prev), &*from), (id(next), &*to));
                    own.record(record.time, &records.switch_in(prev, state, next));
                }
                What::Wake(woken) => {
                    let woken = (id(Some(woken)), &*names[woken]);
                    own.record(record.time, &records.waking(thread, woken, cpu));
                }
                What::Lost(_) => {}
            }
        }
        if is_lossy {
            return None;
        }
        own.close();
        pages.push(own.done);
    }
    Some(dat_file(&Contents { functions: &execution.functions, tasks: &tasks }, shape, &pages))
}

fn id(thread: Option<usize>) -> u64 {
    thread.map_or(0, |thread| tid(thread) as u64)
}

fn name(thread: Option<usize>, cpu: usize) -> String {
    thread.map_or(format!("swapper/{cpu}"), |thread| format!("t{thread}"))
}
