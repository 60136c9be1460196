//! A sink that passes only the selection on, and records the names for suggestions.

use std::collections::BTreeSet;

use profctl_model::{
    CpuId, FuncId, Gap, IdVec, Late, Mark, Names, NewIds, Progress, Record, SelectThreads, Span,
    SpanSink, Thread, ThreadId, ThreadLife, ThreadState, Wake,
};

use crate::args::Selection;

/// Lets the selected calls through to another sink. A call that is omitted passes its selected
/// callees to its caller, so that calls stay nested.
///
/// Threads are selected by what is known of them at the end of the input: recorders truncate names,
/// print `<...>` until a name is known, or write all names last.
pub(crate) struct Selected<S> {
    /// What is after it.
    inner: S,
    /// Whether there was any call, selected or not.
    pub(crate) has_calls: bool,
    selection: Selection,
    takes_all: bool,
    /// Whether a function is selected, once that was asked.
    functions: IdVec<FuncId, Option<bool>>,
    threads: IdVec<ThreadId, Roots>,
}

impl<S: SelectThreads> Selected<S> {
    pub(crate) fn new(mut inner: S, selection: &Selection) -> Self {
        if selection.selects_threads() {
            inner.separate_threads();
        }
        Self {
            inner,
            has_calls: false,
            takes_all: !selection.selects_functions() && selection.cpu.is_empty(),
            selection: selection.clone(),
            functions: IdVec::default(),
            threads: IdVec::default(),
        }
    }

    /// The sink with what was selected, now that all names are known.
    pub(crate) fn finish(self, names: &Names) -> S {
        let Self { mut inner, selection, .. } = self;
        if selection.selects_threads() {
            let thread = |id| names.threads.get(id);
            inner.keep_threads(&|id| thread(id).is_some_and(|t| takes_thread(&selection, t)));
        }
        inner
    }
}

impl<S> Selected<S> {
    fn takes(&mut self, func: FuncId, cpu: Option<CpuId>, names: &Names) -> bool {
        let is_function = *self.functions.grow_to(func).get_or_insert_with(|| {
            let func = &names.funcs[func];
            self.selection.takes_function(&func.name, func.module.as_deref())
        });
        is_function && takes_cpu(&self.selection, cpu, names)
    }
}

fn takes_thread(selection: &Selection, thread: &Thread) -> bool {
    !selection.selects_threads()
        || selection.thread.iter().any(|text| is_thread(text, thread))
        || selection.pid.iter().any(|&pid| is_process(pid, thread))
}

fn takes_cpu(selection: &Selection, cpu: Option<CpuId>, names: &Names) -> bool {
    selection.cpu.is_empty() || cpu.is_some_and(|cpu| selection.cpu.contains(&names.cpus[cpu]))
}

fn is_thread(text: &str, thread: &Thread) -> bool {
    thread.name == text
        || thread.label() == text
        || thread.tid.is_some_and(|tid| tid.to_string() == text)
}

fn is_process(pid: u64, thread: &Thread) -> bool {
    thread.pid.or(thread.tid) == Some(pid)
}

/// What is selected of the calls of a thread that have no caller yet, in their order: how many
/// calls each stands for, and how many there are in all, itself included.
#[derive(Debug, Default)]
struct Roots {
    /// Equal neighbors are counted.
    groups: Vec<Group>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Group {
    roots: u32,
    calls: u64,
    repeated: u64,
}

impl Roots {
    fn push(&mut self, roots: u32, calls: u64) {
        match self.groups.last_mut() {
            Some(last) if (last.roots, last.calls) == (roots, calls) => last.repeated += 1,
            _ => self.groups.push(Group { roots, calls, repeated: 1 }),
        }
    }

    /// Takes the latest `n`: the callees of a call that ended.
    fn take(&mut self, n: u32) -> (u32, u64) {
        let (mut roots, mut calls, mut left) = (0_u32, 0_u64, u64::from(n));
        while left > 0 {
            let Some(last) = self.groups.last_mut() else { break };
            let taken = left.min(last.repeated);
            roots = roots.saturating_add(last.roots.saturating_mul(taken as u32));
            calls = calls.saturating_add(last.calls.saturating_mul(taken));
            left -= taken;
            last.repeated -= taken;
            if last.repeated == 0 {
                self.groups.pop();
            }
        }
        (roots, calls)
    }
}

impl<S: SpanSink> Selected<S> {
    /// It writes to its copy of the span. Otherwise the compiler passes the original, and then stores
    /// every span to memory, even if nothing is selected.
    #[inline(never)]
    fn select(&mut self, mut span: Span, names: &Names) {
        let takes = self.takes(span.func, span.cpu, names);
        let roots = self.threads.grow_to(span.thread);
        let followers: Vec<_> = (0..span.late.roots).map(|_| roots.take(1)).collect();
        let (callees, descendants) = roots.take(span.callees);
        if takes {
            roots.push(1, descendants.saturating_add(1));
            (span.callees, span.descendants) = (callees, descendants);
            span.late = followers.iter().fold(Late::NONE, |late, (roots, calls)| Late {
                roots: late.roots.saturating_add(*roots),
                calls: late.calls.saturating_add(*calls),
            });
            self.inner.span(&span, names);
        } else {
            roots.push(callees, descendants);
        }
        for (follower, calls) in followers.into_iter().rev() {
            roots.push(follower, calls);
        }
    }
}

impl<S: SpanSink> SpanSink for Selected<S> {
    #[expect(clippy::inline_always, reason = "a call would pass the span through memory")]
    #[inline(always)]
    fn span(&mut self, span: &Span, names: &Names) {
        self.has_calls = true;
        if self.takes_all {
            self.inner.span(span, names);
        } else {
            self.select(*span, names);
        }
    }
    fn record(&mut self, record: Record<'_>, names: &Names) {
        if let Record::Total(totals) = record {
            self.has_calls = true;
            if !self.takes_all && !self.takes(totals.func, None, names) {
                return;
            }
        }
        if let Record::Enclosed(calls) | Record::Outermost(calls) = record
            && !self.takes_all
            && !self.takes(calls.func, calls.cpu, names)
        {
            return;
        }
        // Of the others, what is selected is sorted out once all names are known.
        self.inner.record(record, names);
    }
    const WATCHES_PROGRESS: bool = S::WATCHES_PROGRESS;
    fn progress(&mut self, progress: &Progress, names: &Names) {
        self.inner.progress(progress, names);
    }
    fn part(&self) -> Option<Self> {
        Some(Self {
            inner: self.inner.part()?,
            has_calls: false,
            selection: self.selection.clone(),
            takes_all: self.takes_all,
            functions: IdVec::default(),
            threads: IdVec::default(),
        })
    }
    fn join(&mut self, part: Self, ids: &NewIds, names: &Names) {
        self.has_calls |= part.has_calls;
        self.inner.join(part.inner, ids, names);
    }
}

impl Selection {
    /// Whether a thread is among those that were asked for.
    pub(crate) fn takes_thread(&self, thread: &Thread) -> bool {
        takes_thread(self, thread)
    }

    /// Keeps of other records what belongs to the selected threads, CPUs and functions.
    pub(crate) fn keep_states(&self, states: &mut Vec<ThreadState>, names: &Names) {
        states.retain(|state| {
            takes_thread(self, &names.threads[state.thread]) && takes_cpu(self, state.cpu, names)
        });
    }

    /// The same for beginnings and ends of threads.
    pub(crate) fn keep_lives(&self, lives: &mut Vec<ThreadLife>, names: &Names) {
        lives.retain(|life| takes_thread(self, &names.threads[life.thread]));
    }

    /// The same for marks.
    pub(crate) fn keep_marks(&self, marks: &mut Vec<Mark>, names: &Names) {
        marks.retain(|mark| self.takes_mark(mark, names));
    }

    /// Whether a mark is selected.
    pub(crate) fn takes_mark(&self, mark: &Mark, names: &Names) -> bool {
        let func = &names.funcs[mark.func];
        takes_thread(self, &names.threads[mark.thread])
            && self.takes_function(&func.name, func.module.as_deref())
    }

    /// The same for wakeups: of a selected thread, or by one.
    pub(crate) fn keep_wakes(&self, wakes: &mut Vec<Wake>, names: &Names) {
        let takes = |thread| takes_thread(self, &names.threads[thread]);
        // A thread that was merely interrupted is not the waker.
        let woke = |wake: &Wake| {
            wake.waker.thread.is_some_and(takes) && !wake.waker.context.is_interrupt()
        };
        wakes.retain(|wake| takes(wake.woken) || woke(wake));
    }

    /// The same for losses: those of a CPU that is not selected are omitted.
    pub(crate) fn keep_gaps(&self, gaps: &mut Vec<Gap>, names: &Names) {
        gaps.retain(|gap| gap.cpu.is_none() || takes_cpu(self, gap.cpu, names));
    }
}

/// What was found of what a selection names, over all inputs.
#[derive(Debug, Default)]
pub(crate) struct Found {
    threads: BTreeSet<String>,
    cpus: BTreeSet<u32>,
    pids: BTreeSet<u64>,
    modules: BTreeSet<String>,
    functions: BTreeSet<String>,
    /// Which of the names given were found, and whether any function was.
    given: Given,
}

#[derive(Debug, Default)]
struct Given {
    threads: BTreeSet<String>,
    function: bool,
}

/// Names that are kept for suggestions.
const REMEMBERED: usize = 100_000;

impl Found {
    /// Looks at the names of a trace.
    pub(crate) fn trace(&mut self, selection: &Selection, names: &Names) {
        if selection.selects_places() {
            for thread in &names.threads {
                for text in selection.thread.iter().filter(|text| is_thread(text, thread)) {
                    self.given.threads.insert(text.clone());
                }
                self.pids.extend(thread.pid.or(thread.tid));
                if self.threads.len() < REMEMBERED {
                    self.threads.insert(thread.name.clone());
                    self.threads.insert(thread.label());
                }
            }
            self.cpus.extend(names.cpus.iter());
        }
        if selection.selects_functions() {
            for func in &names.funcs {
                self.function(selection, &func.name, func.module.as_deref());
            }
        }
    }

    /// Looks at the name of a function.
    pub(crate) fn function(&mut self, selection: &Selection, name: &str, module: Option<&str>) {
        self.given.function |= selection.takes_function(name, module);
        if let Some(module) = module.filter(|_| self.modules.len() < REMEMBERED) {
            self.modules.insert(module.to_owned());
        }
        if self.functions.len() < REMEMBERED {
            self.functions.insert(name.to_owned());
        }
    }

    /// Fails on a name that was not found, with the nearest that there is.
    pub(crate) fn check(&self, selection: &Selection) -> Result<(), String> {
        let unknown = |what: &str, text: &str, known: &BTreeSet<String>| {
            let none = if known.is_empty() {
                format!("; the input names no {what}s")
            } else {
                String::new()
            };
            let near =
                nearest(text, known).map_or(none, |near| format!("; did you mean `{near}`?"));
            Err(format!("no {what} `{text}`{near}"))
        };
        for text in &selection.thread {
            if !self.given.threads.contains(text) {
                return unknown("thread", text, &self.threads);
            }
        }
        let numbers = |known: Vec<String>, what: &str| match known.len() {
            0 => format!("; the input names no {what}"),
            n if n > 16 => format!("; there are {n}"),
            _ => format!("; there are {}", known.join(", ")),
        };
        for pid in &selection.pid {
            if !self.pids.contains(pid) {
                let known = self.pids.iter().map(u64::to_string).collect();
                return Err(format!("no process {pid}{}", numbers(known, "process")));
            }
        }
        for cpu in &selection.cpu {
            if !self.cpus.contains(cpu) {
                let known = self.cpus.iter().map(u32::to_string).collect();
                return Err(format!("no CPU {cpu}{}", numbers(known, "CPU")));
            }
        }
        for module in &selection.module {
            if !self.modules.contains(module) {
                return unknown("module", module, &self.modules);
            }
        }
        if !selection.selects_functions() || self.given.function {
            return Ok(());
        }
        match (&selection.matching, &selection.exclude) {
            (Some(regex), None) => {
                if regex_is_plain(regex.as_str()) {
                    unknown("function matches", regex.as_str(), &self.functions)
                } else {
                    Err(format!("no function matches `{regex}`"))
                }
            }
            _ => Err("no function is selected by --match, --exclude and --module".into()),
        }
    }
}

fn regex_is_plain(text: &str) -> bool {
    text.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// The known name that is most like `text`.
pub(crate) fn nearest<'a>(text: &str, known: &'a BTreeSet<String>) -> Option<&'a String> {
    let likeness = |name: &str| strsim::jaro_winkler(&name.to_lowercase(), &text.to_lowercase());
    let rated = known.iter().map(|name| (likeness(name), name));
    let best = rated.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)));
    best.filter(|(likeness, _)| *likeness > 0.8).map(|(_, name)| name)
}

#[cfg(test)]
mod tests;
