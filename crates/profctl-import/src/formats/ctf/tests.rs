use expect_test::expect;
use profctl_testkit::{fixtures, invariants};

use super::events::{each, show};
use super::*;
use crate::testing;
use crate::{Memory, ReadOptions, load};

/// The header of LTTng's events where the id takes five bits.
pub(super) const COMPACT_HEADER: &str =
    "struct { enum : integer { size = 5; align = 1; } { compact = 0 ... 30, extended = 31 } id;
    variant <id> {
        struct { integer { size = 27; align = 1; map = clock.c.value; } timestamp; } compact;
        struct { integer { size = 32; align = 8; } id;
            integer { size = 64; align = 8; map = clock.c.value; } timestamp; } extended;
    } v; } align(8)";
/// The same where it takes sixteen.
pub(super) const LARGE_HEADER: &str =
    "struct { enum : integer { size = 16; align = 8; } { compact = 0 ... 65534, extended = 65535 } id;
    variant <id> {
        struct { integer { size = 32; align = 8; map = clock.c.value; } timestamp; } compact;
        struct { integer { size = 32; align = 8; } id;
            integer { size = 64; align = 8; map = clock.c.value; } timestamp; } extended;
    } v; } align(8)";

type Parts = Vec<(String, Vec<u8>)>;

fn parts(name: &str) -> Parts {
    fixtures::parts(&fixtures::root().join("fixtures/ctf").join(name))
}

fn golden(name: &str) -> String {
    let path = fixtures::root().join("fixtures/ctf").join(name);
    String::from_utf8(fixtures::read(&path)).unwrap()
}

fn read_as(parts: &Parts, options: &ReadOptions) -> profctl_model::Trace {
    let files = Memory::new("test", parts.clone());
    load(&files, options, &|_| ()).unwrap_or_else(|error| panic!("{error}")).0
}

fn read(parts: &Parts) -> profctl_model::Trace {
    read_as(parts, &ReadOptions::default())
}

fn codes(trace: &profctl_model::Trace) -> Vec<String> {
    let entries = trace.meta.diags.sorted();
    entries.iter().map(|entry| format!("{} {}", entry.code.name, entry.count)).collect()
}

/// All records of a trace as babeltrace2 prints them, but for lists, in time order.
fn printed(parts: &Parts) -> Vec<String> {
    let files = Memory::new("test", parts.clone());
    let mut lines = Vec::new();
    for file in metadata_files(&files) {
        let metadata = metadata(&files, file).unwrap();
        // Calls are printed as the events that they are.
        let mut trace = trace(metadata, 1_000_000_000);
        trace.calls.fill(None);
        for stream in stream_files(&files, folder(&files.entries()[file.0].name)) {
            let reader = files.open_at(stream).unwrap();
            let (packets, damaged) = packet::all(&trace.metadata, &*reader).unwrap();
            assert_eq!(damaged, None);
            for placed in &packets {
                let length = (placed.range.end - placed.range.start) as usize;
                let bytes = reader.bytes_at(placed.range.start, length).unwrap();
                let cpu = placed.packet.cpu.unwrap();
                let mut printed = Printed { trace: &trace, cpu, lines: &mut lines };
                each(&trace, &placed.packet, &bytes, &mut printed).unwrap();
            }
        }
    }
    lines.sort_by_key(|(time, _)| *time);
    let clock = |time: i128| {
        let (seconds, nanos) = (time / 1_000_000_000 % 86_400, time % 1_000_000_000);
        format!("{:02}:{:02}:{:02}.{nanos:09}", seconds / 3_600, seconds / 60 % 60, seconds % 60)
    };
    lines.into_iter().map(|(time, line)| format!("[{}] {line}", clock(time))).collect()
}

/// Keeps what is printed of each event, with its time.
struct Printed<'t> {
    trace: &'t Trace,
    cpu: u32,
    lines: &'t mut Vec<(i128, String)>,
}

impl<'a> Take<'a> for Printed<'_> {
    fn call(&mut self, _call: Call<'a>) {
        panic!("calls are not read as such");
    }

    fn event(&mut self, event: &Event<'a>) {
        let time = i128::from(event.time) + self.trace.offset;
        self.lines.push((time, line(&self.trace.metadata, event, self.cpu)));
    }
}

fn line(metadata: &Metadata, event: &Event<'_>, cpu: u32) -> String {
    let list = |fields: &[events::Field<'_>]| {
        let fields: Vec<String> =
            fields.iter().map(|field| format!("{} = {}", field.name, show(field))).collect();
        if fields.is_empty() { "{ }".to_owned() } else { format!("{{ {} }}", fields.join(", ")) }
    };
    let (fields, contexts) = event.fields();
    let (contexts, own) = fields.split_at(contexts);
    let name = &metadata.events[event.row].name;
    format!("{name}: {{ cpu_id = {cpu} }}, {}, {}", list(contexts), list(own))
}

/// A line of babeltrace2 without the step since the line before, the host and what is in lists.
fn plain(line: &str) -> String {
    let (time, rest) = line.split_once("] ").unwrap();
    let (_, rest) = rest.split_once(") ").unwrap();
    let (_, rest) = rest.split_once(' ').unwrap();
    let rest = match (rest.find("= ["), rest.rfind(']')) {
        (Some(from), Some(to)) => format!("{}= ...{}", &rest[..from], &rest[to + 1..]),
        _ => rest.to_owned(),
    };
    format!("{time}] {rest}")
}

/// Whether what `babeltrace2` prints and what is decoded here is the same, record for record.
fn compare(printed: &[String], text: &str) {
    assert_eq!(printed.len(), text.lines().count());
    for (ours, theirs) in printed.iter().zip(text.lines()) {
        assert_eq!(*ours, plain(theirs));
    }
}

#[test]
fn every_record_is_that_of_babeltrace2() {
    compare(&printed(&parts("calls-ust-2.13")), &golden("calls-ust-2.13.babeltrace2.golden"));
    let Some(shared) = fixtures::shared() else { return };
    let text = fixtures::read(&shared.join("peers/lttng-sqlite.babeltrace2.txt"));
    let text = String::from_utf8(text).unwrap();
    compare(&printed(&fixtures::parts(&shared.join("peers/lttng-sqlite"))), &text);
}

#[test]
fn functions_are_calls_of_the_thread_that_made_them() {
    let parts = parts("calls-ust-2.13");
    let nm = fixtures::read(&fixtures::root().join("fixtures/ctf/calls.nm.meta"));
    let mut options = ReadOptions::default();
    options.import.symbols = Some(nm);
    let trace = read_as(&parts, &options);
    invariants::check(&trace, "calls");
    let shown = testing::show(&trace);
    let calls: Vec<&str> = shown
        .lines()
        .filter(|line| !line.contains(" mark "))
        .map(|line| line.split(' ').nth(2).unwrap())
        .collect();
    expect![[r#"
        ["main", "ISAINTR", "weget"]"#]]
    .assert_eq(&format!("{:?}", &calls[..3]));
    assert_eq!(codes(&trace), ["stitch/forced-exit 4"], "a long jump left four calls");
}

#[test]
fn functions_without_symbols_are_called_by_their_place() {
    let trace = read(&parts("calls-ust-2.13"));
    let names = trace.names.funcs.as_slice();
    let calls = names.iter().filter(|func| func.kind == profctl_model::FuncKind::Function);
    let all = calls.clone().count();
    let placed = calls.filter(|func| func.name.starts_with("calls.cyg+0x")).count();
    assert!(all > 5 && placed == all, "{placed} of {all}");
}

/// A trace of a few events, made by hand.
fn made(metadata: &str, streams: &[(&str, Vec<u8>)]) -> Parts {
    let mut parts: Parts = vec![("metadata".into(), metadata.as_bytes().to_vec())];
    parts.extend(streams.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.clone())));
    parts.sort();
    parts
}

/// As barectf writes: a header of 32 bits with a clock of 27, big endian, in packets.
const BARECTF: &str = "/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; map = clock.cycles.value; } := stamp_t;
trace { major = 1; minor = 8; byte_order = be;
  packet.header := struct { uint32_t magic; uint8_t stream_id; }; };
env { tracer_name = \"barectf\"; tracer_major = 3; };
clock { name = cycles; freq = 1000; offset_s = 2; offset = 5; };
stream { id = 3;
  packet.context := struct { uint32_t packet_size; uint32_t content_size; stamp_t timestamp_begin; uint32_t events_discarded; };
  event.header := struct {
    integer { size = 5; align = 1; signed = false; } id;
    integer { size = 27; align = 1; signed = false; map = clock.cycles.value; } timestamp;
  } align(8); };
event { name = \"work_begin\"; id = 0; stream_id = 3; fields := struct { uint8_t level; string what; }; };
event { name = \"work_end\"; id = 1; stream_id = 3; };
event { name = \"note\"; id = 2; stream_id = 3; fields := struct {
    enum : uint8_t { LOW = 0 ... 9, HIGH } kind; variant <kind> { uint8_t LOW; uint32_t HIGH; } value;
    uint8_t n; integer { size = 8; align = 8; encoding = UTF8; } text[n]; }; };
";

fn packet(begin: u64, discarded: u32, events: &[u8]) -> Vec<u8> {
    let content = (5 + 4 + 4 + 8 + 4 + events.len()) as u32 * 8;
    let mut bytes = 0xc1fc_1fc1_u32.to_be_bytes().to_vec();
    bytes.push(3);
    bytes.extend((content + 64).to_be_bytes());
    bytes.extend(content.to_be_bytes());
    bytes.extend(begin.to_be_bytes());
    bytes.extend(discarded.to_be_bytes());
    bytes.extend(events);
    bytes.extend([0xaa; 8]);
    bytes
}

fn event(id: u32, time: u64, fields: &[u8]) -> Vec<u8> {
    let head = id << 27 | (time as u32 & 0x7ff_ffff);
    [&head.to_be_bytes()[..], fields].concat()
}

fn barectf() -> Parts {
    let wrap = 1 << 27;
    let first = [
        event(0, wrap - 10, b"\x01first\0"),
        event(2, wrap - 8, b"\x05\x07\x02ok"),
        event(2, wrap - 7, b"\x0a\0\0\0\x09\x00"),
        event(1, wrap + 5, b""),
    ];
    let second = [event(0, wrap + 20, b"\x02\0"), event(1, wrap + 30, b"")];
    let stream = [packet(wrap - 20, 0, &first.concat()), packet(wrap + 10, 4, &second.concat())];
    made(BARECTF, &[("stream", stream.concat())])
}

#[test]
fn what_barectf_writes_is_read() {
    let trace = read(&barectf());
    // The clock counts milliseconds from 2.005 s on; it has 27 bits in events.
    expect![[r"
        all 0 work 134219723+15 net 15
        all 0 work 134219753+10 net 10
        all mark note 134219725
        all mark note 134219726
    "]]
    .assert_eq(&testing::show(&trace));
    assert_eq!(codes(&trace), ["stitch/gap 1", "stitch/lost-events 4"]);
}

/// Complete calls by name: how many, and the sum, maximum and minimum of their wall times.
fn lengths(trace: &profctl_model::Trace) -> String {
    let line = |(name, of): (&str, Vec<u64>)| {
        let (sum, longest) = (of.iter().sum::<u64>(), of.iter().max().unwrap());
        format!("{name}\t{}\t{sum}\t{longest}\t{}\n", of.len(), of.iter().min().unwrap())
    };
    testing::walls(trace).into_iter().map(line).collect()
}

#[test]
fn calls_of_a_real_kernel_are_those_in_the_text_of_babeltrace2() {
    for name in ["kernel-2.13", "kernel-2.13-lossy"] {
        let trace = read(&parts(name));
        assert_eq!(lengths(&trace), golden(&format!("{name}.calls.golden")), "{name}");
        invariants::check(&trace, name);
    }
}

#[test]
fn what_a_full_buffer_discards_is_missing_after_the_events_in_it() {
    let trace = read(&parts("kernel-2.13-lossy"));
    // The last event of a packet, and as many as babeltrace2 says are missing until it ended.
    let gaps = trace.gaps.iter().map(|gap| {
        let cpu = gap.cpu.map_or(u32::MAX, |cpu| trace.names.cpus[cpu]);
        (gap.time.0 % 1_000_000_000, cpu, gap.lost.unwrap_or(0))
    });
    let expected = [
        (479_350_040, 1, 26),
        (551_637_230, 0, 253),
        (599_523_080, 1, 177),
        (786_532_370, 1, 1780),
        (803_449_070, 0, 1737),
        (990_973_370, 1, 277),
        (999_770_970, 0, 343),
        (187_694_540, 0, 17),
    ];
    assert_eq!(gaps.collect::<Vec<_>>(), expected);
    let found = codes(&trace);
    assert!(found.contains(&"stitch/lost-events 4610".to_owned()), "{found:?}");

    // A call that is open at the end of such a packet ends there, one that begins in it is whole.
    let first = [event(0, 100, b"\x01\0"), event(2, 120, b"\x05\x07\x02ok")];
    let second = [event(1, 150, b""), event(0, 160, b"\x01\0"), event(1, 170, b"")];
    let read_with = |counts: [u32; 2]| {
        let packets = [(90, &first[..]), (140, &second[..])].into_iter().zip(counts);
        let packets = packets.map(|((begin, of), n)| packet(begin, n, &of.concat()));
        testing::show(&read(&made(BARECTF, &[("stream", packets.collect::<Vec<_>>().concat())])))
    };
    expect![[r"
        all 0 work 2105+20 net 20 unseen exit gap
        all 0 work 2155+0 net 0 unseen entry
        all 0 work 2165+10 net 10
        all mark note 2125
    "]]
    .assert_eq(&read_with([3, 3]));
    expect![[r"
        all 0 work 2105+50 net 50
        all 0 work 2165+10 net 10
        all mark note 2125
    "]]
    .assert_eq(&read_with([0, 3]));
}

/// As LTTng's kernel tracer writes, in one stream a CPU.
#[test]
fn events_of_the_kernel_are_switches_wakings_and_calls() {
    const KERNEL: &str = "/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := u8;
typealias integer { size = 32; align = 8; signed = true; } := s32;
typealias integer { size = 64; align = 8; map = clock.monotonic.value; } := stamp;
trace { major = 1; minor = 8; byte_order = le; packet.header := struct { integer { size = 32; align = 8; } magic; u8 stream_id; }; };
clock { name = \"monotonic\"; freq = 1000000000; };
stream { id = 0; packet.context := struct { s32 content_size; s32 packet_size; s32 cpu_id; };
  event.header := struct { u8 id; stamp timestamp; }; };
event { name = \"sched_switch\"; id = 0; stream_id = 0; fields := struct { s32 _prev_tid; s32 _prev_state; s32 _next_tid; string _next_comm; }; };
event { name = \"sched_waking\"; id = 1; stream_id = 0; fields := struct { string _comm; s32 _tid; s32 _target_cpu; }; };
event { name = \"irq_handler_entry\"; id = 2; stream_id = 0; fields := struct { s32 _irq; string _name; }; };
event { name = \"irq_handler_exit\"; id = 3; stream_id = 0; fields := struct { s32 _irq; s32 _ret; }; };
event { name = \"syscall_entry_openat\"; id = 4; stream_id = 0; };
event { name = \"syscall_exit_openat\"; id = 5; stream_id = 0; };
event { name = \"irq_softirq_entry\"; id = 6; stream_id = 0; fields := struct { s32 _vec; }; };
event { name = \"irq_softirq_exit\"; id = 7; stream_id = 0; fields := struct { s32 _vec; }; };
";
    let event = |id: u8, time: u64, fields: &[&[u8]]| {
        [&[id][..], &time.to_le_bytes(), &fields.concat()].concat()
    };
    let number = |n: i32| n.to_le_bytes();
    let events = [
        event(0, 100, &[&number(0), &number(0), &number(7), b"sh\0"]),
        event(4, 110, &[]),
        event(2, 120, &[&number(9), b"disk\0"]),
        event(1, 125, &[b"sh\0", &number(8), &number(0)]),
        event(6, 126, &[&number(1)]),
        event(7, 128, &[&number(1)]),
        event(3, 130, &[&number(9), &number(1)]),
        event(0, 140, &[&number(7), &number(1), &number(8), b"cat\0"]),
        event(0, 170, &[&number(8), &number(256), &number(7), b"sh\0"]),
        event(5, 190, &[]),
    ]
    .concat();
    let bits = (5 + 12 + events.len()) as i32 * 8;
    let head = [&0xc1fc_1fc1_u32.to_le_bytes()[..], &[0], &number(bits), &number(bits), &number(2)];
    let trace = read(&made(KERNEL, &[("kernel_2", [head.concat(), events].concat())]));
    expect![[r"
        sh-7 0 openat 110+80 off 30 net 40
        sh-7 1 irq:disk 120+10 net 8
        sh-7 2 softirq:TIMER 126+2 net 2
    "]]
    .assert_eq(&testing::show(&trace));
    assert_eq!((trace.wakes.len(), codes(&trace)), (1, Vec::new()));
    invariants::check(&trace, "kernel");
}

#[test]
fn zephyr_writes_one_packet_without_a_header() {
    const ZEPHYR: &str = "/* CTF 1.8 */
typealias integer { size = 8; align = 8; } := uint8_t;
typealias integer { size = 16; align = 8; } := uint16_t;
typealias integer { size = 32; align = 8; } := uint32_t;
typealias integer { size = 8; align = 8; encoding = ASCII; } := ctf_bounded_string_t;
struct event_header { uint32_t timestamp; uint8_t id; };
trace { major = 1; minor = 8; byte_order = le; };
stream { event.header := struct event_header; };
event { name = thread_switched_out; id = 0x10; fields := struct { uint32_t thread_id; ctf_bounded_string_t name[20]; }; };
event { name = thread_switched_in; id = 0x11; fields := struct { uint32_t thread_id; ctf_bounded_string_t name[20]; }; };
event { name = isr_enter; id = 0x20; };
event { name = isr_exit; id = 0x21; };
event { name = semaphore_take_enter; id = 0x30; fields := struct { uint32_t id; }; };
event { name = semaphore_take_exit; id = 0x31; fields := struct { uint32_t id; uint32_t ret; }; };
";
    let name = |name: &str| {
        let mut bytes = name.as_bytes().to_vec();
        bytes.resize(20, 0);
        bytes
    };
    let event = |id: u8, time: u32, fields: &[&[u8]]| {
        [&time.to_le_bytes()[..], &[id], &fields.concat()].concat()
    };
    let stream = [
        event(0x11, 10, &[&5_u32.to_le_bytes(), &name("worker")]),
        event(0x30, 20, &[&1_u32.to_le_bytes()]),
        event(0x20, 30, &[]),
        event(0x21, 34, &[]),
        event(0x31, 40, &[&1_u32.to_le_bytes(), &0_u32.to_le_bytes()]),
        event(0x10, 50, &[&5_u32.to_le_bytes(), &name("worker")]),
    ];
    let trace = read(&made(ZEPHYR, &[("channel0_0", stream.concat())]));
    expect![[r"
        worker-5 0 semaphore_take 20+20 net 16
        worker-5 1 isr 30+4 net 4
    "]]
    .assert_eq(&testing::show(&trace));
}

#[test]
fn metadata_in_packets_of_either_byte_order_is_the_same() {
    let text = BARECTF.as_bytes();
    for big in [false, true] {
        let four = |n: u32| if big { n.to_be_bytes() } else { n.to_le_bytes() };
        let mut file = Vec::new();
        for piece in text.chunks(300) {
            let content = (37 + piece.len() as u32) * 8;
            file.extend(four(0x75d1_1d57));
            file.extend([0; 20]);
            file.extend(four(content));
            file.extend(four(content + 80));
            file.extend([0, 0, 0, 1, 8]);
            file.extend(piece);
            file.extend([0; 10]);
        }
        assert_eq!(parse::text(&file).unwrap(), text);
    }
    assert_eq!(parse::text(text).unwrap(), text);
}

#[test]
fn metadata_that_makes_no_sense_is_refused_with_its_line() {
    let refused = |text: &str, line: u32, part: &str| {
        let (found, what) = parse::metadata(text.as_bytes()).unwrap_err();
        assert!(found == line && what.contains(part), "{text}: line {found}: {what}");
    };
    refused("/* CTF 1.8 */\ntrace { major = ; };", 2, "a value");
    refused("event { fields := struct { u9 a; }; };", 1, "a type");
    refused("typealias integer { size = 65; } := a;", 1, "1 to 64 bits");
    refused("stream { id = 1", 1, "`;`");
    refused(&format!("typealias {} := a;", "struct { ".repeat(100)), 1, "nested");
    refused("typealias floating_point { exp_dig = 1; } := a;", 1, "32 or 64 bits");
    refused("typealias enum { A } := a;", 1, "an integer");
}

#[test]
fn what_is_no_trace_is_refused() {
    let files = Memory::new("test", vec![("a".into(), vec![1]), ("b".into(), vec![2])]);
    assert_eq!(Directory.recognize_directory(&files), Recognition::No);
    let Err(error) = Directory.open(&files, &ImportOptions::default()) else { panic!() };
    assert!(error.to_string().contains("no file `metadata`"), "{error}");
    let json = made("\u{1e}{\"type\":\"preamble\",\"version\":2}", &[("a", vec![1])]);
    let files = Memory::new("test", json);
    assert!(matches!(Directory.recognize_directory(&files), Recognition::Neighbor(_)));
    let probe = Probe { name: "a", head: &[0xc1, 0x1f, 0xfc, 0xc1, 0], whole: true };
    assert!(matches!(Directory.recognize(&probe), Recognition::Neighbor(_)));
}

#[test]
fn a_trace_cut_anywhere_is_read_or_refused() {
    for whole in [barectf(), parts("calls-ust-2.13")] {
        let calls = read(&whole).spans.len();
        for file in 0..whole.len() {
            let length = whole[file].1.len();
            let step = if length > 2_000 { 37 } else { 1 };
            for cut in (0..length).step_by(step) {
                let mut parts = whole.clone();
                parts[file].1.truncate(cut);
                let files = Memory::new("test", parts);
                if let Ok((trace, _)) = load(&files, &ReadOptions::default(), &|_| ()) {
                    assert!(trace.spans.len() <= calls, "{} cut at {cut}", whole[file].0);
                }
            }
        }
    }
}

#[test]
fn blocks_and_workers_change_nothing() {
    for parts in [barectf(), parts("calls-ust-2.13")] {
        let whole = testing::show(&read(&parts));
        for (block_size, workers) in [(1, 1), (100, 3)] {
            let options = ReadOptions { workers, block_size, ..ReadOptions::default() };
            assert_eq!(testing::show(&read_as(&parts, &options)), whole);
        }
    }
}

proptest::proptest! {
    #[test]
    fn changed_bytes_never_panic(changes in proptest::collection::vec((0_usize..4_000, 0_u8..=255), 1..20)) {
        for mut parts in [barectf(), made(BARECTF, &[("stream", vec![0xc1; 200])])] {
            for (_, bytes) in &mut parts {
                for (at, byte) in &changes {
                    let at = at % bytes.len();
                    bytes[at] = *byte;
                }
            }
            let files = Memory::new("test", parts);
            let _ = load(&files, &ReadOptions::default(), &|_| ());
        }
    }
}
