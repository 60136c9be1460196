//! Parquet: zstd, statistics in every row group so that engines can skip it, the unit and the
//! meaning of a column in its metadata.

use std::io::Write;
use std::sync::Arc;

use polars::prelude::{ArrowSchema, CompatLevel, DataFrame, PlSmallStr};
use polars_io::parquet::write::{
    BatchedWriter, KeyValueMetadata, ParquetCompression, ParquetWriter, StatisticsOptions,
};
use polars_parquet::write::schema_to_metadata_key;
use profctl_model::tables::{ColumnKind, TableSchema};
use profctl_model::{SpanRow, Table};

use crate::columns::{SpanNames, frame_of, frame_of_spans, schema_of};
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
}

/// A file being written, a row group a call.
pub struct ParquetFile<W: Write> {
    table: &'static TableSchema,
    writer: BatchedWriter<W>,
}

impl<W: Write> ParquetFile<W> {
    /// Begins one.
    pub fn new(out: W, what: &Described<'_>) -> Result<Self, Error> {
        let writer = ParquetWriter::new(out)
            .with_compression(ParquetCompression::Zstd(None))
            .with_statistics(StatisticsOptions::full())
            .with_key_value_metadata(Some(KeyValueMetadata::from_static(metadata(what))))
            .batched(&schema_of(what.table))?;
        Ok(Self { table: what.table, writer })
    }

    /// Appends calls.
    pub fn spans(&mut self, names: &SpanNames, rows: &[SpanRow]) -> Result<(), Error> {
        self.frame(&frame_of_spans(names, rows)?)
    }

    /// Appends the rows of a table.
    pub fn table(&mut self, table: &Table) -> Result<(), Error> {
        self.frame(&frame_of(table, self.table)?)
    }

    fn frame(&mut self, frame: &DataFrame) -> Result<(), Error> {
        Ok(self.writer.write_batch(frame)?)
    }

    /// Ends it; what was handed in as `out` then holds all of it.
    pub fn finish(self) -> Result<(), Error> {
        self.writer.finish()?;
        Ok(())
    }
}

/// What the file says beside its rows, and the columns with what each says of itself.
fn metadata(what: &Described<'_>) -> Vec<(String, String)> {
    let types = schema_of(what.table);
    let fields = what.table.columns.iter().map(|column| {
        let kind = types.get(column.name).expect("every column has a type");
        let name = PlSmallStr::from_static(column.name);
        // Other readers know the older layouts, and the pages are the same.
        let mut field = kind.to_arrow_field(name.clone(), CompatLevel::oldest());
        let said = Arc::make_mut(field.metadata.get_or_insert_default());
        said.insert("about".into(), column.about.into());
        if column.kind == ColumnKind::Time {
            said.insert("unit".into(), what.unit.into());
        }
        (name, field)
    });
    let schema: ArrowSchema = fields.collect();
    let arrow = schema_to_metadata_key(&schema);
    vec![
        (arrow.key, arrow.value.unwrap_or_default()),
        ("profctl.schema".into(), what.table.version.into()),
        ("profctl.unit".into(), what.unit.into()),
        ("profctl.producer".into(), what.producer.into()),
    ]
}
