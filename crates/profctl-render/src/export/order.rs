//! The entries, exits, instants and losses of a trace in time order, for forms that are streams of
//! them.

use std::io;

use profctl_model::{IdVec, ThreadId, Tick};

use super::{CallEnd, CallEnds, Header};

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// A call was entered or left.
    Call(CallEnd),
    /// A row of [`Header::marks`].
    Mark(usize),
    /// A row of [`Header::gaps`].
    Gap(usize),
}

/// Everything that happened, with its time. A loss comes after whatever it cut short at the same
/// time.
pub(super) fn moments(
    header: &Header<'_>,
    calls: &mut CallEnds<'_>,
    mut take: impl FnMut(Tick, What) -> io::Result<()>,
) -> io::Result<()> {
    let mut others = Others::of(header);
    for call in calls {
        let call = call?;
        while let Some((time, what)) = others.before(Some(&call)) {
            take(time, what)?;
        }
        others.now = others.now.max(call.time);
        let open = others.open.grow_to(call.thread);
        *open = if call.entered.is_some() { *open + 1 } else { open.saturating_sub(1) };
        take(call.time, What::Call(call))?;
    }
    while let Some((time, what)) = others.before(None) {
        take(time, what)?;
    }
    Ok(())
}

/// What is not a call.
struct Others<'a> {
    header: &'a Header<'a>,
    /// Rows of instants, in time order, then thread.
    marks: Vec<usize>,
    n_marks: usize,
    n_gaps: usize,
    /// The latest time so far.
    now: Tick,
    /// How many calls of each thread are open.
    open: IdVec<ThreadId, u32>,
}

impl<'a> Others<'a> {
    fn of(header: &'a Header<'a>) -> Self {
        let mut marks: Vec<usize> = (0..header.marks.len()).collect();
        marks.sort_by_key(|&row| (header.marks[row].time, header.marks[row].thread));
        let open = IdVec::default();
        Self { header, marks, n_marks: 0, n_gaps: 0, now: Tick(0), open }
    }

    /// What comes next before `call`, or at all if there is no further call.
    fn before(&mut self, call: Option<&CallEnd>) -> Option<(Tick, What)> {
        let Header { marks, gaps, .. } = *self.header;
        let mark = self.marks.get(self.n_marks).copied();
        let mark = mark.filter(|&row| call.is_none_or(|call| self.is_before(row, call)));
        let next = mark.map(|row| marks[row].time).or(call.map(|call| call.time));
        let gap = gaps.get(self.n_gaps).filter(|gap| next.is_none_or(|next| gap.time < next));
        let (time, what) = match (gap, mark) {
            (Some(gap), _) => {
                self.n_gaps += 1;
                (gap.time, What::Gap(self.n_gaps - 1))
            }
            (None, Some(row)) => {
                self.n_marks += 1;
                (marks[row].time, What::Mark(row))
            }
            (None, None) => return None,
        };
        self.now = self.now.max(time);
        Some((self.now, what))
    }

    fn is_before(&self, row: usize, call: &CallEnd) -> bool {
        let mark = &self.header.marks[row];
        let (here, there) = ((mark.time, mark.thread), (call.time, call.thread));
        // At one time, the number of open calls says where it belongs.
        let depth = self.open.get(call.thread).copied().unwrap_or(0);
        here < there || (here == there && mark.depth == depth)
    }
}
