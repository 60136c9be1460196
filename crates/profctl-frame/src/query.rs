//! SQL over the tables: those in memory as frames, the calls of large traces as files that are
//! streamed.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::thread;

use polars::prelude::*;
use polars::sql::{SQLContext, extract_table_identifiers};
use polars_io::parquet::write::{ParquetWriter, StatisticsOptions};
use profctl_model::spool::FigureBlock;
use profctl_model::tables::{ALL, SPANS, TableSchema};
use profctl_model::{Cell, Column as Heading, Role, Table, TickUnit, Timebase};

use crate::batch::SpanBatch;
use crate::columns::{SpanColumns, as_sql, frame_of, frame_of_figures, schema_of};
use crate::error::Error;
use crate::names::SpanNames;
use crate::order::settled;
use crate::sql::checked;
use crate::stored::{Stored, scan};

/// The name of a result in JSON.
const SCHEMA: &str = "profctl.query/1";

/// Bytes of stack for a query; only what is used takes memory.
const STACK: usize = 256 << 20;

/// Digits of a fraction that do not depend on the order in which its parts were added.
const DIGITS: usize = 12;

/// The tables that a query names, each once. Fails if it cannot be parsed or if there is no such
/// table.
pub fn tables_of(sql: &str) -> Result<Vec<&'static TableSchema>, Error> {
    let names = on_large_stack(|| Ok(extract_table_identifiers(&checked(sql)?, false, true)?))?;
    let known = |name: &str| ALL.into_iter().find(|table| table.name.eq_ignore_ascii_case(name));
    let mut tables: Vec<&'static TableSchema> =
        names.iter().filter_map(|name| known(name)).collect();
    tables.sort_by_key(|table| table.name);
    tables.dedup_by_key(|table| table.name);
    Ok(tables)
}

/// The columns of `spans` that a query uses, or more. Fails if it cannot be answered from the tables,
/// before any of them is made.
pub fn span_columns(sql: &str) -> Result<SpanColumns, Error> {
    on_large_stack(|| {
        let (named, all) = (SpanColumns::named_in(sql), SpanColumns::default());
        // A query may take columns in a way that its words do not show: then its answer has fewer.
        let is_whole = answer_from(&all, sql)? == answer_from(&named, sql).unwrap_or_default();
        Ok(if is_whole { named } else { all })
    })
}

/// The columns of the answer, if `spans` has `columns`.
fn answer_from(columns: &SpanColumns, sql: &str) -> Result<SchemaRef, Error> {
    let mut context = SQLContext::new();
    for table in ALL {
        let schema = if table.name == SPANS.name { columns.schema() } else { schema_of(table) };
        let rows = DataFrame::empty_with_schema(&schema).lazy();
        context.register(table.name, as_sql(rows, &schema));
    }
    Ok(context.execute(&checked(sql)?)?.collect_schema()?)
}

/// Tables to ask.
#[derive(Default)]
pub struct Database {
    frames: BTreeMap<&'static str, Vec<DataFrame>>,
    stored: BTreeMap<&'static str, Vec<Stored>>,
}

impl Database {
    /// Adds rows to a table.
    pub fn add(&mut self, schema: &'static TableSchema, table: &Table) -> Result<(), Error> {
        self.frames.entry(schema.name).or_default().push(frame_of(table, schema)?);
        Ok(())
    }

    /// Adds calls, which are kept in memory, with the same columns each time. None are left in `batch`.
    pub fn add_spans(&mut self, batch: &mut SpanBatch<'_>) -> Result<(), Error> {
        if !batch.is_empty() {
            self.frames.entry(SPANS.name).or_default().push(batch.take_frame()?);
        }
        Ok(())
    }

    /// Adds calls by their figures, with the same columns each time.
    pub fn add_figures(
        &mut self,
        names: &SpanNames,
        block: &FigureBlock,
        columns: &SpanColumns,
    ) -> Result<(), Error> {
        let frame = frame_of_figures(names, block, columns)?;
        self.frames.entry(SPANS.name).or_default().push(frame);
        Ok(())
    }

    /// Adds calls that were written with [`crate::ParquetFile`], with `columns`; they stay where they
    /// are.
    pub fn add_span_file(&mut self, path: &Path, columns: &SpanColumns) {
        self.add_stored(Stored::spans(path, columns));
    }

    /// Adds a file of a table, which is read in place.
    pub fn add_stored(&mut self, file: Stored) {
        self.stored.entry(file.table.name).or_default().push(file);
    }

    /// The answer to a query. Without an `ORDER BY`, rows and groups come as they first
    /// appear, and groups of joined rows in the order of their keys.
    pub fn ask(&self, sql: &str) -> Result<Table, Error> {
        let frame = on_large_stack(|| self.collect(sql))?;
        table_of(&frame)
    }

    /// The answer as a Parquet file.
    pub fn store(&self, sql: &str, out: impl Write) -> Result<(), Error> {
        let mut frame = on_large_stack(|| self.collect(sql))?;
        ParquetWriter::new(out).with_statistics(StatisticsOptions::full()).finish(&mut frame)?;
        Ok(())
    }

    /// How a query would be answered.
    pub fn explain(&self, sql: &str) -> Result<String, Error> {
        on_large_stack(|| Ok(self.plan(sql)?.explain(true)?))
    }

    fn plan(&self, sql: &str) -> Result<LazyFrame, Error> {
        let mut context = SQLContext::new();
        for table in ALL {
            context.register(table.name, self.source(table)?);
        }
        Ok(settled(context.execute(&checked(sql)?)?))
    }

    fn source(&self, table: &'static TableSchema) -> PolarsResult<LazyFrame> {
        if let Some(files) = self.stored.get(table.name) {
            return scan(files);
        }
        let mut frames = self.frames.get(table.name).into_iter().flatten();
        let mut whole = match frames.next() {
            Some(first) => first.clone(),
            None => DataFrame::empty_with_schema(&schema_of(table)),
        };
        for frame in frames {
            whole.vstack_mut(frame)?;
        }
        let columns = Arc::clone(whole.schema());
        Ok(as_sql(whole.lazy(), &columns))
    }

    fn collect(&self, sql: &str) -> Result<DataFrame, Error> {
        let plan = self.plan(sql)?;
        Ok(plan.collect_with_engine(Engine::Streaming)?.unwrap_single())
    }
}

/// Runs `work` on a thread whose stack holds the deepest query that [`checked`] lets through: parsing
/// and planning call themselves for every operator.
fn on_large_stack<T: Send>(work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    thread::scope(|scope| {
        let worker = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let worker = worker.map_err(PolarsError::from)?;
        worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn table_of(frame: &DataFrame) -> Result<Table, Error> {
    let headings = frame.columns().iter().map(|column| {
        let kind = column.dtype();
        let role = if kind.is_numeric() || kind.is_bool() { Role::Count } else { Role::Text };
        Heading::new(column.name().as_str(), column.name().as_str(), role)
    });
    // The unit of the numbers depends on the query.
    let plain = Timebase { unit: TickUnit::Cycles, ..Timebase::NANOSECONDS };
    let mut table = Table::new(SCHEMA, plain, headings.collect());
    for row in 0..frame.height() {
        let cells = frame.columns().iter().map(|column| Ok(cell(&column.get(row)?)));
        table.push(cells.collect::<PolarsResult<_>>()?);
    }
    Ok(table)
}

fn cell(value: &AnyValue<'_>) -> Cell {
    match value {
        AnyValue::Null => Cell::Null,
        AnyValue::Boolean(yes) => Cell::Count(u64::from(*yes)),
        AnyValue::Float32(number) => number_cell(f64::from(*number)),
        AnyValue::Float64(number) => number_cell(*number),
        AnyValue::UInt8(n) => Cell::Count(u64::from(*n)),
        AnyValue::UInt16(n) => Cell::Count(u64::from(*n)),
        AnyValue::UInt32(n) => Cell::Count(u64::from(*n)),
        AnyValue::UInt64(n) => Cell::Count(*n),
        AnyValue::Int8(n) => integer_cell(i64::from(*n)),
        AnyValue::Int16(n) => integer_cell(i64::from(*n)),
        AnyValue::Int32(n) => integer_cell(i64::from(*n)),
        AnyValue::Int64(n) => integer_cell(*n),
        // Lists, dates and whatever else SQL can make.
        other => Cell::Text(other.str_value().into_owned()),
    }
}

fn integer_cell(n: i64) -> Cell {
    u64::try_from(n).map_or(Cell::Change(n), Cell::Count)
}

fn number_cell(number: f64) -> Cell {
    if !number.is_finite() {
        return Cell::Null;
    }
    // Through text, as that rounds to the nearest number with so many digits.
    Cell::Number(format!("{number:.0$e}", DIGITS - 1).parse().unwrap_or(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_keep_twelve_digits() {
        for (number, expected) in [
            (0.1 + 0.2, Cell::Number(0.3)),
            (-1_234_567.890_123_456_7, Cell::Number(-1_234_567.890_12)),
            (1e300, Cell::Number(1e300)),
            (0.0, Cell::Number(0.0)),
            (f64::NAN, Cell::Null),
        ] {
            assert_eq!(number_cell(number), expected, "{number}");
        }
    }

    #[test]
    fn a_query_names_its_tables() {
        let names = |sql: &str| {
            tables_of(sql).map(|found| found.iter().map(|t| t.name).collect::<Vec<_>>())
        };
        let sql = "WITH s AS (SELECT * FROM spans) SELECT * FROM s JOIN functions f USING (name)";
        assert_eq!(names(sql).unwrap(), ["functions", "spans"]);
        assert!(names("SELEKT 1").is_err());
    }
}
