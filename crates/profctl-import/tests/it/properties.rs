//! What holds for every stream of events, however little sense it makes: nets sum to the time
//! covered, nothing is counted twice, windows partition, the grouping groups and nothing else, and
//! how a trace is cut into blocks does not show.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use profctl_import::{Bound, Grouping, ReadOptions, Single, load};
use profctl_model::Trace;
use profctl_testkit::invariants;
use proptest::prelude::*;

use crate::recorder::{Outcome, read};
use crate::stitching::{Sums, options, sums};

#[derive(Clone, Copy, Debug)]
enum Op {
    Enter(u8),
    Exit(u8),
    ExitAny,
    Leaf(u8, u64),
    Lost,
    Switch,
    /// What is called between is an interrupt.
    Interrupt(u8),
}

/// Something that happens on one of two threads, so long after what was before.
type Step = (u64, bool, Op);

fn op(losses: bool) -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..4_u8).prop_map(Op::Enter),
        6 => (0..4_u8).prop_map(Op::Exit),
        2 => Just(Op::ExitAny),
        3 => (0..4_u8, 0..9_u64).prop_map(|(name, length)| Op::Leaf(name, length)),
        1 => Just(if losses { Op::Lost } else { Op::ExitAny }),
        1 => Just(Op::Switch),
        1 => (0..4_u8).prop_map(Op::Interrupt),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    any::<bool>().prop_flat_map(|losses| {
        prop::collection::vec((0..12_u64, any::<bool>(), op(losses)), 1..40)
    })
}

const NAMES: [&str; 4] = ["a[m]", "b[m]", "c[n]", "d"];

/// The steps as a trace without depths.
fn by_name(steps: &[Step]) -> String {
    let mut text = "# profctl plain 1\n".to_owned();
    let mut time = 100;
    let mut running = false;
    for &(pause, other, op) in steps {
        time += pause;
        let thread = match (other, running) {
            (true, _) => "y-2",
            (false, true) => "z-3",
            (false, false) => "x-1",
        };
        let at = format!("{time} cpu{} {thread}", u8::from(other));
        match op {
            Op::Enter(name) => writeln!(text, "{at} > {}", NAMES[usize::from(name)]),
            Op::Exit(name) => writeln!(text, "{at} < {}", NAMES[usize::from(name)]),
            Op::ExitAny => writeln!(text, "{at} <"),
            Op::Leaf(name, length) => {
                let line = writeln!(text, "{at} . {} {length}", NAMES[usize::from(name)]);
                time += length;
                line
            }
            Op::Lost => writeln!(text, "{time} cpu0 lost"),
            Op::Switch => {
                running = !running;
                let (from, to) = if running { ("x-1", "z-3") } else { ("z-3", "x-1") };
                writeln!(text, "{time} cpu0 switch {from} {to}")
            }
            Op::Interrupt(name) => {
                let name = NAMES[usize::from(name)];
                let line = writeln!(
                    text,
                    "{at} irq>\n{at} > {name}\n{} cpu{} {thread} < {name}\n{} \
                                           cpu{} {thread} irq<",
                    time + 2,
                    u8::from(other),
                    time + 2,
                    u8::from(other)
                );
                time += 2;
                line
            }
        }
        .unwrap();
    }
    text
}

/// The steps as a trace that shows depths: a walk over stacks that began inside some calls, of which
/// some records were lost without a word.
fn by_depth(steps: &[Step], start: usize, dropped: &[bool]) -> String {
    let mut text = "# profctl plain 1\n".to_owned();
    let mut time = 100;
    let mut stacks = [vec![3_u8; start], vec![2_u8; start]];
    for (index, &(pause, other, op)) in steps.iter().enumerate() {
        time += pause;
        let stack = &mut stacks[usize::from(other)];
        let thread = if other { "y-2" } else { "x-1" };
        let line = match op {
            Op::Enter(name) | Op::Interrupt(name) => {
                stack.push(name);
                format!("> {} depth={}", NAMES[usize::from(name)], stack.len() - 1)
            }
            Op::Exit(_) | Op::ExitAny | Op::Switch => {
                let Some(name) = stack.pop() else { continue };
                format!("< {} depth={}", NAMES[usize::from(name)], stack.len())
            }
            Op::Leaf(name, length) => {
                let line = format!(". {} {length} depth={}", NAMES[usize::from(name)], stack.len());
                if dropped.get(index) != Some(&true) {
                    writeln!(text, "{time} {thread} {line}").unwrap();
                }
                time += length;
                continue;
            }
            Op::Lost => {
                writeln!(text, "{time} lost 3").unwrap();
                continue;
            }
        };
        if dropped.get(index) != Some(&true) {
            writeln!(text, "{time} {thread} {line}").unwrap();
        }
    }
    text
}

pub(crate) fn texts() -> impl Strategy<Value = String> {
    let drops = prop::collection::vec(prop::bool::weighted(0.2), 0..40);
    (steps(), any::<bool>(), 0..4_usize, drops).prop_map(|(steps, named, start, drops)| {
        if named { by_name(&steps) } else { by_depth(&steps, start, &drops) }
    })
}

fn trace(text: &str, options: &ReadOptions) -> Trace {
    let input = Single::new("test", Box::new(text.as_bytes()));
    load(&input, options, &|_| ()).unwrap().0
}

fn whole(text: &str) -> Outcome {
    read(text.as_bytes(), &ReadOptions::default()).unwrap()
}

/// Per thread: the nets of all calls, and the elapsed time of those that have no caller.
fn covered(trace: &Trace) -> BTreeMap<usize, (u64, u64)> {
    let mut threads: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
    for id in trace.spans.ids() {
        let (net, roots) = threads.entry(trace.spans.thread[id.index()].index()).or_default();
        *net += trace.spans.net[id.index()].0;
        if trace.spans.parent[id.index()].is_none() {
            *roots += trace.spans.elapsed(id).0;
        }
    }
    threads
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, ..ProptestConfig::default() })]

    #[test]
    fn nets_sum_to_the_time_that_is_covered(text in texts()) {
        let trace = trace(&text, &ReadOptions::default());
        let real = trace.meta.real().0;
        for (net, roots) in covered(&trace).into_values() {
            prop_assert_eq!(net, roots, "{}", &text);
            prop_assert!(net <= real, "{} of {}\n{}", net, real, &text);
        }
        let broken = invariants::broken(&trace);
        prop_assert!(broken.is_empty(), "{:?}\n{}", broken, &text);
        prop_assert_eq!(trace.meta.diags.count_of(&profctl_model::diag::codes::CLAMPED), 0);
    }

    #[test]
    fn the_stream_and_the_tree_agree(text in texts()) {
        let mut of_tree: BTreeMap<String, Sums> = BTreeMap::new();
        let trace = trace(&text, &ReadOptions::default());
        for id in trace.spans.ids() {
            let row = id.index();
            let name = trace.names.funcs[trace.spans.func[id]].name.clone();
            let of = of_tree.entry(name).or_default();
            let is_partial = trace.spans.fidelity[row].is_partial();
            of.calls += u64::from(!is_partial);
            of.partial += u64::from(is_partial);
            of.net += trace.spans.net[row].0;
            if trace.spans.outermost[row] {
                of.elapsed += trace.spans.elapsed(id).0;
            }
        }
        prop_assert_eq!(of_tree, sums(&whole(&text)), "{}", &text);
    }

    #[test]
    fn windows_that_partition_a_trace_sum_to_it(
        text in texts(),
        mut cuts in prop::collection::vec(1..300_u64, 1..4),
    ) {
        let all = sums(&whole(&text));
        cuts.sort_unstable();
        cuts.dedup();
        let edges: Vec<_> = std::iter::once(None).chain(cuts.iter().copied().map(Some)).collect();
        let mut added: BTreeMap<String, Sums> = BTreeMap::new();
        for (index, from) in edges.iter().enumerate() {
            let until = edges.get(index + 1).copied().flatten();
            let outcome = read(text.as_bytes(), &options([*from, until])).unwrap();
            let length = outcome.span_of_time.1 - outcome.span_of_time.0;
            for span in &outcome.recorded.spans {
                prop_assert!(span.wall <= length, "{:?} in {:?}\n{}", span, (from, until), &text);
            }
            for (name, sums) in sums(&outcome) {
                let of = added.entry(name).or_default();
                of.calls += sums.calls;
                of.elapsed += sums.elapsed;
                of.net += sums.net;
            }
        }
        for (name, expected) in &all {
            let found = added.get(name).copied().unwrap_or_default();
            prop_assert_eq!((found.elapsed, found.net), (expected.elapsed, expected.net),
                "{} in windows cut at {:?}\n{}", name, &cuts, &text);
            prop_assert!(found.calls <= expected.calls);
        }
    }

    #[test]
    fn the_grouping_groups_and_nothing_else(text in texts()) {
        let expected = whole(&text);
        let plain = |outcome: &Outcome| -> Vec<_> {
            let spans = outcome.recorded.spans.iter();
            spans.map(|span| profctl_model::Span { outermost: false, ..*span }).collect()
        };
        for grouping in [Grouping::Module, Grouping::Kind, Grouping::Stack] {
            let grouped = ReadOptions { grouping, ..ReadOptions::default() };
            let outcome = read(text.as_bytes(), &grouped).unwrap();
            prop_assert_eq!(plain(&outcome), plain(&expected));
            prop_assert_eq!(&outcome.diags, &expected.diags);
            if grouping == Grouping::Stack {
                // All that a thread did is its outermost calls.
                let outermost = outcome.recorded.spans.iter().filter(|span| span.outermost);
                let elapsed: u64 = outermost.map(|span| span.elapsed().0).sum();
                let enclosed = outcome.recorded.enclosed.iter();
                let enclosed: u64 = enclosed.map(|calls| (calls.wall - calls.off_cpu).0).sum();
                let net: u64 = outcome.recorded.spans.iter().map(|span| span.net.0).sum();
                prop_assert_eq!(elapsed - enclosed, net, "{}", &text);
            }
        }
    }

    #[test]
    fn blocks_and_workers_do_not_show(text in texts(), size in 1..200_usize, cut in 0..400_u64) {
        let from = (cut % 2 == 0).then_some(Bound::After(cut / 4));
        let once = ReadOptions { from, block_size: 64 << 20, ..ReadOptions::default() };
        let expected = read(text.as_bytes(), &once).unwrap();
        for workers in [1, 2, 3, 7] {
            let often = ReadOptions { workers, block_size: size, ..once.clone() };
            prop_assert!(read(text.as_bytes(), &often).unwrap() == expected, "{workers}\n{text}");
        }
    }
}
