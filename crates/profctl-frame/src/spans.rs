//! Calls of a file that [`crate::ParquetFile`] wrote, passed to a sink as those of a trace.

use std::num::NonZeroUsize;
use std::sync::mpsc::sync_channel;
use std::thread;

use polars::prelude::*;
use profctl_model::hash::FastMap;
use profctl_model::{
    CpuId, Fidelity, Func, FuncId, FuncKind, IdVec, Late, Names, Span, SpanSink, ThreadId, Tick,
    Ticks,
};

use crate::batch::ROWS;
use crate::error::Error;
use crate::stored::Stored;

/// In which groups calls are outermost that are in no other of theirs, where those are not the
/// functions: the group of a function, and of one that runs as an interrupt.
pub type GroupOf<'a> = &'a mut dyn FnMut(&Func, bool) -> u32;

/// Ended calls of a thread of which each is remembered: one that comes late may belong before so many.
const KEPT_MAX: usize = 1 << 16;

/// The columns that say which function a call is of.
const OF_FUNCTION: [&str; 3] = ["name", "module", "kind"];
const CALLS: [&str; 12] = [
    "thread",
    "cpu",
    "id",
    "parent",
    "start",
    "end",
    "wall",
    "off_cpu",
    "net",
    "stolen",
    "partial",
    "in_interrupt",
];

/// How calls are read.
pub struct ReadSpans<'a> {
    /// Threads by what they are called in the file.
    pub threads: &'a FastMap<String, ThreadId>,
    /// Units of the file in a tick.
    pub tick: u64,
    /// By what a call is outermost, if not by its function.
    pub group_of: Option<GroupOf<'a>>,
    /// Receives the number of calls read.
    pub progress: &'a dyn Fn(u64),
}

impl ReadSpans<'_> {
    /// Passes every call in `stored`, a table of calls, to `sink`, in the order in which they were
    /// written, and adds its functions to `names`. Fails if the file cannot be read, or is not as it
    /// was written.
    pub fn read<S: SpanSink>(
        self,
        stored: &Stored,
        names: &mut Names,
        sink: &mut S,
    ) -> Result<(), Error> {
        let Self { threads, tick, group_of, progress } = self;
        let outermost = group_of.map(|group_of| outermost(stored, group_of)).transpose()?;
        let mut columns: Vec<&str> = OF_FUNCTION.into_iter().chain(CALLS).collect();
        if outermost.is_none() {
            columns.push("outermost");
        }
        let mut funcs = Funcs::default();
        let mut cpus: FastMap<u64, CpuId> = FastMap::default();
        let mut lanes = Lanes::default();
        let mut latest = None;
        let mut trees: IdVec<ThreadId, Tree> = IdVec::default();
        let mut done = 0;
        each_block(stored, &columns, |block| {
            let func_of = funcs.of(block, names)?;
            let labels = lanes.labels.of(block, "thread")?;
            let [ids, starts, ends, walls, nets, stolen] =
                ["id", "start", "end", "wall", "net", "stolen"].map(|column| block.numbers(column));
            let (ids, starts, ends) = (ids?, starts?, ends?);
            let (walls, nets, stolen) = (walls?, nets?, stolen?);
            let [partial, interrupt] =
                ["partial", "in_interrupt"].map(|column| block.flags(column));
            let (partial, interrupt) = (partial?, interrupt?);
            let parents = block.some_numbers("parent")?;
            let off_cpus = block.some_numbers("off_cpu")?;
            let cpu_numbers = block.some_numbers("cpu")?;
            let flags = if outermost.is_none() { block.flags("outermost")? } else { Vec::new() };
            for row in 0..block.frame.height() {
                let id = ids[row];
                let func = func_of[row];
                let label = labels[row].ok_or_else(|| wrong(id, "has no thread"))?;
                let thread = match latest {
                    Some((latest, thread)) if latest == label => thread,
                    _ => lanes.of(label, threads, id)?,
                };
                latest = Some((label, thread));
                let cpu = cpu_numbers.get(row).map(|number| {
                    *cpus
                        .entry(number)
                        .or_insert_with(|| names.cpu(u32::try_from(number).unwrap_or(u32::MAX)))
                });
                let [start, end, wall, off_cpu, net, stolen] = [
                    starts[row],
                    ends[row],
                    walls[row],
                    off_cpus.get(row).unwrap_or(0),
                    nets[row],
                    stolen[row],
                ]
                .map(|time| if tick > 1 { time / tick } else { time });
                if end < start || off_cpu > wall {
                    return Err(wrong(
                        id,
                        "ends before it starts, or is off the CPU for longer than it takes",
                    ));
                }
                let (callees, descendants, late) = trees.grow_to(thread).end(id, parents.get(row));
                let outermost = match &outermost {
                    Some(outermost) => outermost[usize::try_from(id).unwrap_or(usize::MAX)],
                    None => flags[row],
                };
                let span = Span {
                    func,
                    thread,
                    cpu,
                    start: Tick(start),
                    end: Tick(end),
                    wall: Ticks(wall),
                    off_cpu: Ticks(off_cpu),
                    net: Ticks(net),
                    stolen: Ticks(stolen),
                    callees,
                    descendants,
                    late,
                    outermost,
                    interrupt: interrupt[row],
                    fidelity: Fidelity { start_inferred: partial[row], ..Fidelity::EXACT },
                };
                sink.span(&span, names);
            }
            done += block.frame.height() as u64;
            progress(done);
            Ok(())
        })?;
        match trees.iter().find_map(Tree::orphan) {
            Some(id) => {
                Err(wrong(id, "has no caller after it: rows are missing, or in another order"))
            }
            None => Ok(()),
        }
    }
}

/// A call that is not as it was written.
fn wrong(id: u64, what: &str) -> Error {
    Error::File(format!("call {id} {what}"))
}

/// Passes columns of all rows to `take`, some rows at a time, in the order of the file.
fn each_block(
    stored: &Stored,
    columns: &[&str],
    mut take: impl FnMut(&Block) -> Result<(), Error>,
) -> Result<(), Error> {
    let (send, blocks) = sync_channel(2);
    let path = PlRefPath::try_from_path(stored.path())?;
    let hive_options = HiveOptions { enabled: Some(false), ..HiveOptions::default() };
    let options = ScanArgsParquet { glob: false, hive_options, ..ScanArgsParquet::default() };
    let columns: Vec<Expr> = columns.iter().map(|&name| col(name)).collect();
    let rows = LazyFrame::scan_parquet_files(vec![path].into(), options)?.select(columns);
    let is_enough = PlanCallback::new(move |frame| Ok(send.send(frame).is_err()));
    let rows = rows.sink_batches(is_enough, true, NonZeroUsize::new(ROWS))?;
    thread::scope(|scope| {
        let reading = scope.spawn(|| rows.collect_with_engine(Engine::Streaming));
        let taken = blocks.iter().try_for_each(|frame| take(&Block { frame }));
        drop(blocks);
        match reading.join() {
            Ok(read) => taken.and(read.map(|_| ()).map_err(Into::into)),
            Err(_) => Err(Error::File("damaged Parquet".into())),
        }
    })
}

/// Which calls lie in no other of their group, by number.
fn outermost(stored: &Stored, group_of: GroupOf<'_>) -> Result<Vec<bool>, Error> {
    // The number, the caller counted from 1, and the group. A file may claim any number of rows, so
    // these are collected as they come.
    let mut rows: Vec<(u32, u32, u32)> = Vec::new();
    let mut groups: FastMap<(FuncId, bool), u32> = FastMap::default();
    let (mut funcs, mut names) = (Funcs::default(), Names::default());
    let columns: Vec<&str> =
        OF_FUNCTION.into_iter().chain(["id", "parent", "in_interrupt"]).collect();
    each_block(stored, &columns, |block| {
        let func_of = funcs.of(block, &mut names)?;
        let (ids, interrupt) = (block.numbers("id")?, block.flags("in_interrupt")?);
        let parents = block.some_numbers("parent")?;
        for row in 0..block.frame.height() {
            let (id, func, is_interrupt) = (ids[row], func_of[row], interrupt[row]);
            let group = *groups
                .entry((func, is_interrupt))
                .or_insert_with(|| group_of(&names.funcs[func], is_interrupt));
            let parent = match parents.get(row) {
                None => Some(0),
                Some(parent) if parent < id => u32::try_from(parent + 1).ok(),
                Some(_) => None,
            };
            let (Ok(number), Some(parent)) = (u32::try_from(id), parent) else {
                return Err(wrong(id, "or its caller has a number that no call has"));
            };
            rows.push((number, parent, group));
        }
        Ok(())
    })?;
    // By number, which is in the order of entry.
    let mut calls: Vec<(u32, u32)> = vec![(u32::MAX, 0); rows.len()];
    for (id, parent, group) in rows {
        let call = calls.get_mut(id as usize);
        *call.ok_or_else(|| wrong(id.into(), "has a number that no call has"))? = (parent, group);
    }
    let mut open: Vec<u32> = Vec::new();
    let mut within: FastMap<u32, u32> = FastMap::default();
    let mut outermost = Vec::with_capacity(calls.len());
    for (id, &(parent, group)) in calls.iter().enumerate() {
        if parent == u32::MAX {
            return Err(wrong(id as u64, "is missing"));
        }
        // What is open after the caller has ended.
        while let Some(&top) = open.last()
            && top + 1 != parent
        {
            open.pop();
            let group = calls[top as usize].1;
            within.entry(group).and_modify(|n| *n -= 1);
        }
        if parent != 0 && open.is_empty() {
            return Err(wrong(id as u64, "is not among the callees of its caller"));
        }
        let n = within.entry(group).or_default();
        outermost.push(*n == 0);
        *n += 1;
        open.push(id as u32);
    }
    Ok(outermost)
}

/// Texts by number; a number means the same in every block. The ids of categories do not: polars
/// starts again from 0 when the last column of categories is dropped.
#[derive(Default)]
struct Texts {
    texts: Vec<String>,
    numbers: FastMap<String, u32>,
}

impl Texts {
    /// The number of the text of each row of a column; nothing for null.
    fn of(&mut self, block: &Block, column: &str) -> Result<Vec<Option<u32>>, Error> {
        // Another program may have stored categories.
        let column = block.frame.column(column)?.cast(&DataType::String)?;
        let mut rows = Vec::with_capacity(column.len());
        let texts = column.str()?;
        for (part, chunk) in texts.downcast_iter().zip(texts.chunks()) {
            // Within a chunk, equal views are equal texts, so that few texts are hashed.
            let mut met: FastMap<u128, u32> = FastMap::default();
            let validity = chunk.validity();
            rows.extend(part.views().iter().enumerate().map(|(row, view)| {
                let is_there = validity.is_none_or(|validity| validity.get_bit(row));
                is_there.then(|| {
                    *met.entry(view.as_u128()).or_insert_with(|| self.number(part.value(row)))
                })
            }));
        }
        Ok(rows)
    }

    fn number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.to_owned());
        self.numbers.insert(text.to_owned(), number);
        number
    }

    fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }
}

/// Some rows.
struct Block {
    frame: DataFrame,
}

impl Block {
    /// A column of whole numbers that may be missing.
    fn some_numbers(&self, name: &str) -> Result<SomeNumbers, Error> {
        let column = self.frame.column(name)?;
        if column.null_count() == column.len() {
            return Ok(SomeNumbers { values: Vec::new(), present: None });
        }
        let column = column.cast(&DataType::Int64)?;
        let numbers = column.i64()?;
        let present = (column.null_count() > 0)
            .then(|| numbers.is_not_null().iter().map(|is| is == Some(true)).collect());
        let mut values = Vec::with_capacity(numbers.len());
        for part in numbers.downcast_iter() {
            // What is missing may be any value.
            let is_negative = match part.validity() {
                None => part.values().iter().any(|&number| number < 0),
                Some(_) => part.iter().flatten().any(|&number| number < 0),
            };
            if is_negative {
                return Err(Error::File(format!("a negative value in column {name}")));
            }
            values.extend(part.values().iter().map(|&number| number as u64));
        }
        Ok(SomeNumbers { values, present })
    }

    fn numbers(&self, name: &str) -> Result<Vec<u64>, Error> {
        match self.some_numbers(name)? {
            SomeNumbers { values, present: None } if values.len() == self.frame.height() => {
                Ok(values)
            }
            _ => Err(Error::File(format!("a null in column {name}"))),
        }
    }

    /// A column of zeros and ones.
    fn flags(&self, name: &str) -> Result<Vec<bool>, Error> {
        Ok(self.numbers(name)?.into_iter().map(|number| number != 0).collect())
    }
}

/// A column of whole numbers that may be missing.
struct SomeNumbers {
    /// Empty if all are missing.
    values: Vec<u64>,
    /// Which are there, if not all are, or none.
    present: Option<Vec<bool>>,
}

impl SomeNumbers {
    #[inline]
    fn get(&self, row: usize) -> Option<u64> {
        let is_present = self.present.as_ref().is_none_or(|present| present[row]);
        self.values.get(row).copied().filter(|_| is_present)
    }
}

/// The threads that were met, by what they are called.
#[derive(Default)]
struct Lanes {
    labels: Texts,
    ids: FastMap<u32, ThreadId>,
}

impl Lanes {
    fn of(
        &mut self,
        label: u32,
        threads: &FastMap<String, ThreadId>,
        id: u64,
    ) -> Result<ThreadId, Error> {
        if let Some(&thread) = self.ids.get(&label) {
            return Ok(thread);
        }
        let text = self.labels.text(label);
        let thread = *threads.get(text).ok_or_else(|| {
            wrong(id, &format!("is of thread {text}, which the file does not list"))
        })?;
        self.ids.insert(label, thread);
        Ok(thread)
    }
}

/// Which function a call is of: its name, module and kind.
type FuncKey = [Option<u32>; 3];

/// The functions that were met.
#[derive(Default)]
struct Funcs {
    texts: Texts,
    ids: FastMap<FuncKey, FuncId>,
    /// By name, the latest of them: most names are of one function.
    latest: Vec<Option<(FuncKey, FuncId)>>,
}

impl Funcs {
    /// The function of each row.
    fn of(&mut self, block: &Block, names: &mut Names) -> Result<Vec<FuncId>, Error> {
        let [name, module, kind] = OF_FUNCTION.map(|column| self.texts.of(block, column));
        let (name, module, kind) = (name?, module?, kind?);
        let mut funcs = Vec::with_capacity(name.len());
        for ((name, module), kind) in name.into_iter().zip(module).zip(kind) {
            let key = [name, module, kind];
            let row = name.map_or(usize::MAX, |name| name as usize);
            let func = match self.latest.get(row) {
                Some(Some((latest, func))) if *latest == key => *func,
                _ => self.get(key, row, names)?,
            };
            funcs.push(func);
        }
        Ok(funcs)
    }

    #[inline(never)]
    fn get(&mut self, key: FuncKey, row: usize, names: &mut Names) -> Result<FuncId, Error> {
        let func = match self.ids.get(&key) {
            Some(&func) => func,
            None => self.meet(key, names)?,
        };
        if row >= self.latest.len() {
            self.latest.resize(row + 1, None);
        }
        self.latest[row] = Some((key, func));
        Ok(func)
    }

    #[cold]
    fn meet(&mut self, key: FuncKey, names: &mut Names) -> Result<FuncId, Error> {
        let texts = key.map(|text| text.map(|text| self.texts.text(text).to_owned()));
        let [Some(name), module, kind] = texts else {
            return Err(Error::File("a null in column name".into()));
        };
        let kind = kind.as_deref().and_then(FuncKind::from_name);
        let kind = kind.ok_or_else(|| Error::File(format!("unknown kind of {name}")))?;
        let func = names.func(Func { name, module, kind, address: None });
        self.ids.insert(key, func);
        Ok(func)
    }
}

/// The calls of a thread that ended and whose caller has not, in the order of entry, which is that
/// of their numbers.
#[derive(Clone, Debug, Default)]
struct Tree {
    ended: Vec<Ended>,
    /// With so many of them, neighbors are joined.
    limit: usize,
}

/// Calls of one caller, or without one.
#[derive(Clone, Copy, Debug)]
struct Ended {
    /// The number of the first.
    id: u64,
    parent: Option<u64>,
    /// How many, and the same with all below them.
    roots: u32,
    calls: u64,
}

impl Tree {
    /// A call ended. Its callees, all calls below it, and what ended before it and began after it.
    fn end(&mut self, id: u64, parent: Option<u64>) -> (u32, u64, Late) {
        let is_after = |ended: &&Ended| ended.id > id && ended.parent != Some(id);
        let n_after = self.ended.iter().rev().take_while(is_after).count();
        let after = self.ended.split_off(self.ended.len() - n_after);
        let mut late = Late::NONE;
        for follower in &after {
            late.roots = late.roots.saturating_add(follower.roots);
            late.calls = late.calls.saturating_add(follower.calls);
        }
        let (mut callees, mut descendants) = (0_u32, 0_u64);
        while let Some(callee) = self.ended.pop_if(|ended| ended.parent == Some(id)) {
            callees = callees.saturating_add(callee.roots);
            descendants = descendants.saturating_add(callee.calls);
        }
        if self.ended.len() >= self.limit.max(KEPT_MAX) {
            self.join_neighbors();
        }
        self.ended.push(Ended { id, parent, roots: 1, calls: descendants.saturating_add(1) });
        self.ended.extend(after);
        (callees, descendants, late)
    }

    /// Joins calls of one caller that ended long ago, so that memory does not grow with them.
    #[cold]
    fn join_neighbors(&mut self) {
        let recent = self.ended.split_off(self.ended.len() - KEPT_MAX / 2);
        self.ended.dedup_by(|next, first| {
            let is_same = next.parent == first.parent;
            if is_same {
                first.roots = first.roots.saturating_add(next.roots);
                first.calls = first.calls.saturating_add(next.calls);
            }
            is_same
        });
        self.ended.extend(recent);
        self.limit = self.ended.len() * 2;
    }

    /// A call whose caller never came.
    fn orphan(&self) -> Option<u64> {
        self.ended.iter().find(|ended| ended.parent.is_some()).map(|ended| ended.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The texts of a block of one column, which is gone when they are known.
    fn texts_of(texts: &mut Texts, rows: &[Option<&str>], kind: &DataType) -> Vec<Option<String>> {
        let column = Series::new("name".into(), rows).cast(kind).expect("texts");
        let frame = DataFrame::new(rows.len(), vec![column.into()]).expect("one column");
        let numbers = texts.of(&Block { frame }, "name").expect("a column of texts");
        numbers.iter().map(|number| number.map(|number| texts.text(number).to_owned())).collect()
    }

    #[test]
    fn numbers_of_texts_mean_the_same_in_every_block() {
        let long = ["a name longer than a view holds", "a name longer than a view has"];
        let categories = DataType::from_categories(Categories::global());
        for kind in [DataType::String, categories] {
            let mut texts = Texts::default();
            for rows in [
                [Some("vfs_read"), None, Some(long[0]), Some("vfs_read")],
                [Some(long[1]), Some("vfs_open"), Some("vfs_read"), Some(long[0])],
                [Some(""), Some(long[0]), None, Some(long[1])],
            ] {
                assert_eq!(
                    texts_of(&mut texts, &rows, &kind),
                    rows.map(|text| text.map(str::to_owned))
                );
            }
            let expected = ["vfs_read", long[0], long[1], "vfs_open", ""];
            assert_eq!(texts.texts, expected, "each once, in the order of {kind}");
        }
    }
}
