//! Folded stacks: one line per stack, `main;read;copy 42`, the outermost call first, then a weight.
//!
//! The lines are laid end to end. They hold sums: no call has a beginning or an end, so all count
//! as incomplete. Every line is taken by itself; neighbors that begin alike are not joined, so that
//! the order of the lines does not matter.

use profctl_model::{FuncKind, TickUnit, Ticks, Timebase, Timeline};

use super::{
    Block, Descriptor, ImportError, ImportOptions, Importer, Opened, Probe, Reader, Recognition,
    State,
};
use crate::emit::{Emitter, LaneKey, NameRef, ThreadKey};
use crate::files::Files;
use crate::json::scaled;
use crate::samples::Samples;
use crate::text;

#[cfg(test)]
mod tests;

/// The importer of `folded`.
pub struct FoldedStacks;

static DESCRIPTOR: Descriptor = Descriptor {
    name: "folded",
    about: "folded stacks `a;b;c N`, sums of stackcollapse, bpftrace, uftrace, perf scripts",
    recognized: "lines that all end in a number, frames joined by `;` before it",
    extensions: &[".folded"],
    ..Descriptor::PLAIN
};

impl Importer for FoldedStacks {
    fn descriptor(&self) -> &'static Descriptor {
        &DESCRIPTOR
    }

    fn recognize(&self, probe: &Probe<'_>) -> Recognition {
        let Probe { head, whole, .. } = *probe;
        if !text::looks_like_text(head) || crate::json::looks_like_json(head) {
            return Recognition::No;
        }
        let mut n_joined = 0;
        for line in text::lines(head).filter(|line| line.ended || whole) {
            match stack_and_weight(line.text) {
                _ if is_comment(line.text) => {}
                Some((stack, _)) if !stack[0].is_ascii_whitespace() => {
                    n_joined += usize::from(stack.contains(&b';'));
                }
                _ => return Recognition::No,
            }
        }
        if n_joined == 0 {
            return Recognition::No;
        }
        Recognition::Yes("every line is `a;b;c N`".into())
    }

    fn open(&self, _files: &dyn Files, options: &ImportOptions) -> Result<Opened, ImportError> {
        let (unit, said) = match options.dialect.as_deref() {
            None => (
                TickUnit::Cycles,
                "not stated, shown as cycles; set it with `--dialect ns` \
                                        or another unit",
            ),
            Some(name) => {
                let unit = text::tick_unit(name).ok_or_else(|| {
                    ImportError::whole(format!(
                        "found dialect `{name}`, expected the unit of the weights, such as ns, us, \
                         cycles or instructions"
                    ))
                })?;
                (unit, "as set by `--dialect`")
            }
        };
        Ok(Opened::lines(
            Timebase { unit, resolution: Ticks(1), timeline: Timeline::Synthetic },
            Box::new(Lines),
        )
        .with_facts(vec![
            ("unit", said.to_owned()),
            ("calls", "sums per stack; no single calls, no minimum or maximum".into()),
        ]))
    }
}

fn is_comment(line: &[u8]) -> bool {
    matches!(line.trim_ascii_start(), [] | [b'#', ..])
}

/// What is before the last space, and the number after it, rounded.
fn stack_and_weight(line: &[u8]) -> Option<(&[u8], u64)> {
    let line = line.trim_ascii_end();
    let space = memchr::memrchr2(b' ', b'\t', line)?;
    let stack = line[..space].trim_ascii_end();
    if stack.is_empty() || !line[space + 1..].first()?.is_ascii_digit() {
        return None;
    }
    Some((stack, scaled(&line[space + 1..], 0)?))
}

/// Reads lines.
struct Lines;

impl Reader for Lines {
    fn fork(&self) -> Box<dyn Reader> {
        Box::new(Self)
    }

    fn read(&mut self, block: &Block<'_>, _state: &State, out: &mut Emitter) -> Option<State> {
        let block = block.bytes;
        let lane = out.lane(LaneKey { cpu: None, thread: ThreadKey::Unstated });
        let mut samples = Samples::new(lane);
        let mut stack: Vec<NameRef> = Vec::new();
        for line in text::lines(block) {
            out.lines += 1;
            if is_comment(line.text) {
                continue;
            }
            out.records += 1;
            if !line.ended {
                // A number that was cut short is another number.
                out.cut(&line);
                continue;
            }
            let Some((frames, weight)) = stack_and_weight(line.text) else {
                out.refuse(&line, "frames joined by `;`, a space and a number");
                continue;
            };
            stack.clear();
            for frame in frames.split(|&byte| byte == b';') {
                let frame = String::from_utf8_lossy(frame);
                let name = if frame.trim().is_empty() { "(unnamed)" } else { frame.trim() };
                stack.push(out.func(name, FuncKind::Function));
            }
            samples.are(&stack, None, line.offset, out);
            samples.last(weight, line.offset, out);
            samples.are(&[], None, line.offset, out);
        }
        None
    }
}
