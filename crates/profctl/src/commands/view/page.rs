//! What a screen lists: lines of text, and what each of them is about.

use profctl_analyze::neighbors::Function;
use profctl_analyze::replay::Found;
use profctl_analyze::slowest::{Call, KEPT};
use profctl_analyze::summarize::{By, TableOptions};
use profctl_model::{Cell, Column, Role, Table, Ticks};
use profctl_render::escape::visible;
use profctl_render::table::Lines;
use profctl_render::{Style, code_trace, number, table};

use super::data::Snapshot;
use super::keys::HELP;

/// The columns that the lines of a code trace have at least.
const INDENTED: usize = 80;

/// The content of a screen, laid out for its width.
#[derive(Clone, Debug, Default)]
pub(super) struct Page {
    /// What is shown.
    pub(super) title: String,
    /// The unit of its times.
    pub(super) caption: String,
    /// The heading of the column by which it is sorted, as it stands in `header`.
    pub(super) sorted_by: Option<String>,
    /// The headings.
    pub(super) header: Vec<String>,
    /// Its lines.
    pub(super) items: Vec<Item>,
    /// What was reduced or omitted to fit the width.
    pub(super) notes: Vec<String>,
}

/// A line.
#[derive(Clone, Debug)]
pub(super) struct Item {
    pub(super) text: String,
    pub(super) target: Target,
}

/// What a line is about.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Target {
    /// Nothing: it can be selected, to scroll.
    Text,
    /// The lines below it: it cannot be selected.
    Heading,
    /// A row that is no function: a module, a thread.
    Row(String),
    Function(Function),
    Call(Call),
}

impl Item {
    fn heading(text: impl Into<String>) -> Self {
        Self { text: text.into(), target: Target::Heading }
    }

    fn text(text: impl Into<String>) -> Self {
        Self { text: text.into(), target: Target::Text }
    }
}

/// Which functions are shown, and in what order.
pub(super) struct Shown<'a> {
    pub(super) sort: &'a str,
    /// Whether a function of that name and module is shown.
    pub(super) takes: &'a dyn Fn(&str, Option<&str>) -> bool,
}

/// The flat profile. Fails if there is no such column.
pub(super) fn functions(data: &Snapshot, shown: &Shown<'_>, style: &Style) -> Result<Page, String> {
    let profile = &data.profile;
    let options = TableOptions {
        sort: shown.sort.to_owned(),
        matching: Some(shown.takes),
        ..TableOptions::default()
    };
    let report = profile.table(&options)?;
    let lines = Lines::of(&report, style);
    // The columns that tell rows apart; the table has rows in their order.
    let places = TableOptions {
        columns: Some(vec!["name".into(), "module".into()]),
        sort: options.sort.clone(),
        ..options
    };
    let places = profile.table(&places)?.rows;
    let target = |cells: Vec<Cell>| {
        let mut texts = cells.into_iter().map(|cell| match cell {
            Cell::Text(text) => Some(text),
            _ => None,
        });
        let name = texts.next().flatten().unwrap_or_default();
        match profile.by {
            By::Function => Target::Function(Function { name, module: texts.next().flatten() }),
            By::Module | By::Thread | By::Cpu | By::Kind => Target::Row(name),
        }
    };
    let items = lines.rows.into_iter().zip(places);
    let items = items.map(|(line, place)| Item { text: line.join(" "), target: target(place) });
    let what = match profile.by {
        By::Function => ("function", "functions"),
        By::Module => ("module", "modules"),
        By::Thread => ("thread", "threads"),
        By::Cpu => ("CPU", "CPUs"),
        By::Kind => ("kind", "kinds"),
    };
    let (rows, all) = (report.rows.len(), profile.rows.len());
    let n = if rows == all { String::new() } else { format!("{rows} of ") };
    let sorted_by = report.columns.iter().find(|column| column.name == shown.sort);
    Ok(Page {
        title: format!("{n}{} by {}", number::count(all as u64, what.0, what.1), shown.sort),
        caption: lines.caption.unwrap_or_default(),
        sorted_by: sorted_by.map(|column| column.heading.clone()),
        header: lines.header,
        items: items.collect(),
        notes: lines.notes,
    })
}

/// A function between its callers and callees.
pub(super) fn neighbors(data: &Snapshot, function: &Function, style: &Style) -> Option<Page> {
    let around = data.around(function)?;
    let lines = Lines::of(&around.table, style);
    let n_callees = lines.rows.len() - around.n_callers - 1;
    let mut items = Vec::new();
    for (place, (line, function)) in lines.rows.into_iter().zip(around.functions).enumerate() {
        let n = around.n_callers;
        if place == 0 && n > 0 {
            items.push(Item::heading(number::count(n as u64, "caller", "callers")));
        }
        if place == n {
            items.push(Item::heading("function"));
        }
        if place == n + 1 {
            let callees = number::count(n_callees as u64, "callee", "callees");
            items.push(Item::heading(callees));
        }
        let target = function.map_or(Target::Text, Target::Function);
        items.push(Item { text: line.join(" "), target });
    }
    Some(Page {
        title: format!("{}: callers and callees", visible(&function.name)),
        caption: lines.caption.unwrap_or_default(),
        sorted_by: None,
        header: lines.header,
        items,
        notes: around.table.notes.into_iter().chain(lines.notes).collect(),
    })
}

/// The slowest calls of a function.
pub(super) fn slowest(data: &Snapshot, function: &Function, style: &Style) -> Option<Page> {
    let calls = data.slowest(function)?;
    let timebase = data.profile.timebase;
    let columns = vec![
        Column::new("elapsed", "Elapsed", Role::Time),
        Column::new("net", "Net", Role::Time),
        Column::new("descendants", "# below", Role::Count),
        Column::new("start", "start", Role::Text),
        Column::new("cpu", "CPU", Role::Text),
        Column::new("thread", "thread", Role::Name),
    ];
    let mut report = Table::new("profctl.slowest/1", timebase, columns);
    report.left_out_first = &["cpu", "descendants", "net"];
    for call in &calls {
        let start = number::clock(call.start(), &timebase, style.unit);
        let cpu = call.cpu.map(|cpu| Cell::Text(data.names.cpus[cpu].to_string()));
        report.push(vec![
            Cell::Time(call.elapsed),
            Cell::Time(call.net),
            Cell::Count(call.descendants),
            Cell::Text(start.trim_start().to_owned()),
            cpu.unwrap_or(Cell::Null),
            Cell::Text(data.names.threads[call.thread].label()),
        ]);
    }
    let lines = Lines::of(&report, style);
    let items = lines.rows.into_iter().zip(&calls);
    let items =
        items.map(|(line, call)| Item { text: line.join(" "), target: Target::Call(*call) });
    let name = visible(&function.name);
    let n = if calls.len() < KEPT { String::new() } else { format!("{KEPT} ") };
    Some(Page {
        title: format!("{name}: {n}slowest calls"),
        caption: lines.caption.unwrap_or_default(),
        sorted_by: Some("Elapsed".into()),
        header: lines.header,
        items: items.collect(),
        notes: lines.notes,
    })
}

/// What a call did.
pub(super) fn call(data: &Snapshot, call: &Call, found: Option<&Found>, style: &Style) -> Page {
    let timebase = &data.profile.timebase;
    let name = visible(&data.names.funcs[call.func].name);
    let thread = data.names.threads[call.thread].label();
    let length = number::length_with_unit(Ticks(call.elapsed.0), timebase, style.unit);
    let page =
        Page { title: format!("{name}: {length} on {}", visible(&thread)), ..Page::default() };
    let Some(found) = found else {
        return Page { items: vec![Item::text("rereading the call …")], ..page };
    };
    // Without indentation it is hard to see who calls whom; lines can be moved.
    let width = style.width.map(|width| width.max(INDENTED));
    let style = Style { color: false, width, ..*style };
    let mut bytes = Vec::new();
    code_trace::write(&found.table, &style, &mut bytes)
        .expect("memory takes what is written to it");
    let text = String::from_utf8_lossy(&bytes);
    let callers = found.callers.iter().map(|call| &*data.names.funcs[call.func].name);
    let callers: Vec<&str> = callers.collect();
    let callers = match &callers[..] {
        [] => "no caller recorded".to_owned(),
        callers => format!("called by {}", visible(&callers.join(" < "))),
    };
    let items = text.lines().map(|line| Item::text(line.trim_end())).collect();
    Page { caption: callers, items, ..page }
}

/// Totals and notes.
pub(super) fn notes(data: &Snapshot, layout_notes: &[String], style: &Style) -> Page {
    let profile = &data.profile;
    let length = |ticks| number::length_with_unit(Ticks(ticks), &profile.timebase, style.unit);
    let calls = profile.rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.stats.calls));
    let mut facts = Vec::new();
    for source in &profile.sources {
        facts.push(("input", visible(&source.path).into_owned()));
        if !source.format.is_empty() {
            facts.push(("format", source.format.clone()));
        }
    }
    facts.extend([
        ("events", profile.events.to_string()),
        ("calls", calls.to_string()),
        ("functions", profile.n_functions.to_string()),
        ("threads", profile.n_threads.to_string()),
        ("real", length(profile.real)),
        ("busy", length(profile.busy())),
    ]);
    let mut bytes = Vec::new();
    let plain = Style { color: false, ..*style };
    let written = table::write_facts(&facts, &plain, &mut bytes).and_then(|()| {
        let notes = profile.notes();
        table::write_notes(notes.iter().chain(layout_notes), &plain, &mut bytes)
    });
    written.expect("memory takes what is written to it");
    let text = String::from_utf8_lossy(&bytes);
    let items = text.lines().map(Item::text).collect();
    Page { title: "notes".into(), items, ..Page::default() }
}

/// Keys and what they do.
pub(super) fn help() -> Page {
    let widest = HELP.iter().map(|(keys, _)| keys.len()).max().unwrap_or(0);
    let items = HELP.iter().map(|(keys, what)| Item::text(format!("{keys:widest$}  {what}")));
    Page { title: "keys".into(), items: items.collect(), ..Page::default() }
}
