//! Calls in columns, as many as make a part of a table.

use polars::prelude::*;
use polars_arrow::array::PrimitiveArray;
use polars_arrow::bitmap::Bitmap;
use polars_arrow::types::NativeType;
use profctl_model::SpanRow;
use profctl_model::tables::{ColumnKind, SPANS};

use crate::columns::{SpanColumns, signed};
use crate::names::SpanNames;

/// Calls in a part of a table: a frame, or a row group.
pub(crate) const ROWS: usize = 1 << 17;
/// Calls that are put into one column after the other: so many stay in the cache meanwhile.
const AT_ONCE: usize = 256;

/// Calls of one run.
#[derive(Debug)]
pub struct SpanBatch<'a> {
    names: &'a SpanNames,
    columns: Vec<Values>,
    rows: usize,
}

impl<'a> SpanBatch<'a> {
    /// None yet.
    pub fn new(names: &'a SpanNames, columns: &SpanColumns) -> Self {
        let columns = SPANS.columns.iter().filter(|column| columns.names().contains(&column.name));
        let columns = columns.map(|column| Values::new(column.name, column.kind));
        Self { names, columns: columns.collect(), rows: 0 }
    }

    /// Adds calls.
    pub fn push(&mut self, rows: &[SpanRow]) {
        for rows in rows.chunks(AT_ONCE) {
            for column in &mut self.columns {
                column.push(rows, self.names);
            }
        }
        self.rows += rows.len();
    }

    /// Whether there are as many as belong into a part of a table.
    pub fn is_full(&self) -> bool {
        self.rows >= ROWS
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The calls as a frame, texts as categories; none are left.
    pub(crate) fn take_frame(&mut self) -> PolarsResult<DataFrame> {
        let rows = std::mem::take(&mut self.rows);
        let columns = self.columns.iter_mut().map(|column| column.take().column(rows, self.names));
        DataFrame::new(rows, columns.collect::<PolarsResult<_>>()?)
    }

    /// The calls as the columns of a row group but for one, texts with a dictionary; none are left.
    pub(crate) fn take_arrays(
        &mut self,
        without: Option<&str>,
    ) -> PolarsResult<(usize, Vec<ArrayRef>)> {
        let rows = std::mem::take(&mut self.rows);
        let columns = self.columns.iter_mut().map(Values::take);
        let wanted = columns.filter(|column| without != Some(column.name));
        let arrays = wanted.map(|column| column.array(rows, self.names));
        Ok((rows, arrays.collect::<PolarsResult<_>>()?))
    }
}

/// The values of a column, in the list that is for its kind; none if all are missing.
#[derive(Debug)]
struct Values {
    name: &'static str,
    kind: ColumnKind,
    /// What texts are looked up by.
    ids: Vec<u32>,
    large: Vec<i64>,
    small: Vec<i32>,
    /// Which values are there, if some may be missing.
    present: Vec<bool>,
}

impl Values {
    fn new(name: &'static str, kind: ColumnKind) -> Self {
        let (ids, large, small, present) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { name, kind, ids, large, small, present }
    }

    fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.name, self.kind))
    }

    fn push(&mut self, rows: &[SpanRow], names: &SpanNames) {
        let rows = rows.iter();
        let Self { ids, large, small, present, .. } = self;
        match self.name {
            "run" => ids.extend(rows.map(|_| 0)),
            "id" => large.extend(rows.map(|row| signed(row.id))),
            "parent" => {
                present.extend(rows.clone().map(|row| row.parent.is_some()));
                large.extend(rows.map(|row| row.parent.map_or(0, signed)));
            }
            "name" | "module" | "kind" => ids.extend(rows.map(|row| row.span.func.index() as u32)),
            "thread" => ids.extend(rows.map(|row| row.span.thread.index() as u32)),
            "cpu" => {
                present.extend(rows.clone().map(|row| row.span.cpu.is_some()));
                small.extend(rows.map(|row| row.span.cpu.map_or(0, |cpu| names.cpus[cpu.index()])));
            }
            "depth" => small.extend(rows.map(|row| i32::try_from(row.depth).unwrap_or(i32::MAX))),
            "start" => large.extend(rows.map(|row| signed(row.span.start.0))),
            "end" => large.extend(rows.map(|row| signed(row.span.end.0))),
            "wall" => large.extend(rows.map(|row| signed(row.span.wall.0))),
            "off_cpu" if names.knows_off_cpu => {
                large.extend(rows.map(|row| signed(row.span.off_cpu.0)));
            }
            "elapsed" => large.extend(rows.map(|row| signed(row.span.elapsed().0))),
            "net" => large.extend(rows.map(|row| signed(row.span.net.0))),
            "stolen" => large.extend(rows.map(|row| signed(row.span.stolen.0))),
            "partial" => small.extend(rows.map(|row| i32::from(row.span.fidelity.is_partial()))),
            "outermost" => small.extend(rows.map(|row| i32::from(row.span.outermost))),
            "in_interrupt" => small.extend(rows.map(|row| i32::from(row.span.interrupt))),
            _ => {}
        }
    }

    fn column(self, rows: usize, names: &SpanNames) -> PolarsResult<Column> {
        match names.texts(self.name) {
            Some(texts) => texts.categories.take_slice(&self.ids).map(Column::from),
            None => {
                let name = PlSmallStr::from_static(self.name);
                Series::from_arrow(name, self.array(rows, names)?).map(Column::from)
            }
        }
    }

    fn array(self, rows: usize, names: &SpanNames) -> PolarsResult<ArrayRef> {
        match (self.kind, names.texts(self.name)) {
            (_, Some(texts)) => texts.dictionary(&self.ids),
            (ColumnKind::Time | ColumnKind::Count, _) => {
                Ok(numbers(self.large, self.present, rows))
            }
            _ => Ok(numbers(self.small, self.present, rows)),
        }
    }
}

/// An array of numbers; of nulls, if there are none.
fn numbers<T: NativeType>(mut values: Vec<T>, present: Vec<bool>, rows: usize) -> ArrayRef {
    let is_missing = values.len() < rows;
    values.resize(rows, T::default());
    let validity = match (is_missing, present.iter().all(|&is| is)) {
        (true, _) => Some(Bitmap::new_zeroed(rows)),
        (false, true) => None,
        (false, false) => Some(Bitmap::from(present)),
    };
    PrimitiveArray::from_vec(values).with_validity(validity).boxed()
}

#[cfg(test)]
mod tests {
    use profctl_model::{CpuId, Fidelity, Func, FuncId, IdVec, Late, Names, Span, ThreadId, Tick};

    use super::*;

    #[test]
    fn every_column_has_values_and_is_empty_once_they_were_taken() {
        let mut names = Names::default();
        names.func(Func { name: "f".into(), module: Some("m".into()), ..Func::default() });
        names.cpu(3);
        let labels: IdVec<ThreadId, String> = std::iter::once("t-1".to_owned()).collect();
        let names = SpanNames::new("run", &names, &labels, true).unwrap();
        let span = Span {
            func: FuncId::from_index(0),
            thread: ThreadId::from_index(0),
            cpu: Some(CpuId::from_index(0)),
            start: Tick(1),
            end: Tick(2),
            wall: profctl_model::Ticks(1),
            off_cpu: profctl_model::Ticks(0),
            net: profctl_model::Ticks(1),
            stolen: profctl_model::Ticks(0),
            callees: 0,
            descendants: 0,
            late: Late::NONE,
            outermost: true,
            interrupt: false,
            fidelity: Fidelity::EXACT,
        };
        let row = SpanRow { id: 1, parent: Some(0), depth: 1, span };
        let mut batch = SpanBatch::new(&names, &SpanColumns::default());
        batch.push(&[row; 2]);
        let (rows, arrays) = batch.take_arrays(None).unwrap();
        assert_eq!((rows, arrays.len()), (2, SPANS.columns.len()));
        for (array, column) in arrays.iter().zip(SPANS.columns) {
            assert_eq!((array.len(), array.null_count()), (2, 0), "{}", column.name);
        }
        batch.push(&[row]);
        assert_eq!(batch.take_frame().unwrap().shape(), (1, SPANS.columns.len()));
        assert!(batch.is_empty());
    }
}
