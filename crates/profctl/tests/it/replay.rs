//! `replay` shows lines as soon as they are known, and reads no further than the output is wanted.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::Duration;

use profctl_testkit::generate::write_large;

use crate::program::{Scratch, command, run, run_with_input};

/// Calls of two threads, in the plain format with depths, from call `first` on.
fn calls(first: u64, n: u64) -> String {
    let mut text = String::new();
    for call in first..first + n {
        let (time, thread) = (1000 * call, ["a", "b"][call as usize % 2]);
        for (time, end) in [
            (time, "> outer depth=0".to_owned()),
            (time + 10, format!(". inner {} depth=1", call % 7 + 1)),
            (time + 100, "< outer depth=0".to_owned()),
        ] {
            writeln!(text, "{time} {thread} {end}").expect("memory takes what is written to it");
        }
    }
    text
}

/// As many as take more than the head of an input, which is read first.
const CALLS: u64 = 40_000;

#[test]
fn lines_come_before_the_input_ends() {
    let mut child =
        command(&["replay", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let (seen, was_seen) = channel();
    // Closes the input once lines were seen, or when that takes too long.
    let writer = std::thread::spawn(move || {
        write!(input, "# profctl plain 1\n{}", calls(0, CALLS)).unwrap();
        was_seen.recv_timeout(Duration::from_mins(1)).is_ok()
    });
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    assert_eq!(first, "   0:000 000.000 [a] -> outer (0.099 us, 0.100 total)");
    assert_eq!(lines.by_ref().take(999).count(), 999);
    let _ = seen.send(());
    assert_eq!(lines.count() as u64, 3 * CALLS - 1000);
    assert!(writer.join().unwrap(), "lines came after the input had ended");
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_closed_output_ends_reading() {
    let mut child = command(&["replay", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // More than any buffer between takes.
    let writer = std::thread::spawn(move || {
        input.write_all(b"# profctl plain 1\n")?;
        (0..1_000_000)
            .step_by(1000)
            .try_for_each(|first| input.write_all(calls(first, 1000).as_bytes()))
    });
    assert!(lines.next().unwrap().unwrap().contains("-> outer"));
    drop(lines);
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(0));
    assert_eq!(String::from_utf8(ended.stderr).unwrap(), "");
    let error: std::io::Result<()> = writer.join().unwrap();
    assert_eq!(error.unwrap_err().kind(), std::io::ErrorKind::BrokenPipe);
}

#[test]
fn the_lines_do_not_depend_on_how_a_trace_is_read() {
    let scratch = Scratch::new("replay_jobs");
    // So long that lines come before the end, and one call around the last half of a thread.
    let mut text = format!("# profctl plain 1\n{}", calls(0, 6000));
    text.push_str("6000000 c > long depth=0\n");
    text.push_str(&calls(6001, 6000));
    text.push_str("12001000 c < long depth=0\n");
    let file = scratch.file("calls.plain", &text);
    let expected = run(&["replay", "-j1", &file]).quiet_success();
    for jobs in ["-j2", "-j3", "-j7"] {
        assert_eq!(run(&["replay", jobs, &file]).quiet_success(), expected, "{jobs}");
    }
    assert_eq!(run_with_input(&["replay", "-"], text.as_bytes()).quiet_success(), expected);
    assert_eq!(expected.lines().count(), 3 * 12_000 + 1);
    // Rows of data are made of the whole trace, by another way.
    let csv = run(&["replay", "--format", "csv", &file]).quiet_success();
    let names = csv.lines().skip(1).map(|row| row.split(',').nth(5).unwrap().to_owned());
    let shown = expected.lines().map(|line| {
        let name = line.split("-> ").nth(1).map(|call| call.split(' ').next().unwrap());
        name.unwrap_or_default().to_owned()
    });
    assert!(names.eq(shown));
}

/// A pipe that pauses, at first and in the middle, changes nothing.
#[test]
fn a_slow_input_gives_the_same_lines() {
    let scratch = Scratch::new("replay_slow");
    // One that is read in blocks, and two that are copied or sorted first.
    let made = ["function_graph-abstime-proc", "measureme", "chrome"].map(|format| {
        let mut bytes = Vec::new();
        write_large(format, 3_000_000, 3, &mut bytes).unwrap();
        scratch.file(format, &bytes)
    });
    let compare = |path: String| {
        let expected = run(&["-q", "replay", &path]).quiet_success();
        let bytes = std::fs::read(&path).unwrap();
        let mut child = command(&["-q", "replay", "-"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = child.stdin.take().unwrap();
        let writer = std::thread::spawn(move || {
            for part in [&bytes[..1000], &bytes[1000..2_000_001], &bytes[2_000_001..]] {
                input.write_all(part).unwrap();
                // Longer than what counts as a pause.
                std::thread::sleep(Duration::from_millis(1300));
            }
        });
        let found = child.wait_with_output().unwrap();
        writer.join().unwrap();
        assert!(found.stdout == expected.as_bytes(), "{path}");
    };
    for test in made.map(|path| std::thread::spawn(move || compare(path))) {
        test.join().unwrap();
    }
}
