//! What a tracefs text says of its threads, by looking at each thread alone.
//!
//! The stitcher keeps all threads in one state machine that goes forward record by record. Here
//! the switches of one thread are paired first: between two of them it either ran, or was away.
//! What ended an interval away is looked up among the wakings that lie in it. The path ([`path`])
//! goes through these pieces by recursion.

mod lines;
mod path;

use std::collections::{BTreeMap, BTreeSet};

use lines::{Context, Line, What};
pub use path::Segment;

/// What a thread did.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Doing {
    /// It ran.
    Running,
    /// It waited for a CPU after a waking.
    Woken,
    /// It waited for a CPU that it had left while it could have run on.
    Preempted,
    /// It waited for its first CPU.
    New,
    /// It was blocked, and a signal would have ended that.
    Sleeping,
    /// It was blocked, and no signal would have ended that.
    Uninterruptible,
    /// It was stopped.
    Stopped,
    /// Nothing tells.
    Unknown,
}

/// Who ended a wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ended {
    /// A thread.
    By(u64),
    /// An interrupt, or the idle loop.
    ByInterrupt,
}

/// An interval of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece {
    /// From, in nanoseconds.
    pub from: u64,
    /// To.
    pub to: u64,
    /// What it did.
    pub doing: Doing,
    /// Where it ran.
    pub cpu: Option<u32>,
    /// Who made it runnable: of [`Doing::Woken`] and [`Doing::New`].
    pub waker: Option<Ended>,
}

/// A thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Life {
    /// Its intervals, one behind the other, from the beginning of the text or its creation to the
    /// end of the text or its death.
    pub pieces: Vec<Piece>,
    /// When it was created, if that was recorded.
    pub created: Option<u64>,
    /// When it asked to exit.
    pub exited: Option<u64>,
    /// Whether it left a CPU for good.
    pub has_exited: bool,
}

impl Life {
    /// The time in a state.
    pub fn sum(&self, doing: Doing) -> u64 {
        let pieces = self.pieces.iter().filter(|piece| piece.doing == doing);
        pieces.map(|piece| piece.to - piece.from).sum()
    }

    /// From wakings to the runs that followed, in order.
    pub fn latencies(&self) -> Vec<u64> {
        let pairs = self.pieces.windows(2);
        let woken =
            pairs.filter(|pair| pair[0].doing == Doing::Woken && pair[1].doing == Doing::Running);
        woken.map(|pair| pair[0].to - pair[0].from).collect()
    }

    /// The beginning of what is known of it, and the end: its exit, if that was recorded.
    pub fn window(&self) -> Option<(u64, u64)> {
        let known = |piece: &&Piece| piece.doing != Doing::Unknown && piece.from < piece.to;
        let from = self.pieces.iter().find(known)?.from;
        let to = self.pieces.iter().rfind(known)?.to;
        Some((from, self.exited.unwrap_or(to)))
    }
}

/// A CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cpu {
    /// Time in threads.
    pub busy: u64,
    /// Time in its idle task.
    pub idle: u64,
}

/// A text.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// The first time.
    pub first: u64,
    /// The last time.
    pub last: u64,
    /// Threads by id, but for the idle tasks.
    pub threads: BTreeMap<u64, Life>,
    /// CPUs by number.
    pub cpus: BTreeMap<u32, Cpu>,
}

/// What one record says of one thread.
#[derive(Clone, Copy, Debug)]
enum Fact {
    In(u32),
    Out(u8),
    Waking(Ended),
    Wakeup,
    New(Ended),
    /// It made a record itself, on a CPU.
    Ran(u32),
}

/// Evaluates `text`.
pub fn evaluate(text: &str) -> Report {
    let lines = lines::all(text);
    let mut report = Report {
        first: lines.first().map_or(0, |line| line.time),
        last: lines.last().map_or(0, |line| line.time),
        ..Report::default()
    };
    let facts = facts(&lines, &mut report.threads);
    for (tid, facts) in facts {
        let life = report.threads.entry(tid).or_default();
        let first = life.created.unwrap_or(report.first);
        life.pieces = pieces(&facts, first, report.last, life);
    }
    for line in &lines {
        report.cpus.entry(line.cpu).or_default();
    }
    for piece in report.threads.values().flat_map(|life| &life.pieces) {
        if let (Doing::Running, Some(cpu)) = (piece.doing, piece.cpu) {
            report.cpus.entry(cpu).or_default().busy += piece.to - piece.from;
        }
    }
    for (&cpu, sums) in &mut report.cpus {
        sums.idle = idle(&lines, cpu, report.last);
    }
    report
}

impl Report {
    /// The path of a thread through its life.
    pub fn path(&self, tid: u64) -> Vec<Segment> {
        path::of(self, tid)
    }
}

/// Assigns the records to the threads that they are about, and notes lives.
fn facts(lines: &[Line], lives: &mut BTreeMap<u64, Life>) -> BTreeMap<u64, Vec<(u64, Fact)>> {
    let mut facts: BTreeMap<u64, Vec<(u64, Fact)>> = BTreeMap::new();
    let mut serving = Serving::default();
    for line in lines {
        serving.take(line);
        let at = line.time;
        let is_interrupt = line.tid == 0 || serving.is_interrupt(line);
        let by = if is_interrupt { Ended::ByInterrupt } else { Ended::By(line.tid) };
        let mut add = |tid: u64, fact| {
            if tid != 0 {
                facts.entry(tid).or_default().push((at, fact));
            }
        };
        if line.tid != 0 {
            add(line.tid, Fact::Ran(line.cpu));
        }
        match line.what {
            What::Switch(prev, letter, next) => {
                add(prev, Fact::Out(letter));
                add(next, Fact::In(line.cpu));
            }
            What::Waking(tid) => add(tid, Fact::Waking(by)),
            What::Wakeup(tid) => add(tid, Fact::Wakeup),
            What::WakeupNew(tid) => add(tid, Fact::New(by)),
            What::Fork(tid) => {
                lives.entry(tid).or_default().created.get_or_insert(at);
                add(tid, Fact::New(Ended::By(line.tid)));
            }
            What::Exit => lives.entry(line.tid).or_default().exited = Some(at),
            What::Interrupt(_) | What::Enter(_) | What::Leave(_) | What::Other => {}
        }
    }
    facts
}

/// Which CPUs serve interrupts, for texts without flags.
#[derive(Default)]
struct Serving {
    /// Interrupts open by events.
    events: BTreeMap<u32, u32>,
    /// Functions open that only interrupts call, by CPU and thread.
    functions: BTreeSet<(u32, u64, String)>,
}

impl Serving {
    fn take(&mut self, line: &Line) {
        let open = self.events.entry(line.cpu).or_default();
        match &line.what {
            What::Interrupt(true) => *open += 1,
            What::Interrupt(false) => *open = open.saturating_sub(1),
            // An interrupt does not switch threads.
            What::Switch(..) => *open = 0,
            What::Enter(name) if is_handler(name) => {
                self.functions.insert((line.cpu, line.tid, name.clone()));
            }
            What::Leave(name) => {
                self.functions.remove(&(line.cpu, line.tid, name.clone()));
            }
            _ => {}
        }
    }

    fn is_interrupt(&self, line: &Line) -> bool {
        match line.context {
            Context::Task => false,
            Context::Interrupt => true,
            Context::Unstated => {
                let handler = (line.cpu, line.tid, String::new());
                let of_thread = self.functions.range(handler..).next();
                self.events.get(&line.cpu).is_some_and(|open| *open > 0)
                    || of_thread.is_some_and(|(cpu, tid, _)| (*cpu, *tid) == (line.cpu, line.tid))
            }
        }
    }
}

fn is_handler(name: &str) -> bool {
    name.starts_with("__sysvec_")
        || matches!(name, "irq_enter_rcu" | "irq_exit_rcu" | "__common_interrupt" | "__do_softirq")
}

/// The intervals of a thread from what is known of it.
fn pieces(facts: &[(u64, Fact)], first: u64, last: u64, life: &mut Life) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    // Where the thread is switched, in and out by turns.
    let switches: Vec<usize> =
        (0..facts.len()).filter(|&n| matches!(facts[n].1, Fact::In(_) | Fact::Out(_))).collect();
    let mut push = |from: u64, to: u64, doing, cpu, waker| {
        // A run of no length still ends a wait, and so does a waking that a run follows at once.
        let ends_wait = matches!(doing, Doing::Running | Doing::Woken);
        if from < to || ends_wait {
            pieces.push(Piece { from, to, doing, cpu, waker });
        }
    };
    let head = &facts[..switches.first().copied().unwrap_or(facts.len())];
    let end_of_head = switches.first().map_or(last, |&n| facts[n].0);
    let ends_running = switches.first().is_none_or(|&n| matches!(facts[n].1, Fact::Out(_)));
    head_of(head, first, end_of_head, ends_running, &mut push);
    for (n, &at) in switches.iter().enumerate() {
        let until = switches.get(n + 1).copied().unwrap_or(facts.len());
        let end = facts.get(until).map_or(last, |fact| fact.0);
        let (start, fact) = facts[at];
        // In twice, or out twice: what was between is not known.
        let next = facts.get(until).map(|fact| matches!(fact.1, Fact::In(_)));
        if next == Some(matches!(fact, Fact::In(_))) {
            push(start, end, Doing::Unknown, None, None);
            continue;
        }
        match fact {
            Fact::In(cpu) => push(start, end, Doing::Running, Some(cpu), None),
            Fact::Out(b'R') => push(start, end, Doing::Preempted, None, None),
            Fact::Out(b'X' | b'Z') => life.has_exited = true,
            Fact::Out(letter) => {
                let doing = match letter {
                    b'D' | b'K' => Doing::Uninterruptible,
                    b'T' | b't' | b'P' => Doing::Stopped,
                    b'S' | b'I' | b'W' => Doing::Sleeping,
                    _ => Doing::Unknown,
                };
                match woken(facts, at, until) {
                    Some((woken, by)) => {
                        let woken = woken.max(start);
                        push(start, woken, doing, None, None);
                        push(woken, end, Doing::Woken, None, by);
                    }
                    None => push(start, end, doing, None, None),
                }
            }
            Fact::Waking(_) | Fact::Wakeup | Fact::New(_) | Fact::Ran(_) => {}
        }
    }
    pieces
}

/// When and by whom a thread that left at `out` and came back at `back` was made runnable: by the
/// first waking in between; else by one before it left that a wakeup, or coming back, confirmed.
fn woken(facts: &[(u64, Fact)], out: usize, back: usize) -> Option<(u64, Option<Ended>)> {
    let between = &facts[out + 1..back];
    let early = facts[..out].iter().rev().map_while(|(at, fact)| match fact {
        Fact::In(_) | Fact::Wakeup => None,
        Fact::Waking(by) => Some(Some((*at, *by))),
        _ => Some(None),
    });
    let early = early.flatten().next();
    for (at, fact) in between {
        match fact {
            Fact::Waking(by) => return Some((*at, Some(*by))),
            Fact::Wakeup => {
                return Some(early.map_or((*at, None), |(at, by)| (at, Some(by))));
            }
            _ => {}
        }
    }
    let is_back = back < facts.len();
    early.filter(|_| is_back).map(|(at, by)| (at, Some(by)))
}

/// What is known before the first switch of a thread.
fn head_of(
    head: &[(u64, Fact)],
    first: u64,
    end: u64,
    ends_running: bool,
    push: &mut impl FnMut(u64, u64, Doing, Option<u32>, Option<Ended>),
) {
    let (mut since, mut doing, mut cpu, mut waker) = (first, Doing::Unknown, None, None);
    for &(at, fact) in head {
        let next = match (doing, fact) {
            (Doing::Unknown, Fact::Ran(cpu)) if ends_running => (Doing::Running, Some(cpu), None),
            (Doing::Unknown, Fact::Waking(by)) => (Doing::Woken, None, Some(by)),
            (Doing::Unknown, Fact::Wakeup) => (Doing::Woken, None, None),
            (Doing::Unknown, Fact::New(by)) => (Doing::New, None, Some(by)),
            _ => continue,
        };
        if since < at {
            push(since, at, doing, cpu, waker);
        }
        (since, (doing, cpu, waker)) = (at, next);
    }
    if since < end || doing == Doing::Woken {
        push(since, end, doing, cpu, waker);
    }
}

/// The time in which the idle task of a CPU ran: between its switches.
fn idle(lines: &[Line], cpu: u32, last: u64) -> u64 {
    let (mut sum, mut since) = (0, None);
    let of_cpu = lines.iter().filter(|line| line.cpu == cpu);
    let mut of_cpu = of_cpu.peekable();
    // The thread of the first record runs from there on.
    if let Some(line) = of_cpu.peek()
        && line.tid == 0
    {
        since = Some(line.time);
    }
    for line in of_cpu {
        match line.what {
            What::Switch(0, _, _) => {
                sum += line.time - since.take().unwrap_or(line.time);
            }
            What::Switch(_, _, 0) => since = Some(line.time),
            _ => {}
        }
    }
    sum + since.map_or(0, |since| last - since)
}
