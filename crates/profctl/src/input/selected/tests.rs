use proptest::prelude::*;
use regex::Regex;

use profctl_model::{Enclosed, Fidelity, Func, FuncTotals, RunState, Tick, Ticks};

use super::*;

/// A call, what it calls, and how many of the calls behind it were passed on before it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Call {
    is_kept: bool,
    callees: Vec<Call>,
    late: usize,
}

impl Call {
    /// With all calls below it.
    fn calls(&self) -> u64 {
        1 + calls(&self.callees)
    }
}

fn calls(of: &[Call]) -> u64 {
    of.iter().map(Call::calls).sum()
}

fn call() -> impl Strategy<Value = Call> {
    let made = |(is_kept, callees, late)| Call { is_kept, callees, late };
    let leaf = (any::<bool>(), Just(Vec::new()), 0..2_usize).prop_map(made);
    leaf.prop_recursive(5, 60, 5, move |inner| {
        (any::<bool>(), prop::collection::vec(inner, 0..5), 0..3_usize).prop_map(made)
    })
}

/// Passes calls on as the stitcher does: each after its callees and those that came before its end
/// was recorded. The number of calls that are behind it is cut to what there is.
fn pass(of: &[Call], sink: &mut impl SpanSink, funcs: [FuncId; 2], names: &Names) {
    let Some((call, rest)) = of.split_first() else { return };
    let (late, rest) = rest.split_at(call.late.min(rest.len()));
    pass(&call.callees, sink, funcs, names);
    pass(late, sink, funcs, names);
    let span = Span {
        func: funcs[usize::from(call.is_kept)],
        thread: ThreadId::from_index(0),
        cpu: None,
        start: Tick(0),
        end: Tick(0),
        wall: Ticks(0),
        off_cpu: Ticks(0),
        net: Ticks(0),
        stolen: Ticks(0),
        callees: call.callees.len() as u32,
        descendants: calls(&call.callees),
        late: Late { roots: late.len() as u32, calls: calls(late) },
        outermost: true,
        interrupt: false,
        fidelity: Fidelity::EXACT,
    };
    sink.span(&span, names);
    pass(rest, sink, funcs, names);
}

/// The calls that were kept, those of one that was not in its place.
fn kept(of: &[Call]) -> Vec<Call> {
    let of = of.iter().flat_map(|call| {
        let callees = kept(&call.callees);
        if call.is_kept { vec![Call { callees, late: 0, ..*call }] } else { callees }
    });
    of.collect()
}

/// Puts calls together again.
#[derive(Default)]
struct Joined(Vec<Call>);

impl SpanSink for Joined {
    fn span(&mut self, span: &Span, _: &Names) {
        let late = self.0.split_off(self.0.len() - span.late.roots as usize);
        let callees = self.0.split_off(self.0.len() - span.callees as usize);
        assert_eq!((calls(&late), calls(&callees)), (span.late.calls, span.descendants));
        self.0.push(Call { is_kept: true, callees, late: 0 });
        self.0.extend(late);
    }
    fn record(&mut self, _: Record<'_>, _: &Names) {}
}

impl SelectThreads for Joined {
    fn separate_threads(&mut self) {}
    fn keep_threads(&mut self, _: &dyn Fn(ThreadId) -> bool) {}
}

proptest! {
    #[test]
    fn callees_of_a_call_that_is_not_selected_belong_to_its_caller(
        trace in prop::collection::vec(call(), 0..5),
    ) {
        let mut names = Names::default();
        let funcs = ["drop", "keep"]
            .map(|name| names.func(Func { name: name.into(), ..Func::default() }));
        let matching = Some(Regex::new("^keep$").unwrap());
        let selection = Selection { matching, ..Selection::default() };
        let mut sink = Selected::new(Joined::default(), &selection);
        pass(&trace, &mut sink, funcs, &names);
        prop_assert_eq!(sink.finish(&names).0, kept(&trace));
    }
}

/// What sums of functions were passed on.
#[derive(Default)]
struct Sums(Vec<FuncId>);

impl SpanSink for Sums {
    fn span(&mut self, _: &Span, _: &Names) {}
    fn record(&mut self, record: Record<'_>, _: &Names) {
        match record {
            Record::Total(totals) => self.0.push(totals.func),
            Record::Enclosed(calls) | Record::Outermost(calls) => self.0.push(calls.func),
            _ => {}
        }
    }
}

impl SelectThreads for Sums {
    fn separate_threads(&mut self) {}
    fn keep_threads(&mut self, _: &dyn Fn(ThreadId) -> bool) {}
}

#[test]
fn sums_of_functions_are_selected_as_calls_are() {
    let mut names = Names::default();
    let cpus = [0, 1].map(|cpu| names.cpu(cpu));
    let funcs = ["f", "g"].map(|name| names.func(Func { name: name.into(), ..Func::default() }));
    let matching = Some(Regex::new("g").unwrap());
    for (selection, expected) in [
        (Selection::default(), &[0, 0, 1, 0, 1, 1][..]),
        (Selection { matching, ..Selection::default() }, &[1, 1, 1]),
        // A sum of all calls is on no CPU.
        (Selection { cpu: vec![1], ..Selection::default() }, &[1, 1]),
    ] {
        let mut sink = Selected::new(Sums::default(), &selection);
        let enclosed = |func| Enclosed {
            func: funcs[func],
            thread: ThreadId::from_index(0),
            cpu: Some(cpus[func]),
            interrupt: false,
            calls: 1,
            wall: Ticks(1),
            off_cpu: Ticks(0),
            descendants: 0,
        };
        let total = FuncTotals {
            func: funcs[0],
            thread: ThreadId::from_index(0),
            calls: 1,
            elapsed: Ticks(1),
            net: Ticks(1),
        };
        for record in [
            Record::Total(&total),
            Record::Enclosed(&enclosed(0)),
            Record::Enclosed(&enclosed(1)),
            Record::Outermost(&enclosed(0)),
            Record::Outermost(&enclosed(1)),
            Record::Total(&FuncTotals { func: funcs[1], ..total }),
        ] {
            sink.record(record, &names);
        }
        assert!(sink.has_calls);
        let expected: Vec<_> = expected.iter().map(|&func| funcs[func]).collect();
        assert_eq!(sink.finish(&names).0, expected, "{selection:?}");
    }
}

/// Many calls of one kind take one row.
#[test]
fn equal_calls_are_counted() {
    let mut roots = Roots::default();
    for calls in [1, 1, 1, 4, 4, 1] {
        roots.push(1, calls);
    }
    assert_eq!(roots.groups.iter().map(|group| group.repeated).collect::<Vec<_>>(), [3, 2, 1]);
    assert_eq!([roots.take(2), roots.take(3), roots.take(9)], [(2, 5), (3, 6), (1, 1)]);
}

#[test]
fn of_other_records_those_of_what_is_selected_stay() {
    let mut names = Names::default();
    let threads = [7, 8].map(|tid| Thread { tid: Some(tid), ..Thread::default() });
    let threads = threads.map(|thread| names.threads.push(thread));
    let cpus = [0, 1].map(|cpu| names.cpu(cpu));
    let all = threads.iter().flat_map(|&thread| cpus.map(|cpu| (thread, cpu)));
    let states = all.map(|(thread, cpu)| ThreadState {
        thread,
        state: RunState::Running,
        start: Tick(1),
        end: Tick(2),
        cpu: Some(cpu),
        waker: None,
        wait_reason: None,
        start_seen: true,
        end_seen: true,
    });
    let states: Vec<_> = states.collect();
    let life = |thread| ThreadLife {
        thread,
        parent: None,
        created: None,
        exited: None,
        redundant_wakings: 0,
    };
    let places = [None, Some(cpus[0]), Some(cpus[1])];
    let gaps = places.map(|cpu| Gap { time: Tick(1), cpu, lost: None });
    for (thread, cpu, of_states, of_lives, of_gaps) in [
        (None, None, &[0, 1, 2, 3][..], &[0, 1][..], &[0, 1, 2][..]),
        (Some("8"), None, &[2, 3], &[1], &[0, 1, 2]),
        (None, Some(1), &[1, 3], &[0, 1], &[0, 2]),
        (Some("8"), Some(1), &[3], &[1], &[0, 2]),
    ] {
        let (thread, cpu) = (thread.map(String::from), cpu.into_iter().collect());
        let selection =
            Selection { thread: thread.into_iter().collect(), cpu, ..Selection::default() };
        let (mut kept, mut lives, mut losses) =
            (states.clone(), threads.map(life).to_vec(), gaps.to_vec());
        selection.keep_states(&mut kept, &names);
        selection.keep_lives(&mut lives, &names);
        selection.keep_gaps(&mut losses, &names);
        let some = |rows: &[usize]| rows.iter().map(|&row| states[row]).collect::<Vec<_>>();
        assert_eq!(kept, some(of_states), "{selection:?}");
        let lives: Vec<_> = lives.iter().map(|life| life.thread).collect();
        assert_eq!(lives, of_lives.iter().map(|&row| threads[row]).collect::<Vec<_>>());
        assert_eq!(losses, of_gaps.iter().map(|&row| gaps[row]).collect::<Vec<_>>());
    }
}

#[test]
fn numbers_that_are_not_there_are_answered_by_those_that_are() {
    let said = |pids: u64| {
        let mut names = Names::default();
        for pid in 1..=pids {
            names.threads.push(Thread { pid: Some(pid), ..Thread::default() });
        }
        let selection = Selection { pid: vec![99], ..Selection::default() };
        let mut found = Found::default();
        found.trace(&selection, &names);
        found.check(&selection).unwrap_err()
    };
    assert_eq!(said(0), "no process 99; the input names no process");
    assert_eq!(said(2), "no process 99; there are 1, 2");
    assert!(said(16).ends_with("15, 16"));
    assert_eq!(said(17), "no process 99; there are 17");
}

/// What nearly is a name is answered by a name; an expression is not.
#[test]
fn an_expression_is_compared_to_names_if_it_is_one() {
    let said = |matching: &str| {
        let matching = Some(Regex::new(matching).unwrap());
        let selection = Selection { matching, ..Selection::default() };
        let mut found = Found::default();
        found.function(&selection, "tcp_rcv", None);
        found.check(&selection).unwrap_err()
    };
    assert_eq!(said("tcp_rvc"), "no function matches `tcp_rvc`; did you mean `tcp_rcv`?");
    assert_eq!(said("tcp.rvc"), "no function matches `tcp.rvc`");
}
