//! The events or samples of one profile.

use profctl_model::Fidelity;
use profctl_model::diag::codes::SKIPPED_RECORD;

use super::UNKNOWN_FRAME;
use super::file::{Profile, Unit};
use crate::emit::{
    Account, Emitter, Event, EventKind, LaneKey, LaneRef, NO_DEPTH, NameRef, UNSTATED,
};
use crate::json::{Scanner, Stop, scaled};
use crate::samples::Samples;
use crate::text::{decimal, excerpt};

/// What reading a profile needs of the file around it.
pub(super) struct Context<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) names: &'a [NameRef],
    pub(super) unit: Unit,
    pub(super) lane: LaneRef,
    /// Whether what our own export adds counts.
    pub(super) ours: bool,
}

impl Context<'_> {
    fn event(&self, kind: EventKind, time: u64, offset: usize) -> Event {
        Event {
            time,
            duration: UNSTATED,
            extra: UNSTATED,
            name: NameRef::ANONYMOUS,
            lane: self.lane,
            offset: offset as u32,
            depth: NO_DEPTH,
            kind,
        }
    }

    fn name(&self, frame: u64, offset: usize, out: &mut Emitter) -> NameRef {
        let known = usize::try_from(frame).ok().and_then(|frame| self.names.get(frame));
        known.copied().unwrap_or_else(|| {
            out.diag(&UNKNOWN_FRAME, offset, || {
                format!("frame {frame}, and the file describes {}", self.names.len())
            });
            out.func(&format!("frame {frame}"), profctl_model::FuncKind::Function)
        })
    }

    fn ticks(&self, text: &[u8]) -> Option<u64> {
        scaled(text, self.unit.digits)
    }

    /// Says what `profile` says.
    pub(super) fn say(
        &self,
        profile: &Profile<'_>,
        out: &mut Emitter,
    ) -> Result<(), (usize, Stop)> {
        let start = self.ticks(profile.start).unwrap_or(0);
        let span = [Some(start), self.ticks(profile.end)];
        for time in span.into_iter().flatten() {
            if !profile.is_sampled && !self.ours {
                out.push(self.event(EventKind::Pass, time, profile.at));
            }
        }
        if profile.is_sampled {
            self.samples(profile, start, out)
        } else {
            self.events(profile, out)
        }
    }

    fn events(&self, profile: &Profile<'_>, out: &mut Emitter) -> Result<(), (usize, Stop)> {
        let Some(at) = profile.events else { return Ok(()) };
        let mut scanner = Scanner::new(self.bytes, at);
        let done = scanner.array(|scanner| {
            scanner.peek()?;
            let offset = scanner.at;
            let raw = RawEvent::take(scanner)?;
            out.records += 1;
            let time = self.ticks(raw.at);
            let frame = decimal(raw.frame, 0);
            let kind = match raw.kind {
                b"O" => Some(EventKind::Enter),
                b"C" => Some(EventKind::Exit),
                _ => None,
            };
            let Some(((kind, time), frame)) = kind.zip(time).zip(frame) else {
                out.diag(&SKIPPED_RECORD, offset, || {
                    let shown = excerpt(scanner.since(offset));
                    format!("found `{shown}`, expected `type` O or C, `frame` and `at`")
                });
                return Ok(());
            };
            let name = self.name(frame, offset, out);
            let mut event = Event { name, ..self.event(kind, time, offset) };
            if let Some((account, cpu)) = raw.account.filter(|_| self.ours) {
                if account != Account::default() {
                    event.kind = EventKind::Settle;
                    event.extra = out.account(account);
                }
                let thread = out.lanes[self.lane.0 as usize].thread.clone();
                event.lane = out.lane(LaneKey { cpu, thread });
            }
            out.push(event);
            Ok(())
        });
        done.map_err(|stop| (scanner.at, stop))
    }

    /// Lays the samples end to end; what two neighbours have in common goes on.
    fn samples(
        &self,
        profile: &Profile<'_>,
        start: u64,
        out: &mut Emitter,
    ) -> Result<(), (usize, Stop)> {
        let Some(at) = profile.samples else { return Ok(()) };
        let mut weights = Scanner::new(self.bytes, profile.weights.unwrap_or(self.bytes.len()));
        let mut more = weights.expect(b'[', "an array").is_ok();
        let mut weight = || {
            // A sample without a weight counts as one.
            let spelled = if more { weights.spelled().ok() } else { None };
            more = spelled.is_some() && weights.take(b',').unwrap_or(false);
            spelled.map_or(1, |spelled| self.ticks(spelled).unwrap_or(0))
        };
        let mut scanner = Scanner::new(self.bytes, at);
        let mut samples = Samples::new(self.lane, out);
        let mut stack = Vec::new();
        let mut time = start;
        let mut offset = at;
        let done = scanner.array(|scanner| {
            scanner.peek()?;
            offset = scanner.at;
            stack.clear();
            scanner.array(|scanner| {
                let frame = decimal(scanner.scalar()?, 0).unwrap_or(u64::MAX);
                stack.push(self.name(frame, offset, out));
                Ok(())
            })?;
            out.records += 1;
            samples.are(&stack, time, offset, out);
            time = time.saturating_add(weight());
            Ok(())
        });
        samples.are(&[], time, offset, out);
        done.map_err(|stop| (scanner.at, stop))
    }
}

/// The fields of an event, as they are spelled.
#[derive(Default)]
struct RawEvent<'a> {
    kind: &'a [u8],
    at: &'a [u8],
    frame: &'a [u8],
    account: Option<(Account, Option<u32>)>,
}

impl<'a> RawEvent<'a> {
    fn take(scanner: &mut Scanner<'a>) -> Result<Self, Stop> {
        let mut raw = Self::default();
        scanner.object(|scanner, key| {
            match key.raw {
                b"type" => raw.kind = scanner.spelled()?,
                b"at" => raw.at = scanner.spelled()?,
                b"frame" => raw.frame = scanner.spelled()?,
                b"profctl" => raw.account = Some(account(scanner)?),
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        Ok(raw)
    }
}

/// What our own export says of a call, and the CPU on which it ended.
fn account(scanner: &mut Scanner<'_>) -> Result<(Account, Option<u32>), Stop> {
    let mut account = Account::default();
    let mut cpu = None;
    scanner.object(|scanner, key| {
        let spelled = scanner.spelled()?;
        let number = decimal(spelled, 0);
        match key.raw {
            b"cpu" => cpu = number.and_then(|number| u32::try_from(number).ok()),
            b"wall" => account.wall = number,
            b"off_cpu" => account.off_cpu = number,
            b"net" => account.net = number,
            b"stolen" => account.stolen = number,
            b"outermost" => account.outermost = Some(spelled == b"true"),
            b"at_gap" => account.fidelity.at_gap = spelled == b"true",
            b"unseen" => {
                account.fidelity = Fidelity {
                    start_inferred: matches!(spelled, b"entry" | b"both"),
                    end_inferred: matches!(spelled, b"exit" | b"both"),
                    ..account.fidelity
                };
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok((account, cpu))
}
