//! Input that is broken, cut or no trace at all: an answer or a clear refusal, never a panic.

use std::fmt::Write as _;

use profctl_import::{FORMATS, ReadOptions};
use profctl_testkit::fixtures;
use profctl_testkit::generate::{self, Layout, Random, Recording, Shape};

use crate::recorder::{Outcome, read};

/// Reads without caring for the answer, once as recognized and once as every format.
fn read_anyhow(bytes: &[u8]) -> Vec<Result<Outcome, String>> {
    let formats = [None, Some("function_graph"), Some("mcrae"), Some("plain"), Some("probe")];
    formats
        .into_iter()
        .map(|format| {
            let mut options =
                ReadOptions { format: format.map(str::to_owned), ..ReadOptions::default() };
            options.import.names = (format == Some("probe")).then(|| b"a/2\nb/4!\nc/6=\n".to_vec());
            let outcome = read(bytes, &options).map_err(|error| error.to_string());
            if let Err(message) = &outcome {
                let clear = message.len() > 5 && !message.ends_with('.') && !message.contains('\n');
                assert!(clear, "no clear refusal: {message:?}");
            }
            outcome
        })
        .collect()
}

#[test]
fn what_is_no_trace_is_refused() {
    let jpeg =
        [&b"\xFF\xD8\xFF\xE0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0"[..], &[0x5A; 5_000]].concat();
    let mut random = Random::new(1);
    let noise: Vec<u8> = (0..20_000).map(|_| random.next_u64() as u8).collect();
    let cases: [(&str, &[u8]); 9] = [
        ("nothing", b""),
        ("a line end", b"\n"),
        ("prose", b"Dear Sir,\n\nplease find enclosed\n"),
        ("a JPEG", &jpeg),
        ("NULs", &[0; 10_000]),
        ("noise", &noise),
        ("a page", b"<!DOCTYPE html>\n<html><body>404</body></html>\n"),
        ("JSON", b"{\"traceEvents\": []}\n"),
        ("a C file", b"int main(void)\n{\n\treturn f();\n}\n"),
    ];
    for (name, bytes) in cases {
        let answers = read_anyhow(bytes);
        assert!(answers[0].is_err(), "{name} was recognized as a trace");
    }
}

#[test]
fn a_refusal_says_what_was_tried() {
    let error = read(b"Dear Sir,\n", &ReadOptions::default()).unwrap_err();
    let n = FORMATS.len();
    assert_eq!(error.message, format!("unrecognized trace format (tried {n} formats)"));
    let options = ReadOptions { format: Some("vhs".to_owned()), ..ReadOptions::default() };
    let error = read(b"Dear Sir,\n", &options).unwrap_err();
    assert!(error.message.contains("vhs") && error.message.contains("mcrae"), "{error}");
}

/// Every beginning of every layout: whatever was read before the cut is still there.
#[test]
fn a_text_cut_anywhere_is_read_up_to_the_cut() {
    let recording = Recording::new(5, Shape { n_events: 120, ..Shape::BUSY });
    let probed = Recording::new(5, Shape { n_events: 120, ..Shape::PROBE });
    let mut texts: Vec<(&str, String)> = Layout::ALL
        .into_iter()
        .map(|(name, layout)| (name, generate::function_graph(&recording, layout)))
        .collect();
    texts.push(("plain", generate::plain(&recording)));
    texts.push(("mcrae", generate::code_trace(&probed)));
    for (name, text) in texts {
        let bytes = text.as_bytes();
        let mut calls_before = 0;
        for cut in 0..bytes.len().min(2_048) {
            let Ok(outcome) = read(&bytes[..cut], &ReadOptions::default()) else {
                assert_eq!(calls_before, 0, "{name} cut at {cut} is refused");
                continue;
            };
            let calls = outcome.recorded.spans.len();
            assert!(
                calls >= calls_before,
                "{name} cut at {cut}: {calls} calls, {calls_before} before"
            );
            calls_before = calls;
        }
        assert!(calls_before > 10, "{name}: only {calls_before} calls");
    }
}

/// Real captures, cut all over their beginning, by every reader.
#[test]
fn fixtures_cut_anywhere_never_panic() {
    for path in fixtures::of_format("function_graph") {
        let bytes = fixtures::read(&path);
        for cut in (0..bytes.len().min(4_096)).step_by(29) {
            read_anyhow(&bytes[..cut]);
        }
    }
}

#[test]
fn bytes_that_were_flipped_never_panic() {
    let mut random = Random::new(9);
    for path in fixtures::of_format("function_graph").into_iter().take(12) {
        let mut bytes = fixtures::read(&path);
        bytes.truncate(40_000);
        for _ in 0..bytes.len() / 300 {
            let at = random.below(bytes.len() as u64) as usize;
            bytes[at] = random.next_u64() as u8;
        }
        let answers = read_anyhow(&bytes);
        assert!(answers[1].is_ok(), "{} is refused for some wrong bytes", path.display());
    }
}

#[test]
fn one_endless_line_is_skipped_and_counted() {
    let mut text = b"# tracer: function_graph\n# CPU  DURATION                  FUNCTION CALLS\n 0)   1.000 us    |  a();\n".to_vec();
    text.extend(std::iter::repeat_n(b'x', 40 << 20));
    text.extend_from_slice(b"\n 0)   2.000 us    |  b();\n");
    let outcome = read(&text, &ReadOptions::default()).unwrap();
    assert_eq!(outcome.recorded.spans.len(), 2);
    let complaints: u64 = outcome.diags.iter().map(|entry| entry.count).sum();
    assert!(complaints >= 1, "nothing was said of it");
}

#[test]
fn a_megabyte_of_name_is_a_name() {
    let name = "n".repeat(1 << 20);
    let text = format!(
        "# CPU  DURATION                  FUNCTION CALLS\n 0)   1.000 us    |  {name}();\n"
    );
    let options =
        ReadOptions { format: Some("function_graph".to_owned()), ..ReadOptions::default() };
    let outcome = read(text.as_bytes(), &options).unwrap();
    assert!(outcome.recorded.spans.len() <= 1);
    assert_eq!(
        outcome.recorded.spans.len() as u64
            + outcome.diags.iter().map(|entry| entry.count).sum::<u64>(),
        1
    );
}

#[test]
fn numbers_at_the_limit_neither_wrap_nor_panic() {
    let limits = [
        "0",
        "1",
        "18446744073709551614",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999999999",
    ];
    for limit in limits {
        for other in limits {
            let graph = format!(
                "# tracer: function_graph\n#     TIME        CPU  TASK/PID         DURATION                  FUNCTION CALLS\n\
                 {limit}.999999 |   {other})    a-{limit}      | $ {other} us |  f() {{\n\
                 {limit}.000000 |   0)    a-1         | $ {other}.999 us |    g();\n\
                 CPU:{other} [LOST {limit} EVENTS]\n\
                 {other}.999999 |   0)    a-1         | $ {limit} us |  }}\n"
            );
            read_anyhow(graph.as_bytes());
            let plain = format!(
                "# profctl plain 1\n{limit} cpu{other} a-{limit} > f\n{other} a-1 . g {limit}\n{other} lost {limit}\n{limit} a-1 < f wall={other}\n"
            );
            read_anyhow(plain.as_bytes());
            let mcrae = format!(
                "{limit}:999 999 -> f ({other} us, {limit} total)\n{other}:000 000     -> g ({limit} us)\n{limit}:999 999 <- \n"
            );
            read_anyhow(mcrae.as_bytes());
        }
    }
}

#[test]
fn a_deep_stack_is_a_deep_stack() {
    let depth = 5_000;
    let mut text = String::from("# profctl plain 1\n");
    for level in 0..depth {
        let _ = writeln!(text, "{level} > f{}", level % 100);
    }
    for level in 0..depth {
        let _ = writeln!(text, "{} <", depth + level);
    }
    let outcome = read(text.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!(outcome.recorded.spans.len(), depth);
    let outermost = outcome.recorded.spans.iter().filter(|span| span.outermost).count();
    assert_eq!(outermost, 100);
}

#[test]
fn compressed_input_that_stops_short_keeps_what_came() {
    let recording = Recording::new(2, Shape { n_events: 20_000, ..Shape::BUSY });
    let text = generate::plain(&recording);
    let packed = zstd::encode_all(text.as_bytes(), 1).unwrap();
    let whole = read(&packed, &ReadOptions::default()).unwrap();
    assert_eq!(whole, read(text.as_bytes(), &ReadOptions::default()).unwrap());
    let half = read(&packed[..packed.len() / 2], &ReadOptions::default());
    let half = half.unwrap();
    assert!(half.recorded.spans.len() < whole.recorded.spans.len());
    assert!(half.count("input/cut-record") > 0, "{:?}", half.diags);
}
