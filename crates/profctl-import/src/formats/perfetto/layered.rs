//! A map that is cheap to copy, for the state passed from block to block.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use profctl_model::hash::FastMap;

/// Layers of a map: a copy shares those that are there, and what it adds goes on top. Each layer is
/// at least twice as large as the one on top of it, so that there are few of them and adding an
/// entry copies a few others on average.
#[derive(Clone, Debug)]
pub(super) struct Layered<K, V> {
    layers: Vec<Arc<FastMap<K, V>>>,
}

impl<K, V> Default for Layered<K, V> {
    fn default() -> Self {
        Self { layers: Vec::new() }
    }
}

impl<K: Clone + Eq + Hash, V: Clone> Layered<K, V> {
    /// The value of a key.
    pub(super) fn get<Q: ?Sized + Eq + Hash>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        self.layers.iter().rev().find_map(|layer| layer.get(key))
    }

    /// Gives a key a value.
    pub(super) fn insert(&mut self, key: K, value: V) {
        self.top().insert(key, value);
    }

    /// The value of a key, to be changed; the default if it has none.
    pub(super) fn edit(&mut self, key: K) -> &mut V
    where
        V: Default,
    {
        let known = self.get(&key).cloned();
        self.top().entry(key).or_insert_with(|| known.unwrap_or_default())
    }

    /// The top layer, if it is not shared, or a new one.
    fn top(&mut self) -> &mut FastMap<K, V> {
        let is_own = self.layers.last_mut().is_some_and(|top| Arc::get_mut(top).is_some());
        if !is_own {
            while let [.., below, top] = self.layers.as_slice()
                && below.len() < 2 * top.len()
            {
                let mut merged = FastMap::clone(below);
                merged.extend(top.iter().map(|(key, value)| (key.clone(), value.clone())));
                self.layers.truncate(self.layers.len() - 2);
                self.layers.push(Arc::new(merged));
            }
            self.layers.push(Arc::default());
        }
        let top = self.layers.last_mut().map(Arc::make_mut);
        top.expect("there is a layer that is not shared")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_keep_what_they_were_and_layers_stay_few() {
        let mut map: Layered<u32, u32> = Layered::default();
        let mut copies = Vec::new();
        for n in 0..1_000 {
            map.insert(n, n);
            *map.edit(n / 2) += 1_000;
            copies.push(map.clone());
        }
        assert!(map.layers.len() <= 12, "{} layers", map.layers.len());
        for (n, copy) in (0..).zip(&copies) {
            assert!(copy.get(&n).is_some() && copy.get(&(n + 1)).is_none(), "{n}");
        }
        let edited = (0..1_000).map(|n| map.get(&n).unwrap() - n);
        assert_eq!(edited.sum::<u32>(), 1_000_000);
    }
}
