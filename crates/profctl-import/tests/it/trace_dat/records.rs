//! The records of a trace.dat as its reader says them, before anything is made of them.

use std::collections::{BTreeMap, BTreeSet};

use profctl_import::emit::{Emitter, Record, ThreadKey};
use profctl_import::formats::trace_dat::TraceDat;
use profctl_import::formats::{Block, Extents};
use profctl_import::{ImportOptions, Importer, Single};
use profctl_testkit::fixtures;

/// What happened to a function.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) pid: u64,
    pub(super) depth: u16,
    pub(super) time: u64,
    /// An exit: how long the call took.
    pub(super) took: Option<u64>,
}

/// The records of one CPU of one buffer.
#[derive(Debug, Default)]
pub(super) struct Cpu {
    pub(super) number: u32,
    /// Of every kind.
    pub(super) records: u64,
    pub(super) calls: Vec<Call>,
    /// The losses of its pages: how many events each, if stated.
    pub(super) losses: Vec<Option<u64>>,
}

/// A recording: its CPUs, those of the main buffer first, and what `info` shows of it.
pub(super) struct Records {
    pub(super) cpus: Vec<Cpu>,
    pub(super) facts: Vec<(&'static str, String)>,
}

/// The bytes of a recording, decompressed.
pub(super) fn bytes_of(path: &std::path::Path) -> Vec<u8> {
    let bytes = fixtures::read(path);
    let is_packed = path.extension().is_some_and(|extension| extension == "zst");
    if is_packed { zstd::decode_all(bytes.as_slice()).unwrap() } else { bytes }
}

pub(super) fn records(bytes: &[u8]) -> Records {
    let files = Single::new("test", Box::new(bytes));
    let opened = TraceDat.open(&files, &ImportOptions::default()).unwrap();
    let cpus = opened.streams.iter().enumerate().map(|(row, stream)| {
        let Extents::Bytes(ranges) = &stream.extents else { panic!("{:?}", stream.extents) };
        let range = ranges[0].start as usize..ranges[0].end as usize;
        let mut said = Emitter::default();
        let block = Block { bytes: &bytes[range], at_end: true, stream: row, offset: 0 };
        opened.reader.fork().read(&block, &opened.state, &mut said);
        cpu(&said)
    });
    Records { cpus: cpus.collect(), facts: opened.facts }
}

fn cpu(said: &Emitter) -> Cpu {
    let mut found = Cpu { records: said.records, ..Cpu::default() };
    found.number = said.lanes.iter().find_map(|lane| lane.cpu).unwrap();
    for (at, record) in said.said() {
        let (name, stated, is_exit) = match record {
            Record::Enter { name, stated } => (name, stated, false),
            Record::Exit { name, stated } => (name.unwrap(), stated, true),
            Record::Lost { events } => {
                found.losses.push(events);
                continue;
            }
            _ => continue,
        };
        // Calls of interrupts and system calls state no depth: they are made of other events.
        let Some(depth) = stated.depth else { continue };
        let pid = match said.lanes[at.lane.0 as usize].thread {
            ThreadKey::Tid(tid, _) => tid,
            _ => 0,
        };
        let name = said.names[name.0 as usize].name.clone();
        let took = is_exit.then(|| stated.wall.unwrap());
        found.calls.push(Call { name, pid, depth, time: at.time.unwrap(), took });
    }
    found
}

/// What was found out about a function from the durations in its exits.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sums {
    pub(super) calls: u64,
    pub(super) elapsed: u64,
    pub(super) net: i64,
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Sums {
    pub(super) fn add(&mut self, took: u64, net: i64) {
        self.min = if self.calls == 0 { took } else { self.min.min(took) };
        self.max = self.max.max(took);
        self.calls += 1;
        self.elapsed += took;
        self.net += net;
    }
}

/// A call that is open.
struct Frame<'a> {
    name: &'a str,
    depth: u16,
    start: u64,
    /// When each callee began, and how long it took.
    callees: Vec<(u64, u64)>,
}

impl Records {
    /// All calls, in time order, each with its CPU if it is of an idle task, of which every
    /// CPU has one.
    fn calls(&self) -> Vec<((u64, u64), &Call)> {
        let mut calls = Vec::new();
        for cpu in &self.cpus {
            let of = |call: &Call| if call.pid == 0 { u64::from(cpu.number) } else { 0 };
            calls.extend(cpu.calls.iter().map(|call| ((call.pid, of(call)), call)));
        }
        calls.sort_by_key(|(_, call)| call.time);
        calls
    }

    /// The sums of each function, from the depths and durations of exits alone: the callees of a call
    /// are the exits one deeper since the exit before at its depth, or less.
    pub(super) fn sums_by_depth(&self) -> BTreeMap<String, Sums> {
        let mut sums: BTreeMap<String, Sums> = BTreeMap::new();
        let mut callees: BTreeMap<(u64, u64), BTreeMap<u16, u64>> = BTreeMap::new();
        for (thread, call) in self.calls() {
            let Some(took) = call.took else { continue };
            let callees = callees.entry(thread).or_default();
            let deeper = callees.split_off(&(call.depth + 1));
            let below = deeper.get(&(call.depth + 1)).copied().unwrap_or(0);
            *callees.entry(call.depth).or_default() += took;
            sums.entry(call.name.clone()).or_default().add(took, took as i64 - below as i64);
        }
        sums
    }

    /// The functions of a recording without losses whose net time depends on what is made of callees
    /// that came late, when their caller was already returning: of calls whose callees exceed them or
    /// began after their stated end, of what was entered at the depth of an open call, of that call,
    /// and of the callers of all these.
    pub(super) fn with_late_callees(&self) -> BTreeSet<&str> {
        let mut found = BTreeSet::new();
        let mut stacks: BTreeMap<(u64, u64), Vec<Frame<'_>>> = BTreeMap::new();
        let mut early = BTreeMap::new();
        for (thread, call) in self.calls() {
            let stack = stacks.entry(thread).or_default();
            let under = stack.last().map_or(0, |top| top.depth + 1);
            if call.took.is_none() && call.depth > under {
                early.insert(thread, call.depth);
                found.extend(stack.last().map(|top| top.name));
            } else if call.took.is_none() && early.get(&thread).is_some_and(|of| *of > call.depth) {
                early.remove(&thread);
                found.insert(call.name.as_str());
            }
            if call.took.is_none()
                && let Some(place) = stack.iter().position(|frame| frame.depth >= call.depth)
            {
                found.insert(call.name.as_str());
                found.extend(stack[place.saturating_sub(1)..].iter().map(|frame| frame.name));
            }
            let Some(took) = call.took else {
                let Call { depth, time: start, .. } = *call;
                stack.push(Frame { name: &call.name, depth, start, callees: Vec::new() });
                continue;
            };
            let frame = stack.pop().unwrap();
            let end = frame.start + took;
            let is_late = |callee: &(u64, u64)| callee.0 >= end;
            let (late, inside): (Vec<_>, Vec<_>) = frame.callees.into_iter().partition(is_late);
            let below: u64 = inside.iter().map(|(_, took)| took).sum();
            let is_unclear = !late.is_empty() || below > took;
            if is_unclear {
                found.insert(frame.name);
            }
            if let Some(caller) = stack.last_mut() {
                if is_unclear {
                    found.insert(caller.name);
                }
                caller.callees.push((frame.start, took));
                caller.callees.extend(late);
            }
        }
        found
    }
}
