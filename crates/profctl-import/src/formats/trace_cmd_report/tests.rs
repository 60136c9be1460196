//! Reports in, calls out.

use expect_test::expect;
use proptest::prelude::*;

use crate::ImportOptions;
use crate::formats::{Importer, Probe, Recognition};
use crate::testing::{show, told, trace};

const REPORT: &str = "\
cpus=2
        workload-268   [000]   218.283553: funcgraph_entry:      + 17.306 us  |  mutex_unlock();
        workload-268   [000]   218.283578: funcgraph_entry:                   |  __f_unlock_pos() {
        workload-268   [000]   218.283580: funcgraph_entry:        1.232 us   |    mutex_unlock();
        workload-268   [000]   218.283581: sys_exit:             NR 1 = 1
        workload-268   [000] dNh3. 218.283582: funcgraph_exit:         4.297 us   |  }
CPU:1 [4787 EVENTS DROPPED]
          <idle>-0     [001]   218.284922: softirq_raise:        vec=7 [action=SCHED]
          <idle>-0     [001]   218.285000: sched_switch:         swapper/1:0 [120] R ==> x:5 [120]
               x-5     [001]   218.285100: funcgraph_exit:       ! 100.000 us |  } /* schedule */
";

#[test]
fn functions_events_and_losses() {
    let (shown, codes) = told("trace_cmd_report", REPORT, ImportOptions::default());
    expect![[r"
        workload-268 0 mutex_unlock 218283553000+17306 net 17306
        workload-268 0 __f_unlock_pos 218283578000+4000 wall 4297 net 3065
        workload-268 1 mutex_unlock 218283580000+1232 net 1232
        x-5 0 schedule 218285100000+0 net 0 unseen entry
        workload-268 mark sys_exit 218283581000
        <idle>/1 mark softirq_raise 218284922000
    "]]
    .assert_eq(&shown);
    assert_eq!(codes, ["stitch/gap 1", "stitch/lost-events 4787", "stitch/unmatched-exit 1"]);
}

#[test]
fn reports_are_told_from_tracefs() {
    let recognized = |text: &str| {
        let probe = Probe { name: "x", head: text.as_bytes(), whole: true };
        super::Report.recognize(&probe)
    };
    assert!(matches!(recognized(REPORT), Recognition::Yes(_)));
    let without_first = REPORT.split_once('\n').unwrap().1;
    assert!(matches!(recognized(without_first), Recognition::Yes(_)));
    assert_eq!(recognized("# tracer: nop\n#\n"), Recognition::No);
    assert_eq!(recognized("cpus=2\nDear Sir\nplease\n"), Recognition::No);
    let tracefs = "        workload-119     [000] .....    17.372467: sys_exit: NR 1 = 1\n";
    assert_eq!(recognized(tracefs), Recognition::No);
}

/// What is before the event, what is between it and the bar, and what is after the bar; with places
/// for what an event says and how its line ends.
const STARTS: [&str; 8] = [
    "        workload-268   [000]   218.283553: ",
    "        workload-268   [000]   218.283561: ",
    "          <idle>-0     [001]   219.000001: ",
    "        workload-268   [000] d..2.   218.283600: ",
    "        workload-268   (    268) [000]   218.283700: ",
    "        workload-268   [000]   218.283800123: ",
    "        workload-268   [000]   218.2838x0: ",
    "        workload-268   [000]   218283801: ",
];
const COLUMNS: [&str; 11] = [
    "funcgraph_entry:                   |  ",
    "funcgraph_entry:        1.232 us   |  ",
    "funcgraph_entry:      + 17.306 us  |  ",
    "funcgraph_exit:         4.297 us   |  ",
    "funcgraph_exit:       ! 100.000 us |  ",
    "funcgraph_exit:       # 1234.567 us|  ",
    "funcgraph_exit:       $ 1234567 us |  ",
    "funcgraph_exit:         4.297 us    |  ",
    "funcgraph_exit:         4.2z7 us   |  ",
    "funcgraph_extra:        4.297 us   |  ",
    "funcgraph_entry:        1.232 us   | ",
];
const STATEMENTS: [&str; 9] = [
    "mutex_unlock();\n",
    "  mutex_unlock();\n",
    "mutex_lock() {\n",
    "ext4_find [ext4]() {\n",
    "}\n",
    "  }\n",
    "} /* mutex_lock */\n",
    "} /* mutex_lock ret=0x1 */\r\n",
    "mutex_lock(lock=0x10) {\n",
];

proptest! {
    #[test]
    fn usual_lines_are_read_as_all_others(
        usual in prop::collection::vec((0..2_usize, 0..5_usize, 0..5_usize), 1..20),
        odd in (0..STARTS.len(), 0..COLUMNS.len(), 0..STATEMENTS.len()),
        at in any::<prop::sample::Index>(),
    ) {
        let mut lines = usual.repeat(3);
        lines.insert(at.index(lines.len()), odd);
        let lines = lines.into_iter().map(|(start, columns, statement)| {
            format!("{}{}{}", STARTS[start], COLUMNS[columns], STATEMENTS[statement])
        });
        let text: String = std::iter::once("cpus=2\n".to_owned()).chain(lines).collect();
        let read = |block_size| {
            let options = ImportOptions::default();
            let trace = trace("trace_cmd_report", text.as_bytes(), options, block_size, 1);
            let diags = trace.meta.diags.sorted();
            let diags = diags.iter().map(|entry| format!("{} {}\n", entry.code.name, entry.count));
            show(&trace) + &diags.collect::<String>()
        };
        // The usual lines are sought where a block goes on for long enough.
        prop_assert_eq!(read(0), read(100));
    }
}
