//! Which groups are open on one stack: elapsed time counts outermost calls only.

use profctl_model::hash::FastMap;

/// Stacks up to this many frames are searched; deeper ones are counted in a table.
const SEARCHED: usize = 64;
/// Kinds of groups that are distinguished without a search; a power of two.
const TOLD_APART: usize = 256;

/// The groups of the open frames.
#[derive(Debug)]
pub(super) struct OpenGroups {
    /// How many open groups there are of each kind, which is the lowest bits of a group. None of
    /// its kind proves that a group is not open, which spares nearly all searches.
    of_kind: Box<[u32; TOLD_APART]>,
    /// How often each group is open; kept once the stack has been deep.
    counts: Option<FastMap<u32, u32>>,
    /// The number of frames from which on `counts` are kept.
    searched: usize,
}

impl Default for OpenGroups {
    fn default() -> Self {
        Self { of_kind: Box::new([0; TOLD_APART]), counts: None, searched: SEARCHED }
    }
}

impl OpenGroups {
    /// Opens a group on top of the groups of `frames`.
    #[inline]
    pub(super) fn push<F>(&mut self, group: u32, frames: &[F], group_of: impl Fn(&F) -> u32) {
        self.of_kind[kind(group)] += 1;
        if frames.len() >= self.searched {
            self.count(group, frames.iter().map(group_of));
        }
    }

    #[cold]
    fn count(&mut self, group: u32, open: impl Iterator<Item = u32>) {
        self.searched = 0;
        let counts = self.counts.get_or_insert_with(|| {
            let mut counts = FastMap::default();
            open.for_each(|group| *counts.entry(group).or_default() += 1);
            counts
        });
        *counts.entry(group).or_default() += 1;
    }

    /// Closes a group that is open.
    #[inline]
    pub(super) fn pop(&mut self, group: u32) {
        self.of_kind[kind(group)] -= 1;
        if self.searched == 0 {
            self.discount(group);
        }
    }

    #[cold]
    fn discount(&mut self, group: u32) {
        if let Some(n) = self.counts.as_mut().and_then(|counts| counts.get_mut(&group)) {
            *n -= 1;
        }
    }

    /// Whether a call of `group` on top of `frames` has none of its group below it.
    #[inline]
    pub(super) fn is_outermost<F>(
        &self,
        group: u32,
        frames: &[F],
        group_of: impl Fn(&F) -> u32,
    ) -> bool {
        self.of_kind[kind(group)] == 0 || !self.is_open(group, frames.iter().rev().map(group_of))
    }

    #[inline(never)]
    fn is_open(&self, group: u32, mut open: impl Iterator<Item = u32>) -> bool {
        match &self.counts {
            None => open.any(|other| other == group),
            Some(counts) => counts.get(&group).is_some_and(|&n| n > 0),
        }
    }
}

#[inline]
fn kind(group: u32) -> usize {
    group as usize % TOLD_APART
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn open_groups_are_those_of_the_frames(
            deep in 0..2 * SEARCHED,
            steps in prop::collection::vec(prop::option::weighted(0.6, 0..600_u32), 0..100),
        ) {
            let mut open = OpenGroups::default();
            let mut frames: Vec<u32> = Vec::new();
            for step in (0..deep as u32).map(|n| Some(n % 50)).chain(steps) {
                match step {
                    Some(number) => {
                        let group = 300 * number;
                        let is_outermost = open.is_outermost(group, &frames, |group| *group);
                        prop_assert_eq!(is_outermost, !frames.contains(&group));
                        open.push(group, &frames, |group| *group);
                        frames.push(group);
                    }
                    None => {
                        if let Some(group) = frames.pop() {
                            open.pop(group);
                        }
                    }
                }
            }
            while let Some(group) = frames.pop() {
                open.pop(group);
            }
            // A count that is left over would cause searches of the stack.
            prop_assert!(open.of_kind.iter().all(|&n| n == 0));
        }
    }
}
