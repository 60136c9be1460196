//! Calls whose callers have no recorded entry, until an exit claims them.
//!
//! ```text
//! printed depth   0  main() {
//!                 1    a() {
//!                 4        d();               an orphan: its callers at 2 and 3 were not seen
//!                 3      } /* c */            entry not seen: adopts the orphans deeper than 3
//!                 1    }
//! ```
//!
//! Where the input shows no depths, whatever ended on an empty stack is an orphan: the exit of a
//! call that was open before the thread was watched adopts all of it.

use profctl_model::{Tick, Ticks};

use super::outermost::Outermost;

/// What ended below a call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Below {
    pub(super) elapsed: Ticks,
    pub(super) stolen: Ticks,
    pub(super) callees: u32,
    pub(super) descendants: u64,
}

impl Below {
    #[inline]
    pub(super) fn add(&mut self, other: Below) {
        self.elapsed += other.elapsed;
        self.stolen += other.stolen;
        self.callees = self.callees.saturating_add(other.callees);
        self.descendants = self.descendants.saturating_add(other.descendants);
    }

    pub(super) fn remove(&mut self, other: Below) {
        self.elapsed = self.elapsed - other.elapsed;
        self.stolen = self.stolen - other.stolen;
        self.callees = self.callees.saturating_sub(other.callees);
        self.descendants = self.descendants.saturating_sub(other.descendants);
    }
}

/// What ended below a call: in all, and within the window that was asked for.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Ended {
    pub(super) all: Below,
    pub(super) inside: Below,
    /// When the first of it began.
    pub(super) since: Option<Tick>,
}

impl Ended {
    pub(super) fn add(&mut self, other: Ended) {
        self.all.add(other.all);
        self.inside.add(other.inside);
        let both = [self.since, other.since].into_iter().flatten();
        self.since = both.min();
    }
}

/// The orphans of one stack: the deeper ones on top.
#[derive(Debug, Default)]
pub(super) struct Orphans {
    groups: Vec<Group>,
}

/// Orphans of one depth.
#[derive(Debug)]
struct Group {
    /// Number of open frames below them.
    level: usize,
    depth: u32,
    ended: Ended,
    /// What of them, and below them, was passed on as outermost.
    outermost: Outermost,
}

impl Orphans {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The number of frames on which the highest of them stand.
    #[inline]
    pub(super) fn level(&self) -> Option<usize> {
        self.groups.last().map(|group| group.level)
    }

    pub(super) fn clear(&mut self) {
        self.groups.clear();
    }

    /// Drops those above `level` frames: their callers have ended. What of them was outermost lies
    /// in those frames.
    #[cold]
    pub(super) fn forget_above(&mut self, level: usize) -> Outermost {
        let mut outermost = Outermost::default();
        while let Some(group) = self.groups.pop_if(|group| group.level > level) {
            outermost.append(group.outermost);
        }
        outermost
    }

    pub(super) fn add(&mut self, level: usize, depth: u32, ended: Ended, outermost: Outermost) {
        match self.groups.last_mut() {
            Some(last) if last.level == level && last.depth >= depth => {
                last.ended.add(ended);
                last.outermost.append(outermost);
            }
            _ => self.groups.push(Group { level, depth, ended, outermost }),
        }
    }

    /// Takes those deeper than `depth`.
    pub(super) fn take_deeper(&mut self, level: usize, depth: u32) -> (Ended, Outermost) {
        let mut taken = (Ended::default(), Outermost::default());
        let deeper = |group: &mut Group| group.level == level && group.depth > depth;
        while let Some(group) = self.groups.pop_if(deeper) {
            taken.0.add(group.ended);
            taken.1.append(group.outermost);
        }
        taken
    }

    /// The elapsed time of what [`Self::take_deeper`] would take.
    pub(super) fn elapsed_deeper(&self, level: usize, depth: u32) -> Ticks {
        let deeper = |group: &&Group| group.level == level && group.depth > depth;
        let groups = self.groups.iter().rev().take_while(deeper);
        groups.fold(Ticks(0), |sum, group| sum + group.ended.all.elapsed)
    }
}
