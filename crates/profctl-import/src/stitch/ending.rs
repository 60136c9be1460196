//! What is known of an input at its end, or so far.

use profctl_model::{Record, SpanSink, ThreadId, Tick, TraceMeta};

use super::{Stitched, Stitcher, switch_tags};

impl<S: SpanSink> Stitcher<S> {
    /// Passes on what is known of the input so far. Calls that are open are not part of it.
    #[cold]
    pub fn so_far(&mut self) {
        let meta = self.meta(self.clock.bounds().unwrap_or_default());
        self.core.sink.record(Record::SoFar(&meta), &self.core.names);
    }

    /// Clock, span of time within the window, quality.
    fn meta(&self, (first, last): (Tick, Tick)) -> TraceMeta {
        let window = &self.core.window;
        let first = window.from.map_or(first, |from| from.max(first));
        TraceMeta {
            timebase: self.core.setup.timebase,
            first,
            last: window.until.map_or(last, |until| until.min(last)).max(first),
            events: self.core.events,
            knows_off_cpu: self.core.knows_off_cpu,
            diags: self.found.with(&self.core.diags),
        }
    }

    /// Ends the input: what is open is cut where its thread was last seen.
    pub fn finish(mut self) -> Stitched<S> {
        switch_tags::finish(&mut self);
        for index in 0..self.stacks.len() {
            let thread = ThreadId::from_index(index);
            self.stacks[thread].finish(&mut self.core, thread);
        }
        let bounds = self.clock.bounds();
        let (first, last) = bounds.unwrap_or_default();
        let (sched, mut out) = self.scheduler();
        sched.finish(last, &mut out);
        if self.core.window_is_unset() {
            self.core.set_window(first);
        }
        self.core.name_handlers();
        let meta = self.meta((first, last));
        Stitched { sink: self.core.sink, names: self.core.names, meta, bounds }
    }
}
