//! Parquet: zstd, statistics in every row group so that engines can skip it, the unit and the
//! meaning of a column in its metadata.

use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use polars::prelude::{
    ArrayRef, ArrowSchema, CompatLevel, DataFrame, DataType, PlSmallStr, PolarsError, PolarsResult,
    Schema,
};
use polars_io::parquet::write::{KeyValueMetadata, ParquetWriter, StatisticsOptions};
use polars_parquet::write::{
    CompressedPage, CompressionOptions, DynIter, DynStreamingIterator, Encoding, FileWriter,
    KeyValue, ParquetType, RowGroupIterColumns, Version, WriteOptions, ZstdLevel, array_to_columns,
    compress, fallible_streaming_iterator, schema_to_metadata_key,
};
use profctl_model::Table;
use profctl_model::spool::FigureBlock;
use profctl_model::tables::{ColumnKind, SPANS, TableSchema};

use crate::batch::SpanBatch;
use crate::columns::{SpanColumns, frame_of, frame_of_figures, frame_of_report, schema_of};
use crate::error::Error;
use crate::names::SpanNames;

/// What a file says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Described<'a> {
    /// Which table is in it.
    pub table: &'static TableSchema,
    /// Which columns are in it, if the table is that of calls.
    pub columns: &'a SpanColumns,
    /// What its times are counted in.
    pub unit: &'a str,
    /// Who wrote it: a name and a version.
    pub producer: &'a str,
    /// What is said of each run in it, a line of text each; see [`crate::Stored::runs`].
    pub runs: &'a [String],
    /// Whether the run is identified by the directory that the file is in, and so not by a column.
    pub partitioned: bool,
    /// Threads that encode and compress its columns.
    pub workers: usize,
}

/// A file being written, a row group a call.
pub struct ParquetFile<W: Write> {
    table: &'static TableSchema,
    columns: SpanColumns,
    partitioned: bool,
    workers: usize,
    /// How each column is encoded, in the order of the file.
    encodings: Vec<Encoding>,
    metadata: Vec<KeyValue>,
    writer: FileWriter<W>,
}

/// How files are written. The default level of zstd takes a tenth more time for them, and saves 2 %.
fn options() -> PolarsResult<WriteOptions> {
    Ok(WriteOptions {
        statistics: StatisticsOptions {
            min_value: true,
            max_value: true,
            distinct_count: false,
            null_count: true,
            binary_statistics_truncate_length: None,
        },
        version: Version::V1,
        compression: CompressionOptions::Zstd(Some(ZstdLevel::try_new(1)?)),
        data_page_size: None,
    })
}

impl<W: Write> ParquetFile<W> {
    /// Begins one.
    pub fn new(out: W, what: &Described<'_>) -> Result<Self, Error> {
        let types = types_in(what);
        let arrow = types.iter().map(|(name, kind)| {
            (name.clone(), kind.to_arrow_field(name.clone(), CompatLevel::newest()))
        });
        let columns = what.table.columns.iter().filter(|column| types.contains(column.name));
        let pair = |(key, value)| KeyValue { key, value: Some(value) };
        Ok(Self {
            table: what.table,
            columns: what.columns.clone(),
            partitioned: what.partitioned,
            workers: what.workers.max(1),
            encodings: columns.map(|column| encoding(column.kind)).collect(),
            metadata: metadata(what).into_iter().map(pair).collect(),
            writer: FileWriter::try_new(out, arrow.collect(), options()?)?,
        })
    }

    /// Appends calls, of which none are left in `batch`: a row group.
    pub fn spans(&mut self, batch: &mut SpanBatch<'_>) -> Result<(), Error> {
        let (rows, columns) = batch.take_arrays(self.partitioned.then_some(RUN))?;
        self.row_group(rows, &columns)
    }

    /// Appends calls by their figures.
    pub fn figures(&mut self, names: &SpanNames, block: &FigureBlock) -> Result<(), Error> {
        self.frame(frame_of_figures(names, block, &self.columns)?)
    }

    /// Appends the rows of a table.
    pub fn table(&mut self, table: &Table) -> Result<(), Error> {
        self.frame(frame_of(table, self.table)?)
    }

    fn frame(&mut self, mut frame: DataFrame) -> Result<(), Error> {
        if self.partitioned {
            frame = frame.drop(RUN)?;
        }
        for group in frame.iter_chunks(CompatLevel::newest(), false) {
            self.row_group(group.len(), group.columns())?;
        }
        Ok(())
    }

    fn row_group(&mut self, rows: usize, columns: &[ArrayRef]) -> Result<(), Error> {
        if rows > 0 {
            let columns = self.encoded(columns)?;
            self.writer.write(rows as u64, row_group(&columns))?;
        }
        Ok(())
    }

    /// The pages of each column, encoded and compressed by whichever worker is free.
    fn encoded(&self, columns: &[ArrayRef]) -> PolarsResult<Vec<Vec<CompressedPage>>> {
        let (types, encodings) = (self.writer.parquet_schema().fields(), &self.encodings);
        let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        let work = || {
            loop {
                let column = next.fetch_add(1, Ordering::Relaxed);
                let Some(values) = columns.get(column) else { return };
                let pages = pages(values, &types[column], encodings[column]);
                done.lock().unwrap_or_else(PoisonError::into_inner).push((column, pages));
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..self.workers.min(columns.len()) {
                scope.spawn(work);
            }
            work();
        });
        let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
        done.sort_unstable_by_key(|(column, _)| *column);
        done.into_iter().map(|(_, pages)| pages).collect()
    }

    /// Ends it; what was handed in as `out` then holds all of it.
    pub fn finish(mut self) -> Result<(), Error> {
        self.writer.end(Some(self.metadata))?;
        Ok(())
    }
}

/// Times and numbers of calls grow or are short: differences of neighbors take few bits, and far less
/// time than a dictionary that would hold nearly all of them.
fn encoding(kind: ColumnKind) -> Encoding {
    match kind {
        ColumnKind::Time | ColumnKind::Count => Encoding::DeltaBinaryPacked,
        ColumnKind::Name
        | ColumnKind::Text
        | ColumnKind::Small
        | ColumnKind::Flag
        | ColumnKind::Percent => Encoding::RleDictionary,
    }
}

/// The pages of one column, compressed.
fn pages(
    values: &ArrayRef,
    kind: &ParquetType,
    encoding: Encoding,
) -> PolarsResult<Vec<CompressedPage>> {
    let options = options()?;
    let columns = array_to_columns(values, kind.clone(), options, &[encoding])?;
    let compressed = |page| Ok(compress(page, Vec::new(), options.compression)?);
    columns.into_iter().flatten().map(|page| page.and_then(compressed)).collect()
}

/// What the writer takes of a row group.
fn row_group(columns: &[Vec<CompressedPage>]) -> RowGroupIterColumns<'_, PolarsError> {
    DynIter::new(columns.iter().map(|pages| {
        let pages = fallible_streaming_iterator::convert(pages.iter().map(PolarsResult::Ok));
        Ok(DynStreamingIterator::new(pages))
    }))
}

/// Writes a report of any command: times and counts as integers, shares and ratios as floats.
pub fn store_report(report: &Table, out: impl Write) -> Result<(), Error> {
    let mut frame = frame_of_report(report)?;
    let notes = report.notes.join("\n");
    let said = vec![
        (SCHEMA_KEY.to_owned(), report.schema.to_owned()),
        (UNIT_KEY.to_owned(), report.timebase.unit_name().to_owned()),
        ("profctl.notes".to_owned(), notes),
    ];
    ParquetWriter::new(out)
        .with_statistics(StatisticsOptions::full())
        .with_key_value_metadata(Some(KeyValueMetadata::from_static(said)))
        .finish(&mut frame)?;
    Ok(())
}

/// The column that a partitioned dataset has in the names of its directories.
pub(crate) const RUN: &str = "run";
/// Under which keys a file says which table is in it, and what its times are counted in.
pub(crate) const SCHEMA_KEY: &str = "profctl.schema";
pub(crate) const UNIT_KEY: &str = "profctl.unit";
/// Under which key it says what its runs are, a line each.
pub(crate) const RUNS_KEY: &str = "profctl.runs";

fn types_in(what: &Described<'_>) -> Schema {
    let is_calls = what.table.name == SPANS.name;
    let mut types = if is_calls { what.columns.schema() } else { schema_of(what.table) };
    if what.partitioned {
        types.shift_remove(RUN);
    }
    types
}

/// What the file says beside its rows, and the columns with what each says of itself.
fn metadata(what: &Described<'_>) -> Vec<(String, String)> {
    let types = types_in(what);
    let fields = what.table.columns.iter().filter_map(|column| {
        let kind = types.get(column.name)?;
        // As categories, polars would look up the text of every row. The pages are the same.
        let kind = if column.kind == ColumnKind::Name { &DataType::String } else { kind };
        let name = PlSmallStr::from_static(column.name);
        // Other readers know the older layouts, and the pages are the same.
        let mut field = kind.to_arrow_field(name.clone(), CompatLevel::oldest());
        let said = Arc::make_mut(field.metadata.get_or_insert_default());
        said.insert("about".into(), column.about.into());
        if column.kind == ColumnKind::Time {
            said.insert("unit".into(), what.unit.into());
        }
        Some((name, field))
    });
    let schema: ArrowSchema = fields.collect();
    let arrow = schema_to_metadata_key(&schema);
    vec![
        (arrow.key, arrow.value.unwrap_or_default()),
        (SCHEMA_KEY.into(), what.table.version.into()),
        (UNIT_KEY.into(), what.unit.into()),
        (RUNS_KEY.into(), what.runs.join("\n")),
        ("profctl.producer".into(), what.producer.into()),
    ]
}
