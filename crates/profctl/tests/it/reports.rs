//! Traces in, reports out.

use std::io;

use expect_test::expect;

use crate::program::{CUT, Scratch, WHOLE, command, finish, run, run_with_input};

#[test]
fn the_flat_profile() {
    let scratch = Scratch::new("flat");
    let trace = scratch.file("trace.txt", WHOLE);
    expect![[r"
        Times in us
         Elapsed  Net  # calls   (max/avg/min)  % real  % net   name
        -----------------------------------------------------------------
             200   60        1      (60/60/60)  30.00% 30.00%   syscall
              50   50        1      (50/50/50)  25.00% 25.00%   hardclock
              90   40        1      (40/40/40)  20.00% 20.00%   clkintr
             120   30        1      (30/30/30)  15.00% 15.00%   read
              20   20        1      (20/20/20)  10.00% 10.00%   splx
    "]]
    .assert_eq(&run(&["summarize", &trace]).quiet_success());
    expect![[r"
        Times in ms
         Elapsed   Net  # calls        (max/avg/min)  % real  % net   name
        ------------------------------------------------------------------
           0.120 0.030        1  (0.030/0.030/0.030)  15.00% 15.00%   read
    "]]
    .assert_eq(
        &run(&["summarize", "--unit", "ms", "--match", "^re", "--sort", "name", &trace])
            .quiet_success(),
    );
}

/// Several threads on several CPUs, each line with its own.
#[test]
fn a_replay_of_several_threads_reads_back() {
    let scratch = Scratch::new("replay-threads");
    let trace = scratch.file(
        "trace.plain",
        "# profctl plain 1 unit=us\n10 cpu0 sh-7 > read\n12 cpu1 worker > spin\n\
         13 cpu0 sh-7 > fget\n15 cpu0 sh-7 < fget\n16 cpu0 sh-7 ! checkpoint\n\
         20 cpu1 worker < spin\n25 cpu0 sh-7 < read\n26 cpu1 #9 > f\n29 cpu1 #9 < f\n",
    );
    let replayed = run(&["replay", &trace]).quiet_success();
    let back = scratch.file("trace.replay", &replayed);
    let table = |trace: &str| run(&["summarize", "--by", "thread", trace]).quiet_success();
    assert_eq!(table(&back), table(&trace), "{replayed}");
    let table = |trace: &str| run(&["summarize", trace]).quiet_success();
    assert_eq!(table(&back), table(&trace), "{replayed}");
    assert_eq!(run(&["replay", &back]).quiet_success(), replayed);
}

#[test]
fn a_replay_is_the_code_trace_it_was_read_from() {
    let scratch = Scratch::new("replay");
    let trace = scratch.file("trace.txt", WHOLE);
    let replayed = run(&["replay", &trace]).quiet_success();
    assert_eq!(replayed, WHOLE);
    let again = run_with_input(&["replay", "--input-format", "mcrae", "-"], replayed.as_bytes());
    assert_eq!(again.quiet_success(), WHOLE);
    let part = ["--around", "read", "--depth", "2", "--highlight", "35us", &trace];
    let part = run(&[&["replay"], &part[..]].concat()).quiet_success();
    let expected = [
        "   1:200 010 -> read (30 us, 120 total)",
        "   1:200 020     -> clkintr (40 us, 90 total)  ***",
        "   1:200 110     <- ",
        "   1:200 130 <- ",
        "",
    ];
    assert_eq!(part, expected.join("\n"));
    let csv = run(&["replay", "--format", "csv", "--slowest", "splx", &trace]).quiet_success();
    assert!(csv.lines().nth(1).is_some_and(|row| row.starts_with("1200140000,")), "{csv}");
}

#[test]
fn the_tree_and_the_critical_path() {
    let scratch = Scratch::new("tree");
    let trace = scratch.file("trace.txt", WHOLE);
    expect![[r"
        Times in us
         Elapsed  Net  # calls  % elapsed  depth   name
        ----------------------------------------------------------
             200   60        1    100.00%      0   syscall
             120   30        1     60.00%      1     read
              90   40        1     45.00%      2       clkintr
              50   50        1     25.00%      3         hardclock
              20   20        1     10.00%      1     splx
    "]]
    .assert_eq(&run(&["tree", &trace]).quiet_success());
    expect![[r"
        Times in us
         length  % of path  # segments  state     function
        ---------------------------------------------------
             50     41.67%           1  running   hardclock
             40     33.33%           2  running   clkintr
             30     25.00%           2  running   read
        note: path: slowest of 1 call: read on all
    "]]
    .assert_eq(&run(&["critical-path", "--of", "read", "--by-function", &trace]).quiet_success());
    for command in [&["tree", "--callers"][..], &["replay", "--around"], &["critical-path", "--of"]]
    {
        let said = run(&[command, &["frobnicate", &trace]].concat()).failure(2);
        assert!(said.contains("frobnicate"), "{said}");
    }
}

#[test]
fn a_window_is_given_in_what_the_clock_counts() {
    let scratch = Scratch::new("window");
    let time = scratch.file("trace.txt", WHOLE);
    let cycles = "# profctl plain 1 unit=cycles\n0 > main\n10 > f\n15 < f\n30 < main\n";
    let cycles = scratch.file("cycles.txt", cycles);
    let calls = |from: &str, trace: &str| {
        run(&["summarize", "--columns", "calls,name", "--from", from, trace])
    };
    assert!(calls("140us", &time).quiet_success().contains("1   splx\n"));
    assert!(calls("8cycles", &cycles).quiet_success().contains("1   f\n"));
    let said = calls("8us", &cycles).failure(2);
    assert!(said.contains("--from: this trace counts cycles"), "{said}");
    let said = calls("140cycles", &time).failure(2);
    assert!(said.contains("--from: this trace has times"), "{said}");
}

#[test]
fn a_probe_capture_is_read_as_it_is_laid_out() {
    let scratch = Scratch::new("probe");
    let names = scratch.file("tags.names", "main/500\nread/502\n");
    let record = |tag: u16, time: u8| {
        let [high, low] = tag.to_be_bytes();
        [time, high, low, 0xff]
    };
    let events = [record(500, 10), record(502, 20), record(503, 25), record(501, 40)];
    let capture = scratch.file("capture.raw", events.concat());
    let layout = ["--endian", "be", "--record-order", "time,tag", "--time-bits", "8"];
    let arguments = ["summarize", "--time-step", "250ns", "--record-bytes", "4", "--names", &names];
    expect![[r"
        Times in us
         Elapsed  Net  # calls     (max/avg/min)  % real  % net   name
        --------------------------------------------------------------
            7.50 6.25        1  (6.25/6.25/6.25)  83.33% 83.33%   main
            1.25 1.25        1  (1.25/1.25/1.25)  16.67% 16.67%   read
    "]]
    .assert_eq(&run(&[&arguments[..], &layout, &[&capture]].concat()).quiet_success());
}

#[test]
fn every_output_tells_the_same() {
    let scratch = Scratch::new("outputs");
    let trace = scratch.file("trace.txt", WHOLE);
    let columns = ["summarize", "--columns", "net,calls,name", "--top", "1", "--format"];
    let output = |format: &str| {
        let arguments = columns.iter().copied().chain([format, &trace]).collect::<Vec<_>>();
        run(&arguments).quiet_success()
    };
    expect![[r"
        Times in us
         Net  # calls   name
        -----------------------
          60        1   syscall
    "]]
    .assert_eq(&output("table"));
    expect![[r"
        net,calls,name
        60000,1,syscall
    "]]
    .assert_eq(&output("csv").replace("\r\n", "\n"));
    expect![[r"
        Times in us

        | Net | # calls | name      |
        | --: | ------: | --------- |
        |  60 |       1 | `syscall` |
    "]]
    .assert_eq(&output("markdown"));
    let json: serde_json::Value = serde_json::from_str(&output("json")).unwrap();
    assert_eq!(json["schema"], "profctl.summary/1");
    assert_eq!(json["functions"][0]["net"], 60_000);
    assert_eq!(json["functions"].as_array().unwrap().len(), 5, "a saved profile is whole");
}

#[test]
fn a_trace_is_the_same_however_it_comes() {
    let scratch = Scratch::new("however");
    let plain = scratch.file("trace.txt", WHOLE);
    let expected = run(&["summarize", &plain]).quiet_success();
    let zst = scratch.file("trace.zst", zstd::encode_all(WHOLE.as_bytes(), 3).unwrap());
    let mut encoder = flate2::read::GzEncoder::new(WHOLE.as_bytes(), flate2::Compression::fast());
    let mut gzipped = Vec::new();
    io::Read::read_to_end(&mut encoder, &mut gzipped).unwrap();
    let gz = scratch.file("trace.gz", gzipped);
    for arguments in [
        &["summarize", &zst][..],
        &["summarize", &gz],
        &["summarize", "--input-format", "mcrae", &plain],
        &["summarize", "--jobs", "1", &plain],
        &["summarize", "--jobs", "5", "--block-size", "64", &plain],
        &["summarize", "--percentiles", "none", &plain],
    ] {
        assert_eq!(run(arguments).quiet_success(), expected, "{arguments:?}");
    }
    let piped = run_with_input(&["summarize", "-"], WHOLE.as_bytes());
    assert_eq!(piped.quiet_success(), expected);
}

#[test]
fn the_number_of_threads_changes_no_byte() {
    let scratch = Scratch::new("threads");
    let mut long = String::new();
    for n in 0..400 {
        let call = format!("   {n}:000 010 -> f{} (7 us, 9 total)", n % 7);
        let callee = format!("   {n}:000 012     -> g (2 us)");
        long.extend([call, "\n".into(), callee, format!("\n   {n}:000 019 <- \n")]);
    }
    let trace = scratch.file("long.txt", long + CUT);
    let one = ["summarize", "--format", "json", "--jobs", "1", &trace];
    let expected = run(&one).quiet_success();
    for (threads, block_size) in [("2", "0"), ("3", "1000"), ("8", "100")] {
        let arguments = ["--format", "json", "--jobs", threads, "--block-size", block_size, &trace];
        let arguments = [&["summarize"], &arguments[..]].concat();
        assert_eq!(run(&arguments).quiet_success(), expected, "{threads} {block_size}");
    }
}

#[test]
fn a_saved_profile_reads_back_and_adds_up() {
    let scratch = Scratch::new("saved");
    let trace = scratch.file("trace.txt", WHOLE);
    let saved = scratch.path("saved.profile.json");
    let written = run(&["summarize", "--format", "json", "-o", &saved, &trace]).quiet_success();
    assert_eq!(written, "");
    let direct = run(&["summarize", &trace]).quiet_success();
    assert_eq!(run(&["summarize", &saved]).quiet_success(), direct);
    let twice = ["summarize", "--columns", "calls,net,name", "--match", "splx", &saved, &trace];
    expect![[r"
        Times in us
         # calls  Net   name
        --------------------
               2   40   splx
    "]]
    .assert_eq(&run(&twice).quiet_success());
    let said = run(&["tree", &saved]).failure(3);
    assert!(said.contains("is a saved profile, expected a trace"), "{said}");
}

#[test]
fn info_says_what_a_trace_is() {
    let scratch = Scratch::new("info");
    let trace = scratch.file("cut.txt", CUT);
    let text = run(&["info", &trace]).quiet_success();
    for line in [
        "format       mcrae (",
        "clock        ns, resolution 1000 ns, timeline recorded\n",
        "quality      incomplete, see below\n",
        "stitch/unclosed-entry: 3 (warning)\n",
    ] {
        assert!(text.contains(line), "{text}\nlacks {line}");
    }
    let json = run(&["info", "--format", "json", &trace]).quiet_success();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["schema"], "profctl.info/1");
    assert_eq!(json["source"]["format"], "mcrae");
    assert_eq!((&json["calls"], &json["partial"]), (&1.into(), &3.into()));
    assert_eq!(json["complete"], false);
    assert_eq!(json["diagnostics"][0]["code"], "stitch/unclosed-entry");
    let csv = run(&["info", "--format", "csv", &trace]).quiet_success();
    assert!(csv.contains("stitch/unclosed-entry,3\r\n"), "{csv}");
}

#[test]
fn small_traces_need_no_temporary_directory() {
    let scratch = Scratch::new("no_temporary_directory");
    let trace = scratch.file("trace.txt", WHOLE);
    for arguments in [
        &["tree"][..],
        &["replay"],
        &["summarize", "--paths", "--format", "json"],
        &["convert", "--format", "folded", "-o", "-"],
    ] {
        let mut command = command(&[arguments, &[&trace]].concat());
        let out = finish(command.env("TMPDIR", "/nowhere")).quiet_success();
        assert!(out.contains("hardclock"), "{arguments:?}: {out}");
    }
}
