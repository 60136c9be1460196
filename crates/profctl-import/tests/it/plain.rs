//! Every trace reads back from the plain format as what it was.

use std::fmt::Write as _;

use profctl_import::{ImportOptions, ReadOptions, Single, load, write_plain};
use profctl_model::{Trace, TraceBuilder};
use profctl_testkit::fixtures;

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

fn check(what: &str, bytes: &[u8], options: &ReadOptions) -> bool {
    let input = Single::new("test", Box::new(std::io::Cursor::new(bytes.to_vec())));
    let mut text = Vec::new();
    let written = write_plain(&input, options, TraceBuilder::default(), &mut text, &|_| ());
    let Ok((read, written)) = written else { return false };
    written.expect("memory takes what is written to it");
    let trace = read.sink.finish(read.meta, read.names);
    for (workers, block_size) in [(1, 0), (3, 4 << 10)] {
        let options = ReadOptions { workers, block_size, ..ReadOptions::default() };
        let input = Single::new("test", Box::new(std::io::Cursor::new(text.clone())));
        let (back, origin) = load(&input, &options, &|_| ()).expect("plain text");
        assert_eq!(origin.format.name, "plain");
        if let Some(difference) = difference(&whole(&trace), &whole(&back)) {
            panic!("{what}: {difference}");
        }
    }
    true
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
            n_traces += usize::from(check(&what, &bytes, &options));
        }
    }
    assert!(n_traces > 70, "only {n_traces} fixtures were read");
    let names = Some(fixtures::read(&fixtures::root().join("fixtures/probe/tcp_rx.names")));
    let import = ImportOptions { names, ..ImportOptions::default() };
    let options = ReadOptions { format: Some("probe".into()), import, ..ReadOptions::default() };
    assert!(check(
        "probe",
        &fixtures::read(&fixtures::root().join("fixtures/probe/tcp_rx.raw")),
        &options
    ));
}
