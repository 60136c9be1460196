//! The log of `ltrace`: calls of library functions, and with `-S` the system calls inside them.
//!
//! A call that makes others is printed in two parts, so the nesting follows from their order.

use super::{Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition, head};
use crate::call_log::{self, Flavor};
use crate::files::Files;
use crate::text;

#[cfg(test)]
mod tests;

/// The importer of `ltrace`.
pub struct LtraceLog;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "ltrace",
    about: "log of ltrace (-f, -S, -ttt, -tt, -t or -r, best with -T)",
    recognized: "lines `[PID] TIME NAME(…) = RESULT <LENGTH>` with names of library functions",
    ..Descriptor::PLAIN
};

/// From this many records on, a text is surely a log.
const RECORDS_SURE: usize = 3;

const WITHOUT_TIMES: &str = "ltrace log without times and durations: record with \
                             `ltrace -f -ttt -T -o FILE …`";

impl Importer for LtraceLog {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        if !text::looks_like_text(probe.head) {
            return Recognition::No;
        }
        let survey = call_log::survey(probe.head);
        if !survey.is_log() || !survey.is_ltrace() || survey.records < RECORDS_SURE {
            return Recognition::No;
        }
        let is_timed = survey.clock.is_some() || survey.has_lengths;
        if survey.of_ltrace == 0 {
            // C code that was pasted somewhere looks like this as well.
            if !is_timed {
                return Recognition::No;
            }
            return Recognition::Maybe("lines `TIME NAME(…) = RESULT` of ltrace".into());
        }
        if !is_timed {
            return Recognition::Neighbor(format!("is an {WITHOUT_TIMES}"));
        }
        Recognition::Yes("lines `TIME NAME(…) = RESULT` of ltrace".into())
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let survey = call_log::survey(&head(files)?.bytes);
        let clock = call_log::clock(&survey, options)?;
        if clock.is_none() && !survey.has_lengths {
            return Err(ImportError::whole(WITHOUT_TIMES));
        }
        let stream = call_log::Stream { tid: None, root: survey.root };
        let reader = call_log::lines(Flavor::Ltrace, clock, vec![stream]);
        let mut opened = Opened::lines(call_log::timebase(&survey, clock), Box::new(reader))
            .with_facts(call_log::facts(&survey, clock));
        opened.quirks.leaf_ends_are_stamps = survey.decimals >= survey.length_decimals;
        Ok(opened)
    }
}
