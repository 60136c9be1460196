//! Callers and callees of one function: sums of calls by who made them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use profctl_model::{Cell, Column, FuncId, IdVec, Names, Role, Table, Ticks, Timebase};

use crate::summarize::{CallGraphSink, CallSums, count};

const SCHEMA: &str = "profctl.neighbors/1";
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

/// The callers of a function and what it calls. `own` is what a profile says of the function itself.
pub fn around(
    calls: &CallGraphSink,
    function: &Function,
    own: &CallSums,
    names: &Names,
    timebase: Timebase,
) -> Neighborhood {
    let wanted = function.ids(names);
    let is_it = |func: FuncId| wanted.get(func).copied().unwrap_or(false);
    let mut callers: BTreeMap<Option<Function>, CallSums> = BTreeMap::new();
    let mut callees: BTreeMap<Option<Function>, CallSums> = BTreeMap::new();
    for (_, sums) in calls.without_caller().filter(|(callee, _)| is_it(*callee)) {
        callers.entry(None).or_default().add(&sums);
    }
    for (caller, callee, sums) in calls.pairs() {
        if is_it(callee) {
            callers.entry(Some(Function::of(caller, names))).or_default().add(sums);
        }
        if is_it(caller) {
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
    if calls.lost() > 0 {
        let calls = count(calls.lost(), "call is", "calls are");
        table.notes.push(format!("the callers of {calls} not known"));
    }
    Neighborhood { table, functions, n_callers }
}

type Neighbor = (Option<Function>, CallSums, Ticks);

/// By elapsed time, then by name.
fn in_order(
    all: BTreeMap<Option<Function>, CallSums>,
    elapsed: fn(&CallSums) -> Ticks,
) -> Vec<Neighbor> {
    let rows = all.into_iter().map(|(function, sums)| (function, sums, elapsed(&sums)));
    let mut rows: Vec<Neighbor> = rows.collect();
    rows.sort_by_key(|(_, sums, elapsed)| Reverse((*elapsed, sums.calls)));
    rows
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use profctl_model::{SelectThreads as _, SpanSink as _, ThreadId};

    use super::*;
    use crate::summarize::WAITING_MAX;
    use crate::testing::{Calls, random_calls, show};

    fn collect(calls: &Calls) -> CallGraphSink {
        let mut neighbors = CallGraphSink::default();
        calls.spans.iter().for_each(|span| neighbors.span(span, &calls.names));
        neighbors
    }

    fn function(name: &str) -> Function {
        Function { name: name.into(), module: None }
    }

    fn own(calls: &Calls, function: &Function) -> CallSums {
        let profile = calls.profile();
        let row = profile
            .rows
            .iter()
            .find(|row| row.name == function.name && row.module == function.module);
        let stats = &row.unwrap().stats;
        let elapsed = Ticks(stats.elapsed);
        CallSums {
            calls: stats.calls,
            partial: 0,
            elapsed,
            outermost: elapsed,
            net: Ticks(stats.net),
        }
    }

    fn check(line: &str, name: &str, expected: &Expect) {
        let calls = Calls::parse(line);
        let function = function(name);
        let around = around(
            &collect(&calls),
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
        let around = around(&neighbors, &f, &own(&calls, &f), &calls.names, calls.meta.timebase);
        assert_eq!(around.functions, [Some(function("main")), Some(f)]);
        assert_eq!(around.table.rows[0][2], Cell::Count(n as u64));
        assert_eq!(neighbors.lost(), 0);
    }

    #[test]
    fn threads_that_are_not_kept_are_dropped() {
        let calls = Calls::parse("@a 0 m( 1 f( 2 ) 3 ) @b 0 n( 1 f( 4 ) 5 )");
        let mut neighbors = CallGraphSink::default();
        neighbors.separate_threads();
        calls.spans.iter().for_each(|span| neighbors.span(span, &calls.names));
        neighbors.keep_threads(&|thread| thread == ThreadId::from_index(1));
        let f = function("f");
        let around = around(&neighbors, &f, &own(&calls, &f), &calls.names, calls.meta.timebase);
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
                    around(&neighbors, &function, &own, &calls.names, calls.meta.timebase);
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
