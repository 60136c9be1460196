//! Tables that were written with [`crate::ParquetFile`] and are read in place.

use std::io::{ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

use polars::prelude::*;
use polars_parquet::read::read_metadata;
use profctl_model::tables::{ALL, SPANS, TableSchema};

use crate::columns::{SpanColumns, as_sql};
use crate::error::Error;
use crate::parquet::{RUN, RUNS_KEY, SCHEMA_KEY, UNIT_KEY};

/// A file of rows of one table.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stored {
    path: PathBuf,
    /// Which table is in it.
    pub table: &'static TableSchema,
    /// The columns that are in it, or in the name of its directory.
    columns: Vec<&'static str>,
    /// What its times are counted in.
    pub unit: String,
    /// What it says of each run in it, as it was given to [`crate::Described::runs`].
    pub runs: Vec<String>,
    /// Whether its run is not in a column, but in the name of the directory that it is in.
    pub is_part: bool,
}

impl Stored {
    /// The calls that were just written to `path`.
    pub(crate) fn spans(path: &Path, columns: &SpanColumns) -> Self {
        Self {
            path: path.to_owned(),
            table: &SPANS,
            columns: columns.names().to_vec(),
            unit: String::new(),
            runs: Vec::new(),
            is_part: false,
        }
    }

    /// Looks at an open file, which lies at `path`: nothing if it is not Parquet. `is_part`:
    /// whether it is in a directory that names its run. Fails if it cannot be read, or has none of the
    /// tables.
    pub fn of(
        mut file: impl Read + Seek,
        path: &Path,
        is_part: bool,
    ) -> Result<Option<Self>, Error> {
        let mut magic = [0; 4];
        match file.read_exact(&mut magic) {
            Ok(()) if magic == *b"PAR1" => {}
            Ok(()) => return Ok(None),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(PolarsError::from(error).into()),
        }
        let about = read_metadata(&mut file)
            .map_err(|error| Error::File(format!("damaged or cut Parquet: {error}")))?;
        let said = |key: &str| {
            let mut pairs = about.key_value_metadata.iter().flatten();
            pairs.find(|pair| pair.key == key).and_then(|pair| pair.value.clone())
        };
        let Some(version) = said(SCHEMA_KEY) else {
            return Err(Error::File("a Parquet file that was not written by profctl".into()));
        };
        let Some(table) = ALL.into_iter().find(|table| table.version == version) else {
            return Err(Error::File(format!(
                "a Parquet file of {version}, expected a table that `profctl convert` writes"
            )));
        };
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let has = |name: &str| {
            about.schema_descr.columns().iter().any(|column| column.path_in_schema[0] == name)
        };
        let mut missing = columns.iter().filter(|name| !has(name));
        let missing = missing.find(|name| !(is_part && **name == RUN));
        if let Some(missing) = missing {
            return Err(Error::File(format!("has no column {missing}, expected {version}")));
        }
        let unit = said(UNIT_KEY).unwrap_or_default();
        let is_part = is_part && !has(RUN);
        let runs = said(RUNS_KEY).unwrap_or_default();
        let runs = runs.lines().map(str::to_owned).collect();
        Ok(Some(Self { path: path.to_owned(), table, columns, unit, runs, is_part }))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

/// The rows of files of one table, whole files or parts of one dataset; only what a query needs of
/// them is read. One scan, as a union counts its rows with numbers that this engine is built without.
pub(crate) fn scan(files: &[Stored]) -> PolarsResult<LazyFrame> {
    let paths = files.iter().map(|file| PlRefPath::try_from_path(&file.path));
    let paths: Vec<PlRefPath> = paths.collect::<PolarsResult<_>>()?;
    let mut hive_options = HiveOptions { enabled: Some(false), ..HiveOptions::default() };
    if let (Some(first), Some(path)) = (files.first().filter(|file| file.is_part), paths.first()) {
        // `run=NAME/FILE` is at the end of the path of each.
        let names = first.path.iter().rev().take(2).map(|name| name.to_string_lossy().len() + 1);
        let start = path.as_str().len().saturating_sub(names.sum());
        let types = Schema::from_iter([(RUN.into(), DataType::String)]);
        hive_options = HiveOptions {
            enabled: Some(true),
            hive_start_idx: start,
            schema: Some(types.into()),
            try_parse_dates: false,
        };
    }
    let options = ScanArgsParquet { glob: false, hive_options, ..ScanArgsParquet::default() };
    let rows = LazyFrame::scan_parquet_files(paths.into(), options)?;
    // Files of one table have the same columns.
    let columns = files.first().into_iter().flat_map(|file| &file.columns);
    let columns: Vec<Expr> = columns.map(|&name| col(name)).collect();
    let mut rows = rows.select(columns);
    let types = rows.collect_schema()?;
    Ok(as_sql(rows, &types))
}

#[cfg(test)]
mod tests {
    use polars_io::parquet::write::{KeyValueMetadata, ParquetWriter};
    use profctl_model::Cell;
    use profctl_model::tables::FUNCTIONS;

    use super::*;
    use crate::Database;
    use crate::columns::schema_of;

    /// As polars and pyarrow store a table that they read as categories.
    #[test]
    fn a_file_may_declare_names_as_categories() {
        let file = tempfile::NamedTempFile::new().expect("a new file");
        let types = schema_of(&FUNCTIONS);
        let columns = types
            .iter()
            .map(|(name, kind)| Ok(Series::new(name.clone(), ["abc", "xyz"]).cast(kind)?.into()));
        let columns = columns.collect::<PolarsResult<_>>().expect("names, and nulls elsewhere");
        let mut frame = DataFrame::new(2, columns).expect("columns of one length");
        let said = vec![(SCHEMA_KEY.to_owned(), FUNCTIONS.version.to_owned())];
        ParquetWriter::new(file.as_file())
            .with_key_value_metadata(Some(KeyValueMetadata::from_static(said)))
            .finish(&mut frame)
            .expect("it is written");
        let opened = file.reopen().expect("the file");
        let stored = Stored::of(opened, file.path(), false).expect("a table").expect("Parquet");
        let mut database = Database::default();
        database.add_stored(stored);
        let answer = database.ask("SELECT name || '!' AS n FROM functions WHERE name LIKE 'a%'");
        assert_eq!(answer.expect("names are text").rows, [[Cell::Text("abc!".into())]]);
    }
}
