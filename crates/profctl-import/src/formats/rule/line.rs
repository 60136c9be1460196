//! One line by a rule: which pattern it is, what its groups say, and what event that makes.

use std::borrow::Cow;
use std::sync::Arc;

use profctl_model::{Func, FuncKind};
use regex::bytes::CaptureLocations;

use super::compile::{Group, Kind, Pattern, Rule};
use super::times::{self, Format, Midnights};
use crate::emit::{
    At, DEPTH_MAX, Emitter, LaneKey, LaneRef, NameRef, PrevState, Stated, TIME_MAX, ThreadKey,
};
use crate::symbols::Symbols;
use crate::text;

/// Applies a rule to lines.
#[derive(Debug)]
pub(super) struct Matcher {
    pub(super) rule: Arc<Rule>,
    pub(super) symbols: Option<Arc<Symbols>>,
    /// Columns of indentation a level.
    step: usize,
    /// Where the groups of each pattern lie in the line that was matched last.
    locations: Vec<CaptureLocations>,
}

/// What became of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    /// The pattern of that row matched.
    Pattern(usize),
    /// It is to be skipped.
    Ignored,
    /// No pattern matched.
    Nothing,
}

impl Matcher {
    pub(super) fn new(rule: Arc<Rule>, symbols: Option<Arc<Symbols>>, step: usize) -> Self {
        let locations = rule.patterns.iter().map(|p| p.regex.capture_locations()).collect();
        Self { rule, symbols, step, locations }
    }

    pub(super) fn fork(&self) -> Self {
        Self::new(Arc::clone(&self.rule), self.symbols.clone(), self.step)
    }

    /// Which pattern `line` is of: the first that matches.
    pub(super) fn find(&mut self, line: &[u8]) -> Found {
        for (row, pattern) in self.rule.patterns.iter().enumerate() {
            if pattern.regex.captures_read(&mut self.locations[row], line).is_some() {
                return match pattern.kind {
                    Some(Kind::Ignore) => Found::Ignored,
                    _ => Found::Pattern(row),
                };
            }
        }
        if line.trim_ascii().is_empty() || self.rule.ignore.iter().any(|r| r.is_match(line)) {
            return Found::Ignored;
        }
        Found::Nothing
    }

    /// What a group of the pattern that was found says in `line`, without blanks around it.
    pub(super) fn group<'a>(&self, row: usize, group: Group, line: &'a [u8]) -> Option<&'a [u8]> {
        Some(self.raw(row, group, line)?.trim_ascii()).filter(|text| !text.is_empty())
    }

    fn raw<'a>(&self, row: usize, group: Group, line: &'a [u8]) -> Option<&'a [u8]> {
        let number = self.rule.patterns[row].group(group)?;
        let (start, end) = self.locations[row].get(number)?;
        Some(&line[start..end])
    }

    /// The columns of indentation of `line`.
    pub(super) fn columns(&self, row: usize, line: &[u8]) -> usize {
        self.raw(row, Group::Indent, line).map_or(0, <[u8]>::len)
    }

    /// The smallest step, in ticks, in which `line` states times and durations.
    pub(super) fn resolution(&self, row: usize, line: &[u8]) -> Option<u64> {
        let of_times = self.group(row, Group::Ts, line).and_then(|text| {
            let digits = match self.rule.times.format {
                Format::Decimal => self.rule.times.ts_digits,
                Format::Clock | Format::Datetime => times::SECOND_DIGITS,
            };
            step(text, digits)
        });
        let of_lengths = self.group(row, Group::Dur, line).and_then(|text| {
            let unit = self.group(row, Group::DurUnit, line);
            let digits = unit.map_or(Some(self.rule.times.dur_digits), times::digits_of)?;
            step(text, digits)
        });
        [of_times, of_lengths].into_iter().flatten().min()
    }

    /// Says what `line`, which is of pattern `row`, means, or what was expected instead.
    pub(super) fn emit(
        &self,
        row: usize,
        line: &[u8],
        offset: usize,
        midnights: &mut Midnights,
        out: &mut Emitter,
    ) -> Result<(), String> {
        let pattern = &self.rule.patterns[row];
        if let Some(refused) = &pattern.refuse {
            return Err(refused.clone());
        }
        let kind = self.kind(row, line)?;
        if kind == Kind::Ignore {
            return Ok(());
        }
        let time = self.time(row, line, midnights)?;
        let (wall, net) =
            (self.length(row, Group::Dur, line)?, self.length(row, Group::Net, line)?);
        let name = self.name(row, kind, line, out)?;
        let depth = self.depth(row, line)?;
        let thread = self.thread(row, [Group::Tid, Group::Pid], Group::Thread, line);
        let lane = self.lane(row, thread, line, out)?;
        let at = At { time, lane, offset };
        let stated = Stated { depth, wall, net: None };
        match kind {
            Kind::Enter => out.enter(at, name, Stated { net, ..stated }),
            Kind::Exit => out.exit(at, Some(name), stated),
            Kind::Leaf => out.leaf(at, name, stated),
            Kind::Return => out.returned(at, name, stated),
            Kind::Mark | Kind::Ignore => out.instant(at, name),
            Kind::Lost => {
                let lost = self.group(row, Group::Lost, line).and_then(text::integer);
                out.lost(at, lost);
            }
            Kind::Switch => return self.switch(row, at, line, out),
        }
        Ok(())
    }

    /// A switch moves time off the CPU if it says when and who left; where calls do not name
    /// their thread, it also says who they run on from here on.
    fn switch(&self, row: usize, at: At, line: &[u8], out: &mut Emitter) -> Result<(), String> {
        let from = self.thread(row, [Group::FromTid, Group::FromTid], Group::FromThread, line);
        let left = match from {
            ThreadKey::Unstated => None,
            thread => Some(self.lane(row, thread, line, out)?),
        };
        if self.rule.follows_switches || left.is_none() {
            out.runs_now(at.lane, left, at.offset);
        }
        if left.is_some() && at.time.is_some() {
            out.sched_switch(at, left, PrevState::Unknown(b'?'), Some(at.lane));
        }
        Ok(())
    }

    fn kind(&self, row: usize, line: &[u8]) -> Result<Kind, String> {
        let pattern = &self.rule.patterns[row];
        if let Some(kind) = pattern.kind {
            return Ok(kind);
        }
        let word = self.group(row, Group::Kind, line).unwrap_or_default();
        let kind = self
            .rule
            .word(word)
            .ok_or_else(|| format!("kind `{}`, expected a word in [kind]", text::excerpt(word)))?;
        if matches!(kind, Kind::Leaf | Kind::Return) && self.group(row, Group::Dur, line).is_none()
        {
            return Err("a call on a single line without `dur`, expected its duration".into());
        }
        Ok(kind)
    }

    fn time(
        &self,
        row: usize,
        line: &[u8],
        midnights: &mut Midnights,
    ) -> Result<Option<u64>, String> {
        let Some(text) = self.group(row, Group::Ts, line) else {
            return match self.rule.patterns[row].group(Group::Ts) {
                Some(_) if self.rule.patterns[row].kind.is_none_or(Kind::needs_time) => {
                    Err("no time, expected one in group `ts`".into())
                }
                _ => Ok(None),
            };
        };
        let (time, expected) = match self.rule.times.format {
            Format::Decimal => {
                (decimal(text, self.rule.times.ts_digits), "a number that fits the unit")
            }
            Format::Clock => (times::clock(text).map(|time| midnights.unfold(time)), "HH:MM:SS"),
            Format::Datetime => (times::datetime(text), "YYYY-MM-DD HH:MM:SS"),
        };
        time.filter(|time| *time <= TIME_MAX)
            .map(Some)
            .ok_or_else(|| format!("the time `{}`, expected {expected}", text::excerpt(text)))
    }

    fn length(&self, row: usize, group: Group, line: &[u8]) -> Result<Option<u64>, String> {
        let Some(text) = self.group(row, group, line) else { return Ok(None) };
        let digits = match self.group(row, Group::DurUnit, line) {
            None => self.rule.times.dur_digits,
            Some(unit) => times::digits_of(unit).ok_or_else(|| {
                format!("the unit `{}`, expected s, ms, us or ns", text::excerpt(unit))
            })?,
        };
        decimal(text, digits).filter(|length| *length <= TIME_MAX).map(Some).ok_or_else(|| {
            format!("the duration `{}`, expected a number that fits the unit", text::excerpt(text))
        })
    }

    fn depth(&self, row: usize, line: &[u8]) -> Result<Option<u16>, String> {
        let depth = if let Some(text) = self.group(row, Group::Depth, line) {
            text::decimal(text, 0).ok_or_else(|| format!("depth `{}`", text::excerpt(text)))?
        } else if let Some(indent) = self.raw(row, Group::Indent, line) {
            if !indent.len().is_multiple_of(self.step) {
                let (columns, step) = (indent.len(), self.step);
                return Err(format!("an indentation of {columns}, expected a multiple of {step}"));
            }
            (indent.len() / self.step) as u64
        } else {
            return Ok(None);
        };
        u16::try_from(depth)
            .ok()
            .filter(|depth| *depth <= DEPTH_MAX)
            .map(Some)
            .ok_or_else(|| format!("depth {depth}, expected less than 65535"))
    }

    /// The function that the line names, or the one that has its address.
    fn name(
        &self,
        row: usize,
        kind: Kind,
        line: &[u8],
        out: &mut Emitter,
    ) -> Result<NameRef, String> {
        let pattern = &self.rule.patterns[row];
        let address = self.group(row, Group::Addr, line);
        let Some(spelling) = self.group(row, Group::Name, line).or(address) else {
            return match kind {
                Kind::Exit | Kind::Lost | Kind::Switch | Kind::Ignore => Ok(NameRef::ANONYMOUS),
                _ => Err("no name, expected the function".into()),
            };
        };
        let by_address = address.is_some_and(|address| address == spelling);
        let number = address.and_then(hexadecimal);
        if by_address && number.is_none() {
            let found = text::excerpt(spelling);
            return Err(format!("the address `{found}`, expected a hexadecimal number"));
        }
        let module = self.group(row, Group::Module, line);
        let describe =
            |_: &[u8]| self.describe(pattern, spelling, module, number, by_address, kind);
        if module.is_none() && pattern.class.is_none() && kind != Kind::Mark {
            return Ok(out.name(spelling, describe));
        }
        // The same name may stand for another function here, so the key includes what distinguishes
        // them; a line never has a NUL in a name.
        let mut key = spelling.to_vec();
        key.push(0);
        key.extend_from_slice(module.unwrap_or_default());
        key.push(0);
        key.push(if kind == Kind::Mark {
            u8::MAX
        } else {
            pattern.class.map_or(0, |c| c as u8 + 1)
        });
        Ok(out.name(&key, describe))
    }

    fn describe(
        &self,
        pattern: &Pattern,
        spelling: &[u8],
        module: Option<&[u8]>,
        address: Option<u64>,
        by_address: bool,
        kind: Kind,
    ) -> Func {
        let symbol = match (&self.symbols, address) {
            (Some(symbols), Some(address)) if by_address => symbols.lookup(address),
            _ => None,
        };
        let name: Cow<'_, str> = match symbol {
            Some((name, _)) => name.into(),
            None => String::from_utf8_lossy(spelling),
        };
        let class = match kind {
            Kind::Mark => FuncKind::Mark,
            _ => self.rule.class(pattern, name.as_bytes()),
        };
        Func {
            module: module.map(|module| String::from_utf8_lossy(module).into_owned()),
            kind: class,
            address,
            name: name.into_owned(),
        }
    }

    fn thread(&self, row: usize, ids: [Group; 2], name: Group, line: &[u8]) -> ThreadKey {
        let id = ids.into_iter().find_map(|group| self.group(row, group, line));
        let name = self.group(row, name, line);
        let lossy = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
        if let (Some(name), Some(idle)) = (name, &self.rule.idle_thread)
            && idle.is_match(name)
        {
            return ThreadKey::Idle;
        }
        match (id, name) {
            (Some(id), name) => match text::integer(id) {
                Some(number) => ThreadKey::Tid(number, name.map(lossy).unwrap_or_default()),
                None => ThreadKey::Named(lossy(id)),
            },
            (None, Some(name)) => ThreadKey::Named(lossy(name)),
            (None, None) => ThreadKey::Unstated,
        }
    }

    fn lane(
        &self,
        row: usize,
        thread: ThreadKey,
        line: &[u8],
        out: &mut Emitter,
    ) -> Result<LaneRef, String> {
        let cpu = self.group(row, Group::Cpu, line);
        let number = cpu.and_then(text::integer).and_then(|cpu| u32::try_from(cpu).ok());
        if let (Some(cpu), None) = (cpu, number) {
            return Err(format!("the CPU `{}`, expected a number", text::excerpt(cpu)));
        }
        Ok(out.lane(LaneKey { cpu: number, thread }))
    }
}

impl Kind {
    /// Whether such a line means nothing without a time, in a trace that has times.
    fn needs_time(self) -> bool {
        !matches!(self, Self::Lost | Self::Switch | Self::Ignore)
    }
}

/// What one step of the last digit of a number is, if its unit has that many digits more.
fn step(text: &[u8], digits: u32) -> Option<u64> {
    let point = text.iter().position(|byte| b".,".contains(byte));
    let decimals = point.map_or(0, |point| text.len() - point - 1);
    10_u64.checked_pow(digits.saturating_sub(u32::try_from(decimals).ok()?))
}

/// A number, moved by `digits`. Zeros beyond them are no more than a habit of the printer.
fn decimal(text: &[u8], digits: u32) -> Option<u64> {
    if digits == 0 && text.starts_with(b"0x") {
        return text::integer(text);
    }
    let mut text = text;
    if let Some(point) = memchr::memchr(b'.', text) {
        while text.len() > point + 1 + digits as usize && text.ends_with(b"0") {
            text = &text[..text.len() - 1];
        }
        text = text.strip_suffix(b".").unwrap_or(text);
    }
    text::decimal(text, digits)
}

fn hexadecimal(text: &[u8]) -> Option<u64> {
    if text.starts_with(b"0x") || text.starts_with(b"0X") {
        return text::integer(text);
    }
    if !text.first()?.is_ascii_hexdigit() {
        return None;
    }
    u64::from_str_radix(std::str::from_utf8(text).ok()?, 16).ok()
}
