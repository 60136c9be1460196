//! `profctl formats`: what is read and what is written.

use clap::builder::PossibleValuesParser;
use profctl_import::FORMATS;
use profctl_import::formats::rule::{self, PRESETS};
use profctl_model::{Column, Role, Table, Timebase};
use profctl_render::table::Format;

use super::convert;
use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::output;

/// List the formats that are read and written, and the presets of rules
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Write this preset, a rule file, as a beginning for one of your own
    #[arg(long, value_name = "PRESET", value_parser = presets())]
    rule: Option<String>,
}

fn presets() -> PossibleValuesParser {
    PossibleValuesParser::new(PRESETS.iter().map(|preset| preset.name))
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    if let Some(preset) = args.rule.as_deref().and_then(rule::preset) {
        output::write_bytes(preset.text.as_bytes(), global)?;
        return Ok(Exit::Done);
    }
    let columns = ["direction", "name", "about", "recognised"];
    let columns = columns.map(|name| Column::new(name, name, Role::Text)).to_vec();
    let mut table = Table::new("profctl.formats/1", Timebase::NANOSECONDS, columns);
    for format in FORMATS {
        let format = format.descriptor();
        let cells = ["read", format.name, format.about, format.recognized];
        table.push(cells.map(Into::into).to_vec());
    }
    for preset in PRESETS {
        let chosen = format!("by `--rule {}`", preset.name);
        let cells = ["preset", preset.name, preset.about(), chosen.as_str()];
        table.push(cells.map(Into::into).to_vec());
    }
    for format in Format::ALL {
        let chosen = format!("by `--format {format}`");
        let cells = ["written", format.name(), format.about(), chosen.as_str()];
        table.push(cells.map(Into::into).to_vec());
    }
    for form in convert::forms() {
        let chosen = format!("by `convert -o NAME{}`", form.endings[0]);
        let cells = ["converted", form.name, form.about, chosen.as_str()];
        table.push(cells.map(Into::into).to_vec());
    }
    output::write_table(&table, global)?;
    Ok(Exit::Done)
}
