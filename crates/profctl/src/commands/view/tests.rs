//! The state without a terminal, and the screens that are drawn of it.

use std::fmt::Write as _;

use expect_test::expect_file;
use profctl_analyze::replay::{Found, OneCall};
use profctl_analyze::slowest::{Call, Slowest};
use profctl_analyze::summarize::{By, CallGraphSink, Options, Source, Summary};
use profctl_import::{ReadOptions, Single, Streamed, stream};
use profctl_model::SpanSink;
use profctl_render::Style;
use profctl_testkit::fixtures;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::Color;

use super::data::Snapshot;
use super::draw::draw;
use super::keys::Key;
use super::state::{About, Effect, Event, State};
use crate::args::Selection;
use crate::exit::Failure;

/// Calls of one thread: `main` calls `work` four times, which calls `leaf` once each.
const SMALL: &str = "# profctl plain 1\n\
    1000 cpu0 sh-7 > main\n\
    1100 cpu0 sh-7 > work\n1200 cpu0 sh-7 > leaf\n1300 cpu0 sh-7 < leaf\n1400 cpu0 sh-7 < work\n\
    1500 cpu0 sh-7 > work\n1600 cpu0 sh-7 > leaf\n1800 cpu0 sh-7 < leaf\n1900 cpu0 sh-7 < work\n\
    2000 cpu0 sh-7 > work\n2100 cpu0 sh-7 > leaf\n2200 cpu0 sh-7 < leaf\n2300 cpu0 sh-7 < work\n\
    2400 cpu0 sh-7 > work\n2500 cpu0 sh-7 > leaf\n2600 cpu0 sh-7 < leaf\n2700 cpu0 sh-7 < work\n\
    3500 cpu0 sh-7 < main\n";

fn fixture() -> Vec<u8> {
    fixtures::read(&fixtures::root().join("fixtures/function_graph/abstime-proc-tail-6.12.txt"))
}

fn read<S: SpanSink + Send>(text: &[u8], sink: S) -> Streamed<S> {
    let files = Single::new("trace.txt", Box::new(text));
    stream(&files, &ReadOptions::default(), sink, &|_| {})
        .map_err(|e| e.message)
        .expect("it can be read")
}

fn snapshot(text: &[u8], by: By) -> Box<Snapshot> {
    let sums =
        (Summary::new(Options { by, ..Options::default() }), <(CallGraphSink, Slowest)>::default());
    let Streamed { sink: (summary, calls), names, meta, .. } = read(text, sums);
    let source = Source { path: "trace.txt".into(), format: "plain".into(), bytes: 0 };
    let profile = summary.finish(&names, &meta, source);
    Box::new(Snapshot { profile, names, calls: (by == By::Function).then_some(calls) })
}

fn opened(text: &[u8], call: Call) -> Option<Box<Found>> {
    let Streamed { sink, names, meta, .. } = read(text, OneCall::new(call));
    sink.finish(meta, names).map(Box::new)
}

fn about() -> About {
    About {
        name: "trace.txt".into(),
        by: By::Function,
        sort: "net".into(),
        total: Some(1000),
        is_live: false,
        can_open: true,
        style: Style { color: true, ..Style::default() },
        width: None,
        selection: Selection::default(),
    }
}

/// A view of all of `text`.
fn view(text: &[u8], size: (u16, u16)) -> State {
    let mut state = State::new(about(), size);
    assert_eq!(state.update(Event::Read(snapshot(text, By::Function))), Effect::Nothing);
    state
}

/// Presses keys: a letter each, or a name in braces. Returns the last effect.
fn press(state: &mut State, keys: &str) -> Effect {
    let mut effect = Effect::Nothing;
    let mut rest = keys;
    while let Some(first) = rest.chars().next() {
        let (key, length) = match rest.strip_prefix('{').and_then(|rest| rest.split_once('}')) {
            Some((name, _)) => (named(name), name.len() + 2),
            None => (Key::Char(first), first.len_utf8()),
        };
        effect = state.update(Event::Key(key));
        rest = &rest[length..];
    }
    effect
}

fn named(name: &str) -> Key {
    match name {
        "enter" => Key::Enter,
        "esc" => Key::Escape,
        "back" => Key::Backspace,
        "up" => Key::Up,
        "down" => Key::Down,
        "left" => Key::Left,
        "right" => Key::Right,
        "pgdn" => Key::PageDown,
        "pgup" => Key::PageUp,
        "home" => Key::Home,
        "end" => Key::End,
        "^c" => Key::Ctrl('c'),
        "^z" => Key::Ctrl('z'),
        other => panic!("no key {other}"),
    }
}

fn buffer(state: &State, (columns, rows): (u16, u16)) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("memory is a screen");
    let draw_all = |frame: &mut ratatui::Frame<'_>| {
        draw(state, frame.buffer_mut());
    };
    terminal.draw(draw_all).expect("memory is a screen");
    terminal.backend().buffer().clone()
}

/// The screen as text; the selected row begins with `>`.
fn screen(state: &State, size: (u16, u16)) -> String {
    let buffer = buffer(state, size);
    let mut text = String::new();
    for y in 0..size.1 {
        let line: String = (0..size.0).map(|x| buffer[(x, y)].symbol()).collect();
        let is_selected = buffer[(0, y)].modifier.contains(ratatui::style::Modifier::REVERSED);
        let mark = if is_selected { '>' } else { '|' };
        writeln!(text, "{mark}{}", line.trim_end()).expect("a string takes it");
    }
    text
}

fn line(state: &State, y: usize) -> String {
    screen(state, (80, 24)).lines().nth(y).expect("a screen has so many lines").to_owned()
}

/// The row that is selected.
fn selected(state: &State) -> String {
    let screen = screen(state, (80, 24));
    let row = screen.lines().find_map(|line| line.strip_prefix('>'));
    row.unwrap_or_default().split_whitespace().last().unwrap_or_default().to_owned()
}

/// The status line.
fn status(state: &State) -> String {
    line(state, 22)[1..].to_owned()
}

#[test]
fn screens_of_three_sizes() {
    let text = fixture();
    for size in [(80, 24), (120, 40), (60, 15)] {
        let mut state = State::new(about(), size);
        let mut all = String::new();
        let mut take = |what: &str, state: &State| {
            writeln!(all, "== {what}\n{}", screen(state, size)).unwrap();
        };
        take("nothing is read", &state);
        state.update(Event::Bytes(420));
        state.update(Event::SoFar(snapshot(&text[..20_000], By::Function)));
        take("a part is read", &state);
        state.update(Event::Read(snapshot(&text, By::Function)));
        take("all is read", &state);
        press(&mut state, "{down}{down}{enter}");
        take("callers and callees", &state);
        press(&mut state, "{right}");
        take("slowest calls", &state);
        let Effect::Open(call) = press(&mut state, "{right}") else { panic!("a call opens") };
        take("the call is read again", &state);
        state.update(Event::Opened(call, Ok(opened(&text, call))));
        take("what the call did", &state);
        press(&mut state, "i");
        take("notes", &state);
        press(&mut state, "{left}{left}{left}{left}s");
        take("by the next column", &state);
        press(&mut state, "/rcu");
        take("a search", &state);
        press(&mut state, "{enter}n");
        take("the next match", &state);
        press(&mut state, "f^pipe");
        take("a filter", &state);
        press(&mut state, "{esc}?");
        take("help", &state);
        expect_file![format!("screens/{}x{}.txt", size.0, size.1)].assert_eq(&all);
    }
}

#[test]
fn names_keep_24_characters_in_narrow_windows() {
    let name = "a_function_with_a_rather_long_name_indeed";
    let text = SMALL.replace("work", name);
    for columns in [40, 50, 60, 80] {
        let mut state = view(text.as_bytes(), (columns, 20));
        for keys in ["", "{down}{enter}"] {
            press(&mut state, keys);
            let screen = screen(&state, (columns, 20));
            assert!(screen.contains(&name[..23]), "{columns}: {screen}");
        }
    }
    let small = view(SMALL.as_bytes(), (30, 5));
    assert!(screen(&small, (30, 5)).contains("window too small"));
}

#[test]
fn keys_select_rows_and_scroll() {
    let mut state = view(&fixture(), (80, 24));
    assert_eq!(state.position(), "1/261");
    for (keys, position) in [
        ("j", "2/261"),
        ("{up}{up}", "1/261"),
        ("{pgdn}", "19/261"),
        ("G", "261/261"),
        ("{down}", "261/261"),
        ("k{pgup}", "242/261"),
        ("{home}", "1/261"),
        ("{end}g", "1/261"),
    ] {
        press(&mut state, keys);
        assert_eq!(state.position(), position, "{keys}");
        let cursor = state.cursor();
        assert!(state.visible().any(|(place, _)| place == cursor), "{keys}");
    }
}

#[test]
fn enter_and_right_lead_on_and_keys_lead_back() {
    let text = SMALL.as_bytes();
    for back in ["{left}", "{esc}", "{back}", "q", "h"] {
        let mut state = view(text, (80, 24));
        press(&mut state, "/^work{enter}");
        assert_eq!(selected(&state), "work");
        press(&mut state, "{enter}");
        assert_eq!(state.title(), "work: callers and callees");
        assert_eq!(selected(&state), "work");
        press(&mut state, "{down}{enter}");
        assert_eq!(state.title(), "leaf: callers and callees");
        press(&mut state, "{right}");
        assert_eq!(state.title(), "leaf: slowest calls");
        let Effect::Open(call) = press(&mut state, "{right}") else { panic!("a call opens") };
        state.update(Event::Opened(call, Ok(opened(text, call))));
        let shown = screen(&state, (80, 24));
        assert!(shown.contains("called by work < main") && shown.contains("-> leaf"), "{shown}");
        // Up to the call around it, and on.
        let Effect::Open(caller) = press(&mut state, "u") else { panic!("a call opens") };
        state.update(Event::Opened(caller, Ok(opened(text, caller))));
        let shown = screen(&state, (80, 24));
        assert!(shown.contains("called by main") && shown.contains("-> work"), "{shown}");
        press(&mut state, back);
        press(&mut state, back);
        assert_eq!(state.title(), "leaf: slowest calls", "{back}");
        press(&mut state, &back.repeat(3));
        assert_eq!(state.title(), "trace.txt: 3 functions by net", "{back}");
        assert_eq!(selected(&state), "work", "{back}");
    }
    let mut state = view(text, (80, 24));
    assert_eq!(press(&mut state, "q"), Effect::Quit);
    assert_eq!(press(&mut state, "{enter}{right}{^c}"), Effect::Quit);
    assert_eq!(press(&mut state, "{^z}"), Effect::Suspend);
}

#[test]
fn a_call_of_which_nothing_is_found_is_said() {
    let mut state = view(SMALL.as_bytes(), (80, 24));
    let Effect::Open(call) = press(&mut state, "{right}{right}") else { panic!("a call opens") };
    state.update(Event::Opened(call, Ok(None)));
    assert_eq!(state.title(), "main: slowest calls");
    assert_eq!(status(&state), "the input has changed since it was read");
    press(&mut state, "{right}");
    state.update(Event::Opened(call, Err(Failure::input("trace.txt", "no such file"))));
    assert_eq!(status(&state), "trace.txt: no such file");
    // Who has gone back is not bothered.
    press(&mut state, "{right}{left}{left}");
    state.update(Event::Opened(call, Ok(opened(SMALL.as_bytes(), call))));
    assert_eq!(state.title(), "trace.txt: 3 functions by net");
}

#[test]
fn what_cannot_be_opened_is_said() {
    let mut live = State::new(About { can_open: false, is_live: true, ..about() }, (80, 24));
    live.update(Event::SoFar(snapshot(SMALL.as_bytes(), By::Function)));
    assert_eq!(press(&mut live, "{right}{right}"), Effect::Nothing);
    assert!(status(&live).ends_with("a live input cannot be read again"), "{}", status(&live));
    let mut threads = State::new(About { by: By::Thread, ..about() }, (80, 24));
    threads.update(Event::Read(snapshot(SMALL.as_bytes(), By::Thread)));
    press(&mut threads, "{enter}");
    assert_eq!(status(&threads), "for its functions: profctl view --thread sh-7");
    let mut saved = State::new(about(), (80, 24));
    let profile = snapshot(SMALL.as_bytes(), By::Function);
    saved.update(Event::Read(Box::new(Snapshot { calls: None, ..*profile })));
    press(&mut saved, "{right}");
    assert!(status(&saved).starts_with("a saved profile has no callers"), "{}", status(&saved));
}

#[test]
fn s_goes_through_the_columns_and_back() {
    let mut state = view(SMALL.as_bytes(), (80, 24));
    let mut orders = Vec::new();
    for _ in 0..7 {
        orders.push((state.title(), selected(&state)));
        press(&mut state, "s");
    }
    let expected = [
        ("net", "main"),
        ("elapsed", "main"),
        ("calls", "leaf"),
        ("net_max", "main"),
        ("net_avg", "main"),
        ("net_min", "main"),
        ("name", "leaf"),
    ];
    let expected =
        expected.map(|(by, first)| (format!("trace.txt: 3 functions by {by}"), first.to_owned()));
    assert_eq!(orders, expected);
    press(&mut state, "S");
    assert_eq!(state.title(), expected[6].0);
    let mut unknown = State::new(About { sort: "wurst".into(), ..about() }, (80, 24));
    let effect = unknown.update(Event::Read(snapshot(SMALL.as_bytes(), By::Function)));
    assert!(matches!(effect, Effect::Fail(said) if said.starts_with("unknown column `wurst`")));
}

#[test]
fn a_search_goes_to_matches_and_a_filter_keeps_them() {
    let mut state = view(SMALL.as_bytes(), (80, 24));
    press(&mut state, "/L");
    assert_eq!(selected(&state), "main", "upper case matters");
    press(&mut state, "{back}l");
    assert_eq!(selected(&state), "leaf");
    press(&mut state, "{esc}");
    assert_eq!(selected(&state), "main");
    press(&mut state, "/a{enter}");
    assert_eq!(status(&state), "match 1 of 2: a");
    press(&mut state, "n");
    assert_eq!((selected(&state), status(&state)), ("leaf".into(), "match 2 of 2: a".into()));
    press(&mut state, "n");
    assert_eq!(selected(&state), "main");
    press(&mut state, "N");
    assert_eq!(selected(&state), "leaf");
    press(&mut state, "/zzz{enter}");
    assert_eq!(status(&state), "no match: zzz");
    press(&mut state, "/({enter}");
    assert_eq!(status(&state), "not a regular expression: (");
    press(&mut state, "f^(work|leaf)");
    assert_eq!(state.title(), "trace.txt: 2 of 3 functions by net matching ^(work|leaf)");
    press(&mut state, "{enter}{enter}");
    // Callers are not filtered.
    assert!(screen(&state, (80, 24)).contains("main"));
    press(&mut state, "{left}f{esc}");
    assert_eq!(state.position(), "1/2");
    // The first of these ends the search, the second the filter.
    press(&mut state, "{esc}{esc}");
    assert_eq!(state.title(), "trace.txt: 3 functions by net");
    press(&mut state, "{esc}");
    assert_eq!(status(&state), "press q to quit");
}

#[test]
fn the_selection_stays_while_numbers_change_and_p_stops_them() {
    let whole = SMALL.as_bytes();
    let part = &whole[..SMALL.find("2000").unwrap()];
    let mut state = State::new(About { is_live: true, ..about() }, (80, 24));
    state.update(Event::SoFar(snapshot(part, By::Function)));
    press(&mut state, "G");
    let before = selected(&state);
    state.update(Event::SoFar(snapshot(whole, By::Function)));
    assert_eq!(selected(&state), before);
    assert_eq!(status(&state), "live: 0 bytes read");
    press(&mut state, "p");
    let stopped = screen(&state, (80, 24));
    assert!(stopped.contains("paused (p resumes)"), "{stopped}");
    state.update(Event::Read(snapshot(part, By::Function)));
    assert_eq!(screen(&state, (80, 24)), stopped);
    press(&mut state, "p");
    assert_ne!(screen(&state, (80, 24)), stopped);
    assert_eq!(status(&state).split("  ").next().unwrap(), "end of input, 0 bytes read");
}

#[test]
fn without_color_nothing_has_one() {
    let plain = About { style: Style::default(), ..about() };
    for (about, has_color) in [(about(), true), (plain, false)] {
        let mut state = State::new(about, (80, 24));
        state.update(Event::Read(snapshot(&fixture(), By::Function)));
        press(&mut state, "/rcu");
        let buffer = buffer(&state, (80, 24));
        let colored = buffer.content.iter().any(|cell| cell.fg != Color::Reset);
        assert_eq!(colored, has_color);
        let reversed = |cell: &&ratatui::buffer::Cell| {
            cell.modifier.contains(ratatui::style::Modifier::REVERSED)
        };
        assert_eq!(buffer.content.iter().filter(reversed).count(), 80, "the selected row");
    }
}

#[test]
fn lines_that_are_cut_say_so_and_can_be_moved() {
    let text = fixture();
    let mut state = view(&text, (40, 20));
    press(&mut state, "/^vfs_read{enter}{right}");
    let Effect::Open(call) = press(&mut state, "{right}") else { panic!("a call opens") };
    state.update(Event::Opened(call, Ok(opened(&text, call))));
    let before = screen(&state, (40, 20));
    assert!(before.lines().any(|line| line.ends_with('…')), "{before}");
    press(&mut state, ">");
    let moved = screen(&state, (40, 20));
    assert!(before != moved, "{moved}");
    press(&mut state, "<<");
    assert_eq!(screen(&state, (40, 20)), before);
}
