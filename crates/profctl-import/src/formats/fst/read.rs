//! Changes in time order, block after block.

use std::sync::Arc;

use profctl_model::diag::codes::SKIPPED_RECORD;

use super::blocks::{Contents, Section, load};
use super::changes::{self, Changes};
use super::pack::{Allowance, TOO_LARGE, Wrong};
use crate::capture::{Plan, Sampler};
use crate::decompress::too_large;
use crate::emit::Emitter;
use crate::files::ReadAt;
use crate::formats::{InTurn, Input};

/// Reads a file, a block of changes at a time.
#[derive(Clone)]
pub(super) struct Dump {
    pub(super) file: Arc<dyn ReadAt>,
    pub(super) contents: Arc<Contents>,
    /// What to watch.
    pub(super) plan: Arc<Plan>,
    pub(super) max_expansion: u64,
}

impl InTurn for Dump {
    fn fork(&self) -> Box<dyn InTurn> {
        Box::new(self.clone())
    }

    fn read(&mut self, input: &mut Input<'_>, out: &mut Emitter) {
        let mut sampler = Sampler::new(&self.plan);
        let mut levels = sampler.levels();
        let mut switched = self.contents.switched.iter().copied().peekable();
        let (mut now, mut is_off) = (0, false);
        for (number, section) in self.contents.sections.iter().enumerate() {
            input.move_to(section.offset, out);
            let mut changes = match self.changes(section) {
                Ok(changes) => changes,
                Err(TOO_LARGE) => {
                    input.fail(too_large(self.max_expansion));
                    return;
                }
                Err(wrong) => {
                    out.diag(&SKIPPED_RECORD, input.offset(), || {
                        format!("a block of changes: {wrong}, expected a complete one")
                    });
                    sampler.blackout_once(&mut levels, now, input.offset(), out);
                    continue;
                }
            };
            // Later blocks begin with the levels that the one before ended with.
            if number == 0 {
                now = changes.start;
                for &(source, value, unknown) in &changes.frame {
                    sampler.change(&mut levels, source, value, unknown);
                }
            }
            // What is invalid was refused above.
            while let Ok(Some(change)) = changes.next() {
                if change.time != now {
                    sampler.settle(&mut levels, now, input.offset(), out);
                    input.hand_on(out);
                    now = change.time;
                    while let Some((since, is_on)) = switched.next_if(|(at, _)| *at <= now) {
                        is_off = !is_on;
                        if is_off {
                            sampler.blackout_once(&mut levels, since, input.offset(), out);
                        }
                    }
                }
                out.records += 1;
                // When it is turned off, all levels are said to become unknown.
                if !is_off {
                    sampler.change(&mut levels, change.source, change.value, change.unknown);
                }
            }
            sampler.settle(&mut levels, now, input.offset(), out);
        }
        input.move_to(self.file.len(), out);
        for (since, is_on) in switched {
            if !is_on {
                sampler.blackout_once(&mut levels, since, input.offset(), out);
            }
        }
    }
}

impl Dump {
    fn changes(&self, section: &Section) -> Result<Changes, Wrong> {
        let block = load(&*self.file, section.range.clone())?;
        let watched: Vec<(u32, usize)> = self.plan.sources().collect();
        let mut allowance = Allowance::new(block.len() as u64, self.max_expansion);
        changes::read((section.kind, &block), &self.contents.widths, &watched, &mut allowance)
    }
}
