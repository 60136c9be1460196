//! `view` in a terminal: keys in, screens out, and the terminal given back.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

use expect_test::expect_file;
use profctl_testkit::fixtures::root;

use crate::program::{Scratch, WHOLE, run};
use crate::pty::InTerminal;

const TRACE: &str = "fixtures/function_graph/abstime-proc-tail-6.12.txt";
const PROGRAM: &str = env!("CARGO_BIN_EXE_profctl");

/// Whether the terminal is as programs find it.
fn is_given_back(view: &InTerminal) -> bool {
    view.of_screen(|screen| !screen.alternate_screen() && !screen.hide_cursor())
}

#[test]
fn a_walk_from_functions_to_a_call_and_back() {
    for (columns, rows) in [(80, 24), (60, 15)] {
        let mut all = String::new();
        let mut view = InTerminal::start(&["view", TRACE], (columns, rows), &root());
        let mut step = |view: &mut InTerminal, keys: &str, shows: &str| {
            view.press(keys);
            writeln!(all, "== {keys}\n{}", view.shows(shows)).expect("a string takes it");
        };
        step(&mut view, "", "261 functions by net");
        assert!(view.of_screen(|screen| screen.alternate_screen() && screen.hide_cursor()));
        step(&mut view, "/vfs_wr", "/vfs_wr");
        step(&mut view, "{enter}{enter}", "vfs_write: callers and callees");
        step(&mut view, "{right}", "vfs_write: slowest calls");
        step(&mut view, "{right}", "-> vfs_write");
        step(&mut view, "qqqs", "by elapsed");
        step(&mut view, "fpipe_{enter}", "3 of 261");
        step(&mut view, "?", "q quits on");
        view.press("qq");
        assert_eq!(view.end(), Some(0));
        assert!(is_given_back(&view));
        expect_file![format!("view/{columns}x{rows}.txt")].assert_eq(&all);
    }
}

#[test]
fn a_window_that_changes_is_filled() {
    let mut view = InTerminal::start(&["view", TRACE], (120, 30), &root());
    assert!(view.shows("261 functions").contains("% real"));
    view.resize(60, 12);
    let keys_at =
        |screen: &str, row| screen.lines().nth(row).is_some_and(|line| line.starts_with("Enter"));
    let narrow = view.until("keys in row 12", |screen| keys_at(screen, 11));
    assert!(!narrow.contains("% real"), "{narrow}");
    view.resize(30, 6);
    view.shows("window too small");
    view.resize(100, 20);
    view.until("keys in row 20", |screen| keys_at(screen, 19));
    view.press("{^c}");
    assert_eq!(view.end(), Some(0));
}

#[test]
fn colors_are_left_out_on_request() {
    for (variables, is_colored) in [(&[][..], true), (&[("NO_COLOR", "1")], false)] {
        let words = [PROGRAM, "view", TRACE];
        let view = InTerminal::run(&words, (80, 24), &root(), None, variables);
        view.shows("261 functions");
        let has_color = view.of_screen(|screen| {
            let places = (0..24).flat_map(|row| (0..80).map(move |column| (row, column)));
            let mut cells = places.filter_map(|(row, column)| screen.cell(row, column));
            cells.any(|cell| cell.fgcolor() != vt100::Color::Default)
        });
        assert_eq!(has_color, is_colored);
    }
}

/// The settings of the terminal before and after, as `stty` prints them.
#[test]
fn the_terminal_is_given_back_as_it_was() {
    let script = format!("stty -g; {PROGRAM} view {TRACE}; echo exit $?; stty -g; exec cat");
    for end in ["q", "{^c}"] {
        let mut view = InTerminal::run(&["sh", "-c", &script], (120, 24), &root(), None, &[]);
        view.shows("261 functions");
        view.press(end);
        let screen = view.shows("exit 0");
        let settings: Vec<&str> = screen.lines().filter(|line| line.contains(':')).collect();
        assert_eq!(settings.len(), 2, "{screen}");
        assert_eq!(settings[0], settings[1], "{screen}");
        assert!(is_given_back(&view));
    }
}

#[test]
fn a_signal_gives_the_terminal_back_and_ends() {
    let scratch = Scratch::new("view_signal");
    let pid = scratch.path("pid");
    let inner = format!("echo $$ > {pid}; exec {PROGRAM} view {TRACE}");
    let script = format!("sh -c '{inner}'; echo ended $?; stty -a; exec cat");
    let words = ["sh", "-c", &script];
    let view = InTerminal::run(&words, (120, 30), &root(), None, &[]);
    view.shows("261 functions");
    let pid = fs::read_to_string(pid).expect("the shell wrote it");
    let killed = Command::new("kill").args(["-TERM", pid.trim()]).status();
    assert!(killed.expect("kill is there").success());
    let screen = view.shows("ended 143");
    assert!(screen.contains(" echo ") && screen.contains(" icanon "), "{screen}");
    assert!(is_given_back(&view));
}

#[test]
fn a_stopped_view_goes_on() {
    let words = ["bash", "-mic", &format!("{PROGRAM} view {TRACE}; echo stopped; fg; echo over")];
    let mut view = InTerminal::run(&words, (100, 24), &root(), None, &[]);
    view.shows("261 functions");
    view.press("{^z}");
    // The shell calls it back at once.
    view.shows("261 functions");
    view.press("{down}");
    view.shows("2/261");
    view.press("q");
    let screen = view.shows("over");
    assert!(screen.contains("stopped"), "{screen}");
}

/// The first lines of the trace, and the others.
fn halves() -> (String, String) {
    let text = fs::read_to_string(root().join(TRACE)).expect("it is a fixture");
    let half = text[..text.len() / 2].rfind('\n').expect("it has lines") + 1;
    (text[..half].to_owned(), text[half..].to_owned())
}

/// The number of functions on a screen.
fn functions(screen: &str) -> usize {
    let title = screen.lines().next().unwrap_or_default();
    let words: Vec<&str> = title.split_whitespace().collect();
    let place = words.iter().position(|word| word.starts_with("function"));
    place.and_then(|place| words[place - 1].parse().ok()).unwrap_or(0)
}

#[test]
fn a_pipe_that_grows_is_shown_while_it_grows() {
    let scratch = Scratch::new("view_pipe");
    let pipe = scratch.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo is there").success());
    let (first, rest) = halves();
    let mut view = InTerminal::start(&["view", "--live", &pipe], (80, 24), &root());
    view.shows("waiting for input");
    let mut writer = fs::File::options().write(true).open(&pipe).expect("the view reads it");
    writer.write_all(first.as_bytes()).expect("the view reads it");
    let screen = view.until("functions", |screen| functions(screen) > 0);
    let before = functions(&screen);
    assert!((100..261).contains(&before) && screen.contains("live: "), "{screen}");
    writer.write_all(rest.as_bytes()).expect("the view reads it");
    let screen = view.until("more functions", |screen| functions(screen) > before);
    // Calls that are still open are not there.
    assert!(functions(&screen) < 261, "{screen}");
    drop(writer);
    let screen = view.shows("end of input");
    assert_eq!(functions(&screen), 261);
    view.press("q");
    assert_eq!(view.end(), Some(0));
    assert!(is_given_back(&view));
}

#[test]
fn keys_come_from_the_terminal_while_a_trace_comes_from_standard_input() {
    let (first, _) = halves();
    let words = [PROGRAM, "view", "--live", "-"];
    let mut view = InTerminal::run(&words, (80, 24), &root(), Some(Stdio::piped()), &[]);
    let mut stdin = view.child.stdin.take().expect("it was piped");
    stdin.write_all(first.as_bytes()).expect("the view reads it");
    view.until("functions", |screen| functions(screen) > 0);
    view.press("{down}{enter}");
    view.shows("callers and callees");
    view.press("{right}{right}");
    view.shows("a live input cannot be read again");
    view.press("{^c}");
    assert_eq!(view.end(), Some(0));
    assert!(is_given_back(&view));
}

#[test]
fn a_file_that_is_written_is_followed() {
    let scratch = Scratch::new("view_file");
    let (first, rest) = halves();
    let file = scratch.file("growing.txt", &first);
    let mut view = InTerminal::start(&["view", "--live", &file], (80, 24), &root());
    let before = functions(&view.until("functions", |screen| functions(screen) > 0));
    let mut log = fs::File::options().append(true).open(&file).expect("it is there");
    log.write_all(rest.as_bytes()).expect("it can be written");
    view.until("more functions", |screen| functions(screen) > before);
    view.press("q");
    assert_eq!(view.end(), Some(0));
}

#[test]
fn a_selection_takes_the_rows_that_summarize_takes() {
    let csv = run(&["summarize", "--format", "csv", "--match", "^pipe", &fixture()]);
    let rows = csv.quiet_success().lines().count() - 1;
    let mut view = InTerminal::start(&["view", "--match", "^pipe", TRACE], (80, 24), &root());
    view.shows(&format!("{rows} of 261 functions"));
    view.press("q");
    let view = InTerminal::start(&["view", "--by", "thread", TRACE], (80, 24), &root());
    view.shows("4 threads by net");
    let scratch = Scratch::new("view_thread");
    let two = "# profctl plain 1\n1000 sh-7 > main\n1100 b-8 > main\n1200 b-8 > work\n\
               1600 b-8 < work\n1700 b-8 < main\n1900 sh-7 < main\n";
    let two = scratch.file("two.txt", two);
    let mut view = InTerminal::start(&["view", "--thread", "sh-7", &two], (80, 24), &root());
    view.shows("two.txt: 1 function by net");
    view.press("{right}");
    let screen = view.shows("main: slowest calls");
    assert!(screen.contains("sh-7") && !screen.contains("b-8"), "{screen}");
}

#[test]
fn a_saved_profile_has_a_table() {
    let scratch = Scratch::new("view_profile");
    let trace = scratch.file("whole.txt", WHOLE);
    let profile = scratch.path("base.profile.json");
    run(&["summarize", "--format", "json", "-o", &profile, &trace]).quiet_success();
    let mut view = InTerminal::start(&["view", &profile], (80, 24), &root());
    view.shows("5 functions by net");
    view.press("{enter}");
    view.shows("a saved profile has no callers");
}

fn fixture() -> String {
    root().join(TRACE).display().to_string()
}

#[test]
fn without_a_terminal_there_is_no_view() {
    let said = run(&["view", &fixture()]).failure(2);
    assert!(said.contains("view needs a terminal") && said.contains("summarize"), "{said}");
    let said = run(&["view", "-o", "x.txt", &fixture()]).failure(2);
    assert!(said.contains("--output has no effect"), "{said}");
    let said = run(&["view", "--format", "csv", &fixture()]).failure(2);
    assert!(said.contains("--format"), "{said}");
}

/// What was wrong is on the usual screen.
#[test]
fn errors_are_said_after_the_terminal_was_given_back() {
    let scratch = Scratch::new("view_errors");
    let noise = scratch.file("noise.txt", "Nothing to profile.\n".repeat(100));
    let missing = scratch.path("missing.txt");
    for (arguments, code, message) in [
        (&["view", &noise][..], 3, "unrecognized trace format"),
        (&["view", &missing], 3, "no such file"),
        (&["view", "-"], 2, "standard input is a terminal"),
        (&["view", "fixtures/diff/6.1.170"], 3, "is a directory, expected one trace"),
        (&["view", "--sort", "wurst", TRACE], 2, "unknown column `wurst`"),
        (&["view", "--thread", "nginx", TRACE], 2, "no thread `nginx`"),
        (&["view", "--strict", "--tag-bits", "8", TRACE], 2, "--tag-bits has no effect"),
    ] {
        let mut view = InTerminal::start(arguments, (120, 24), &root());
        assert_eq!(view.end(), Some(code), "{arguments:?}: {}", view.screen());
        let screen = view.screen();
        assert!(screen.contains(message), "{arguments:?}: {screen}");
        assert!(is_given_back(&view), "{arguments:?}");
    }
    let mut view = InTerminal::start(&["view", "--strict", TRACE], (80, 24), &root());
    view.shows("261 functions");
    view.press("q");
    assert_eq!(view.end(), Some(5), "calls are incomplete");
}
