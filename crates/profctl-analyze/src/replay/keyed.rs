//! Items that are ordered by a key, for priority queues.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Items of which the one with the least key comes first.
pub(super) type LeastFirst<K, T> = BinaryHeap<Reverse<Keyed<K, T>>>;

/// An item that compares as its key does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keyed<K, T> {
    pub(super) key: K,
    pub(super) item: T,
}

impl<K: Ord, T> PartialEq for Keyed<K, T> {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl<K: Ord, T> Eq for Keyed<K, T> {}

impl<K: Ord, T> PartialOrd for Keyed<K, T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord, T> Ord for Keyed<K, T> {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key)
    }
}
