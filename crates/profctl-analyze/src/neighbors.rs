//! Callers and callees: sums of calls by who made them.
//!
//! A call is counted when its caller ends, because only then it is known who that is. Memory grows
//! with the pairs of functions that call one another, and with the calls that wait for their caller,
//! of which only the latest are kept one by one.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use profctl_model::hash::FastMap;
use profctl_model::{
    Cell, Column, FuncId, IdVec, Names, Record, Role, SelectThreads, Span, SpanSink, Table,
    ThreadId, Ticks, Timebase,
};

use crate::summarize::count;

const SCHEMA: &str = "profctl.neighbors/1";
/// Calls of a thread that wait one by one for their caller.
const WAITING_MAX: usize = 1 << 18;
/// The name of the caller of outermost calls.
pub const NO_CALLER: &str = "(no caller recorded)";

/// A function by the name that rows of a profile have.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Where it is, if the input says.
    pub module: Option<String>,
}

impl Function {
    fn of(func: FuncId, names: &Names) -> Self {
        let func = &names.funcs[func];
        Self { name: func.name.clone(), module: func.module.clone() }
    }

    /// The functions of a trace that have this name.
    pub fn ids(&self, names: &Names) -> IdVec<FuncId, bool> {
        let is = |func: &profctl_model::Func| func.name == self.name && func.module == self.module;
        names.funcs.iter().map(is).collect()
    }
}

/// Sums of calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Sums {
    /// Complete calls.
    pub calls: u64,
    /// Calls without entry or exit.
    pub partial: u64,
    /// Elapsed of all.
    pub elapsed: Ticks,
    /// Elapsed of those that no call of the same function is around.
    pub outermost: Ticks,
    /// Net of all.
    pub net: Ticks,
}

impl Sums {
    fn of(span: &Span) -> Self {
        let partial = span.fidelity.is_partial();
        Self {
            calls: u64::from(!partial),
            partial: u64::from(partial),
            elapsed: span.elapsed(),
            outermost: if span.outermost { span.elapsed() } else { Ticks(0) },
            net: span.net,
        }
    }

    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.partial += other.partial;
        self.elapsed += other.elapsed;
        self.outermost += other.outermost;
        self.net += other.net;
    }
}

/// A caller, if there is one, and a callee; of one thread where threads are kept apart.
type Pair = (Option<ThreadId>, Option<FuncId>, FuncId);

/// Collects who calls whom.
#[derive(Clone, Debug, Default)]
pub struct Neighbors {
    waiting: IdVec<ThreadId, Waiting>,
    pairs: FastMap<Pair, Sums>,
    /// Calls whose caller is not known because too many waited for it.
    lost: u64,
    separate: bool,
}

/// Calls of a thread without a caller so far.
#[derive(Clone, Debug, Default)]
struct Waiting {
    /// The latest.
    calls: Vec<(FuncId, Sums)>,
    /// Those before, in sums.
    earlier: FastMap<FuncId, Sums>,
    n_earlier: u64,
}

impl Waiting {
    fn push(&mut self, func: FuncId, sums: Sums) {
        if self.calls.len() >= WAITING_MAX {
            for (func, sums) in self.calls.drain(..WAITING_MAX / 2) {
                self.earlier.entry(func).or_default().add(&sums);
                self.n_earlier += 1;
            }
        }
        self.calls.push((func, sums));
    }
}

impl SpanSink for Neighbors {
    fn span(&mut self, span: &Span, _names: &Names) {
        let Self { waiting, pairs, lost, separate } = self;
        let waiting = waiting.grow_to(span.thread);
        let thread = separate.then_some(span.thread);
        let late = waiting.calls.len().saturating_sub(span.late.roots as usize);
        let callees = span.callees as usize;
        let first = late.saturating_sub(callees);
        for (func, sums) in waiting.calls.drain(first..late) {
            pairs.entry((thread, Some(span.func), func)).or_default().add(&sums);
        }
        let missing = (callees - (late - first)) as u64;
        if missing > 0 && waiting.n_earlier > 0 {
            if missing >= waiting.n_earlier {
                let earlier: Vec<_> = waiting.earlier.drain().collect();
                for (func, sums) in earlier {
                    pairs.entry((thread, Some(span.func), func)).or_default().add(&sums);
                }
                waiting.n_earlier = 0;
            } else {
                *lost += missing;
                waiting.n_earlier -= missing;
            }
        }
        // What is late follows the call.
        let followers = waiting.calls.split_off(first);
        waiting.push(span.func, Sums::of(span));
        for (func, sums) in followers {
            waiting.push(func, sums);
        }
    }

    /// Which calls are outermost may turn out later; the sums of a function's callers then differ
    /// from its own by these calls.
    fn record(&mut self, _record: Record<'_>, _names: &Names) {}
}

impl SelectThreads for Neighbors {
    fn separate_threads(&mut self) {
        self.separate = true;
    }

    fn keep_threads(&mut self, keep: &dyn Fn(ThreadId) -> bool) {
        self.pairs.retain(|(thread, ..), _| thread.is_none_or(keep));
        let waiting = std::mem::take(&mut self.waiting).into_items().into_iter().enumerate();
        let kept = waiting.map(|(index, waiting)| {
            if keep(ThreadId::from_index(index)) { waiting } else { Waiting::default() }
        });
        self.waiting = kept.collect();
    }
}

/// A function with its callers and callees.
#[derive(Clone, Debug)]
pub struct Neighborhood {
    /// The rows: callers, the function, callees; callers and callees by elapsed time.
    pub table: Table,
    /// The function of each row; nothing for calls without a caller.
    pub functions: Vec<Option<Function>>,
    /// Rows of callers.
    pub n_callers: usize,
}

impl Neighbors {
    /// The callers of a function and what it calls. `own` is what a profile says of the function
    /// itself.
    pub fn around(
        &self,
        function: &Function,
        own: &Sums,
        names: &Names,
        timebase: Timebase,
    ) -> Neighborhood {
        let wanted = function.ids(names);
        let is_it = |func: FuncId| wanted.get(func).copied().unwrap_or(false);
        let mut callers: BTreeMap<Option<Function>, Sums> = BTreeMap::new();
        let mut callees: BTreeMap<Option<Function>, Sums> = BTreeMap::new();
        let waiting = self.waiting.iter().flat_map(|waiting| {
            let earlier = waiting.earlier.iter().map(|(func, sums)| (*func, sums));
            waiting.calls.iter().map(|(func, sums)| (*func, sums)).chain(earlier)
        });
        for (_, sums) in waiting.filter(|(callee, _)| is_it(*callee)) {
            callers.entry(None).or_default().add(sums);
        }
        #[expect(clippy::iter_over_hash_type, reason = "sums in sorted maps, in any order")]
        for (&(_, caller, callee), sums) in &self.pairs {
            if is_it(callee) {
                let caller = caller.map(|caller| Function::of(caller, names));
                callers.entry(caller).or_default().add(sums);
            }
            if caller.is_some_and(is_it) {
                callees.entry(Some(Function::of(callee, names))).or_default().add(sums);
            }
        }
        let mut table = Table::new(
            SCHEMA,
            timebase,
            vec![
                Column::new("elapsed", "Elapsed", Role::Time),
                Column::new("net", "Net", Role::Time),
                Column::new("calls", "# calls", Role::Count),
                Column::new("share", "% elapsed", Role::Percent),
                Column::new("name", "name", Role::Name),
            ],
        );
        table.left_out_first = &["net", "calls", "share"];
        let mut functions = Vec::new();
        let n_callers = callers.len();
        let callers = in_order(callers, |sums| sums.outermost);
        let callees = in_order(callees, |sums| sums.elapsed);
        let itself = (Some(function.clone()), *own, own.outermost);
        for (function, sums, elapsed) in callers.into_iter().chain([itself]).chain(callees) {
            let share = own.outermost.0 > 0;
            let share = share.then(|| elapsed.0 as f64 / own.outermost.0 as f64 * 100.0);
            table.push(vec![
                Cell::Time(elapsed),
                Cell::Time(sums.net),
                Cell::Count(sums.calls),
                share.map_or(Cell::Null, Cell::Percent),
                function.as_ref().map_or(NO_CALLER, |function| &function.name).into(),
            ]);
            functions.push(function);
        }
        if self.lost > 0 {
            let calls = count(self.lost, "call is", "calls are");
            table.notes.push(format!("the callers of {calls} not known"));
        }
        Neighborhood { table, functions, n_callers }
    }
}

type Neighbor = (Option<Function>, Sums, Ticks);

/// By elapsed time, then by name.
fn in_order(all: BTreeMap<Option<Function>, Sums>, elapsed: fn(&Sums) -> Ticks) -> Vec<Neighbor> {
    let rows = all.into_iter().map(|(function, sums)| (function, sums, elapsed(&sums)));
    let mut rows: Vec<Neighbor> = rows.collect();
    rows.sort_by_key(|(_, sums, elapsed)| Reverse((*elapsed, sums.calls)));
    rows
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{Calls, random_calls, show};

    fn collect(calls: &Calls) -> Neighbors {
        let mut neighbors = Neighbors::default();
        calls.spans.iter().for_each(|span| neighbors.span(span, &calls.names));
        neighbors
    }

    fn function(name: &str) -> Function {
        Function { name: name.into(), module: None }
    }

    fn own(calls: &Calls, function: &Function) -> Sums {
        let profile = calls.profile();
        let row = profile
            .rows
            .iter()
            .find(|row| row.name == function.name && row.module == function.module);
        let stats = &row.unwrap().stats;
        let elapsed = Ticks(stats.elapsed);
        Sums { calls: stats.calls, partial: 0, elapsed, outermost: elapsed, net: Ticks(stats.net) }
    }

    fn check(line: &str, name: &str, expected: &Expect) {
        let calls = Calls::parse(line);
        let function = function(name);
        let around = collect(&calls).around(
            &function,
            &own(&calls, &function),
            &calls.names,
            calls.meta.timebase,
        );
        expected.assert_eq(&format!("{} callers\n{}", around.n_callers, show(&around.table)));
    }

    #[test]
    fn callers_and_callees_by_elapsed_time() {
        let line = "0 main( 1 f( 2 g( 5 ) 6 h( 7 ) 9 ) 11 k( 12 f( 13 g( 14 ) 19 ) 20 ) 30 ) \
                    30 f( 31 ~)";
        check(
            line,
            "f",
            &expect![[r#"
                3 callers
                elapsed|net|calls|share|name
                8|4|1|50.0%|main
                7|6|1|43.8%|k
                1|1|0|6.2%|(no caller recorded)
                16|11|2|100.0%|f
                4|4|2|25.0%|g
                1|1|1|6.2%|h
            "#]],
        );
    }

    #[test]
    fn a_recursive_function_is_its_own_neighbor_and_counts_once() {
        check(
            "0 main( 1 f( 2 f( 3 f( 5 ) 6 ) 8 ) 9 )",
            "f",
            &expect![[r#"
                2 callers
                elapsed|net|calls|share|name
                7|3|1|100.0%|main
                0|4|2|0.0%|f
                7|7|3|100.0%|f
                6|4|2|85.7%|f
            "#]],
        );
    }

    #[test]
    fn calls_that_wait_for_long_keep_their_caller() {
        let n = WAITING_MAX + 10;
        let mut line = String::from("0 main( 0 a( 1 ) ");
        line.push_str(&"1 f( 2 ) ".repeat(n));
        line.push_str("3 )");
        let calls = Calls::parse(&line);
        let neighbors = collect(&calls);
        let f = function("f");
        let around = neighbors.around(&f, &own(&calls, &f), &calls.names, calls.meta.timebase);
        assert_eq!(around.functions, [Some(function("main")), Some(f)]);
        assert_eq!(around.table.rows[0][2], Cell::Count(n as u64));
        assert_eq!(neighbors.lost, 0);
    }

    #[test]
    fn threads_that_are_not_kept_are_dropped() {
        let calls = Calls::parse("@a 0 m( 1 f( 2 ) 3 ) @b 0 n( 1 f( 4 ) 5 )");
        let mut neighbors = Neighbors::default();
        neighbors.separate_threads();
        calls.spans.iter().for_each(|span| neighbors.span(span, &calls.names));
        neighbors.keep_threads(&|thread| thread == ThreadId::from_index(1));
        let f = function("f");
        let around = neighbors.around(&f, &own(&calls, &f), &calls.names, calls.meta.timebase);
        assert_eq!(around.functions, [Some(function("n")), Some(f)]);
    }

    proptest! {
        /// The rows of callers sum to what the flat profile says of the function, and so do the
        /// elapsed times of callees and the net time, where nothing calls itself.
        #[test]
        fn callers_sum_to_the_flat_profile(calls in random_calls()) {
            let neighbors = collect(&calls);
            for row in &calls.profile().rows {
                let function = Function { name: row.name.clone(), module: row.module.clone() };
                let own = own(&calls, &function);
                let around =
                    neighbors.around(&function, &own, &calls.names, calls.meta.timebase);
                let sum = |column: usize| -> u64 {
                    let rows = around.table.rows[..around.n_callers].iter();
                    rows.map(|row| match row[column] {
                        Cell::Time(Ticks(n)) | Cell::Count(n) => n,
                        _ => panic!("a number"),
                    })
                    .sum()
                };
                let expected = (row.stats.elapsed, row.stats.net, row.stats.calls);
                prop_assert_eq!((sum(0), sum(1), sum(2)), expected);
            }
        }
    }
}
