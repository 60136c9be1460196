//! The flags that every command shares: where output goes, what is selected, what is refused.

use std::fs;
use std::path::Path;

use profctl_testkit::fixtures;

use crate::program::{Scratch, WHOLE, command, finish, run, run_with_input};

/// Two threads on two CPUs, in two modules.
const TWO: &str = "# profctl plain 1\n\
    1000 cpu0 sh-7 > main\n1100 cpu1 workloa-8 > main\n1200 cpu0 sh-7 > work\n\
    1300 cpu1 workloa-8 > work\n1400 cpu0 sh-7 > leaf\n1500 cpu0 sh-7 < leaf\n\
    1600 cpu1 workloa-8 < work\n1700 cpu0 sh-7 < work\n1800 cpu1 workloa-8 < main\n\
    1900 cpu0 sh-7 < main\n";

/// Every command that help lists.
fn commands() -> Vec<String> {
    let help = run(&["--help"]).quiet_success();
    let lines = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands = lines.take_while(|line| !line.is_empty());
    // A description that was wrapped is indented further.
    let commands = commands.filter(|line| !line.starts_with("   "));
    commands.filter_map(|line| line.split_whitespace().next().map(str::to_owned)).collect()
}

/// Who made the pipe may have made it non-blocking, and then a read finds nothing where more comes
/// later.
#[cfg(unix)]
#[test]
fn input_that_does_not_block_is_read_to_its_end() {
    use std::io::Write as _;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::process::Stdio;

    let (mut ours, theirs) = UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let arguments = ["summarize", "--format", "csv", "-"];
    let mut command = command(&arguments);
    command.stdin(OwnedFd::from(theirs)).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    // Else it keeps the other end open, and there is no end.
    drop(command);
    let (first, second) = TWO.split_at(TWO.len() / 2);
    for part in [first, second] {
        std::thread::sleep(std::time::Duration::from_millis(120));
        ours.write_all(part.as_bytes()).unwrap();
    }
    drop(ours);
    let output = child.wait_with_output().unwrap();
    let expected = run_with_input(&arguments, TWO.as_bytes()).quiet_success();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[test]
fn short_help_fits_a_screen_and_long_help_has_all() {
    let commands = commands();
    assert!(commands.len() > 12, "{commands:?}");
    for name in &commands {
        for columns in ["80", "120"] {
            let short = finish(command(&[name, "-h"]).env("COLUMNS", columns)).quiet_success();
            let lines = short.lines().count();
            assert!(lines <= 40, "profctl {name} -h has {lines} lines:\n{short}");
            assert!(short.lines().all(|line| line.chars().count() <= 100), "{short}");
            let (_, examples) = short.split_once("Examples:\n").expect("there are examples");
            assert!(examples.lines().count() >= 3, "{short}");
            assert!(examples.lines().all(|line| line.chars().count() <= 100), "{short}");
        }
        let [with_help, with_flag] = [["help", name], [name, "--help"]]
            .map(|words| finish(command(&words).env("COLUMNS", "100")).quiet_success());
        assert_eq!(with_help, with_flag);
    }
    let short = run(&["summarize", "-h"]).quiet_success();
    assert!(
        short.contains("--sort") && short.contains("Examples:") && !short.contains("--tag-bits")
    );
    let long = run(&["summarize", "--help"]).quiet_success();
    for flag in ["--output", "--jobs", "--until", "--exclude", "--no-pager", "--input-format"] {
        assert!(long.contains(flag), "{long}\nlacks {flag}");
    }
    assert!(!long.contains("--tag-bits") && !long.contains("--strobe"), "{long}");
    let input = run(&["help", "input"]).quiet_success();
    assert!(input.starts_with("Flags for inputs that need a description\n"), "{input}");
    for flag in ["--tag-bits", "--strobe", "--rule", "--time-step", "--dialect"] {
        assert!(input.contains(flag), "{input}\nlacks {flag}");
    }
    let said = run(&["help", "sumarize"]).failure(2);
    assert!(said.contains("did you mean `summarize`?"), "{said}");
}

#[test]
fn the_version_says_what_was_built() {
    let version = run(&["--version"]).quiet_success();
    assert!(version.contains("commit ") && version.contains("features: "), "{version}");
}

#[test]
#[cfg(target_os = "linux")]
fn help_that_cannot_be_written_is_an_error() {
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let run = finish(command(&["--help"]).stdout(full));
    assert_eq!(run.code, Some(2));
    assert!(run.stderr.contains("cannot be written"), "{}", run.stderr);
}

#[test]
fn a_selection_takes_the_same_rows_everywhere() {
    let scratch = Scratch::new("surface_selection");
    let trace = scratch.file("two.txt", TWO);
    let rows = |command: &str, flags: &[&str]| {
        let arguments = [&[command, "--format", "csv", &trace], flags].concat();
        let csv = run(&arguments).quiet_success();
        csv.lines().count() - 1
    };
    // The calls are main(work(leaf)) on sh, and main(work) on the other.
    for (flags, functions, paths, calls) in [
        (&[][..], 3, 3, 5),
        (&["--thread", "sh-7"], 3, 3, 3),
        (&["--thread", "8"], 2, 2, 2),
        (&["--cpu", "1"], 2, 2, 2),
        (&["--pid", "7"], 3, 3, 3),
        (&["--match", "^(main|leaf)$"], 2, 2, 3),
        (&["--exclude", "work"], 2, 2, 3),
        (&["--match", "^work$", "--thread", "sh"], 1, 1, 1),
    ] {
        assert_eq!(rows("summarize", flags), functions, "summarize {flags:?}");
        assert_eq!(rows("tree", flags), paths, "tree {flags:?}");
        assert_eq!(rows("convert", flags), calls, "convert {flags:?}");
    }
    let replay = run(&["replay", "--match", "^(main|leaf)$", "--thread", "sh", &trace]);
    let replay = replay.quiet_success();
    assert_eq!(replay.lines().count(), 3, "{replay}");
    assert!(replay.lines().nth(1).unwrap().contains("    -> leaf"), "{replay}");
}

#[test]
fn a_name_that_selects_nothing_ends_with_2() {
    let scratch = Scratch::new("surface_nothing");
    let trace = scratch.file("two.txt", TWO);
    for (flags, message) in [
        (&["--thread", "workload"][..], "no thread `workload`; did you mean `workloa`?"),
        (&["--cpu", "7"], "no CPU 7; there are 0, 1"),
        (&["--pid", "9"], "no process 9; there are 7, 8"),
        (&["--match", "wurk"], "no function matches `wurk`; did you mean `work`?"),
        (&["--match", "^x+$"], "no function matches `^x+$`"),
        (&["--module", "libc"], "no module `libc`; the input names no modules"),
        (&["--tag-bits", "8"], "--tag-bits has no effect: it is for probe captures, and "),
        (&["--strobe", "x"], "--strobe has no effect: it is for logic captures, and "),
        (&["--dialect", "bare"], "--dialect has no effect"),
        (&["--names", "x.names"], "x.names: no such file"),
        (&["--from", "@5cycles"], "--from: this trace has times, expected one such as @221.79"),
    ] {
        for command in ["summarize", "replay", "tree", "info"] {
            let found = run(&[&[command, &trace], flags].concat());
            let code = if flags[0] == "--names" { 3 } else { 2 };
            let said = found.failure(code);
            assert!(said.contains(message), "{command} {flags:?}: {said}");
        }
    }
}

#[test]
fn a_window_is_given_as_the_source_prints_times() {
    let scratch = Scratch::new("surface_window");
    let trace = scratch.file("trace.txt", WHOLE);
    let shown = |from: &str, until: &str| {
        run(&["replay", "--from", from, "--until", until, &trace]).quiet_success()
    };
    let by_duration = shown("140us", "160us");
    assert!(by_duration.contains("splx"), "{by_duration}");
    for (from, until) in
        [("@1.200140", "@1.200160"), ("@1:200 140", "@1:200 160"), ("@1200140us", "@1200160us")]
    {
        assert_eq!(shown(from, until), by_duration, "{from}");
    }
}

#[test]
fn a_profile_refuses_what_it_cannot_answer() {
    let scratch = Scratch::new("surface_profile");
    let trace = scratch.file("two.txt", TWO);
    let saved = scratch.path("two.profile.json");
    run(&["summarize", "-o", &saved, &trace]).quiet_success();
    for flags in [
        &["--from", "1us"][..],
        &["--thread", "sh"],
        &["--cpu", "0"],
        &["--input-format", "plain"],
        &["--tag-bits", "8"],
    ] {
        let said = run(&[&["summarize", &saved], flags].concat()).failure(2);
        assert!(said.contains("is a saved profile"), "{flags:?}: {said}");
    }
    let some = run(&["summarize", "--exclude", "work", "--format", "csv", &saved]).quiet_success();
    assert_eq!(some.lines().count(), 3, "{some}");
}

#[test]
fn the_ending_of_the_file_decides_the_format() {
    let scratch = Scratch::new("surface_endings");
    let trace = scratch.file("two.txt", TWO);
    for (name, begins) in [
        ("t.csv", "elapsed,"),
        ("t.json", "{\"schema\""),
        ("t.md", "Times in"),
        ("t.txt", "Times in"),
    ] {
        let file = scratch.path(name);
        run(&["summarize", "-o", &file, &trace]).quiet_success();
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with(begins), "{name}: {text}");
    }
    for (arguments, message) in [
        (&["summarize", "-o", "x.pdf"][..], "unknown output extension `.pdf`"),
        (&["report", "-o", "x.pdf"], "unknown output extension `.pdf`"),
        (&["summarize", "--format", "svg"], "this command does not write svg"),
        (&["summarize", "--format", "csv", "-o", "x.json"], "contradicts the extension"),
        (&["flame"], "no output format given"),
    ] {
        let said = run(&[arguments, &[&trace]].concat()).failure(2);
        assert!(said.contains(message), "{arguments:?}: {said}");
    }
    let svg = run(&["flame", "--format", "svg", &trace]).quiet_success();
    assert!(svg.starts_with("<svg") || svg.starts_with("<?xml"), "a picture goes to a pipe");
}

#[test]
fn an_input_is_not_replaced() {
    let scratch = Scratch::new("surface_input");
    let trace = scratch.file("runs/two.txt", TWO);
    let runs = scratch.path("runs");
    let json = scratch.path("runs/gate.json");
    fs::write(&json, TWO).unwrap();
    for arguments in [
        &["summarize", &trace, "-o", &trace][..],
        &["convert", "--format", "folded", &trace, "-o", &trace],
        &["summarize", &runs, "-o", &trace],
        &["gate", &runs, &runs, "--json", &json],
    ] {
        let said = run(arguments).failure(2);
        assert!(said.contains("is an input"), "{arguments:?}: {said}");
        assert_eq!(fs::read_to_string(&trace).unwrap(), TWO);
    }
}

#[test]
#[cfg(unix)]
fn a_replaced_file_keeps_its_mode_and_links() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let scratch = Scratch::new("surface_modes");
    let trace = scratch.file("two.txt", TWO);
    let mode = |path: &str| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let usual = scratch.file("usual", "");
    let new = scratch.path("new.csv");
    run(&["summarize", "-o", &new, &trace]).quiet_success();
    assert_eq!(mode(&new), mode(&usual), "as any new file");
    fs::set_permissions(&new, fs::Permissions::from_mode(0o640)).unwrap();
    run(&["summarize", "-o", &new, &trace]).quiet_success();
    assert_eq!(mode(&new), 0o640);
    fs::set_permissions(&new, fs::Permissions::from_mode(0o440)).unwrap();
    let said = run(&["summarize", "-o", &new, &trace]).failure(2);
    assert!(said.contains("is read-only"), "{said}");
    let link = scratch.path("link.csv");
    symlink("target.csv", &link).unwrap();
    run(&["summarize", "-o", &link, &trace]).quiet_success();
    assert!(Path::new(&scratch.path("target.csv")).is_file(), "a dangling link is followed");
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let long = scratch.path(&format!("{}.csv", "n".repeat(251)));
    run(&["summarize", "-o", &long, &trace]).quiet_success();
}

#[test]
fn files_of_other_tools_are_named() {
    let scratch = Scratch::new("surface_foreign");
    let elf = |kind: u8| [&b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0"[..], &[kind, 0]].concat();
    let etl = [&b"\0\0\x01\0"[..], &[0; 68], b"\x02\0\x02\xc0\x18\x01\0\0"].concat();
    for (name, bytes, message, hint) in [
        ("t.bz2", b"BZh91AY&SY".to_vec(), "is a bzip2 archive", "`bunzip2 "),
        ("t.zip", b"PK\x03\x04\x14\0\0\0".to_vec(), "is a zip archive", "`unzip "),
        (
            "t.pcap",
            b"\xd4\xc3\xb2\xa1\x02\0\x04\0".to_vec(),
            "is a packet capture",
            "no function calls",
        ),
        (
            "t.pcapng",
            b"\x0a\x0d\x0d\x0a\x1c\0\0\0".to_vec(),
            "is a packet capture",
            "no function calls",
        ),
        ("log.bin", etl, "is a Windows event trace (ETL)", "Chrome trace JSON"),
        ("core", elf(4), "is a core dump", "holds memory"),
        ("vmlinux", elf(2), "is a program", "--symbols "),
        ("nf.ko", elf(1), "is an object file or kernel module", "--symbols "),
        ("d.json", b"{\"schema\":\"profctl.diff/1\"}".to_vec(), "a report of profctl", "summary/1"),
        ("x.json", b"{\"hits\": [1, 2]}".to_vec(), "JSON of an unknown kind", "`--rule RULE`"),
    ] {
        let file = scratch.file(name, bytes);
        let said = run(&["summarize", &file]).failure(3);
        assert!(said.contains(message) && said.contains(hint), "{name}: {said}");
        assert_eq!(said.lines().count(), 2, "{said}");
    }
}

/// Of perf.data, what can be read is read; for the rest, perf itself is the way.
#[test]
fn a_perf_data_file_is_read_or_perf_is_named() {
    const TRACING_DATA: u32 = 1;
    const AUXTRACE: u32 = 18;
    const COMPRESSED: u32 = 27;
    let scratch = Scratch::new("surface_perf");
    let head = |features: &[u32]| {
        let mut head = vec![0; 104];
        head[..8].copy_from_slice(b"PERFILE2");
        head[8] = 104;
        head[16] = 136;
        for bit in features {
            head[72 + *bit as usize / 8] |= 1 << (bit % 8);
        }
        head
    };
    for (features, message) in [
        (&[AUXTRACE][..], "with a processor trace"),
        (&[], "without tracepoints"),
        (&[TRACING_DATA, COMPRESSED], "with compressed records"),
    ] {
        let file = scratch.file("perf.data", head(features));
        let said = run(&["summarize", &file]).failure(3);
        assert!(said.contains(message) && said.contains("`perf script"), "{said}");
    }
    let fixture = fixtures::root().join("fixtures/perf_data");
    for file in fixtures::files(&fixture) {
        if file.extension().is_some_and(|extension| extension == "data") {
            assert_eq!(run(&["info", &file.display().to_string()]).code, Some(0));
        }
    }
}

#[test]
fn damage_is_an_error_with_a_place() {
    use std::io::Write as _;
    let scratch = Scratch::new("surface_damage");
    let long = WHOLE.repeat(2000);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(long.as_bytes()).unwrap();
    let whole = encoder.finish().unwrap();
    let cut = scratch.file("cut.txt.gz", &whole[..whole.len() / 2]);
    let mut flipped = whole.clone();
    let checksum = flipped.len() - 6;
    flipped[checksum] ^= 1;
    let flipped = scratch.file("flipped.txt.gz", flipped);
    for file in [&cut, &flipped] {
        let found = run(&["summarize", "--strict", file]);
        assert_eq!(found.code, Some(5), "{}", found.stderr);
        assert!(found.stdout.contains("note: damaged: "), "{}", found.stdout);
        let json = run(&["summarize", "--format", "json", file]).stdout;
        assert!(json.contains("\"damaged\":1") && json.contains("input/damaged"), "{json}");
        let out = scratch.path("out.folded");
        let found = run(&["convert", "--strict", file, "-o", &out]);
        assert_eq!(found.code, Some(5));
        assert!(found.stderr.contains("damaged: "), "{}", found.stderr);
    }
}

#[test]
fn percentiles_are_of_net_and_of_elapsed() {
    let scratch = Scratch::new("surface_percentiles");
    let trace = scratch.file("two.txt", TWO);
    let csv = run(&["summarize", "--percentiles", "50", "--format", "csv", &trace]).quiet_success();
    let heading = csv.lines().next().unwrap();
    assert!(heading.contains("net_p50,elapsed_p50"), "{heading}");
    let json = run(&["summarize", "--format", "json", &trace]).quiet_success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    let main = &json["functions"][0];
    assert_eq!((&main["name"], &main["elapsed_p99"]), (&"main".into(), &900.into()));
    let said = run(&["summarize", "--columns", "nett", &trace]).failure(2);
    assert!(said.contains("unknown column `nett`; did you mean `net`?"), "{said}");
    let over = ["gate", "--budget", "elapsed_p99(main)<=800ns", &trace, &trace];
    assert_eq!(run(&over).code, Some(1));
}

#[test]
fn a_forced_format_without_calls_ends_with_3() {
    let scratch = Scratch::new("surface_forced");
    let log = scratch.file("diary.txt", "{\"traceEvents\":[]}\n");
    for flags in [["--input-format", "chrome"], ["--rule", "printk"]] {
        let said = run(&[&["summarize", &log], &flags[..]].concat()).failure(3);
        assert!(said.contains("no calls found when read as "), "{flags:?}: {said}");
    }
}

#[test]
fn a_table_without_rows_says_why() {
    let trace = fixtures::root().join("fixtures/ftrace/function-6.1.txt").display().to_string();
    for command in ["summarize", "tree"] {
        let said = run(&[command, &trace]).quiet_success();
        assert!(said.contains("note: no calls: entries without exits"), "{command}: {said}");
    }
}

#[test]
fn a_directory_without_traces_says_what_its_first_file_is() {
    let scratch = Scratch::new("surface_directory");
    scratch.file("runs/1.zip", b"PK\x03\x04\x14\0\0\0");
    scratch.file("runs/2.zip", b"PK\x03\x04\x14\0\0\0");
    let said = run(&["summarize", &scratch.path("runs")]).failure(3);
    assert!(said.contains("2 files, none of them a trace\nhint: "), "{said}");
    assert!(said.contains("1.zip: is a zip archive"), "{said}");
}

#[test]
fn one_report_of_the_gate_may_go_to_standard_output() {
    let scratch = Scratch::new("surface_gate");
    let trace = scratch.file("two.txt", TWO);
    let found = run(&["gate", "--json", "-", &trace, &trace]);
    assert!(found.stdout.starts_with("{\"schema\":\"profctl.gate/1\""), "{}", found.stdout);
    assert_eq!(found.stdout.matches("profctl.gate/1").count(), 1);
    let said = run(&["gate", "--json", "-", "--markdown", "-", &trace, &trace]).failure(2);
    assert!(said.contains("only one report"), "{said}");
}

#[test]
fn preferences_are_defaults_and_flags_win() {
    let scratch = Scratch::new("surface_config");
    let trace = scratch.file("two.txt", TWO);
    scratch.file("profctl/config.toml", "unit = \"ns\"\ncolumns = [\"net\", \"name\"]\n");
    let with =
        |arguments: &[&str]| finish(command(arguments).env("XDG_CONFIG_HOME", scratch.path("")));
    let table = with(&["summarize", &trace]).quiet_success();
    assert!(table.contains("Net") && !table.contains("Elapsed"), "{table}");
    let table = with(&["summarize", "--columns", "elapsed,name", &trace]).quiet_success();
    assert!(table.contains("Elapsed") && !table.contains("Net"), "{table}");
    scratch.file("profctl/config.toml", "unit = \"ns\"\nunits = 7\n");
    let said = with(&["summarize", &trace]).failure(2);
    assert!(said.contains("config.toml:2: "), "{said}");
}

#[test]
#[cfg(unix)]
fn an_interrupted_live_stream_is_reported() {
    use std::io::Write as _;
    use std::process::Stdio;
    let mut child = command(&["summarize", "--columns", "calls,name", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(TWO.as_bytes()).unwrap();
    stdin.flush().unwrap();
    // The stream stays open; the program has to take in what there is first.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let killed =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    let output = child.wait_with_output().unwrap();
    drop(stdin);
    assert_eq!(output.status.code(), Some(130));
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("2   main") && text.contains("1   leaf"), "{text}");
}

#[test]
fn any_number_of_jobs_is_safe() {
    for jobs in ["1", "1000000000", "340282366920938463463374607431768211455"] {
        let found = run_with_input(&["summarize", "-j", jobs, "-"], WHOLE.as_bytes());
        assert!(found.quiet_success().contains("syscall"), "{jobs}");
    }
}
