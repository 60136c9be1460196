//! trace.dat files, versions 6 and 7, in either byte order: the container and the ring-buffer pages
//! as trace-cmd 3.1 and Linux 6.1 write them.

use std::fmt::Write as _;

use super::recording::{Event, Kind, Recording};

/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Bytes before the records of a page: a timestamp and the commit word.
const PAGE_HEADER: usize = 16;
/// Pages that are compressed at a time.
const PAGES_IN_CHUNK: usize = 10;

/// What compresses.
pub type Pack<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;

/// How to write a file.
#[derive(Clone, Copy)]
pub struct DatShape<'a> {
    /// 6 or 7.
    pub version: u32,
    /// The byte order.
    pub big_endian: bool,
    /// The name of a compression, and what does it; version 7 only.
    pub compression: Option<(&'a str, Pack<'a>)>,
}

impl DatShape<'_> {
    /// Version 7 as it is on most machines, but not compressed.
    pub const PLAIN: Self = Self { version: 7, big_endian: false, compression: None };
}

/// Integers in a byte order, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Numbers {
    /// What was put so far.
    pub out: Vec<u8>,
    big: bool,
}

impl Numbers {
    /// Nothing yet.
    pub fn new(big: bool) -> Self {
        Self { out: Vec::new(), big }
    }

    /// Adds the low `size` bytes of a number.
    pub fn put(&mut self, value: u64, size: usize) -> &mut Self {
        if self.big {
            self.out.extend_from_slice(&value.to_be_bytes()[8 - size..]);
        } else {
            self.out.extend_from_slice(&value.to_le_bytes()[..size]);
        }
        self
    }

    /// Adds bytes as they are.
    pub fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.out.extend_from_slice(bytes);
        self
    }
}

/// Events lost before a page.
#[derive(Clone, Copy, Debug)]
struct Loss {
    /// Their number, if known.
    events: Option<u64>,
}

/// The pages of one CPU.
#[derive(Clone, Debug)]
pub struct Pages {
    /// Whole pages.
    pub done: Vec<u8>,
    big: bool,
    /// The records of the page that is being filled, and the time that it begins with.
    records: Numbers,
    start: u64,
    time: u64,
    /// Events lost before that page, and before the next one.
    lost: Option<Loss>,
    lost_next: Option<Loss>,
}

impl Pages {
    /// No pages yet.
    pub fn new(big: bool) -> Self {
        let records = Numbers::new(big);
        Self { done: Vec::new(), big, records, start: 0, time: 0, lost: None, lost_next: None }
    }

    /// Adds a record. Times do not fall.
    pub fn record(&mut self, time: u64, data: &[u8]) {
        const LONGEST: usize = 28 * 4;
        const DELTA: u64 = (1 << 27) - 1;
        let length = data.len().next_multiple_of(4);
        let header = if length <= LONGEST { 4 } else { 8 };
        let room = PAGE - PAGE_HEADER - self.records.out.len();
        if self.lost_next.is_some() || header + length + 8 > room {
            self.close();
        }
        if self.records.out.is_empty() {
            (self.start, self.time) = (time, time);
            self.lost = self.lost_next.take();
        }
        let mut delta = time - self.time;
        if delta > DELTA {
            self.head(30, delta & DELTA);
            self.records.put(delta >> 27, 4);
            delta = 0;
        }
        if header == 4 {
            self.head(length as u64 / 4, delta);
        } else {
            self.head(0, delta);
            self.records.put(length as u64 + 4, 4);
        }
        self.records.bytes(data).out.extend(std::iter::repeat_n(0, length - data.len()));
        self.time = time;
    }

    fn head(&mut self, kind: u64, delta: u64) {
        let word = if self.big { kind << 27 | delta } else { kind | delta << 5 };
        self.records.put(word, 4);
    }

    /// Says that events were lost before the next record, and how many.
    pub fn lose(&mut self, events: Option<u64>) {
        self.lost_next = Some(Loss { events });
    }

    /// Ends the page that is being filled.
    pub fn close(&mut self) {
        if self.records.out.is_empty() {
            return;
        }
        let mut page = Numbers::new(self.big);
        let length = self.records.out.len();
        let mut commit = length as u64;
        let lost = self.lost.take();
        if let Some(Loss { events }) = lost {
            commit |= 1 << 31;
            // The number is after the records, if there is space.
            let stored = events.filter(|_| PAGE_HEADER + length + 8 <= PAGE);
            commit |= u64::from(stored.is_some()) << 30;
            if let Some(events) = stored {
                self.records.put(events, 8);
            }
        }
        page.put(self.start, 8).put(commit, 8).bytes(&self.records.out);
        page.out.resize(PAGE, 0);
        self.done.append(&mut page.out);
        self.records.out.clear();
    }
}

/// The records of the events that are used here, as Linux 6.1 lays them out.
#[derive(Clone, Copy, Debug)]
pub struct Records {
    /// The byte order.
    pub big: bool,
}

impl Records {
    fn common(self, kind: u64, pid: u64) -> Numbers {
        let mut record = Numbers::new(self.big);
        record.put(kind, 2).put(0, 1).put(0, 1).put(pid, 4);
        record
    }

    /// A call began.
    pub fn entry(self, pid: u64, func: u64, depth: usize) -> Vec<u8> {
        let mut record = self.common(11, pid);
        record.put(func, 8).put(depth as u64, 4);
        record.out
    }

    /// A call ended.
    pub fn exit(self, pid: u64, func: u64, depth: usize, (from, to): (u64, u64)) -> Vec<u8> {
        let mut record = self.common(10, pid);
        record.put(func, 8).put(depth as u64, 4).put(0, 4).put(from, 8).put(to, 8);
        record.out
    }

    /// A CPU was given from one task, which had gone to sleep, to another.
    pub fn switch(self, prev: (u64, &str), next: (u64, &str)) -> Vec<u8> {
        self.switch_in(prev, 1, next)
    }

    /// The same with the state that the first one was left in.
    pub fn switch_in(self, prev: (u64, &str), state: u64, next: (u64, &str)) -> Vec<u8> {
        let mut record = self.common(319, prev.0);
        record.bytes(&comm(prev.1)).put(prev.0, 4).put(120, 4).put(state, 8);
        record.bytes(&comm(next.1)).put(next.0, 4).put(120, 4);
        record.out
    }

    /// A task was woken by another.
    pub fn waking(self, pid: u64, woken: (u64, &str), cpu: usize) -> Vec<u8> {
        let mut record = self.common(321, pid);
        record.bytes(&comm(woken.1)).put(woken.0, 4).put(120, 4).put(cpu as u64, 4);
        record.out
    }

    /// A program wrote into the trace.
    pub fn print(self, pid: u64, text: &str) -> Vec<u8> {
        let mut record = self.common(5, pid);
        record.put(0, 8).bytes(text.as_bytes()).put(0, 1);
        record.out
    }
}

fn comm(name: &str) -> [u8; 16] {
    let mut comm = [0; 16];
    for (to, from) in comm.iter_mut().take(15).zip(name.bytes()) {
        *to = from;
    }
    comm
}

const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;
\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;
\tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;
\tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;
";

const HEADER_EVENT: &str = "# compressed entry header
\ttype_len    :    5 bits
\ttime_delta  :   27 bits
\tarray       :   32 bits

\tpadding     : type == 29
\ttime_extend : type == 30
\ttime_stamp : type == 31
\tdata max type_len  == 28
";

/// Name, number and fields (declaration, size, signed) of an event, and how it is printed; offsets
/// follow.
type Description = (&'static str, u32, &'static [(&'static str, usize, bool)], &'static str);

const FTRACE: [Description; 3] = [
    (
        "funcgraph_exit",
        10,
        &[
            ("unsigned long func", 8, false),
            ("int depth", 4, true),
            ("unsigned int overrun", 4, false),
            ("unsigned long long calltime", 8, false),
            ("unsigned long long rettime", 8, false),
        ],
        "\"<-- %ps (%d) (start: %llx  end: %llx) over: %d\", (void *)REC->func, REC->depth, \
         REC->calltime, REC->rettime, REC->depth",
    ),
    (
        "funcgraph_entry",
        11,
        &[("unsigned long func", 8, false), ("int depth", 4, true)],
        "\"--> %ps (%d)\", (void *)REC->func, REC->depth",
    ),
    (
        "print",
        5,
        &[("unsigned long ip", 8, false), ("char buf[]", 0, false)],
        "\"%ps: %s\", (void *)REC->ip, REC->buf",
    ),
];

const SCHED: [Description; 2] = [
    (
        "sched_waking",
        321,
        &[
            ("char comm[16]", 16, true),
            ("pid_t pid", 4, true),
            ("int prio", 4, true),
            ("int target_cpu", 4, true),
        ],
        "\"comm=%s pid=%d prio=%d target_cpu=%03d\", REC->comm, REC->pid, REC->prio, \
         REC->target_cpu",
    ),
    (
        "sched_switch",
        319,
        &[
            ("char prev_comm[16]", 16, true),
            ("pid_t prev_pid", 4, true),
            ("int prev_prio", 4, true),
            ("long prev_state", 8, true),
            ("char next_comm[16]", 16, true),
            ("pid_t next_pid", 4, true),
            ("int next_prio", 4, true),
        ],
        "\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d \
     next_prio=%d\", REC->prev_comm, REC->prev_pid, REC->prev_prio, \
     __print_flags(REC->prev_state & 0xff, \"|\", { 0x00000001, \"S\" }, { 0x00000002, \"D\" }, \
     { 0x00000004, \"T\" }, { 0x00000008, \"t\" }, { 0x00000010, \"X\" }, { 0x00000020, \"Z\" }, \
     { 0x00000040, \"P\" }, { 0x00000080, \"I\" }), REC->next_comm, REC->next_pid, REC->next_prio",
    ),
];

fn format_text((name, id, fields, print): Description) -> String {
    let common: [(&str, usize, bool); 4] = [
        ("unsigned short common_type", 2, false),
        ("unsigned char common_flags", 1, false),
        ("unsigned char common_preempt_count", 1, false),
        ("int common_pid", 4, true),
    ];
    let mut text = format!("name: {name}\nID: {id}\nformat:\n");
    let mut offset = 0;
    for (n, (declared, size, signed)) in common.iter().chain(fields).enumerate() {
        if n == common.len() {
            text.push('\n');
        }
        let signed = u8::from(*signed);
        // Writing to a string does not fail.
        let _ =
            writeln!(text, "\tfield:{declared};\toffset:{offset};\tsize:{size};\tsigned:{signed};");
        offset += size;
    }
    text + "\nprint fmt: " + print + "\n"
}

/// The files below `events/` of a tracefs that has these events, with their content.
pub fn descriptions() -> Vec<(String, String)> {
    let of = |system: &str, events: &[Description]| -> Vec<(String, String)> {
        let file =
            |event: &Description| (format!("{system}/{}/format", event.0), format_text(*event));
        events.iter().map(file).collect()
    };
    let mut files = vec![
        ("header_page".to_owned(), HEADER_PAGE.to_owned()),
        ("header_event".to_owned(), HEADER_EVENT.to_owned()),
    ];
    files.extend(of("ftrace", &FTRACE));
    files.extend(of("sched", &SCHED));
    files
}

/// What a file holds besides records.
#[derive(Clone, Copy, Debug)]
pub struct Contents<'a> {
    /// The functions; see [`address`].
    pub functions: &'a [String],
    /// Threads with their ids; id 0 is omitted.
    pub tasks: &'a [(u64, &'a str)],
}

/// Where a function lies.
pub fn address(function: usize) -> u64 {
    0xffff_ffff_8100_0000 + 0x100 * function as u64
}

fn headers(big: bool) -> Vec<u8> {
    let mut out = Numbers::new(big);
    for (name, text) in [("header_page\0", HEADER_PAGE), ("header_event\0", HEADER_EVENT)] {
        out.bytes(name.as_bytes()).put(text.len() as u64, 8).bytes(text.as_bytes());
    }
    out.out
}

fn ftrace(big: bool) -> Vec<u8> {
    let mut out = Numbers::new(big);
    out.put(FTRACE.len() as u64, 4);
    for text in FTRACE.map(format_text) {
        out.put(text.len() as u64, 8).bytes(text.as_bytes());
    }
    out.out
}

fn events(big: bool) -> Vec<u8> {
    let mut out = Numbers::new(big);
    out.put(1, 4).bytes(b"sched\0").put(SCHED.len() as u64, 4);
    for text in SCHED.map(format_text) {
        out.put(text.len() as u64, 8).bytes(text.as_bytes());
    }
    out.out
}

impl Contents<'_> {
    fn sized(text: &str, size: usize, big: bool) -> Vec<u8> {
        let mut out = Numbers::new(big);
        out.put(text.len() as u64, size).bytes(text.as_bytes());
        out.out
    }

    fn kallsyms(&self, big: bool) -> Vec<u8> {
        let lines = self.functions.iter().enumerate();
        let lines = lines.map(|(n, name)| format!("{:x} T {name}\n", address(n)));
        Self::sized(&lines.collect::<String>(), 4, big)
    }

    fn cmdlines(&self, big: bool) -> Vec<u8> {
        let lines = self.tasks.iter().filter(|(tid, _)| *tid != 0);
        let lines = lines.map(|(tid, name)| format!("{tid} {name}\n"));
        Self::sized(&lines.collect::<String>(), 8, big)
    }

    /// Everything up to the records of the first CPU, padded to a multiple of [`PAGE`]. The records
    /// of all CPUs follow it, each likewise padded, `sizes` bytes each: pages, or the number of chunks
    /// and the chunks; then the [tail](Self::tail).
    pub fn head(&self, shape: &DatShape<'_>, sizes: &[u64]) -> Vec<u8> {
        let mut head = self.parts(shape, sizes).0;
        head.resize(head.len().next_multiple_of(PAGE), 0);
        head
    }

    /// What is behind the records: in version 7 the list that says where they are.
    pub fn tail(&self, shape: &DatShape<'_>, sizes: &[u64]) -> Vec<u8> {
        self.parts(shape, sizes).1
    }

    fn parts(&self, shape: &DatShape<'_>, sizes: &[u64]) -> (Vec<u8>, Vec<u8>) {
        // Places do not change the length, so a first pass determines them.
        let draft = self.parts_at(shape, sizes, 0).0;
        self.parts_at(shape, sizes, draft.len().next_multiple_of(PAGE) as u64)
    }

    fn parts_at(&self, shape: &DatShape<'_>, sizes: &[u64], start: u64) -> (Vec<u8>, Vec<u8>) {
        let big = shape.big_endian;
        let mut at = start;
        let mut place = |size: &u64| {
            let place = at;
            at = (at + size).next_multiple_of(PAGE as u64);
            (place, *size)
        };
        let places: Vec<(u64, u64)> = sizes.iter().map(&mut place).collect();
        let mut out = Numbers::new(big);
        out.bytes(b"\x17\x08\x44tracing").bytes(format!("{}\0", shape.version).as_bytes());
        out.put(big.into(), 1).put(8, 1).put(PAGE as u64, 4);
        let tail = if shape.version == 6 {
            self.rest_of_6(&mut out, &places);
            Vec::new()
        } else {
            self.rest_of_7(&mut out, shape, &places, at)
        };
        (out.out, tail)
    }

    fn rest_of_6(&self, out: &mut Numbers, places: &[(u64, u64)]) {
        let big = out.big;
        for part in [headers(big), ftrace(big), events(big), self.kallsyms(big)] {
            out.bytes(&part);
        }
        // No texts of printk.
        out.put(0, 4).bytes(&self.cmdlines(big));
        out.put(places.len() as u64, 4).bytes(b"options  \0");
        out.put(4, 2).put(CLOCKS.len() as u64, 4).bytes(CLOCKS);
        out.put(0, 2).bytes(b"flyrecord\0");
        for (offset, size) in places {
            out.put(*offset, 8).put(*size, 8);
        }
    }

    /// As trace-cmd writes it: a list of options, the records, and a list that says where they are,
    /// at `end`. That list is returned.
    fn rest_of_7(
        &self,
        out: &mut Numbers,
        shape: &DatShape<'_>,
        places: &[(u64, u64)],
        end: u64,
    ) -> Vec<u8> {
        let big = out.big;
        let compression = shape.compression.map_or("none", |(name, _)| name);
        out.bytes(compression.as_bytes()).bytes(b"\0").bytes(b"1\0");
        let options_at = out.out.len();
        out.put(0, 8);
        let mut options = Numbers::new(big);
        for (id, content) in [
            (16, headers(big)),
            (17, ftrace(big)),
            (18, events(big)),
            (19, self.kallsyms(big)),
            (21, self.cmdlines(big)),
        ] {
            options.put(id, 2).put(8, 4).put(out.out.len() as u64, 8);
            out.put(id, 2).put(shape.compression.is_some().into(), 2).put(0, 4);
            match shape.compression {
                None => out.put(content.len() as u64, 8).bytes(&content),
                Some((_, pack)) => {
                    let packed = pack(&content);
                    out.put(packed.len() as u64 + 8, 8);
                    out.put(packed.len() as u64, 4).put(content.len() as u64, 4).bytes(&packed)
                }
            };
        }
        options.put(4, 2).put(CLOCKS.len() as u64, 4).bytes(CLOCKS);
        options.put(0, 2).put(8, 4).put(end, 8);
        let mut at = Numbers::new(big);
        at.put(out.out.len() as u64, 8);
        out.out[options_at..options_at + 8].copy_from_slice(&at.out);
        let list = |options: &Numbers| {
            let mut list = Numbers::new(big);
            list.put(0, 2).put(0, 2).put(0, 4).put(options.out.len() as u64, 8).bytes(&options.out);
            list.out
        };
        out.bytes(&list(&options));
        let section = out.out.len();
        out.put(3, 2).put(shape.compression.is_some().into(), 2).put(0, 4);
        out.put(end.saturating_sub((section + SECTION) as u64), 8);

        let mut buffer = Numbers::new(big);
        buffer.put(section as u64, 8).bytes(b"\0").bytes(b"global\0");
        buffer.put(PAGE as u64, 4).put(places.len() as u64, 4);
        for (cpu, (offset, size)) in places.iter().enumerate() {
            // trace-cmd 3.1 does not count the number of chunks.
            let size = size - if shape.compression.is_some() { 4 } else { 0 };
            buffer.put(cpu as u64, 4).put(*offset, 8).put(size, 8);
        }
        let mut options = Numbers::new(big);
        options.put(3, 2).put(buffer.out.len() as u64, 4).bytes(&buffer.out);
        options.put(0, 2).put(8, 4).put(0, 8);
        list(&options)
    }
}

/// Bytes before the content of a section.
const SECTION: usize = 16;
const CLOCKS: &[u8] = b"local [global] counter\0";

/// The bytes that a file keeps for the pages of a CPU.
fn stored(pages: &[u8], shape: &DatShape<'_>) -> Vec<u8> {
    let Some((_, pack)) = shape.compression else { return pages.to_vec() };
    let mut out = Numbers::new(shape.big_endian);
    let chunks = pages.chunks(PAGES_IN_CHUNK * PAGE);
    out.put(chunks.len() as u64, 4);
    for chunk in chunks {
        let packed = pack(chunk);
        out.put(packed.len() as u64, 4).put(chunk.len() as u64, 4).bytes(&packed);
    }
    out.out
}

/// A file of these pages, those of CPU 0 first.
pub fn dat_file(contents: &Contents<'_>, shape: &DatShape<'_>, pages: &[Vec<u8>]) -> Vec<u8> {
    let stored: Vec<Vec<u8>> = pages.iter().map(|pages| stored(pages, shape)).collect();
    let sizes: Vec<u64> = stored.iter().map(|bytes| bytes.len() as u64).collect();
    let mut file = contents.head(shape, &sizes);
    for bytes in stored {
        file.extend_from_slice(&bytes);
        file.resize(file.len().next_multiple_of(PAGE), 0);
    }
    file.extend(contents.tail(shape, &sizes));
    file
}

/// `recording` as a trace.dat. Its marks are texts written into the trace.
pub fn trace_dat(recording: &Recording, shape: &DatShape<'_>) -> Vec<u8> {
    let records = Records { big: shape.big_endian };
    let mut pages: Vec<Pages> =
        (0..recording.n_cpus).map(|_| Pages::new(shape.big_endian)).collect();
    let mut stacks: Vec<Vec<(usize, u64)>> = vec![Vec::new(); recording.tasks.len()];
    for event in &recording.events {
        let Event { time, task, .. } = *event;
        let who = &recording.tasks[task];
        let stack = &mut stacks[task];
        let record = match event.kind {
            Kind::Enter(function) | Kind::Interrupt(function) => {
                stack.push((function, time));
                records.entry(who.tid, address(function), stack.len() - 1)
            }
            Kind::Exit => {
                let (function, from) = stack.pop().expect("an exit has its entry");
                records.exit(who.tid, address(function), stack.len(), (from, time))
            }
            Kind::Mark => records.print(who.tid, "mark"),
            Kind::Switch(next) => {
                let next = &recording.tasks[next];
                records.switch((who.tid, &who.name), (next.tid, &next.name))
            }
        };
        pages[event.cpu as usize].record(time, &record);
    }
    let pages: Vec<Vec<u8>> = pages
        .into_iter()
        .map(|mut pages| {
            pages.close();
            pages.done
        })
        .collect();
    let tasks: Vec<(u64, &str)> =
        recording.tasks.iter().map(|task| (task.tid, task.name.as_str())).collect();
    dat_file(&Contents { functions: &recording.functions, tasks: &tasks }, shape, &pages)
}
