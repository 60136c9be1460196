//! Changes of known size, planted in traces: what a comparison is to find, and what not.

use std::collections::BTreeMap;

use profctl_model::{
    CpuId, DiagLog, Fidelity, Func, FuncId, FuncKind, IdVec, Names, Span, SpanSink, Thread,
    ThreadId, Tick, Ticks, Timebase, Trace, TraceMeta,
};

use crate::generate::Random;

/// The calls of a run as trees, to be changed and told anew.
#[derive(Clone, Debug)]
pub struct Calls {
    /// Functions, threads and CPUs.
    pub names: Names,
    /// Clock and span of time.
    pub meta: TraceMeta,
    /// Outermost calls.
    pub roots: Vec<Root>,
}

/// An outermost call.
#[derive(Clone, Debug)]
pub struct Root {
    thread: ThreadId,
    cpu: Option<CpuId>,
    call: Call,
}

/// A call and what it calls.
#[derive(Clone, Debug)]
pub struct Call {
    func: FuncId,
    net: u64,
    /// Time off the CPU that is in none of its callees.
    off_cpu: u64,
    interrupt: bool,
    fidelity: Fidelity,
    below: Vec<Call>,
}

impl Call {
    fn wall(&self) -> u64 {
        self.net + self.off_cpu + self.below.iter().map(Call::wall).sum::<u64>()
    }

    fn each(&mut self, change: &mut dyn FnMut(&mut Call)) {
        change(self);
        self.below.iter_mut().for_each(|call| call.each(change));
    }
}

/// What is planted.
#[derive(Clone, PartialEq, Debug)]
pub enum Change {
    /// Every call of a function takes so many times as long, of its own time.
    Slower(String, f64),
    /// It is called twice wherever it was called once.
    CalledTwice(String),
    /// A function that was not there is called by every call of this one, and takes so many times its
    /// own time.
    New(String, f64),
    /// Every call of the first in the second is done in place.
    Inlined(String, String),
    /// Half of the own time of the first moves into the calls of the second that it makes.
    MovedDown(String, String),
    /// Half of the own time of the second moves up into its callers of the first name.
    MovedUp(String, String),
    /// It has another name, and takes so many times as long.
    RenamedAndSlower(String, f64),
    /// Everything is done twice.
    EverythingTwice,
    /// Everything takes so many times as long.
    EverythingSlower(f64),
}

/// The name of a function that was planted.
pub const NEW: &str = "planted_function";

/// What a renamed function is called after.
pub fn renamed(name: &str) -> String {
    format!("{name}_v2")
}

impl Calls {
    /// The calls of a trace.
    pub fn of(trace: &Trace) -> Self {
        let spans = &trace.spans;
        let mut below: BTreeMap<usize, Vec<Call>> = BTreeMap::new();
        let mut roots = Vec::new();
        for id in spans.ids().rev() {
            let row = id.index();
            // Siblings come last to first.
            let mut callees = below.remove(&row).unwrap_or_default();
            callees.reverse();
            let inner: u64 = callees.iter().map(total_off_cpu).sum();
            let call = Call {
                func: spans.func[id],
                net: spans.net[row].0,
                off_cpu: spans.off_cpu[row].0.saturating_sub(inner),
                interrupt: spans.interrupt[row],
                fidelity: spans.fidelity[row],
                below: callees,
            };
            match spans.parent[row] {
                Some(parent) => below.entry(parent.index()).or_default().push(call),
                None => roots.push(Root { thread: spans.thread[row], cpu: spans.cpu[row], call }),
            }
        }
        roots.reverse();
        Self { names: trace.names.clone(), meta: trace.meta.clone(), roots }
    }

    /// The same with a change in it.
    #[must_use]
    pub fn with(&self, change: &Change) -> Self {
        let mut calls = self.clone();
        let before: u64 = calls.wall();
        match change {
            Change::Slower(name, factor) => {
                calls.each_of(name, &mut |call, _| call.net = scaled(call.net, *factor));
            }
            Change::CalledTwice(name) => {
                let func = calls.func(name);
                let twice = |callees: &mut Vec<Call>| {
                    let doubled = std::mem::take(callees).into_iter().flat_map(|call| {
                        let again = (Some(call.func) == func).then(|| call.clone());
                        std::iter::once(call).chain(again)
                    });
                    *callees = doubled.collect();
                };
                let roots = std::mem::take(&mut calls.roots);
                calls.roots = roots
                    .into_iter()
                    .flat_map(|mut root| {
                        root.call.each(&mut |call| twice(&mut call.below));
                        let again = (Some(root.call.func) == func).then(|| root.clone());
                        std::iter::once(root).chain(again)
                    })
                    .collect();
            }
            Change::New(caller, share) => {
                let kind = FuncKind::Function;
                let func = Func { name: NEW.into(), module: None, kind, address: None };
                let new = calls.names.func(func);
                calls.each_of(caller, &mut |call, _| {
                    let net = scaled(call.net, *share);
                    let (interrupt, fidelity) = (call.interrupt, Fidelity::EXACT);
                    let below = Vec::new();
                    call.below.push(Call {
                        func: new,
                        net,
                        off_cpu: 0,
                        interrupt,
                        fidelity,
                        below,
                    });
                });
            }
            Change::Inlined(callee, caller) => {
                let inlined = calls.func(callee);
                calls.each_of(caller, &mut |call, _| {
                    let mut own = call.net;
                    let kept = std::mem::take(&mut call.below).into_iter().flat_map(|callee| {
                        if Some(callee.func) == inlined {
                            own += callee.net;
                            callee.below
                        } else {
                            vec![callee]
                        }
                    });
                    call.below = kept.collect();
                    call.net = own;
                });
            }
            Change::MovedDown(caller, callee) => {
                let to = calls.func(callee);
                calls.each_of(caller, &mut |call, _| {
                    let n = call.below.iter().filter(|one| Some(one.func) == to).count() as u64;
                    let part = (call.net / 2).checked_div(n).unwrap_or(0);
                    for one in call.below.iter_mut().filter(|one| Some(one.func) == to) {
                        one.net += part;
                    }
                    call.net -= part * n;
                });
            }
            Change::MovedUp(caller, callee) => {
                let from = calls.func(callee);
                calls.each_of(caller, &mut |call, _| {
                    for one in call.below.iter_mut().filter(|one| Some(one.func) == from) {
                        let part = one.net / 2;
                        one.net -= part;
                        call.net += part;
                    }
                });
            }
            Change::RenamedAndSlower(name, factor) => {
                let Some(func) = calls.func(name) else { return calls };
                calls.each_of(name, &mut |call, _| call.net = scaled(call.net, *factor));
                calls.names.funcs[func].name = renamed(name);
            }
            Change::EverythingTwice => {
                let twice = |root: Root| [root.clone(), root];
                calls.roots =
                    std::mem::take(&mut calls.roots).into_iter().flat_map(twice).collect();
            }
            Change::EverythingSlower(factor) => {
                for root in &mut calls.roots {
                    root.call.each(&mut |call| call.net = scaled(call.net, *factor));
                }
            }
        }
        let after = calls.wall();
        calls.meta.last = Tick(
            calls.meta.last.0.saturating_add(after).saturating_sub(before).max(calls.meta.first.0),
        );
        calls
    }

    fn wall(&self) -> u64 {
        self.roots.iter().map(|root| root.call.wall()).sum()
    }

    fn func(&self, name: &str) -> Option<FuncId> {
        self.names.funcs.pairs().find(|(_, func)| func.name == name).map(|(id, _)| id)
    }

    fn each_of(&mut self, name: &str, change: &mut dyn FnMut(&mut Call, FuncId)) {
        let Some(wanted) = self.func(name) else { return };
        for root in &mut self.roots {
            root.call.each(&mut |call| {
                if call.func == wanted {
                    change(call, wanted);
                }
            });
        }
    }

    /// How often which function calls which, by name.
    pub fn edges(&self) -> BTreeMap<(String, String), u64> {
        fn add(call: &Call, edges: &mut BTreeMap<(FuncId, FuncId), u64>) {
            for callee in &call.below {
                *edges.entry((call.func, callee.func)).or_default() += 1;
                add(callee, edges);
            }
        }
        let mut edges = BTreeMap::new();
        self.roots.iter().for_each(|root| add(&root.call, &mut edges));
        let name = |id: FuncId| self.names.funcs[id].name.clone();
        edges.into_iter().map(|((from, to), n)| ((name(from), name(to)), n)).collect()
    }

    /// Tells all calls, each after what it calls.
    pub fn tell(&self, sink: &mut impl SpanSink) {
        let mut open = vec![0_u32; self.names.funcs.len()];
        let mut now = self.meta.first.0;
        for root in &self.roots {
            let (wall, ..) = self.tell_one(root, &root.call, now, &mut open, sink);
            now += wall + 1;
        }
    }

    fn tell_one(
        &self,
        root: &Root,
        call: &Call,
        start: u64,
        open: &mut [u32],
        sink: &mut impl SpanSink,
    ) -> (u64, u64, u64) {
        let index = call.func.index();
        open[index] += 1;
        let (mut now, mut off_cpu, mut stolen, mut descendants) =
            (start + call.net.min(1), call.off_cpu, 0, 0_u64);
        for callee in &call.below {
            let (wall, off, below) = self.tell_one(root, callee, now, open, sink);
            now += wall;
            off_cpu += off;
            descendants += below + 1;
            stolen += if callee.interrupt { wall - off } else { 0 };
        }
        open[index] -= 1;
        let wall = call.wall();
        let span = Span {
            func: call.func,
            thread: root.thread,
            cpu: root.cpu,
            start: Tick(start),
            end: Tick(start + wall),
            wall: Ticks(wall),
            off_cpu: Ticks(off_cpu),
            net: Ticks(call.net),
            stolen: Ticks(stolen),
            callees: call.below.len() as u32,
            descendants,
            late: profctl_model::Late::NONE,
            outermost: open[index] == 0,
            interrupt: call.interrupt,
            fidelity: call.fidelity,
        };
        sink.span(&span, &self.names);
        (wall, off_cpu, descendants)
    }
}

fn total_off_cpu(call: &Call) -> u64 {
    call.off_cpu + call.below.iter().map(total_off_cpu).sum::<u64>()
}

fn scaled(net: u64, factor: f64) -> u64 {
    (net as f64 * factor).round() as u64
}

/// Functions of the generated program below its entry.
const FUNCTIONS: usize = 60;

/// A run of a generated program: sixty functions in a tree, each of which takes about as long in every
/// call, and now and then an interrupt of ten times that.
pub fn made_up(seed: u64) -> Calls {
    let mut names = Names::default();
    let thread = names.threads.push(Thread { name: "generated".into(), ..Thread::default() });
    let mut add = |name: String, kind| names.func(Func { name, module: None, kind, address: None });
    let main = add("request".into(), FuncKind::Function);
    let timer = add("timer_interrupt".into(), FuncKind::Interrupt);
    let mut program: IdVec<FuncId, (u64, Vec<FuncId>)> = IdVec::default();
    let mut shape = Random::new(7);
    *program.grow_to(main) = (2000, Vec::new());
    let mut callers = vec![main];
    for number in 0..FUNCTIONS {
        let func = add(format!("{}_{number:02}", WORDS[number % WORDS.len()]), FuncKind::Function);
        *program.grow_to(func) = (500 + shape.below(20_000), Vec::new());
        let caller = callers[shape.below(callers.len() as u64) as usize];
        program[caller].1.push(func);
        callers.push(func);
    }
    let mut random = Random::new(seed);
    let level = 1.0 + 0.004 * (random.below(1000) as f64 / 500.0 - 1.0);
    let mut roots = Vec::new();
    let mut now = 0;
    for _ in 0..40 {
        let call = make(main, &program, timer, level, &mut random);
        now += call.wall() + 50;
        roots.push(Root { thread, cpu: None, call });
    }
    let meta = TraceMeta {
        timebase: Timebase::NANOSECONDS,
        first: Tick(0),
        last: Tick(now),
        events: roots.len() as u64 * 2 * FUNCTIONS as u64,
        knows_off_cpu: false,
        diags: DiagLog::default(),
    };
    Calls { names, meta, roots }
}

const WORDS: [&str; 12] = [
    "parse", "lookup", "insert", "remove", "checksum", "copy", "route", "queue", "flush",
    "compare", "allocate", "release",
];

fn make(
    func: FuncId,
    program: &IdVec<FuncId, (u64, Vec<FuncId>)>,
    timer: FuncId,
    level: f64,
    random: &mut Random,
) -> Call {
    let (net, callees) = &program[func];
    let mut below: Vec<Call> =
        callees.iter().map(|&callee| make(callee, program, timer, level, random)).collect();
    if random.below(4000) == 0 {
        let (interrupt, fidelity) = (true, Fidelity::EXACT);
        let net = 200_000;
        below.push(Call { func: timer, net, off_cpu: 0, interrupt, fidelity, below: Vec::new() });
    }
    let noise = 0.97 + 0.06 * random.below(1000) as f64 / 1000.0;
    let net = scaled(*net, level * noise);
    Call { func, net, off_cpu: 0, interrupt: false, fidelity: Fidelity::EXACT, below }
}
