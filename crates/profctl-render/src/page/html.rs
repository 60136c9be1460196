//! The file itself: markup, style, scripts, and the blocks of data in between.

use std::fmt::Write as _;

use profctl_model::{Cell, Column, Role, Table};
use serde_json::json;

use super::{Histograms, Page, Section, data, pack};
use crate::chart::palette::{Paint, Palette, STEPS};
use crate::escape::xml;
use crate::number::TimeUnit;
use crate::plot;
use crate::table::{self, visible};

const STYLE: &str = include_str!("../../assets/page/page.css");
/// The scripts, in the order in which they build upon one another.
const SCRIPTS: [&str; 17] = [
    include_str!("../../assets/page/number.js"),
    include_str!("../../assets/page/decode.js"),
    include_str!("../../assets/page/dom.js"),
    include_str!("../../assets/page/rows.js"),
    include_str!("../../assets/page/chart.js"),
    include_str!("../../assets/page/lanes.js"),
    include_str!("../../assets/page/range.js"),
    include_str!("../../assets/page/graph.js"),
    include_str!("../../assets/page/sandwich.js"),
    include_str!("../../assets/page/diff.js"),
    include_str!("../../assets/page/draw.js"),
    include_str!("../../assets/page/view.js"),
    include_str!("../../assets/page/input.js"),
    include_str!("../../assets/page/tree.js"),
    include_str!("../../assets/page/picture.js"),
    include_str!("../../assets/page/table.js"),
    include_str!("../../assets/page/histogram.js"),
];
const MAIN: &str = include_str!("../../assets/page/main.js");

/// The width of one plot, and of several next to each other.
const WIDE_PLOT: u32 = 900;
const PLOT: u32 = 600;

/// The whole page.
pub(super) fn page(page: &Page<'_>) -> String {
    let blocks = data::blocks(page);
    let is_report = !page.sections.is_empty();
    let mut out = String::new();
    let class = if is_report { "report" } else { "viewer" };
    let title = escaped(&page.title);
    put(&mut out, &format!("<!DOCTYPE html>\n<html lang=\"en\" class=\"{class}\">\n<head>\n"));
    put(&mut out, "<meta charset=\"utf-8\">\n");
    // Nothing may be fetched, whatever a name in the data looks like.
    put(
        &mut out,
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; \
         script-src 'unsafe-inline'; style-src 'unsafe-inline'\">\n",
    );
    put(&mut out, "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    put(&mut out, &format!("<title>{title} · profctl</title>\n<style>\n"));
    colors(&mut out);
    put(&mut out, STYLE);
    if page.sections.iter().any(|section| matches!(section, Section::Plots { .. })) {
        put(&mut out, &plot::style());
    }
    put(&mut out, "</style>\n</head>\n<body>\n");
    put(&mut out, &format!("<header>\n<h1>{title}</h1>\n"));
    facts(&mut out, &page.facts);
    put(&mut out, "</header>\n");
    if let Some(sentence) = &page.sentence {
        put(&mut out, &format!("<p class=\"sentence\">{}</p>\n", escaped(sentence)));
    }
    put(&mut out, "<p id=\"trouble\" role=\"alert\"></p>\n");
    put(
        &mut out,
        "<noscript><p>The picture of this page needs scripts; its tables do not.</p></noscript>\n",
    );
    put(&mut out, "<main>\n");
    if is_report {
        notes(&mut out, &page.notes);
        for (index, section) in page.sections.iter().enumerate() {
            self::section(&mut out, section, index, page);
        }
    } else {
        folded_notes(&mut out, &page.notes);
        put(&mut out, "<section id=\"picture\" aria-label=\"picture\"></section>\n");
    }
    put(&mut out, "</main>\n");
    for (id, block) in &blocks.first {
        data_element(&mut out, id, block);
    }
    put(&mut out, "<script>\n'use strict';\n(() => {\n");
    for script in SCRIPTS {
        put(&mut out, script);
    }
    put(&mut out, MAIN);
    put(&mut out, "})();\n</script>\n");
    for (id, block) in &blocks.rest {
        data_element(&mut out, id, block);
    }
    for section in &page.sections {
        if let Section::Histograms(histograms) = section {
            data_element(&mut out, "data-histograms", &histogram_block(histograms, page.unit));
        }
    }
    put(&mut out, "</body>\n</html>\n");
    out
}

fn put(out: &mut String, text: &str) {
    out.push_str(text);
}

/// `text` as content or as the value of an attribute; what could steer a terminal is shown as it
/// is there.
pub(super) fn escaped(text: &str) -> String {
    xml(&visible(text))
}

/// The colors of both themes as variables.
fn colors(out: &mut String) {
    let variables = |palette: &Palette| {
        let change = |step: i8| palette.fill(Paint::Change(step));
        let named = [
            ("background", palette.background),
            ("lane", palette.lane),
            ("ink", palette.ink),
            ("muted", palette.muted),
            ("grid", palette.grid),
            ("gap", palette.gap),
            ("path", palette.path),
            ("less", change(-STEPS)),
            ("more", change(STEPS)),
            ("bar", palette.fill(Paint::Function { hue: 6, shade: 1 })),
        ];
        named.iter().fold(String::new(), |mut text, (name, color)| {
            write!(text, "--{name}:{color};").expect("a string takes what is written to it");
            text
        })
    };
    let (light, dark) = (variables(&Palette::LIGHT), variables(&Palette::DARK));
    put(out, &format!(":root{{{light}}}\n"));
    put(
        out,
        &format!(
            "@media screen and (prefers-color-scheme: dark){{:root:not([data-theme=light]){{{dark}}}}}\n"
        ),
    );
    put(out, &format!("@media screen{{:root[data-theme=dark]{{{dark}}}}}\n"));
    put(
        out,
        ":root[data-theme=light]{color-scheme:light}:root[data-theme=dark]{color-scheme:dark}\n",
    );
}

fn facts(out: &mut String, facts: &[(String, String)]) {
    if facts.is_empty() {
        return;
    }
    put(out, "<dl class=\"facts\">\n");
    for (name, value) in facts {
        let (name, value) = (escaped(name), escaped(value));
        put(out, &format!("<div><dt>{name}</dt><dd>{value}</dd></div>\n"));
    }
    put(out, "</dl>\n");
}

fn notes(out: &mut String, notes: &[String]) {
    if notes.is_empty() {
        return;
    }
    put(out, "<ul class=\"notes\" aria-label=\"quality\">\n");
    for note in notes {
        put(out, &format!("<li>{}</li>\n", escaped(note)));
    }
    put(out, "</ul>\n");
}

/// Notes in one line that opens: the picture needs the space.
fn folded_notes(out: &mut String, notes: &[String]) {
    let [first, rest @ ..] = notes else { return };
    if rest.is_empty() {
        return self::notes(out, notes);
    }
    let (first, n) = (escaped(first), rest.len());
    put(out, &format!("<details class=\"notes\"><summary>{first} · {n} more</summary><ul>\n"));
    for note in rest {
        put(out, &format!("<li>{}</li>\n", escaped(note)));
    }
    put(out, "</ul></details>\n");
}

fn data_element(out: &mut String, id: &str, block: &str) {
    put(out, &format!("<script type=\"text/plain\" id=\"{id}\">{block}</script>\n"));
}

fn section(out: &mut String, section: &Section<'_>, index: usize, page: &Page<'_>) {
    match section {
        Section::Verdict { answer, reasons, top } => {
            put(
                out,
                &format!(
                    "<div class=\"verdict {answer}\" role=\"status\"><strong>{answer}</strong>\n"
                ),
            );
            for reason in reasons {
                put(out, &format!("<p>{}</p>\n", escaped(reason)));
            }
            if !top.is_empty() {
                put(out, "<ol>\n");
                for one in top {
                    put(out, &format!("<li>{}</li>\n", escaped(one)));
                }
                put(out, "</ol>\n");
            }
            put(out, "</div>\n");
        }
        Section::Picture { heading } => {
            let heading = escaped(heading);
            put(
                out,
                &format!(
                    "<section>\n<h2>{heading}</h2>\n<div id=\"picture\" data-fit></div>\n</section>\n"
                ),
            );
        }
        Section::Table { heading, table, sorted_by, names_functions } => {
            let id = format!("table-{index}");
            put(out, &format!("<section>\n<h2>{}</h2>\n", escaped(heading)));
            sortable(out, &id, heading, table, *sorted_by, *names_functions, page.unit);
            // The title of the page is not repeated.
            let own = table.notes.iter().filter(|note| !page.notes.contains(note));
            notes(out, &own.cloned().collect::<Vec<_>>());
            put(out, "</section>\n");
        }
        Section::Plots { heading, plots } => {
            put(out, &format!("<section>\n<h2>{}</h2>\n<div class=\"plots\">\n", escaped(heading)));
            for one in plots {
                let width = if plots.len() > 1 { PLOT } else { WIDE_PLOT };
                // A plot that cannot be drawn says why.
                let drawn = plot::inline(one, (width, plot::height(one, width)));
                put(out, &drawn.unwrap_or_else(|why| format!("<p>{}</p>", escaped(&why))));
            }
            put(out, "</div>\n</section>\n");
        }
        Section::Histograms(histograms) => {
            put(out, "<section>\n<h2>Call times</h2>\n");
            if let [before, after] = histograms.sides.as_slice() {
                let (before, after) = (escaped(before), escaped(after));
                put(
                    out,
                    &format!(
                        "<p class=\"key\">share of the calls of each side: \
                         <i class=\"before\"></i>{before}<i class=\"after\"></i>{after}</p>\n"
                    ),
                );
            }
            put(out, "<div id=\"histogram\"></div>\n</section>\n");
        }
        Section::Text { heading, lines } => {
            put(out, &format!("<section>\n<h2>{}</h2>\n", escaped(heading)));
            notes(out, lines);
            put(out, "</section>\n");
        }
    }
}

/// What is above a column: for a group, the name is more specific than the heading.
fn heading(column: &Column) -> String {
    if column.group.is_some() { column.name.replace('_', " ") } else { column.heading.clone() }
}

fn sortable(
    out: &mut String,
    id: &str,
    label: &str,
    table: &Table,
    sorted_by: Option<&str>,
    names_functions: bool,
    unit: TimeUnit,
) {
    let unit = table::unit_of(table, unit);
    let mut order: Vec<usize> = (0..table.columns.len()).collect();
    // Stable: the name goes first and stays in sight, the others keep their order.
    order.sort_by_key(|&place| table.columns[place].role != Role::Name);
    put(
        out,
        &format!(
            "<div class=\"bar\"><input type=\"search\" data-filters=\"{id}\" \
             placeholder=\"Filter names (regular expression)\" \
             aria-label=\"filter names by regular expression\" spellcheck=\"false\" \
             autocomplete=\"off\"><output class=\"result\" data-of=\"{id}\"></output></div>\n\
             <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n\
             <table class=\"sortable\" id=\"{id}\">\n<thead><tr>",
            escaped(label)
        ),
    );
    let has_times = table.columns.iter().any(|column| column.role == Role::Time);
    for &place in &order {
        let column = &table.columns[place];
        let class = match column.role {
            Role::Name => " class=\"name\"",
            Role::Text => "",
            Role::Time | Role::Count | Role::Percent | Role::Ratio => " class=\"number\"",
        };
        let sort = if sorted_by == Some(column.name.as_str()) { "descending" } else { "none" };
        let title = match column.role {
            Role::Time if has_times => format!(" title=\"{}\"", unit.label(&table.timebase)),
            _ => String::new(),
        };
        let text = escaped(&heading(column));
        put(
            out,
            &format!(
                "<th scope=\"col\"{class} aria-sort=\"{sort}\"{title}>\
                 <button type=\"button\">{text}</button></th>"
            ),
        );
    }
    put(out, "</tr></thead>\n<tbody>\n");
    for row in &table.rows {
        put(out, "<tr>");
        for &place in &order {
            let role = table.columns[place].role;
            let text = match &row[place] {
                Cell::Text(text) => escaped(text),
                cell => table::text(cell, table, unit),
            };
            match role {
                Role::Name if names_functions => put(
                    out,
                    &format!(
                        "<td class=\"name\" title=\"{text}\"><button type=\"button\" class=\"pick\">{text}</button></td>"
                    ),
                ),
                Role::Name => put(out, &format!("<td class=\"name\" title=\"{text}\">{text}</td>")),
                Role::Text => put(out, &format!("<td>{text}</td>")),
                Role::Time | Role::Count | Role::Percent | Role::Ratio => {
                    put(out, &format!("<td class=\"number\">{text}</td>"));
                }
            }
        }
        put(out, "</tr>\n");
    }
    put(out, "</tbody>\n</table>\n</div>\n");
    if has_times {
        let caption = unit.caption(&table.timebase);
        put(out, &format!("<p class=\"hint\">{caption}</p>\n"));
    }
}

fn histogram_block(histograms: &Histograms, unit: TimeUnit) -> String {
    let functions: Vec<_> = histograms
        .functions
        .iter()
        .map(|row| {
            let sides = row.sides.iter().map(|side| {
                side.as_ref().map(|side| json!({ "net": side.net, "elapsed": side.elapsed }))
            });
            json!({ "name": visible(&row.name), "sides": sides.collect::<Vec<_>>() })
        })
        .collect();
    pack::json_block(&json!({
        "clock": data::clock(&histograms.timebase, unit, 1),
        "sides": histograms.sides,
        "functions": functions,
    }))
}
