use profctl_testkit::fixtures;

use crate::formats::rule::{RuleText, check};
use crate::options::ImportOptions;
use crate::testing::trace;

fn file(name: &str) -> Vec<u8> {
    fixtures::read(&fixtures::root().join("fixtures/rule").join(name))
}

/// Options with the rule of the binary records of `-finstrument-functions`, and `nm` of the program.
fn hooks(rule: &str, symbols: &str) -> ImportOptions {
    ImportOptions {
        rule: Some(RuleText { name: "hooks".into(), text: rule.into() }),
        symbols: Some(file(symbols)),
        ..ImportOptions::default()
    }
}

/// The hooks of one run wrote records and lines.
#[test]
fn binary_records_tell_what_the_text_of_the_same_hooks_tells() {
    let rule = String::from_utf8(file("oracle/hooks.toml")).unwrap();
    assert_eq!(check(&rule), Ok(()));
    let options = hooks(&rule, "oracle/hooks.nm");
    let calls = |trace: &profctl_model::Trace| {
        let spans = &trace.spans;
        let call = |id: profctl_model::SpanId| {
            let row = id.index();
            let name = trace.names.funcs[spans.func[id]].name.clone();
            (name, spans.depth[row], spans.start[row], spans.wall[row], spans.net[row])
        };
        spans.ids().map(call).collect::<Vec<_>>()
    };
    let binary = trace("rule", &file("forced/hooks.bin"), options.clone(), 0, 1);
    let text_options = ImportOptions { rule: None, ..options.clone() };
    let text = trace("rule", &file("forced/hooks.log"), text_options, 0, 1);
    assert_eq!(calls(&binary).len(), 41);
    assert_eq!(calls(&binary), calls(&text));
    for (size, workers) in [(24, 1), (100, 2)] {
        let parts = trace("rule", &file("forced/hooks.bin"), options.clone(), size, workers);
        assert_eq!(calls(&parts), calls(&binary));
    }
    let threads = hooks(&rule, "oracle/hooks-threads.nm");
    let threads = trace("rule", &file("forced/hooks-threads.bin"), threads, 0, 1);
    assert_eq!(threads.names.threads.len(), 2);
    assert!(threads.meta.diags.sorted().is_empty());
}

#[test]
fn binary_records_that_do_not_fit_are_told() {
    let rule = "ts_unit = \"us\"\n[record]\nsize = 8\nts = \"0:4\"\naddr = \"4:2\"\nkind = \"6:1\"\n\
                [kind]\n0x45 = \"enter\"\n0x58 = \"exit\"\n";
    let mut bytes = Vec::new();
    for (time, address, kind) in
        [(1_u32, 16_u16, b'E'), (2, 32, b'E'), (3, 32, b'?'), (9, 16, b'X')]
    {
        bytes.extend(time.to_le_bytes());
        bytes.extend(address.to_le_bytes());
        bytes.extend([kind, 0]);
    }
    bytes.extend([1, 2, 3]);
    let options = ImportOptions {
        rule: Some(RuleText { name: "hooks".into(), text: rule.into() }),
        ..ImportOptions::default()
    };
    let trace = trace("rule", &bytes, options, 0, 1);
    let codes: Vec<String> = trace
        .meta
        .diags
        .sorted()
        .iter()
        .map(|entry| format!("{} {}", entry.code.name, entry.count))
        .collect();
    assert_eq!(codes, ["input/skipped-record 1", "input/cut-record 1", "stitch/forced-exit 1"]);
    assert_eq!(trace.spans.wall[0].0, 8_000);
}

#[test]
fn rules_for_records_that_make_no_sense_are_refused_with_their_line() {
    let good = "[record]\nsize = 16\nts = \"0:8\"\naddr = \"8:4\"\nkind = \"12:1\"\n";
    assert_eq!(check(good), Ok(()));
    for (from, to, line, what) in [
        ("16", "0", 2, "expected 1 to 4096"),
        ("0:8", "0:9", 3, "expected OFFSET:SIZE"),
        ("8:4", "14:4", 4, "within 16 bytes"),
        ("12:1", "12", 5, "expected OFFSET:SIZE"),
        ("[record]", "[record]\nendian = \"odd\"", 2, "expected little or big"),
        ("[record]", "pattern = 'x'\n[record]", 2, "expected one of them"),
    ] {
        let error = check(&good.replace(from, to)).unwrap_err();
        assert!(error.message.contains(what), "{to}: {error}");
        assert_eq!(error.line, Some(line), "{to}");
    }
    assert!(check("about = \"x\"\n").unwrap_err().message.contains("no `pattern`"));
}
