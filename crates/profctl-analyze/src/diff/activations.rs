//! What each outermost call of a thread cost, function by function, in bounded memory.
//!
//! A system call, an interrupt or a request is the unit that a system repeats. Calls within one are
//! correlated (same arguments, locks, cache misses), so activations are the units of resampling.
//! Whether a call is outermost is known only when the trace ends, as its caller is passed on after
//! it; until then, calls without a caller so far are kept in the order of their ends. Above a
//! limit, adjacent ones are merged in pairs.

use profctl_model::{FuncId, IdVec, Span, ThreadId, Tick};

/// Entries kept of all threads together, unless threads × functions are more.
const ENTRIES_MAX: usize = 1 << 20;

/// The calls of one function in one activation, or in one call of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) func: FuncId,
    pub(super) calls: u64,
    pub(super) net: u64,
}

/// Neighboring calls of a thread without a caller so far, and all that they called.
#[derive(Clone, Copy, Debug)]
struct Root {
    /// Where its entries begin; they end where those of the next one begin.
    start: usize,
    /// How many calls it stands for.
    n: u64,
    /// When the last of them ended.
    end: Tick,
}

#[derive(Clone, Debug, Default)]
struct Thread {
    entries: Vec<Entry>,
    roots: Vec<Root>,
}

/// Collects activations.
#[derive(Clone, Debug)]
pub(super) struct Activations {
    threads: IdVec<ThreadId, Thread>,
    n_entries: usize,
    entries_max: usize,
}

impl Default for Activations {
    fn default() -> Self {
        Self { threads: IdVec::default(), n_entries: 0, entries_max: ENTRIES_MAX }
    }
}

impl Activations {
    /// Adds a call that has ended.
    pub(super) fn add(&mut self, span: &Span) {
        let thread = self.threads.grow_to(span.thread);
        let mut root = Root { start: thread.entries.len(), n: 1, end: span.end };
        // What came late was done meanwhile and stays with it.
        let late = u64::from(span.late.roots);
        root.n += late;
        let mut left = u64::from(span.callees) + late;
        while left > 0
            && let Some(callee) = thread.roots.pop()
        {
            root.start = callee.start;
            // Joined with calls that are not below this one: they stay together.
            root.n += callee.n.saturating_sub(left);
            left = left.saturating_sub(callee.n);
        }
        thread.roots.push(root);
        if !span.fidelity.is_partial() {
            thread.entries.push(Entry { func: span.func, calls: 1, net: span.net.0 });
            self.n_entries += 1;
        }
        if self.n_entries > self.entries_max {
            self.shrink();
        }
    }

    /// Adds those of other threads.
    pub(super) fn append(&mut self, other: Self) {
        self.n_entries += other.n_entries;
        for (id, thread) in other.threads.into_items().into_iter().enumerate() {
            if !thread.roots.is_empty() {
                *self.threads.grow_to(ThreadId::from_index(id)) = thread;
            }
        }
    }

    fn shrink(&mut self) {
        self.compact(1);
        while self.n_entries > self.entries_max / 2
            && self.threads.iter().any(|thread| thread.roots.len() > 1)
        {
            self.compact(2);
        }
        // One entry a function and thread is the least there can be.
        self.entries_max = self.entries_max.max(2 * self.n_entries);
    }

    fn compact(&mut self, joined: usize) {
        let mut threads = std::mem::take(&mut self.threads).into_items();
        for thread in &mut threads {
            thread.compact(joined);
        }
        self.threads = threads.into_iter().collect();
        self.n_entries = self.threads.iter().map(|thread| thread.entries.len()).sum();
    }

    /// What each function cost in each activation in which it was called, in the order in which
    /// these ended.
    pub(super) fn finish(mut self) -> IdVec<FuncId, Vec<Entry>> {
        self.compact(1);
        let mut roots: Vec<(Tick, ThreadId, usize)> = Vec::new();
        for (id, thread) in self.threads.pairs() {
            roots.extend(thread.roots.iter().enumerate().map(|(at, root)| (root.end, id, at)));
        }
        roots.sort_unstable();
        let mut of_func: IdVec<FuncId, Vec<Entry>> = IdVec::default();
        for (_, thread, at) in roots {
            for entry in self.threads[thread].of(at) {
                of_func.grow_to(entry.func).push(*entry);
            }
        }
        of_func
    }
}

impl Thread {
    fn of(&self, root: usize) -> &[Entry] {
        let end = self.roots.get(root + 1).map_or(self.entries.len(), |next| next.start);
        &self.entries[self.roots[root].start..end]
    }

    /// One entry a function in each root, after joining so many neighboring roots.
    fn compact(&mut self, joined: usize) {
        let mut entries: Vec<Entry> = Vec::new();
        let mut roots = Vec::with_capacity(self.roots.len().div_ceil(joined));
        for first in (0..self.roots.len()).step_by(joined) {
            let members = &self.roots[first..self.roots.len().min(first + joined)];
            let start = entries.len();
            let mut own: Vec<Entry> =
                (first..first + members.len()).flat_map(|root| self.of(root)).copied().collect();
            own.sort_unstable_by_key(|entry| entry.func);
            for entry in own {
                match entries[start..].last() {
                    Some(last) if last.func == entry.func => {
                        let last = entries.last_mut().expect("there is a last one");
                        last.calls += entry.calls;
                        last.net = last.net.saturating_add(entry.net);
                    }
                    _ => entries.push(entry),
                }
            }
            let n = members.iter().map(|root| root.n).sum();
            let end = members.iter().map(|root| root.end).max().unwrap_or(Tick(0));
            roots.push(Root { start, n, end });
        }
        (self.entries, self.roots) = (entries, roots);
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use profctl_model::Names;

    use super::*;
    use crate::testing::Calls;

    fn collected(line: &str, entries_max: usize) -> (Names, IdVec<FuncId, Vec<Entry>>) {
        let calls = Calls::parse(line);
        let mut activations = Activations { entries_max, ..Activations::default() };
        calls.spans.iter().for_each(|span| activations.add(span));
        (calls.names, activations.finish())
    }

    /// `function: calls×net …`, an activation each.
    fn shown(line: &str, entries_max: usize) -> String {
        let (names, found) = collected(line, entries_max);
        let mut text = String::new();
        for (func, entries) in found.pairs() {
            write!(text, "{}:", names.funcs[func].name).unwrap();
            for entry in entries {
                write!(text, " {}x{}", entry.calls, entry.net).unwrap();
            }
            text += "; ";
        }
        text
    }

    #[test]
    fn calls_of_one_outermost_call_are_one_block() {
        let line = "@a 0 s( 1 f( 2 ) 3 f( 5 g( 6 ) 7 ) 8 ) @b 8 irq( 9 f( 10 ) 11 ) \
                    @a 20 s( 21 f( 22 ) 30 ) 30 ~s( 31 f( 32 ) 33 )";
        assert_eq!(shown(line, 99), "s: 1x3 1x9; f: 2x4 1x1 1x1 1x1; g: 1x1; irq: 1x2; ");
    }

    #[test]
    fn memory_is_bounded_and_sums_stay() {
        let mut line = String::new();
        for call in 0..1000 {
            let at = call * 10;
            write!(line, "{at} s( f( {} ) f( {} ) {} ) ", at + 2, at + 3, at + 7).unwrap();
        }
        let (_, found) = collected(&line, 64);
        let sizes: Vec<usize> = found.iter().map(Vec::len).collect();
        assert!(sizes.iter().all(|&size| (8..=64).contains(&size)), "{sizes:?}");
        for (entries, expected) in found.iter().zip([(1000, 4000), (2000, 3000)]) {
            let calls: u64 = entries.iter().map(|entry| entry.calls).sum();
            let net: u64 = entries.iter().map(|entry| entry.net).sum();
            assert_eq!((calls, net), expected);
        }
        // A call around everything makes one block of it, however it was joined before.
        let around = format!("0 main( {line} 10000 )");
        let (_, found) = collected(&around, 64);
        assert!(found.iter().all(|entries| entries.len() == 1), "{found:?}");
    }

    #[test]
    fn what_came_late_or_was_joined_stays_with_the_call_around_it() {
        let calls = Calls::parse("0 a( 1 ) 2 b( 3 ) 4 c( 5 ) 6 d( 7 ) 8 s( 9 )");
        let shown = |late: u32, callees: u32, joined: usize| {
            let mut activations = Activations::default();
            let (last, others) = calls.spans.split_last().unwrap();
            for span in others {
                activations.add(span);
            }
            activations.compact(joined);
            let late = profctl_model::Late { roots: late, ..profctl_model::Late::NONE };
            activations.add(&Span { callees, late, ..*last });
            let roots = &activations.threads.iter().next().unwrap().roots;
            roots.iter().map(|root| (root.start, root.n)).collect::<Vec<_>>()
        };
        assert_eq!(shown(0, 0, 1), [(0, 1), (1, 1), (2, 1), (3, 1), (4, 1)]);
        assert_eq!(shown(0, 1, 1), [(0, 1), (1, 1), (2, 1), (3, 1)]);
        // Those that came late count beside the call, its callees do not.
        assert_eq!(shown(2, 0, 1), [(0, 1), (1, 1), (2, 3)]);
        assert_eq!(shown(1, 1, 1), [(0, 1), (1, 1), (2, 2)]);
        // Of two that were joined, one is below the call, and the other stays with it.
        assert_eq!(shown(0, 1, 2), [(0, 2), (2, 2)]);
        assert_eq!(shown(0, 3, 2), [(0, 2)]);
    }

    #[test]
    fn adjacent_activations_are_joined_until_half_of_the_limit_is_left() {
        let line = |calls: u64| {
            let call = |at: u64| format!("{} f( {} ) ", 2 * at, 2 * at + 1);
            (0..calls).map(call).collect::<String>()
        };
        let sizes = |calls: u64| shown(&line(calls), 8);
        assert_eq!(sizes(8), "f: 1x1 1x1 1x1 1x1 1x1 1x1 1x1 1x1; ");
        // Nine are more than eight: pairs are five, and more than half of eight, fours are three.
        assert_eq!(sizes(9), "f: 4x4 4x4 1x1; ");
        assert_eq!(sizes(10), "f: 4x4 4x4 1x1 1x1; ");
        // Eight of nine entries are left of a recursive call: pairs are four, which is half.
        assert_eq!(shown(&format!("{}14 f( f( 15 ) 16 )", line(7)), 8), "f: 2x2 2x2 2x2 3x3; ");
        // Of nine functions nine entries are left, and the limit is twice of them.
        let call = |at: usize| format!("{at} f{}( {} ) ", if at < 9 { at } else { 0 }, at + 1);
        let found = shown(&(0..15).map(call).collect::<String>(), 8);
        assert!(found.starts_with("f0: 1x1 1x1 1x1 1x1 1x1 1x1 1x1; f1: 1x1; "), "{found}");
    }
}
