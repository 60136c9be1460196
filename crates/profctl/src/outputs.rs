//! Every format that is written, in one list: reports, tables of calls, files for viewers, pictures.

use std::io::IsTerminal as _;
use std::path::Path;

use profctl_render::export::{self, Target};
use profctl_render::table::Format;

use crate::exit::Failure;

/// What a command writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    /// A table for terminals or programs.
    Report,
    /// The same, with JSON by default, which is the saved profile.
    Profile,
    /// A table for terminals or programs, or one page of HTML.
    ReportOrPage,
    /// A trace for other programs.
    Conversion,
    /// A picture of calls.
    Picture,
    /// A plot.
    Plot,
    /// One page of HTML.
    Page,
    /// A calibration, or a line about one: plain text in a file of any name.
    Calibration,
    /// Plain text, the same in any format.
    Text,
}

/// A format that is written.
#[derive(Debug)]
pub(crate) struct OutputFormat {
    /// The name for `--format`.
    pub(crate) name: &'static str,
    /// One line.
    pub(crate) about: &'static str,
    /// How names of its files end; the first is the usual one.
    pub(crate) endings: &'static [&'static str],
    /// Whether it may go to a terminal.
    pub(crate) for_terminals: bool,
    /// As a report.
    pub(crate) report: Option<Format>,
    /// As a conversion of a trace.
    pub(crate) conversion: Option<Conversion>,
    /// As a picture.
    pub(crate) picture: Option<Picture>,
}

/// Who converts a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Conversion {
    /// The exporter of that name.
    Viewer(&'static str),
    /// Rows and columns.
    Table(TableFile),
    /// The profile that other commands read back.
    Profile,
    /// The format `plain`: every record of the input.
    Plain,
}

/// What a table of calls is written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TableFile {
    /// Apache Parquet.
    Parquet,
    /// Comma-separated values with a heading line.
    Csv,
    /// A JSON object a line.
    JsonLines,
}

/// What a picture is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Picture {
    /// An interactive page.
    Html,
    /// Vector graphics.
    Svg,
    /// Pixels.
    Png,
    /// Text for other flame graph programs.
    Folded,
}

const NONE: OutputFormat = OutputFormat {
    name: "",
    about: "",
    endings: &[],
    for_terminals: true,
    report: None,
    conversion: None,
    picture: None,
};

/// Every format, in the order in which lists show them.
pub(crate) static ALL: &[OutputFormat] = &[
    OutputFormat {
        name: "table",
        about: "aligned columns",
        endings: &[".txt"],
        report: Some(Format::Table),
        ..NONE
    },
    OutputFormat {
        name: "json",
        about: "one JSON object with schema, columns, rows and notes",
        endings: &[".json"],
        report: Some(Format::Json),
        ..NONE
    },
    OutputFormat {
        name: "csv",
        about: "comma-separated values with a heading line, RFC 4180",
        endings: &[".csv"],
        report: Some(Format::Csv),
        conversion: Some(Conversion::Table(TableFile::Csv)),
        ..NONE
    },
    OutputFormat {
        name: "markdown",
        about: "Markdown table",
        endings: &[".md"],
        report: Some(Format::Markdown),
        ..NONE
    },
    OutputFormat {
        name: "parquet",
        about: "Apache Parquet, a table for SQL, in a build with SQL",
        endings: &[".parquet"],
        for_terminals: false,
        report: Some(Format::Parquet),
        conversion: Some(Conversion::Table(TableFile::Parquet)),
        ..NONE
    },
    OutputFormat {
        name: "jsonl",
        about: "one JSON object per line",
        endings: &[".jsonl", ".ndjson"],
        conversion: Some(Conversion::Table(TableFile::JsonLines)),
        ..NONE
    },
    OutputFormat {
        name: "chrome",
        about: "trace-event JSON, for chrome://tracing, Perfetto, speedscope",
        endings: &[".json"],
        conversion: Some(Conversion::Viewer("chrome")),
        ..NONE
    },
    OutputFormat {
        name: "perfetto",
        about: "Perfetto protobuf, for ui.perfetto.dev and trace_processor",
        endings: &[".pftrace", ".perfetto-trace"],
        for_terminals: false,
        conversion: Some(Conversion::Viewer("perfetto")),
        ..NONE
    },
    OutputFormat {
        name: "speedscope",
        about: "evented profiles, for speedscope.app",
        endings: &[".speedscope.json"],
        conversion: Some(Conversion::Viewer("speedscope")),
        ..NONE
    },
    OutputFormat {
        name: "folded",
        about: "one line per stack with its net time, for flamegraph.pl",
        endings: &[".folded"],
        conversion: Some(Conversion::Viewer("folded")),
        picture: Some(Picture::Folded),
        ..NONE
    },
    OutputFormat {
        name: "pprof",
        about: "pprof profile, for `go tool pprof`: calls and net time of each stack",
        endings: &[".pb.gz", ".pprof"],
        for_terminals: false,
        conversion: Some(Conversion::Viewer("pprof")),
        ..NONE
    },
    OutputFormat {
        name: "plain",
        about: "one line per record, lossless: reads back with the same numbers",
        endings: &[".plain"],
        conversion: Some(Conversion::Plain),
        ..NONE
    },
    OutputFormat {
        name: "profile",
        about: "saved profile: what `summarize --format json` writes and other commands read back",
        endings: &[".profile.json"],
        report: Some(Format::Json),
        conversion: Some(Conversion::Profile),
        ..NONE
    },
    OutputFormat {
        name: "html",
        about: "an interactive page that needs no network",
        endings: &[".html", ".htm"],
        for_terminals: false,
        picture: Some(Picture::Html),
        ..NONE
    },
    OutputFormat {
        name: "svg",
        about: "vector graphics",
        endings: &[".svg"],
        for_terminals: false,
        picture: Some(Picture::Svg),
        ..NONE
    },
    OutputFormat {
        name: "png",
        about: "raster image",
        endings: &[".png"],
        for_terminals: false,
        picture: Some(Picture::Png),
        ..NONE
    },
];

/// The exporter of a viewer's format.
pub(crate) fn target(name: &str) -> Option<&'static Target> {
    export::TARGETS.iter().find(|target| target.name == name)
}

/// The format of that name.
pub(crate) fn named(name: &str) -> Option<&'static OutputFormat> {
    ALL.iter().find(|format| format.name == name)
}

impl OutputFormat {
    fn serves(&self, what: What) -> bool {
        match what {
            What::Report | What::Profile => self.report.is_some(),
            What::ReportOrPage => self.serves(What::Report) || self.serves(What::Page),
            What::Conversion => self.conversion.is_some(),
            What::Picture => self.picture.is_some(),
            What::Plot => matches!(self.picture, Some(Picture::Svg | Picture::Png)),
            What::Page => self.picture == Some(Picture::Html),
            What::Text | What::Calibration => self.report == Some(Format::Table),
        }
    }
}

/// The formats that serve a command.
pub(crate) fn serving(what: What) -> impl Iterator<Item = &'static OutputFormat> {
    ALL.iter().filter(move |format| format.serves(what))
}

/// What is written: `named`, else what the ending of `file` says, else what the command writes
/// unasked. Fails where these contradict each other, and where the result would go to a terminal
/// that cannot show it.
pub(crate) fn choose(
    what: What,
    named: Option<&'static OutputFormat>,
    file: Option<&Path>,
) -> Result<Option<&'static OutputFormat>, Failure> {
    if matches!(what, What::Text | What::Calibration) {
        return match named {
            Some(format) => Err(Failure::usage(format!(
                "this command writes plain text: --format {} has no effect",
                format.name
            ))),
            None => Ok(None),
        };
    }
    if let Some(format) = named.filter(|format| !format.serves(what)) {
        let failure = Failure::usage(format!("this command does not write {}", format.name));
        return Err(list(failure, what));
    }
    let by_ending = match file.and_then(ending) {
        None => None,
        Some(ending) => match (longest(what, file), named) {
            (Some(format), _) => Some(format),
            (None, Some(_)) => None,
            (None, None) => {
                let message = format!("unknown output extension `{ending}`");
                return Err(list(Failure::usage(message), what));
            }
        },
    };
    if let (Some(named), Some(_), Some(file)) = (named, by_ending, file)
        && !named.endings.iter().any(|ending| name_of(file).ends_with(ending))
    {
        return Err(Failure::usage(format!(
            "--format {} contradicts the extension of {}",
            named.name,
            file.display()
        )));
    }
    let chosen = named.or(by_ending).or_else(|| default(what));
    let Some(chosen) = chosen else {
        let failure = Failure::usage("no output format given: use `-o FILE` or `--format NAME`");
        return Err(list(failure, what));
    };
    if file.is_none() && !chosen.for_terminals && std::io::stdout().is_terminal() {
        return Err(Failure::usage(format!(
            "{} is not written to a terminal: use `-o FILE{}`, or a pipe",
            chosen.name, chosen.endings[0]
        )));
    }
    Ok(Some(chosen))
}

fn default(what: What) -> Option<&'static OutputFormat> {
    match what {
        What::Report | What::ReportOrPage => named("table"),
        What::Profile => named("profile"),
        What::Page => named("html"),
        What::Conversion | What::Picture | What::Plot | What::Text | What::Calibration => None,
    }
}

/// The ending of a file's name, if it has one; devices have none.
fn ending(file: &Path) -> Option<String> {
    let is_device = file.metadata().is_ok_and(|found| !found.is_file());
    let extension = file.extension().filter(|_| !is_device)?;
    Some(format!(".{}", extension.display()))
}

/// The format whose files end like this one; the longest ending decides.
fn longest(what: What, file: Option<&Path>) -> Option<&'static OutputFormat> {
    let name = name_of(file?);
    let length = |format: &OutputFormat| {
        let endings = format.endings.iter().filter(|ending| name.ends_with(**ending));
        endings.map(|ending| ending.len()).max().unwrap_or(0)
    };
    serving(what).filter(|format| length(format) > 0).max_by_key(|format| length(format))
}

fn name_of(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().to_lowercase()
}

/// Adds what the command writes to an error.
fn list(failure: Failure, what: What) -> Failure {
    let formats: Vec<String> = serving(what)
        .map(|format| format!("{} ({})", format.name, format.endings.join(", ")))
        .collect();
    failure.hint(format!("this command writes {}", formats.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_or_the_ending_decides() {
        let shown = |what, name: Option<&str>, file: Option<&str>| {
            let name = name.map(|name| named(name).unwrap());
            match choose(what, name, file.map(Path::new)) {
                Ok(chosen) => chosen.map_or("none".to_owned(), |format| format.name.to_owned()),
                Err(failure) => failure.to_string().lines().next().unwrap().to_owned(),
            }
        };
        for (what, name, file, expected) in [
            (What::Report, None, None, "table"),
            (What::Report, None, Some("x.csv"), "csv"),
            (What::Report, None, Some("x.profile.json"), "profile"),
            (What::Report, Some("json"), Some("x.profile.json"), "json"),
            (What::Report, Some("json"), Some("x.dat"), "json"),
            (What::Report, None, Some("/dev/null"), "table"),
            (What::Report, None, Some("x"), "table"),
            (What::Report, None, Some("x.pdf"), "profctl: unknown output extension `.pdf`"),
            (
                What::Report,
                Some("csv"),
                Some("x.json"),
                "profctl: --format csv contradicts the extension of x.json",
            ),
            (What::Report, Some("svg"), None, "profctl: this command does not write svg"),
            (What::Conversion, None, Some("x.json"), "chrome"),
            (What::Conversion, None, Some("x.SPEEDSCOPE.json"), "speedscope"),
            (What::Picture, None, Some("x.svg"), "svg"),
            (
                What::Picture,
                None,
                None,
                "profctl: no output format given: use `-o FILE` or `--format NAME`",
            ),
            (What::ReportOrPage, None, Some("x.html"), "html"),
            (What::ReportOrPage, None, Some("x.md"), "markdown"),
            (What::Page, None, Some("x.pdf"), "profctl: unknown output extension `.pdf`"),
            (What::Profile, None, None, "profile"),
        ] {
            assert_eq!(shown(what, name, file), expected, "{what:?} {name:?} {file:?}");
        }
    }

    #[test]
    fn every_exporter_is_listed() {
        for target in export::TARGETS {
            let format = named(target.name).unwrap();
            assert_eq!(format.conversion, Some(Conversion::Viewer(target.name)));
            assert_eq!(format.endings, target.endings);
        }
    }
}
