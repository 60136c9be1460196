//! Records to lines.

use std::fmt::Write;

use profctl_model::hash::FastMap;
use profctl_model::{Code, Func, TickUnit, Timebase, Timeline};

use super::MAGIC;
use super::lex::{self, Verb, Words};
use super::parse;
use crate::emit::{
    At, BlockEvents, Emitter, LaneKey, LaneRef, NameRef, PrevState, Record, Stated, ThreadKey,
    Total, WakerContext, Waking, WakingKind,
};
use crate::formats::Quirks;

/// The events of `block` in the plain format, under a header of its unit and its timeline.
pub fn write(block: &Emitter, timebase: &Timebase) -> String {
    let mut text = format!("{MAGIC} 1");
    unit(timebase, &mut text);
    text.push('\n');
    let said = Said { names: &block.names, lanes: &block.lanes };
    said.write(block.said(), &block.totals, &mut text);
    text
}

/// The header line.
pub(crate) fn header(timebase: &Timebase, counter_bits: Option<u32>, quirks: &Quirks) -> String {
    let mut text = format!("{MAGIC} 1");
    unit(timebase, &mut text);
    if timebase.resolution.0 > 1 {
        text.extend([" resolution=", &timebase.resolution.0.to_string()]);
    }
    if let Some(bits) = counter_bits {
        text.extend([" counter-bits=", &bits.to_string()]);
    }
    if !quirks.leaf_ends_are_stamps {
        text.push_str(" leaf-ends=rough");
    }
    if quirks.exits_may_be_late {
        text.push_str(" exits=late");
    }
    if quirks.entries_may_tie {
        text.push_str(" entries=tied");
    }
    text.push('\n');
    for LaneKey { cpu, thread } in &quirks.initial {
        let cpu = cpu.map_or(String::new(), |cpu| format!("cpu{cpu} "));
        text.extend(["- ", &cpu, &spell_thread(thread), " runs\n"]);
    }
    text
}

fn unit(timebase: &Timebase, text: &mut String) {
    let known = ["ns", "us", "ms", "s", "ps", "cycles", "instructions"];
    let is_it = |unit: &&&str| crate::text::tick_unit(unit) == Some(timebase.unit);
    match (known.iter().find(is_it), timebase.unit) {
        (Some(unit), _) => text.extend([" unit=", unit]),
        (None, TickUnit::Seconds { numerator, denominator }) => {
            text.extend([" unit=", &format!("{numerator}/{denominator}s")]);
        }
        (None, TickUnit::Cycles | TickUnit::Instructions) => {}
    }
    if timebase.timeline == Timeline::Synthetic {
        text.push_str(" timeline=synthetic");
    }
}

/// How often each diagnostic was met, a line each.
pub(crate) fn diags(counts: &FastMap<&'static str, u64>, text: &mut String) {
    let mut counts: Vec<_> = counts.iter().collect();
    counts.sort();
    for (code, n) in counts {
        text.extend(["- diag ", code, " ", &n.to_string(), "\n"]);
    }
}

/// Adds the diagnostics of a block to `counts`.
pub(crate) fn count(block: &BlockEvents, counts: &mut FastMap<&'static str, u64>) {
    let kept = block.diags.iter().map(|diag| (diag.code, 1));
    let all: Vec<(&'static Code, u64)> = kept.chain(block.more_diags.iter().copied()).collect();
    for (code, n) in all {
        *counts.entry(code.name).or_default() += n;
    }
}

/// What the references of records refer to.
#[derive(Clone, Copy)]
pub(crate) struct Said<'a> {
    pub(crate) names: &'a [Func],
    pub(crate) lanes: &'a [LaneKey],
}

impl Said<'_> {
    /// Writes records, a line each.
    pub(crate) fn write<'r>(
        &self,
        records: impl Iterator<Item = (At, Record<'r>)>,
        totals: &[Total],
        text: &mut String,
    ) {
        let fail = "writing to a String cannot fail";
        for total in totals {
            self.total(total, text).expect(fail);
        }
        for (at, record) in records {
            self.line(at, record, text).expect(fail);
        }
    }

    fn total(&self, total: &Total, text: &mut String) -> std::fmt::Result {
        text.push('-');
        self.lane(total.lane, true, text)?;
        let Total { name, calls, elapsed, net, .. } = total;
        write!(text, " sum {}", self.func(*name, Verb::Sum))?;
        writeln!(text, " calls={calls} elapsed={elapsed} net={net}{}", self.address(Some(*name)))
    }

    fn lane(&self, lane: LaneRef, with_thread: bool, text: &mut String) -> std::fmt::Result {
        let LaneKey { cpu, thread } = &self.lanes[lane.0 as usize];
        if let Some(cpu) = cpu {
            write!(text, " cpu{cpu}")?;
        }
        if with_thread && *thread != ThreadKey::Unstated {
            write!(text, " {}", spell_thread(thread))?;
        }
        Ok(())
    }

    fn thread(&self, lane: LaneRef) -> String {
        spell_thread(&self.lanes[lane.0 as usize].thread)
    }

    fn func(&self, name: NameRef, verb: Verb) -> String {
        spell_func(&self.names[name.0 as usize], verb)
    }

    /// The field with the address of a function, if it is known.
    fn address(&self, name: Option<NameRef>) -> String {
        let address = name.and_then(|name| self.names[name.0 as usize].address);
        address.map_or(String::new(), |address| format!(" addr={address:#x}"))
    }

    fn line(&self, at: At, record: Record<'_>, text: &mut String) -> std::fmt::Result {
        match at.time {
            Some(time) => write!(text, "{time}")?,
            None => text.push('-'),
        }
        let is_switch = matches!(record, Record::SchedSwitch { .. });
        self.lane(at.lane, !is_switch, text)?;
        let stated_as = |verb: Verb, name: NameRef| {
            let spelling = lex::VERBS.iter().find(|(_, known)| *known == verb);
            format!("{} {}", spelling.map_or("", |known| known.0), self.func(name, verb))
        };
        text.push(' ');
        let mut named = None;
        let mut more = Stated::NOTHING;
        match record {
            Record::Enter { name, stated } => {
                text.push_str(&stated_as(Verb::Enter, name));
                (named, more) = (Some(name), stated);
            }
            Record::Exit { name, stated } => {
                let spelled = name.map(|name| stated_as(Verb::Exit, name));
                text.push_str(spelled.as_deref().unwrap_or("<"));
                (named, more) = (name, Stated { net: None, ..stated });
            }
            Record::Leaf { name, stated } | Record::Returned { name, stated } => {
                let is_leaf = matches!(record, Record::Leaf { .. });
                let verb = if is_leaf { Verb::Leaf } else { Verb::Returned };
                write!(text, "{} {}", stated_as(verb, name), stated.wall.unwrap_or(0))?;
                (named, more) = (Some(name), Stated { depth: stated.depth, ..Stated::NOTHING });
            }
            // Only readers that are sorted say it, and sorting makes entries and exits of it.
            Record::Complete { name, wall, depth } => {
                write!(text, "{} {wall}", stated_as(Verb::Leaf, name))?;
                (named, more) = (Some(name), Stated { depth, ..Stated::NOTHING });
            }
            Record::Instant { name, detail } => {
                text.push_str(&stated_as(Verb::Instant, name));
                if let Some(detail) = detail {
                    write!(text, " {}", quoted(detail))?;
                }
                named = Some(name);
            }
            Record::Within { name, depth } => {
                text.push_str(&stated_as(Verb::Within, name));
                (named, more) = (Some(name), Stated { depth, ..Stated::NOTHING });
            }
            Record::SwitchTag { name, entered } => {
                let verb = if entered { Verb::TagEnter } else { Verb::TagExit };
                text.push_str(&stated_as(verb, name));
                named = Some(name);
            }
            Record::PartialEnd { name, entry_seen } => {
                text.push_str(&stated_as(Verb::PartialEnd, name));
                text.push_str(if entry_seen { " seen=entry" } else { "" });
                named = Some(name);
            }
            Record::Lost { events: Some(events) } => write!(text, "lost {events}")?,
            Record::Lost { events: None } => text.push_str("lost"),
            Record::RunsNow { before: Some(before) } => {
                write!(text, "runs {}", self.thread(before))?;
            }
            Record::RunsNow { before: None } => text.push_str("runs"),
            Record::SchedSwitch { prev, prev_state } => {
                let from = prev.map_or("?".into(), |prev| self.thread(prev));
                write!(text, "switch {from} {}{}", self.thread(at.lane), spell_state(prev_state))?;
            }
            Record::Waking { target, waking } => {
                write!(text, "wake {}{}", self.thread(target), spell_waking(waking))?;
            }
            Record::Fork { child } => write!(text, "fork {}", self.thread(child))?,
            Record::ThreadExit => text.push_str("exits"),
            Record::IrqEnter => text.push_str("irq>"),
            Record::IrqExit => text.push_str("irq<"),
            Record::NameThread(thread) => {
                text.push_str("is");
                for (key, value) in [("tid", thread.tid), ("pid", thread.pid)] {
                    if let Some(value) = value {
                        write!(text, " {key}={value}")?;
                    }
                }
                if thread.idle {
                    text.push_str(" idle=1");
                }
            }
            Record::Incomplete(fidelity) => {
                text.push_str("incomplete");
                text.push_str(match (fidelity.start_inferred, fidelity.end_inferred) {
                    (false, false) => "",
                    (true, false) => " seen=exit",
                    (false, true) => " seen=entry",
                    (true, true) => " seen=neither",
                });
                text.push_str(if fidelity.at_gap { " gap=1" } else { "" });
            }
            Record::Share { tid } => write!(text, "shared {tid}")?,
            Record::Covers => text.push_str("covers"),
            Record::Advance { ticks } => write!(text, "advance {ticks}")?,
        }
        for (key, value) in [("wall", more.wall), ("net", more.net)] {
            if let Some(value) = value {
                write!(text, " {key}={value}")?;
            }
        }
        if let Some(depth) = more.depth {
            write!(text, " depth={depth}")?;
        }
        text.push_str(&self.address(named));
        text.push('\n');
        Ok(())
    }
}

fn spell_state(state: PrevState) -> String {
    match state {
        PrevState::Sleeping => String::new(),
        PrevState::Runnable => " preempted".into(),
        PrevState::Preempted => " state=R+".into(),
        PrevState::Uninterruptible => " state=D".into(),
        PrevState::Stopped => " state=T".into(),
        PrevState::Dead => " state=X".into(),
        PrevState::Unknown(letter) => format!(" state={}", char::from(letter)),
    }
}

fn spell_waking(waking: Waking) -> String {
    let kind = match waking.kind {
        WakingKind::Wakeup => "",
        WakingKind::Waking => " kind=waking",
        WakingKind::WakeupNew => " kind=new",
    };
    let cpu = waking.target_cpu.map_or(String::new(), |cpu| format!(" cpu={cpu}"));
    let by = match waking.context {
        WakerContext::Unknown => "",
        WakerContext::Task => " by=task",
        WakerContext::HardIrq => " by=hardirq",
        WakerContext::SoftIrq => " by=softirq",
        WakerContext::HardAndSoftIrq => " by=both",
    };
    format!("{kind}{cpu}{by}")
}

/// A thread as a line names it. A thread that nothing is known of is called `?`.
fn spell_thread(thread: &ThreadKey) -> String {
    let with_ids = |name: &str, ids: String| match name {
        "" => format!("#{ids}"),
        name if is_simple(name) => format!("{name}-{ids}"),
        name => format!("{}-{ids}", quoted(name)),
    };
    match thread {
        ThreadKey::Unstated => "?".into(),
        ThreadKey::Idle => "idle".into(),
        ThreadKey::Tid(tid, name) => with_ids(name, tid.to_string()),
        ThreadKey::Member { pid, tid, name } => with_ids(name, format!("{pid}/{tid}")),
        ThreadKey::Named(name) if is_simple(name) && !name.contains('-') && name != "idle" => {
            name.clone()
        }
        ThreadKey::Named(name) => quoted(name),
    }
}

/// A function as a line names it. A blank in a module becomes `_`.
fn spell_func(func: &Func, verb: Verb) -> String {
    let ends_plainly = func.name.ends_with(|c: char| c.is_alphanumeric() || c == '_');
    let module = func.module.as_deref().unwrap_or_default();
    let is_plain =
        is_simple(&func.name) && ends_plainly && !func.name.contains('=') && !module.contains('[');
    let mut text = if is_plain { func.name.clone() } else { quoted(&func.name) };
    if func.module.is_some() {
        let word = module.replace(|c: char| c.is_ascii_whitespace(), "_");
        text.extend(["[", &word, "]"]);
    }
    let by_verb = verb.kind() == func.kind;
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
        && !name.starts_with(['#', '"', '-', '?'])
        && lex::verb(&word).is_none()
        && lex::cpu(&word).is_none()
        && !parse::is_field(&word)
        && name != "preempted"
}

/// A word in quotes. A line end, which no line can hold, becomes a blank.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\"").replace(['\n', '\r'], " "))
}
