//! The tutorial about rules, done as it is written: every block saved, every command run.

use std::fs;

use profctl_testkit::fixtures;

use crate::program::{Scratch, run};

/// A fenced block: what kind it is, and what is in it.
struct Block {
    kind: String,
    text: String,
}

fn blocks() -> Vec<Block> {
    let page = fixtures::root().join("docs/tutorial-rules.md");
    let page = fs::read_to_string(page).expect("the page is there").replace('\r', "");
    let fenced = page.split("```").skip(1).step_by(2).map(|block| {
        let (kind, text) = block.split_once('\n').expect("a block of several lines");
        Block { kind: kind.to_owned(), text: text.to_owned() }
    });
    fenced.collect()
}

#[test]
fn the_tutorial_does_what_it_says() {
    let scratch = Scratch::new("tutorial");
    let mut blocks = blocks().into_iter();
    let log = blocks.next().unwrap();
    assert_eq!(log.kind, "text");
    scratch.file("driver.log", &log.text);
    let mut n_commands = 0;
    let mut pending: Option<String> = None;
    for Block { kind, text } in blocks {
        match kind.as_str() {
            "toml" => {
                scratch.file("driver.toml", &text);
            }
            "sh" => {
                n_commands += 1;
                let (command, expected) = text.split_once('\n').unwrap();
                let said = execute(&scratch, command);
                if expected.is_empty() {
                    pending = Some(said);
                } else {
                    assert_eq!(said, expected, "{command}");
                }
            }
            // What a command prints, or a part of it, is in the block after it.
            "text" => {
                let said = pending.take().expect("a command before its output");
                assert!(said.contains(&text), "{said}\nlacks\n{text}");
            }
            other => panic!("a block of kind {other}"),
        }
    }
    assert_eq!((n_commands, pending), (3, None));
}

/// Runs a command of the page in the directory of its files; what it says, without the directory.
fn execute(scratch: &Scratch, command: &str) -> String {
    let words = command.strip_prefix("$ profctl ").expect("a command of ours").split(' ');
    let arguments: Vec<String> = words
        .map(|word| if word.contains('.') { scratch.path(word) } else { word.to_owned() })
        .collect();
    let run = run(&arguments);
    assert!(matches!(run.code, Some(0 | 3)), "{command}: {:?}", run.code);
    let directory = scratch.path("");
    (run.stdout + &run.stderr).replace(&directory, "")
}

#[test]
fn rules_that_cannot_be_used_are_told() {
    let scratch = Scratch::new("rules");
    let log = scratch.file("a.log", "1 enter f\n2 exit f\n");
    let rule = "ts_unit = \"s\"\npattern = '^(?<ts>\\d+) (?<kind>\\w+) (?<name>\\w+)$'\n";
    let good = scratch.file("good.toml", rule);
    let bad = scratch.file("bad.toml", rule.replace("ts>", "when>"));
    let bytes = scratch.file("bytes.toml", b"\xff\xfe");
    let missing = scratch.path("missing.toml");
    run(&["summarize", "--rule", &good, &log]).quiet_success();
    run(&["summarize", "--rule", &good, "--input-format", "rule", &log]).quiet_success();
    for (rule, message) in [
        (&bad, "bad.toml:2: unknown group `when`, expected one of ts, cpu"),
        (&bytes, "bytes.toml: is not UTF-8 text, expected a rule file"),
        (&missing, "hint: it is not a preset either: cyg-profile, dtrace-flow"),
    ] {
        let said = run(&["summarize", "--rule", rule, &log]).failure(3);
        assert!(said.contains(message), "{said}");
    }
    let said = run(&["summarize", "--rule", &good, "--input-format", "plain", &log]).failure(2);
    assert!(said.contains("--rule reads the input as format rule, not as plain"), "{said}");
    let said = run(&["summarize", "--input-format", "rule", &log]).failure(3);
    assert!(said.contains("no rule was given and no preset matches"), "{said}");
}

#[test]
fn a_preset_can_be_printed_and_used_as_a_file() {
    let scratch = Scratch::new("preset");
    let printed = run(&["formats", "--rule", "cyg-profile"]).quiet_success();
    let rule = scratch.file("mine.toml", printed);
    let log = scratch.file("cyg.log", "1.5 E 0x10 0x1\n1.6 X 0x10 0x1\n");
    let by_file = run(&["summarize", "--rule", &rule, &log]).quiet_success();
    let by_name = run(&["summarize", "--rule", "cyg-profile", &log]).quiet_success();
    assert!(by_file.contains("0x10"), "{by_file}");
    assert_eq!(by_file, by_name);
    let listed = run(&["formats"]).quiet_success();
    assert!(listed.contains("`--rule cyg-profile`"), "{listed}");
}
