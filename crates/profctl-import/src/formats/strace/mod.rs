//! The log of `strace`: the system calls of Linux processes.
//!
//! With `-ff` every thread has a file of its own, `NAME.PID`; a directory with nothing but such
//! files is one trace.

use super::{
    Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Recognition, Stream, head,
};
use crate::call_log::{self, Clock, Flavor, Survey};
use crate::files::{FileId, Files};
use crate::text;

#[cfg(test)]
mod tests;

/// The importer of `strace`.
pub struct StraceLog;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "strace",
    about: "log of strace (-f, -ttt, -tt, -t or -r, best with -T), or a directory made with -ff",
    recognized: "lines `[PID] TIME NAME(…) = RESULT <LENGTH>` with names of Linux system calls",
    codes: &[&call_log::NO_LENGTH],
    ..Descriptor::PLAIN
};

/// From this many records on, a text is surely a log.
const RECORDS_SURE: usize = 3;

const WITHOUT_TIMES: &str = "strace log without times and durations: record with \
                             `strace -f -ttt -T -o FILE …`";

impl Importer for StraceLog {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        if !text::looks_like_text(probe.head) {
            return Recognition::No;
        }
        let survey = call_log::survey(probe.head);
        if !survey.is_log() || survey.is_ltrace() {
            return Recognition::No;
        }
        match survey.records {
            _ if survey.clock.is_none() && !survey.has_lengths => {
                if survey.records < RECORDS_SURE {
                    return Recognition::No;
                }
                Recognition::Neighbor(format!("is a {WITHOUT_TIMES}"))
            }
            0..RECORDS_SURE => {
                Recognition::Maybe(format!("{} record(s) of strace", survey.records))
            }
            _ => Recognition::Yes("lines `TIME NAME(…) = RESULT` of strace".into()),
        }
    }

    fn recognize_directory(&self, files: &dyn Files) -> Recognition {
        let entries = files.entries();
        let mut prefixes = entries.iter().map(|entry| prefix_and_tid(&entry.name));
        let Some(Some((prefix, _))) = prefixes.next() else { return Recognition::No };
        if prefixes.any(|other| other.is_none_or(|(other, _)| other != prefix)) {
            return Recognition::No;
        }
        // One file decides: a thread may have ended before its first call.
        for (file, entry) in entries.iter().enumerate().take(8) {
            let Ok(head) = files.head(FileId(file)) else { continue };
            let probe = Probe { name: &entry.name, head: &head.bytes, whole: head.whole };
            if matches!(self.recognize(&probe), Recognition::Yes(_)) {
                return Recognition::Yes(format!("files `{prefix}.PID` of strace -ff"));
            }
        }
        Recognition::No
    }

    fn open(&self, files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let survey = longest_survey(files)?;
        let clock = call_log::clock(&survey, options)?;
        if clock.is_none() && !survey.has_lengths {
            return Err(ImportError::whole(WITHOUT_TIMES));
        }
        let entries = files.entries();
        // A file of `-ff` names no thread, even if there is but one.
        let is_directory = !survey.has_ids;
        let streams: Vec<_> = entries
            .iter()
            .map(|entry| call_log::Stream {
                tid: prefix_and_tid(&entry.name).map(|(_, tid)| tid).filter(|_| is_directory),
                root: survey.root,
            })
            .collect();
        if streams.len() > 1 && clock == Some(Clock::Relative) {
            return Err(ImportError::whole(
                "times since the previous record (-r) cannot order threads in different files: \
                 record with `strace -ff -ttt -T`",
            ));
        }
        let n_files = streams.len();
        let reader = call_log::lines(Flavor::Strace, clock, streams);
        let mut opened = Opened::lines(call_log::timebase(&survey, clock), Box::new(reader))
            .with_facts(call_log::facts(&survey, clock));
        opened.streams = (0..n_files).map(|file| Stream::whole(FileId(file))).collect();
        // A stamp of `-t` is a whole second, a length is not.
        opened.quirks.leaf_ends_are_stamps = survey.decimals >= survey.length_decimals;
        Ok(opened)
    }
}

/// What the head of the largest file says.
fn longest_survey(files: &dyn Files) -> Result<Survey, ImportError> {
    if files.entries().len() == 1 {
        return Ok(call_log::survey(&head(files)?.bytes));
    }
    let largest = (0..files.entries().len()).max_by_key(|&file| files.entries()[file].size);
    let head = files
        .head(FileId(largest.unwrap_or(0)))
        .map_err(|error| ImportError::whole(format!("cannot be read: {error}")))?;
    Ok(call_log::survey(&head.bytes))
}

/// `NAME` and `PID` of `NAME.PID`, perhaps compressed.
fn prefix_and_tid(name: &str) -> Option<(&str, u64)> {
    let name = [".gz", ".xz", ".zst"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    let (prefix, tid) = name.rsplit_once('.')?;
    if prefix.is_empty() || !tid.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some((prefix, tid.parse().ok()?))
}
