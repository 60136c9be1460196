//! Generated traces are recognized and read.

use profctl_testkit::generate::{LARGE_FORMATS, large_names, write_large};

use crate::program::{Scratch, run};

#[test]
fn made_up_traces_are_recognized_and_whole_but_for_their_end() {
    let scratch = Scratch::new("made");
    let names = scratch.file("names", large_names(3));
    for format in LARGE_FORMATS {
        let mut bytes = Vec::new();
        write_large(format, 300_000, 3, &mut bytes).unwrap();
        let trace = scratch.file(format, &bytes);
        let mut arguments = vec!["summarize", "--strict", "--top", "3", "--format", "csv"];
        match format {
            "probe" => arguments.extend(["--names", &names]),
            "vcd" => arguments.extend(["--names", &names, "--tag", "tag", "--strobe", "stb"]),
            "saleae" | "sigrok" => {
                arguments.extend(["--names", &names, "--tag", "T15..T0", "--strobe", "STB"]);
            }
            _ => {}
        }
        arguments.push(&trace);
        let ended = run(&arguments);
        // What was open when the size was reached is all that may be wrong.
        assert!(matches!(ended.code, Some(0 | 5)), "{format}: {}", ended.stderr);
        assert_eq!(ended.stdout.lines().count(), 4, "{format}: {}", ended.stdout);
        let saved = run(&[&["summarize", "--format", "json"], &arguments[6..]].concat());
        let quality: serde_json::Value = serde_json::from_str(&saved.stdout).unwrap();
        let quality = &quality["quality"];
        for nothing in ["lost_events", "gaps", "skipped_records", "backwards"] {
            assert_eq!(quality[nothing], 0, "{format}: {quality}");
        }
        // The wires of a capture have a state before the first event.
        let unmatched = quality["unmatched_exits"].as_u64().unwrap();
        assert!(unmatched <= 1, "{format}: {quality}");
    }
}
