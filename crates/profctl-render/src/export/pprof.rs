//! The profile form of pprof: for every stack that was seen, how often it was called and how long
//! it ran itself. Sums only; there is no time line in it.

use std::io::{self, BufWriter, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use profctl_model::hash::FastMap;
use profctl_model::{FuncId, FuncKind, IdVec, Names, PathRow, PathRows, Thread, ThreadId};

use super::wire::Message;
use super::{FRAMES_MAX, Header};

/// Writes a trace, whose paths are of one thread each.
pub fn write(header: &Header<'_>, paths: &mut PathRows<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Header { names, meta, .. } = *header;
    // The encoder clears a buffer for each write, however short.
    let mut out = BufWriter::new(GzEncoder::new(out, Compression::default()));
    let unit = match meta.timebase.unit_name() {
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
        names.funcs.iter().map(|func| texts.number(func.kind.name())).collect();
    let mut samples = Samples { header, kinds, stack: Vec::new() };
    let mut label: Option<(ThreadId, Label)> = None;
    for row in paths {
        let row = row?;
        let Some(thread) = row.thread else { continue };
        if label.as_ref().is_none_or(|(of, _)| *of != thread) {
            label = Some((thread, Label::of(&names.threads[thread], &mut texts)));
        }
        if let Some((_, label)) = &label {
            profile.clear();
            samples.add(&row, label, &mut profile);
            out.write_all(profile.bytes())?;
        }
    }
    profile.clear();
    functions(names, &mut texts, &mut profile);
    let comment = texts.number("written by profctl");
    let preferred = texts.number("net");
    // An empty text comes first.
    profile.text(6, "");
    for text in &texts.list {
        profile.text(6, text);
    }
    profile.number(10, meta.timebase.reported(meta.real()));
    profile.numbers(13, [comment]);
    profile.number(14, preferred);
    out.write_all(profile.bytes())?;
    let gzip = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    gzip.finish()?.flush()
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

struct Samples<'a> {
    header: &'a Header<'a>,
    /// The text for the kind of each function.
    kinds: IdVec<FuncId, u64>,
    /// The current path, from the outermost call.
    stack: Vec<FuncId>,
}

impl Samples<'_> {
    fn add(&mut self, row: &PathRow, label: &Label, profile: &mut Message) {
        self.stack.truncate(row.depth as usize);
        self.stack.push(row.func);
        let Header { names, meta, .. } = *self.header;
        profile.with(2, |sample| {
            let outer = &self.stack[..self.stack.len().min(FRAMES_MAX) - 1];
            let frames = [row.func].into_iter().chain(outer.iter().rev().copied());
            sample.numbers(1, frames.map(location));
            let net = meta.timebase.reported(row.net);
            // Values are signed.
            sample.numbers(2, [row.calls, net].map(|value| value.min(i64::MAX as u64)));
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
            if names.funcs[row.func].kind != FuncKind::Function {
                sample.with(3, |said| {
                    said.number(1, label.kind);
                    said.number(2, self.kinds[row.func]);
                });
            }
        });
    }
}

/// Functions and where they live: a location a function, a mapping a module.
fn functions(names: &Names, texts: &mut Texts, profile: &mut Message) {
    let mut modules: FastMap<&str, u64> = FastMap::default();
    for (id, func) in names.funcs.pairs() {
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

/// The string table; messages refer to them by number, from 1.
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
