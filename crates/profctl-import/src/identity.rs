//! Which lanes are of one thread.

use profctl_model::hash::FastMap;

use crate::emit::{LaneKey, ThreadKey};

/// What identifies a thread: its names do not.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Identity {
    Tid(u64),
    /// Process and thread.
    Member(u64, u64),
    /// The idle task of a CPU.
    Idle(Option<u32>),
    Named(String),
    /// The thread that runs on a CPU.
    RunsOn(Option<u32>),
}

impl Identity {
    pub(crate) fn of(key: &LaneKey) -> Self {
        match &key.thread {
            ThreadKey::Unstated => Self::RunsOn(key.cpu),
            ThreadKey::Tid(tid, _) => Self::Tid(*tid),
            ThreadKey::Member { pid, tid, .. } => Self::Member(*pid, *tid),
            ThreadKey::Idle => Self::Idle(key.cpu),
            ThreadKey::Named(name) => Self::Named(name.clone()),
        }
    }
}

/// Something kept per thread. Some records of one trace state the process beside the number of the
/// thread, others (those of the scheduler) do not: both are the same thread, unless several
/// processes have a thread of that number.
#[derive(Debug)]
pub(crate) struct PerThread<T> {
    known: FastMap<Identity, T>,
    /// By number, the thread that was first seen with a process; nothing if there are several.
    members: FastMap<u64, Option<T>>,
}

impl<T> Default for PerThread<T> {
    fn default() -> Self {
        Self { known: FastMap::default(), members: FastMap::default() }
    }
}

impl<T: Copy> PerThread<T> {
    pub(crate) fn contains(&self, identity: &Identity) -> bool {
        self.known.contains_key(identity)
    }

    /// Several processes have a thread of that number: a record without a process is of none of them.
    /// To be called before the first record of such a thread.
    pub(crate) fn share(&mut self, tid: u64) {
        self.members.insert(tid, None);
    }

    pub(crate) fn insert(&mut self, identity: Identity, value: T) {
        if let Identity::Member(_, tid) = identity {
            self.members.entry(tid).and_modify(|first| *first = None).or_insert(Some(value));
        }
        self.known.insert(identity, value);
    }

    pub(crate) fn get_or_insert_with(&mut self, identity: Identity, new: impl FnOnce() -> T) -> T {
        if let Some(value) = self.known.get(&identity) {
            return *value;
        }
        let same = match identity {
            Identity::Tid(tid) => self.members.get(&tid).copied().flatten(),
            Identity::Member(_, tid) if !self.members.contains_key(&tid) => {
                self.known.get(&Identity::Tid(tid)).copied()
            }
            _ => None,
        };
        let value = same.unwrap_or_else(new);
        self.insert(identity, value);
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_without_a_process_is_the_thread_that_has_one() {
        for order in [[0, 1], [1, 0]] {
            let keys = [Identity::Tid(7), Identity::Member(5, 7)];
            let mut rows = PerThread::default();
            let [first, second] = order.map(|key| keys[key].clone());
            assert_eq!(rows.get_or_insert_with(first, || 0), 0);
            assert_eq!(rows.get_or_insert_with(second, || 1), 0);
            assert_eq!(rows.get_or_insert_with(Identity::Member(6, 7), || 2), 2);
        }
    }

    #[test]
    fn a_number_of_two_processes_is_neither() {
        let mut rows = PerThread::default();
        assert_eq!(rows.get_or_insert_with(Identity::Member(5, 7), || 0), 0);
        assert_eq!(rows.get_or_insert_with(Identity::Member(6, 7), || 1), 1);
        assert_eq!(rows.get_or_insert_with(Identity::Tid(7), || 2), 2);
        rows.share(8);
        assert_eq!(rows.get_or_insert_with(Identity::Tid(8), || 3), 3);
        assert_eq!(rows.get_or_insert_with(Identity::Member(5, 8), || 4), 4);
    }
}
