//! Perfetto's protobuf form: a track a thread, an event at each entry, exit and instant, with the CPU
//! and the module as annotations; and the kernel's events of who ran where, where the input says
//! ([`perfetto_sched`]). `docs/export.md` says what is lost.
//!
//! Field numbers are those of the `.proto` files that Perfetto publishes. Names are interned and
//! referred to by number, in one sequence of packets.

use std::io::{self, Write};

use profctl_model::hash::FastMap;
use profctl_model::{CpuId, FuncId, FuncKind, ThreadId, Tick, Ticks};

use super::order::{self, What};
use super::perfetto_sched;
use super::wire::Message;
use super::{CallEnd, CallEnds, Header};

/// Field 1 of a trace: a packet.
const PACKET: u32 = 1;
/// The only sequence.
const SEQUENCE: u64 = 1;
/// Flags of a packet: the incremental state is cleared; needs the incremental state.
const CLEARED: u64 = 1;
const REFERS: u64 = 2;
/// Types of an event.
const BEGIN: u64 = 1;
const END: u64 = 2;
const INSTANT: u64 = 3;
/// The track of what is about the trace as a whole.
const OF_TRACE: u64 = 1;
/// The track of the first thread.
const FIRST: u64 = 2;
/// Interned names per packet.
const TOLD_AT_ONCE: usize = 1000;
/// The latest time that readers with signed numbers can represent.
const TIME_MAX: u64 = i64::MAX as u64;

/// Names of annotations; the number of each is its place, from 1.
const ANNOTATIONS: [&str; 4] = ["cpu", "module", "lost", "detail"];
/// Categories, likewise.
const KINDS: [FuncKind; 6] = [
    FuncKind::Function,
    FuncKind::Syscall,
    FuncKind::Interrupt,
    FuncKind::Idle,
    FuncKind::Switch,
    FuncKind::Mark,
];

/// The category of a loss.
const GAP: u64 = KINDS.len() as u64 + 1;

/// Writes a trace.
pub fn write(header: &Header<'_>, calls: &mut CallEnds<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut writer = Writer::new(header, out);
    writer.tell_names()?;
    writer.tell_track_of_losses()?;
    writer.tell_threads()?;
    for packet in perfetto_sched::packets(header) {
        writer.packet = packet;
        writer.packet.number(10, SEQUENCE);
        writer.end_packet()?;
    }
    order::moments(header, calls, |time, what| match what {
        What::Call(call) => writer.call(time, &call),
        What::Mark(row) => writer.mark(time, row),
        What::Gap(row) => writer.gap(time, row),
    })
}

struct Writer<'a> {
    header: &'a Header<'a>,
    out: &'a mut dyn Write,
    /// Modules, by the number that stands for each.
    modules: FastMap<&'a str, u64>,
    head: Message,
    packet: Message,
    event: Message,
    annotation: Message,
}

impl<'a> Writer<'a> {
    fn new(header: &'a Header<'a>, out: &'a mut dyn Write) -> Self {
        let mut modules = FastMap::default();
        for module in header.names.funcs.iter().filter_map(|func| func.module.as_deref()) {
            let number = modules.len() as u64 + 1;
            modules.entry(module).or_insert(number);
        }
        let [head, packet, event, annotation] = [(); 4].map(|()| Message::default());
        Self { header, out, modules, head, packet, event, annotation }
    }

    /// Writes every interned name.
    fn tell_names(&mut self) -> io::Result<()> {
        let names = self.header.names;
        let mut flags = CLEARED;
        let mut tell = |writer: &mut Self, field: u32, names: &mut dyn Iterator<Item = &str>| {
            let mut number = 0;
            loop {
                let mut told = Message::default();
                for name in (&mut *names).take(TOLD_AT_ONCE) {
                    number += 1;
                    told.with(field, |entry| {
                        entry.number(1, number);
                        entry.text(2, name);
                    });
                }
                if told.bytes().is_empty() {
                    return Ok(());
                }
                writer.packet.number(10, SEQUENCE);
                writer.packet.number(13, flags);
                flags = REFERS;
                writer.packet.message(12, &told);
                writer.end_packet()?;
            }
        };
        let kinds = KINDS.map(FuncKind::name);
        let mut modules: Vec<_> =
            self.modules.iter().map(|(name, number)| (*number, *name)).collect();
        modules.sort_unstable();
        tell(self, 1, &mut kinds.into_iter().chain(["gap"]))?;
        tell(self, 2, &mut names.funcs.iter().map(|func| func.name.as_str()))?;
        tell(self, 3, &mut ANNOTATIONS.into_iter())?;
        tell(self, 29, &mut modules.into_iter().map(|(_, name)| name))
    }

    /// The track of losses, which are of no thread.
    fn tell_track_of_losses(&mut self) -> io::Result<()> {
        if self.header.gaps.is_empty() {
            return Ok(());
        }
        self.packet.with(60, |track| {
            track.number(1, OF_TRACE);
            track.text(2, "lost events");
        });
        self.packet.number(10, SEQUENCE);
        self.end_packet()
    }

    /// A track for each thread that made calls.
    fn tell_threads(&mut self) -> io::Result<()> {
        let Header { names, calls, marks, .. } = *self.header;
        let mut is_used: Vec<bool> = names
            .threads
            .pairs()
            .map(|(id, _)| calls.get(id).is_some_and(|&calls| calls > 0))
            .collect();
        for mark in marks {
            is_used[mark.thread.index()] = true;
        }
        for (id, thread) in names.threads.pairs() {
            if !is_used[id.index()] {
                continue;
            }
            // Viewers group threads by process; if the input has none, each thread is its own
            // process.
            let ids =
                thread.tid.filter(|_| !thread.idle).map(|tid| (thread.pid.unwrap_or(tid), tid));
            let small =
                |(pid, tid): &(u64, u64)| i32::try_from(*pid.max(tid)).is_ok_and(|id| id > 0);
            self.packet.with(60, |track| {
                track.number(1, track_of(id));
                match ids.filter(small) {
                    Some((pid, tid)) => track.with(4, |descriptor| {
                        descriptor.number(1, pid);
                        descriptor.number(2, tid);
                        descriptor.text(5, &thread.name);
                    }),
                    None if thread.name.is_empty() => track.text(2, thread.label()),
                    None => track.text(2, &thread.name),
                }
            });
            self.packet.number(10, SEQUENCE);
            self.end_packet()?;
        }
        Ok(())
    }

    fn call(&mut self, time: Tick, call: &CallEnd) -> io::Result<()> {
        let track = track_of(call.thread);
        match call.entered {
            Some((func, cpu)) => {
                self.begin_event(BEGIN, track);
                self.event.number(10, func.index() as u64 + 1);
                self.describe(func, cpu);
            }
            None => self.begin_event(END, track),
        }
        self.end_event(time)
    }

    fn mark(&mut self, time: Tick, row: usize) -> io::Result<()> {
        let mark = &self.header.marks[row];
        self.begin_event(INSTANT, track_of(mark.thread));
        self.event.number(10, mark.func.index() as u64 + 1);
        self.describe(mark.func, None);
        if let Some(detail) = &mark.detail {
            self.annotate("detail", |said| said.text(6, detail.as_bytes()));
        }
        self.end_event(time)
    }

    fn gap(&mut self, time: Tick, row: usize) -> io::Result<()> {
        let gap = self.header.gaps[row];
        self.begin_event(INSTANT, OF_TRACE);
        self.event.text(23, "lost events");
        self.event.number(3, GAP);
        if let Some(cpu) = gap.cpu {
            self.annotate("cpu", |said| said.number(3, self.header.names.cpus[cpu].into()));
        }
        if let Some(lost) = gap.lost {
            self.annotate("lost", |said| said.number(3, lost));
        }
        self.end_event(time)
    }

    fn begin_event(&mut self, kind: u64, track: u64) {
        self.event.clear();
        self.event.number(9, kind);
        self.event.number(11, track);
    }

    /// Ends an event that happened at `time`.
    fn end_event(&mut self, time: Tick) -> io::Result<()> {
        let timebase = &self.header.meta.timebase;
        let nanoseconds = timebase.reported(Ticks(time.0));
        self.packet.number(8, nanoseconds.min(TIME_MAX));
        self.packet.number(10, SEQUENCE);
        self.packet.number(13, REFERS);
        self.packet.message(11, &self.event);
        self.end_packet()
    }

    fn end_packet(&mut self) -> io::Result<()> {
        self.head.clear();
        self.head.message(PACKET, &self.packet);
        self.packet.clear();
        self.out.write_all(self.head.bytes())
    }

    /// What is shown of a call beside its name; its kind is the category of the event.
    fn describe(&mut self, func: FuncId, cpu: Option<CpuId>) {
        let func = &self.header.names.funcs[func];
        let place = KINDS.iter().position(|known| *known == func.kind).unwrap_or_default();
        if place > 0 {
            self.event.number(3, place as u64 + 1);
        }
        if let Some(cpu) = cpu {
            let number = self.header.names.cpus[cpu];
            self.annotate("cpu", |annotation| annotation.number(3, number.into()));
        }
        if let Some(module) = &func.module {
            let number = self.modules.get(module.as_str()).copied().unwrap_or_default();
            self.annotate("module", |annotation| annotation.number(17, number));
        }
    }

    fn annotate(&mut self, name: &str, value: impl FnOnce(&mut Message)) {
        let place = ANNOTATIONS.iter().position(|known| *known == name);
        let place = place.expect("every name that is used stands in the list");
        self.annotation.clear();
        self.annotation.number(1, place as u64 + 1);
        value(&mut self.annotation);
        self.event.message(4, &self.annotation);
    }
}

fn track_of(thread: ThreadId) -> u64 {
    FIRST + thread.index() as u64
}
