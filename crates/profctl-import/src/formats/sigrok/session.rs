//! The session file: a zip archive of `version`, `metadata` and the samples in `logic-1-1`,
//! `logic-1-2`, …, all bits of one sample together.

use std::io::Read;
use std::sync::Arc;

use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};

use super::{archive, opened, rate};
use crate::bytes::little;
use crate::capture::{self, Levels, Plan, Sampler, Signal};
use crate::emit::Emitter;
use crate::files::ReadAt;
use crate::formats::{ImportError, ImportOptions, InTurn, Input, Opened};

/// The largest valid `metadata`, bytes.
const METADATA_MAX: u64 = 1 << 20;
/// The most bytes that a sample takes: 64 channels.
const SAMPLE_MAX: usize = 8;
/// Samples unpacked at a time.
const CHUNK: usize = 8 << 10;

pub(super) fn is_session(head: &[u8]) -> bool {
    // The name of the first member is at byte 30 of its header.
    head.starts_with(b"PK\x03\x04") && head.get(30..37) == Some(b"version")
}

/// What `metadata` says of the first device.
#[derive(Default)]
struct Metadata {
    rate: Option<u64>,
    sample_bytes: usize,
    /// How the members with the samples are called, without their numbers.
    members: String,
    wires: Vec<Signal>,
}

pub(super) fn open(
    archive: &Arc<dyn ReadAt>,
    options: &ImportOptions,
) -> Result<Opened, ImportError> {
    let Metadata { rate, sample_bytes, members, wires } = metadata(archive)?;
    if !(1..=SAMPLE_MAX).contains(&sample_bytes) {
        return Err(ImportError::whole(format!(
            "found samples of {sample_bytes} bytes, expected 1 to {SAMPLE_MAX}"
        )));
    }
    let plan = capture::plan(&wires, options)?;
    let mut facts = vec![("signals", wires.len().to_string())];
    facts.extend(plan.facts());
    let (sampler, archive) = (Sampler::new(&plan), Arc::clone(archive));
    let reader = Session { archive, sampler, plan, members, sample_bytes };
    Ok(opened(rate, facts, Box::new(reader)))
}

fn metadata(archive: &Arc<dyn ReadAt>) -> Result<Metadata, ImportError> {
    let mut members = archive::members(&**archive).filter_map(Result::ok);
    if let Some(member) = members.find(|member| member.name == "metadata" && member.is_whole) {
        let mut text = String::new();
        let read = member.content(archive).take(METADATA_MAX).read_to_string(&mut text);
        read.map_err(|error| ImportError::whole(format!("`metadata`: {error}")))?;
        return Ok(parse(&text));
    }
    Err(ImportError::whole(
        "no `metadata` near the start of the archive, expected a sigrok session",
    ))
}

fn parse(text: &str) -> Metadata {
    let mut found = Metadata::default();
    let mut is_first_device = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            is_first_device = line == "[device 1]";
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| is_first_device) else { continue };
        match key {
            "samplerate" => found.rate = rate(value),
            "unitsize" => found.sample_bytes = value.parse().unwrap_or(0),
            "capturefile" => found.members = value.into(),
            _ => {
                let number = key.strip_prefix("probe").and_then(|number| number.parse().ok());
                if let Some(bit) = number.and_then(|number: u32| number.checked_sub(1)) {
                    found.wires.push(Signal { name: value.into(), width: 1, key: bit });
                }
            }
        }
    }
    found.wires.retain(|wire| wire.key as usize / 8 < found.sample_bytes);
    found
}

struct Session {
    archive: Arc<dyn ReadAt>,
    sampler: Sampler,
    plan: Arc<Plan>,
    members: String,
    sample_bytes: usize,
}

/// How far reading came.
struct Progress {
    levels: Levels,
    /// Samples so far.
    n: u64,
    /// The watched bits of the last sample.
    last: Option<u64>,
    /// The first bytes of a sample whose others are still to come.
    part: Vec<u8>,
}

impl InTurn for Session {
    fn fork(&self) -> Box<dyn InTurn> {
        Box::new(Self {
            archive: Arc::clone(&self.archive),
            sampler: self.sampler.fork(),
            plan: Arc::clone(&self.plan),
            members: self.members.clone(),
            sample_bytes: self.sample_bytes,
        })
    }

    fn read(&mut self, input: &mut Input<'_>, out: &mut Emitter) {
        let levels = self.sampler.levels();
        let mut progress = Progress { levels, n: 0, last: None, part: Vec::new() };
        let archive = Arc::clone(&self.archive);
        for member in archive::members(&*archive) {
            let member = match member {
                Ok(member) => member,
                Err(why) => {
                    input.move_to(archive.len(), out);
                    out.diag(&CUT_RECORD, input.offset(), || why.into());
                    break;
                }
            };
            if !member.name.strip_prefix(&self.members).is_some_and(is_number) {
                continue;
            }
            input.move_to(member.offset, out);
            let read = self.samples(&mut *member.content(&archive), input, &mut progress, out);
            if !member.is_whole || read.is_err() {
                let message = || format!("`{}` ends early", member.name);
                out.diag(&CUT_RECORD, input.offset(), message);
            }
        }
        input.move_to(archive.len(), out);
        out.records += progress.n;
        if !progress.part.is_empty() {
            let (found, expected) = (progress.part.len(), self.sample_bytes);
            out.diag(&SKIPPED_RECORD, input.offset(), || {
                format!("{found} bytes at the end, expected {expected} per sample")
            });
        }
    }
}

/// Whether `rest` of a name is the number of a part, or nothing, as in old files.
fn is_number(rest: &str) -> bool {
    let digits = rest.strip_prefix('-').unwrap_or(rest);
    digits.len() + 1 >= rest.len() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

impl Session {
    /// Reads the samples of one member.
    fn samples(
        &mut self,
        member: &mut dyn Read,
        input: &mut Input<'_>,
        progress: &mut Progress,
        out: &mut Emitter,
    ) -> std::io::Result<()> {
        let size = self.sample_bytes;
        let watched = self.plan.sources().fold(0, |bits, (bit, _)| bits | 1_u64 << bit);
        let mut buffer = vec![0; CHUNK * size];
        loop {
            let offset = input.offset();
            let n_read = member.read(&mut buffer)?;
            if n_read == 0 {
                return Ok(());
            }
            let mut bytes = &buffer[..n_read];
            if !progress.part.is_empty() {
                let missing = (size - progress.part.len()).min(bytes.len());
                progress.part.extend_from_slice(&bytes[..missing]);
                bytes = &bytes[missing..];
                if progress.part.len() == size {
                    let sample = little(&std::mem::take(&mut progress.part)) & watched;
                    self.sample(sample, offset, progress, out);
                }
            }
            let samples = bytes.chunks_exact(size);
            progress.part.extend_from_slice(samples.remainder());
            for sample in samples {
                self.sample(little(sample) & watched, offset, progress, out);
            }
            input.hand_on(out);
        }
    }

    #[inline]
    fn sample(&mut self, bits: u64, offset: usize, progress: &mut Progress, out: &mut Emitter) {
        if progress.last != Some(bits) {
            for (bit, source) in self.plan.sources() {
                self.sampler.change(&mut progress.levels, source, bits >> bit & 1, 0);
            }
            self.sampler.settle(&mut progress.levels, progress.n, offset, out);
            progress.last = Some(bits);
        }
        progress.n += 1;
    }
}
