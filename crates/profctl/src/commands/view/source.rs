//! Reads the trace on threads of its own, once for all sums, and again for a call that is opened.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::{Receiver, Sender, channel};

use profctl_analyze::replay::OneCall;
use profctl_analyze::slowest::{Call, Slowest};
use profctl_analyze::summarize::{By, CallGraphSink, Options, Source as Origin, Summary};
use profctl_model::{Names, Record, SelectThreads, Span, SpanSink, ThreadId, TraceMeta};

use super::Args;
use super::data::{Message, Snapshot};
use crate::args::{Global, Selection};
use crate::exit::Failure;
use crate::input::session::{ItemContent, Read, Session};
use crate::input::{Inputs, TraceFile};

/// A trace that is being read.
pub(super) struct Source {
    shared: Arc<Shared>,
    sender: Sender<Message>,
    /// What was read.
    pub(super) messages: Receiver<Message>,
    /// Bytes read so far, before decompression.
    pub(super) read: Arc<AtomicU64>,
    /// Set to get what is known so far.
    pub(super) asked: Arc<AtomicBool>,
}

/// What worker threads need.
struct Shared {
    args: Args,
    global: Global,
}

impl Source {
    /// Begins to read `file`, the trace of `args`.
    pub(super) fn start(args: Args, file: TraceFile, global: &Global) -> Self {
        // Nothing may be printed while the view is on the screen.
        let global = global.silent();
        let shared = Arc::new(Shared { args, global });
        let (sender, messages) = channel();
        let (read, asked) = <(Arc<AtomicU64>, Arc<AtomicBool>)>::default();
        let source = Self { shared, sender, messages, read, asked };
        let (shared, sender) = (Arc::clone(&source.shared), source.sender.clone());
        let (read, asked) = (Arc::clone(&source.read), Arc::clone(&source.asked));
        std::thread::spawn(move || {
            let result = shared.all(&file, &sender, read, asked);
            // Who does not listen has quit.
            let _ = sender.send(Message::Read(result.map(Box::new)));
        });
        source
    }

    /// How the trace is read.
    pub(super) fn args(&self) -> &Args {
        &self.shared.args
    }

    /// Reads one call again.
    pub(super) fn open(&self, call: Call) {
        let (shared, sender) = (Arc::clone(&self.shared), self.sender.clone());
        std::thread::spawn(move || {
            let _ = sender.send(Message::Opened(call, shared.one(call)));
        });
    }
}

impl Shared {
    /// Sums of all of it.
    fn all(
        &self,
        file: &TraceFile,
        sender: &Sender<Message>,
        read: Arc<AtomicU64>,
        asked: Arc<AtomicBool>,
    ) -> Result<Snapshot, Failure> {
        let Self { args, global } = self;
        let by = args.by();
        let mut session = Session::new(&args.reading, &args.selection, by, global)?;
        if by == By::Function {
            session = session.selecting_rows();
        }
        session.options.asked = Some(asked);
        let calls = (by == By::Function).then(<(CallGraphSink, Slowest)>::default);
        let summary = Summary::new(Options { by, ..Options::default() });
        let sink = Reporting {
            sums: (summary, calls),
            selection: &args.selection,
            name: &file.name,
            sender: sender.clone(),
        };
        let item = session.watched(file, sink, read)?;
        Ok(match item.content {
            ItemContent::Profile(profile) => {
                let profile = *profile;
                if profile.by != by {
                    let (rows, asked) = (profile.by.name(), by.name());
                    let message = format!("holds sums by {rows}, not by {asked}");
                    return Err(Failure::input(file.name.clone(), message));
                }
                Snapshot { profile, names: Names::default(), calls: None }
            }
            ItemContent::Trace(read) => {
                let source = read.source();
                let Read { sink, names, meta, .. } = *read;
                snapshot(sink.sums, names, &meta, source)
            }
        })
    }

    fn one(&self, call: Call) -> super::data::Opened {
        let Self { args, global } = self;
        let mut session = Session::new(&args.reading, &args.selection, By::Function, global)?;
        session = session.selecting_rows();
        let file = Inputs::single(&args.trace, global)?;
        let item = session.watched(&file, OneCall::new(call), Arc::default())?;
        let ItemContent::Trace(read) = item.content else { return Ok(None) };
        Ok(read.sink.finish(read.meta, read.names).map(Box::new))
    }
}

type Collected = (Summary, Option<(CallGraphSink, Slowest)>);

fn snapshot(
    (summary, calls): Collected,
    names: Names,
    meta: &TraceMeta,
    source: Origin,
) -> Snapshot {
    Snapshot { profile: summary.finish(&names, meta, source), names, calls }
}

/// Passes on what it has collected whenever it is asked for.
struct Reporting<'a> {
    sums: Collected,
    selection: &'a Selection,
    name: &'a str,
    sender: Sender<Message>,
}

impl Reporting<'_> {
    #[cold]
    fn report(&self, names: &Names, meta: &TraceMeta) {
        let mut sums = self.sums.clone();
        if self.selection.selects_threads() {
            let thread = |id| names.threads.get(id);
            sums.keep_threads(&|id| thread(id).is_some_and(|one| self.selection.takes_thread(one)));
        }
        let source = Origin { path: self.name.to_owned(), format: String::new(), bytes: 0 };
        let so_far = snapshot(sums, names.clone(), meta, source);
        let _ = self.sender.send(Message::SoFar(Box::new(so_far)));
    }
}

impl SpanSink for Reporting<'_> {
    fn span(&mut self, span: &Span, names: &Names) {
        self.sums.span(span, names);
    }

    fn record(&mut self, record: Record<'_>, names: &Names) {
        if let Record::SoFar(meta) = record {
            self.report(names, meta);
        } else {
            self.sums.record(record, names);
        }
    }
}

impl SelectThreads for Reporting<'_> {
    fn separate_threads(&mut self) {
        self.sums.separate_threads();
    }

    fn keep_threads(&mut self, keep: &dyn Fn(ThreadId) -> bool) {
        self.sums.keep_threads(keep);
    }
}
