//! Calls as text, one line per call: CSV or JSON. Written as they come, so there may be any number.

use std::io::{self, Write};

use profctl_analyze::tables::RunHead;
use profctl_model::tables::SPANS;
use profctl_model::{Names, SpanRow};
use profctl_render::table::csv_field;

use crate::runs::Run;

/// The two forms of a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Comma-separated values: RFC 4180.
    Csv,
    /// A JSON object.
    Json,
}

impl Form {
    fn text(self, text: &str, csv_safe: bool) -> String {
        match self {
            Self::Json => serde_json::Value::from(text).to_string(),
            Self::Csv => csv_field(text, csv_safe).into_owned(),
        }
    }

    fn absent(self) -> &'static str {
        match self {
            Self::Json => "null",
            Self::Csv => "",
        }
    }

    fn line_end(self) -> &'static [u8] {
        match self {
            Self::Json => b"}\n",
            Self::Csv => b"\r\n",
        }
    }
}

/// The line above all others.
pub(super) fn heading(form: Form, out: &mut dyn Write) -> io::Result<()> {
    if form == Form::Json {
        return Ok(());
    }
    let names: Vec<&str> = SPANS.columns.iter().map(|column| column.name).collect();
    write!(out, "{}\r\n", names.join(","))
}

/// What the lines of one run have in common, as it will be written.
pub(super) struct Lines {
    form: Form,
    run: String,
    funcs: Vec<[String; 3]>,
    threads: Vec<String>,
    cpus: Vec<String>,
    knows_off_cpu: bool,
    /// Before each value: a comma, or that and the name.
    before: Vec<String>,
}

impl Lines {
    pub(super) fn new(form: Form, run: &Run, csv_safe: bool) -> Option<Self> {
        let escaped = |text: &str| form.text(text, csv_safe);
        let RunHead { names, labels, meta, .. } = &run.trace.as_ref()?.head;
        let Names { funcs, cpus, .. } = names;
        let some = |text: Option<&str>| text.map_or(form.absent().to_owned(), escaped);
        Some(Self {
            form,
            run: escaped(&run.name),
            funcs: funcs
                .iter()
                .map(|func| {
                    [escaped(&func.name), some(func.module.as_deref()), escaped(func.kind.name())]
                })
                .collect(),
            threads: labels.iter().map(|label| escaped(label)).collect(),
            cpus: cpus.iter().map(u32::to_string).collect(),
            knows_off_cpu: meta.knows_off_cpu,
            before: before(form),
        })
    }

    pub(super) fn write(&self, row: &SpanRow, out: &mut dyn Write) -> io::Result<()> {
        let span = &row.span;
        let [name, module, kind] = &self.funcs[span.func.index()];
        let cpu = span.cpu.map_or(self.form.absent(), |cpu| self.cpus[cpu.index()].as_str());
        let mut fields = self.before.iter();
        let mut before = || fields.next().map_or("", String::as_str);
        write!(out, "{}{}{}{}", before(), self.run, before(), row.id)?;
        match row.parent {
            Some(parent) => write!(out, "{}{parent}", before())?,
            None => write!(out, "{}{}", before(), self.form.absent())?,
        }
        for text in [name, module, kind, &self.threads[span.thread.index()], cpu] {
            write!(out, "{}{text}", before())?;
        }
        let [depth, start, end] = [u64::from(row.depth), span.start.0, span.end.0];
        for number in [depth, start, end, span.wall.0] {
            write!(out, "{}{number}", before())?;
        }
        if self.knows_off_cpu {
            write!(out, "{}{}", before(), span.off_cpu.0)?;
        } else {
            write!(out, "{}{}", before(), self.form.absent())?;
        }
        for length in [span.elapsed().0, span.net.0, span.stolen.0] {
            write!(out, "{}{length}", before())?;
        }
        for flag in [span.fidelity.is_partial(), span.outermost, span.interrupt] {
            write!(out, "{}{}", before(), u8::from(flag))?;
        }
        out.write_all(self.form.line_end())
    }
}

fn before(form: Form) -> Vec<String> {
    let columns = SPANS.columns.iter().enumerate();
    columns
        .map(|(index, column)| match (form, index) {
            (Form::Csv, 0) => String::new(),
            (Form::Csv, _) => ",".to_owned(),
            (Form::Json, 0) => format!("{{\"{}\":", column.name),
            (Form::Json, _) => format!(",\"{}\":", column.name),
        })
        .collect()
}
