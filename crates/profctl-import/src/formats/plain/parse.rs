//! Lines to events.

use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};
use profctl_model::{Func, Timeline};

use super::lex::{self, Word, Words};
use crate::emit::{Emitter, Event, EventKind, LaneKey, NO_DEPTH, NameRef, ThreadKey, UNSTATED};
use crate::formats::{Block, Reader, State};
use crate::text;

/// Reads lines under one header.
pub(super) struct Lines {
    /// Whether lines have a time.
    pub(super) timeline: Timeline,
    /// The largest time that the header allows.
    pub(super) time_max: u64,
}

impl Reader for Lines {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self { ..*self })
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        text::last_line_boundary(bytes)
    }

    fn read(&mut self, block: &Block<'_>, _state: &State, out: &mut Emitter) -> Option<State> {
        let block = block.bytes;
        for line in text::lines(block) {
            out.lines += 1;
            if matches!(line.text.trim_ascii_start(), [] | [b'#', ..]) {
                continue;
            }
            out.records += 1;
            match self.parse(line.text, out) {
                Ok(event) => out.push(Event { offset: line.offset as u32, ..event }),
                Err(_) if !line.ended => out.diag(&CUT_RECORD, line.offset, || {
                    format!("the last line stops at `{}`", text::excerpt(line.text))
                }),
                Err(expected) => out.diag(&SKIPPED_RECORD, line.offset, || {
                    format!("found `{}`, expected {expected}", text::excerpt(line.text))
                }),
            }
        }
        None
    }
}

impl Lines {
    /// The event of one line, or what was expected.
    fn parse(&self, line: &[u8], out: &mut Emitter) -> Result<Event, &'static str> {
        let mut words = Words::new(line).peekable();
        let time = words.next().ok_or("a time")?;
        let cpu = words.peek().and_then(lex::cpu);
        if cpu.is_some() {
            words.next();
        }
        let mut thread = None;
        let mut word = words.next().ok_or("a verb, such as `>`")?;
        if lex::verb(&word).is_none() {
            thread = Some(parse_thread(&word)?);
            word = words.next().ok_or("a verb, such as `>`")?;
        }
        let kind = lex::verb(&word).ok_or("a verb, such as `>`")?;
        let time = self.parse_time(&time, kind)?;
        let (thread, lane_said) = match (kind, thread) {
            (EventKind::Switch, Some(_)) => return Err("`switch FROM TO` without a thread before"),
            (_, Some(thread)) => (thread, true),
            (_, None) => (ThreadKey::Unstated, false),
        };
        if kind == EventKind::RunsNow && !lane_said {
            return Err("a thread before `runs`");
        }
        let mut lane = LaneKey { cpu, thread };
        let mut event = Operands::default();
        match kind {
            EventKind::Enter
            | EventKind::Mark
            | EventKind::Seen
            | EventKind::SwitchTagEnter
            | EventKind::SwitchTagExit => {
                event.name = parse_name(&words.next().ok_or("a name")?, kind, out)?;
                event.fields(&mut words, kind)?;
            }
            EventKind::Exit => {
                // Its name may be left out; fields are no names.
                if let Some(word) = words.next_if(|word| field(word).is_none()) {
                    event.name = parse_name(&word, kind, out)?;
                }
                event.fields(&mut words, kind)?;
            }
            EventKind::Leaf | EventKind::Return => {
                event.name = parse_name(&words.next().ok_or("a name")?, kind, out)?;
                event.duration = parse_number(words.next(), "a duration in whole ticks")?;
                event.fields(&mut words, kind)?;
            }
            EventKind::Gap => {
                if words.peek().is_some() {
                    event.duration = parse_number(words.next(), "how many events were lost")?;
                }
            }
            EventKind::RunsNow => {
                if let Some(word) = words.next() {
                    let from = LaneKey { cpu, thread: parse_thread(&word)? };
                    event.extra = u64::from(out.lane(from).0);
                }
            }
            EventKind::Switch => {
                let mut next = || parse_thread(&words.next().ok_or("`switch FROM TO`")?);
                let (from, to) = (next()?, next()?);
                lane.thread = to;
                event.extra = u64::from(out.lane(LaneKey { cpu, thread: from }).0);
                let preempted = words.next_if(|word| word.spelling == b"preempted");
                event.duration = u64::from(preempted.is_some());
            }
            EventKind::Wake => {
                let woken = parse_thread(&words.next().ok_or("the thread that is woken")?)?;
                event.extra = u64::from(out.lane(LaneKey { cpu, thread: woken }).0);
            }
            EventKind::Fork
            | EventKind::ThreadExit
            | EventKind::InterruptEnter
            | EventKind::InterruptExit
            | EventKind::Complete
            | EventKind::Settle
            | EventKind::Describe
            | EventKind::Pass => {}
        }
        if words.next().is_some() {
            return Err("the end of the line");
        }
        let Operands { duration, extra, name, depth } = event;
        Ok(Event { time, duration, extra, name, lane: out.lane(lane), offset: 0, depth, kind })
    }

    /// The time of an event: as the timeline asks, but a loss or a change of threads may lack it.
    fn parse_time(&self, word: &Word<'_>, kind: EventKind) -> Result<u64, &'static str> {
        let stated = match word.spelling {
            b"-" => None,
            digits => Some(text::decimal(digits, 0).ok_or("a time in whole ticks, or `-`")?),
        };
        match (stated, self.timeline) {
            (Some(time), Timeline::Recorded) if time > self.time_max => {
                Err("a time that fits the counter")
            }
            (Some(time), Timeline::Recorded) => Ok(time),
            (Some(_), Timeline::Synthetic) => Err("`-` for the time, as the timeline is synthetic"),
            (None, Timeline::Synthetic) => Ok(UNSTATED),
            (None, Timeline::Recorded) if lex::may_lack_time(kind) => Ok(UNSTATED),
            (None, Timeline::Recorded) => Err("a time, as the timeline is recorded"),
        }
    }
}

/// What follows the verb.
struct Operands {
    duration: u64,
    extra: u64,
    name: NameRef,
    depth: u16,
}

impl Default for Operands {
    fn default() -> Self {
        Self { duration: UNSTATED, extra: UNSTATED, name: NameRef::ANONYMOUS, depth: NO_DEPTH }
    }
}

impl Operands {
    /// Reads `wall=N net=N depth=N`, as far as `kind` takes them.
    fn fields<'a>(
        &mut self,
        words: &mut impl Iterator<Item = Word<'a>>,
        kind: EventKind,
    ) -> Result<(), &'static str> {
        const NUMBER: &str = "a whole number behind `=`";
        let takes_wall = matches!(kind, EventKind::Enter | EventKind::Exit);
        for word in words {
            match field(&word) {
                Some((b"wall", value)) if takes_wall => {
                    self.duration = stated(value).ok_or(NUMBER)?;
                }
                Some((b"net", value)) if kind == EventKind::Enter => {
                    self.extra = stated(value).ok_or(NUMBER)?;
                }
                Some((b"depth", value)) => {
                    let depth = stated(value).and_then(|depth| u16::try_from(depth).ok());
                    let depth = depth.filter(|&depth| depth != NO_DEPTH);
                    self.depth = depth.ok_or("a depth below 65535")?;
                }
                _ if takes_wall => return Err("`wall=N`, `depth=N` or, of an entry, `net=N`"),
                _ => return Err("`depth=N`"),
            }
        }
        Ok(())
    }
}

/// The two halves of `key=N`, if `word` is one of the fields.
fn field<'a>(word: &Word<'a>) -> Option<(&'a [u8], &'a [u8])> {
    let equals = memchr::memchr(b'=', word.text).filter(|_| !word.quoted)?;
    let (key, value) = (&word.text[..equals], &word.text[equals + 1..]);
    [&b"wall"[..], b"net", b"depth"].contains(&key).then_some((key, value))
}

/// A number that is not the one which means "unstated".
fn stated(text: &[u8]) -> Option<u64> {
    text::decimal(text, 0).filter(|&number| number != UNSTATED)
}

fn parse_number(word: Option<Word<'_>>, expected: &'static str) -> Result<u64, &'static str> {
    word.and_then(|word| stated(word.spelling)).ok_or(expected)
}

/// `idle`, `#123`, `name-123` or `name`.
fn parse_thread(word: &Word<'_>) -> Result<ThreadKey, &'static str> {
    const EXPECTED: &str = "a thread: `name`, `name-123`, `#123` or `idle`";
    let lossy = |text| String::from_utf8_lossy(text).into_owned();
    if word.quoted {
        return match word.suffix {
            [] => Ok(ThreadKey::Named(lossy(word.text))),
            [b'-', digits @ ..] => {
                let tid = text::decimal(digits, 0).ok_or(EXPECTED)?;
                Ok(ThreadKey::Tid(tid, lossy(word.text)))
            }
            _ => Err(EXPECTED),
        };
    }
    if word.text == b"idle" {
        return Ok(ThreadKey::Idle);
    }
    if let Some(digits) = word.text.strip_prefix(b"#") {
        let tid = text::decimal(digits, 0).ok_or(EXPECTED)?;
        return Ok(ThreadKey::Tid(tid, String::new()));
    }
    let dash = memchr::memrchr(b'-', word.text).filter(|&dash| dash > 0);
    let tid = dash.and_then(|dash| Some((dash, text::decimal(&word.text[dash + 1..], 0)?)));
    Ok(match tid {
        Some((dash, tid)) => ThreadKey::Tid(tid, lossy(&word.text[..dash])),
        None => ThreadKey::Named(lossy(word.text)),
    })
}

/// A name with its module and its mark, interned.
fn parse_name(
    word: &Word<'_>,
    verb: EventKind,
    out: &mut Emitter,
) -> Result<NameRef, &'static str> {
    let whole = if word.quoted { word.suffix } else { word.text };
    let mark = whole.last().and_then(|last| lex::MARKS.iter().find(|(mark, _)| mark == last));
    let whole = if mark.is_some() { &whole[..whole.len() - 1] } else { whole };
    let (before, module) = match whole.strip_suffix(b"]").and_then(|inner| {
        memchr::memrchr(b'[', inner).map(|open| (&inner[..open], &inner[open + 1..]))
    }) {
        Some((before, module)) => (before, Some(module)),
        None => (whole, None),
    };
    let name = match (word.quoted, before) {
        (true, []) => word.text,
        (true, _) => return Err("`[module]` or a mark behind the closing quote"),
        (false, _) => before,
    };
    if name.is_empty() {
        return Err("a name");
    }
    let lossy = |text| String::from_utf8_lossy(text).into_owned();
    let kind = mark.map_or(lex::kind_by_verb(verb), |&(_, kind)| kind);
    let describe =
        |_: &[u8]| Func { name: lossy(name), module: module.map(lossy), kind, ..Func::default() };
    if mark.is_some() || kind == lex::kind_by_verb(EventKind::Enter) {
        return Ok(out.name(word.spelling, describe));
    }
    // The verb decides the kind, so one spelling may mean two functions.
    let spelling = [b"\0", kind.name().as_bytes(), b"\0", word.spelling].concat();
    Ok(out.name(&spelling, describe))
}
