//! What LTTng records of a kernel and of a program at once: a directory of packets for each, and the
//! text that babeltrace2 prints of both.

use std::fmt::Write as _;

use super::tid;
use crate::execution::{Execution, Leaves, Record, What};

/// How packets are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packing {
    /// Bytes of a packet.
    pub packet: usize,
    /// The order of bytes, and of the bits in them.
    pub big_endian: bool,
    /// What is lost was overwritten: packet numbers are missing, and events are not counted.
    /// Otherwise new events are discarded and counted.
    pub overwrites: bool,
}

const BASE: u64 = 0x5555_5555_0000;
const SIZE: u64 = 64;
const PROCESS: u64 = 100;
/// The number that says that the whole number and the whole time follow.
const EXTENDED: u32 = 31;
const STAMP_BITS: u32 = 27;
/// Bytes of the header and the context of a packet.
const HEAD: usize = 4 + 16 + 4 + 6 * 8 + 4;
const UUID: [u8; 16] = *b"profctl-made-up!";

const COMMON: &str = r#"
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
typealias integer { size = 5; align = 1; signed = false; } := uint5_t;
trace {
	major = 1;
	minor = 8;
	uuid = "70726f66-6374-6c2d-6d61-64652d757021";
	byte_order = ORDER;
	packet.header := struct {
		uint32_t magic;
		uint8_t uuid[16];
		uint32_t stream_id;
	};
};
clock { name = "monotonic"; freq = 1000000000; offset = 1700000000000000000; };
typealias integer { size = 27; align = 1; signed = false; map = clock.monotonic.value; } := uint27_clock_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.monotonic.value; } := uint64_clock_t;
typealias integer { size = 32; align = 8; signed = true; } := int32_t;
struct event_header_compact {
	enum : uint5_t { compact = 0 ... 30, extended = 31 } id;
	variant <id> {
		struct { uint27_clock_t timestamp; } compact;
		struct { uint32_t id; uint64_clock_t timestamp; } extended;
	} v;
} align(8);
stream {
	id = 0;
	packet.context := struct {
		uint64_clock_t timestamp_begin;
		uint64_clock_t timestamp_end;
		uint64_t content_size;
		uint64_t packet_size;
		uint64_t packet_seq_num;
		uint64_t events_discarded;
		uint32_t cpu_id;
	};
	event.header := struct event_header_compact;
	CONTEXT
};
"#;

const KERNEL: &str = r#"
env { hostname = "made"; domain = "kernel"; tracer_name = "lttng-modules"; tracer_major = 2; tracer_minor = 13; };
event {
	name = "sched_switch"; id = 0; stream_id = 0;
	fields := struct {
		integer { size = 8; align = 8; signed = 1; encoding = UTF8; } _prev_comm[16];
		int32_t _prev_tid;
		int32_t _prev_prio;
		integer { size = 64; align = 8; signed = 1; } _prev_state;
		integer { size = 8; align = 8; signed = 1; encoding = UTF8; } _next_comm[16];
		int32_t _next_tid;
		int32_t _next_prio;
	};
};
event {
	name = "sched_waking"; id = 1; stream_id = 0;
	fields := struct {
		integer { size = 8; align = 8; signed = 1; encoding = UTF8; } _comm[16];
		int32_t _tid;
		int32_t _prio;
		int32_t _target_cpu;
	};
};
event {
	name = "sched_wakeup"; id = 2; stream_id = 0;
	fields := struct {
		integer { size = 8; align = 8; signed = 1; encoding = UTF8; } _comm[16];
		int32_t _tid;
		int32_t _prio;
		int32_t _target_cpu;
	};
};
"#;

const PROGRAM: &str = r#"
env { hostname = "made"; domain = "ust"; tracer_name = "lttng-ust"; tracer_major = 2; tracer_minor = 13; };
event {
	name = "lttng_ust_cyg_profile:func_entry"; id = 0; stream_id = 0;
	fields := struct {
		integer { size = 64; align = 8; signed = 0; base = 16; } _addr;
		integer { size = 64; align = 8; signed = 0; base = 16; } _call_site;
	};
};
event {
	name = "lttng_ust_cyg_profile:func_exit"; id = 1; stream_id = 0;
	fields := struct {
		integer { size = 64; align = 8; signed = 0; base = 16; } _addr;
		integer { size = 64; align = 8; signed = 0; base = 16; } _call_site;
	};
};
"#;

fn metadata(events: &str, context: &str, packing: Packing) -> String {
    let order = if packing.big_endian { "be" } else { "le" };
    let common = COMMON.replace("ORDER", order).replace("CONTEXT", context);
    format!("/* CTF 1.8 */{common}{events}")
}

/// The stream of a CPU.
struct Stream {
    packing: Packing,
    cpu: usize,
    done: Vec<u8>,
    events: Vec<u8>,
    begin: Option<u64>,
    last: u64,
    packets: u64,
    discarded: u64,
}

impl Stream {
    fn new(cpu: usize, packing: Packing) -> Self {
        let (done, events) = (Vec::new(), Vec::new());
        Self { packing, cpu, done, events, begin: None, last: 0, packets: 0, discarded: 0 }
    }

    fn number(&self, value: u64, bytes: usize) -> Vec<u8> {
        if self.packing.big_endian {
            value.to_be_bytes()[8 - bytes..].to_vec()
        } else {
            value.to_le_bytes()[..bytes].to_vec()
        }
    }

    /// An event, with the whole time if the short one would be ambiguous.
    fn event(&mut self, id: u32, time: u64, fields: &[Field<'_>]) {
        let length = |field: &Field<'_>| match field {
            Field::Number(_, bytes) => *bytes,
            Field::Name(_) => 16,
        };
        let size: usize = 13 + fields.iter().map(length).sum::<usize>();
        if HEAD + self.events.len() + size > self.packing.packet {
            self.close();
        }
        if self.begin.is_none() {
            (self.begin, self.last) = (Some(time), time);
        }
        let short = time as u32 & ((1 << STAMP_BITS) - 1);
        if (time - self.last) >> STAMP_BITS == 0 {
            let word =
                if self.packing.big_endian { id << STAMP_BITS | short } else { id | short << 5 };
            self.events.extend(self.number(word.into(), 4));
        } else {
            self.events.push(if self.packing.big_endian { 31 << 3 } else { EXTENDED as u8 });
            self.events.extend(self.number(id.into(), 4));
            self.events.extend(self.number(time, 8));
        }
        for field in fields {
            match field {
                Field::Number(value, bytes) => self.events.extend(self.number(*value, *bytes)),
                Field::Name(name) => {
                    let mut bytes = name.as_bytes().to_vec();
                    bytes.resize(16, 0);
                    self.events.extend(bytes);
                }
            }
        }
        self.last = time;
    }

    /// Events are lost from `time` on. A full packet is closed when there is space for the next one,
    /// so that it counts what was discarded; of what was overwritten, the numbers of packets tell.
    fn lose(&mut self, time: u64, events: u64) {
        if self.packing.overwrites {
            self.close();
            self.packets += 1;
        } else {
            self.begin.get_or_insert(time);
            self.discarded += events;
            self.close();
        }
        (self.begin, self.last) = (Some(time), time);
    }

    /// Writes the packet, if it has begun.
    fn close(&mut self) {
        let Some(begin) = self.begin.take() else { return };
        let bits = |bytes: usize| 8 * bytes as u64;
        let mut head = self.number(0xc1fc_1fc1, 4);
        head.extend(UUID);
        head.extend(self.number(0, 4));
        let content = bits(HEAD + self.events.len());
        let whole = bits(self.packing.packet);
        for word in [begin, self.last, content, whole, self.packets, self.discarded] {
            head.extend(self.number(word, 8));
        }
        head.extend(self.number(self.cpu as u64, 4));
        self.done.extend(head);
        self.events.resize(self.packing.packet - HEAD, 0);
        self.done.append(&mut self.events);
        self.packets += 1;
    }
}

/// A field of an event.
enum Field<'a> {
    Number(u64, usize),
    Name(&'a str),
}

fn name(thread: Option<usize>, cpu: usize) -> String {
    thread.map_or(format!("swapper/{cpu}"), |thread| format!("t{thread}"))
}

fn id(thread: Option<usize>) -> u64 {
    thread.map_or(0, |thread| tid(thread) as u64)
}

fn state(prev: Option<usize>, leaves: Leaves) -> (u64, &'static str) {
    match (prev, leaves) {
        (None, _) | (_, Leaves::Runnable) => (0, "TASK_RUNNING"),
        (_, Leaves::Sleeping) => (1, "TASK_INTERRUPTIBLE"),
        (_, Leaves::Uninterruptible) => (2, "TASK_UNINTERRUPTIBLE"),
    }
}

fn address(execution: &Execution, call: usize) -> u64 {
    BASE + execution.calls[call].function as u64 * SIZE
}

/// What `nm` prints of the program.
pub fn ctf_symbols(execution: &Execution) -> String {
    let line = |(n, name): (u64, &String)| format!("{:016x} T {name}\n", BASE + n * SIZE);
    (0..).zip(&execution.functions).map(line).collect()
}

/// The files of the directory with their names. Times must not coincide where something is lost.
pub fn ctf(execution: &Execution, packing: Packing) -> Vec<(String, Vec<u8>)> {
    let context = "event.context := struct { int32_t _vpid; int32_t _vtid; };";
    let mut files = vec![
        ("kernel/metadata".to_owned(), metadata(KERNEL, "", packing).into_bytes()),
        ("ust/uid/0/64-bit/metadata".to_owned(), metadata(PROGRAM, context, packing).into_bytes()),
    ];
    for cpu in 0..execution.n_cpus {
        let (mut kernel, mut program) = (Stream::new(cpu, packing), Stream::new(cpu, packing));
        for record in &execution.records {
            if let What::Lost(n) = record.what {
                kernel.lose(record.time + 1, n);
                program.lose(record.time + 1, n);
            } else if record.cpu == cpu {
                of_kernel(record, &mut kernel);
                of_program(execution, record, &mut program);
            }
        }
        kernel.close();
        program.close();
        files.push((format!("kernel/channel0_{cpu}"), kernel.done));
        files.push((format!("ust/uid/0/64-bit/channel0_{cpu}"), program.done));
    }
    files.retain(|(_, bytes)| !bytes.is_empty());
    files
}

fn of_kernel(record: &Record, stream: &mut Stream) {
    match record.what {
        What::Switch { prev, leaves, next } => {
            let names = (name(prev, record.cpu), name(next, record.cpu));
            let fields = [
                Field::Name(&names.0),
                Field::Number(id(prev), 4),
                Field::Number(20, 4),
                Field::Number(state(prev, leaves).0, 8),
                Field::Name(&names.1),
                Field::Number(id(next), 4),
                Field::Number(20, 4),
            ];
            stream.event(0, record.time, &fields);
        }
        What::Wake(woken) => {
            let name = name(Some(woken), record.cpu);
            for event in [1, 2] {
                let fields = [
                    Field::Name(&name),
                    Field::Number(id(Some(woken)), 4),
                    Field::Number(20, 4),
                    Field::Number(record.cpu as u64, 4),
                ];
                stream.event(event, record.time, &fields);
            }
        }
        _ => {}
    }
}

fn of_program(execution: &Execution, record: &Record, stream: &mut Stream) {
    let (event, call) = match record.what {
        What::Enter(call) => (0, call),
        What::Exit(call) => (1, call),
        _ => return,
    };
    let fields = [
        Field::Number(PROCESS, 4),
        Field::Number(id(record.thread), 4),
        Field::Number(address(execution, call), 8),
        Field::Number(BASE, 8),
    ];
    stream.event(event, record.time, &fields);
}

/// The text of the same events, in order of time; it goes over midnight. Losses are a warning.
pub fn babeltrace(execution: &Execution) -> String {
    const DAY: u64 = 86_400_000_000_000;
    let mut text = String::new();
    let first = execution.records.first().map_or(0, |record| record.time);
    let last = execution.records.last().map_or(0, |record| record.time);
    let (mut before, start) = (None, DAY - (last - first) / 2 - first);
    for record in &execution.records {
        let of_day = (start + record.time) % DAY;
        let (seconds, nanos) = (of_day / 1_000_000_000, of_day % 1_000_000_000);
        let delta = before.replace(record.time).map_or("+?.?????????".to_owned(), |before| {
            let delta = record.time - before;
            format!("+{}.{:09}", delta / 1_000_000_000, delta % 1_000_000_000)
        });
        let head = format!(
            "[{:02}:{:02}:{:02}.{nanos:09}] ({delta}) made ",
            seconds / 3_600,
            seconds / 60 % 60,
            seconds % 60
        );
        let cpu = record.cpu;
        let _ = match record.what {
            What::Lost(n) => writeln!(
                text,
                "WARNING: Tracer discarded {n} events between [00:00:00.0] and [00:00:00.0] in \
                 trace UUID 0 within stream 0"
            ),
            What::Switch { prev, leaves, next } => {
                let (number, state) = state(prev, leaves);
                let (prev_comm, next_comm) = (name(prev, cpu), name(next, cpu));
                writeln!(
                    text,
                    "{head}sched_switch: {{ cpu_id = {cpu} }}, {{ prev_comm = \"{prev_comm}\", \
                     prev_tid = {}, prev_prio = 20, prev_state = ( \"{state}\" : container = \
                     {number} ), next_comm = \"{next_comm}\", next_tid = {}, next_prio = 20 }}",
                    id(prev),
                    id(next)
                )
            }
            What::Wake(woken) => {
                let fields = format!(
                    "{{ cpu_id = {cpu} }}, {{ comm = \"t{woken}\", tid = {}, prio = 20, \
                     target_cpu = {cpu} }}",
                    tid(woken)
                );
                writeln!(text, "{head}sched_waking: {fields}\n{head}sched_wakeup: {fields}")
            }
            What::Enter(call) | What::Exit(call) => {
                let is_entry = matches!(record.what, What::Enter(_));
                writeln!(
                    text,
                    "{head}lttng_ust_cyg_profile:func_{}: {{ cpu_id = {cpu} }}, {{ vpid = \
                     {PROCESS}, vtid = {} }}, {{ addr = 0x{:X}, call_site = 0x{BASE:X} }}",
                    if is_entry { "entry" } else { "exit" },
                    id(record.thread),
                    address(execution, call)
                )
            }
        };
    }
    text
}
