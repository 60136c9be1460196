//! One call of a trace that is read again, with what is below it and who called it.

use profctl_model::{
    Names, Record, SelectThreads, Span, SpanId, SpanSink, Table, ThreadId, TraceBuilder, TraceMeta,
};

use super::lines;
use crate::slowest::Call;

/// Collects one call. Memory grows with the calls below it.
#[derive(Debug)]
pub struct OneCall {
    call: Call,
    calls: TraceBuilder,
    is_found: bool,
    /// The calls around it, from the inside.
    callers: Vec<Call>,
}

/// A call that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its code trace.
    pub table: Table,
    /// The calls around it, from the inside.
    pub callers: Vec<Call>,
}

impl OneCall {
    /// Of the same trace, read in the same way.
    pub fn new(call: Call) -> Self {
        let calls = TraceBuilder::default();
        Self { call, calls, is_found: false, callers: Vec::new() }
    }

    /// The call as a code trace; nothing if the input has changed and the call is not in it.
    pub fn finish(self, meta: TraceMeta, names: Names) -> Option<Found> {
        if !self.is_found {
            return None;
        }
        let trace = self.calls.finish(meta, names);
        let spans = &trace.spans;
        // Others that ended when it began, or began when it ended, are beside it.
        let is_it = |id: &SpanId| {
            let row = id.index();
            spans.parent[row].is_none()
                && spans.func[*id] == self.call.func
                && u64::from(spans.below[row]) == self.call.descendants
                && spans.elapsed(*id) == self.call.elapsed
        };
        let root = spans.ids().rfind(is_it)?;
        let mut table = super::columns(trace.meta.timebase);
        for line in lines::of(&trace, &[root], None, false) {
            table.push(super::row_of(&trace, &line, None));
        }
        Some(Found { table, callers: self.callers })
    }
}

impl SpanSink for OneCall {
    fn span(&mut self, span: &Span, names: &Names) {
        let call = &self.call;
        if span.thread != call.thread {
            return;
        }
        if self.is_found {
            let is_around = span.start <= call.start()
                && span.end >= call.end
                && span.descendants > call.descendants;
            if is_around {
                self.callers.push(Call::of(span, 0));
            }
            return;
        }
        if span.start >= call.start() && span.end <= call.end {
            self.calls.span(span, names);
            self.is_found = call.is(span);
        }
    }

    fn record(&mut self, record: Record<'_>, names: &Names) {
        if let Record::Mark(mark) = record
            && mark.thread == self.call.thread
            && (self.call.start()..=self.call.end).contains(&mark.time)
        {
            self.calls.record(record, names);
        }
    }
}

impl SelectThreads for OneCall {
    fn separate_threads(&mut self) {}
    fn keep_threads(&mut self, _keep: &dyn Fn(ThreadId) -> bool) {}
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;
    use crate::neighbors::Function;
    use crate::slowest::Slowest;
    use crate::testing::{Calls, show};

    #[test]
    fn a_call_with_what_is_below_and_around_it() {
        let calls = Calls::parse(
            "@a 0 main( 1 g( 1 ) 1 f( 2 g( 4 ) 9 ) 9 g( 9 ) 10 h( 11 f( 12 ) 13 ) 20 ) \
             @b 0 f( 3 g( 5 ) 5 )",
        );
        let (mut slowest, f) = (Slowest::default(), Function { name: "f".into(), module: None });
        calls.spans.iter().for_each(|span| slowest.span(span, &calls.names));
        let found = slowest.of(&f, &calls.names).into_iter().map(|call| {
            let mut one = OneCall::new(call);
            calls.spans.iter().for_each(|span| one.span(span, &calls.names));
            let found = one.finish(calls.meta.clone(), calls.names.clone()).unwrap();
            let callers = found.callers.iter().map(|call| &*calls.names.funcs[call.func].name);
            let callers: Vec<&str> = callers.collect();
            format!("{}\n{}", callers.join(" < "), show(&found.table))
        });
        expect![[r#"
            main
            time|thread|cpu|depth|event|name|net|elapsed|flag
            1|a|-|0|enter|f|6|8|-
            2|a|-|1|leaf|g|2|-|-
            9|a|-|0|exit|-|-|-|-


            time|thread|cpu|depth|event|name|net|elapsed|flag
            0|b|-|0|enter|f|3|5|-
            3|b|-|1|leaf|g|2|-|-
            5|b|-|0|exit|-|-|-|-

            h < main
            time|thread|cpu|depth|event|name|net|elapsed|flag
            11|a|-|0|leaf|f|1|-|-
        "#]]
        .assert_eq(&found.collect::<Vec<_>>().join("\n"));
    }
}
