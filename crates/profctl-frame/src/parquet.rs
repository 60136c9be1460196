//! Parquet: zstd, statistics in every row group so that engines can skip it, the unit and the
//! meaning of a column in its metadata.

use std::io::Write;
use std::sync::Arc;

use polars::prelude::{ArrowSchema, CompatLevel, DataFrame, PlSmallStr, Schema};
use polars_io::parquet::write::{
    BatchedWriter, KeyValueMetadata, ParquetCompression, ParquetWriter, StatisticsOptions,
};
use polars_parquet::write::schema_to_metadata_key;
use profctl_model::tables::{ColumnKind, TableSchema};
use profctl_model::{SpanRow, Table};

use crate::columns::{
    SpanColumns, SpanNames, frame_of, frame_of_report, frame_of_spans, schema_of,
};
use crate::error::Error;

/// What a file says of itself.
#[derive(Clone, Copy, Debug)]
pub struct Described<'a> {
    /// Which table is in it.
    pub table: &'static TableSchema,
    /// What its times are counted in.
    pub unit: &'a str,
    /// Who wrote it: a name and a version.
    pub producer: &'a str,
    /// Whether the run is identified by the directory that the file is in, and so not by a column.
    pub partitioned: bool,
}

/// A file being written, a row group a call.
pub struct ParquetFile<W: Write> {
    table: &'static TableSchema,
    partitioned: bool,
    writer: BatchedWriter<W>,
}

impl<W: Write> ParquetFile<W> {
    /// Begins one.
    pub fn new(out: W, what: &Described<'_>) -> Result<Self, Error> {
        let writer = ParquetWriter::new(out)
            .with_compression(ParquetCompression::Zstd(None))
            .with_statistics(StatisticsOptions::full())
            .with_key_value_metadata(Some(KeyValueMetadata::from_static(metadata(what))))
            .batched(&types_in(what))?;
        Ok(Self { table: what.table, partitioned: what.partitioned, writer })
    }

    /// Appends calls.
    pub fn spans(&mut self, names: &SpanNames, rows: &[SpanRow]) -> Result<(), Error> {
        self.frame(frame_of_spans(names, rows, &SpanColumns::default())?)
    }

    /// Appends the rows of a table.
    pub fn table(&mut self, table: &Table) -> Result<(), Error> {
        self.frame(frame_of(table, self.table)?)
    }

    fn frame(&mut self, mut frame: DataFrame) -> Result<(), Error> {
        if self.partitioned {
            frame = frame.drop(RUN)?;
        }
        Ok(self.writer.write_batch(&frame)?)
    }

    /// Ends it; what was handed in as `out` then holds all of it.
    pub fn finish(self) -> Result<(), Error> {
        self.writer.finish()?;
        Ok(())
    }
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

fn types_in(what: &Described<'_>) -> Schema {
    let mut types = schema_of(what.table);
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
        ("profctl.producer".into(), what.producer.into()),
    ]
}
