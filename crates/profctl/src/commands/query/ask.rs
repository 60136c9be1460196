//! The query itself, in a build with SQL.

use std::fs;
use std::path::PathBuf;

use profctl_analyze::summarize::By;
use profctl_analyze::tables::RunHead;
use profctl_frame::{
    Database, Described, Error, ParquetFile, SpanBatch, SpanColumns, SpanNames, span_columns,
    tables_of,
};
use profctl_model::tables::{
    ALL, ColumnKind, EVENTS, GAPS, SPANS, STATES, THREADS, TableSchema, WAKES,
};
use profctl_model::{Cell, Column, Role, Table, Timebase};
use profctl_render::table::{self, Format};

use super::Args;
use super::datasets::Datasets;
use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::input::session::Session;
use crate::output::{self, NewFile};
use crate::read;
use crate::runs::{IN_MEMORY, Runs, Traced, Wanted, no_room};

/// A failure of the tables in the words of the program.
pub(crate) fn of_frame(error: Error) -> Failure {
    match error {
        Error::Query(message) => Failure::usage(message),
        Error::File(message) => Failure::usage(format!("not written: {message}")),
    }
}

pub(super) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    global.refuse_unit().map_err(|failure| {
        failure
            .hint("times are integers in the unit that `query --schema TRACE` shows: divide them")
    })?;
    if args.schema {
        return schema(args, global);
    }
    let (sql, traces) = args.arguments.split_last().expect("clap asks for one without --schema");
    let sql = sql.to_str().ok_or_else(|| Failure::usage("the query is not UTF-8 text"))?;
    if traces.is_empty() {
        return Err(Failure::usage("a trace or a query is missing: profctl query TRACE… SQL"));
    }
    let tables = tables_of(sql).map_err(|error| explained(error, &[]))?;
    if let Some(datasets) = Datasets::of(traces, args)? {
        answer(args, sql, &tables, &datasets.database(&tables)?, global)?;
        return Ok(Exit::Done);
    }
    let columns = span_columns(sql).map_err(|error| explained(error, &tables))?;
    let memory = args.memory.unwrap_or_else(free);
    let mut wanted = Wanted::of(&tables, IN_MEMORY);
    let figures = columns.figures().filter(|_| wanted.calls);
    if figures.is_some() {
        wanted.figures = figures.as_deref();
        if let [only] = traces
            && !only.is_dir()
        {
            // Blocks of figures are freed while columns are made of them.
            wanted.in_memory = memory;
        }
    }
    let mut runs = Runs::read(traces, session(args, global)?, wanted)?;
    let database = database(&mut runs, &tables, (memory, &columns), global)?;
    answer(args, sql, &tables, &database, global)?;
    runs.session.say_quality();
    Ok(runs.session.exit())
}

/// Writes the answer, or how it would be found.
fn answer(
    args: &Args,
    sql: &str,
    tables: &[&TableSchema],
    database: &Database,
    global: &Global,
) -> Result<(), Failure> {
    let explained = |error| explained(error, tables);
    if args.explain {
        let plan = database.explain(sql).map_err(explained)?;
        output::write_bytes(format!("{}\n", plan.trim_end()).as_bytes(), global)?;
    } else if global.format() == Format::Parquet {
        let mut out = NewFile::of(global)?;
        database.store(sql, &mut out).map_err(explained)?;
        out.close(Ok(()))?;
    } else {
        write(&database.ask(sql).map_err(explained)?, global)?;
    }
    Ok(())
}

fn session<'a>(args: &'a Args, global: &'a Global) -> Result<Session<'a>, Failure> {
    Session::new(&args.reading, &args.selection, By::Function, global)
}

fn write(answer: &Table, global: &Global) -> Result<(), Failure> {
    if global.format() != Format::Json {
        return output::write_table(answer, global);
    }
    let mut bytes = Vec::new();
    table::write_array(answer, &mut bytes).expect("memory takes what is written to it");
    output::write_bytes(&bytes, global)
}

/// Bytes that the columns of calls take by default: a quarter of the free memory, as the engine needs
/// about as much again for an answer. 512 MB where a system does not say how much is free.
fn free() -> u64 {
    let free = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()
    });
    free.map_or(1 << 29, |kilobytes| kilobytes / 4 * 1024)
}

/// The tables that the query names, and no others. Calls that are too many for memory go to a file.
fn database(
    runs: &mut Runs<'_>,
    tables: &[&'static TableSchema],
    (memory, columns): (u64, &SpanColumns),
    global: &Global,
) -> Result<Database, Failure> {
    let mut database = Database::default();
    let of_traces = [&SPANS, &THREADS, &STATES, &WAKES, &EVENTS, &GAPS].map(|table| table.name);
    let missing = tables.iter().map(|table| table.name).find(|name| of_traces.contains(name));
    if let Some(missing) = missing {
        for run in runs.all.iter().filter(|run| run.trace.is_none()) {
            let name = &run.name;
            read::say(&format!("{name}: a saved profile holds sums: it has no {missing}"), global);
        }
    }
    for &schema in tables.iter().filter(|schema| schema.name != SPANS.name) {
        for run in &runs.all {
            database.add(schema, &run.table(schema, runs.unit)).map_err(of_frame)?;
        }
    }
    if !tables.iter().any(|schema| schema.name == SPANS.name) {
        return Ok(database);
    }
    let unit = runs.unit.name();
    let what = Described {
        table: &SPANS,
        columns,
        unit: &unit,
        producer: "profctl",
        runs: &[],
        partitioned: false,
        workers: runs.session.workers(),
    };
    let in_memory = memory / columns.bytes_a_call();
    let path = (runs.calls() > in_memory).then(|| runs.temporary.path("spans"));
    let path = path.transpose().map_err(|error| no_room(&error))?;
    let mut out = path.as_deref().map(NewFile::at).transpose()?;
    let mut file = match &mut out {
        Some(out) => Some(ParquetFile::new(out, &what).map_err(of_frame)?),
        None => None,
    };
    for run in &mut runs.all {
        let Some(trace) = &run.trace else { continue };
        let names = span_names(trace)?;
        run.each_batch(SpanBatch::new(&names, columns), |batch| {
            match &mut file {
                Some(file) => file.spans(batch),
                None => database.add_spans(batch),
            }
            .map_err(of_frame)
        })?;
        run.each_block_of_figures(|block| {
            match &mut file {
                Some(file) => file.figures(&names, block),
                None => database.add_figures(&names, block, columns),
            }
            .map_err(of_frame)
        })?;
    }
    if let Some(file) = file {
        file.finish().map_err(of_frame)?;
    }
    if let (Some(out), Some(path)) = (out, path) {
        out.close(Ok(()))?;
        database.add_span_file(&path, columns);
    }
    Ok(database)
}

/// The names that the calls of a trace have in tables.
pub(crate) fn span_names(trace: &Traced) -> Result<SpanNames, Failure> {
    let RunHead { run, names, labels, meta, .. } = &trace.head;
    SpanNames::new(run, names, labels, meta.knows_off_cpu).map_err(of_frame)
}

/// Says what there is where the query names what there is not.
fn explained(error: Error, tables: &[&TableSchema]) -> Failure {
    let message = error.to_string();
    let mut failure = of_frame(error);
    if message.starts_with("no column") {
        for table in tables {
            let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
            failure = failure.hint(format!("{} has {}", table.name, names.join(", ")));
        }
    } else if message.contains("relation") {
        let names = ALL.map(|table| table.name);
        failure = failure.hint(format!("the tables are {}", names.join(", ")));
    }
    failure
}

/// What `--schema` shows.
fn schema(args: &Args, global: &Global) -> Result<Exit, Failure> {
    let unit =
        if args.arguments.is_empty() { None } else { Some(unit(&args.arguments, args, global)?) };
    let columns = ["table", "column", "type", "unit", "meaning"];
    let columns = columns.map(|name| Column::new(name, name, Role::Text)).into();
    let mut shown = Table::new("profctl.query-schema/1", Timebase::NANOSECONDS, columns);
    for table in ALL {
        for column in table.columns {
            let unit = match (column.kind, &unit) {
                (ColumnKind::Time, Some(unit)) => Cell::Text(unit.clone()),
                (ColumnKind::Time, None) => "time".into(),
                (ColumnKind::Percent, _) => "%".into(),
                _ => Cell::Null,
            };
            let meaning = column.about.into();
            let (name, kind) = (column.name.into(), column.kind.sql().into());
            shown.push(vec![table.name.into(), name, kind, unit, meaning]);
        }
    }
    write(&shown, global)?;
    Ok(Exit::Done)
}

fn unit(traces: &[PathBuf], args: &Args, global: &Global) -> Result<String, Failure> {
    if let Some(datasets) = Datasets::of(traces, args)? {
        return Ok(datasets.unit);
    }
    let wanted = Wanted::of(&[], IN_MEMORY);
    let runs = Runs::read(traces, session(args, global)?, wanted)?;
    Ok(runs.unit.name())
}
