//! Records of a log as calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use profctl_model::diag::codes::SKIPPED_RECORD;
use profctl_model::{Func, FuncKind};

use super::NO_LENGTH;
use super::clock::{Clock, ClockState};
use super::leader::{Leader, Who};
use super::line::{Line, What, before_message, parse};
use crate::emit::{At, Emitter, LaneKey, LaneRef, NameRef, Stated, ThreadKey, ThreadName};
use crate::importer::{Block, Reader, State};
use crate::text;

/// Which tool wrote the log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Flavor {
    /// Every call is a system call, and none is inside another.
    Strace,
    /// Calls of library functions, and with `-S` system calls inside them.
    Ltrace,
}

/// What is known of a file before it is read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stream {
    /// The thread whose file it is (`-ff`).
    pub(crate) tid: Option<u64>,
    /// The process that was there first, see [`super::Survey::root`].
    pub(crate) root: Option<u64>,
}

/// Reads a log.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    pub(super) flavor: Flavor,
    /// Nothing if the log has no times.
    pub(super) clock: Option<Clock>,
    pub(super) streams: Arc<[Stream]>,
}

/// What has to be remembered from one block to the next.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Progress {
    clock: ClockState,
    /// The processes that run, in output that names them only while there are several.
    alive: Option<Vec<u64>>,
    /// What threads execute whose call is not done yet.
    execs: BTreeMap<u64, Box<[u8]>>,
}

/// Names of 15 bytes are what the kernel keeps of a program's.
const COMM: usize = 15;

impl Reader for Lines {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(self.clone())
    }

    /// Before the last line that does not go on with the one before it.
    fn boundary(&self, bytes: &[u8]) -> usize {
        let mut end = text::last_line_boundary(bytes);
        while end > 0 {
            let start = text::last_line_boundary(&bytes[..end - 1]);
            if matches!(parse(&bytes[start..end - 1]), Line::Record(..)) {
                return start;
            }
            end = start;
        }
        0
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let before = state.downcast_ref::<Progress>().cloned().unwrap_or_default();
        let stream = self.streams.get(block.stream).copied().unwrap_or_default();
        let mut log = Log { lines: self, stream, progress: before.clone() };
        let mut torn: Option<text::Line<'_>> = None;
        for line in text::lines(block.bytes) {
            out.lines += 1;
            let found = parse(line.text);
            if let Some(first) = torn.take() {
                if found == Line::Other && log.rejoined(first, line, out) {
                    continue;
                }
                skip(first, out);
            }
            match found {
                Line::Record(leader, what) => log.record(leader, what, line, out),
                Line::Attached(tid) => log.alive(tid),
                Line::Torn if line.ended => torn = Some(line),
                Line::Torn | Line::Other => skip(line, out),
                Line::Aside => {}
            }
        }
        if let Some(line) = torn {
            skip(line, out);
        }
        (log.progress != before).then(|| Arc::new(log.progress) as State)
    }
}

/// One block as it is read.
struct Log<'a> {
    lines: &'a Lines,
    stream: Stream,
    progress: Progress,
}

impl Log<'_> {
    /// Says what two lines say that are one, if they are.
    fn rejoined(
        &mut self,
        first: text::Line<'_>,
        second: text::Line<'_>,
        out: &mut Emitter,
    ) -> bool {
        let (begun, attached) = before_message(first.text);
        let whole = [begun, second.text].concat();
        let Line::Record(leader, what) = parse(&whole) else { return false };
        let line = text::Line { offset: first.offset, text: &whole, ended: second.ended };
        self.record(leader, what, line, out);
        if let Some(tid) = attached {
            self.alive(tid);
        }
        true
    }

    fn record(
        &mut self,
        leader: Leader<'_>,
        what: What<'_>,
        line: text::Line<'_>,
        out: &mut Emitter,
    ) {
        if let What::Call { length: None, .. } | What::Resumed { length: None, .. } = what
            && !line.ended
        {
            // A truncated record may be incomplete.
            return skip(line, out);
        }
        out.records += 1;
        let time = match (self.lines.clock, leader.stamp) {
            (Some(clock), Some(stamp)) => Some(clock.time(stamp, &mut self.progress.clock)),
            (Some(_), None) => {
                let shown = text::excerpt(line.text);
                out.diag(&SKIPPED_RECORD, line.offset, || format!("no time in `{shown}`"));
                return;
            }
            (None, _) => None,
        };
        let tid = self.who(leader.who);
        let at = At { time, lane: lane(tid, leader.who.name, out), offset: line.offset };
        match what {
            What::Call { name, arguments, result, length } => {
                let func = self.name(name, out);
                match length {
                    Some(length) => out.leaf(at, func, Stated::wall(length.nanos)),
                    None => {
                        out.unmeasured(at, func);
                        out.diag(&NO_LENGTH, line.offset, || {
                            format!("`{}` has no duration", text::excerpt(line.text))
                        });
                    }
                }
                self.result(name, arguments, result, at, tid, out);
            }
            // The thread was killed in its call, or a call that was resumed is interrupted again.
            What::Resumed { result: b"?", length: None, .. } | What::Open { name: [], .. } => {}
            What::Open { name, arguments } => {
                let func = self.name(name, out);
                out.enter(at, func, Stated::NOTHING);
                if let (b"execve", Some(tid), Some(program)) = (name, tid, program(arguments)) {
                    self.progress.execs.insert(tid, program.into());
                }
            }
            What::Resumed { name, result, length } => {
                let func = self.name(name, out);
                let wall = length.map(|length| length.nanos);
                out.exit(at, Some(func), Stated { wall, ..Stated::NOTHING });
                self.result(name, &[], result, at, tid, out);
            }
            What::Signal { name, text } => {
                let name = String::from_utf8_lossy(name);
                let func = out.func(&name, FuncKind::Mark);
                out.instant_with(at, func, &String::from_utf8_lossy(text));
            }
            What::Exit { text } => {
                let func = out.func("exit", FuncKind::Mark);
                out.instant_with(at, func, &String::from_utf8_lossy(text));
                out.thread_exit(at);
                if let (Some(alive), Some(tid)) = (&mut self.progress.alive, tid) {
                    alive.retain(|other| *other != tid);
                }
            }
        }
    }

    /// What the result of a call says of threads.
    fn result(
        &mut self,
        name: &[u8],
        arguments: &[u8],
        result: &[u8],
        at: At,
        tid: Option<u64>,
        out: &mut Emitter,
    ) {
        let name = name.strip_prefix(b"SYS_").unwrap_or(name);
        let id = result.split(|byte| !byte.is_ascii_digit()).next().unwrap_or_default();
        match name {
            b"clone" | b"clone3" | b"fork" | b"vfork" => {
                if let Some(child) = text::decimal(id, 0).filter(|child| *child > 0) {
                    let child = lane(Some(child), &[], out);
                    out.fork(at, child);
                }
            }
            b"execve" => {
                let Some(tid) = tid else { return };
                let earlier = self.progress.execs.remove(&tid);
                let path = program(arguments).or(earlier.as_deref());
                if let Some(path) = path.filter(|_| id == b"0") {
                    let named = lane(Some(tid), path, out);
                    let name = ThreadName { tid: Some(tid), ..ThreadName::default() };
                    out.name_thread(named, at.offset, name);
                }
            }
            _ => {}
        }
    }

    fn who(&mut self, who: Who<'_>) -> Option<u64> {
        if self.stream.tid.is_some() {
            return self.stream.tid;
        }
        if !who.is_labeled && who.tid.is_some() {
            return who.tid;
        }
        // Output to a terminal: lines without an id are of the only process that is left.
        let root = self.stream.root?;
        if let Some(tid) = who.tid {
            self.alive(tid);
            return Some(tid);
        }
        match self.progress.alive.as_deref() {
            Some([only]) => Some(*only),
            _ => Some(root),
        }
    }

    fn alive(&mut self, tid: u64) {
        let Some(root) = self.stream.root else { return };
        let alive = self.progress.alive.get_or_insert_with(|| vec![root]);
        if !alive.contains(&tid) {
            alive.push(tid);
        }
    }

    fn name(&self, name: &[u8], out: &mut Emitter) -> NameRef {
        let flavor = self.lines.flavor;
        out.name(name, |name| describe(name, flavor))
    }
}

#[cold]
fn skip(line: text::Line<'_>, out: &mut Emitter) {
    out.records += 1;
    out.refuse(&line, "`[PID] TIME NAME(…) = RESULT <LENGTH>`");
}

fn describe(name: &[u8], flavor: Flavor) -> Func {
    let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    if flavor == Flavor::Strace {
        return Func { name: text(name), kind: FuncKind::Syscall, ..Func::default() };
    }
    if let Some(name) = name.strip_prefix(b"SYS_") {
        return Func { name: text(name), kind: FuncKind::Syscall, ..Func::default() };
    }
    // `libc.so.6->malloc`: from where a symbol is called, or what defines it.
    match memchr::memmem::find(name, b"->") {
        Some(at) => {
            Func { name: text(&name[at + 2..]), module: Some(text(&name[..at])), ..Func::default() }
        }
        None => Func { name: text(name), ..Func::default() },
    }
}

fn lane(tid: Option<u64>, name: &[u8], out: &mut Emitter) -> LaneRef {
    let thread = match tid {
        Some(tid) => ThreadKey::Tid(tid, String::from_utf8_lossy(name).into_owned()),
        None => ThreadKey::Unstated,
    };
    out.lane(LaneKey { cpu: None, thread })
}

/// The name that the kernel gives to a thread that executes a file: the last part of its path.
fn program(arguments: &[u8]) -> Option<&[u8]> {
    let path = arguments.strip_prefix(b"\"")?;
    let end = memchr::memchr(b'"', path)?;
    let name = path[..end].rsplit(|byte| *byte == b'/').next()?;
    let name = &name[..name.len().min(COMM)];
    (!name.is_empty() && !name.contains(&b'\\')).then_some(name)
}
