//! Names that were met before, by the number that stands for them in the input: an address, the id
//! of a string.

use crate::emit::NameRef;

/// Names by number. Each is one row of 16 bytes, and of two rows one is free, so that a name is
/// mostly found where it is looked for first, and thousands of them stay in the cache.
#[derive(Debug, Default)]
pub(crate) struct KnownNames {
    /// A power of two of them, or none. Free ones are without a name.
    rows: Vec<(u64, NameRef)>,
    n: usize,
}

/// Rows of the smallest table.
const ROWS_MIN: usize = 64;
/// Spreads numbers, which are near one another, over the rows: 2^64 by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

impl KnownNames {
    /// The name of a number.
    #[inline]
    pub(crate) fn get(&self, number: u64) -> Option<NameRef> {
        let mut row = first(number, self.rows.len());
        loop {
            let (of, name) = *self.rows.get(row)?;
            if of == number && name != NameRef::ANONYMOUS {
                return Some(name);
            }
            if name == NameRef::ANONYMOUS {
                return None;
            }
            row = (row + 1) & (self.rows.len() - 1);
        }
    }

    /// Keeps the name of a number that has none yet.
    pub(crate) fn insert(&mut self, number: u64, name: NameRef) {
        if 2 * self.n >= self.rows.len() {
            let size = (2 * self.rows.len()).max(ROWS_MIN);
            let before = std::mem::replace(&mut self.rows, vec![(0, NameRef::ANONYMOUS); size]);
            for (number, name) in before.into_iter().filter(|(_, name)| *name != NameRef::ANONYMOUS)
            {
                self.put(number, name);
            }
        }
        self.n += 1;
        self.put(number, name);
    }

    fn put(&mut self, number: u64, name: NameRef) {
        let mut row = first(number, self.rows.len());
        while self.rows[row].1 != NameRef::ANONYMOUS {
            row = (row + 1) & (self.rows.len() - 1);
        }
        self.rows[row] = (number, name);
    }
}

/// Where a number is looked for first among so many rows.
#[inline]
fn first(number: u64, n: usize) -> usize {
    let spread = u128::from(number.wrapping_mul(SPREAD));
    ((spread * n as u128) >> u64::BITS) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_found() {
        let mut names = KnownNames::default();
        let number = |n: u32| u64::from(n % 3).rotate_right(4) + u64::from(n) * 64;
        assert_eq!(names.get(0), None);
        for n in 0..5000 {
            assert_eq!(names.get(number(n)), None);
            names.insert(number(n), NameRef(n + 1));
            assert_eq!(names.get(number(n / 2)), Some(NameRef(n / 2 + 1)));
        }
        assert_eq!(names.get(number(5000)), None);
    }
}
