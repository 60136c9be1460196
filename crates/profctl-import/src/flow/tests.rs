use super::*;
use crate::emit::Record;
use crate::formats::{FORMATS, Recognition};
use crate::testing::ImporterOfBytes;

macro_rules! fixture {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/", $name))
    };
}

/// Logs of instructions look alike: each is claimed by its own format and by no other.
#[test]
fn logs_are_told_apart() {
    let fixtures = [
        ("qemu", fixture!("qemu/calls-blocks.log")),
        ("qemu", fixture!("qemu/calls-in-asm.log")),
        ("qemu", fixture!("qemu/calls-singlestep.log")),
        ("execlog", fixture!("execlog/calls.log")),
        ("spike", fixture!("spike/calls.log")),
        ("gem5", fixture!("gem5/calls-x86.txt")),
        ("gem5", fixture!("gem5/calls-arm.txt")),
        ("callgrind", fixture!("callgrind/calls.out")),
    ];
    for (owner, text) in fixtures {
        for format in FORMATS {
            let name = format.descriptor().name;
            let verdict = format.recognize_bytes(text.as_bytes(), true);
            let fits = if name == owner {
                matches!(verdict, Recognition::Yes(_))
            } else {
                verdict == Recognition::No
            };
            assert!(fits, "{name} says {verdict:?} to a fixture of {owner}");
        }
    }
}

#[test]
fn cold_parts_know_their_function() {
    let cases: [(&[u8], Option<&[u8]>); 8] = [
        (b"f.cold", Some(b"f")),
        (b"f.cold.12", Some(b"f")),
        (b"f.part.0.cold", Some(b"f.part.0")),
        (b"f.part.0", None),
        (b"f.12", None),
        (b".cold", None),
        (b"12", None),
        (b"", None),
    ];
    for (name, parent) in cases {
        assert_eq!(parent_of_cold(name), parent, "{}", String::from_utf8_lossy(name));
    }
}

/// Depth is 16 bits wide; deeper calls are incomplete, and the rest comes out right.
#[test]
fn a_recursion_without_end_stays_within_bounds() {
    let (mut flow, mut out) = (Flow::default(), Emitter::default());
    let call = Some(asm::ending(0, "call 0x10"));
    let stretch = Stretch { instructions: 1, last: 0x18, reach: LONGEST, ending: call };
    let step = Step {
        cpu: 0,
        pc: 0x10,
        name: Some(b"f"),
        at_start: Some(true),
        time: None,
        stretch,
        offset: 0,
    };
    for _ in 0..70_000 {
        flow.step(&step, &mut out);
    }
    assert_eq!(out.said().len(), 70_000);
    let states_depth =
        |record| matches!(record, Record::Enter { stated, .. } if stated.depth.is_some());
    assert!(out.said().all(|(_, record)| states_depth(record)));
}
