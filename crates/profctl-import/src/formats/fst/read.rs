//! Changes in the order of time, block after block.

use std::sync::Arc;

use profctl_model::diag::codes::SKIPPED_RECORD;

use super::blocks::{self, Contents};
use super::changes::{self, Found};
use crate::capture::{Plan, Sampler};
use crate::emit::Emitter;
use crate::formats::{Block, Reader, State};

/// Reads a file as a whole.
pub(super) struct Whole {
    /// What to watch.
    pub(super) plan: Arc<Plan>,
}

impl Reader for Whole {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self { plan: Arc::clone(&self.plan) })
    }

    fn boundary(&self, bytes: &[u8]) -> usize {
        bytes.len()
    }

    fn read(&mut self, block: &Block<'_>, _state: &State, out: &mut Emitter) -> Option<State> {
        let block = block.bytes;
        let file = blocks::unwrap(block);
        match blocks::contents(&file) {
            Ok(contents) => read(&contents, &self.plan, out),
            Err(wrong) => out.diag(&SKIPPED_RECORD, 0, || wrong),
        }
        None
    }
}

fn read(contents: &Contents<'_>, plan: &Arc<Plan>, out: &mut Emitter) {
    let watched: Vec<(u32, usize)> = plan.sources().collect();
    let mut sampler = Sampler::new(plan);
    let mut levels = sampler.levels();
    let mut switched = contents.switched.iter().copied().peekable();
    let (mut now, mut is_off) = (0, false);
    for (number, section) in contents.sections.iter().enumerate() {
        let offset = section.offset;
        let found = changes::read(section, &contents.widths, &watched);
        let Found { start, times, changes, frame } = match found {
            Ok(found) => found,
            Err(wrong) => {
                out.diag(&SKIPPED_RECORD, offset, || {
                    format!("a block of changes: {wrong}, expected one that is whole")
                });
                sampler.blackout_once(&mut levels, now, offset, out);
                continue;
            }
        };
        // Later blocks begin with the levels that the one before ended with.
        if number == 0 {
            now = start;
            for (source, value, unknown) in frame {
                sampler.change(&mut levels, source, value, unknown);
            }
        }
        for change in changes {
            let time = times[change.row];
            if time != now {
                sampler.settle(&mut levels, now, offset, out);
                now = time;
                while let Some((since, is_on)) = switched.next_if(|(at, _)| *at <= now) {
                    is_off = !is_on;
                    if is_off {
                        sampler.blackout_once(&mut levels, since, offset, out);
                    }
                }
            }
            out.records += 1;
            // When it is turned off, all levels are said to become unknown.
            if !is_off {
                sampler.change(&mut levels, change.source, change.value, change.unknown);
            }
        }
        sampler.settle(&mut levels, now, offset, out);
    }
    for (since, is_on) in switched {
        if !is_on {
            sampler.blackout_once(&mut levels, since, 0, out);
        }
    }
}
