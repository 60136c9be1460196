//! The path that bounds a thread, by recursion over the pieces of all threads.

use super::{Doing, Ended, Life, Piece, Report};

/// A segment of the path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// From, in nanoseconds.
    pub from: u64,
    /// To.
    pub to: u64,
    /// Whose.
    pub tid: u64,
    /// `running`, `runnable`, `interrupt`, `blocked` or `unknown`.
    pub state: &'static str,
}

/// The path of a thread through its life, in time order; neighbors differ.
pub(super) fn of(report: &Report, tid: u64) -> Vec<Segment> {
    let Some((from, to)) = report.threads.get(&tid).and_then(Life::window) else {
        return Vec::new();
    };
    let mut segments = Vec::new();
    // The thread itself, forward: what it waited for lies within each of its waits.
    let life = &report.threads[&tid];
    for (n, piece) in life.pieces.iter().enumerate() {
        let (from, to) = (piece.from.max(from), piece.to.min(to));
        if from >= to {
            continue;
        }
        match ended(life, n).filter(|_| to == piece.to) {
            Some(Ended::By(waker)) if is_wait(piece) && waker != tid => {
                segments.extend(chased(report, waker, from, to, &[tid]));
            }
            ended => segments.push(own(tid, piece, from, to, ended)),
        }
    }
    let mut joined: Vec<Segment> = Vec::new();
    for segment in segments {
        match joined.last_mut() {
            Some(last) if (last.tid, last.state) == (segment.tid, segment.state) => {
                last.to = segment.to;
            }
            _ => joined.push(segment),
        }
    }
    joined
}

/// What the thread that ended a wait did in it, or the thread that it waited for. The path does not
/// return to a thread that it has left.
fn chased(report: &Report, tid: u64, from: u64, to: u64, left: &[u64]) -> Vec<Segment> {
    let unknown = Segment { from, to, tid, state: "unknown" };
    let Some(life) = report.threads.get(&tid) else { return vec![unknown] };
    let Some(n) = life.pieces.iter().position(|piece| piece.from < to && to <= piece.to) else {
        return vec![unknown];
    };
    let piece = &life.pieces[n];
    let since = piece.from.max(from);
    let left_with = [left, &[tid]].concat();
    let mut before = match ended(life, n) {
        Some(Ended::By(waker))
            if is_wait(piece) && to == piece.to && !left_with.contains(&waker) =>
        {
            return chased(report, waker, from, to, &left_with);
        }
        _ if since == from => Vec::new(),
        _ if n == 0 => match piece.waker {
            // It did not exist before: the thread that created it.
            Some(Ended::By(parent))
                if piece.doing == Doing::New && !left_with.contains(&parent) =>
            {
                chased(report, parent, from, since, &left_with)
            }
            _ => vec![Segment { to: since, ..unknown }],
        },
        _ => chased(report, tid, from, since, left),
    };
    let ended = ended(life, n).filter(|_| to == piece.to);
    before.push(own(tid, piece, since, to, ended));
    before
}

/// An interval of a thread that no other thread is charged with.
fn own(tid: u64, piece: &Piece, from: u64, to: u64, ended: Option<Ended>) -> Segment {
    let state = match piece.doing {
        Doing::Running => "running",
        Doing::Woken | Doing::Preempted | Doing::New => "runnable",
        Doing::Unknown => "unknown",
        _ if ended == Some(Ended::ByInterrupt) => "interrupt",
        _ => "blocked",
    };
    Segment { from, to, tid, state }
}

fn is_wait(piece: &Piece) -> bool {
    matches!(piece.doing, Doing::Sleeping | Doing::Uninterruptible | Doing::Stopped)
}

/// Who ended the interval at `n`, if it was a wait.
fn ended(life: &Life, n: usize) -> Option<Ended> {
    let next = life.pieces.get(n + 1).filter(|next| next.doing == Doing::Woken)?;
    next.waker.filter(|_| is_wait(&life.pieces[n]))
}
