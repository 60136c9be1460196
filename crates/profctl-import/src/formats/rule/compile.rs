//! A rule that is ready to read lines: the file understood, every expression compiled, every
//! question that can be settled before the first line settled.

use profctl_model::hash::FastMap;
use profctl_model::{FuncKind, TickUnit, Ticks, Timebase, Timeline};
use regex::bytes::{Regex, RegexBuilder};
use toml::Spanned;

use super::file::{self, File, IndentEntry, PatternEntry, Patterns, objection};
use super::times::{self, Format};
use crate::formats::ImportError;

/// What a line means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// A call began.
    Enter,
    /// A call ended.
    Exit,
    /// A call, at the time of its entry, that calls nothing.
    Leaf,
    /// A call, at the time of its exit.
    Return,
    /// An instant.
    Mark,
    /// Events were lost.
    Lost,
    /// Another thread runs from here on.
    Switch,
    /// Nothing.
    Ignore,
}

/// The kinds by name.
const KINDS: [(&str, Kind); 8] = [
    ("enter", Kind::Enter),
    ("exit", Kind::Exit),
    ("leaf", Kind::Leaf),
    ("return", Kind::Return),
    ("mark", Kind::Mark),
    ("lost", Kind::Lost),
    ("switch", Kind::Switch),
    ("ignore", Kind::Ignore),
];

/// What words mean in every rule, in any case, unless its table `[kind]` says otherwise.
const WORDS: [(&str, Kind); 26] = [
    ("->", Kind::Enter),
    ("=>", Kind::Enter),
    (">", Kind::Enter),
    ("{", Kind::Enter),
    ("b", Kind::Enter),
    ("e", Kind::Enter),
    ("begin", Kind::Enter),
    ("call", Kind::Enter),
    ("enter", Kind::Enter),
    ("entering", Kind::Enter),
    ("entry", Kind::Enter),
    ("start", Kind::Enter),
    ("<-", Kind::Exit),
    ("<=", Kind::Exit),
    ("<", Kind::Exit),
    ("}", Kind::Exit),
    ("x", Kind::Exit),
    ("end", Kind::Exit),
    ("exit", Kind::Exit),
    ("leave", Kind::Exit),
    ("leaving", Kind::Exit),
    ("ret", Kind::Exit),
    ("return", Kind::Exit),
    ("returned", Kind::Exit),
    ("returning", Kind::Exit),
    ("stop", Kind::Exit),
];

/// The groups that mean something.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Group {
    Ts,
    Cpu,
    Pid,
    Tid,
    Thread,
    Kind,
    Name,
    Module,
    Addr,
    Depth,
    Indent,
    Dur,
    DurUnit,
    Net,
    Lost,
    FromTid,
    FromThread,
}

/// Their names, in the order of [`Group`].
pub(super) const GROUPS: [&str; 17] = [
    "ts",
    "cpu",
    "pid",
    "tid",
    "thread",
    "kind",
    "name",
    "module",
    "addr",
    "depth",
    "indent",
    "dur",
    "dur_unit",
    "net",
    "lost",
    "from_tid",
    "from_thread",
];

/// One way a line can look.
#[derive(Debug)]
pub(super) struct Pattern {
    pub(super) regex: Regex,
    /// As it is written.
    pub(super) source: String,
    /// Where in the rule file it stands, from 1.
    pub(super) line: u64,
    pub(super) kind: Option<Kind>,
    pub(super) class: Option<FuncKind>,
    pub(super) refuse: Option<String>,
    /// The number of each group in the expression, by [`Group`].
    groups: [Option<usize>; GROUPS.len()],
}

impl Pattern {
    pub(super) fn group(&self, group: Group) -> Option<usize> {
        self.groups[group as usize]
    }

    fn has(&self, group: Group) -> bool {
        self.group(group).is_some()
    }

    fn names_a_thread(&self) -> bool {
        [Group::Pid, Group::Tid, Group::Thread].into_iter().any(|group| self.has(group))
    }
}

/// How depth is identified by indentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Indent {
    /// That many columns per level.
    Columns(usize),
    /// As many columns per level as the head of the input suggests.
    Auto,
}

/// The clock of an input.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    pub(super) format: Format,
    pub(super) unit: TickUnit,
    pub(super) timeline: Timeline,
    /// By how many digits group `ts` is moved to become ticks.
    pub(super) ts_digits: u32,
    /// The same for groups `dur` and `net`, where the line itself does not say.
    pub(super) dur_digits: u32,
    pub(super) bits: Option<u32>,
}

impl Times {
    pub(super) fn timebase(&self, resolution: Ticks) -> Timebase {
        Timebase { unit: self.unit, resolution, timeline: self.timeline }
    }
}

#[derive(Debug)]
pub(super) struct Rule {
    pub(super) name: String,
    pub(super) about: String,
    pub(super) sniff: Option<Regex>,
    pub(super) patterns: Vec<Pattern>,
    pub(super) ignore: Vec<Regex>,
    pub(super) times: Times,
    pub(super) indent: Option<Indent>,
    pub(super) idle_thread: Option<Regex>,
    /// Whether some calls name no thread, so that a switch must say who they run on.
    pub(super) follows_switches: bool,
    words: FastMap<Vec<u8>, Kind>,
    classes: Vec<(Regex, FuncKind)>,
}

impl Rule {
    /// What `word` in group `kind` means.
    pub(super) fn word(&self, word: &[u8]) -> Option<Kind> {
        let own = self.words.get(word).copied();
        own.or_else(|| {
            let word = word.to_ascii_lowercase();
            WORDS.iter().find(|(known, _)| known.as_bytes() == word).map(|(_, kind)| *kind)
        })
    }

    /// The kind of the function of that name.
    pub(super) fn class(&self, pattern: &Pattern, name: &[u8]) -> FuncKind {
        let by_name = || self.classes.iter().find(|(regex, _)| regex.is_match(name));
        pattern.class.or_else(|| by_name().map(|(_, kind)| *kind)).unwrap_or_default()
    }

    /// The rule that `text` spells; an error has its line.
    pub(super) fn compile(name: &str, text: &str) -> Result<Self, ImportError> {
        let file = file::parse(text)?;
        let mut words = FastMap::default();
        for (word, kind) in &file.kind {
            words.insert(word.as_bytes().to_vec(), kind_named(text, kind)?);
        }
        let Some(pattern) = &file.pattern else {
            return Err(ImportError::whole("no `pattern`, expected one, or a table `record`"));
        };
        let patterns = patterns(text, pattern)?;
        let times = times(text, &file, &patterns)?;
        let indent = indent(text, &file, &patterns)?;
        let kinds = [
            (&file.interrupt, FuncKind::Interrupt),
            (&file.syscall, FuncKind::Syscall),
            (&file.idle, FuncKind::Idle),
        ];
        let mut classes = Vec::new();
        for (entry, kind) in kinds {
            if let Some(entry) = entry {
                classes.push((expression(text, entry)?, kind));
            }
        }
        let optional = |entry: &Option<Spanned<String>>| -> Result<Option<Regex>, ImportError> {
            entry.as_ref().map(|entry| expression(text, entry)).transpose()
        };
        let follows_switches = patterns.iter().any(|pattern| {
            pattern.kind != Some(Kind::Switch)
                && pattern.kind != Some(Kind::Lost)
                && pattern.refuse.is_none()
                && !pattern.names_a_thread()
        });
        Ok(Self {
            name: name.to_owned(),
            about: file.about.clone(),
            sniff: optional(&file.sniff)?,
            ignore: file
                .ignore
                .0
                .iter()
                .map(|entry| expression(text, entry))
                .collect::<Result<_, _>>()?,
            idle_thread: optional(&file.idle_thread)?,
            patterns,
            times,
            indent,
            follows_switches,
            words,
            classes,
        })
    }
}

/// The expression in a rule file. Text of unknown encoding is matched by bytes.
fn expression(text: &str, entry: &Spanned<String>) -> Result<Regex, ImportError> {
    compile(entry.get_ref()).map_err(|message| objection(text, Some(entry.span()), message))
}

/// Compiles an expression; what is wrong with it is said on one line.
pub(super) fn compile(source: &str) -> Result<Regex, String> {
    let compiled = RegexBuilder::new(source).unicode(false).multi_line(true).build();
    compiled.map_err(|error| {
        let error = error.to_string();
        let said = error.lines().last().unwrap_or_default();
        let said = said.strip_prefix("error: ").unwrap_or(said);
        format!("invalid regular expression `{source}`: {said}")
    })
}

pub(super) fn kind_named(text: &str, entry: &Spanned<String>) -> Result<Kind, ImportError> {
    let found = KINDS.iter().find(|(name, _)| name == entry.get_ref());
    found.map(|(_, kind)| *kind).ok_or_else(|| {
        let names: Vec<_> = KINDS.iter().map(|(name, _)| *name).collect();
        let message = format!("kind `{}`, expected one of {}", entry.get_ref(), names.join(", "));
        objection(text, Some(entry.span()), message)
    })
}

fn patterns(text: &str, entry: &Spanned<Patterns>) -> Result<Vec<Pattern>, ImportError> {
    let whole = entry.span();
    let patterns = match entry.get_ref() {
        Patterns::One(source) => {
            let regex = Spanned::new(whole.clone(), source.clone());
            vec![pattern(text, &PatternEntry { regex, kind: None, class: None, refuse: None })?]
        }
        Patterns::Many(entries) => {
            entries.iter().map(|entry| pattern(text, entry)).collect::<Result<_, _>>()?
        }
    };
    if patterns.is_empty() {
        return Err(objection(text, Some(whole), "no pattern, expected at least one"));
    }
    Ok(patterns)
}

fn pattern(text: &str, entry: &PatternEntry) -> Result<Pattern, ImportError> {
    let object = |message: String| Err(objection(text, Some(entry.regex.span()), message));
    let regex = expression(text, &entry.regex)?;
    let mut groups = [None; GROUPS.len()];
    for (number, name) in regex.capture_names().enumerate() {
        let Some(name) = name else { continue };
        match GROUPS.iter().position(|known| *known == name) {
            Some(group) => groups[group] = Some(number),
            None => {
                let known = GROUPS.join(", ");
                return object(format!("unknown group `{name}`, expected one of {known}"));
            }
        }
    }
    let class = entry.class.as_ref().map(|class| {
        FuncKind::from_name(class.get_ref()).ok_or_else(|| {
            let message = format!(
                "class `{}`, expected function, syscall, interrupt, idle, switch or mark",
                class.get_ref()
            );
            objection(text, Some(class.span()), message)
        })
    });
    let pattern = Pattern {
        line: file::line_of(text, entry.regex.span().start),
        source: entry.regex.get_ref().clone(),
        kind: entry.kind.as_ref().map(|kind| kind_named(text, kind)).transpose()?,
        class: class.transpose()?,
        refuse: entry.refuse.clone(),
        regex,
        groups,
    };
    if pattern.refuse.is_some() || pattern.kind == Some(Kind::Ignore) {
        return Ok(pattern);
    }
    match pattern.kind {
        None if !pattern.has(Group::Kind) => {
            return object("no group `kind`, expected one, or a fixed `kind = \"…\"`".into());
        }
        Some(Kind::Leaf | Kind::Return) if !pattern.has(Group::Dur) => {
            return object("no group `dur`, expected one for calls that are a single line".into());
        }
        Some(Kind::Switch) if !pattern.names_a_thread() => {
            return object(
                "no group `tid` or `thread`, expected the thread that runs from here on".into(),
            );
        }
        Some(Kind::Exit | Kind::Lost | Kind::Switch | Kind::Ignore) => return Ok(pattern),
        None | Some(_) => {}
    }
    if !pattern.has(Group::Name) && !pattern.has(Group::Addr) {
        return object("no group `name` or `addr`, expected the function".into());
    }
    Ok(pattern)
}

fn times(text: &str, file: &File, patterns: &[Pattern]) -> Result<Times, ImportError> {
    let telling = || patterns.iter().filter(|p| p.refuse.is_none() && p.kind != Some(Kind::Ignore));
    let has = |group| telling().any(|pattern| pattern.has(group));
    let (has_ts, has_dur) = (has(Group::Ts), has(Group::Dur) || has(Group::Net));
    let object = |span, message: String| Err(objection(text, Some(span), message));
    let at_pattern = file.pattern.as_ref().map_or(0..0, Spanned::span);
    if !has_ts && !has_dur {
        let message = "no pattern has a group `ts` or `dur`, expected a timestamp or a duration";
        return object(at_pattern, message.into());
    }
    let must = |p: &&Pattern| !matches!(p.kind, Some(Kind::Lost | Kind::Switch));
    if has_ts && let Some(without) = telling().filter(must).find(|p| !p.has(Group::Ts)) {
        return Err(ImportError {
            line: Some(without.line),
            ..ImportError::whole("no group `ts`, which another pattern has, expected one here too")
        });
    }
    let format = match &file.ts_format {
        None => Format::Decimal,
        Some(entry) => match Format::NAMES.iter().find(|(name, _)| name == entry.get_ref()) {
            Some((_, format)) => *format,
            None => {
                let found = entry.get_ref();
                let message = format!("ts_format `{found}`, expected decimal, clock or datetime");
                return object(entry.span(), message);
            }
        },
    };
    let known = "s, ms, us, ns, cycles, instructions or a clock such as 24MHz";
    let unit_of = |entry: &Spanned<String>, key: &str| {
        times::unit(entry.get_ref()).ok_or_else(|| {
            let message = format!("{key} `{}`, expected {known}", entry.get_ref());
            objection(text, Some(entry.span()), message)
        })
    };
    let (mut unit, mut ts_digits) = (times::NANOSECOND, 0);
    match (&file.ts_unit, format) {
        (Some(entry), Format::Decimal) => (unit, ts_digits) = unit_of(entry, "ts_unit")?,
        (None, Format::Decimal) if has_ts => {
            return object(at_pattern, format!("ts_unit is not stated, expected {known}"));
        }
        (Some(entry), Format::Clock | Format::Datetime) => {
            let message = "ts_unit has no meaning for this ts_format, expected none";
            return object(entry.span(), message.into());
        }
        (None, _) => {}
    }
    let mut dur_digits = 0;
    let mut dur_unit = None;
    if let Some(entry) = &file.dur_unit {
        let (of_dur, digits) = unit_of(entry, "dur_unit")?;
        if has_ts && of_dur != unit {
            let message = format!(
                "dur_unit `{}` is not a multiple of ts_unit, expected the same unit",
                entry.get_ref()
            );
            return object(entry.span(), message);
        }
        (unit, dur_digits, dur_unit) = (of_dur, digits, Some(entry));
    }
    let unstated = |p: &&Pattern| {
        (p.has(Group::Dur) || p.has(Group::Net)) && dur_unit.is_none() && !p.has(Group::DurUnit)
    };
    if let Some(pattern) = telling().find(unstated) {
        let message = format!("dur_unit is not stated, expected {known}, or a group `dur_unit`");
        return Err(ImportError { line: Some(pattern.line), ..ImportError::whole(message) });
    }
    let timeline = if has_ts { Timeline::Recorded } else { Timeline::Synthetic };
    let mut times = Times { format, unit, timeline, ts_digits, dur_digits, bits: None };
    if let Some(entry) = &file.ts_bits {
        let bits = *entry.get_ref();
        let counts = file.ts_unit.as_ref().and_then(|unit| crate::text::tick_unit(unit.get_ref()));
        let same = dur_unit.is_none_or(|dur| {
            file.ts_unit.as_ref().is_some_and(|ts| ts.get_ref() == dur.get_ref())
        });
        let (Some(unit), true, 1..=63) = (counts, same && !has(Group::DurUnit), bits) else {
            let message = format!(
                "ts_bits `{bits}`, expected 1 to 63, with the step of the counter as ts_unit and \
                 durations in the same unit"
            );
            return object(entry.span(), message);
        };
        times = Times { unit, ts_digits: 0, dur_digits: 0, bits: Some(bits), ..times };
    }
    Ok(times)
}

fn indent(text: &str, file: &File, patterns: &[Pattern]) -> Result<Option<Indent>, ImportError> {
    let indented = patterns.iter().find(|pattern| pattern.has(Group::Indent));
    let at_pattern = |pattern: &Pattern, message: &str| {
        Err(ImportError { line: Some(pattern.line), ..ImportError::whole(message) })
    };
    let both = |p: &&Pattern| p.has(Group::Indent) && p.has(Group::Depth);
    if let Some(pattern) = patterns.iter().find(both) {
        return at_pattern(pattern, "groups `indent` and `depth`, expected one of them");
    }
    let Some(entry) = &file.indent else {
        return match indented {
            Some(pattern) => at_pattern(
                pattern,
                "group `indent` without a key `indent`, expected the columns per level, or \
                 \"auto\"",
            ),
            None => Ok(None),
        };
    };
    let object = |message: String| Err(objection(text, Some(entry.span()), message));
    if indented.is_none() {
        return object("no pattern has a group `indent`, expected one around the spaces".into());
    }
    match entry.get_ref() {
        IndentEntry::Columns(columns @ 1..=64) => Ok(Some(Indent::Columns(*columns as usize))),
        IndentEntry::Columns(columns) => object(format!("indent `{columns}`, expected 1 to 64")),
        IndentEntry::Word(word) if word == "auto" => Ok(Some(Indent::Auto)),
        IndentEntry::Word(word) => object(format!("indent `{word}`, expected columns or \"auto\"")),
    }
}
