use std::collections::BTreeMap;

use expect_test::expect;
use profctl_model::Trace;
use profctl_testkit::{fixtures, invariants};

use super::*;
use crate::testing::show;
use crate::{Memory, ReadOptions, load};

fn read_as(bytes: &[u8], options: &ReadOptions) -> Trace {
    let files = Memory::new("test", vec![("a.mm_profdata".into(), bytes.to_vec())]);
    load(&files, options, &|_| ()).unwrap().0
}

fn read(bytes: &[u8]) -> Trace {
    read_as(bytes, &ReadOptions::default())
}

fn codes(trace: &Trace) -> Vec<String> {
    let entries = trace.meta.diags.sorted();
    entries.iter().map(|entry| format!("{} {}", entry.code.name, entry.count)).collect()
}

/// Writes files of either version.
struct Writer {
    version: Version,
    events: Vec<u8>,
    data: Vec<u8>,
    index: Vec<u8>,
}

impl Writer {
    fn new(version: Version) -> Self {
        let header = |magic: &[u8]| [magic, &(version.number() as u32).to_le_bytes()].concat();
        let mut writer = Self {
            version,
            events: header(b"MMES"),
            data: header(b"MMSD"),
            index: header(b"MMSI"),
        };
        let place = writer.data.len() as u64;
        writer.string("{ \"start_time\": 5, \"process_id\": 42, \"cmd\": \"/bin/rustc a.rs\" }");
        writer.id(100_000_001, |writer| &mut writer.index);
        writer.id(place, |writer| &mut writer.index);
        writer
    }

    fn id(&mut self, id: u64, of: impl Fn(&mut Self) -> &mut Vec<u8>) {
        let width = self.version.id_bytes();
        of(self).extend(&id.to_le_bytes()[..width]);
    }

    fn string(&mut self, text: &str) -> u64 {
        let id = 100_000_003 + self.data.len() as u64;
        self.data.extend(text.as_bytes());
        self.data.push(0xff);
        id
    }

    fn event(&mut self, kind: &str, label: &str, thread: u32, first: u64, second: u64) {
        for text in [kind, label] {
            let id = self.string(text);
            self.id(id, |writer| &mut writer.events);
        }
        let upper = (first >> 32 << 16 | second >> 32 & 0xffff) as u32;
        for word in [thread, first as u32, second as u32, upper] {
            self.events.extend(word.to_le_bytes());
        }
    }

    /// The file, in pages of `size` bytes.
    fn file(&self, size: usize) -> Vec<u8> {
        let mut file = [MAGIC, &(self.version.number() as u32).to_le_bytes()].concat();
        let mut streams = [(0_u8, &self.events[..]), (1, &self.data), (2, &self.index)];
        while streams.iter().any(|(_, rest)| !rest.is_empty()) {
            for (tag, rest) in &mut streams {
                let (page, behind) = rest.split_at(size.min(rest.len()));
                if page.is_empty() {
                    continue;
                }
                file.push(*tag);
                file.extend((page.len() as u32).to_le_bytes());
                file.extend(page);
                *rest = behind;
            }
        }
        file
    }
}

const INSTANT: u64 = 0xffff_ffff_ffff;
const INTEGER: u64 = INSTANT - 1;

fn small(version: Version) -> Writer {
    let mut writer = Writer::new(version);
    writer.event("Query", "typeck\x1eitem", 3, 20, 30);
    writer.event("QueryCacheHit", "typeck", 3, 35, INSTANT);
    writer.event("GenericActivity", "other", 4, 10, 60);
    writer.event("Query", "typeck", 3, 40, 50);
    writer.event("Query", "mir_built", 3, 18, 52);
    writer.event("GenericActivity", "parse", 3, 10, 70);
    writer.event("ArtifactSize", "object", 3, 12_345, INTEGER);
    writer.event("QueryBlocked", "typeck", 3, 0x1_0000_0000, 0x1_0000_0010);
    writer
}

#[test]
fn both_versions_say_the_same_in_pages_of_any_size() {
    for version in [Version::V8, Version::V9] {
        for size in [1, 7, 64, 1 << 16] {
            let trace = read(&small(version).file(size));
            expect![[r"
                rustc-3 0 parse 10+60 net 26
                rustc-3 1 mir_built 18+34 net 14
                rustc-3 2 typeck 20+10 net 10
                rustc-3 2 typeck 40+10 net 10
                rustc-3 0 typeck 4294967296+16 net 16
                rustc-4 0 other 10+50 net 50
                rustc-3 mark typeck 35
                rustc-3 mark object 4294967312
            "]]
            .assert_eq(&show(&trace));
            assert!(codes(&trace).is_empty(), "{:?}", codes(&trace));
            invariants::check(&trace, "small");
        }
    }
}

#[test]
fn functions_are_told_apart_by_kind_of_event() {
    let trace = read(&small(Version::V9).file(100));
    let mut funcs: Vec<_> = trace.names.funcs.as_slice().iter().collect();
    funcs.retain(|func| func.name == "typeck");
    let groups: Vec<_> = funcs.iter().filter_map(|func| func.module.as_deref()).collect();
    assert_eq!(groups, ["Query", "QueryCacheHit", "QueryBlocked"]);
    assert_eq!(trace.names.threads.as_slice()[0].pid, Some(42));
}

/// Time, net time and invocations of every label, as `summarize` of measureme says.
#[test]
fn every_figure_is_that_of_summarize() {
    let folder = fixtures::root().join("fixtures/measureme");
    let trace = read(&fixtures::read(&folder.join("tiny.mm_profdata.zst")));
    invariants::check(&trace, "tiny");
    assert!(codes(&trace).is_empty());
    let mut found: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    for id in trace.spans.ids() {
        let func = &trace.names.funcs[trace.spans.func[id]];
        let row = found.entry(&func.name).or_default();
        row[0] += trace.spans.wall[id.index()].0;
        row[1] += trace.spans.net[id.index()].0;
        row[2] += 1;
    }
    let golden = String::from_utf8(fixtures::read(&folder.join("tiny.csv.golden"))).unwrap();
    let mut n_compared = 0;
    for line in golden.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let number = |n: usize| fields[n].parse::<u64>().unwrap();
        let expected = [number(1), number(2), number(3)];
        let Some(row) = found.remove(fields[0]) else {
            assert_eq!(expected, [0; 3], "{}", fields[0]);
            continue;
        };
        assert_eq!(row, expected, "{}", fields[0]);
        n_compared += 1;
    }
    assert!(found.is_empty() && n_compared > 200, "{n_compared}");
}

#[test]
fn counters_of_other_things_are_no_time() {
    let unit = |name: &str| {
        let json = format!(
            "{{\"counter\":{{\"units\":[[\"a\",1]],\"name\":\"{name}\"}},\"cmd\":\"a b\"}}"
        );
        About::of(json.as_bytes()).unit()
    };
    assert_eq!(unit("instructions:u"), TickUnit::Instructions);
    assert_eq!(unit("cycles"), TickUnit::Cycles);
    assert!(matches!(
        unit("wall-time"),
        TickUnit::Seconds { numerator: 1, denominator: 1_000_000_000 }
    ));
    assert_eq!(About::of(b"{\"cmd\": 7"), About::default());
}

#[test]
fn a_file_cut_anywhere_is_read_or_refused() {
    for version in [Version::V8, Version::V9] {
        let whole = small(version).file(40);
        let calls = read(&whole).spans.len();
        for cut in 0..whole.len() {
            let files = Memory::new("test", vec![("a".into(), whole[..cut].to_vec())]);
            match load(&files, &ReadOptions::default(), &|_| ()) {
                Ok((trace, _)) => assert!(cut >= HEADER && trace.spans.len() <= calls, "{cut}"),
                Err(_) => assert!(cut < HEADER, "{cut}"),
            }
        }
    }
}

#[test]
fn other_versions_are_named() {
    let probe = |head: &[u8]| SelfProfile.recognize(&Probe { name: "a", head, whole: true });
    assert!(matches!(probe(b"MMPD\x07\0\0\0"), Recognition::Neighbor(_)));
    assert!(matches!(probe(b"MMPD\x08\0\0\0"), Recognition::Yes(_)));
    assert_eq!(probe(b"MMES\x08\0\0\0"), Recognition::No);
}

#[test]
fn blocks_and_workers_change_nothing() {
    let file = small(Version::V9).file(100);
    let whole = read(&file);
    for (block_size, workers) in [(1, 1), (50, 2), (64, 3)] {
        let options = ReadOptions { workers, block_size, ..ReadOptions::default() };
        assert_eq!(show(&read_as(&file, &options)), show(&whole));
    }
}

proptest::proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>, version in 8_u8..10, changes in proptest::collection::vec((0_usize..600, 0_u8..=255), 0..6)) {
        let mut files = vec![[MAGIC, &[version, 0, 0, 0], &bytes].concat(), small(Version::V9).file(64)];
        for (at, byte) in changes {
            let at = at % files[1].len();
            files[1][at] = byte;
        }
        for file in files {
            let files = Memory::new("test", vec![("a".into(), file)]);
            let _ = load(&files, &ReadOptions::default(), &|_| ());
        }
    }
}

/// Calls that begin in one part of the events and end in a later one.
#[test]
fn calls_across_the_parts_of_a_file_are_whole() {
    let mut bytes = Vec::new();
    profctl_testkit::generate::write_large("measureme", 600_000, 3, &mut bytes).unwrap();
    let trace = read(&bytes);
    invariants::check(&trace, "made");
    assert_eq!(codes(&trace), Vec::<String>::new());
    assert!(trace.spans.len() > 2 * open_calls::PART);
    // Each call ends when its record says, and its callees lie in it.
    let size = Version::V9.event_bytes();
    let mut ends: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for page in pages(&bytes) {
        for event in page.chunks_exact(size) {
            if let layout::Payload::Interval { start, end } = Version::V9.event(event).payload {
                *ends.entry((start, end - start)).or_default() += 1;
            }
        }
    }
    let mut found: BTreeMap<(u64, u64), u64> = BTreeMap::new();
    for id in trace.spans.ids() {
        let (start, wall) = (trace.spans.start[id.index()].0, trace.spans.wall[id.index()].0);
        *found.entry((start, wall)).or_default() += 1;
    }
    assert_eq!(found, ends);
    for block_size in [100, 200_000] {
        for workers in [1, 3] {
            let options = ReadOptions { workers, block_size, ..ReadOptions::default() };
            assert_eq!(show(&read_as(&bytes, &options)), show(&trace), "{block_size} {workers}");
        }
    }
}

/// The events in the pages of a file, without the header of their stream.
fn pages(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut at, mut skipped, mut pages) = (HEADER, HEADER, Vec::new());
    while at + PAGE_HEAD <= bytes.len() {
        let (page, length) = layout::page(&bytes[at..]);
        let start = at + PAGE_HEAD;
        at = start + length as usize;
        if page == Some(Page::Events) {
            pages.push(&bytes[start + std::mem::take(&mut skipped)..at]);
        }
    }
    pages
}
