//! Traces as tables: CSV and JSON lines, and, in a build with SQL, Parquet.

use std::path::PathBuf;

use profctl_model::tables::{ALL, SPANS, TableSchema};
use profctl_render::table;

use super::lines::{Form, Lines, heading};
use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::input::session::Session;
use crate::output::NewFile;
use crate::outputs::TableFile;
use crate::runs::{BYTES_A_CALL, IN_MEMORY, Runs, Wanted};
use crate::spooled::Limits;
use crate::style;

/// The options of tables.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Tables")]
pub(crate) struct TableArgs {
    /// Table to write
    #[arg(long, value_name = "TABLE", default_value = SPANS.name, value_parser = table_names())]
    table: String,
    /// Write Parquet as a directory with a part per trace, `FILE/run=NAME/part-0.parquet`
    #[arg(long)]
    partition: bool,
    /// Calls that are held in memory; more wait in temporary files
    #[arg(long, value_name = "CALLS", hide = true)]
    spill_above: Option<u64>,
}

impl TableArgs {
    /// What of a trace stays in memory when it is written for a viewer.
    pub(super) fn limits(&self) -> Limits {
        self.spill_above.map_or_else(Limits::default, Limits::of_calls)
    }
}

fn table_names() -> clap::builder::PossibleValuesParser {
    ALL.map(|table| clap::builder::PossibleValue::new(table.name).help(table.about)).into()
}

pub(crate) fn run(
    file: TableFile,
    args: &TableArgs,
    traces: &[PathBuf],
    session: Session<'_>,
    global: &Global,
) -> Result<Exit, Failure> {
    let schema = ALL.into_iter().find(|table| table.name == args.table);
    let schema = schema.expect("clap lets only names of tables through");
    if args.partition && file != TableFile::Parquet {
        return Err(Failure::usage("--partition is for Parquet: --format parquet"));
    }
    if file == TableFile::Parquet {
        parquet::check()?;
    }
    let bytes = args.spill_above.map(|calls| calls.saturating_mul(BYTES_A_CALL));
    let wanted = Wanted::of(&[schema], bytes.unwrap_or(IN_MEMORY));
    let mut runs = Runs::read(traces, session, wanted)?;
    match file {
        TableFile::Csv => text(Form::Csv, schema, &mut runs, global),
        TableFile::JsonLines => text(Form::Json, schema, &mut runs, global),
        TableFile::Parquet => parquet::write(schema, &mut runs, args.partition, global),
    }?;
    runs.session.say_quality();
    Ok(runs.session.exit())
}

fn text(
    form: Form,
    schema: &'static TableSchema,
    runs: &mut Runs<'_>,
    global: &Global,
) -> Result<(), Failure> {
    let mut out = NewFile::of(global)?;
    if schema.name != SPANS.name {
        let mut all = schema.empty();
        for run in &runs.all {
            all.rows.append(&mut run.table(schema, runs.unit).rows);
        }
        let format = table::Format::Csv;
        let written = match form {
            Form::Csv => table::write(&all, format, &style::of(global), &mut out),
            Form::Json => table::write_lines(&all, &mut out),
        };
        return out.close(written);
    }
    let mut written = heading(form, &mut out);
    for run in &mut runs.all {
        let Some(lines) = Lines::new(form, run, global.csv_safe) else { continue };
        run.each_block(|rows| {
            if written.is_ok() {
                written = rows.iter().try_for_each(|row| lines.write(row, &mut out));
            }
            Ok(())
        })?;
    }
    out.close(written)
}

#[cfg(feature = "tables")]
mod parquet {
    //! The part that needs polars.

    use std::fs;
    use std::io::Write;

    use profctl_frame::{Described, ParquetFile, SpanBatch, SpanColumns};

    use super::{Failure, Global, NewFile, Runs, SPANS, TableSchema};
    use crate::commands::query::{of_frame, span_names};
    use crate::input::PARTITION;
    use crate::runs::Run;

    #[expect(clippy::unnecessary_wraps, reason = "a build without SQL fails")]
    pub(super) fn check() -> Result<(), Failure> {
        Ok(())
    }

    pub(super) fn write(
        schema: &'static TableSchema,
        runs: &mut Runs<'_>,
        partition: bool,
        global: &Global,
    ) -> Result<(), Failure> {
        let unit = runs.unit.name();
        let all = heads(schema, &runs.all);
        let what = Described {
            table: schema,
            columns: &SpanColumns::default(),
            unit: &unit,
            producer: PRODUCER,
            runs: &all,
            partitioned: partition,
            workers: runs.session.workers(),
        };
        if !partition {
            let mut out = NewFile::of(global)?;
            let mut file = ParquetFile::new(&mut out, &what).map_err(of_frame)?;
            for run in 0..runs.all.len() {
                write_run(run, schema, runs, &mut file)?;
            }
            file.finish().map_err(of_frame)?;
            return out.close(Ok(()));
        }
        let Some(root) = &global.out_file else {
            return Err(Failure::usage("--partition makes a directory: name it with -o"));
        };
        if root.exists() {
            return Err(Failure::usage(format!("{}: already exists", root.display())));
        }
        for run in 0..runs.all.len() {
            let directory = root.join(format!("{PARTITION}{}", encoded(&runs.all[run].name)));
            fs::create_dir_all(&directory)
                .map_err(|error| Failure::output(directory.display().to_string(), &error))?;
            let mut out = NewFile::at(&directory.join("part-0.parquet"))?;
            let head = heads(schema, &runs.all[run..=run]);
            let what = Described { runs: &head, ..what };
            let mut file = ParquetFile::new(&mut out, &what).map_err(of_frame)?;
            write_run(run, schema, runs, &mut file)?;
            file.finish().map_err(of_frame)?;
            out.close(Ok(()))?;
        }
        Ok(())
    }

    const PRODUCER: &str = concat!("profctl ", env!("CARGO_PKG_VERSION"));

    /// What a file of calls says of its runs, so that it reads back as a trace.
    fn heads(schema: &TableSchema, runs: &[Run]) -> Vec<String> {
        let traces = runs.iter().filter(|_| schema.name == SPANS.name).flat_map(|run| &run.trace);
        traces.map(|trace| trace.head.to_json()).collect()
    }

    fn write_run<W: Write>(
        index: usize,
        schema: &'static TableSchema,
        runs: &mut Runs<'_>,
        file: &mut ParquetFile<W>,
    ) -> Result<(), Failure> {
        let unit = runs.unit;
        let run: &mut Run = &mut runs.all[index];
        if schema.name != SPANS.name {
            return file.table(&run.table(schema, unit)).map_err(of_frame);
        }
        let Some(trace) = &run.trace else { return Ok(()) };
        let names = span_names(trace)?;
        let batch = SpanBatch::new(&names, &SpanColumns::default());
        run.each_batch(batch, |batch| file.spans(batch).map_err(of_frame))
    }

    /// The name of a run in that of a directory, percent-encoded as engines expect it.
    fn encoded(name: &str) -> String {
        let one = |byte: u8| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => {
                char::from(byte).to_string()
            }
            _ => format!("%{byte:02X}"),
        };
        name.bytes().map(one).collect()
    }

    #[cfg(test)]
    mod tests {
        #[test]
        fn names_of_runs_are_names_of_directories() {
            assert_eq!(super::encoded("boot 1/run=ä.txt"), "boot%201%2Frun%3D%C3%A4.txt");
        }
    }
}

#[cfg(not(feature = "tables"))]
mod parquet {
    //! The error of a build without SQL.

    use super::{Failure, Global, Runs, TableSchema};

    pub(super) fn check() -> Result<(), Failure> {
        Err(Failure::without_tables("Parquet"))
    }

    pub(super) fn write(
        _: &'static TableSchema,
        _: &mut Runs<'_>,
        _: bool,
        _: &Global,
    ) -> Result<(), Failure> {
        Err(Failure::without_tables("Parquet"))
    }
}
