//! The events or samples of one profile.

use profctl_model::diag::codes::SKIPPED_RECORD;

use super::UNKNOWN_FRAME;
use super::file::{Profile, Unit};
use crate::emit::{At, Emitter, LaneRef, NameRef, Stated};
use crate::json::{Scanner, Stop, scaled};
use crate::samples::Samples;
use crate::text::{decimal, excerpt};

/// What reading a profile needs of the file around it.
pub(super) struct Context<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) names: &'a [NameRef],
    pub(super) unit: Unit,
    pub(super) lane: LaneRef,
}

impl Context<'_> {
    fn at(&self, time: u64, offset: usize) -> At {
        At { time: Some(time), lane: self.lane, offset }
    }

    fn name(&self, frame: u64, offset: usize, out: &mut Emitter) -> NameRef {
        let known = usize::try_from(frame).ok().and_then(|frame| self.names.get(frame));
        known.copied().unwrap_or_else(|| {
            out.diag(&UNKNOWN_FRAME, offset, || {
                format!("frame {frame}, and the file defines {}", self.names.len())
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
            if !profile.is_sampled {
                out.covers(self.at(time, profile.at));
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
            let (Some(time), Some(frame), b"O" | b"C") = (time, frame, raw.kind) else {
                out.diag(&SKIPPED_RECORD, offset, || {
                    let shown = excerpt(scanner.since(offset));
                    format!("found `{shown}`, expected `type` O or C, `frame` and `at`")
                });
                return Ok(());
            };
            let name = self.name(frame, offset, out);
            match raw.kind {
                b"O" => out.enter(self.at(time, offset), name, Stated::NOTHING),
                _ => out.exit(self.at(time, offset), Some(name), Stated::NOTHING),
            }
            Ok(())
        });
        done.map_err(|stop| (scanner.at, stop))
    }

    /// Lays the samples end to end; what two neighbors have in common goes on.
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
        let mut samples = Samples::new(self.lane);
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
            samples.are(&stack, Some(time), offset, out);
            time = time.saturating_add(weight());
            Ok(())
        });
        samples.are(&[], Some(time), offset, out);
        done.map_err(|stop| (scanner.at, stop))
    }
}

/// The fields of an event, as they are spelled.
#[derive(Default)]
struct RawEvent<'a> {
    kind: &'a [u8],
    at: &'a [u8],
    frame: &'a [u8],
}

impl<'a> RawEvent<'a> {
    fn take(scanner: &mut Scanner<'a>) -> Result<Self, Stop> {
        let mut raw = Self::default();
        scanner.object(|scanner, key| {
            match key.raw {
                b"type" => raw.kind = scanner.spelled()?,
                b"at" => raw.at = scanner.spelled()?,
                b"frame" => raw.frame = scanner.spelled()?,
                _ => scanner.skip()?,
            }
            Ok(())
        })?;
        Ok(raw)
    }
}
