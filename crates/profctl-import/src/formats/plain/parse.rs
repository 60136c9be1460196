//! Lines to records.

use profctl_model::{Code, Fidelity, Func, FuncKind, Timeline};

use super::lex::{self, Verb, Word, Words};
use crate::emit::{
    At, Emitter, LaneKey, LaneRef, NameRef, PrevState, Stated, ThreadKey, ThreadName, Total,
    WakerContext, Waking, WakingKind,
};
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

    fn read(&mut self, block: &Block<'_>, _state: &State, out: &mut Emitter) -> Option<State> {
        for line in text::lines(block.bytes) {
            out.lines += 1;
            if matches!(line.text.trim_ascii_start(), [] | [b'#', ..]) {
                continue;
            }
            out.records += 1;
            if let Err(expected) = self.line(line.text, line.offset, out) {
                out.refuse(&line, expected);
            }
        }
        None
    }
}

impl Lines {
    /// Says what one line says, or what was expected.
    fn line(&self, line: &[u8], offset: usize, out: &mut Emitter) -> Result<(), &'static str> {
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
        let verb = lex::verb(&word).ok_or("a verb, such as `>`")?;
        let time = self.time(&time)?;
        match (verb, &thread) {
            (Verb::Switch, Some(_)) => return Err("`switch FROM TO` without a thread before"),
            (Verb::Runs, None) => return Err("a thread before `runs`"),
            _ => {}
        }
        let line = Line { time, cpu, thread: thread.unwrap_or(ThreadKey::Unstated), offset, verb };
        line.said(words, out)
    }

    /// The time of a line. Damaged records of other formats may have lost theirs: any line may lack
    /// it, and then happens at the latest time before it.
    fn time(&self, word: &Word<'_>) -> Result<Option<u64>, &'static str> {
        let stated = match word.spelling {
            b"-" => None,
            digits => Some(text::decimal(digits, 0).ok_or("a time in whole ticks, or `-`")?),
        };
        match (stated, self.timeline) {
            (Some(time), Timeline::Recorded) if time > self.time_max => {
                Err("a time that fits the counter")
            }
            (Some(_), Timeline::Synthetic) => Err("`-` for the time, because the timeline is \
                                                   synthetic"),
            (stated, _) => Ok(stated),
        }
    }
}

/// What stands up to the verb.
struct Line {
    time: Option<u64>,
    cpu: Option<u32>,
    thread: ThreadKey,
    offset: usize,
    verb: Verb,
}

type Peekable<'a> = std::iter::Peekable<Words<'a>>;

impl Line {
    fn lane(&self, thread: ThreadKey, out: &mut Emitter) -> LaneRef {
        out.lane(LaneKey { cpu: self.cpu, thread })
    }

    fn at(&self, out: &mut Emitter) -> At {
        let lane = self.lane(self.thread.clone(), out);
        At { time: self.time, lane, offset: self.offset }
    }

    /// The function that comes next, with what follows it.
    fn named<'a>(
        &self,
        words: &mut Peekable<'a>,
        keys: &'static str,
        out: &mut Emitter,
    ) -> Result<(NameRef, Fields<'a>), &'static str> {
        let word = words.next().ok_or("a name")?;
        let fields = Fields::read(words, keys)?;
        Ok((self.name(&word, &fields, out)?, fields))
    }

    fn name(
        &self,
        word: &Word<'_>,
        fields: &Fields<'_>,
        out: &mut Emitter,
    ) -> Result<NameRef, &'static str> {
        parse_name(word, self.verb.kind(), fields.number(b"addr")?, out)
    }

    /// Reads what follows the verb, and says it if the line has no more.
    fn said(&self, mut words: Peekable<'_>, out: &mut Emitter) -> Result<(), &'static str> {
        let words = &mut words;
        match self.verb {
            Verb::Enter => {
                let (name, fields) = self.named(words, "wall net depth", out)?;
                let stated = fields.stated()?;
                let at = self.at(out);
                out.enter(at, name, stated);
            }
            Verb::Exit => {
                // Its name may be omitted; fields are not names.
                let word = words.next_if(|word| field(word).is_none());
                let fields = Fields::read(words, "wall depth")?;
                let name = word.map(|word| self.name(&word, &fields, out)).transpose()?;
                let stated = fields.stated()?;
                let at = self.at(out);
                out.exit(at, name, stated);
            }
            Verb::Leaf | Verb::Returned => {
                let word = words.next().ok_or("a name")?;
                let wall = number(words.next(), "a duration in whole ticks")?;
                let fields = Fields::read(words, "depth")?;
                let name = self.name(&word, &fields, out)?;
                let stated = Stated { wall: Some(wall), ..fields.stated()? };
                let at = self.at(out);
                match self.verb {
                    Verb::Leaf => out.leaf(at, name, stated),
                    _ => out.returned(at, name, stated),
                }
            }
            Verb::Instant => {
                let word = words.next().ok_or("a name")?;
                let is_detail = |word: &Word<'_>| word.quoted && word.suffix.is_empty();
                let detail = words.next_if(is_detail).map(|word| word.said());
                let fields = Fields::read(words, "depth")?;
                let name = self.name(&word, &fields, out)?;
                let at = self.at(out);
                match detail {
                    Some(detail) => out.instant_with(at, name, &detail),
                    None => out.instant(at, name),
                }
            }
            Verb::Within => {
                let (name, fields) = self.named(words, "depth", out)?;
                let depth = fields.stated()?.depth;
                let at = self.at(out);
                out.seen_at_depth(at, name, depth);
            }
            Verb::TagEnter | Verb::TagExit => {
                let (name, _) = self.named(words, "depth", out)?;
                let at = self.at(out);
                out.switch_tag(at, name, self.verb == Verb::TagEnter);
            }
            Verb::PartialEnd => {
                let (name, fields) = self.named(words, "seen", out)?;
                let at = self.at(out);
                out.partial_end(at, name, fields.get(b"seen") == Some(b"entry"));
            }
            Verb::Incomplete => {
                let fields = Fields::read(words, "seen gap")?;
                let (entry_seen, exit_seen) = match fields.get(b"seen") {
                    Some(b"entry") => (true, false),
                    Some(b"exit") => (false, true),
                    Some(b"neither") => (false, false),
                    _ => (true, true),
                };
                let fidelity = Fidelity {
                    start_inferred: !entry_seen,
                    end_inferred: !exit_seen,
                    at_gap: fields.number(b"gap")? == Some(1),
                };
                let at = self.at(out);
                out.incomplete(at, fidelity);
            }
            Verb::Lost => {
                let lost = words.next().map(|word| number(Some(word), "a number of lost events"));
                let lost = lost.transpose()?;
                end(words)?;
                let at = self.at(out);
                out.lost(at, lost);
            }
            Verb::Runs => {
                let before = words.next().map(|word| parse_thread(&word)).transpose()?;
                end(words)?;
                let before = before.map(|thread| self.lane(thread, out));
                let at = self.at(out);
                out.runs_now(at.lane, before, self.offset);
            }
            Verb::Switch => self.switch(words, out)?,
            Verb::Wake => {
                let word = words.next().ok_or("the thread that is woken")?;
                let target = parse_thread(&word)?;
                let waking = Fields::read(words, "kind cpu by")?.waking()?;
                let target = self.lane(target, out);
                let at = self.at(out);
                out.waking(at, target, waking);
            }
            Verb::Fork => {
                let word = words.next().ok_or("the thread that is created")?;
                let child = parse_thread(&word)?;
                end(words)?;
                let child = self.lane(child, out);
                let at = self.at(out);
                out.fork(at, child);
            }
            Verb::NameThread => {
                let fields = Fields::read(words, "tid pid idle")?;
                let (tid, pid) = (fields.number(b"tid")?, fields.number(b"pid")?);
                let thread = ThreadName { tid, pid, idle: fields.number(b"idle")? == Some(1) };
                let at = self.at(out);
                out.name_thread(at.lane, self.offset, thread);
            }
            Verb::Share => {
                let tid = number(words.next(), "the number of a thread")?;
                end(words)?;
                let at = self.at(out);
                out.share(at, tid);
            }
            Verb::Sum => {
                let (name, fields) = self.named(words, "calls elapsed net", out)?;
                let of = |key: &[u8]| Ok::<u64, &'static str>(fields.number(key)?.unwrap_or(0));
                let (calls, elapsed, net) = (of(b"calls")?, of(b"elapsed")?, of(b"net")?);
                let lane = self.at(out).lane;
                out.totals.push(Total { name, lane, calls, elapsed, net });
            }
            Verb::Diag => {
                let word = words.next().ok_or("the code of a diagnostic")?;
                let code = code(word.text).ok_or("a known diagnostic code")?;
                let n = number(words.next(), "a number of occurrences")?;
                end(words)?;
                out.count(code, n);
                // It was counted as a record where it was met.
                out.records -= 1;
            }
            Verb::Advance => {
                let ticks = number(words.next(), "a number of ticks")?;
                end(words)?;
                let at = self.at(out);
                out.advance(at, ticks);
            }
            Verb::IrqEnter | Verb::IrqExit | Verb::Covers | Verb::ThreadExit => {
                end(words)?;
                let at = self.at(out);
                match self.verb {
                    Verb::IrqEnter => out.irq_enter(at),
                    Verb::IrqExit => out.irq_exit(at),
                    Verb::Covers => out.covers(at),
                    _ => out.thread_exit(at),
                }
            }
        }
        Ok(())
    }

    fn switch(&self, words: &mut Peekable<'_>, out: &mut Emitter) -> Result<(), &'static str> {
        let mut next = || parse_thread(&words.next().ok_or("`switch FROM TO`")?);
        let (from, to) = (next()?, next()?);
        let preempted = words.next_if(|word| word.spelling == b"preempted");
        let fields = Fields::read(words, "state")?;
        let state = match (preempted, fields.get(b"state")) {
            (Some(_), _) => PrevState::Runnable,
            (None, Some(letters)) => PrevState::from_linux(letters),
            (None, None) => PrevState::Sleeping,
        };
        let (from, to) = (self.lane(from, out), self.lane(to, out));
        let at = At { time: self.time, lane: to, offset: self.offset };
        out.sched_switch(at, Some(from), state, Some(to));
        Ok(())
    }
}

fn end(words: &mut Peekable<'_>) -> Result<(), &'static str> {
    words.next().map_or(Ok(()), |_| Err("the end of the line"))
}

/// The diagnostic of that code.
fn code(name: &[u8]) -> Option<&'static Code> {
    crate::codes().find(|code| code.name.as_bytes() == name)
}

/// `KEY=VALUE …` at the end of a line.
struct Fields<'a> {
    fields: Vec<(&'a [u8], &'a [u8])>,
}

/// Keys of fields.
const KEYS: [&[u8]; 15] = [
    b"wall", b"net", b"depth", b"addr", b"state", b"kind", b"cpu", b"by", b"tid", b"pid", b"idle",
    b"calls", b"elapsed", b"seen", b"gap",
];

impl<'a> Fields<'a> {
    /// Reads the rest of a line; `keys` are those that may be there, and `addr`.
    fn read(words: &mut Peekable<'a>, keys: &'static str) -> Result<Self, &'static str> {
        let mut fields = Vec::new();
        for word in words {
            let found = field(&word).filter(|(key, _)| {
                *key == b"addr" || keys.split(' ').any(|known| known.as_bytes() == *key)
            });
            fields.push(found.ok_or(match keys {
                "wall net depth" | "wall depth" => "`wall=N`, `depth=N` or, of an entry, `net=N`",
                "depth" => "`depth=N`",
                "" => "the end of the line",
                _ => "fields that the verb takes",
            })?);
        }
        Ok(Self { fields })
    }

    fn get(&self, key: &[u8]) -> Option<&'a [u8]> {
        self.fields.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    fn number(&self, key: &[u8]) -> Result<Option<u64>, &'static str> {
        let number = |value: &[u8]| text::integer(value).filter(|&number| number != u64::MAX);
        let stated = |value| number(value).ok_or("an integer after `=`");
        self.get(key).map(stated).transpose()
    }

    fn stated(&self) -> Result<Stated, &'static str> {
        let (wall, net) = (self.number(b"wall")?, self.number(b"net")?);
        let depth = self.get(b"depth").map(|depth| {
            let depth = text::decimal(depth, 0).and_then(|depth| u16::try_from(depth).ok());
            depth.filter(|&depth| depth != u16::MAX).ok_or("a depth below 65535")
        });
        Ok(Stated { depth: depth.transpose()?, wall, net })
    }

    fn waking(&self) -> Result<Waking, &'static str> {
        let kind = match self.get(b"kind") {
            None => WakingKind::Wakeup,
            Some(b"waking") => WakingKind::Waking,
            Some(b"new") => WakingKind::WakeupNew,
            Some(_) => return Err("`kind=waking` or `kind=new`"),
        };
        let context = match self.get(b"by") {
            None => WakerContext::Unknown,
            Some(b"task") => WakerContext::Task,
            Some(b"hardirq") => WakerContext::HardIrq,
            Some(b"softirq") => WakerContext::SoftIrq,
            Some(b"both") => WakerContext::HardAndSoftIrq,
            Some(_) => return Err("`by=task`, `hardirq`, `softirq` or `both`"),
        };
        let cpu = self.number(b"cpu")?.map(|cpu| u32::try_from(cpu).map_err(|_| "a CPU"));
        Ok(Waking { kind, target_cpu: cpu.transpose()?, context })
    }
}

/// The two halves of `key=N`, if `word` is one of the fields.
fn field<'a>(word: &Word<'a>) -> Option<(&'a [u8], &'a [u8])> {
    let equals = memchr::memchr(b'=', word.text).filter(|_| !word.quoted)?;
    let (key, value) = (&word.text[..equals], &word.text[equals + 1..]);
    KEYS.contains(&key).then_some((key, value))
}

/// Whether a word would be treated as a field.
pub(super) fn is_field(word: &Word<'_>) -> bool {
    field(word).is_some()
}

fn number(word: Option<Word<'_>>, expected: &'static str) -> Result<u64, &'static str> {
    let number = word.and_then(|word| text::decimal(word.spelling, 0));
    number.filter(|&number| number != u64::MAX).ok_or(expected)
}

/// `idle`, `?`, `#123`, `name-123`, `name`, or with the process `#7/123`, `name-7/123`.
fn parse_thread(word: &Word<'_>) -> Result<ThreadKey, &'static str> {
    const EXPECTED: &str = "a thread: `name`, `name-123`, `#123` or `idle`";
    let ids = |text: &[u8], name: String| {
        let (pid, tid) = match memchr::memchr(b'/', text) {
            Some(at) => (Some(text::decimal(&text[..at], 0)?), &text[at + 1..]),
            None => (None, text),
        };
        let tid = text::decimal(tid, 0)?;
        Some(match pid {
            Some(pid) => ThreadKey::Member { pid, tid, name },
            None => ThreadKey::Tid(tid, name),
        })
    };
    if word.quoted {
        return match word.suffix {
            [] => Ok(ThreadKey::Named(word.said())),
            [b'-', digits @ ..] => ids(digits, word.said()).ok_or(EXPECTED),
            _ => Err(EXPECTED),
        };
    }
    match word.text {
        b"idle" => return Ok(ThreadKey::Idle),
        b"?" => return Ok(ThreadKey::Unstated),
        [b'#', digits @ ..] => return ids(digits, String::new()).ok_or(EXPECTED),
        _ => {}
    }
    let dash = memchr::memrchr(b'-', word.text).filter(|&dash| dash > 0);
    let lossy = |text| String::from_utf8_lossy(text).into_owned();
    let known = dash.and_then(|dash| ids(&word.text[dash + 1..], lossy(&word.text[..dash])));
    Ok(known.unwrap_or_else(|| ThreadKey::Named(lossy(word.text))))
}

/// A name with its module and its mark, interned.
fn parse_name(
    word: &Word<'_>,
    by_verb: FuncKind,
    address: Option<u64>,
    out: &mut Emitter,
) -> Result<NameRef, &'static str> {
    let whole = if word.quoted { word.suffix } else { word.text };
    let mark = whole.last().and_then(|last| lex::MARKS.iter().find(|(mark, _)| mark == last));
    let whole = if mark.is_some() { &whole[..whole.len() - 1] } else { whole };
    // Behind a closing quote the first bracket opens the module, which may then have others.
    let opens = |inner: &[u8]| {
        if word.quoted {
            inner.starts_with(b"[").then_some(0)
        } else {
            memchr::memrchr(b'[', inner)
        }
    };
    let (before, module) = match whole
        .strip_suffix(b"]")
        .and_then(|inner| opens(inner).map(|open| (&inner[..open], &inner[open + 1..])))
    {
        Some((before, module)) => (before, Some(module)),
        None => (whole, None),
    };
    let lossy = |text| String::from_utf8_lossy(text).into_owned();
    let name = match (word.quoted, before) {
        (true, []) => word.said(),
        (true, _) => return Err("`[module]` or a mark after the closing quote"),
        (false, _) => lossy(before),
    };
    // A damaged record of another format may have lost its name; in quotes that can be said.
    if name.is_empty() && !word.quoted {
        return Err("a name");
    }
    let kind = mark.map_or(by_verb, |&(_, kind)| kind);
    let describe = |_: &[u8]| Func { name, module: module.map(lossy), kind, address };
    if address.is_none() && (mark.is_some() || kind == FuncKind::Function) {
        return Ok(out.name(word.spelling, describe));
    }
    // The verb decides the kind, so one spelling may mean two functions.
    let address = address.map_or(String::new(), |address| format!("{address:x}"));
    let parts = [b"", kind.name().as_bytes(), address.as_bytes(), word.spelling];
    Ok(out.name(&parts.join(&b'\0'), describe))
}
