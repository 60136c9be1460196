//! Rows of the model as columns of polars: names as categoricals, times and counts as signed 64-bit
//! integers, which every engine supports.

use polars::prelude::*;
use profctl_model::tables::{ColumnKind, TableSchema};
use profctl_model::{Cell, IdVec, Names, Role, SpanRow, Table, ThreadId};

/// The type of names: one set of categories for all columns, tables and files, so that any two can
/// be compared.
fn categorical() -> DataType {
    DataType::from_categories(Categories::global())
}

fn type_of(kind: ColumnKind) -> DataType {
    match kind {
        ColumnKind::Name => categorical(),
        ColumnKind::Text => DataType::String,
        ColumnKind::Time | ColumnKind::Count => DataType::Int64,
        ColumnKind::Small | ColumnKind::Flag => DataType::Int32,
        ColumnKind::Percent => DataType::Float64,
    }
}

/// The columns of a table and their types.
pub(crate) fn schema_of(table: &TableSchema) -> Schema {
    table.columns.iter().map(|column| (column.name.into(), type_of(column.kind))).collect()
}

/// Names as text, as what SQL does to text it does not do to categories. What is not asked for is
/// not turned.
pub(crate) fn as_sql(rows: LazyFrame, table: &TableSchema) -> LazyFrame {
    let names = table.columns.iter().filter(|column| column.kind == ColumnKind::Name);
    let text = names.map(|column| col(column.name).cast(DataType::String));
    rows.with_columns(text.collect::<Vec<_>>())
}

/// A table of the model.
pub(crate) fn frame_of(table: &Table, schema: &TableSchema) -> PolarsResult<DataFrame> {
    let types = schema_of(schema);
    let columns = schema.columns.iter().enumerate().map(|(index, column)| {
        let cells = table.rows.iter().map(|row| &row[index]);
        let name = PlSmallStr::from_static(column.name);
        let values = match column.kind {
            ColumnKind::Name | ColumnKind::Text => {
                Series::new(name, cells.map(text).collect::<Vec<Option<&str>>>())
            }
            ColumnKind::Percent => {
                Series::new(name, cells.map(share).collect::<Vec<Option<f64>>>())
            }
            ColumnKind::Time | ColumnKind::Count | ColumnKind::Small | ColumnKind::Flag => {
                Series::new(name, cells.map(integer).collect::<Vec<Option<i64>>>())
            }
        };
        let kind = types.get(column.name).cloned().unwrap_or(DataType::Null);
        values.cast(&kind).map(Column::from)
    });
    DataFrame::new(table.rows.len(), columns.collect::<PolarsResult<_>>()?)
}

/// A report of any command, by what its columns are.
pub(crate) fn frame_of_report(report: &Table) -> PolarsResult<DataFrame> {
    let columns = report.columns.iter().enumerate().map(|(index, column)| {
        let cells = report.rows.iter().map(|row| &row[index]);
        let name = PlSmallStr::from_str(&column.name);
        let is_integer =
            |cell: &Cell| matches!(cell, Cell::Count(_) | Cell::Time(_) | Cell::Change(_));
        let is_text = |cell: &Cell| matches!(cell, Cell::Text(_));
        let values = if cells.clone().any(is_text) || matches!(column.role, Role::Name | Role::Text)
        {
            Series::new(name, cells.map(text).collect::<Vec<_>>())
        } else if cells.clone().any(is_integer) || matches!(column.role, Role::Time | Role::Count) {
            let reported = |cell: &Cell| match cell {
                Cell::Time(ticks) => Some(signed(report.timebase.reported(*ticks))),
                Cell::Change(ticks) => Some(report.timebase.reported_change(*ticks)),
                other => integer(other),
            };
            Series::new(name, cells.map(reported).collect::<Vec<Option<i64>>>())
        } else {
            Series::new(name, cells.map(share).collect::<Vec<_>>())
        };
        Column::from(values)
    });
    DataFrame::new(report.rows.len(), columns.collect())
}

fn text(cell: &Cell) -> Option<&str> {
    match cell {
        Cell::Text(text) => Some(text),
        _ => None,
    }
}

fn share(cell: &Cell) -> Option<f64> {
    match cell {
        Cell::Percent(number) | Cell::Ratio(number) | Cell::Number(number) => Some(*number),
        _ => None,
    }
}

fn integer(cell: &Cell) -> Option<i64> {
    match cell {
        Cell::Count(n) => Some(signed(*n)),
        _ => None,
    }
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// The names that the calls of one run have, ready to be looked up by id.
#[derive(Debug)]
pub struct SpanNames {
    run: Series,
    name: Series,
    module: Series,
    kind: Series,
    thread: Series,
    cpus: Vec<i32>,
    knows_off_cpu: bool,
}

impl SpanNames {
    /// Those of a run called `run`, its threads by `labels`.
    pub fn new(
        run: &str,
        names: &Names,
        labels: &IdVec<ThreadId, String>,
        knows_off_cpu: bool,
    ) -> Result<Self, crate::Error> {
        let column = |name: &'static str, texts: Vec<Option<&str>>| {
            Series::new(PlSmallStr::from_static(name), texts).cast(&categorical())
        };
        let funcs = &names.funcs;
        Ok(Self {
            run: column("run", vec![Some(run)])?,
            name: column("name", funcs.iter().map(|func| Some(func.name.as_str())).collect())?,
            module: column("module", funcs.iter().map(|func| func.module.as_deref()).collect())?,
            kind: column("kind", funcs.iter().map(|func| Some(func.kind.name())).collect())?,
            thread: column("thread", labels.iter().map(|label| Some(label.as_str())).collect())?,
            cpus: names.cpus.iter().map(|&n| i32::try_from(n).unwrap_or(i32::MAX)).collect(),
            knows_off_cpu,
        })
    }
}

/// Calls of one run, in the columns of `spans`.
pub(crate) fn frame_of_spans(names: &SpanNames, rows: &[SpanRow]) -> PolarsResult<DataFrame> {
    let looked_up = |values: &Series, index: &dyn Fn(&SpanRow) -> usize| {
        let indices: Vec<IdxSize> = rows.iter().map(|row| index(row) as IdxSize).collect();
        values.take_slice(&indices).map(Column::from)
    };
    let func = |row: &SpanRow| row.span.func.index();
    let integers = |name: &'static str, value: &dyn Fn(&SpanRow) -> u64| {
        let values = rows.iter().map(|row| signed(value(row))).collect();
        Column::from(Int64Chunked::from_vec(PlSmallStr::from_static(name), values).into_series())
    };
    let small = |name: &'static str, value: &dyn Fn(&SpanRow) -> u32| {
        let value = |row: &SpanRow| i32::try_from(value(row)).unwrap_or(i32::MAX);
        let values = rows.iter().map(value).collect();
        Column::from(Int32Chunked::from_vec(PlSmallStr::from_static(name), values).into_series())
    };
    let parents: Vec<Option<i64>> = rows.iter().map(|row| row.parent.map(signed)).collect();
    let cpus = rows.iter().map(|row| row.span.cpu.map(|cpu| names.cpus[cpu.index()]));
    let off_cpu = if names.knows_off_cpu {
        integers("off_cpu", &|row| row.span.off_cpu.0)
    } else {
        Column::full_null("off_cpu".into(), rows.len(), &DataType::Int64)
    };
    let columns = vec![
        looked_up(&names.run, &|_| 0)?,
        integers("id", &|row| row.id),
        Series::new("parent".into(), parents).into(),
        looked_up(&names.name, &func)?,
        looked_up(&names.module, &func)?,
        looked_up(&names.kind, &func)?,
        looked_up(&names.thread, &|row| row.span.thread.index())?,
        Series::new("cpu".into(), cpus.collect::<Vec<Option<i32>>>()).into(),
        small("depth", &|row| row.depth),
        integers("start", &|row| row.span.start.0),
        integers("end", &|row| row.span.end.0),
        integers("wall", &|row| row.span.wall.0),
        off_cpu,
        integers("elapsed", &|row| row.span.elapsed().0),
        integers("net", &|row| row.span.net.0),
        integers("stolen", &|row| row.span.stolen.0),
        small("partial", &|row| u32::from(row.span.fidelity.is_partial())),
        small("outermost", &|row| u32::from(row.span.outermost)),
    ];
    DataFrame::new(rows.len(), columns)
}
