//! Records of `perf script` as calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use profctl_model::diag::codes::{CUT_RECORD, SKIPPED_RECORD};

use super::line::{Head, Indented, Line, Trouble, parse};
use super::stack::{Stack, function};
use super::symbol::Symbol;
use super::{DECODER_ERROR, Mode, SAMPLE_LEFT_OUT};
use crate::emit::{At, Emitter, LaneKey, LaneRef, NameRef, Stated, ThreadKey, WakerContext};
use crate::formats::{Block, Reader, State};
use crate::kernel_events::text as event_text;
use crate::kernel_events::{Applier, IrqNames, Place};
use crate::samples::Samples;
use crate::text;

/// Reads lines.
pub(super) struct Lines {
    pub(super) mode: Mode,
    pub(super) applier: Applier,
}

/// What has to be remembered from one block to the next.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct Progress {
    stacks: BTreeMap<u64, Stack>,
    irqs: IrqNames,
}

/// Columns of a caller in `--call-trace`.
const INDENT: usize = 4;

impl Reader for Lines {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self { mode: self.mode, applier: self.applier.fork() })
    }

    /// After an empty line if samples have frames on lines of their own.
    fn boundary(&self, bytes: &[u8]) -> usize {
        match self.mode {
            Mode::Timed => text::last_line_boundary(bytes),
            Mode::Sampled => {
                let end = text::last_line_boundary(bytes);
                let start = text::last_line_boundary(&bytes[..end.saturating_sub(1)]);
                match parse(&bytes[start..end]) {
                    Line::Sample(.., Some(_)) => end,
                    _ => last_empty_line(bytes).map_or(0, |at| at + 1),
                }
            }
        }
    }

    fn read(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        match self.mode {
            Mode::Timed => self.timed(block, state, out),
            Mode::Sampled => {
                samples(block, out);
                None
            }
        }
    }
}

/// Where the last line feed stands that ends an empty line.
fn last_empty_line(bytes: &[u8]) -> Option<usize> {
    let pairs = memchr::memmem::rfind(bytes, b"\n\n").map(|at| at + 1);
    pairs.or_else(|| memchr::memmem::rfind(bytes, b"\n\r\n").map(|at| at + 2))
}

impl Lines {
    fn timed(&mut self, block: &Block<'_>, state: &State, out: &mut Emitter) -> Option<State> {
        let before = state.downcast_ref::<Progress>().cloned().unwrap_or_default();
        self.applier.set_irqs(&before.irqs);
        let mut stacks = before.stacks.clone();
        for line in text::lines(block.bytes) {
            out.lines += 1;
            let found = parse(line.text);
            if let Line::Aside | Line::Frame(_) = found {
                continue;
            }
            out.records += 1;
            let is_cut = !line.ended && !matches!(found, Line::Trouble(_));
            match found {
                Line::Other if line.ended => {
                    out.refuse(&line, "`COMMAND PID [CPU] TIME: EVENT: …`");
                }
                // Half a name is another name.
                _ if is_cut => out.cut(&line),
                Line::Branch(head, branch) => {
                    let Some(at) = at(head, line.offset, out) else { continue };
                    let stack = stacks.entry(head.tid.unwrap_or(0)).or_default();
                    stack.branch(&branch, at, out);
                }
                Line::CallTrace(head, indented) => {
                    let Some(at) = at(head, line.offset, out) else { continue };
                    call_trace(indented, at, out);
                }
                Line::Event(head, system, name, arguments) => {
                    let Some(at) = at(head, line.offset, out) else { continue };
                    self.event(head, at, (system, name, arguments), out);
                }
                Line::Sample(..) => out.diag(&SAMPLE_LEFT_OUT, line.offset, || {
                    format!("`{}`", text::excerpt(line.text))
                }),
                Line::Trouble(trouble) => {
                    match trouble.tid {
                        Some(tid) if trouble.cpu.is_none() => {
                            stacks.entry(tid).or_default().clear();
                        }
                        _ => stacks.values_mut().for_each(Stack::clear),
                    }
                    lost(&trouble, line.offset, out);
                }
                Line::Other | Line::Aside | Line::Frame(_) => {}
            }
        }
        let after = Progress { stacks, irqs: self.applier.irqs().clone() };
        (after != before).then(|| Arc::new(after) as State)
    }

    fn event(
        &mut self,
        head: Head<'_>,
        at: At,
        (system, name, arguments): (&[u8], &[u8], &[u8]),
        out: &mut Emitter,
    ) {
        let event = event_text::event(name, arguments);
        let place = Place {
            time: at.time,
            cpu: head.cpu,
            lane: at.lane,
            context: WakerContext::Unknown,
            offset: at.offset,
        };
        if !self.applier.apply(&event, &place, out) {
            let name = [system, b":", name].concat();
            self.applier.mark(&name, &String::from_utf8_lossy(arguments), at, out);
        }
    }
}

fn at(head: Head<'_>, offset: usize, out: &mut Emitter) -> Option<At> {
    let Some(time) = head.time else {
        out.diag(&SKIPPED_RECORD, offset, || "a record without a time".into());
        return None;
    };
    Some(At { time: Some(time), lane: lane(head, head.cpu, out), offset })
}

fn lane(head: Head<'_>, cpu: Option<u32>, out: &mut Emitter) -> LaneRef {
    let name = || String::from_utf8_lossy(head.name).into_owned();
    let thread = match (head.pid, head.tid) {
        (_, Some(0)) if cpu.is_some() => ThreadKey::Idle,
        (Some(pid), Some(tid)) => ThreadKey::Member { pid, tid, name: name() },
        (None, Some(tid)) => ThreadKey::Tid(tid, name()),
        (_, None) => ThreadKey::Named(name()),
    };
    out.lane(LaneKey { cpu, thread })
}

fn lost(trouble: &Trouble<'_>, offset: usize, out: &mut Emitter) {
    let lane = out.lane(LaneKey { cpu: trouble.cpu, thread: ThreadKey::Unstated });
    out.diag(&DECODER_ERROR, offset, || String::from_utf8_lossy(trouble.message).into_owned());
    out.lost(At { time: trouble.time, lane, offset }, None);
}

/// A line of `--call-trace` (calls only) or `--call-ret-trace`.
fn call_trace(line: Indented<'_>, at: At, out: &mut Emitter) {
    let depth = u16::try_from(line.indent / INDENT).unwrap_or(u16::MAX - 1);
    let name = function(line.name, line.object, out);
    let is_return = [&b"return"[..], b"sysret", b"iret"].contains(&line.flags)
        || line.flags.ends_with(b" return");
    if is_return {
        out.exit(at, Some(name), Stated::depth(depth));
    } else {
        out.enter(at, name, Stated::depth(depth));
    }
}

/// Samples with their stacks, as sums.
fn samples(block: &Block<'_>, out: &mut Emitter) {
    let mut sample: Option<(LaneRef, u64, usize, Vec<NameRef>)> = None;
    // Whether its frame stood on its own line, as where no stacks were recorded: it has no others.
    let mut is_short = false;
    for line in text::lines(block.bytes) {
        out.lines += 1;
        match parse(line.text) {
            Line::Frame(frame) => {
                if let Some((.., frames)) = &mut sample
                    && !is_short
                {
                    frames.push(framed(frame, out));
                }
            }
            Line::Sample(head, weight, _, frame) if line.ended => {
                flush(sample.take(), out);
                out.records += 1;
                is_short = frame.is_some();
                let frames = frame.map(|frame| framed(frame, out)).into_iter().collect();
                let lane = lane(head, None, out);
                sample = Some((lane, weight.unwrap_or(1), line.offset, frames));
            }
            Line::Aside if line.ended => flush(sample.take(), out),
            // The space before a frame.
            Line::Aside => {}
            _ if !line.ended => {
                out.cut(&line);
                // A stack is not whole.
                flush(sample.take().filter(|_| is_short), out);
            }
            _ => {
                flush(sample.take(), out);
                out.records += 1;
                out.diag(&SKIPPED_RECORD, line.offset, || {
                    let shown = text::excerpt(line.text);
                    format!("found `{shown}`, expected `COMMAND PID TIME: PERIOD EVENT:`")
                });
            }
        }
    }
    // No empty line ends its stack: more frames may have been there.
    match sample {
        Some((_, _, offset, _)) if !is_short => {
            out.diag(&CUT_RECORD, offset, || "the last sample has no end".into());
        }
        sample => flush(sample, out),
    }
}

fn framed(frame: Symbol<'_>, out: &mut Emitter) -> NameRef {
    function(frame.name, frame.object, out)
}

fn flush(sample: Option<(LaneRef, u64, usize, Vec<NameRef>)>, out: &mut Emitter) {
    let Some((lane, weight, offset, mut frames)) = sample else { return };
    if frames.is_empty() {
        frames.push(function(b"[unknown]", b"", out));
    }
    frames.reverse();
    let mut samples = Samples::new(lane);
    samples.are(&frames, None, offset, out);
    samples.last(weight, offset, out);
    samples.are(&[], None, offset, out);
}
