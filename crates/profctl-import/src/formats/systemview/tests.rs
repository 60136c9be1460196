// `expect!` is passed by value, and rewrites its strings with hashes.
#![allow(clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)]

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::ReadOptions;
use crate::capture::testing::{calls, check_blocks, check_cuts, complaints, load, read_anyhow};
use crate::formats::plain::show::show;
use crate::testing::ImporterOfBytes;

static DEMO: &[u8] =
    include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/systemview/demo.SVDat"));

const HEAD: &str = ";\n; Version     SEGGER SystemViewer V2.42\n; Author      profctl's tests\n;\n";

/// What a target would send, as its sources write it.
struct Sent(Vec<u8>);

impl Sent {
    fn new(head: &str) -> Self {
        let mut bytes = head.as_bytes().to_vec();
        bytes.extend([0; 10]);
        Self(bytes).event(10, &[], 0).long(
            24,
            &numbers(&[1_000_000, 72_000_000, 0x2000_0000, 2]),
            0,
        )
    }
    /// An id without a length, its parameters, and what passed.
    fn event(mut self, id: u8, parameters: &[u32], delta: u32) -> Self {
        self.0.push(id);
        self.0.extend(numbers(parameters));
        self.0.extend(numbers(&[delta]));
        self
    }
    fn text(mut self, id: u8, parameters: &[u32], text: &str, delta: u32) -> Self {
        self.0.push(id);
        self.0.extend(numbers(parameters));
        self.0.push(text.len() as u8);
        self.0.extend(text.as_bytes());
        self.0.extend(numbers(&[delta]));
        self
    }
    /// An id with a length.
    fn long(mut self, id: u32, payload: &[u8], delta: u32) -> Self {
        self.0.extend(numbers(&[id, payload.len() as u32]));
        self.0.extend(payload);
        self.0.extend(numbers(&[delta]));
        self
    }
}

fn numbers(of: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for &number in of {
        let mut rest = number;
        while rest > 0x7f {
            bytes.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        bytes.push(rest as u8);
    }
    bytes
}

/// Two tasks, an interrupt in one, an API call, markers: a microsecond a tick.
fn demo() -> Vec<u8> {
    Sent::new(HEAD)
        .text(14, &[], "N=Demo,D=Cortex-M4,O=FreeRTOS", 0)
        .text(14, &[], "I#15=SysTick", 0)
        .text(9, &[1, 3], "worker", 0)
        .text(9, &[2, 5], "sender", 0)
        .text(22, &[0, 512], "M=FreeRTOS,0 vTaskDelay ticks=%u,5 xQueueSend q=%I", 0)
        .long(31, &[1, 7, 5, b'f', b'r', b'a', b'm', b'e'], 0)
        .event(17, &[], 10)
        .event(6, &[1], 5)
        .event(4, &[1], 5)
        .event(15, &[7], 10)
        .event(2, &[15], 30)
        .event(6, &[2], 2)
        .event(18, &[], 3)
        .event(4, &[2], 5)
        .long(517, &numbers(&[9]), 20)
        .long(28, &numbers(&[517]), 15)
        .long(512, &numbers(&[100]), 4)
        .event(7, &[2, 4], 1)
        .event(4, &[1], 5)
        .event(16, &[7], 40)
        .event(19, &[3], 1)
        .event(20, &[], 200)
        .event(7, &[1, 4], 2)
        .event(17, &[], 3)
        .event(11, &[], 100)
        .0
}

#[track_caller]
fn check(bytes: &[u8], expected: Expect) {
    expected.assert_eq(&show(&Recording, bytes, &ImportOptions::default()));
}

#[test]
fn tasks_interrupts_markers_and_calls() {
    check(
        &demo(),
        expect![[r##"
            # profctl plain 1 unit=us
            - cpu0 idle runs
            15 cpu0 wake worker-1 kind=waking
            20 cpu0 switch idle worker-1
            - cpu0 worker-1 runs
            30 cpu0 > frame
            60 cpu0 > SysTick^
            62 cpu0 wake sender-2 kind=waking
            65 cpu0 < SysTick^
            70 cpu0 switch worker-1 sender-2 preempted
            - cpu0 sender-2 runs
            90 cpu0 > xQueueSend
            105 cpu0 < xQueueSend
            109 cpu0 ! vTaskDelay
            115 cpu0 switch sender-2 worker-1
            - cpu0 worker-1 runs
            155 cpu0 < frame
            156 cpu0 > "timer 3"
            356 cpu0 < "timer 3"
            361 cpu0 switch worker-1 idle
            - cpu0 idle runs
        "##]],
    );
}

/// By hand, from the deltas in [`demo`].
#[test]
fn the_demo_in_numbers() {
    assert_eq!(DEMO, demo());
    let (trace, origin) = load(DEMO, &ReadOptions::default());
    assert_eq!(origin.format.name, "systemview");
    let fact = |name: &'static str, value: &str| (name.into(), value.to_owned());
    assert_eq!(origin.facts, [fact("cores", "one"), fact("system", "Demo")]);
    let found = calls(&trace);
    let of = |name: &str| found.iter().find(|call| call.name == name).unwrap();
    // 30 + 2 + 3 + 5 until it is preempted, 45 away, 5 + 40 after.
    assert_eq!(of("frame").thread, "worker-1");
    assert_eq!(of("frame").times[1], (30 + 5 + 5 + 45 + 40) * 1_000);
    assert_eq!(of("SysTick").times[1..], [5_000, 5_000]);
    assert_eq!((of("SysTick").depth, of("SysTick").thread.as_str()), (1, "worker-1"));
    assert_eq!(of("xQueueSend").times[1], 15_000);
    assert_eq!(of("xQueueSend").thread, "sender-2");
    assert_eq!(of("timer 3").times[1], 200_000);
    assert!(trace.meta.knows_off_cpu);
    let frame =
        trace.spans.ids().find(|id| trace.names.funcs[trace.spans.func[*id]].name == "frame");
    assert_eq!(trace.spans.off_cpu[frame.unwrap().index()].0, 20 + 15 + 4 + 1 + 5);
    assert_eq!(trace.wakes.len(), 2);
    assert_eq!(trace.marks.len(), 1, "vTaskDelay has no end");
    assert_eq!(complaints(&trace), Vec::<String>::new());
    check_blocks(DEMO, &ReadOptions::default());
}

#[test]
fn what_was_dropped_is_a_gap() {
    check(
        &Sent::new("").event(15, &[1], 1).event(1, &[300], 9).event(3, &[], 1).event(20, &[], 1).0,
        expect![[r##"
            # profctl plain 1 unit=us
            1 cpu0 > "marker 1"
            10 cpu0 lost 300
            11 cpu0 < "unknown interrupt"^
            12 cpu0 < "unknown timer"
        "##]],
    );
}

#[test]
fn nonsense_up_to_the_next_synchronization() {
    let mut bytes = Sent::new("").event(15, &[1], 1).0;
    bytes.extend([0x02, 0xff, 0xff, 0xff, 0xff, 0xff, 1, 2, 3]);
    bytes.extend([0; 10]);
    let mut bytes = Sent(bytes).event(16, &[1], 2).long(28, &[], 1).0;
    bytes.push(0x02);
    check(
        &bytes,
        expect![[r##"
        # profctl plain 1 unit=us
        1 cpu0 > "marker 1"
        3 cpu0 < "marker 1"
        input/skipped-record +31: no packet, expected an id and its parameters
        input/skipped-record +53: a packet is too short, expected the parameters of its id
        input/cut-record +56: the last packet is truncated
    "##]],
    );
}

#[test]
fn two_cores() {
    let head = ";\n; Version     SEGGER SystemViewer V2.42\n; ESP_Extension\n;\n";
    let second = 1 << 6;
    let bytes = Sent::new(head)
        .event(4, &[1], 1)
        .event(4 | second, &[2], 1)
        .event(15, &[1], 1)
        .event(15 | second, &[2], 1)
        .event(16 | second, &[2], 1)
        .event(16, &[1], 1)
        .long(0x80 | u32::from(second) << 7, &[], 1)
        .0;
    check(
        &bytes,
        expect![[r##"
            # profctl plain 1 unit=us
            - cpu0 #1 runs
            - cpu1 #2 runs
            3 cpu0 > "marker 1"
            4 cpu1 > "marker 2"
            5 cpu1 < "marker 2"
            6 cpu0 < "marker 1"
            7 cpu1 ! "event 128"
        "##]],
    );
}

#[test]
fn without_a_clock_cycles_are_counted() {
    let bytes = [&[0; 10][..], &[2, 5, 1, 3, 9]].concat();
    let unit =
        |options: &ImportOptions| Recording.open_bytes(&bytes, options).unwrap().timebase.unit;
    assert_eq!(unit(&ImportOptions::default()), TickUnit::Cycles);
    let mut options = ImportOptions::default();
    options.capture.clock = crate::text::tick_unit("16MHz");
    assert_eq!(unit(&options), TickUnit::Seconds { numerator: 1, denominator: 16_000_000 });
    assert!(Recording.open_bytes(b"; SystemView\n", &ImportOptions::default()).is_err());
}

#[test]
fn what_is_none() {
    for bytes in
        [&b""[..], &[0; 100], b"; SystemView\n", b"; a b\n\0\0\0\0\0\0\0\0\0\0\x02\x01\x01"]
    {
        assert_eq!(Recording.recognize_bytes(bytes, true), Recognition::No, "{bytes:x?}");
    }
    assert!(matches!(
        Recording.recognize_bytes(&Sent::new("").event(17, &[], 1).0, true),
        Recognition::Yes(_)
    ));
}

#[test]
fn every_cut() {
    check_cuts(DEMO, "systemview", &ReadOptions::default());
}

proptest! {
    // Every case opens an input or several, which takes a millisecond or two.
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn garbage_is_read(bytes: Vec<u8>, flips: Vec<(u16, u8)>, cores: bool) {
        let head = if cores { "; ESP_Extension\n" } else { "" };
        let garbage = [Sent::new(head).0, bytes].concat();
        read_anyhow(&garbage, "systemview", &ReadOptions::default());
        let mut bytes = DEMO.to_vec();
        for (at, value) in flips {
            let at = usize::from(at) % bytes.len();
            bytes[at] ^= value;
        }
        read_anyhow(&bytes, "systemview", &ReadOptions::default());
    }
}
