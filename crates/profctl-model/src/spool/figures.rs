//! Figures of calls in columns, for a caller that needs neither the numbers of calls nor their places:
//! calls do not become rows on the way.

use std::io;

use super::{BlockStack, damaged};
use crate::id::{IdVec, ThreadId};
use crate::names::Names;
use crate::span::{Record, SelectThreads, Span, SpanSink};

/// A value of a call that does not depend on other calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Figure {
    /// The index of its function.
    Func,
    /// The index of its thread.
    Thread,
    /// The index of its CPU, from 1; 0 if it is not known.
    Cpu,
    /// 1 if it is incomplete.
    Partial,
    /// 1 if it ran as an interrupt.
    Interrupt,
    /// [`Span::wall`] in ticks.
    Wall,
    /// [`Span::off_cpu`] in ticks.
    OffCpu,
    /// [`Span::elapsed`] in ticks.
    Elapsed,
    /// [`Span::net`] in ticks.
    Net,
    /// [`Span::stolen`] in ticks.
    Stolen,
}

impl Figure {
    #[inline]
    fn of(self, span: &Span) -> u64 {
        match self {
            Self::Func => span.func.index() as u64,
            Self::Thread => span.thread.index() as u64,
            Self::Cpu => span.cpu.map_or(0, |cpu| cpu.index() as u64 + 1),
            Self::Partial => span.fidelity.is_partial().into(),
            Self::Interrupt => span.interrupt.into(),
            Self::Wall => span.wall.0,
            Self::OffCpu => span.off_cpu.0,
            Self::Elapsed => span.elapsed().0,
            Self::Net => span.net.0,
            Self::Stolen => span.stolen.0,
        }
    }

    fn is_time(self) -> bool {
        matches!(self, Self::Wall | Self::OffCpu | Self::Elapsed | Self::Net | Self::Stolen)
    }
}

/// One figure of some calls.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Values {
    /// An index, or yes or no.
    Small(Vec<u32>),
    /// A time.
    Times(Vec<u64>),
}

impl Values {
    fn of(figure: Figure) -> Self {
        if figure.is_time() { Self::Times(Vec::new()) } else { Self::Small(Vec::new()) }
    }

    fn retain(&mut self, keep: &[bool]) {
        let mut keep = keep.iter().copied();
        let mut next = || keep.next().unwrap_or_default();
        match self {
            Self::Small(values) => values.retain(|_| next()),
            Self::Times(values) => values.retain(|_| next()),
        }
    }
}

/// Some calls, in the order in which they ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FigureBlock {
    /// How many.
    pub calls: usize,
    columns: Vec<(Figure, Values)>,
}

impl FigureBlock {
    fn new(figures: &[Figure]) -> Self {
        let columns = figures.iter().map(|&figure| (figure, Values::of(figure)));
        Self { calls: 0, columns: columns.collect() }
    }

    /// The values of a figure, one for each call; nothing if it was not collected.
    pub fn values(&self, figure: Figure) -> Option<&Values> {
        self.columns.iter().find(|(of, _)| *of == figure).map(|(_, values)| values)
    }

    /// Replaces every time by `time` of it.
    pub fn map_times(&mut self, time: impl Fn(u64) -> u64) {
        for (_, values) in &mut self.columns {
            if let Values::Times(values) = values {
                for value in values {
                    *value = time(*value);
                }
            }
        }
    }

    #[inline]
    fn push(&mut self, span: &Span) {
        self.calls += 1;
        for (figure, values) in &mut self.columns {
            let value = figure.of(span);
            match values {
                Values::Small(values) => values.push(value as u32),
                Values::Times(values) => values.push(value),
            }
        }
    }

    fn drop_threads(&mut self, dropped: &IdVec<ThreadId, bool>) {
        let Some(Values::Small(threads)) = self.values(Figure::Thread) else { return };
        let is_out =
            |&thread: &u32| dropped.get(ThreadId::from_index(thread as usize)) == Some(&true);
        let keep: Vec<bool> = threads.iter().map(|thread| !is_out(thread)).collect();
        self.calls = keep.iter().filter(|&&keep| keep).count();
        for (_, values) in &mut self.columns {
            values.retain(&keep);
        }
    }

    fn clear(&mut self) {
        self.calls = 0;
        for (_, values) in &mut self.columns {
            match values {
                Values::Small(values) => values.clear(),
                Values::Times(values) => values.clear(),
            }
        }
    }

    /// The number of calls, then column by column.
    fn pack(&self) -> Vec<u8> {
        let mut bytes = (self.calls as u64).to_le_bytes().to_vec();
        for (_, values) in &self.columns {
            match values {
                Values::Small(values) => append(&mut bytes, values, u32::to_le_bytes),
                Values::Times(values) => append(&mut bytes, values, u64::to_le_bytes),
            }
        }
        bytes
    }

    /// Fails on bytes that [`Self::pack`] did not write.
    fn unpack(figures: &[Figure], bytes: &[u8]) -> io::Result<Self> {
        let (calls, mut rest) = bytes.split_first_chunk().ok_or_else(damaged)?;
        let calls = usize::try_from(u64::from_le_bytes(*calls)).map_err(|_| damaged())?;
        let mut block = Self::new(figures);
        block.calls = calls;
        for (_, values) in &mut block.columns {
            let width = if matches!(values, Values::Times(_)) { 8 } else { 4 };
            let (column, after) = calls
                .checked_mul(width)
                .and_then(|length| rest.split_at_checked(length))
                .ok_or_else(damaged)?;
            rest = after;
            match values {
                Values::Small(values) => {
                    values.extend(column.as_chunks().0.iter().map(|&v| u32::from_le_bytes(v)));
                }
                Values::Times(values) => {
                    values.extend(column.as_chunks().0.iter().map(|&v| u64::from_le_bytes(v)));
                }
            }
        }
        if rest.is_empty() { Ok(block) } else { Err(damaged()) }
    }
}

fn append<T: Copy, const N: usize>(bytes: &mut Vec<u8>, values: &[T], of: impl Fn(T) -> [u8; N]) {
    let start = bytes.len();
    bytes.resize(start + N * values.len(), 0);
    for (place, &value) in bytes[start..].as_chunks_mut().0.iter_mut().zip(values) {
        *place = of(value);
    }
}

/// Calls in a block: enough to be a part of a table.
const BLOCK_CALLS: usize = 1 << 17;

/// Collects figures of calls; other records are not kept.
#[derive(Debug)]
pub struct FigureSpool<B> {
    wanted: Vec<Figure>,
    ended: B,
    block: FigureBlock,
    block_calls: usize,
    /// The number of threads seen so far.
    threads: usize,
    /// Threads whose calls [`FigureBlocks`] omits.
    dropped: IdVec<ThreadId, bool>,
    /// The first failure to put a block away; what comes after it is dropped.
    broken: Option<io::Error>,
}

impl<B: BlockStack> FigureSpool<B> {
    /// A spool for `figures` that puts blocks on `stack`.
    pub fn new(figures: &[Figure], stack: B) -> Self {
        Self::with_block_calls(figures, stack, BLOCK_CALLS)
    }

    /// The same with so many calls in a block.
    pub fn with_block_calls(figures: &[Figure], stack: B, block_calls: usize) -> Self {
        Self {
            wanted: figures.to_vec(),
            ended: stack,
            block: FigureBlock::new(figures),
            block_calls: block_calls.max(1),
            threads: 0,
            dropped: IdVec::default(),
            broken: None,
        }
    }

    /// The figures that were collected. `turned` is an empty stack.
    pub fn finish(mut self, mut turned: B) -> io::Result<FigureBlocks<B>> {
        self.put_away();
        if let Some(error) = self.broken {
            return Err(error);
        }
        while let Some(block) = self.ended.pop()? {
            turned.push(&block)?;
        }
        Ok(FigureBlocks { wanted: self.wanted, blocks: turned, dropped: self.dropped })
    }

    #[cold]
    fn put_away(&mut self) {
        if self.broken.is_none() && self.block.calls > 0 {
            self.broken = self.ended.push(&self.block.pack()).err();
        }
        self.block.clear();
    }
}

impl<B: BlockStack> SpanSink for FigureSpool<B> {
    #[inline]
    fn span(&mut self, span: &Span, _names: &Names) {
        self.threads = self.threads.max(span.thread.index() + 1);
        self.block.push(span);
        if self.block.calls >= self.block_calls {
            self.put_away();
        }
    }
    fn record(&mut self, _record: Record<'_>, _names: &Names) {}
}

impl<B: BlockStack> SelectThreads for FigureSpool<B> {
    fn separate_threads(&mut self) {
        if !self.wanted.contains(&Figure::Thread) {
            self.wanted.push(Figure::Thread);
            self.block = FigureBlock::new(&self.wanted);
        }
    }
    fn keep_threads(&mut self, keep: &dyn Fn(ThreadId) -> bool) {
        self.dropped =
            (0..self.threads).map(|thread| !keep(ThreadId::from_index(thread))).collect();
    }
}

/// The figures that were collected.
#[derive(Debug)]
pub struct FigureBlocks<B> {
    wanted: Vec<Figure>,
    blocks: B,
    dropped: IdVec<ThreadId, bool>,
}

impl<B: BlockStack> FigureBlocks<B> {
    /// The next of them, in the order in which calls ended; nothing after the last.
    pub fn next_block(&mut self) -> io::Result<Option<FigureBlock>> {
        let Some(bytes) = self.blocks.pop()? else { return Ok(None) };
        let mut block = FigureBlock::unpack(&self.wanted, &bytes)?;
        if self.dropped.iter().any(|&is_out| is_out) {
            block.drop_threads(&self.dropped);
        }
        Ok(Some(block))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{CpuId, FuncId};
    use crate::span::{Fidelity, Late};
    use crate::time::{Tick, Ticks};

    const ALL: [Figure; 10] = [
        Figure::Stolen,
        Figure::Func,
        Figure::Thread,
        Figure::Cpu,
        Figure::Partial,
        Figure::Interrupt,
        Figure::Wall,
        Figure::OffCpu,
        Figure::Elapsed,
        Figure::Net,
    ];

    fn span(n: usize) -> Span {
        let ticks = |factor: u64| Ticks((n as u64 + 1) * factor);
        Span {
            func: FuncId::from_index(n + 1000),
            thread: ThreadId::from_index(n % 3),
            cpu: (n % 4).checked_sub(1).map(CpuId::from_index),
            start: Tick(0),
            end: Tick(9),
            wall: ticks(1 << 40),
            off_cpu: ticks(1 << 20),
            net: ticks(3),
            stolen: ticks(7),
            callees: 0,
            descendants: 0,
            late: Late::NONE,
            outermost: true,
            interrupt: n.is_multiple_of(2),
            fidelity: Fidelity { end_inferred: n.is_multiple_of(5), ..Fidelity::EXACT },
        }
    }

    /// What comes back of so many calls.
    fn collected(
        figures: &[Figure],
        calls: usize,
        block_calls: usize,
        drop: Option<usize>,
    ) -> Vec<Vec<u64>> {
        let mut sink = FigureSpool::with_block_calls(figures, Vec::new(), block_calls);
        if drop.is_some() {
            sink.separate_threads();
        }
        (0..calls).for_each(|n| sink.span(&span(n), &Names::default()));
        if let Some(drop) = drop {
            sink.keep_threads(&|thread| thread.index() != drop);
        }
        let mut blocks = sink.finish(Vec::new()).unwrap();
        let mut rows = Vec::new();
        while let Some(block) = blocks.next_block().unwrap() {
            assert!(block.calls <= block_calls);
            rows.extend((0..block.calls).map(|row| {
                let value = |figure: &Figure| match block.values(*figure) {
                    Some(Values::Small(values)) => u64::from(values[row]),
                    Some(Values::Times(values)) => values[row],
                    None => panic!("{figure:?} was asked for"),
                };
                figures.iter().map(value).collect::<Vec<u64>>()
            }));
        }
        rows
    }

    #[test]
    fn figures_are_those_of_the_calls() {
        let figures = |n: usize| {
            let Span { wall, off_cpu, net, stolen, .. } = span(n);
            let n = n as u64;
            let [is_partial, is_interrupt] = [5, 2].map(|of| n.is_multiple_of(of).into());
            let [wall, off_cpu, net, stolen] = [wall, off_cpu, net, stolen].map(|ticks| ticks.0);
            let elapsed = wall - off_cpu;
            [stolen, n + 1000, n % 3, n % 4, is_partial, is_interrupt, wall, off_cpu, elapsed, net]
        };
        let expected: Vec<_> = (0..11).map(|n| figures(n).to_vec()).collect();
        for block_calls in 1..13 {
            assert_eq!(collected(&ALL, 11, block_calls, None), expected, "{block_calls} a block");
        }
    }

    #[test]
    fn threads_are_dropped_whether_they_were_asked_for_or_not() {
        for block_calls in 1..9 {
            let nets = collected(&[Figure::Net], 7, block_calls, Some(1));
            assert_eq!(nets, [[3], [9], [12], [18], [21]], "{block_calls} a block");
        }
        assert_eq!(collected(&[], 7, 2, Some(0)), vec![Vec::new(); 4]);
    }

    #[test]
    fn damage_is_an_error() {
        let figures = [Figure::Net, Figure::Func];
        let mut block = FigureBlock::new(&figures);
        (0..3).for_each(|n| block.push(&span(n)));
        let whole = block.pack();
        assert_eq!(FigureBlock::unpack(&figures, &whole).unwrap(), block);
        for cut in 0..whole.len() {
            assert!(FigureBlock::unpack(&figures, &whole[..cut]).is_err(), "cut after {cut}");
        }
        assert!(FigureBlock::unpack(&figures, &[whole, vec![0]].concat()).is_err());
    }
}
