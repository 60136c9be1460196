//! Sums of calls that were passed on as outermost, where a caller may still turn up.
//!
//! Calls are passed on when they end. Of a call that is known only at its end (its entry was not
//! recorded, or the input has no entries), it was unknown while its callees were passed on: those
//! of the same function counted as outermost, and then lie in it. So while a caller may turn up,
//! what was passed on as outermost is summed up by function, to be taken back where it has to be.

use profctl_model::hash::FastMap;
use profctl_model::{CpuId, Enclosed, FuncId, Span, ThreadId, Ticks};

/// What distinguishes calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Key {
    pub(super) func: FuncId,
    pub(super) cpu: Option<CpuId>,
    pub(super) interrupt: bool,
}

impl Key {
    /// The key as one word, which hashes in one step.
    #[inline]
    fn pack(self) -> u64 {
        let cpu = self.cpu.map_or(0, |cpu| cpu.index() as u64 + 1);
        (self.func.index() as u64) << 32 | cpu << 1 | u64::from(self.interrupt)
    }

    fn unpack(packed: u64) -> Self {
        let cpu = (packed & 0xffff_ffff) as usize >> 1;
        Self {
            func: FuncId::from_index((packed >> 32) as usize),
            cpu: cpu.checked_sub(1).map(CpuId::from_index),
            interrupt: packed & 1 == 1,
        }
    }
}

/// Sums over the calls of one key.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    calls: u64,
    wall: Ticks,
    off_cpu: Ticks,
    descendants: u64,
}

impl Sums {
    #[inline]
    fn add(&mut self, other: Self) {
        self.calls += other.calls;
        self.wall += other.wall;
        self.off_cpu += other.off_cpu;
        self.descendants = self.descendants.saturating_add(other.descendants);
    }
}

/// Outermost calls by function.
#[derive(Clone, Debug, Default)]
pub(super) struct Outermost {
    /// By packed [`Key`].
    sums: FastMap<u64, Sums>,
}

impl Outermost {
    /// Adds a call that was passed on as outermost.
    #[inline]
    pub(super) fn add(&mut self, span: &Span) {
        let key = Key { func: span.func, cpu: span.cpu, interrupt: span.interrupt };
        let (wall, off_cpu, descendants) = (span.wall, span.off_cpu, span.descendants);
        let one = Sums { calls: 1, wall, off_cpu, descendants };
        match self.sums.get_mut(&key.pack()) {
            Some(sums) => sums.add(one),
            None => self.add_first(key, one),
        }
    }

    #[cold]
    fn add_first(&mut self, key: Key, sums: Sums) {
        self.sums.insert(key.pack(), sums);
    }

    /// Adds all of another.
    pub(super) fn append(&mut self, other: Self) {
        if self.sums.is_empty() {
            self.sums = other.sums;
            return;
        }
        #[expect(clippy::iter_over_hash_type, reason = "sums do not depend on the order")]
        for (key, sums) in other.sums {
            self.sums.entry(key).or_default().add(sums);
        }
    }

    /// Takes out those that `is_enclosed` says lie in another call, in the order of their functions.
    pub(super) fn take(
        &mut self,
        thread: ThreadId,
        is_enclosed: impl Fn(Key) -> bool,
    ) -> Vec<Enclosed> {
        let is_enclosed = |key: &u64| is_enclosed(Key::unpack(*key));
        let mut taken: Vec<_> = self.sums.extract_if(|key, _| is_enclosed(key)).collect();
        taken.sort_unstable_by_key(|(key, _)| *key);
        let enclosed = taken.into_iter().map(|(key, sums)| {
            let Key { func, cpu, interrupt } = Key::unpack(key);
            let Sums { calls, wall, off_cpu, descendants } = sums;
            Enclosed { func, thread, cpu, interrupt, calls, wall, off_cpu, descendants }
        });
        enclosed.collect()
    }
}
