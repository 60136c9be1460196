//! Which signals to watch: what the user typed, resolved against the signals of a capture.

use std::sync::Arc;

use profctl_model::FuncKind;
use profctl_model::hash::FastMap;

use super::CaptureOptions;
use super::counter;
use crate::bytes::low_bits;
use crate::importer::ImportError;
use crate::options::ImportOptions;
use crate::symbols::Symbols;
use crate::tags::{self, Tags};
use crate::text;

/// Signals named in an error at most.
const LISTED: usize = 16;
/// Wires that are all treated as functions if nothing else was said, at most.
const WIRES_MAX: usize = 64;
/// The widest bus, bits.
const BUS_MAX: u32 = 64;
/// The widest tag, bits.
const TAG_MAX: u32 = 32;

/// A signal that the head of a capture announces.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Signal {
    /// Its name with the scopes that it is in, separated by `.`.
    pub(crate) name: String,
    /// Bits.
    pub(crate) width: u32,
    /// By what the reader knows it. Two signals of one key are one wire with two names.
    pub(crate) key: u32,
}

/// What to watch and what it means.
pub(crate) struct Plan {
    /// The keys of the signals that are watched; a source is a row.
    pub(super) sources: Vec<SampledSignal>,
    /// Number of words; those of the wires are the last.
    pub(super) n_words: usize,
    /// The word with the tags.
    pub(super) tag: Option<usize>,
    /// The word with the program counter.
    pub(super) pc: Option<usize>,
    /// The word with the strobe, and its edge.
    pub(super) strobe: Option<(usize, Edge)>,
    /// Words and the values that they must have at the strobe.
    pub(super) valid: Vec<(usize, u64)>,
    /// The word with the thread's id.
    pub(super) thread: Option<usize>,
    /// Wires that are functions.
    pub(super) wires: Vec<Wire>,
    /// What the tags mean, without one met.
    pub(super) tags: Option<Tags>,
    /// What addresses mean.
    pub(super) symbols: Option<Symbols>,
    /// What it comes down to, for `info`.
    described: String,
}

/// A signal and the words that it is part of.
pub(super) struct SampledSignal {
    pub(super) key: u32,
    pub(super) feeds: Vec<Feed>,
}

/// Bits of a signal as bits of a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Feed {
    pub(super) word: usize,
    /// The lowest bit of the signal that is taken.
    pub(super) from: u32,
    /// How many are.
    pub(super) width: u32,
    /// Where the lowest of them goes.
    pub(super) to: u32,
}

/// A wire that is high while a function runs.
pub(super) struct Wire {
    pub(super) word: usize,
    pub(super) name: String,
    pub(super) kind: FuncKind,
}

/// When to look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Edge {
    Rise,
    Fall,
    Both,
}

impl Plan {
    /// The keys of the watched signals with the numbers of their sources.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        self.sources.iter().enumerate().map(|(index, source)| (source.key, index))
    }

    /// The row of the wire that is this word.
    pub(super) fn wire_of(&self, word: usize) -> Option<usize> {
        word.checked_sub(self.n_words - self.wires.len())
    }

    /// What is watched, in words.
    pub(crate) fn facts(&self) -> Vec<(&'static str, String)> {
        let mut facts = vec![("watched", self.described.clone())];
        if self.pc.is_some() {
            facts.push(("calls", "inferred from the program counter".into()));
        }
        facts
    }
}

/// The plan that `options` ask for, over the signals of a capture.
pub(crate) fn plan(signals: &[Signal], options: &ImportOptions) -> Result<Arc<Plan>, ImportError> {
    let chosen = with_defaults(signals, options)?;
    let mut draft = Draft::new(signals);
    let mut said = Vec::new();

    let mut bus = |what: &str, typed: &Option<String>, width_max: u32| match typed {
        None => Ok(None),
        Some(typed) => {
            let word = draft.bus(typed).map_err(|error| of(what, &error))?;
            let width = draft.widths[word];
            if width > width_max {
                let error = format!("`{typed}` has {width} bits, expected at most {width_max}");
                return Err(of(what, &error));
            }
            said.push(match width {
                1 => format!("{what} {typed}"),
                _ => format!("{what} {typed} ({width} bits)"),
            });
            Ok(Some(word))
        }
    };
    let tag = bus("tag", &chosen.tag, TAG_MAX)?;
    let pc = bus("program counter", &chosen.pc, BUS_MAX)?;
    let thread = bus("thread", &chosen.thread, BUS_MAX)?;
    let strobe = match &chosen.strobe {
        None => None,
        Some(typed) => {
            let (typed, edge, word) = edge(typed).map_err(|error| of("strobe", &error))?;
            let at = bus("strobe", &Some(typed.to_owned()), 1)?;
            said.push(word.into());
            at.map(|at| (at, edge))
        }
    };
    let valid: Vec<(usize, u64)> = chosen
        .valid
        .iter()
        .map(|typed| draft.condition(typed).map_err(|error| of("valid", &error)))
        .collect::<Result<_, _>>()?;
    said.extend(chosen.valid.iter().map(|typed| format!("where {typed}")));
    let wires = match &chosen.gpio {
        None => Vec::new(),
        Some(typed) => draft.wires(typed).map_err(|error| of("gpio", &error))?,
    };
    if !wires.is_empty() {
        said.push(format!("{} wires, high inside", wires.len()));
    }

    if tag.is_some() && pc.is_some() {
        return Err(ImportError::whole("found both a tag and a program counter, expected one"));
    }
    if (strobe.is_some() || !valid.is_empty()) && tag.or(pc).is_none() {
        return Err(ImportError::whole("found a strobe without a bus, expected `--tag` or `--pc`"));
    }
    let tags = match tag {
        None => None,
        Some(word) => Some(read_names(options, draft.widths[word])?),
    };
    let symbols = match pc {
        None => None,
        Some(_) => Some(counter::read_symbols(options)?),
    };
    let Draft { sources, widths, .. } = draft;
    let described = said.join(", ");
    let n_words = widths.len();
    let plan =
        Plan { sources, n_words, tag, pc, strobe, valid, thread, wires, tags, symbols, described };
    Ok(Arc::new(plan))
}

/// An error about what was typed for `what`.
fn of(what: &str, error: &str) -> ImportError {
    ImportError::whole(format!("{what}: {error}"))
}

fn read_names(options: &ImportOptions, bits: u32) -> Result<Tags, ImportError> {
    let Some(file) = &options.names else {
        return Err(ImportError::whole(
            "no name file for the tags, expected `--names FILE` with lines `name/tag`",
        ));
    };
    Ok(Tags::new(tags::parse(file, bits)?))
}

/// What to watch where the user did not say: with a name file the bus `tag` and its strobe `stb` or
/// `strobe`; without one, and if there are nothing but wires, each of them.
fn with_defaults(
    signals: &[Signal],
    options: &ImportOptions,
) -> Result<CaptureOptions, ImportError> {
    let mut chosen = options.capture.clone();
    if chosen.tag.is_some() || chosen.pc.is_some() || chosen.gpio.is_some() {
        return Ok(chosen);
    }
    let has = |name: &str| Draft::new(signals).bus(name).is_ok();
    if options.names.is_some() && has("tag") {
        chosen.tag = Some("tag".into());
        if chosen.strobe.is_none() {
            chosen.strobe = ["stb", "strobe"].into_iter().find(|name| has(name)).map(Into::into);
        }
        return Ok(chosen);
    }
    let only_wires = signals.iter().all(|signal| signal.width == 1);
    if options.names.is_none() && only_wires && (1..=WIRES_MAX).contains(&signals.len()) {
        chosen.gpio = Some("*".into());
        return Ok(chosen);
    }
    Err(ImportError::whole(format!(
        "no signals selected, expected `--tag SIGNALS --names FILE`, `--gpio WIRES` or `--pc \
         SIGNALS --symbols FILE`; the capture has {}",
        list(signals.iter())
    )))
}

/// The names of `signals`, with their widths, as an error lists them.
fn list<'a>(signals: impl Iterator<Item = &'a Signal>) -> String {
    let mut names: Vec<String> = Vec::new();
    let mut more = 0;
    for signal in signals {
        if names.len() == LISTED {
            more += 1;
            continue;
        }
        let name = text::excerpt(signal.name.as_bytes());
        names.push(match signal.width {
            1 => name,
            width => format!("{name} ({width} bits)"),
        });
    }
    match (names.is_empty(), more) {
        (true, _) => "no signals".into(),
        (false, 0) => names.join(", "),
        (false, _) => format!("{} and {more} more", names.join(", ")),
    }
}

/// The strobe in `SIGNAL[@EDGE]`, with its edge and what `info` calls that.
fn edge(typed: &str) -> Result<(&str, Edge, &'static str), String> {
    let (signal, edge) = typed.rsplit_once('@').unwrap_or((typed, "rise"));
    match edge.trim() {
        "rise" => Ok((signal, Edge::Rise, "at its rise")),
        "fall" => Ok((signal, Edge::Fall, "at its fall")),
        "both" => Ok((signal, Edge::Both, "at both its edges")),
        other => Err(format!("found edge `{other}`, expected rise, fall or both")),
    }
}

/// A plan in the making.
struct Draft<'a> {
    signals: &'a [Signal],
    sources: Vec<SampledSignal>,
    /// The row of the source with a key.
    by_key: FastMap<u32, usize>,
    /// Bits of each word.
    widths: Vec<u32>,
}

/// Bits of one signal.
#[derive(Clone, Copy)]
struct Part {
    key: u32,
    from: u32,
    width: u32,
}

impl<'a> Draft<'a> {
    fn new(signals: &'a [Signal]) -> Self {
        Draft { signals, sources: Vec::new(), by_key: FastMap::default(), widths: Vec::new() }
    }

    /// A word of the parts that `typed` lists, the most significant first.
    fn bus(&mut self, typed: &str) -> Result<usize, String> {
        let parts = match typed.split_once('=') {
            Some((_, parts)) => parts,
            None => typed,
        };
        let mut all = Vec::new();
        for item in parts.split(',').map(str::trim) {
            match item.split_once("..") {
                Some((first, last)) => {
                    for name in range(first, last)? {
                        all.extend(self.resolve(&name)?);
                    }
                }
                None => all.extend(self.resolve(item)?),
            }
        }
        let width = all.iter().fold(0_u32, |sum, part| sum.saturating_add(part.width));
        if width > BUS_MAX {
            return Err(format!("`{typed}` has {width} bits, expected at most {BUS_MAX}"));
        }
        Ok(self.word(&all, width))
    }

    fn word(&mut self, parts: &[Part], width: u32) -> usize {
        let word = self.widths.len();
        self.widths.push(width);
        let mut to = width;
        for part in parts {
            to -= part.width;
            let feed = Feed { word, from: part.from, width: part.width, to };
            let row = *self.by_key.entry(part.key).or_insert(self.sources.len());
            match self.sources.get_mut(row) {
                Some(source) => source.feeds.push(feed),
                None => self.sources.push(SampledSignal { key: part.key, feeds: vec![feed] }),
            }
        }
        word
    }

    /// What one name stands for: a signal, bits of one, or the wires of a bus that was dumped bit
    /// by bit.
    fn resolve(&self, typed: &str) -> Result<Vec<Part>, String> {
        if let Some(found) = self.find(typed)? {
            return Ok(vec![found]);
        }
        if let Some((name, high, low)) = selection(typed) {
            if let Some(signal) = self.find(name)? {
                let width = signal.width.min(BUS_MAX);
                if high >= width {
                    return Err(format!("found bit {high} of `{name}`, expected below {width}"));
                }
                return Ok(vec![Part { key: signal.key, from: low, width: high - low + 1 }]);
            }
            let bits: Result<Vec<_>, _> = (low..=high)
                .rev()
                .map(|bit| {
                    let wire = format!("{name}[{bit}]");
                    self.find(&wire)?.ok_or_else(|| self.missing(&wire))
                })
                .collect();
            return bits;
        }
        let mut bits: Vec<(u32, &Signal)> = self
            .signals
            .iter()
            .filter_map(|signal| {
                let (stem, high, low) = selection(&signal.name)?;
                (high == low && is_called(stem, typed)).then_some((high, signal))
            })
            .collect();
        bits.sort_by_key(|(bit, _)| std::cmp::Reverse(*bit));
        bits.dedup_by_key(|(bit, signal)| (*bit, signal.key));
        if bits.is_empty() {
            return Err(self.missing(typed));
        }
        if bits.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err(format!("`{typed}` names several buses, expected the scopes before it"));
        }
        Ok(bits.iter().map(|(_, signal)| part(signal)).collect())
    }

    fn missing(&self, name: &str) -> String {
        format!("there is no signal `{name}`; the capture has {}", list(self.signals.iter()))
    }

    /// The signal of that name: in full, or without the scopes in front.
    fn find(&self, typed: &str) -> Result<Option<Part>, String> {
        let exact = |signal: &&Signal| signal.name == typed;
        let called = |signal: &&Signal| is_called(&signal.name, typed);
        let mut found: Vec<&Signal> = self.signals.iter().filter(exact).collect();
        if found.is_empty() {
            found = self.signals.iter().filter(called).collect();
        }
        if found.is_empty() {
            return Ok(self.numbered(typed).map(part));
        }
        let Some(first) = found.first() else { return Ok(None) };
        if found.iter().all(|signal| signal.key == first.key) {
            return Ok(Some(part(first)));
        }
        let (n, names) = (found.len(), list(found.iter().copied()));
        let hint = if exact(first) {
            format!("expected `{typed}#1` to `{typed}#{n}`")
        } else {
            "expected more of the scopes".into()
        };
        Err(format!("`{typed}` names {n} signals ({names}), {hint}"))
    }

    /// `NAME#N`: the N-th signal of that name.
    fn numbered(&self, typed: &str) -> Option<&Signal> {
        let (name, number) = typed.rsplit_once('#')?;
        let number: usize = number.parse().ok()?;
        self.signals.iter().filter(|signal| signal.name == name).nth(number.checked_sub(1)?)
    }

    /// `SIGNAL=VALUE`.
    fn condition(&mut self, typed: &str) -> Result<(usize, u64), String> {
        let (bus, value) = typed.rsplit_once('=').unwrap_or((typed, "1"));
        let word = self.bus(bus.trim())?;
        let value_max = low_bits(self.widths[word]);
        match text::integer(value.trim().as_bytes()) {
            Some(number) if number <= value_max => Ok((word, number)),
            Some(number) => Err(format!("found value {number}, expected at most {value_max}")),
            None => Err(format!("found value `{value}`, expected a decimal or 0x number")),
        }
    }

    /// `WIRE[=NAME[MARK]],…`, or `*`.
    fn wires(&mut self, typed: &str) -> Result<Vec<Wire>, String> {
        let mut wires: Vec<Wire> = Vec::new();
        if typed.trim() == "*" {
            let names = short_names(self.signals);
            for (signal, name) in self.signals.iter().zip(names) {
                if signal.width == 1 {
                    let word = self.word(&[part(signal)], 1);
                    wires.push(Wire { word, name, kind: FuncKind::Function });
                }
            }
            if wires.is_empty() {
                return Err("there are no wires, only buses".into());
            }
            return Ok(wires);
        }
        for item in typed.split(',').map(str::trim) {
            let (wire, name) = item.split_once('=').unwrap_or((item, item));
            let (wire, name) = (wire.trim(), name.trim());
            let part = match self.resolve(wire)?.as_slice() {
                &[part] if part.width == 1 => part,
                _ => return Err(format!("`{wire}` is a bus, expected a wire")),
            };
            let (name, marks) = name.split_at(name.trim_end_matches(['^', '~']).len());
            let (kind, _) = tags::kind_of(marks)?;
            if name.is_empty() {
                return Err(format!("found `{item}`, expected a name after `=`"));
            }
            if wires.iter().any(|wire| wire.name == name) {
                return Err(format!("two wires are called `{name}`, expected one name each"));
            }
            wires.push(Wire { word: self.word(&[part], 1), name: name.into(), kind });
        }
        Ok(wires)
    }
}

/// Names of signals without a given name: by their names without scopes where those are enough.
fn short_names(signals: &[Signal]) -> Vec<String> {
    // How many signals each name stands for, with any number of scopes before it.
    let mut called: FastMap<&str, u32> = FastMap::default();
    let mut full: FastMap<&str, (u32, u32)> = FastMap::default();
    let short = |signal: &Signal| signal.name.rfind('.').map_or(0, |at| at + 1);
    for signal in signals {
        *called.entry(&signal.name[short(signal)..]).or_default() += 1;
        full.entry(&signal.name).or_default().0 += 1;
    }
    let name = |signal: &Signal| {
        let plain = &signal.name[short(signal)..];
        if called.get(plain) == Some(&1) {
            return plain.to_owned();
        }
        match full.get_mut(signal.name.as_str()) {
            Some((all, before)) if *all > 1 => {
                *before += 1;
                format!("{}#{before}", signal.name)
            }
            _ => signal.name.clone(),
        }
    };
    signals.iter().map(name).collect()
}

fn part(signal: &Signal) -> Part {
    Part { key: signal.key, from: 0, width: signal.width }
}

/// Whether `name` is `typed`, with or without scopes before it.
fn is_called(name: &str, typed: &str) -> bool {
    name.strip_suffix(typed).is_some_and(|scopes| scopes.is_empty() || scopes.ends_with('.'))
}

/// `NAME[HIGH:LOW]` or `NAME[BIT]`.
fn selection(typed: &str) -> Option<(&str, u32, u32)> {
    let (name, bits) = typed.strip_suffix(']')?.rsplit_once('[')?;
    let (high, low) = bits.split_once(':').unwrap_or((bits, bits));
    let (high, low) = (high.trim().parse().ok()?, low.trim().parse().ok()?);
    (low <= high && high < 1 << 16).then_some((name.trim(), high, low))
}

/// The names of `T15..T0`, the highest number first.
fn range(first: &str, last: &str) -> Result<Vec<String>, String> {
    let split = |name: &str| {
        let name = name.trim();
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number: Option<u32> = name[stem.len()..].parse().ok();
        number.map(|number| (stem.to_owned(), number))
    };
    match (split(first), split(last)) {
        (Some((stem, a)), Some((other, b))) if stem == other && a.abs_diff(b) < BUS_MAX => {
            Ok((a.min(b)..=a.max(b)).rev().map(|number| format!("{stem}{number}")).collect())
        }
        _ => Err(format!("found range `{first}..{last}`, expected one such as T15..T0")),
    }
}
