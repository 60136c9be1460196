//! The binary file of one digital channel: the level at the start and the times at which it
//! changed, in seconds as floating-point numbers.

use std::sync::Arc;

use profctl_model::Timebase;
use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};

use crate::bytes::little;
use crate::capture::{self, Plan, Sampler, Signal};
use crate::emit::Emitter;
use crate::formats::{ImportError, ImportOptions, InTurn, Input, Opened};

const MAGIC: &[u8] = b"<SALEAE>";
/// What the channel is called: the file does not say.
const NAME: &str = "digital";
/// What no capture lasts, in nanoseconds.
const CENTURIES: u64 = i64::MAX as u64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Digital,
    Analog,
}

/// What `head` is the beginning of.
pub(super) fn kind(head: &[u8]) -> Option<Kind> {
    match little(head.strip_prefix(MAGIC)?.get(4..8)?) {
        0 => Some(Kind::Digital),
        1 => Some(Kind::Analog),
        _ => None,
    }
}

pub(super) fn open(head: &[u8], options: &ImportOptions) -> Result<Opened, ImportError> {
    if kind(head) == Some(Kind::Analog) {
        return Err(ImportError::whole("is an analog channel, expected a digital one"));
    }
    let version = little(&head[MAGIC.len()..][..4]);
    if version > 1 {
        return Err(ImportError::whole(format!("found version {version}, expected 0 or 1")));
    }
    let plan = capture::plan(&[Signal { name: NAME.into(), width: 1, key: 0 }], options)?;
    let mut facts = vec![("version", version.to_string())];
    facts.extend(plan.facts());
    let reader = Box::new(Transitions { sampler: Sampler::new(&plan), plan });
    Ok(Opened::in_turn(Timebase::NANOSECONDS, reader).with_facts(facts))
}

struct Transitions {
    sampler: Sampler,
    plan: Arc<Plan>,
}

/// Takes fields off the front of a file.
struct Fields<'i, 'a>(&'i mut Input<'a>);

impl Fields<'_, '_> {
    fn integer(&mut self, width: usize) -> Option<u64> {
        let value = little(self.0.fill(width).get(..width)?);
        self.0.consume(width);
        Some(value)
    }

    /// Seconds as nanoseconds, rounded to the nearest.
    fn seconds(&mut self) -> Option<i128> {
        let seconds = f64::from_bits(self.integer(8)?);
        // Rounding to an integer is what is wanted, and what is not a number becomes 0.
        Some((seconds * 1e9).round() as i128)
    }
}

impl InTurn for Transitions {
    fn fork(&self) -> Box<dyn InTurn> {
        Box::new(Self { sampler: self.sampler.fork(), plan: Arc::clone(&self.plan) })
    }

    fn read(&mut self, input: &mut Input<'_>, out: &mut Emitter) {
        input.fill(MAGIC.len());
        input.consume(MAGIC.len());
        if self.chunks(input, out).is_none() {
            let message = || "the file ends before its last transition".into();
            out.diag(&CUT_RECORD, input.offset(), message);
        } else if !input.fill(1).is_empty() {
            out.diag(&SKIPPED_RECORD, input.offset(), || {
                "found more behind the last transition, expected the end".into()
            });
        }
    }
}

impl Transitions {
    /// Reads everything, or until the file ends early.
    fn chunks(&mut self, input: &mut Input<'_>, out: &mut Emitter) -> Option<()> {
        let version = Fields(input).integer(4)?;
        Fields(input).integer(4)?;
        let n_chunks = if version == 0 { 1 } else { Fields(input).integer(8)? };
        let mut levels = self.sampler.levels();
        let mut origin = None;
        for chunk in 0..n_chunks {
            let start = input.offset();
            let mut fields = Fields(input);
            let mut level = fields.integer(4)? & 1;
            if version > 0 {
                // The sample rate: times are in seconds whatever it was.
                fields.integer(8)?;
            }
            let begin = fields.seconds()?;
            fields.seconds()?;
            let n_transitions = fields.integer(8)?;
            let origin = *origin.get_or_insert(begin.min(0));
            let mut latest = 0;
            // A damaged time is that of the transition before.
            let mut tick = |time: i128, offset: usize, out: &mut Emitter| {
                let time = time.saturating_sub(origin).max(0);
                match u64::try_from(time).ok().filter(|&time| time <= CENTURIES) {
                    Some(time) => latest = time,
                    None => out.diag(&SKIPPED_RECORD, offset, || {
                        "found a time beyond three centuries, expected seconds".into()
                    }),
                }
                latest
            };
            // Between two chunks nothing was recorded.
            if chunk > 0 {
                let at = tick(begin, start, out);
                self.sampler.blackout(&mut levels, at, start, out);
            }
            for transition in 0..=n_transitions {
                let offset = input.offset();
                let time = if transition == 0 { begin } else { Fields(input).seconds()? };
                for (_, source) in self.plan.sources() {
                    self.sampler.change(&mut levels, source, level, 0);
                }
                let at = tick(time, offset, out);
                self.sampler.settle(&mut levels, at, offset, out);
                out.records += u64::from(transition > 0);
                level ^= 1;
                input.hand_on(out);
            }
        }
        Some(())
    }
}
