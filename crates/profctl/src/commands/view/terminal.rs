//! The terminal: taken over, and given back however the program ends.

use std::io::{self, BufWriter, Stdout, Write as _, stdout};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::event::{self, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::{cursor, execute, terminal};
use ratatui::backend::CrosstermBackend;

use super::keys::Key;
use crate::interrupt;

/// The screen, for as long as this lives.
pub(super) struct Screen {
    pub(super) terminal: Terminal,
}

type Terminal = ratatui::Terminal<CrosstermBackend<BufWriter<Stdout>>>;

/// A screen of which all is to be drawn. Nothing is asked of the terminal: over slow lines it would
/// not answer in time.
fn blank() -> io::Result<Terminal> {
    ratatui::Terminal::new(CrosstermBackend::new(BufWriter::new(stdout())))
}

impl Screen {
    /// Takes the terminal over.
    pub(super) fn new() -> io::Result<Self> {
        interrupt::restore_with(Some(restore));
        // A panic of any thread is to be read on the usual screen.
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            restore();
            usual(info);
        }));
        take()?;
        Ok(Self { terminal: blank()? })
    }

    /// Lets the shell go on until it calls the program back.
    #[cfg(unix)]
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        restore();
        signal_hook::low_level::raise(signal_hook::consts::SIGTSTP)?;
        take()?;
        self.terminal = blank()?;
        Ok(())
    }

    /// Other systems have no such signal.
    #[cfg(not(unix))]
    pub(super) fn suspend(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
        interrupt::restore_with(None);
    }
}

/// Whether the terminal is taken over: it is given back once, even if a panic and the end of the
/// view both do it.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

fn take() -> io::Result<()> {
    IS_TAKEN.store(true, Ordering::SeqCst);
    terminal::enable_raw_mode()?;
    execute!(stdout(), terminal::EnterAlternateScreen, cursor::Hide)
}

/// Gives the terminal back.
fn restore() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    // What cannot be given back is lost anyway.
    let _ = execute!(stdout(), terminal::LeaveAlternateScreen, cursor::Show);
    let _ = terminal::disable_raw_mode();
    let _ = stdout().flush();
}

/// What a user did.
pub(super) enum Input {
    Key(Key),
    Size(u16, u16),
}

/// What a user does within `patience`; nothing if that is nothing of interest.
pub(super) fn input(patience: std::time::Duration) -> io::Result<Option<Input>> {
    if !event::poll(patience)? {
        return Ok(None);
    }
    Ok(match event::read()? {
        event::Event::Key(key) if key.kind != KeyEventKind::Release => key_of(key).map(Input::Key),
        event::Event::Resize(columns, rows) => Some(Input::Size(columns, rows)),
        _ => None,
    })
}

fn key_of(key: KeyEvent) -> Option<Key> {
    let with_control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char(c) if with_control => Key::Ctrl(c.to_ascii_lowercase()),
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        KeyCode::Up => Key::Up,
        KeyCode::Down => Key::Down,
        KeyCode::Left => Key::Left,
        KeyCode::Right => Key::Right,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown => Key::PageDown,
        KeyCode::Home => Key::Home,
        KeyCode::End => Key::End,
        _ => return None,
    })
}
