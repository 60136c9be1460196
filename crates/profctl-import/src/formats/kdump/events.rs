//! Records of kdump as events.
//!
//! A system call is a call; a page fault is one too, inside the system call that it interrupted;
//! what a program logs about its own functions with `utrace(2)` nests with both. A context switch
//! takes the thread off the CPU, whichever that was. Names are those that the `ktrace` format gives
//! to the same records in the binary file.

use profctl_model::{Func, FuncKind};

use super::line::{Record, Who};
use crate::emit::{At, Emitter, LaneKey, LaneRef, NameRef, PrevState, Stated, ThreadKey};

/// What a page fault is called, a path that was looked up, and what a program logged that says
/// nothing to us.
const FAULT: &[u8] = b"page_fault";
const PATH: &[u8] = b"namei";
const LOGGED: &[u8] = b"utrace";

/// The module of what a program says of itself.
const PROGRAM: &str = "user";

/// Thread ids up to here may be those of old NetBSD, which counts from 1 in every process.
const OF_A_PROCESS: u64 = 1_000;

/// What marks an entry and an exit in what a program logs, by our own convention.
const USER_ENTER: &[u8] = b"pf>";
const USER_EXIT: &[u8] = b"pf<";

/// Makes events; remembers a record whose second line is still to come.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// An instant that the next line may turn into an entry or exit, and which of them its
    /// identifier says it is.
    logged: Option<(At, Option<Side>)>,
}

/// Which end of a call a program logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Entry,
    Exit,
}

/// The second line of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Detail<'a>(&'a [u8]);

impl<'a> Detail<'a> {
    /// The data between the quotes in `line`.
    pub(super) fn of(line: &'a [u8]) -> Self {
        let data = line.trim_ascii();
        let data = data.strip_prefix(b"\"").unwrap_or_default();
        Self(data.strip_suffix(b"\"").unwrap_or(data))
    }
}

impl Events {
    pub(super) fn record(
        &mut self,
        record: &Record<'_>,
        time: u64,
        offset: usize,
        out: &mut Emitter,
    ) {
        self.finish(out);
        let lane = lane(&record.who, out);
        let at = At { time: Some(time), lane, offset };
        match record.kind {
            b"CALL" => {
                let name = named(system_call(record.rest), FuncKind::Syscall, out);
                out.enter(at, name, Stated::NOTHING);
            }
            b"RET" => {
                let name = named(system_call(record.rest), FuncKind::Syscall, out);
                out.exit(at, Some(name), Stated::NOTHING);
            }
            b"PFLT" => {
                let name = named(FAULT, FuncKind::Function, out);
                out.enter(at, name, Stated::NOTHING);
            }
            b"PRET" => {
                let name = named(FAULT, FuncKind::Function, out);
                out.exit(at, Some(name), Stated::NOTHING);
            }
            b"NAMI" => {
                let name = named(PATH, FuncKind::Mark, out);
                out.instant(at, name);
            }
            b"PSIG" => {
                let name = named(first_word(record.rest), FuncKind::Mark, out);
                out.instant(at, name);
            }
            b"CSW" => switch(record.rest, at, out),
            b"USER" | b"MISC" => self.user(record.rest, at, out),
            _ => {}
        }
    }

    /// Lost records: what is open in any process may have ended meanwhile.
    pub(super) fn dropped(&mut self, offset: usize, out: &mut Emitter) {
        self.finish(out);
        let lane = nobody(out);
        out.lost(At { time: None, lane, offset }, None);
    }

    /// What a program logged: FreeBSD prints the bytes, or their meaning if it is known; the others
    /// an identifier, with the data on the lines behind.
    fn user(&mut self, rest: &[u8], at: At, out: &mut Emitter) {
        if let Some((side, name)) = bytes(rest).as_deref().and_then(convention) {
            announced(side, name, at, out);
            return;
        }
        let by_identifier = match identifier(rest) {
            USER_ENTER => Some(Side::Entry),
            USER_EXIT => Some(Side::Exit),
            _ => None,
        };
        self.logged = Some((at, by_identifier));
    }

    /// The line after a record: data that a program logged, if it was such a record.
    pub(super) fn detail(&mut self, detail: Detail<'_>, out: &mut Emitter) {
        let Some((at, by_identifier)) = self.logged else { return };
        let Detail(data) = detail;
        let by_identifier = by_identifier.map(|side| (side, function(data)));
        let found = convention(data).or(by_identifier).filter(|(_, name)| !name.is_empty());
        let Some((side, name)) = found else { return };
        self.logged = None;
        announced(side, name, at, out);
    }

    /// No line follows that could say more of the last record.
    pub(super) fn finish(&mut self, out: &mut Emitter) {
        if let Some((at, _)) = self.logged.take() {
            let name = of_the_program(LOGGED, FuncKind::Mark, out);
            out.instant(at, name);
        }
    }
}

/// What a program says of one of its own functions.
fn announced(side: Side, name: &[u8], at: At, out: &mut Emitter) {
    let name = of_the_program(name, FuncKind::Function, out);
    match side {
        Side::Entry => out.enter(at, name, Stated::NOTHING),
        Side::Exit => out.exit(at, Some(name), Stated::NOTHING),
    }
}

/// `pf> name` or `pf< name`.
fn convention(data: &[u8]) -> Option<(Side, &[u8])> {
    let (side, name) = match data.strip_prefix(USER_ENTER) {
        Some(name) => (Side::Entry, function(name)),
        None => (Side::Exit, function(data.strip_prefix(USER_EXIT)?)),
    };
    (!name.is_empty()).then_some((side, name))
}

/// The name in logged data: up to a NUL, or how kdump prints one.
fn function(data: &[u8]) -> &[u8] {
    let name = data.split(|&byte| byte == 0).next().unwrap_or_default();
    name.strip_suffix(b"\\0").unwrap_or(name).trim_ascii()
}

/// The bytes in `N  xx xx …`.
fn bytes(rest: &[u8]) -> Option<Vec<u8>> {
    let mut words = rest.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    let count = crate::text::decimal(words.next()?, 0)?;
    let bytes: Option<Vec<u8>> = words
        .map(|word| {
            let is_byte = word.len() == 2 && word.iter().all(u8::is_ascii_hexdigit);
            let digits = std::str::from_utf8(word).ok().filter(|_| is_byte)?;
            u8::from_str_radix(digits, 16).ok()
        })
        .collect();
    bytes.filter(|bytes| !bytes.is_empty() && bytes.len() as u64 <= count)
}

/// The identifier in `"id" N bytes` (NetBSD) or `id: N bytes` (OpenBSD).
fn identifier(rest: &[u8]) -> &[u8] {
    if let Some(quoted) = rest.strip_prefix(b"\"") {
        let end = memchr::memchr(b'"', quoted).unwrap_or(quoted.len());
        return &quoted[..end];
    }
    let end = memchr::memchr(b':', rest).unwrap_or(rest.len());
    &rest[..end]
}

/// A thread that leaves the CPU or is back on it. Which CPU is not said.
fn switch(rest: &[u8], at: At, out: &mut Emitter) {
    let nobody = nobody(out);
    match first_word(rest) {
        b"stop" => {
            // The second word says whether it was made to leave.
            let preempted = rest.trim_ascii_end().starts_with(b"stop user");
            let state = if preempted { PrevState::Runnable } else { PrevState::Sleeping };
            out.sched_switch(at, Some(at.lane), state, Some(nobody));
        }
        b"resume" => out.sched_switch(at, Some(nobody), PrevState::Sleeping, Some(at.lane)),
        _ => {}
    }
}

/// The name in `name(args)`, `name value`, `name[3](args)`; a number in brackets is the name of a
/// call that is unknown to kdump.
fn system_call(rest: &[u8]) -> &[u8] {
    let end = rest.iter().position(|byte| b"( ".contains(byte)).unwrap_or(rest.len());
    let name = &rest[..end];
    match memchr::memchr(b'[', name) {
        Some(at) if at > 0 && name.ends_with(b"]") => &name[..at],
        _ => name,
    }
}

fn first_word(text: &[u8]) -> &[u8] {
    text.split(|&byte| byte == b' ').next().unwrap_or_default()
}

/// One name may be that of a system call and of a mark.
fn named(name: &[u8], kind: FuncKind, out: &mut Emitter) -> NameRef {
    let key = [&[kind as u8], name].concat();
    out.name(&key, |_| Func {
        name: String::from_utf8_lossy(name).into_owned(),
        kind,
        ..Func::default()
    })
}

/// What the program says of itself is in a module of its own, so that its `read` is not the
/// system's.
fn of_the_program(name: &[u8], kind: FuncKind, out: &mut Emitter) -> NameRef {
    let key = [&[u8::MAX, kind as u8], name].concat();
    out.name(&key, |_| Func {
        name: String::from_utf8_lossy(name).into_owned(),
        module: Some(PROGRAM.to_owned()),
        kind,
        address: None,
    })
}

/// An unspecified thread.
fn nobody(out: &mut Emitter) -> LaneRef {
    out.lane(LaneKey { cpu: None, thread: ThreadKey::Unstated })
}

/// Threads are distinguished by the id that is unique: that of the thread, where it is printed and
/// not counted from 1 in every process.
fn lane(who: &Who<'_>, out: &mut Emitter) -> LaneRef {
    // Until it executes the program that is to be traced, a thread is ktrace itself, which is not
    // what it should be known by.
    let command = || match who.command {
        b"ktrace" => String::new(),
        command => String::from_utf8_lossy(command).into_owned(),
    };
    let thread = match who.tid {
        Some(tid @ 2..OF_A_PROCESS) if tid < who.pid => {
            ThreadKey::Named(format!("{}/{tid}", who.pid))
        }
        Some(tid) if tid > 1 => ThreadKey::Tid(tid, command()),
        Some(_) | None => ThreadKey::Tid(who.pid, command()),
    };
    out.lane(LaneKey { cpu: None, thread })
}
