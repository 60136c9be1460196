//! The profile form of pprof: for every stack that was seen, how often it was called and how long
//! it ran itself. Sums only; there is no time line in it.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use profctl_model::hash::FastMap;
use profctl_model::{CallTree, FuncId, FuncKind, IdVec, NodeId, Thread, ThreadId, Trace};

use super::wire::Message;

/// Writes `trace`.
pub fn write(trace: &Trace, out: &mut dyn Write) -> io::Result<()> {
    let mut out = GzEncoder::new(out, Compression::default());
    let unit = match trace.meta.timebase.unit_name() {
        "ns" => "nanoseconds",
        other => other,
    };
    let mut texts = Texts::default();
    let mut profile = Message::default();
    for (kind, unit) in [("calls", "count"), ("net", unit)] {
        let (kind, unit) = (texts.number(kind), texts.number(unit));
        profile.with(1, |value| {
            value.number(1, kind);
            value.number(2, unit);
        });
    }
    out.write_all(profile.bytes())?;
    let kinds: IdVec<FuncId, u64> =
        trace.names.funcs.iter().map(|func| texts.number(func.kind.name())).collect();
    let trees = trees(trace);
    for (thread, tree) in trees.pairs() {
        let label = Label::of(&trace.names.threads[thread], &mut texts);
        for (node, _) in tree.nodes() {
            profile.clear();
            sample(trace, tree, node, (&label, &kinds), &mut profile);
            out.write_all(profile.bytes())?;
        }
    }
    profile.clear();
    functions(trace, &mut texts, &mut profile);
    let comment = texts.number("written by profctl");
    let preferred = texts.number("net");
    // An empty text comes first.
    profile.text(6, "");
    for text in &texts.list {
        profile.text(6, text);
    }
    profile.number(10, trace.meta.timebase.reported(trace.meta.real()));
    profile.numbers(13, [comment]);
    profile.number(14, preferred);
    out.write_all(profile.bytes())?;
    out.finish()?.flush()
}

/// Paths of callers, a tree a thread.
fn trees(trace: &Trace) -> IdVec<ThreadId, CallTree> {
    let spans = &trace.spans;
    let mut trees: IdVec<ThreadId, CallTree> = IdVec::default();
    let mut nodes: Vec<NodeId> = Vec::with_capacity(spans.len());
    for id in spans.ids() {
        let tree = trees.grow_to(spans.thread[id.index()]);
        let parent = spans.parent[id.index()].map(|parent| nodes[parent.index()]);
        let node = tree.child(parent, spans.func[id]);
        nodes.push(node);
        let sums = tree.node_mut(node);
        sums.net += spans.net[id.index()];
        if !spans.fidelity[id.index()].is_partial() {
            sums.calls += 1;
        }
    }
    trees
}

/// What is said of every sample of a thread.
struct Label {
    thread: u64,
    name: u64,
    tid: Option<(u64, u64)>,
    kind: u64,
}

impl Label {
    fn of(of_thread: &Thread, texts: &mut Texts) -> Self {
        Self {
            thread: texts.number("thread"),
            name: texts.number(&of_thread.label()),
            tid: of_thread.tid.map(|tid| (texts.number("tid"), tid)),
            kind: texts.number("kind"),
        }
    }
}

fn sample(
    trace: &Trace,
    tree: &CallTree,
    node: NodeId,
    (label, kinds): (&Label, &IdVec<FuncId, u64>),
    profile: &mut Message,
) {
    let sums = *tree.node(node);
    let path = std::iter::successors(Some(node), |&node| tree.node(node).parent);
    let stack: Vec<u64> = path.map(|node| location(tree.node(node).func)).collect();
    profile.with(2, |sample| {
        sample.numbers(1, stack);
        let net = trace.meta.timebase.reported(sums.net);
        // Values are signed.
        sample.numbers(2, [sums.calls, net].map(|value| value.min(i64::MAX as u64)));
        sample.with(3, |said| {
            said.number(1, label.thread);
            said.number(2, label.name);
        });
        if let Some((key, tid)) = label.tid {
            sample.with(3, |said| {
                said.number(1, key);
                said.number(3, tid);
            });
        }
        if trace.names.funcs[sums.func].kind != FuncKind::Function {
            sample.with(3, |said| {
                said.number(1, label.kind);
                said.number(2, kinds[sums.func]);
            });
        }
    });
}

/// Functions and where they live: a location a function, a mapping a module.
fn functions(trace: &Trace, texts: &mut Texts, profile: &mut Message) {
    let mut modules: FastMap<&str, u64> = FastMap::default();
    for (id, func) in trace.names.funcs.pairs() {
        let mapping = func.module.as_deref().map(|module| {
            let n = modules.len() as u64;
            *modules.entry(module).or_insert_with(|| {
                let file = texts.number(module);
                profile.with(3, |mapping| {
                    mapping.number(1, n + 1);
                    mapping.number(5, file);
                    mapping.number(7, 1);
                });
                n + 1
            })
        });
        let name = texts.number(&func.name);
        profile.with(5, |function| {
            function.number(1, location(id));
            function.number(2, name);
            function.number(3, name);
        });
        profile.with(4, |place| {
            place.number(1, location(id));
            if let Some(mapping) = mapping {
                place.number(2, mapping);
            }
            place.with(4, |line| line.number(1, location(id)));
        });
    }
}

fn location(func: FuncId) -> u64 {
    func.index() as u64 + 1
}

/// Texts, each told once; messages refer to them by number, from 1.
#[derive(Default)]
struct Texts {
    list: Vec<String>,
    numbers: FastMap<String, u64>,
}

impl Texts {
    fn number(&mut self, text: &str) -> u64 {
        if text.is_empty() {
            return 0;
        }
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        self.list.push(text.to_owned());
        let number = self.list.len() as u64;
        self.numbers.insert(text.to_owned(), number);
        number
    }
}
