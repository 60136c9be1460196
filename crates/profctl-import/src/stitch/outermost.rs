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

/// Sums over calls that were never off the CPU. Half as large as [`Sums`], so that more of them
/// stay in the cache.
#[derive(Clone, Copy, Debug, Default)]
struct Small {
    wall: Ticks,
    /// Calls in the upper half, descendants in the lower.
    counts: u64,
}

impl Small {
    const CALL: u64 = 1 << 32;
    /// The highest bit of each half: if it is set, the half may overflow with the next call.
    const FULL: u64 = 1 << 63 | 1 << 31;

    /// Adds a call; says whether there was room.
    #[inline]
    fn add(&mut self, wall: Ticks, descendants: u64) -> bool {
        let has_room = self.counts & Self::FULL == 0 && descendants < 1 << 31;
        if has_room {
            self.wall += wall;
            self.counts += Self::CALL | descendants;
        }
        has_room
    }

    fn is_empty(self) -> bool {
        self.counts == 0
    }

    fn sums(self) -> Sums {
        let Self { wall, counts } = self;
        let descendants = counts & (Self::CALL - 1);
        Sums { calls: counts >> 32, wall, off_cpu: Ticks(0), descendants }
    }
}

/// A call, as far as it is summed up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) wall: Ticks,
    pub(super) descendants: u64,
    pub(super) func: FuncId,
    /// The CPU that it ended on, by the row of its table.
    row: u32,
}

impl Call {
    #[inline]
    pub(super) fn new(func: FuncId, cpu: Option<CpuId>, wall: Ticks, descendants: u64) -> Self {
        Self { wall, descendants, func, row: row_of(cpu) }
    }

    fn key(self) -> Key {
        Key { func: self.func, cpu: cpu_of(self.row as usize), interrupt: false }
    }

    fn sums(self) -> Sums {
        let Self { wall, descendants, .. } = self;
        Sums { calls: 1, wall, off_cpu: Ticks(0), descendants }
    }
}

/// A call as a sum of calls.
#[expect(clippy::inline_always, reason = "a call would pass the span through memory")]
#[inline(always)]
pub(super) fn one_call(span: &Span) -> Enclosed {
    let &Span { func, thread, cpu, interrupt, wall, off_cpu, descendants, .. } = span;
    Enclosed { func, thread, cpu, interrupt, calls: 1, wall, off_cpu, descendants }
}

fn row_of(cpu: Option<CpuId>) -> u32 {
    cpu.map_or(0, |cpu| cpu.index() as u32 + 1)
}

fn cpu_of(row: usize) -> Option<CpuId> {
    row.checked_sub(1).map(CpuId::from_index)
}

/// Calls that are summed up together at least; else as many as the tables have rows. The sums of
/// one thread displace those of another from the cache, so a trace that changes thread with every
/// call is to come back to them less often, and then to need more of what comes with a cache line.
const BATCH: usize = 512;
/// Rows that the tables may have for each of those in use, so that they stay small where a thread
/// calls few of many functions.
const SPARSE_MAX: usize = 16;

/// Sums by function.
#[derive(Clone, Debug, Default)]
pub(super) struct Table(Vec<Small>);

impl Table {
    /// Adds a call of a function that has a row; says whether it has, with space for it.
    #[inline]
    pub(super) fn add(&mut self, func: FuncId, wall: Ticks, descendants: u64) -> bool {
        let small = self.0.get_mut(func.index()).filter(|small| !small.is_empty());
        small.is_some_and(|small| small.add(wall, descendants))
    }
}

/// Outermost calls by function.
#[derive(Clone, Debug, Default)]
pub(super) struct Outermost {
    /// The latest calls that did not run as interrupts.
    batch: Vec<Call>,
    /// By CPU, the first without one, and by function: those before.
    tables: Vec<Table>,
    /// Rows of all tables, and those of them in use.
    n_rows: usize,
    n_used: usize,
    /// All others, by packed [`Key`].
    others: FastMap<u64, Sums>,
}

impl Outermost {
    /// Adds a call that was passed on as outermost.
    pub(super) fn add(&mut self, span: &Span) {
        let &Span { func, cpu, interrupt, wall, off_cpu, descendants, .. } = span;
        if interrupt || off_cpu > Ticks(0) {
            let sums = Sums { calls: 1, wall, off_cpu, descendants };
            self.add_sums(Key { func, cpu, interrupt }, sums);
        } else {
            self.add_usual(Call::new(func, cpu, wall, descendants));
        }
    }

    /// Adds what [`one_call`] made.
    pub(super) fn add_call(&mut self, call: &Enclosed) {
        let &Enclosed { func, cpu, interrupt, calls, wall, off_cpu, descendants, .. } = call;
        self.add_sums(Key { func, cpu, interrupt }, Sums { calls, wall, off_cpu, descendants });
    }

    /// Adds a call that was never off the CPU and did not run as an interrupt.
    pub(super) fn add_usual(&mut self, call: Call) {
        if self.batch.len() >= BATCH.max(self.n_rows) {
            self.sum_up();
        }
        self.batch.push(call);
    }

    fn add_sums(&mut self, key: Key, sums: Sums) {
        self.others.entry(key.pack()).or_default().add(sums);
    }

    /// Sums up the calls of the batch.
    #[inline(never)]
    fn sum_up(&mut self) {
        let mut batch = std::mem::take(&mut self.batch);
        for call in batch.drain(..) {
            let table = self.tables.get_mut(call.row as usize);
            if !table.is_some_and(|table| table.add(call.func, call.wall, call.descendants)) {
                self.add_first(call);
            }
        }
        self.batch = batch;
    }

    /// Takes out the table of a CPU, to be put back before anything else is done.
    pub(super) fn lend(&mut self, cpu: Option<CpuId>) -> Table {
        self.tables.get_mut(row_of(cpu) as usize).map(std::mem::take).unwrap_or_default()
    }

    /// Puts back what [`Self::lend`] took out.
    pub(super) fn put_back(&mut self, cpu: Option<CpuId>, table: Table) {
        if let Some(place) = self.tables.get_mut(row_of(cpu) as usize) {
            *place = table;
        }
    }

    /// Adds a call of a function that has no row yet, or a full one.
    #[cold]
    fn add_first(&mut self, call: Call) {
        let Some(small) = self.row(call) else {
            self.add_sums(call.key(), call.sums());
            return;
        };
        let is_new = small.is_empty();
        if small.add(call.wall, call.descendants) {
            self.n_used += usize::from(is_new);
        } else {
            self.add_sums(call.key(), call.sums());
        }
    }

    /// The row of a call; nothing if its table would get too large for it.
    fn row(&mut self, call: Call) -> Option<&mut Small> {
        let (cpu, func) = (call.row as usize, call.func.index());
        let n_rows = self.tables.get(cpu).map_or(0, |table| table.0.len());
        if func >= n_rows {
            let n_more = func + 1 - n_rows;
            if self.n_rows + n_more > SPARSE_MAX * (self.n_used + 1) {
                return None;
            }
            self.n_rows += n_more;
            if cpu >= self.tables.len() {
                self.tables.resize_with(cpu + 1, Table::default);
            }
            self.tables[cpu].0.resize(func + 1, Small::default());
        }
        Some(&mut self.tables[cpu].0[func])
    }

    fn is_empty(&self) -> bool {
        self.batch.is_empty() && self.n_used == 0 && self.others.is_empty()
    }

    /// Adds all of another.
    pub(super) fn append(&mut self, mut other: Self) {
        if other.is_empty() {
            return;
        }
        other.sum_up();
        if self.is_empty() {
            *self = other;
            return;
        }
        for (cpu, table) in other.tables.iter().enumerate() {
            for (func, small) in table.0.iter().enumerate().filter(|(_, small)| !small.is_empty()) {
                self.add_sums(key_of(cpu, func), small.sums());
            }
        }
        #[expect(clippy::iter_over_hash_type, reason = "sums do not depend on the order")]
        for (key, sums) in other.others {
            self.others.entry(key).or_default().add(sums);
        }
    }

    /// Takes out those that `is_enclosed` says lie in another call, in the order of their functions.
    pub(super) fn take(
        &mut self,
        thread: ThreadId,
        is_enclosed: impl Fn(Key) -> bool,
    ) -> Vec<Enclosed> {
        self.sum_up();
        let is_packed_enclosed = |key: &u64| is_enclosed(Key::unpack(*key));
        let mut taken: Vec<_> = self.others.extract_if(|key, _| is_packed_enclosed(key)).collect();
        for (cpu, table) in self.tables.iter_mut().enumerate() {
            for (func, small) in table.0.iter_mut().enumerate() {
                let key = key_of(cpu, func);
                if !small.is_empty() && is_enclosed(key) {
                    taken.push((key.pack(), std::mem::take(small).sums()));
                    self.n_used -= 1;
                }
            }
        }
        taken.sort_unstable_by_key(|(key, _)| *key);
        // What was summed in both places.
        taken.dedup_by(|(key, sums), (kept, kept_sums)| {
            let is_same = key == kept;
            if is_same {
                kept_sums.add(*sums);
            }
            is_same
        });
        let enclosed = taken.into_iter().map(|(key, sums)| {
            let Key { func, cpu, interrupt } = Key::unpack(key);
            let Sums { calls, wall, off_cpu, descendants } = sums;
            Enclosed { func, thread, cpu, interrupt, calls, wall, off_cpu, descendants }
        });
        enclosed.collect()
    }
}

/// The key of a row of the table of a CPU.
fn key_of(cpu: usize, func: usize) -> Key {
    Key { func: FuncId::from_index(func), cpu: cpu_of(cpu), interrupt: false }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use profctl_model::{Fidelity, Late, Tick};
    use proptest::prelude::*;

    use super::*;

    /// Calls of few functions with low numbers and some with high ones, on two CPUs mostly.
    fn calls() -> impl Strategy<Value = Vec<(Key, Sums, bool)>> {
        let func = prop_oneof![8 => 0..6_usize, 1 => 6..4000_usize];
        let cpu = prop_oneof![8 => Just(Some(1)), 4 => Just(Some(0)), 1 => Just(None), 1 => Just(Some(70))];
        let descendants =
            prop_oneof![8 => 0..9_u64, 1 => Just(u64::from(u32::MAX)), 1 => Just(1_u64 << 40)];
        let call = (func, cpu, 0..20_u8, 0..100_u64, descendants, any::<bool>());
        let call = call.prop_map(|(func, cpu, kind, wall, descendants, is_near)| {
            let func = FuncId::from_index(func);
            let key = Key { func, cpu: cpu.map(CpuId::from_index), interrupt: kind == 0 };
            let off_cpu = Ticks(if kind == 1 { wall / 2 } else { 0 });
            (key, Sums { calls: 1, wall: Ticks(wall), off_cpu, descendants }, is_near)
        });
        // Fewer under Miri, which is slow.
        prop::collection::vec(call, 0..if cfg!(miri) { 40 } else { 3 * BATCH })
    }

    fn add(to: &mut Outermost, (key, sums, is_near): (Key, Sums, bool)) {
        let Sums { wall, off_cpu, descendants, .. } = sums;
        let Key { func, cpu, interrupt } = key;
        if !interrupt && off_cpu == Ticks(0) {
            let call = Call::new(func, cpu, wall, descendants);
            let mut table = if is_near { to.lend(cpu) } else { Table::default() };
            let is_added = table.add(func, wall, descendants);
            if is_near {
                to.put_back(cpu, table);
            }
            if !is_added {
                to.add_usual(call);
            }
            return;
        }
        to.add(&Span {
            func,
            thread: ThreadId::from_index(0),
            cpu,
            start: Tick(0),
            end: Tick(wall.0),
            wall,
            off_cpu,
            net: wall,
            stolen: Ticks(0),
            callees: 0,
            descendants,
            late: Late::NONE,
            outermost: true,
            interrupt,
            fidelity: Fidelity::EXACT,
        });
    }

    /// A key as it is, not as it is packed.
    fn told(Key { func, cpu, interrupt }: Key) -> (usize, Option<usize>, bool) {
        (func.index(), cpu.map(CpuId::index), interrupt)
    }

    proptest! {
        #[test]
        fn sums_are_those_of_a_plain_table(first in calls(), second in calls(), taken in 0..7_usize) {
            let mut expected: BTreeMap<_, Sums> = BTreeMap::new();
            for (key, sums, _) in first.iter().chain(&second) {
                expected.entry(told(*key)).or_default().add(*sums);
            }
            let [mut outermost, mut other] = [first, second].map(|calls| {
                let mut outermost = Outermost::default();
                for call in calls {
                    add(&mut outermost, call);
                }
                outermost
            });
            outermost.append(std::mem::take(&mut other));
            let thread = ThreadId::from_index(0);
            let mut found = outermost.take(thread, |key| key.func.index() < taken);
            found.extend(outermost.take(thread, |_| true));
            prop_assert!(outermost.is_empty());
            let found: Vec<_> = found
                .into_iter()
                .map(|calls| {
                    let Enclosed { func, cpu, interrupt, calls: n, wall, off_cpu, descendants, .. } = calls;
                    (told(Key { func, cpu, interrupt }), (n, wall, off_cpu, descendants))
                })
                .collect();
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(key, Sums { calls, wall, off_cpu, descendants })| {
                    (key, (calls, wall, off_cpu, descendants))
                })
                .collect();
            prop_assert_eq!(found, expected);
        }
    }
}
