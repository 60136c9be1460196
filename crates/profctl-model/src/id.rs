//! Dense, typed indices. An id is only valid in the trace that handed it out.

use std::marker::PhantomData;
use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

/// A type that stands for a position in an [`IdVec`].
pub trait Id: Copy + Eq {
    /// The id of position `index`.
    ///
    /// # Panics
    /// If `index` is `u32::MAX` or above: four billion functions or spans do not fit a trace.
    fn from_index(index: usize) -> Self;
    /// The position that this id stands for.
    fn index(self) -> usize;
}

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(NonZeroU32);

        impl Id for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                let raw = u32::try_from(index).ok().and_then(|i| i.checked_add(1));
                Self(raw.and_then(NonZeroU32::new).expect("an id is below u32::MAX"))
            }
            #[inline]
            fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }

        impl $name {
            /// The id of position `index`.
            #[inline]
            pub fn from_index(index: usize) -> Self {
                <Self as Id>::from_index(index)
            }
            /// The position that this id stands for.
            #[inline]
            pub fn index(self) -> usize {
                Id::index(self)
            }
        }
    )*};
}

ids! {
    /// A function, as interned in [`crate::Names`].
    FuncId
    /// A thread: a process, a task, an interrupt stack, or a CPU where nothing better is known.
    ThreadId
    /// A CPU (a lane), as interned in [`crate::Names`]; its number in the trace is kept there.
    CpuId
    /// A call, by its row in a [`crate::Trace`].
    SpanId
}

/// A vector that accepts only its own kind of id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdVec<I, T> {
    items: Vec<T>,
    id: PhantomData<fn(I)>,
}

impl<I, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self { items: Vec::new(), id: PhantomData }
    }
}

impl<I: Id, T> IdVec<I, T> {
    /// Appends `item` and says under which id.
    pub fn push(&mut self, item: T) -> I {
        let id = I::from_index(self.items.len());
        self.items.push(item);
        id
    }
    /// How many items there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    /// The item of `id`, or nothing if `id` is from elsewhere.
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }
    /// Items in the order of their ids.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }
    /// Items in the order of their ids, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }
    /// Ids with their items, in order.
    pub fn pairs(&self) -> impl Iterator<Item = (I, &T)> {
        self.items.iter().enumerate().map(|(index, item)| (I::from_index(index), item))
    }
    /// The item of `id`, made by `T::default` (and all before it) if it is not there yet.
    pub fn grow_to(&mut self, id: I) -> &mut T
    where
        T: Default,
    {
        if id.index() >= self.items.len() {
            self.items.resize_with(id.index() + 1, T::default);
        }
        &mut self.items[id.index()]
    }
    /// The items themselves, in the order of their ids.
    pub fn into_items(self) -> Vec<T> {
        self.items
    }
    /// The items as a slice, in the order of their ids.
    pub fn as_slice(&self) -> &[T] {
        &self.items
    }
}

impl<'a, I: Id, T> IntoIterator for &'a IdVec<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<'a, I: Id, T> IntoIterator for &'a mut IdVec<I, T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.iter_mut()
    }
}

impl<I: Id, T> Index<I> for IdVec<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for IdVec<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I: Id, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<It: IntoIterator<Item = T>>(items: It) -> Self {
        Self { items: items.into_iter().collect(), id: PhantomData }
    }
}
