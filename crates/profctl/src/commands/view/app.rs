//! Connects the state with keys, the screen and what is read.

use std::io::{self, IsTerminal as _};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use profctl_analyze::summarize::Quality;

use super::Args;
use super::data::Message;
use super::draw::draw;
use super::source::Source;
use super::state::{About, Effect, Event, State};
use super::terminal::{Input, Screen, input};
use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::input::{Growth, Inputs, short_name};
use crate::{read, style};

/// How long a key may wait.
const PATIENCE: Duration = Duration::from_millis(50);
/// How often numbers change while a trace is read.
const PERIOD: Duration = Duration::from_secs(1);
/// The part of the time that may go into showing them: one of so many.
const SHARE: u32 = 10;

pub(super) fn run(args: Args, global: &Global) -> Result<Exit, Failure> {
    if global.out_file.is_some() {
        return Err(Failure::usage("--output has no effect: view writes to the terminal"));
    }
    let is_dumb = std::env::var("TERM").is_ok_and(|term| term == "dumb");
    if !io::stdout().is_terminal() || is_dumb {
        let failure = Failure::usage("view needs a terminal, but standard output is not one");
        return Err(failure.hint("`profctl summarize` prints the same table"));
    }
    if args.trace.as_os_str() == "-" && io::stdin().is_terminal() {
        let failure = Failure::usage("standard input is a terminal, expected a trace");
        return Err(failure.hint("`sudo cat /sys/kernel/tracing/trace_pipe | profctl view -`"));
    }
    let mut file = Inputs::single(&args.trace, global)?;
    // What cannot be read twice is looked at while it comes.
    let is_live = args.live || file.bytes.is_none();
    if is_live {
        file.growth = Growth::Watched;
    }
    let about = About {
        name: short_name(&args.trace),
        by: args.by(),
        sort: args.sort.clone(),
        total: file.bytes,
        is_live,
        can_open: !is_live,
        style: style::of(global),
        width: global.width,
        selection: args.selection.clone(),
    };
    let failed = |error: io::Error| Failure::output("the terminal", &error);
    let size = crossterm::terminal::size().map_err(failed)?;
    let mut state = State::new(about, size);
    let source = Source::start(args, file, global);
    let quality = {
        let mut screen = Screen::new().map_err(failed)?;
        show(&mut state, &source, &mut screen).map_err(|end| match end {
            End::Failed(failure) => failure,
            End::Terminal(error) => failed(error),
        })?
    };
    let Some(quality) = quality else { return Ok(Exit::Done) };
    Ok(match read::strict_verdict(&quality, source.args().reading.strict, global) {
        Exit::Incomplete => Exit::Incomplete,
        _ => Exit::Done,
    })
}

/// Why it ends early.
enum End {
    Failed(Failure),
    Terminal(io::Error),
}

/// Until the user quits. Returns what the input was like, if all of it was read.
fn show(state: &mut State, source: &Source, screen: &mut Screen) -> Result<Option<Quality>, End> {
    let mut quality = None;
    let mut ask_at = Some(Instant::now() + PERIOD);
    let mut is_stale = true;
    let mut bytes = 0;
    loop {
        while let Ok(message) = source.messages.try_recv() {
            let event = match message {
                Message::SoFar(data) => Event::SoFar(data),
                Message::Read(result) => {
                    ask_at = None;
                    let data = result.map_err(End::Failed)?;
                    quality = Some(data.profile.quality.clone());
                    Event::Read(data)
                }
                Message::Opened(call, opened) => Event::Opened(call, opened),
            };
            let began = Instant::now();
            let is_so_far = matches!(event, Event::SoFar(_));
            if let Effect::Fail(message) = state.update(event) {
                return Err(End::Failed(Failure::usage(message)));
            }
            if is_so_far {
                ask_at = Some(Instant::now() + PERIOD.max(began.elapsed() * SHARE));
            }
            is_stale = true;
        }
        if ask_at.is_some_and(|at| at <= Instant::now()) {
            // The answer sets the next time.
            ask_at = None;
            source.asked.store(true, Ordering::Relaxed);
        }
        let read = source.read.load(Ordering::Relaxed);
        if read != bytes && quality.is_none() {
            bytes = read;
            state.update(Event::Bytes(bytes));
            is_stale = true;
        }
        if is_stale {
            let draw_all = |frame: &mut ratatui::Frame<'_>| {
                let cursor = draw(state, frame.buffer_mut());
                if let Some(cursor) = cursor {
                    frame.set_cursor_position(cursor);
                }
            };
            screen.terminal.draw(draw_all).map_err(End::Terminal)?;
            is_stale = false;
        }
        let event = match input(PATIENCE).map_err(End::Terminal)? {
            None => continue,
            Some(Input::Key(key)) => Event::Key(key),
            Some(Input::Size(columns, rows)) => Event::Size(columns, rows),
        };
        is_stale = true;
        match state.update(event) {
            Effect::Nothing => {}
            Effect::Quit => return Ok(quality),
            Effect::Suspend => screen.suspend().map_err(End::Terminal)?,
            Effect::Open(call) => source.open(call),
            Effect::Fail(message) => return Err(End::Failed(Failure::usage(message))),
        }
    }
}
