// `expect!` is passed by value, and rewrites its strings with hashes.
#![allow(clippy::needless_pass_by_value, clippy::needless_raw_string_hashes)]

use std::fmt::Write;

use expect_test::{Expect, expect};
use profctl_model::{Names, Record, Span, SpanSink};
use proptest::prelude::*;

use super::*;
use crate::Single;
use crate::formats::plain::show::{check_cuts, read, show};
use crate::testing::ImporterOfBytes;

/// Symbols of `fixtures/rule/cyg-profile.log`.
static NM: &[u8] = include_bytes!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../fixtures/rule/oracle/cyg-profile.nm"
));

fn with_rule(text: &str) -> ImportOptions {
    let rule = Some(RuleText { name: "my.toml".into(), text: text.into() });
    ImportOptions { rule, ..ImportOptions::default() }
}

fn with_preset(name: &str) -> ImportOptions {
    let text = preset(name).expect("a preset").text.into();
    ImportOptions { rule: Some(RuleText { name: name.into(), text }), ..ImportOptions::default() }
}

#[track_caller]
fn check(rule: &str, input: &str, expected: Expect) {
    expected.assert_eq(&show(&ByRule, input.as_bytes(), &with_rule(rule)));
}

/// The error of opening `input` by a rule.
fn objection(rule: &str, input: &str) -> String {
    match ByRule.open_bytes(input.as_bytes(), &with_rule(rule)) {
        Err(error) => error.to_string(),
        Ok(_) => panic!("nothing was objected to"),
    }
}

const SIMPLE: &str = "ts_unit = \"us\"\npattern = '^(?<ts>\\S+) (?<kind>\\S+) (?<name>\\w+)$'\n";

#[test]
fn words_units_and_names() {
    check(
        SIMPLE,
        "1 enter main\r\n2.5 -> f\n\n3.500 <- f\n4 RETURN main\n5 begin g\n",
        expect![[r#"
            # profctl plain 1 unit=ns
            1000 > main
            2500 > f
            3500 < f
            4000 < main
            5000 > g
        "#]],
    );
}

#[test]
fn every_group_says_its_part() {
    let rule = r#"
        ts_unit = "ns"
        dur_unit = "us"
        interrupt = '^irq'
        idle_thread = '^swapper'
        [[pattern]]
        regex = '^(?<ts>\d+) c(?<cpu>\d+) (?<thread>\S+)-(?<tid>\d+) (?<kind>\w+) (?:(?<module>\w+):)?(?<name>\w+)(?: d=(?<depth>\d+))?(?: (?<dur>[\d.]+)us)?(?: net (?<net>\d+))?$'
        [[pattern]]
        regex = '^(?<ts>\d+) c(?<cpu>\d+) (?<from_thread>\S+)-(?<from_tid>\d+) to (?<thread>\S+)-(?<tid>\d+)$'
        kind = "switch"
        [[pattern]]
        regex = '^c(?<cpu>\d+) lost(?: (?<lost>\d+))?$'
        kind = "lost"
        [kind]
        "in" = "enter"
        one = "leaf"
        done = "return"
        note = "mark"
        noise = "ignore"
    "#;
    check(
        rule,
        "10 c0 sh-7 in ext4:read d=0 9.5us net 3\n\
         11 c0 sh-7 in irq_timer d=1\n\
         12 c0 sh-7 one f d=2 1us\n\
         13 c0 sh-7 noise f\n\
         14 c0 sh-7 note hello\n\
         15 c0 sh-7 exit irq_timer d=1 0.004us\n\
         16 c0 sh-7 to swapper/0-0\n\
         17 c1 sh-7 done g 0.001us\n\
         c1 lost 5\n\
         c1 lost\n",
        expect![[r#"
            # profctl plain 1 unit=ns
            10 cpu0 sh-7 > read[ext4] wall=9500 net=3000 depth=0
            11 cpu0 sh-7 > irq_timer^ depth=1
            12 cpu0 sh-7 . f 1000 depth=2
            14 cpu0 sh-7 ! hello
            15 cpu0 sh-7 < irq_timer^ wall=4 depth=1
            16 cpu0 switch sh-7 idle state=?
            17 cpu1 sh-7 = g 1
            - cpu1 lost 5
            - cpu1 lost
        "#]],
    );
}

#[test]
fn depth_by_indentation() {
    let rule = "dur_unit = \"ms\"\nindent = \"auto\"\n\
                pattern = '^(?<indent> *)(?<name>\\w+) (?<kind>leaf) (?<dur>\\d+)$'\n\
                [kind]\nleaf = \"leaf\"\n";
    check(
        rule,
        "a leaf 3\n      b leaf 1\n   c leaf 1\n    d leaf 1\n",
        expect![[r#"
            # profctl plain 1 unit=ns timeline=synthetic
            - . a 3000000 depth=0
            - . b 1000000 depth=6
            - . c 1000000 depth=3
            - . d 1000000 depth=4
        "#]],
    );
    let fixed = rule.replace("\"auto\"", "3");
    check(
        &fixed,
        "a leaf 3\n      b leaf 1\n    d leaf 1\n",
        expect![[r#"
            # profctl plain 1 unit=ns timeline=synthetic
            - . a 3000000 depth=0
            - . b 1000000 depth=2
            input/skipped-record +24: an indentation of 4, expected a multiple of 3
        "#]],
    );
}

#[test]
fn a_clock_without_a_day_goes_on_after_midnight() {
    let rule = "ts_format = \"clock\"\npattern = '^(?<ts>\\S+) (?<kind>\\S+) (?<name>\\w+)$'\n";
    check(
        rule,
        "23:59:59.5 > f\n23:59:59.4 > g\n00:00:00.25 < g\n25:00:00 < f\n",
        expect![[r#"
            # profctl plain 1 unit=ns
            86399500000000 > f
            86399400000000 > g
            86400250000000 < g
            input/skipped-record +46: the time `25:00:00`, expected HH:MM:SS
        "#]],
    );
}

#[test]
fn a_counter_that_wraps_keeps_its_ticks() {
    let rule =
        "ts_unit = \"24MHz\"\nts_bits = 32\npattern = '^(?<ts>\\S+) (?<kind>\\S+) (?<name>\\w+)$'";
    check(
        rule,
        "0xfffffff0 > f\n16 < f\n",
        expect![[r#"
            # profctl plain 1 unit=1/24000000s
            4294967280 > f
            16 < f
        "#]],
    );
    let opened = ByRule.open_bytes(b"1 > f\n", &with_rule(rule)).unwrap();
    assert_eq!(opened.streams[0].clock.counter_bits, Some(32));
}

#[test]
fn what_a_line_lacks_is_said() {
    check(
        SIMPLE,
        "1 > f\n2 frobs f\nx > f\n1.0001 > g\nwhat is this\n3 < f",
        expect![[r#"
            # profctl plain 1 unit=ns
            1000 > f
            3000 < f
            input/skipped-record +6: kind `frobs`, expected a word in [kind]
            input/skipped-record +16: the time `x`, expected a number that fits the unit
            input/skipped-record +22: the time `1.0001`, expected a number that fits the unit
            input/skipped-record +33: kind `is`, expected a word in [kind]
        "#]],
    );
}

#[test]
fn the_last_line_may_stop_anywhere() {
    check(
        SIMPLE,
        "1 > f\n2 <",
        expect![[r#"
            # profctl plain 1 unit=ns
            1000 > f
            input/cut-record +6: the last line stops at `2 <`
        "#]],
    );
}

#[test]
fn a_wrong_rule_is_told_by_its_line() {
    let cases = [
        ("", "no pattern"),
        ("pattern = 3", "type"),
        ("pattern = 'x'\ncolor = 'red'", "color"),
        ("pattern = '('", "paren"),
        ("pattern = '(?<when>.*) (?<kind>.) (?<name>.)'", "when"),
        ("pattern = '(?<ts>.*) (?<name>.)'", "kind"),
        ("pattern = '(?<ts>.*) (?<kind>.)'", "name"),
        ("pattern = '(?<kind>.) (?<name>.)'", "no time"),
        ("pattern = '(?<ts>.*) (?<kind>.) (?<name>.)'", "no unit"),
        ("ts_unit = 'fortnight'\npattern = '(?<ts>.*) (?<kind>.) (?<name>.)'", "unit"),
        ("ts_format = 'roman'\npattern = '(?<ts>.*) (?<kind>.) (?<name>.)'", "format"),
        ("ts_unit = 's'\nts_format = 'clock'\npattern = '(?<ts>.*) (?<kind>.) (?<name>.)'", "both"),
        ("pattern = '(?<dur>.*) (?<kind>.) (?<name>.)'", "no dur_unit"),
        (
            "ts_unit = 'cycles'\ndur_unit = 'us'\npattern = '(?<ts>.)(?<dur>.*) (?<kind>.) (?<name>.)'",
            "mixed",
        ),
        ("ts_unit = 'us'\nts_bits = 64\npattern = '(?<ts>.*) (?<kind>.) (?<name>.)'", "bits"),
        ("ts_unit = 's'\nindent = 2\npattern = '(?<ts>.*) (?<kind>.) (?<name>.)'", "indent"),
        ("ts_unit = 's'\npattern = '(?<ts>.*)(?<indent> *) (?<kind>.) (?<name>.)'", "indent"),
        (
            "ts_unit = 's'\nindent = 'no'\npattern = '(?<ts>.*)(?<indent> *) (?<kind>.) (?<name>.)'",
            "indent",
        ),
        (
            "ts_unit = 's'\npattern = '(?<ts>.*) (?<kind>.) (?<name>.)'\n[kind]\nup = 'upwards'",
            "word",
        ),
        ("ts_unit = 's'\n[[pattern]]\nregex = '(?<ts>.*) (?<name>.)'\nkind = 'leaf'", "leaf"),
        (
            "ts_unit = 's'\n[[pattern]]\nregex = '(?<ts>.*) (?<name>.)'\nkind = 'enter'\nclass = 'first'",
            "class",
        ),
        (
            "ts_unit = 's'\n[[pattern]]\nregex = '(?<ts>.*) (?<name>.)'\nkind = 'enter'\n[[pattern]]\nregex = '(?<name>.)'\nkind = 'exit'",
            "ts in one",
        ),
        ("ts_unit = 's'\n[[pattern]]\nregex = '(?<ts>.*)'\nkind = 'switch'", "switch"),
    ];
    let said: Vec<_> = cases
        .iter()
        .map(|(rule, about)| format!("{about}: {}", objection(rule, "1 > f\n")))
        .collect();
    expect![[r#"
        no pattern: rule `my.toml`: no `pattern`, expected one, or a table `record`
        type: rule `my.toml` line 1: invalid type: integer `3`, expected a regular expression, or a table `[[pattern]]` for each
        color: rule `my.toml` line 2: unknown field `color`, expected one of `about`, `sniff`, `ts_unit`, `ts_format`, `ts_bits`, `dur_unit`, `indent`, `interrupt`, `syscall`, `idle`, `idle_thread`, `ignore`, `pattern`, `record`, `kind`
        paren: rule `my.toml` line 1: invalid regular expression `(`: unclosed group
        when: rule `my.toml` line 1: unknown group `when`, expected one of ts, cpu, pid, tid, thread, kind, name, module, addr, depth, indent, dur, dur_unit, net, lost, from_tid, from_thread
        kind: rule `my.toml` line 1: no group `kind`, expected one, or a fixed `kind = "…"`
        name: rule `my.toml` line 1: no group `name` or `addr`, expected the function
        no time: rule `my.toml` line 1: no pattern has a group `ts` or `dur`, expected a timestamp or a duration
        no unit: rule `my.toml` line 1: ts_unit is not stated, expected s, ms, us, ns, cycles, instructions or a clock such as 24MHz
        unit: rule `my.toml` line 1: ts_unit `fortnight`, expected s, ms, us, ns, cycles, instructions or a clock such as 24MHz
        format: rule `my.toml` line 1: ts_format `roman`, expected decimal, clock or datetime
        both: rule `my.toml` line 1: ts_unit has no meaning for this ts_format, expected none
        no dur_unit: rule `my.toml` line 1: dur_unit is not stated, expected s, ms, us, ns, cycles, instructions or a clock such as 24MHz, or a group `dur_unit`
        mixed: rule `my.toml` line 2: dur_unit `us` is not a multiple of ts_unit, expected the same unit
        bits: rule `my.toml` line 2: ts_bits `64`, expected 1 to 63, with the step of the counter as ts_unit and durations in the same unit
        indent: rule `my.toml` line 2: no pattern has a group `indent`, expected one around the spaces
        indent: rule `my.toml` line 2: group `indent` without a key `indent`, expected the columns per level, or "auto"
        indent: rule `my.toml` line 2: indent `no`, expected columns or "auto"
        word: rule `my.toml` line 4: kind `upwards`, expected one of enter, exit, leaf, return, mark, lost, switch, ignore
        leaf: rule `my.toml` line 3: no group `dur`, expected one for calls that are a single line
        class: rule `my.toml` line 5: class `first`, expected function, syscall, interrupt, idle, switch or mark
        ts in one: rule `my.toml` line 6: no group `ts`, which another pattern has, expected one here too
        switch: rule `my.toml` line 3: no group `tid` or `thread`, expected the thread that runs from here on
    "#]].assert_eq(&(said.join("\n") + "\n"));
}

#[test]
fn a_rule_that_reads_no_line_shows_how_far_it_came() {
    let rule = "ts_unit = \"s\"\nignore = ['^#']\npattern = '^(?<ts>[0-9.]+) cpu(?<cpu>\\d+) (?<kind>\\w+) (?<name>\\w+)$'";
    let input = "# my log\n\n12.5 core3 enter main\n";
    expect![[r#"line 3: no line matches the rule: found `12.5 core3 enter main`; pattern 1 (line 3 of the rule) came closest: `^(?<ts>[0-9.]+) c` matched `12.5 c`, then `pu(?<cpu>\d+) (?<kind>\w+) (?<name>\w+)$` was expected and `ore3 enter main` found"#]].assert_eq(&objection(rule, input));
    expect!["line 2: no line matches the rule: found `***`; no pattern matches its beginning"]
        .assert_eq(&objection(rule, "\n***\n"));
}

#[test]
fn lines_are_explained() {
    let input = "# log\n1 > f\n2 < f\n3 frobs f\nnothing at all, really\n";
    let options = with_rule(&(SIMPLE.to_owned() + "ignore = ['^#']\n"));
    let explained = explain(&Single::new("test", Box::new(input.as_bytes())), &options, 5).unwrap();
    let mut said = String::new();
    for line in explained {
        writeln!(said, "{} {:?}", line.number, line.outcome).unwrap();
    }
    expect![[r#"
        1 Ignored
        2 Matched { pattern: 1, rule_line: 2, groups: [("kind", ">"), ("name", "f"), ("ts", "1")], event: Ok("1000 > f") }
        3 Matched { pattern: 1, rule_line: 2, groups: [("kind", "<"), ("name", "f"), ("ts", "2")], event: Ok("2000 < f") }
        4 Matched { pattern: 1, rule_line: 2, groups: [("kind", "frobs"), ("name", "f"), ("ts", "3")], event: Err("kind `frobs`, expected a word in [kind]") }
        5 Missed("found `nothing at all, really`; pattern 1 (line 2 of the rule) came closest: `^(?<ts>\\S+) (?<kind>\\S+) (?<name>\\w+)` matched `nothing at all`, then `$` was expected and `, really` found")
    "#]].assert_eq(&said);
}

fn fixture(name: &str) -> Vec<u8> {
    profctl_testkit::fixtures::read(
        &profctl_testkit::fixtures::root().join("fixtures/rule").join(name),
    )
}

/// The fixture of each preset, and the number of its records and diagnostics.
const FIXTURES: [(&str, &str, u64, usize); 6] = [
    ("cyg-profile", "cyg-profile.log", 74, 0),
    ("dtrace-flow", "dtrace-flow.txt", 17, 0),
    ("initcall-debug", "initcall-debug.txt", 9, 0),
    ("printk", "forced/printk.txt", 4, 0),
    ("truss", "truss.txt", 10, 0),
    ("uftrace-replay", "uftrace-replay.txt", 86, 0),
];

#[test]
fn every_preset_reads_its_fixture() {
    let presets: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
    let tested: Vec<_> = FIXTURES.iter().map(|fixture| fixture.0).collect();
    assert_eq!(presets, tested);
    for (preset, file, records, complaints) in FIXTURES {
        let said = read(&ByRule, &fixture(file), &with_preset(preset));
        assert_eq!(
            (said.records, said.diags.len()),
            (records, complaints),
            "{preset}: {:?}",
            said.diags
        );
        assert!(!PRESETS.iter().any(|preset| preset.about().is_empty()));
    }
}

#[test]
fn presets_with_a_text_of_their_own_are_recognized() {
    for (preset, file, ..) in FIXTURES {
        let bytes = fixture(file);
        let recognized = presets::recognize(&bytes).map(|rule| rule.name.clone());
        let expected = (preset != "printk").then(|| preset.to_owned());
        assert_eq!(recognized, expected, "{file}");
    }
    for other in ["", "CPU FUNCTION\n", "1.5 E 0x1 0x2\n", "# DURATION  TID  FUNCTION\nprose\n"] {
        assert_eq!(ByRule.recognize_bytes(other.as_bytes(), true), Recognition::No, "{other}");
    }
}

/// Texts of other formats are left to them, and they leave ours to us.
#[test]
fn every_fixture_is_claimed_by_its_format_alone() {
    use profctl_testkit::fixtures;
    for format in crate::FORMATS {
        let own = format.descriptor().name;
        let text = matches!(own, "rule" | "kdump");
        for path in fixtures::of_format(own).into_iter().filter(|path| path.is_file()) {
            let bytes = fixtures::read(&path);
            let head = &bytes[..bytes.len().min(64 << 10)];
            for other in crate::FORMATS {
                let name = other.descriptor().name;
                let is_ours = matches!(name, "rule" | "kdump");
                if name != own && (text || is_ours) {
                    let verdict = other.recognize_bytes(head, head.len() == bytes.len());
                    assert_eq!(verdict, Recognition::No, "{} by {name}", path.display());
                }
            }
        }
    }
}

#[test]
fn every_cut() {
    for (preset, file, ..) in FIXTURES {
        // The later lines of the long ones are as the earlier.
        let bytes = fixture(file);
        let end = text::last_line_boundary(&bytes[..bytes.len().min(2_000)]);
        check_cuts(&ByRule, &bytes[..end], &with_preset(preset));
    }
}

#[test]
fn flow_of_dtrace() {
    let said = show(&ByRule, &fixture("dtrace-flow.txt"), &with_preset("dtrace-flow"));
    expect![[r##"
        # profctl plain 1 unit=ns
        100000 cpu0 #1201 > gettimeofday$
        100400 cpu0 #1201 > SyS_gettimeofday
        101000 cpu0 #1201 > getnstimeofday64
        101200 cpu0 #1201 > __getnstimeofday64
        101700 cpu0 #1201 < __getnstimeofday64
        102000 cpu0 #1201 < getnstimeofday64
        102500 cpu0 #1201 > "operator new(unsigned long)"
        102600 cpu0 #1201 ! on-cpu
        102900 cpu0 #1201 < "operator new(unsigned long)"
        103500 cpu0 #1201 < SyS_gettimeofday
        104000 cpu0 #1201 < gettimeofday$
        100100 cpu1 #0 > idle_cpu
        100300 cpu1 #0 < idle_cpu
        100500 cpu1 #0 > tick_nohz
        - cpu1 lost 17
        109100 cpu1 #0 > idle_cpu
        109200 cpu1 #0 < idle_cpu
    "##]]
    .assert_eq(&said);
}

#[test]
fn text_without_time_is_refused() {
    let refused = objection(
        preset("dtrace-flow").unwrap().text,
        &String::from_utf8(fixture("forced/dtrace-without-time.txt")).unwrap(),
    );
    expect![[r#"line 2: found `0  => gettimeofday                          start`: there is no time in this line, expected one behind the name: let every clause do printf("%d %d", timestamp, tid)"#]].assert_eq(&refused);
    let truss = "  812: 0.004310117 open(\"/etc/motd\",O_RDONLY,00)\t = 3 (0x3)\n";
    expect![[r#"line 1: found `812: 0.004310117 open("/etc/motd",O_RDONLY,00)� = 3 (0x3)`: this line does not have the two times that say when a call ended and how long it took: record with `truss -f -d -D`"#]].assert_eq(&objection(preset("truss").unwrap().text, truss));
}

#[test]
fn symbols_name_addresses() {
    let options = ImportOptions { symbols: Some(NM.to_vec()), ..with_preset("cyg-profile") };
    let said = read(&ByRule, &fixture("cyg-profile.log"), &options);
    let names: Vec<_> = said.names.iter().skip(1).map(|func| func.name.as_str()).collect();
    expect!["main ISAINTR weget malloc_ splnet splx bcopy_ ipintr in_cksum tcp_input recurse bail"]
        .assert_eq(&names.join(" "));
    // By hand: `nm` has ISAINTR at 0x401441.
    let isaintr = said.names.iter().find(|func| func.name == "ISAINTR").unwrap();
    assert_eq!(isaintr.address, Some(0x40_1441));
    let facts = ByRule.open_bytes(&fixture("cyg-profile.log"), &options).unwrap().facts;
    assert!(facts.contains(&("addresses", "named by --symbols".into())));
    let nonsense = ImportOptions { symbols: Some(b"\0\x01\x02".to_vec()), ..options };
    assert!(ByRule.open_bytes(&fixture("cyg-profile.log"), &nonsense).is_err());
}

#[derive(Default)]
struct Sums(std::collections::BTreeMap<String, (u64, u64, u64)>);

impl SpanSink for Sums {
    fn span(&mut self, span: &Span, names: &Names) {
        let of_func = self.0.entry(names.funcs[span.func].name.clone()).or_default();
        of_func.0 += u64::from(!span.fidelity.is_partial());
        of_func.1 += if span.outermost { span.wall.0 } else { 0 };
        of_func.2 += span.net.0;
    }
    fn record(&mut self, _record: Record<'_>, _names: &Names) {}
}

/// `uftrace report` of the same recording says calls, total and self time of every function.
#[test]
fn uftrace_replay_sums_up_to_uftrace_report() {
    let bytes = fixture("uftrace-replay.txt");
    let input = Single::new("test", Box::new(bytes.as_slice()));
    let read = crate::stream(&input, &crate::ReadOptions::default(), Sums::default(), &|_| ());
    let sums = read.unwrap().sink.0;
    let report = String::from_utf8(fixture("oracle/uftrace-report.txt")).unwrap();
    let mut compared = 0;
    for line in report.lines().skip(2) {
        let words: Vec<_> = line.split_whitespace().collect();
        let name = words[words.len() - 1];
        // The interval that a long jump ends is of what called it here, of `_setjmp` there.
        if name == "_setjmp" {
            continue;
        }
        let nanos = |word: &str| text::decimal(word.as_bytes(), 3).unwrap();
        let calls = words[words.len() - 2].parse().unwrap();
        let expected = (calls, nanos(words[0]), nanos(words[8]));
        assert_eq!(sums.get(name), Some(&expected), "{name}");
        compared += 1;
    }
    assert_eq!(compared, 15);
}

/// What ends with the second return of `_setjmp` is the call that was open at its depth.
#[test]
fn a_long_jump_counts_its_interval_once() {
    let bytes = b"# DURATION     TID     FUNCTION\n            [ 7] | main() {\n\
        \x20  3.000 us [ 7] |   _setjmp() = 0;\n            [ 7] |   bail() {\n\
        \x20           [ 7] |     longjmp(1) {\n   0.800 us [ 7] |   } = 1; /* _setjmp */\n\
        \x20  5.000 us [ 7] | } /* main */\n";
    let input = Single::new("test", Box::new(&bytes[..]));
    let read = crate::stream(&input, &crate::ReadOptions::default(), Sums::default(), &|_| ());
    let sums = read.unwrap().sink.0;
    let net: u64 = sums.values().map(|sum| sum.2).sum();
    assert_eq!(net, 5_000);
    assert_eq!(sums["main"], (1, 5_000, 1_200));
    assert_eq!(sums["_setjmp"], (1, 3_000, 3_000));
    assert_eq!((sums["bail"].1, sums["longjmp"].2), (800, 800));
}

#[test]
fn rules_of_the_documentation_are_rules() {
    let page = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/formats/rule.md"));
    let rules: Vec<_> = page.split("```toml\n").skip(1).collect();
    assert!(!rules.is_empty());
    for rule in rules {
        let rule = rule.split("```").next().unwrap();
        check_rule(rule);
    }
}

#[track_caller]
fn check_rule(rule: &str) {
    assert_eq!(super::check(rule), Ok(()), "{rule}");
}

proptest! {
    #[test]
    fn garbage_is_refused_or_skipped(bytes: Vec<u8>, row in 0..FIXTURES.len()) {
        let options = with_preset(FIXTURES[row].0);
        ByRule.recognize_bytes(&bytes, true);
        if ByRule.open_bytes(&bytes, &options).is_ok() {
            read(&ByRule, &bytes, &options);
        }
    }

    #[test]
    fn damaged_fixtures_are_read_or_counted(
        row in 0..FIXTURES.len(),
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
    ) {
        let (preset, file, ..) = FIXTURES[row];
        let mut bytes = fixture(file);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let options = with_preset(preset);
        if ByRule.open_bytes(&bytes, &options).is_ok() {
            let said = read(&ByRule, &bytes, &options);
            let more: u64 = said.more_diags.iter().map(|more| more.1).sum();
            let told = (said.said().len() + said.diags.len()) as u64 + more;
            prop_assert_eq!(told, said.records);
        }
    }

    #[test]
    fn any_text_is_a_rule_or_gets_a_line(text in "(ts_unit|pattern|indent|kind|\\[|\\]|=|'|\"|\n| |[a-z(?<>)0-9]){0,40}") {
        if let Err(error) = super::check(&text) {
            prop_assert!(!error.message.contains('\n'), "{}", error.message);
        }
    }
}
