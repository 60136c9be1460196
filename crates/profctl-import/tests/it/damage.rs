//! What is discarded leaves no trace: whatever the bytes, the answer is the same for any number of
//! workers and any size of blocks.

#![expect(clippy::disallowed_methods, reason = "runs longer, and shows what was read, when asked")]

use std::fmt::Debug;

use profctl_import::{FORMATS, ImportOptions, ReadOptions};
use profctl_testkit::fixtures;
use profctl_testkit::generate::Random;
use proptest::prelude::*;

use crate::recorder::{Outcome, read, read_parts};

type Parts = Vec<(String, Vec<u8>)>;

/// Bytes that are kept of a file.
pub(crate) const KEPT: usize = 20_000;

/// How many damaged copies of each fixture are read; more with `PROFCTL_DAMAGED=N`.
pub(crate) fn copies() -> u64 {
    let wanted = std::env::var("PROFCTL_DAMAGED").ok();
    wanted.and_then(|wanted| wanted.parse().ok()).unwrap_or(3)
}

/// Flips, cuts, removes and repeats.
pub(crate) fn damage(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..=random.below(6) {
        let Some(last) = bytes.len().checked_sub(1) else { return };
        let at = random.below(last as u64 + 1) as usize;
        let length = (1 + random.below(400) as usize).min(bytes.len() - at);
        match random.below(8) {
            0 => bytes.truncate(at),
            1 => {
                let again = bytes[at..at + length].to_vec();
                let to = random.below(bytes.len() as u64 + 1) as usize;
                bytes.splice(to..to, again);
            }
            2 => {
                bytes.drain(at..at + length);
            }
            3 => bytes[at] = b"\n\"{}[],: 019-"[random.below(13) as usize],
            4 => {
                let line = memchr(bytes, at);
                bytes.splice(line..line, *b"\n\n");
            }
            _ => bytes[at] ^= 1 << random.below(8),
        }
    }
}

fn memchr(bytes: &[u8], from: usize) -> usize {
    bytes[from..].iter().position(|&byte| byte == b'\n').map_or(bytes.len(), |at| from + at)
}

/// The seed of the first of them; `PROPTEST_RNG_SEED` sets it, as for properties.
pub(crate) fn first_seed() -> u64 {
    let wanted = std::env::var("PROPTEST_RNG_SEED").ok();
    wanted.and_then(|wanted| wanted.parse::<u64>().ok()).unwrap_or(0) * 1_000
}

/// Reads `parts` in several ways. Says where they differ, and whether they can be read at all.
fn one_answer(what: &str, options: &ReadOptions, parts: &Parts) -> Result<bool, String> {
    let once = ReadOptions { workers: 1, block_size: 64 << 20, ..options.clone() };
    let expected = read_parts(parts, &once);
    for (workers, block_size) in [(3, 1 << 10), (1, 777), (2, 4_001), (7, 150)] {
        let often = ReadOptions { workers, block_size, ..options.clone() };
        let found = read_parts(parts, &often);
        if let Some(differs) = difference(&expected, &found) {
            keep(what.rsplit(' ').next().unwrap_or_default(), parts);
            let how = format!("{workers} workers, blocks of {block_size}");
            return Err(format!("{what}: {how}: {differs}"));
        }
    }
    Ok(expected.is_ok())
}

/// Writes what failed to the folder `PROFCTL_DAMAGED_TO`, if it is set.
pub(crate) fn keep(seed: &str, parts: &[(String, Vec<u8>)]) {
    let Ok(folder) = std::env::var("PROFCTL_DAMAGED_TO") else { return };
    for (name, bytes) in parts {
        let name = name.rsplit('/').next().unwrap_or(name);
        let file = std::path::Path::new(&folder).join(format!("{seed}-{name}"));
        std::fs::write(file, bytes).unwrap();
    }
}

fn difference<E: ToString>(one: &Result<Outcome, E>, other: &Result<Outcome, E>) -> Option<String> {
    let (one, other) = match (one, other) {
        (Ok(one), Ok(other)) => (one, other),
        (Err(one), Err(other)) if one.to_string() == other.to_string() => return None,
        (Err(one), Err(other)) => {
            return Some(format!("{} and {}", one.to_string(), other.to_string()));
        }
        (Err(error), Ok(_)) => return Some(format!("at once {}", error.to_string())),
        (Ok(_), Err(error)) => return Some(format!("in blocks {}", error.to_string())),
    };
    if one == other {
        return None;
    }
    let (left, right) = (&one.recorded.spans, &other.recorded.spans);
    if let Some(at) = left.iter().zip(right).position(|(a, b)| a != b) {
        return Some(format!("call {at}\n{:?}\n{:?}", left[at], right[at]));
    }
    if left.len() != right.len() {
        return Some(format!("{} calls and {}", left.len(), right.len()));
    }
    first_difference("diagnostics", &one.diags, &other.diags)
        .or_else(|| first_difference("threads", &one.threads, &other.threads))
        .or_else(|| first_difference("functions", &one.funcs, &other.funcs))
        .or_else(|| first_difference("CPUs", &one.cpus, &other.cpus))
        .or_else(|| first_difference("marks", &one.recorded.marks, &other.recorded.marks))
        .or_else(|| first_difference("states", &one.recorded.states, &other.recorded.states))
        .or_else(|| first_difference("gaps", &one.recorded.gaps, &other.recorded.gaps))
        .or_else(|| first_difference("times", &[one.span_of_time], &[other.span_of_time]))
        .or_else(|| first_difference("events", &[one.events], &[other.events]))
        .or_else(|| Some("something".to_owned()))
}

fn first_difference<T: PartialEq + Debug>(what: &str, one: &[T], other: &[T]) -> Option<String> {
    let n = one.len().max(other.len());
    let at = (0..n).find(|&at| one.get(at) != other.get(at))?;
    Some(format!("{what}, {at}\n{:?}\n{:?}", one.get(at), other.get(at)))
}

#[test]
fn damaged_fixtures_have_one_answer() {
    let names = Some(fixtures::read(&fixtures::root().join("fixtures/probe/tcp_rx.names")));
    let import = ImportOptions { names, ..ImportOptions::default() };
    let mut n_read = 0;
    let mut failed = Vec::new();
    for format in FORMATS.iter().map(|format| format.descriptor().name) {
        for path in fixtures::of_format(format) {
            let mut whole = fixtures::parts(&path);
            for (_, bytes) in &mut whole {
                bytes.truncate(KEPT);
            }
            let ways =
                [as_format(format), ReadOptions { import: import.clone(), ..as_format(format) }];
            let Some(options) = ways.iter().find(|options| read_parts(&whole, options).is_ok())
            else {
                continue;
            };
            for seed in first_seed()..first_seed() + copies() {
                let mut random = Random::new(seed);
                let mut parts = whole.clone();
                let part = random.below(parts.len() as u64) as usize;
                damage(&mut parts[part].1, &mut random);
                let what = format!("{}: {}, damaged by {seed}", path.display(), parts[part].0);
                match one_answer(&what, options, &parts) {
                    Ok(is_read) => n_read += usize::from(is_read),
                    Err(differs) => failed.push(differs),
                }
            }
        }
    }
    assert!(failed.is_empty(), "{} have several answers:\n{}", failed.len(), failed.join("\n"));
    assert!(n_read > 200, "only {n_read} were read");
}

/// Words of all formats in any order: near enough to records to be taken for some.
fn words() -> impl Strategy<Value = Vec<u8>> {
    let word = prop::sample::select(vec![
        "\n",
        "\n",
        "\n",
        " ",
        "  ",
        "\t",
        "0",
        "1",
        "17",
        "1.5",
        "100",
        "#",
        "{",
        "}",
        "[",
        "]",
        "\"",
        ",",
        ":",
        "(",
        ")",
        ";",
        "=",
        "->",
        "<-",
        "|",
        "us",
        "main",
        "f",
        "CALL",
        "RET",
        "\"ph\":\"B\"",
        "\"ph\":\"E\"",
        "\"ts\":",
        "\"name\":",
        "core   0:",
        "0x1000",
        "ret",
        "call",
        "sched_switch:",
        "prev_pid=",
        "next_pid=",
        "sys_enter:",
        "NR 1",
        "<unfinished ...>",
        "resumed>",
        "$var",
        "$end",
        "$timescale",
        "tracing_mark_write:",
        "B|1|",
        "E|1",
        "\0",
        "\u{ff}",
        "irq>",
        "lost",
        "switch",
    ]);
    prop::collection::vec(word, 0..300).prop_map(|words| words.concat().into_bytes())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_have_one_answer(bytes in prop_oneof![
        words(),
        prop::collection::vec(any::<u8>(), 0..3000),
    ]) {
        for format in FORMATS.iter().map(|format| format.descriptor().name) {
            let options = as_format(format);
            let once = ReadOptions { workers: 1, block_size: 64 << 20, ..options.clone() };
            let expected = read(&bytes, &once);
            for (workers, block_size) in [(3, 64), (1, 300)] {
                let often = ReadOptions { workers, block_size, ..options.clone() };
                let differs = difference(&expected, &read(&bytes, &often));
                prop_assert!(differs.is_none(), "{}: {}", format, differs.unwrap_or_default());
            }
        }
    }
}

pub(crate) fn as_format(format: &str) -> ReadOptions {
    ReadOptions { format: Some(format.into()), ..ReadOptions::default() }
}

/// What damage showed in earlier versions, as small as it gets.
#[test]
fn damage_that_had_several_answers_has_one() {
    let switch_tags = "# profctl plain 1 unit=us\n\
                       0 > read\n5 > sleep\n10 switch> swtch\n20 switch< swtch\n\
                       21 > write\n30 > sleep\n50 switch< swtch\n51 < sleep\n";
    // The process of a thread is given twice, once wrongly.
    let processes: String = [(21_620, "10"), (21_620, "20"), (9, "30"), (21_620, "40")]
        .map(|(pid, time)| {
            format!(
                "  <...>-21621   ({pid:5}) [001] ...1.  7042.1758{time}: tracing_mark_write: \
                 B|21620|f\n"
            )
        })
        .concat();
    // The end of an empty line where the blank before a timestamp was.
    let mut graph = "#     TIME        CPU  TASK/PID         DURATION                  FUNCTION \
                     CALLS\n"
        .to_owned();
    for at in 0..40 {
        let before = if at == 20 { "\n" } else { " " };
        let stamp = format!("{before}1280.9352{at:02}");
        graph += &[&stamp, " |   0)  workloa-2849  |   1.783 us    |  f();\n"].concat();
    }
    graph += "no line of a graph\n";
    // A header that lost a column is followed by one that has it.
    let column =
        "#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS\n";
    let line = "  413.571712 |   1)    prog-124    |   6.253 us    |    f();\n";
    let headers =
        [column.replace("CPU", "   "), line.repeat(9), column.to_owned(), line.repeat(9)].concat();
    // A frame on the line of a sample that has a stack.
    let samples = "prog 1 1.5: 250000 cpu-clock: \tffffffff821e8f67 a+0x7 (prog)\n\
                   \tffffffff8161df68 b+0x8 (prog)\n\n\
                   prog 1 1.6: 250000 cpu-clock: \n\tffffffff8161df68 b+0x8 (prog)\n\n";
    let mut failed = Vec::new();
    // Its last line is cut behind a sample that has its frame on its line.
    let cut_sample = "prog 1 1.5: 250000 cpu-clock: ffffffff821e8f67 a+0x7 (prog)\nprog 1 1.";
    let babeltrace: String = [(7, 1), (9, 2), (7, 3), (8, 4)]
        .map(|(pid, time)| {
            format!(
                "[21:42:26.51821129{time}] (+0.000000001) vm lttng_ust_cyg_profile:func_entry: \
                 {{ cpu_id = 1 }}, {{ vtid = 5, vpid = {pid}, procname = \"f\" }}, \
                 {{ addr = 0x401176, call_site = 0x4012B9 }}\n"
            )
        })
        .concat();
    for (format, text) in [
        ("plain", switch_tags),
        ("babeltrace", &babeltrace),
        ("perf_script", cut_sample),
        ("systrace", &processes),
        ("ftrace", &processes),
        ("function_graph", &graph),
        ("function_graph", &headers),
        ("perf_script", samples),
    ] {
        let options = as_format(format);
        let parts = vec![("trace".to_owned(), text.as_bytes().to_vec())];
        let whole = ReadOptions { workers: 1, block_size: 64 << 20, ..options.clone() };
        let expected = read_parts(&parts, &whole);
        assert!(expected.is_ok(), "{format}: {expected:?}");
        let differs = (1..text.len()).step_by(7).find_map(|block_size| {
            let often = ReadOptions { workers: 2, block_size, ..options.clone() };
            difference(&expected, &read_parts(&parts, &often))
        });
        failed.extend(differs.map(|differs| format!("{format}: {differs}")));
    }
    assert!(failed.is_empty(), "{} have several answers:\n{}", failed.len(), failed.join("\n"));
}
