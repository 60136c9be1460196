//! What threads were doing, in the chart: a strip above the calls of each lane, arrows from wakers
//! to the woken, and the path that goes from thread to thread.

use profctl_model::{RunState, ThreadId, ThreadState, Ticks, Trace, WakerContext};

use super::super::lanes::Lanes;
use super::super::timeline::{PIXEL, TimeScale};
use super::words::Words;
use super::{Arrow, PathLine, StateBox, StateLook};
use crate::chart::picture::{PathPlace, PathStep};

/// The height of a strip, with the gap below it.
pub(super) const STRIP: u32 = 9;
/// The height of what is drawn in it.
pub(super) const STRIP_BOX: u32 = 7;
/// Arrows that are drawn at most: more would hide what they lie on.
const ARROWS_MAX: usize = 400;
/// Between two arrows to one lane, at least, in hundredths of a pixel.
const ARROWS_APART: u64 = 4 * PIXEL;
/// How far an arrow of an interrupt comes from above.
const STUB: u32 = 6;

impl StateLook {
    /// How a state is drawn.
    pub fn of(state: RunState) -> Option<Self> {
        Some(match state {
            RunState::Running => Self::Running,
            RunState::RunnableWoken | RunState::RunnablePreempted | RunState::RunnableNew => {
                Self::Runnable
            }
            RunState::Sleeping => Self::Sleeping,
            RunState::Uninterruptible | RunState::Stopped => Self::Uninterruptible,
            RunState::Unknown => Self::Unknown,
            RunState::Dead => return None,
        })
    }

    /// What it means.
    pub fn words(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Runnable => "waiting for a CPU",
            Self::Sleeping => "sleeping",
            Self::Uninterruptible => "disk sleep or stopped",
            Self::Unknown => "state unknown",
            Self::Mixed => "several states",
        }
    }
}

/// The states of a thread as a strip at `y`. Neighbors that are narrower than `narrowest` are drawn
/// as one.
pub(super) fn strip(
    states: &[ThreadState],
    y: u32,
    scale: &TimeScale,
    narrowest: u64,
    words: &Words,
) -> Vec<StateBox> {
    let mut boxes: Vec<StateBox> = Vec::new();
    // The lengths of what the last box stands for, while it is open to more.
    let mut open: Option<[Ticks; StateLook::ALL.len()]> = None;
    for state in states.iter().filter(|state| state.start < state.end) {
        let Some(look) = StateLook::of(state.state) else { continue };
        let (x0, x1) = (scale.x(state.start), scale.x(state.end));
        let is_narrow = x1 - x0 < narrowest;
        if let (Some(sums), Some(last), true) = (&mut open, boxes.last_mut(), is_narrow)
            && x0 < last.x1 + narrowest
        {
            sums[look as usize] += state.length();
            last.x1 = last.x1.max(x1);
            if last.look != look {
                last.look = StateLook::Mixed;
            }
            last.tip = mixed(sums, words);
            continue;
        }
        let mut sums = [Ticks(0); StateLook::ALL.len()];
        sums[look as usize] = state.length();
        let tip = format!("{} for {}", state.state.name(), words.length(state.length()));
        boxes.push(StateBox { x0, x1, y, height: STRIP_BOX, look, tip });
        open = is_narrow.then_some(sums);
    }
    boxes
}

fn mixed(sums: &[Ticks], words: &Words) -> String {
    let lines: Vec<String> = StateLook::ALL
        .iter()
        .zip(sums)
        .filter(|(_, sum)| sum.0 > 0)
        .map(|(look, sum)| format!("{}: {}", look.words(), words.length(*sum)))
        .collect();
    lines.join("\n")
}

/// Arrows from wakers to the woken, and how many are omitted. `tops` are the upper edges
/// of lanes.
pub(super) fn arrows(
    trace: &Trace,
    lanes: &Lanes,
    tops: &[u32],
    scale: &TimeScale,
) -> (Vec<Arrow>, usize) {
    let place = |thread: ThreadId| lanes.threads.iter().position(|lane| lane.thread == thread);
    let middle = |lane: usize| tops[lane] + STRIP_BOX / 2;
    let mut found: Vec<Arrow> = Vec::new();
    let mut left_out = 0;
    for (to, lane) in lanes.threads.iter().enumerate() {
        let woken = trace.states_of(lane.thread).iter().filter(|state| {
            matches!(state.state, RunState::RunnableWoken | RunState::RunnableNew)
                && state.start_seen
        });
        let mut last: Option<u64> = None;
        for state in woken {
            let Some(waker) = state.waker else { continue };
            let x = scale.x(state.start);
            if last.is_some_and(|last| x < last + ARROWS_APART) {
                left_out += 1;
                continue;
            }
            let by = waker.thread.filter(|_| waker.context == WakerContext::Task);
            let from = by.and_then(place).filter(|from| *from != to);
            let name = |thread: ThreadId| trace.names.threads[thread].label();
            let (y0, tip) = match (from, by) {
                (Some(from), Some(by)) => (middle(from), format!("woken by {}", name(by))),
                (None, Some(by)) => {
                    (tops[to].saturating_sub(STUB), format!("woken by {}", name(by)))
                }
                _ if waker.context.is_interrupt() => {
                    (tops[to].saturating_sub(STUB), "woken by an interrupt".to_owned())
                }
                _ => continue,
            };
            last = Some(x);
            found.push(Arrow { x, y0, y1: middle(to), tip });
        }
    }
    found.sort_by_key(|arrow| (arrow.x, arrow.y0, arrow.y1));
    if found.len() > ARROWS_MAX {
        left_out += found.len() - ARROWS_MAX;
        // Evenly over the width.
        let all = found.len();
        let mut n = 0;
        found.retain(|_| {
            n += 1;
            n * ARROWS_MAX / all > (n - 1) * ARROWS_MAX / all
        });
    }
    (found, left_out)
}

/// The steps that are of threads as lines: solid where one ran, broken where it waited.
pub(super) fn path(
    steps: &[PathStep],
    lanes: &Lanes,
    tops: &[u32],
    scale: &TimeScale,
) -> Vec<PathLine> {
    let mut lines: Vec<PathLine> = Vec::new();
    let mut last: Option<(u64, u32)> = None;
    for step in steps {
        let PathPlace::Thread(thread) = step.place else { continue };
        let lane = lanes.threads.iter().position(|lane| lane.thread == thread);
        let Some(lane) = lane else { continue };
        let y = tops[lane] + STRIP_BOX / 2;
        let (x0, x1) = (scale.x(step.start), scale.x(step.end));
        // Steps narrower than half a pixel only move the line up and down.
        if last.is_some_and(|(x, at)| at == y && x + PIXEL / 2 > x1) {
            continue;
        }
        match lines.last_mut() {
            Some(line) if line.waits == step.waits => {
                if last.is_some_and(|last| last != (x0, y)) {
                    line.points.push((x0, y));
                }
                line.points.push((x1, y));
            }
            _ => {
                // From where the line was, on any thread.
                let start = last.filter(|last| *last != (x0, y));
                let points = start.into_iter().chain([(x0, y), (x1, y)]).collect();
                lines.push(PathLine { points, waits: step.waits });
            }
        }
        last = Some((x1, y));
    }
    lines
}
