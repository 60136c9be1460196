//! What an export of this program says of the trace that it was made from: an instant at the
//! beginning tells the clock and what was wrong with the original, and annotations tell of a call
//! what its times do not. `docs/export.md` lists them.

use std::sync::Arc;

use profctl_model::diag::codes;
use profctl_model::{Code, Fidelity, FuncKind, TickUnit, Ticks, Timebase, Timeline};

use super::memory::Tables;
use super::wire::{Fields, Value};
use crate::emit::Account;

/// The name of the instant at the beginning.
pub(super) const TRACE: &[u8] = b"profctl trace";
/// The category of an instant that tells of a loss.
pub(super) const GAP: &[u8] = b"gap";

/// Codes that come back as they are, beside those that every format may raise.
const OTHER_CODES: [&Code; 5] = [
    &crate::stitch::AMBIGUOUS_SWITCH,
    &super::NO_STATE,
    &super::MISSING_NAME,
    &super::UNKNOWN_CLOCK,
    &super::NOT_READ,
];

/// The instant at the beginning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Ours {
    pub(super) timebase: Timebase,
    /// The first and the last time, in ticks.
    pub(super) bounds: Option<(u64, u64)>,
    pub(super) knows_off_cpu: bool,
    pub(super) cpus: Vec<u32>,
    /// What was wrong with the original: severity and code, and how often.
    pub(super) diags: Vec<(String, u64)>,
}

impl Ours {
    /// Reads the annotations of the instant.
    pub(super) fn read(event: &[u8], tables: &Tables) -> Self {
        let (mut first, mut last) = (None, None);
        let (mut unit, mut numerator, mut denominator) = (None, 1, 1_000_000_000);
        let mut ours = Self {
            timebase: Timebase::NANOSECONDS,
            bounds: None,
            knows_off_cpu: false,
            cpus: Vec::new(),
            diags: Vec::new(),
        };
        for Annotation { name, value } in annotations(event, tables) {
            match (&*name, &value) {
                (b"first", Said::Number(time)) => first = Some(*time),
                (b"last", Said::Number(time)) => last = Some(*time),
                (b"off_cpu_known", Said::Number(known)) => ours.knows_off_cpu = *known != 0,
                (b"numerator", Said::Number(number)) => numerator = (*number).max(1),
                (b"denominator", Said::Number(number)) => denominator = (*number).max(1),
                (b"resolution", Said::Number(ticks)) => {
                    ours.timebase.resolution = Ticks((*ticks).max(1));
                }
                (b"unit", Said::Text(text)) => unit = Some(text.clone()),
                (b"timeline", Said::Text(text)) if &**text == b"synthetic" => {
                    ours.timebase.timeline = Timeline::Synthetic;
                }
                (b"cpus", Said::Text(text)) => {
                    let numbers = text.split(|&byte| byte == b',');
                    let number = |text| crate::text::decimal(text, 0).map(u32::try_from)?.ok();
                    ours.cpus = numbers.filter_map(number).collect();
                }
                (code, Said::Number(n)) if code.contains(&b'/') => {
                    ours.diags.push((String::from_utf8_lossy(code).into_owned(), *n));
                }
                _ => {}
            }
        }
        ours.timebase.unit = match unit.as_deref() {
            Some(b"cycles") => TickUnit::Cycles,
            Some(b"instructions") => TickUnit::Instructions,
            _ => TickUnit::Seconds { numerator, denominator },
        };
        ours.bounds = first.zip(last);
        ours
    }

    /// The tick that is written as so many nanoseconds.
    pub(super) fn tick(&self, nanoseconds: u64) -> u64 {
        let ticks = self.timebase.ticks_of_nanos(u128::from(nanoseconds));
        ticks.map_or(nanoseconds, |ticks| ticks.0)
    }

    /// What was wrong with the original, under codes of ours. A code that only the reader of its
    /// format knows is counted by what it means for the numbers. Losses are told by instants.
    pub(super) fn codes(&self) -> impl Iterator<Item = (&'static Code, u64)> + '_ {
        self.diags.iter().filter_map(|(said, n)| {
            let (severity, name) = said.split_once(' ')?;
            let mut known = codes::ALL.iter().copied().chain(OTHER_CODES);
            let code = match (known.find(|code| code.name == name), severity) {
                (Some(code), _) => code,
                (None, "error") => &codes::SKIPPED_RECORD,
                (None, "data-loss") => &codes::LOST_UNKNOWN,
                (None, _) => return None,
            };
            Some((code, *n))
        })
    }
}

/// What is said of a call or a loss beside its times.
#[derive(Clone, Default, Debug)]
pub(super) struct Beside {
    pub(super) module: Option<Arc<[u8]>>,
    pub(super) cpu: Option<u32>,
    /// The exact time, where nanoseconds do not tell it.
    pub(super) tick: Option<u64>,
    pub(super) lost: Option<u64>,
    /// Of a function.
    pub(super) address: Option<u64>,
    /// What is stated of the call, if anything is.
    pub(super) account: Option<Account>,
}

impl Beside {
    /// Reads the annotations of an event.
    pub(super) fn read(event: &[u8], tables: &Tables, ours: &Ours) -> Self {
        let mut beside = Self::default();
        for Annotation { name, value } in annotations(event, tables) {
            match (&*name, value) {
                (b"module", Said::Text(text)) => beside.module = Some(text),
                (b"cpu", Said::Number(cpu)) => beside.cpu = u32::try_from(cpu).ok(),
                (b"tick", Said::Number(tick)) => beside.tick = Some(tick),
                (b"lost", Said::Number(lost)) => beside.lost = Some(lost),
                (b"address", Said::Number(address)) => beside.address = Some(address),
                (name, Said::Number(number)) => beside.of_call(name, number, ours),
                (_, Said::Text(_)) => {}
            }
        }
        beside
    }

    fn of_call(&mut self, name: &[u8], number: u64, ours: &Ours) {
        let mut account = self.account.unwrap_or_default();
        match name {
            b"wall" => account.wall = Some(ours.tick(number)),
            b"off_cpu" => account.off_cpu = Some(ours.tick(number)),
            b"net" => account.net = Some(ours.tick(number)),
            b"stolen" => account.stolen = Some(ours.tick(number)),
            b"wall_ticks" => account.wall = Some(number),
            b"off_cpu_ticks" => account.off_cpu = Some(number),
            b"net_ticks" => account.net = Some(number),
            b"stolen_ticks" => account.stolen = Some(number),
            b"outermost" => account.outermost = Some(number != 0),
            b"partial" => {
                account.fidelity = Fidelity {
                    start_inferred: number & 1 != 0,
                    end_inferred: number & 2 != 0,
                    at_gap: number & 4 != 0,
                }
            }
            _ => return,
        }
        self.account = Some(account);
    }
}

/// The kind of the functions in a category.
pub(super) fn kind(category: &[u8]) -> FuncKind {
    std::str::from_utf8(category).ok().and_then(FuncKind::from_name).unwrap_or_default()
}

/// An annotation of an event, as far as it matters.
struct Annotation {
    name: Arc<[u8]>,
    value: Said,
}

enum Said {
    Number(u64),
    Text(Arc<[u8]>),
}

fn annotations<'a>(event: &'a [u8], tables: &'a Tables) -> impl Iterator<Item = Annotation> + 'a {
    Fields::of(event).filter(|(number, _)| *number == 4).filter_map(|(_, value)| {
        let (mut name, mut said) = (None, None);
        for (number, value) in Fields::of(value.bytes()?) {
            match (number, value) {
                (1, Value::Number(id)) => name = tables.annotations.get(&id).cloned(),
                (10, Value::Bytes(text)) => name = Some(text.into()),
                (2..=4 | 7, Value::Number(number)) => said = Some(Said::Number(number)),
                (6, Value::Bytes(text)) => said = Some(Said::Text(text.into())),
                (17, Value::Number(id)) => said = tables.strings.get(&id).cloned().map(Said::Text),
                _ => {}
            }
        }
        Some(Annotation { name: name?, value: said? })
    })
}
