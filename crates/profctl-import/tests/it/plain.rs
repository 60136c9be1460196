//! Every trace reads back from the plain format as what it was.

use std::fmt::Write as _;

use profctl_import::{ImportOptions, ReadOptions, Single, load, write_plain};
use profctl_model::{Func, Thread, Trace, TraceBuilder};
use profctl_testkit::fixtures;
use profctl_testkit::generate::Random;

use crate::damage::{KEPT, as_format, copies, damage, first_seed, keep};

/// Everything that is known of a trace, as text.
fn whole(trace: &Trace) -> String {
    let meta = &trace.meta;
    let spans = &trace.spans;
    let mut text =
        format!("{:?} {:?} {:?} {}\n", meta.timebase, meta.first, meta.last, meta.knows_off_cpu);
    for id in spans.ids() {
        let row = id.index();
        let cpu = spans.cpu[row].map(|cpu| trace.names.cpus[cpu]);
        writeln!(
            text,
            "{:?} {:?} {cpu:?} {} {:?}..{:?} {:?} {:?} {:?} {:?} {:?}",
            trace.names.funcs[spans.func[id]],
            trace.names.threads[spans.thread[row]],
            spans.depth[row],
            spans.start[row],
            spans.end[row],
            spans.wall[row],
            spans.off_cpu[row],
            spans.net[row],
            spans.stolen[row],
            spans.fidelity[row],
        )
        .unwrap();
    }
    writeln!(text, "{:?}\n{:?}\n{:?}", trace.marks, trace.wakes, trace.gaps).unwrap();
    writeln!(text, "{:?}\n{:?}", trace.states, trace.lives).unwrap();
    for entry in meta.diags.sorted() {
        writeln!(text, "{} {}", entry.code.name, entry.count).unwrap();
    }
    text
}

/// Where two texts first differ.
fn difference(was: &str, is: &str) -> Option<String> {
    let at = was.lines().zip(is.lines()).position(|(was, is)| was != is);
    if was == is {
        return None;
    }
    let line = |text: &str| text.lines().nth(at.unwrap_or(0)).unwrap_or_default().to_owned();
    Some(format!("line {at:?}\n was {}\n is  {}", line(was), line(is)))
}

/// Where the trace in `bytes` differs from what it is as plain text; whether it can be read at all.
fn check(bytes: &[u8], options: &ReadOptions) -> Result<bool, String> {
    let input = Single::new("test", Box::new(std::io::Cursor::new(bytes.to_vec())));
    let mut text = Vec::new();
    let written = write_plain(&input, options, TraceBuilder::default(), &mut text, &|_| ());
    let Ok((read, written)) = written else { return Ok(false) };
    // Some of what a format may hold has no place in a line; then nothing is written.
    if written.is_err() {
        return Ok(false);
    }
    let trace = read.sink.finish(read.meta, read.names);
    if !fits_in_lines(&trace) {
        return Ok(false);
    }
    for (workers, block_size) in [(1, 0), (3, 4 << 10)] {
        let options = ReadOptions { workers, block_size, ..as_format("plain") };
        let input = Single::new("test", Box::new(std::io::Cursor::new(text.clone())));
        let (back, _) = match load(&input, &options, &|_| ()) {
            Ok(back) => back,
            // Text without an event is not a trace.
            Err(_) if trace.spans.is_empty() => return Ok(false),
            Err(error) => return Err(error.to_string()),
        };
        if let Some(difference) = difference(&whole(&trace), &whole(&back)) {
            return Err(difference);
        }
    }
    Ok(true)
}

/// Whether all names are written as they are: a line end in one becomes a blank, and a module is a
/// word.
fn fits_in_lines(trace: &Trace) -> bool {
    let is_line = |text: &str| !text.contains(char::is_control);
    let names = &trace.names;
    let is_word = |func: &Func| {
        let module = func.module.as_deref().unwrap_or_default();
        is_line(module) && !module.contains(|c: char| c.is_whitespace() || c == '[')
    };
    let of_thread = |thread: &Thread| {
        is_line(&thread.name) && thread.former_names.iter().all(|name| is_line(name))
    };
    names.funcs.as_slice().iter().all(|func| is_line(&func.name) && is_word(func))
        && names.threads.as_slice().iter().all(of_thread)
        && trace.marks.iter().all(|mark| mark.detail.as_deref().is_none_or(is_line))
}

#[test]
fn every_fixture_reads_back_from_the_plain_format() {
    let mut n_traces = 0;
    for format in profctl_import::FORMATS {
        let name = format.descriptor().name;
        // Directories are several streams; what is written is what a single one says.
        for path in fixtures::of_format(name).into_iter().filter(|path| path.is_file()) {
            let bytes = fixtures::read(&path);
            let what = path.display().to_string();
            let options = ReadOptions { workers: 2, block_size: 8 << 10, ..ReadOptions::default() };
            let is_read = check(&bytes, &options);
            n_traces += usize::from(is_read.unwrap_or_else(|why| panic!("{what}: {why}")));
        }
    }
    assert!(n_traces > 70, "only {n_traces} fixtures were read");
    let names = Some(fixtures::read(&fixtures::root().join("fixtures/probe/tcp_rx.names")));
    let import = ImportOptions { names, ..ImportOptions::default() };
    let options = ReadOptions { format: Some("probe".into()), import, ..ReadOptions::default() };
    let raw = fixtures::read(&fixtures::root().join("fixtures/probe/tcp_rx.raw"));
    assert_eq!(check(&raw, &options), Ok(true));
}

#[test]
fn damaged_fixtures_read_back_from_the_plain_format() {
    let mut n_traces = 0;
    let mut failed = Vec::new();
    for format in profctl_import::FORMATS {
        let name = format.descriptor().name;
        for path in fixtures::of_format(name).into_iter().filter(|path| path.is_file()) {
            let mut whole = fixtures::read(&path);
            whole.truncate(KEPT);
            for seed in first_seed()..first_seed() + copies() {
                let mut bytes = whole.clone();
                damage(&mut bytes, &mut Random::new(seed));
                match check(&bytes, &as_format(name)) {
                    Ok(is_read) => n_traces += usize::from(is_read),
                    Err(why) => {
                        let name = path.display().to_string();
                        failed.push(format!("{name}, damaged by {seed}: {why}"));
                        keep(&seed.to_string(), &[(name, bytes)]);
                    }
                }
            }
        }
    }
    assert!(failed.is_empty(), "{} do not read back:\n{}", failed.len(), failed.join("\n"));
    assert!(n_traces > 150, "only {n_traces} were read");
}

#[test]
fn threads_of_one_number_stay_apart_in_the_plain_format() {
    // Kernel events name thread 7 without a process, before or after a first thread 7 of a process.
    let kernel = [("1", "enter: NR 0 (0)"), ("2", "exit: NR 0 = 0"), ("9", "enter: NR 1 (0)")]
        .map(|(time, event)| format!("t-7 [000] ..... 0.00{time}000: sys_{event}\\n"));
    let call = |pid: u32, ts: u32| {
        format!(r#"{{"ph":"X","ts":{ts},"dur":100,"pid":{pid},"tid":7,"name":"f{pid}"}}"#)
    };
    for first in [500, 3000] {
        let (calls, kernel) = ([call(7, first), call(8, 6000)].join(","), kernel.concat());
        let json = format!(r#"{{"traceEvents":[{calls}],"systemTraceEvents":"{kernel}"}}"#);
        assert_eq!(check(json.as_bytes(), &as_format("chrome")), Ok(true));
    }
}
