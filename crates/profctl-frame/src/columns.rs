//! Rows of the model as columns of polars: names as categoricals, times and counts as signed 64-bit
//! integers, which every engine supports.

use polars::prelude::*;
use profctl_model::spool::{Figure, FigureBlock, Values};
use profctl_model::tables::{ColumnKind, SPANS, TableSchema};
use profctl_model::{Cell, Role, Table};

use crate::names::{SpanNames, Texts, categorical};
use crate::sql::columns_used;

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

/// Rows with `columns`, categories converted to text: `LIKE` and `||` refuse categories. Only columns
/// that a query reads are converted.
pub(crate) fn as_sql(rows: LazyFrame, columns: &Schema) -> LazyFrame {
    let categories = columns.iter().filter(|(_, kind)| matches!(kind, DataType::Categorical(..)));
    let text: Vec<Expr> =
        categories.map(|(name, _)| col(name.clone()).cast(DataType::String)).collect();
    // A condition on a converted column is not pushed down to the scan of a file.
    if text.is_empty() { rows } else { rows.with_columns(text) }
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

pub(crate) fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

/// Columns of `spans`, in its order.
#[derive(Clone, Debug)]
pub struct SpanColumns(Vec<&'static str>);

impl SpanColumns {
    /// Those that a query may use, by its words.
    pub(crate) fn named_in(sql: &str) -> Self {
        let mut columns = columns_used(sql, &SPANS);
        if columns.is_empty() {
            // To be counted, calls must have one.
            columns.push("partial");
        }
        Self(columns)
    }

    /// Bytes that they take of a call in memory, about.
    pub fn bytes_a_call(&self) -> u64 {
        let used = SPANS.columns.iter().filter(|column| self.0.contains(&column.name));
        let bytes = used.map(|column| match column.kind {
            ColumnKind::Name | ColumnKind::Small | ColumnKind::Flag => 4,
            ColumnKind::Text | ColumnKind::Time | ColumnKind::Count | ColumnKind::Percent => 8,
        });
        bytes.sum()
    }

    /// The figures that they are computed from; nothing if a column depends on where a call is among
    /// the others.
    pub fn figures(&self) -> Option<Vec<Figure>> {
        let mut figures = Vec::new();
        for name in self.0.iter().filter(|&&name| name != "run") {
            let figure = figure_of(name)?;
            if !figures.contains(&figure) {
                figures.push(figure);
            }
        }
        Some(figures)
    }

    /// Their names.
    pub(crate) fn names(&self) -> &[&'static str] {
        &self.0
    }

    /// Their types.
    pub(crate) fn schema(&self) -> Schema {
        let all = schema_of(&SPANS);
        all.into_iter().filter(|(name, _)| self.0.contains(&name.as_str())).collect()
    }
}

impl Default for SpanColumns {
    /// All of them.
    fn default() -> Self {
        Self(SPANS.columns.iter().map(|column| column.name).collect())
    }
}

/// The figure that a column of `spans` is computed from; nothing if it depends on other calls.
fn figure_of(column: &str) -> Option<Figure> {
    Some(match column {
        "name" | "module" | "kind" => Figure::Func,
        "thread" => Figure::Thread,
        "cpu" => Figure::Cpu,
        "wall" => Figure::Wall,
        "off_cpu" => Figure::OffCpu,
        "elapsed" => Figure::Elapsed,
        "net" => Figure::Net,
        "stolen" => Figure::Stolen,
        "partial" => Figure::Partial,
        "in_interrupt" => Figure::Interrupt,
        _ => return None,
    })
}

/// Calls of one run from their figures, in columns of `spans`.
pub(crate) fn frame_of_figures(
    names: &SpanNames,
    block: &FigureBlock,
    columns: &SpanColumns,
) -> PolarsResult<DataFrame> {
    let columns = columns.names().iter().map(|name| column_of_figures(name, names, block));
    DataFrame::new(block.calls, columns.collect::<PolarsResult<_>>()?)
}

fn column_of_figures(
    column: &'static str,
    names: &SpanNames,
    block: &FigureBlock,
) -> PolarsResult<Column> {
    let name = PlSmallStr::from_static(column);
    let values = figure_of(column).and_then(|figure| block.values(figure));
    let looked_up =
        |texts: &Texts, rows: &[IdxSize]| texts.categories.take_slice(rows).map(Column::from);
    match (column, values) {
        ("run", _) => looked_up(&names.run, &vec![0; block.calls]),
        ("name", Some(Values::Small(funcs))) => looked_up(&names.name, funcs),
        ("module", Some(Values::Small(funcs))) => looked_up(&names.module, funcs),
        ("kind", Some(Values::Small(funcs))) => looked_up(&names.kind, funcs),
        ("thread", Some(Values::Small(threads))) => looked_up(&names.thread, threads),
        ("cpu", Some(Values::Small(cpus))) => {
            let cpu = |&cpu: &u32| cpu.checked_sub(1).map(|cpu| names.cpus[cpu as usize]);
            Ok(Series::new(name, cpus.iter().map(cpu).collect::<Vec<Option<i32>>>()).into())
        }
        ("off_cpu", _) if !names.knows_off_cpu => {
            Ok(Column::full_null(name, block.calls, &DataType::Int64))
        }
        (_, Some(Values::Small(flags))) => {
            let flags = flags.iter().map(|&flag| i32::from(flag != 0)).collect();
            Ok(Int32Chunked::from_vec(name, flags).into_series().into())
        }
        (_, Some(Values::Times(times))) => {
            let times = times.iter().map(|&time| signed(time)).collect();
            Ok(Int64Chunked::from_vec(name, times).into_series().into())
        }
        (_, None) => polars_bail!(ColumnNotFound: "{column}"),
    }
}
