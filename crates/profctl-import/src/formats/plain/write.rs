//! Events to lines.

use std::fmt::Write;

use profctl_model::{Func, Timebase, Timeline};

use super::MAGIC;
use super::lex::{self, Words};
use crate::emit::{
    Emitter, Event, EventKind, LaneKey, LaneRef, NO_DEPTH, NameRef, ThreadKey, UNSTATED,
};

/// The events of `block` in the plain format, with a header that fits `timebase` unless its unit is
/// one that has no name. A double quote or a line end in a name becomes `'`, what a module must not
/// hold becomes `_`, addresses and events that have no verb are left out; else reading them gives the same events.
pub fn write(block: &Emitter, timebase: &Timebase) -> String {
    let mut text = format!("{MAGIC} 1");
    if let Some(unit) = unit(timebase) {
        text.extend([" unit=", unit]);
    }
    if timebase.timeline == Timeline::Synthetic {
        text.push_str(" timeline=synthetic");
    }
    text.push('\n');
    let said = block.events.iter().filter(|event| lex::spelling(event.kind).is_some());
    for event in said {
        line(block, event, &mut text).expect("writing to a String cannot fail");
    }
    text
}

fn unit(timebase: &Timebase) -> Option<&'static str> {
    ["ns", "us", "ms", "s", "ps", "cycles", "instructions"]
        .into_iter()
        .find(|unit| crate::text::tick_unit(unit) == Some(timebase.unit))
}

fn line(block: &Emitter, event: &Event, text: &mut String) -> std::fmt::Result {
    match event.time {
        UNSTATED => text.push('-'),
        time => write!(text, "{time}")?,
    }
    let LaneKey { cpu, thread } = &block.lanes[event.lane.0 as usize];
    if let Some(cpu) = cpu {
        write!(text, " cpu{cpu}")?;
    }
    if *thread != ThreadKey::Unstated && event.kind != EventKind::Switch {
        write!(text, " {}", spell_thread(thread))?;
    }
    let verb = lex::spelling(event.kind).unwrap_or_default();
    write!(text, " {}", String::from_utf8_lossy(verb))?;
    let thread_of_extra = || {
        let lane = LaneRef(event.extra as u32);
        spell_thread(&block.lanes[lane.0 as usize].thread)
    };
    if lex::takes_depth(event.kind) && event.name != NameRef::ANONYMOUS {
        write!(text, " {}", spell_func(&block.names[event.name.0 as usize], event.kind))?;
    }
    match event.kind {
        EventKind::Leaf | EventKind::Return => write!(text, " {}", event.duration)?,
        EventKind::Gap if event.duration != UNSTATED => write!(text, " {}", event.duration)?,
        EventKind::Switch => {
            write!(text, " {} {}", thread_of_extra(), spell_thread(thread))?;
            if event.duration == 1 {
                text.push_str(" preempted");
            }
        }
        EventKind::Wake => write!(text, " {}", thread_of_extra())?,
        EventKind::RunsNow if event.extra != UNSTATED => write!(text, " {}", thread_of_extra())?,
        EventKind::Enter
        | EventKind::Exit
        | EventKind::Mark
        | EventKind::Seen
        | EventKind::Gap
        | EventKind::RunsNow
        | EventKind::Fork
        | EventKind::ThreadExit
        | EventKind::InterruptEnter
        | EventKind::InterruptExit
        | EventKind::SwitchTagEnter
        | EventKind::SwitchTagExit
        | EventKind::Complete
        | EventKind::Settle
        | EventKind::Describe
        | EventKind::Pass => {}
    }
    let has_wall = matches!(event.kind, EventKind::Enter | EventKind::Exit);
    if has_wall && event.duration != UNSTATED {
        write!(text, " wall={}", event.duration)?;
    }
    if event.kind == EventKind::Enter && event.extra != UNSTATED {
        write!(text, " net={}", event.extra)?;
    }
    if lex::takes_depth(event.kind) && event.depth != NO_DEPTH {
        write!(text, " depth={}", event.depth)?;
    }
    text.push('\n');
    Ok(())
}

/// A thread as a line names it. A thread that nothing is known of is called `?`.
fn spell_thread(thread: &ThreadKey) -> String {
    match thread {
        ThreadKey::Unstated => "?".into(),
        ThreadKey::Idle => "idle".into(),
        ThreadKey::Tid(tid, name) | ThreadKey::Member { tid, name, .. } if name.is_empty() => {
            format!("#{tid}")
        }
        ThreadKey::Tid(tid, name) | ThreadKey::Member { tid, name, .. } if is_simple(name) => {
            format!("{name}-{tid}")
        }
        ThreadKey::Tid(tid, name) | ThreadKey::Member { tid, name, .. } => {
            format!("{}-{tid}", quoted(name))
        }
        ThreadKey::Named(name) if is_simple(name) && !name.contains('-') && name != "idle" => {
            name.clone()
        }
        ThreadKey::Named(name) => quoted(name),
    }
}

/// A function as a line names it.
fn spell_func(func: &Func, verb: EventKind) -> String {
    let ends_plainly = func.name.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let is_plain = is_simple(&func.name) && ends_plainly && !func.name.contains('=');
    let mut text = if is_plain { func.name.clone() } else { quoted(&func.name) };
    if let Some(module) = &func.module {
        let word = module.replace(|c: char| c.is_ascii_whitespace() || c == '[', "_");
        text.extend(["[", &word, "]"]);
    }
    let by_verb = lex::kind_by_verb(verb) == func.kind;
    let mark = lex::MARKS.iter().find(|(_, kind)| *kind == func.kind && !by_verb);
    text.extend(mark.map(|&(mark, _)| char::from(mark)));
    text
}

/// Whether `name` is one word that is read as a name.
fn is_simple(name: &str) -> bool {
    let mut words = Words::new(name.as_bytes());
    let Some(word) = words.next() else {
        return false;
    };
    word.spelling == name.as_bytes()
        && !word.quoted
        && !name.starts_with(['#', '"', '-'])
        && lex::verb(&word).is_none()
        && lex::cpu(&word).is_none()
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace(['"', '\n'], "'"))
}
