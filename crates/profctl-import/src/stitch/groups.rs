//! Which groups are open on one stack: elapsed time counts outermost calls only.

use profctl_model::hash::FastMap;

/// Stacks up to this many frames are searched; deeper ones are counted in a table.
const SEARCHED: usize = 64;

/// The groups of the open frames, in their order.
#[derive(Debug, Default)]
pub(super) struct OpenGroups {
    groups: Vec<u32>,
    /// A bit for each open group, by its lowest six bits: a clear bit proves that a group is not
    /// open, which spares most searches.
    seen: u64,
    /// How often each group is open; kept once the stack has been deep.
    counts: Option<FastMap<u32, u32>>,
}

impl OpenGroups {
    /// Opens a group; returns what [`Self::pop`] wants back.
    #[inline]
    pub(super) fn push(&mut self, group: u32) -> u64 {
        let before = self.seen;
        self.seen |= 1 << (group % 64);
        self.groups.push(group);
        if self.groups.len() > SEARCHED || self.counts.is_some() {
            self.count(group);
        }
        before
    }

    #[cold]
    fn count(&mut self, group: u32) {
        if let Some(counts) = &mut self.counts {
            *counts.entry(group).or_default() += 1;
            return;
        }
        let mut counts = FastMap::default();
        for &group in &self.groups {
            *counts.entry(group).or_default() += 1;
        }
        self.counts = Some(counts);
    }

    #[inline]
    pub(super) fn pop(&mut self, before: u64) {
        let group = self.groups.pop();
        self.seen = before;
        if let (Some(group), Some(counts)) = (group, &mut self.counts)
            && let Some(n) = counts.get_mut(&group)
        {
            *n -= 1;
        }
    }

    /// Whether a call of `group` has none of its group below it.
    #[inline]
    pub(super) fn is_outermost(&self, group: u32) -> bool {
        self.seen & 1 << (group % 64) == 0 || !self.is_open(group)
    }

    fn is_open(&self, group: u32) -> bool {
        match &self.counts {
            None => self.groups.contains(&group),
            Some(counts) => counts.get(&group).is_some_and(|&n| n > 0),
        }
    }
}
