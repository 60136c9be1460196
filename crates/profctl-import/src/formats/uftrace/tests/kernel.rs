//! Recordings with functions of the kernel.

use super::report::{Calls, printed, rows_of};
use super::*;

/// Calls of kernel functions are within the calls of their thread. uftrace reports them only within
/// calls that the same thread entered: in a forked thread, not those within the `fork` that it
/// returns from.
#[test]
fn functions_of_the_kernel_are_as_uftrace_reports_them() {
    let trace = read(&parts("kernel-0.13"));
    invariants::check(&trace, "kernel-0.13");
    let spans = &trace.spans;
    let is_kernel = |index: usize| {
        let func = &trace.names.funcs[spans.func[profctl_model::SpanId::from_index(index)]];
        func.module.as_deref() == Some("kernel")
    };
    let is_entered = |index: usize| !spans.fidelity[index].start_inferred;
    let ours = rows_of(&trace, |index| {
        let above = std::iter::successors(Some(index), |at| Some(spans.parent[*at]?.index()));
        let mut above = above.skip_while(|index| is_kernel(*index));
        !is_kernel(index) || above.any(is_entered)
    });
    let golden =
        fixtures::read(&fixtures::root().join("fixtures/uftrace/kernel-0.13.report.golden"));
    let golden = String::from_utf8(golden).unwrap();
    let (mut same, mut others) = (0, Vec::new());
    for line in golden.lines().skip(2) {
        let (name, times, calls) = printed(line);
        let Some(Calls { row, partial, .. }) = ours.get(&name) else {
            others.push(format!("{name}: missing"));
            continue;
        };
        let found = [
            [row.total, row.avg, row.min, row.max],
            [row.own, row.own_avg, row.own_min, row.own_max],
        ]
        .concat();
        let found: Vec<u64> =
            found.iter().zip(times).map(|(n, (_, step))| n / step * step).collect();
        let expected: Vec<u64> = times.iter().map(|(time, _)| *time).collect();
        if found == expected && row.calls == calls {
            same += 1;
        } else {
            others.push(format!(
                "{name}: {} of {calls} calls and {partial} incomplete, {found:?} for {expected:?}",
                row.calls
            ));
        }
    }
    // It returns twice.
    let names: Vec<&str> = others.iter().filter_map(|other| other.split(':').next()).collect();
    assert_eq!(names, ["fork"], "{others:#?}");
    assert_eq!(same, 65);
    let module = |name: &str| {
        let func = trace.names.funcs.as_slice().iter().find(|func| func.name == name).unwrap();
        func.module.clone()
    };
    assert_eq!(module("vfs_write").as_deref(), Some("kernel"));
}

#[test]
fn kernel_functions_are_said_to_be_unread() {
    let mut parts = parts("sleep-0.13");
    parts.iter_mut().find(|(name, _)| name == "info").unwrap().1[16] |= 1 << 2;
    parts.push(("kernel-cpu0.dat".into(), vec![0; 4096]));
    parts.sort();
    assert_eq!(codes(&read(&parts)), ["uftrace/kernel-unread 1"]);
}
