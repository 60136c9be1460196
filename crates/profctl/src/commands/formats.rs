//! `profctl formats`: what is read and what is written.

use clap::builder::PossibleValuesParser;
use profctl_import::FORMATS;
use profctl_import::formats::rule::{self, PRESETS};
use profctl_model::{Column, Role, Table, Timebase};

use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::outputs::{self, What};

const EXAMPLES: &str = "\
Examples:
  profctl formats
  profctl formats --format json                    for programs
  profctl formats --rule printk > my.toml          a rule file to start from";

/// List the formats that are read and written, and the rule presets
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Print this preset, a rule file to start from
    #[arg(long, value_name = "PRESET", value_parser = presets())]
    rule: Option<String>,
}

impl Args {
    /// What is written: a list, or a rule file as it is.
    pub(super) fn what(&self) -> What {
        if self.rule.is_some() { What::Text } else { What::Report }
    }
}

fn presets() -> PossibleValuesParser {
    PossibleValuesParser::new(PRESETS.iter().map(|preset| preset.name))
}

pub(crate) fn run(args: &Args, global: &Global) -> Result<Exit, Failure> {
    if let Some(preset) = args.rule.as_deref().and_then(rule::preset) {
        output::write_bytes(preset.text.as_bytes(), global)?;
        return Ok(Exit::Done);
    }
    let columns = ["direction", "name", "about", "recognized"];
    let columns = columns.map(|name| Column::new(name, name, Role::Text)).to_vec();
    let mut table = Table::new("profctl.formats/1", Timebase::NANOSECONDS, columns);
    for format in FORMATS {
        let format = format.descriptor();
        let cells = ["read", format.name, format.about, format.recognized];
        table.push(cells.map(Into::into).to_vec());
    }
    for preset in PRESETS {
        let chosen = format!("`--rule {}`", preset.name);
        let cells = ["preset", preset.name, preset.about(), chosen.as_str()];
        table.push(cells.map(Into::into).to_vec());
    }
    for format in outputs::ALL {
        let ending = format.endings[0];
        let chosen = match (format.report, format.conversion, format.picture) {
            (Some(_), None, _) => format!("`--format {}`, `-o NAME{ending}`", format.name),
            (Some(_), Some(_), _) => {
                format!("`--format {}`, `convert -o NAME{ending}`", format.name)
            }
            (None, Some(_), None) => format!("`convert -o NAME{ending}`"),
            (None, Some(_), Some(_)) => {
                format!("`convert -o NAME{ending}`, `flame -o NAME{ending}`")
            }
            (None, None, _) => format!("`flame -o NAME{ending}`"),
        };
        let cells = ["written", format.name, format.about, chosen.as_str()];
        table.push(cells.map(Into::into).to_vec());
    }
    output::write_table(&table, global)?;
    Ok(Exit::Done)
}
