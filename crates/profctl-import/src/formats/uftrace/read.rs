//! Blocks of records to calls, marks and switches.

use std::cell::RefCell;
use std::sync::Arc;

use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};
use profctl_model::hash::FastMap;
use profctl_model::{Func, FuncKind};

use super::args::Values;
use super::events::{Events, detail};
use super::kernel::{Kernel, Said};
use super::record::{Behind, Kind, Layout, RECORD, Record, Step, event_size};
use super::recording::{Recording, Scopes};
use super::{KERNEL_UNREAD, LOST_SCHED, UNKNOWN_DATA, perf};
use crate::bytes::Endian;
use crate::emit::{
    At, Emitter, LaneKey, LaneRef, NameRef, PrevState, Stated, ThreadKey, ThreadName,
};
use crate::formats::{Block, Reader, State};
use crate::ring_buffer;

/// What a stream holds.
#[derive(Clone, Debug)]
pub(super) enum StreamKind {
    /// The functions of a thread.
    Task {
        tid: u64,
        /// Its process, if the recording says.
        pid: Option<u64>,
        name: String,
        scopes: Scopes,
        layout: Layout,
        /// Whether the depth of exits is that of their entries.
        has_depths: bool,
    },
    /// What the scheduler did on a CPU.
    Cpu { cpu: u32 },
    /// What threads called in the kernel on a CPU.
    Kernel { cpu: u32 },
}

/// All that blocks are read with.
#[derive(Debug)]
pub(super) struct Contents {
    pub(super) recording: Recording,
    pub(super) events: Events,
    /// The streams.
    pub(super) sources: Vec<StreamKind>,
    /// Threads with their process and name.
    pub(super) threads: FastMap<u64, (u64, String)>,
    pub(super) endian: Endian,
    pub(super) kernel: Option<Kernel>,
    /// Whether there are functions of the kernel that nothing describes.
    pub(super) has_unread: bool,
    /// Lines of `task.txt` that could not be read.
    pub(super) unread_lines: usize,
}

/// Reads blocks of all streams.
pub(super) struct Records {
    contents: Arc<Contents>,
    /// Names of functions by scope and address.
    names: FastMap<(u32, u64), NameRef>,
    /// Those of the kernel by address.
    kernel_names: FastMap<u64, NameRef>,
    /// What stands behind the records of functions, by scope and address.
    values: RefCell<FastMap<(u32, u64), Arc<Values>>>,
}

/// Which scope a thread is in, as long as its time lies in a range.
struct ScopeNow<'a> {
    scopes: &'a Scopes,
    from: u64,
    until: u64,
    scope: u32,
}

impl<'a> ScopeNow<'a> {
    fn new(scopes: &'a Scopes) -> Self {
        Self { scopes, from: 1, until: 0, scope: 0 }
    }

    #[inline]
    fn at(&mut self, time: u64) -> u32 {
        if time < self.from || time >= self.until {
            self.find(time);
        }
        self.scope
    }

    #[cold]
    fn find(&mut self, time: u64) {
        let behind = self.scopes.partition_point(|&(from, _)| from <= time).max(1);
        self.from = if behind == 1 { 0 } else { self.scopes[behind - 1].0 };
        self.until = self.scopes.get(behind).map_or(u64::MAX, |next| next.0);
        self.scope = self.scopes.get(behind - 1).map_or(u32::MAX, |now| now.1);
    }
}

impl Records {
    pub(super) fn new(contents: Contents) -> Self {
        Self::over(Arc::new(contents))
    }

    fn over(contents: Arc<Contents>) -> Self {
        Self {
            contents,
            names: FastMap::default(),
            kernel_names: FastMap::default(),
            values: RefCell::default(),
        }
    }

    /// The bytes of data after a record, if that is known.
    fn size(&self, scope: u32, record: &Record, data: &[u8]) -> Option<usize> {
        let Contents { recording, endian, .. } = &*self.contents;
        let is_return = match record.kind {
            Kind::Entry => false,
            Kind::Exit => true,
            Kind::Lost | Kind::Event => return event_size(data, *endian),
        };
        if !recording.has_specs() {
            return None;
        }
        let mut values = self.values.borrow_mut();
        let key = (scope, record.address);
        let values = values.entry(key).or_insert_with(|| Arc::new(recording.values(key.0, key.1)));
        values.size(is_return, data, *endian)
    }

    /// Reads the records of a thread; says where reading ended.
    fn steps(
        &self,
        (bytes, behind): (&[u8], Behind),
        (layout, scopes): (Layout, &Scopes),
        mut take: impl FnMut(usize, Step, &mut ScopeNow<'_>),
    ) -> usize {
        let mut scope = ScopeNow::new(scopes);
        let mut at = 0;
        loop {
            let size =
                |record: &Record, data: &[u8]| self.size(scope.at(record.time), record, data);
            let step = layout.step(bytes, at, behind, size);
            let length = match step {
                Step::Record(_, length, _) | Step::Damaged(length) => length,
                Step::Short => return at,
            };
            take(at, step, &mut scope);
            at += length;
        }
    }

    fn task(&mut self, source: usize, block: &Block<'_>, out: &mut Emitter) {
        let contents = Arc::clone(&self.contents);
        let StreamKind::Task { tid, pid, name, scopes, layout, has_depths } =
            &contents.sources[source]
        else {
            return;
        };
        let lane = out.lane(LaneKey { cpu: None, thread: thread_key(*tid, *pid, name) });
        let mut names = std::mem::take(&mut self.names);
        let bytes = block.bytes;
        let behind = if block.at_end { Behind::End } else { Behind::Block };
        let end = self.steps((bytes, behind), (*layout, scopes), |offset, step, scope| {
            let (record, length) = match step {
                Step::Record(record, length, _) => (record, length),
                Step::Damaged(length) => {
                    out.diag(&SKIPPED_RECORD, offset, || {
                        format!("{length} bytes that are not a function record")
                    });
                    return;
                }
                Step::Short => return,
            };
            out.records += 1;
            let at = At { time: Some(record.time), lane, offset };
            let stated = if *has_depths { Stated::depth(record.depth) } else { Stated::NOTHING };
            let name = match record.kind {
                Kind::Entry | Kind::Exit => {
                    let key = (scope.at(record.time), record.address);
                    match names.get(&key) {
                        Some(&name) => name,
                        None => {
                            let name = name_of(&contents.recording, key, out);
                            names.insert(key, name);
                            name
                        }
                    }
                }
                Kind::Lost => {
                    // The record has no net time.
                    let next = layout.record(bytes, offset + length).map(|next| next.time);
                    let at = At { time: next.filter(|&time| time > 0), ..at };
                    out.lost(at, Some(record.address));
                    return;
                }
                Kind::Event => {
                    let name = contents.events.name(record.address);
                    let name = out.func(&name, FuncKind::Mark);
                    let data = &bytes[offset + RECORD..offset + length];
                    match detail(record.address, data, contents.endian) {
                        Some(detail) => out.instant_with(at, name, &detail),
                        None => out.instant(at, name),
                    }
                    return;
                }
            };
            let is_exit = record.kind == Kind::Exit;
            if is_exit {
                out.exit(at, Some(name), stated);
            } else {
                out.enter(at, name, stated);
            }
            if record.has_data
                && !self.explains(scope.at(record.time), &record, bytes, offset, length)
            {
                out.diag(&UNKNOWN_DATA, offset, || {
                    let what = if is_exit { "return value" } else { "arguments" };
                    format!("{} bytes of {what} of unknown length", length - RECORD)
                });
            }
        });
        self.names = names;
        if block.at_end && end < bytes.len() {
            let left = bytes.len() - end;
            out.diag(&CUT_RECORD, end, || format!("{left} of {RECORD} bytes of a record"));
        }
    }

    /// Whether the specifications say how long the data of this record is.
    fn explains(
        &self,
        scope: u32,
        record: &Record,
        bytes: &[u8],
        offset: usize,
        length: usize,
    ) -> bool {
        let data = &bytes[offset + RECORD..];
        self.size(scope, record, data) == Some(length - RECORD)
    }

    fn cpu(&self, cpu: u32, block: &Block<'_>, out: &mut Emitter) {
        let endian = self.contents.endian;
        let bytes = block.bytes;
        let mut at = 0;
        while let Some(size) = perf::size(&bytes[at..], endian) {
            if size == 0 {
                out.diag(&SKIPPED_RECORD, at, || {
                    format!("{} bytes that are not a scheduler record", bytes.len() - at)
                });
                return;
            }
            let Some(record) = bytes.get(at..at + size) else { break };
            out.records += 1;
            match perf::record(record, endian) {
                Some(record) => self.scheduled(cpu, record, at, out),
                None => out.diag(&SKIPPED_RECORD, at, || {
                    format!("a scheduler record with {size} bytes, expected more")
                }),
            }
            at += size;
        }
        if at < bytes.len() {
            let left = bytes.len() - at;
            out.diag(&CUT_RECORD, at, || format!("{left} bytes of a scheduler record"));
        }
    }

    fn pages(&mut self, cpu: u32, block: &Block<'_>, out: &mut Emitter) {
        let contents = Arc::clone(&self.contents);
        let Some(kernel) = &contents.kernel else { return };
        let size = kernel.layout.size;
        for (n, bytes) in block.bytes.chunks(size).enumerate() {
            let offset = n * size;
            if bytes.len() < size {
                out.diag(&CUT_RECORD, offset, || {
                    format!("{} of {size} bytes of a page", bytes.len())
                });
                return;
            }
            self.page(kernel, cpu, (bytes, offset), out);
        }
    }

    fn page(
        &mut self,
        kernel: &Kernel,
        cpu: u32,
        (bytes, offset): (&[u8], usize),
        out: &mut Emitter,
    ) {
        let here = out.lane(LaneKey { cpu: Some(cpu), thread: ThreadKey::Unstated });
        let damaged = |out: &mut Emitter, offset: usize| {
            out.diag(&SKIPPED_RECORD, offset, || "the rest of a page is invalid".into());
            out.lost(At { time: None, lane: here, offset }, None);
        };
        let Some(mut page) = ring_buffer::page(bytes, &kernel.layout) else {
            damaged(out, offset);
            return;
        };
        if let Some(lost) = page.lost {
            out.lost(At { time: Some(page.start), lane: here, offset }, lost.events);
        }
        loop {
            let record = match page.records.next_record() {
                Ok(Some(record)) => record,
                Ok(None) => return,
                Err(at) => {
                    damaged(out, offset + kernel.layout.data + at);
                    return;
                }
            };
            out.records += 1;
            let offset = offset + kernel.layout.data + record.offset;
            let Some((tid, said)) = kernel.record(record.data) else {
                out.diag(&SKIPPED_RECORD, offset, || {
                    format!("a record of the kernel with {} bytes", record.data.len())
                });
                continue;
            };
            let at = At { time: Some(record.time), lane: self.lane(Some(cpu), tid, out), offset };
            match said {
                Said::Entry { address } => {
                    let name = self.kernel_name(kernel, address, out);
                    out.enter(at, name, Stated::NOTHING);
                }
                Said::Exit { address } => {
                    let name = self.kernel_name(kernel, address, out);
                    out.exit(at, Some(name), Stated::NOTHING);
                }
                Said::Event(decoder) => {
                    let mut detail = String::new();
                    let symbol = |address| kernel.symbol(address);
                    decoder.arguments(record.data, kernel.layout.endian, symbol, &mut detail);
                    let format = &decoder.format;
                    let name = format!("{}:{}", format.system, format.name);
                    let name = out.func(&name, FuncKind::Mark);
                    out.instant_with(at, name, &detail);
                }
                Said::Unknown => out.diag(&SKIPPED_RECORD, offset, || {
                    "a record of the kernel that `kernel_header` does not describe".into()
                }),
            }
        }
    }

    fn kernel_name(&mut self, kernel: &Kernel, address: u64, out: &mut Emitter) -> NameRef {
        *self.kernel_names.entry(address).or_insert_with(|| {
            let func = kernel.function(address);
            let module = func.module.as_deref().unwrap_or_default();
            let spelling = format!("{}\0{module}\0", func.name);
            out.name(spelling.as_bytes(), |_| func)
        })
    }

    fn scheduled(&self, cpu: u32, record: perf::Record, offset: usize, out: &mut Emitter) {
        let perf::Record { time, tid, kind, .. } = record;
        let at = |lane| At { time: Some(time), lane, offset };
        let here = out.lane(LaneKey { cpu: Some(cpu), thread: ThreadKey::Unstated });
        let lane = self.lane(Some(cpu), tid, out);
        match kind {
            perf::Kind::SwitchIn => {
                out.sched_switch(at(here), None, PrevState::Sleeping, Some(lane));
            }
            perf::Kind::SwitchOut { preempted } => {
                let state = if preempted { PrevState::Preempted } else { PrevState::Sleeping };
                out.sched_switch(at(here), Some(lane), state, None);
            }
            perf::Kind::Name(name) => {
                let thread = match self.contents.threads.get(&tid) {
                    Some(&(pid, _)) => ThreadKey::Member { pid, tid, name },
                    None => ThreadKey::Tid(tid, name),
                };
                let pid = self.contents.threads.get(&tid).map(|thread| thread.0);
                let lane = out.lane(LaneKey { cpu: Some(cpu), thread });
                let named = ThreadName { tid: Some(tid), pid, ..ThreadName::default() };
                out.name_thread(lane, offset, named);
            }
            perf::Kind::Fork { parent } => {
                let parent = self.lane(Some(cpu), parent, out);
                let child = self.lane(None, tid, out);
                out.fork(at(parent), child);
            }
            perf::Kind::Exit => {
                out.thread_exit(at(lane));
                // Perf events end with their thread: it leaves the CPU without a record.
                out.sched_switch(at(here), Some(lane), PrevState::Dead, None);
            }
            perf::Kind::Lost(n) => {
                out.diag(&LOST_SCHED, offset, || format!("{n} records lost on CPU {cpu}"));
            }
            perf::Kind::Other => {}
        }
    }

    fn lane(&self, cpu: Option<u32>, tid: u64, out: &mut Emitter) -> LaneRef {
        let known = self.contents.threads.get(&tid);
        let (pid, name) = known.map_or((None, ""), |(pid, name)| (Some(*pid), name));
        out.lane(LaneKey { cpu, thread: thread_key(tid, pid, name) })
    }
}

fn thread_key(tid: u64, pid: Option<u64>, name: &str) -> ThreadKey {
    let name = name.to_owned();
    match pid {
        Some(pid) => ThreadKey::Member { pid, tid, name },
        None => ThreadKey::Tid(tid, name),
    }
}

#[cold]
fn name_of(recording: &Recording, (scope, address): (u32, u64), out: &mut Emitter) -> NameRef {
    let found = recording.function(scope, address);
    // One function has several addresses where a recording has several runs of a program.
    let spelling = format!("{}\0{}", found.name, found.module.as_deref().unwrap_or_default());
    let func = Func { name: found.name, module: found.module, ..Func::default() };
    out.name(spelling.as_bytes(), |_| func)
}

impl Reader for Records {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self::over(Arc::clone(&self.contents)))
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        self.boundary_in(0, bytes)
    }

    fn boundary_in(&self, stream: usize, bytes: &[u8]) -> usize {
        match &self.contents.sources[stream] {
            StreamKind::Task { layout, scopes, .. } => {
                let mut end = 0;
                let end_of = |offset, step, _: &mut ScopeNow<'_>| {
                    if let Step::Record(_, length, true) = step {
                        end = offset + length;
                    }
                };
                self.steps((bytes, Behind::More), (*layout, scopes), end_of);
                end
            }
            // Its blocks are cut in advance.
            StreamKind::Cpu { .. } => bytes.len(),
            StreamKind::Kernel { .. } => {
                let size = self.contents.kernel.as_ref().map_or(1, |kernel| kernel.layout.size);
                bytes.len() / size * size
            }
        }
    }

    fn read(&mut self, block: &Block<'_>, _state: &State, out: &mut Emitter) -> Option<State> {
        if block.stream == 0 && block.offset == 0 {
            let Contents { has_unread, unread_lines, .. } = &*self.contents;
            if *has_unread {
                out.diag(&KERNEL_UNREAD, 0, || "kernel-cpu*.dat without kernel_header".into());
            }
            for _ in 0..*unread_lines {
                out.diag(&SKIPPED_RECORD, 0, || "a line of task.txt is not a record".into());
            }
        }
        match self.contents.sources[block.stream] {
            StreamKind::Task { .. } => self.task(block.stream, block, out),
            StreamKind::Cpu { cpu } => self.cpu(cpu, block, out),
            StreamKind::Kernel { cpu } => self.pages(cpu, block, out),
        }
        None
    }
}
