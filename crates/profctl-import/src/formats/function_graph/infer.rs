//! The layout of a capture without a header, such as one of `trace_pipe`.

use super::layout::{Layout, Time};
use super::line::{self, Line};
use crate::text;

/// Lines that decide about a headerless capture.
const JUDGED: usize = 200;

/// The columns (cpu, task, flags, duration) that are tried; the commonest first, so that it wins a
/// tie. Without a CPU or a duration column almost any C source would fit.
const COLUMNS: [(bool, bool, bool, bool); 8] = [
    (true, false, false, true),
    (true, true, false, true),
    (true, false, true, true),
    (true, true, true, true),
    (true, false, false, false),
    (true, true, false, false),
    (false, false, false, true),
    (false, true, false, true),
];

/// The layout in which most of the first lines are graph lines, with how many of how many; nothing
/// if not even two in three are.
pub(super) fn infer(head: &[u8]) -> Option<(Layout, usize, usize)> {
    let judged: Vec<_> = text::lines(head)
        .filter(|line| line.ended && !line.text.trim_ascii().is_empty())
        .map(|line| line.text)
        .filter(|line| !line.starts_with(b"#") || line::overhead_mark(line))
        .take(JUDGED)
        .collect();
    let mut best: Option<(Layout, usize)> = None;
    for time in [Time::Absolute, Time::None] {
        for (cpu, task, flags, duration) in COLUMNS {
            let layout = Layout { time, cpu, task, flags, duration };
            let fits = |line: &&&[u8]| {
                matches!(
                    line::parse(line, layout),
                    Line::Call(_) | Line::Banner { .. } | Line::Lost { .. } | Line::Overruns(_)
                )
            };
            let fitting = judged.iter().filter(fits).count();
            if best.is_none_or(|(_, most)| fitting > most) {
                best = Some((layout, fitting));
            }
        }
    }
    let (layout, fitting) = best?;
    let calls = |line: &&[u8]| matches!(line::parse(line, layout), Line::Call(_));
    let has_calls = judged.iter().any(calls);
    (has_calls && fitting * 3 >= judged.len() * 2).then_some((layout, fitting, judged.len()))
}
