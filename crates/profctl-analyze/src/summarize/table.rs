//! A profile as a table: McRae's columns, or whichever were asked for.

use std::cmp::Ordering;

use profctl_model::{Cell, Column, FuncKind, Role, Table, Ticks};

use super::profile::{Profile, Row};
use super::quality::{NO_CALLS, NO_DURATIONS, count};

/// Whether a row of that name and module is shown.
pub type Matching<'a> = dyn Fn(&str, Option<&str>) -> bool + 'a;

/// What of a profile to show.
pub struct TableOptions<'a> {
    /// The column to sort by: numbers from the largest, text from the smallest; ties by name.
    pub sort: String,
    /// How many rows at most.
    pub top: Option<usize>,
    /// Which rows to show, by name and module.
    pub matching: Option<&'a Matching<'a>>,
    /// The columns to show, by name, in this order; McRae's if not given.
    pub columns: Option<Vec<String>>,
    /// Which percentiles of net and elapsed to show besides, each above 0 and at most 100.
    pub percentiles: Vec<f64>,
    /// What one probe event costs; shows corrected times next to the raw ones.
    pub overhead: Option<Ticks>,
}

impl Default for TableOptions<'_> {
    fn default() -> Self {
        Self {
            sort: "net".into(),
            top: None,
            matching: None,
            columns: None,
            percentiles: Vec::new(),
            overhead: None,
        }
    }
}

const SCHEMA: &str = "profctl.summary-table/1";
const GROUP_OF_NET: &str = "(max/avg/min)";
const GROUP_OF_ELAPSED: &str = "elapsed (max/avg/min)";

/// McRae's columns, in their original order.
const DEFAULT_COLUMNS: [&str; 9] =
    ["elapsed", "net", "calls", "net_max", "net_avg", "net_min", "real_pct", "net_pct", "name"];

/// The columns that leave a narrow table before the others.
const LEFT_OUT_FIRST: [&str; 12] = [
    "real_pct",
    "kind",
    "module",
    "elapsed_max",
    "interrupted",
    "stolen",
    "off_cpu",
    "wall",
    "partial",
    "net_stddev",
    "net_max",
    "elapsed",
];

/// What a column is made from.
struct Context<'a> {
    profile: &'a Profile,
    busy: u64,
    overhead: Option<Ticks>,
}

/// How a cell is made.
type CellOf = dyn Fn(&Row, &Context<'_>) -> Cell;

/// A column that can be shown and sorted by.
struct Field {
    column: Column,
    cell: Box<CellOf>,
}

/// Every column with a fixed name: its name, heading, role, group, and how its cell is made.
type Known =
    (&'static str, &'static str, Role, Option<&'static str>, fn(&Row, &Context<'_>) -> Cell);

static KNOWN: &[Known] = &[
    ("elapsed", "Elapsed", Role::Time, None, |row, _| time(row.stats.elapsed)),
    ("elapsed_corrected", "Elapsed corrected", Role::Time, None, |row, context| {
        corrected(context, |cost| row.stats.elapsed_corrected(cost))
    }),
    ("net", "Net", Role::Time, None, |row, _| time(row.stats.net)),
    ("net_corrected", "Net corrected", Role::Time, None, |row, context| {
        corrected(context, |cost| row.stats.net_corrected(cost))
    }),
    ("calls", "# calls", Role::Count, None, |row, _| Cell::Count(row.stats.calls)),
    ("partial", "# incomplete", Role::Count, None, |row, _| Cell::Count(row.stats.partial)),
    ("net_max", "max", Role::Time, Some(GROUP_OF_NET), |row, _| {
        of_calls(row, row.stats.net_of_calls.max)
    }),
    ("net_avg", "avg", Role::Time, Some(GROUP_OF_NET), |row, _| {
        time_or_null(row.stats.net_of_calls.avg(row.stats.measured()))
    }),
    ("net_min", "min", Role::Time, Some(GROUP_OF_NET), |row, _| {
        of_calls(row, row.stats.net_of_calls.min)
    }),
    ("net_stddev", "stddev", Role::Time, None, |row, _| {
        time_or_null(row.stats.net_of_calls.stddev(row.stats.measured()))
    }),
    ("elapsed_max", "max", Role::Time, Some(GROUP_OF_ELAPSED), |row, _| {
        of_calls(row, row.stats.elapsed_of_calls.max)
    }),
    ("elapsed_avg", "avg", Role::Time, Some(GROUP_OF_ELAPSED), |row, _| {
        time_or_null(row.stats.elapsed_of_calls.avg(row.stats.measured()))
    }),
    ("elapsed_min", "min", Role::Time, Some(GROUP_OF_ELAPSED), |row, _| {
        of_calls(row, row.stats.elapsed_of_calls.min)
    }),
    ("wall", "Wall", Role::Time, None, |row, _| time(row.stats.wall)),
    ("off_cpu", "Off CPU", Role::Time, None, |row, context| {
        time_or_null(context.profile.knows_off_cpu.then_some(row.stats.off_cpu))
    }),
    ("stolen", "Stolen", Role::Time, None, |row, _| time(row.stats.stolen)),
    ("interrupted", "Interrupted", Role::Time, None, |row, _| time(row.stats.interrupted)),
    ("real_pct", "% real", Role::Percent, None, |row, context| {
        context.profile.real_pct(row).map_or(Cell::Null, Cell::Percent)
    }),
    ("net_pct", "% net", Role::Percent, None, |row, context| {
        context.profile.net_pct(row, context.busy).map_or(Cell::Null, Cell::Percent)
    }),
    ("module", "module", Role::Text, None, |row, _| text_or_null(row.module.as_deref())),
    ("kind", "kind", Role::Text, None, |row, _| text_or_null(row.kind.map(FuncKind::name))),
    ("name", "name", Role::Name, None, |row, _| row.name.as_str().into()),
];

fn time(ticks: u64) -> Cell {
    Cell::Time(Ticks(ticks))
}

fn time_or_null(ticks: Option<u64>) -> Cell {
    ticks.map_or(Cell::Null, time)
}

fn text_or_null(text: Option<&str>) -> Cell {
    text.map_or(Cell::Null, Cell::from)
}

fn of_calls(row: &Row, ticks: u64) -> Cell {
    time_or_null((row.stats.measured() > 0).then_some(ticks))
}

fn corrected(context: &Context<'_>, of: impl Fn(u64) -> u64) -> Cell {
    time_or_null(context.overhead.map(|cost| of(cost.0)))
}

impl Profile {
    /// The rows that `options` ask for. Fails, naming what there is, if a column is unknown or
    /// needs something that was not collected.
    pub fn table(&self, options: &TableOptions<'_>) -> Result<Table, String> {
        let context = Context { profile: self, busy: self.busy(), overhead: options.overhead };
        let names = chosen_columns(options)?;
        let fields: Vec<Field> =
            names.iter().map(|name| self.field(name, options)).collect::<Result<_, _>>()?;
        // Without durations, sort by the number of calls.
        let by_calls = !self.knows_lengths() && options.sort == TableOptions::default().sort;
        let key = self.field(if by_calls { "calls" } else { &options.sort }, options)?;

        let matches = |row: &&Row| {
            options.matching.is_none_or(|matching| matching(&row.name, row.module.as_deref()))
        };
        let mut rows: Vec<(Cell, &Row)> =
            self.rows.iter().filter(matches).map(|row| ((key.cell)(row, &context), row)).collect();
        rows.sort_by(|(a_key, a), (b_key, b)| {
            let by_name = || (&a.name, &a.module).cmp(&(&b.name, &b.module));
            compare(a_key, b_key).then_with(by_name)
        });
        rows.truncate(options.top.unwrap_or(usize::MAX));

        let columns = fields.iter().map(|field| field.column.clone()).collect();
        let mut table = Table::new(SCHEMA, self.timebase, columns);
        table.left_out_first = &LEFT_OUT_FIRST;
        for (_, row) in rows {
            let cells = fields.iter().map(|field| match (field.cell)(row, &context) {
                Cell::Time(_) if !self.knows_lengths() => Cell::Null,
                cell => cell,
            });
            table.push(cells.collect());
        }
        table.notes = self.notes();
        Ok(table)
    }

    /// What a reader of any table must know.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.quality.notes(self.timebase.timeline);
        let partial = self.partial();
        if !self.knows_lengths() && !self.rows.is_empty() {
            notes.push(NO_DURATIONS.into());
        }
        if self.rows.is_empty() {
            notes.push(NO_CALLS.into());
        }
        if partial > 0 {
            let calls = count(partial, "incomplete call", "incomplete calls");
            notes.push(format!("{calls}: in totals, not in calls or max/avg/min"));
        }
        notes
    }

    /// The column called `name`.
    fn field(&self, name: &str, options: &TableOptions<'_>) -> Result<Field, String> {
        if let Some(&(name, heading, role, group, cell)) =
            KNOWN.iter().find(|known| known.0 == name)
        {
            if name.ends_with("_corrected") && options.overhead.is_none() {
                return Err(format!("column `{name}` needs `--overhead`, the cost of an event"));
            }
            let column = Column { group, ..Column::new(name, heading, role) };
            return Ok(Field { column, cell: Box::new(cell) });
        }
        let Some((measure, percent)) = percent_of(name) else {
            let known: Vec<&str> = KNOWN.iter().map(|known| known.0).collect();
            let near = crate::find::nearest(name, known.iter().copied());
            let near = near.map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            let known = known.join(", ");
            return Err(format!(
                "unknown column `{name}`{near} (columns: {known}, net_p50 and elapsed_p50 for any \
                 percentile)"
            ));
        };
        if !self.has_percentiles {
            return Err(format!(
                "column {name} needs histograms, which this profile does not have"
            ));
        }
        let heading = match measure {
            Percentiles::Net => format!("p{percent}"),
            Percentiles::Elapsed => format!("elapsed p{percent}"),
        };
        let column = Column::new(measure.column(percent), heading, Role::Time).estimated();
        let cell = move |row: &Row, _: &Context<'_>| {
            let lengths = match measure {
                Percentiles::Net => &row.stats.net_of_calls,
                Percentiles::Elapsed => &row.stats.elapsed_of_calls,
            };
            time_or_null(lengths.percentile(percent))
        };
        Ok(Field { column, cell: Box::new(cell) })
    }
}

/// What a percentile is of.
#[derive(Clone, Copy)]
enum Percentiles {
    Net,
    Elapsed,
}

impl Percentiles {
    fn column(self, percent: f64) -> String {
        match self {
            Self::Net => format!("net_p{percent}"),
            Self::Elapsed => format!("elapsed_p{percent}"),
        }
    }
}

/// The percentile that a column such as `net_p99.9` or `elapsed_p50` is about.
fn percent_of(name: &str) -> Option<(Percentiles, f64)> {
    let (measure, percent) = match name.strip_prefix("net_p") {
        Some(percent) => (Percentiles::Net, percent),
        None => (Percentiles::Elapsed, name.strip_prefix("elapsed_p")?),
    };
    let percent: f64 = percent.parse().ok()?;
    (percent > 0.0 && percent <= 100.0).then_some((measure, percent))
}

/// Whether a column is about a percentile, which only a profile with histograms has.
pub fn is_percentile(column: &str) -> bool {
    percent_of(column).is_some()
}

/// The names of the columns to show.
fn chosen_columns(options: &TableOptions<'_>) -> Result<Vec<String>, String> {
    let mut names = match &options.columns {
        Some(columns) => columns.clone(),
        None => DEFAULT_COLUMNS.map(Into::into).into(),
    };
    if options.overhead.is_some() {
        for raw in ["elapsed", "net"] {
            insert_after(&mut names, raw, &format!("{raw}_corrected"), false);
        }
    }
    let mut after = "net_min".to_owned();
    for measure in [Percentiles::Net, Percentiles::Elapsed] {
        if matches!(measure, Percentiles::Elapsed) && names.iter().any(|name| name == "elapsed_min")
        {
            after = "elapsed_min".into();
        }
        for &percent in &options.percentiles {
            let name = measure.column(percent);
            if percent_of(&name).is_none() {
                return Err(format!("percentile {percent}, expected one above 0 and at most 100"));
            }
            insert_after(&mut names, &after, &name, true);
            after = name;
        }
    }
    Ok(names)
}

/// Inserts `name` after `neighbor` unless it is there already; without the neighbor, at the end if
/// it must be shown.
fn insert_after(names: &mut Vec<String>, neighbor: &str, name: &str, must: bool) {
    if names.iter().any(|known| known == name) {
        return;
    }
    match names.iter().position(|known| known == neighbor) {
        Some(place) => names.insert(place + 1, name.to_owned()),
        None if must => names.push(name.to_owned()),
        None => {}
    }
}

/// Numbers from the largest, text from the smallest, what is not known last.
fn compare(a: &Cell, b: &Cell) -> Ordering {
    match (a, b) {
        (Cell::Time(a), Cell::Time(b)) => b.cmp(a),
        (Cell::Count(a), Cell::Count(b)) => b.cmp(a),
        (Cell::Percent(a), Cell::Percent(b)) => b.total_cmp(a),
        (Cell::Text(a), Cell::Text(b)) => a.cmp(b),
        (a, b) => (*a == Cell::Null).cmp(&(*b == Cell::Null)),
    }
}
