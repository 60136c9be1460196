//! `profctl formats`: what is read and what is written.

use profctl_import::FORMATS;
use profctl_model::{Column, Role, Table, Timebase};
use profctl_render::table::Format;

use crate::args::Global;
use crate::exit::{Exit, Failure};
use crate::output;

/// List the formats that are read and written
#[derive(clap::Args, Debug)]
pub(crate) struct Args {}

pub(crate) fn run(global: &Global) -> Result<Exit, Failure> {
    let columns = ["direction", "name", "about", "recognised"];
    let columns = columns.map(|name| Column::new(name, name, Role::Text)).to_vec();
    let mut table = Table::new("profctl.formats/1", Timebase::NANOSECONDS, columns);
    for format in FORMATS {
        let format = format.descriptor();
        let cells = ["read", format.name, format.about, format.recognised];
        table.push(cells.map(Into::into).to_vec());
    }
    for format in Format::ALL {
        let chosen = format!("by `--output {format}`");
        let cells = ["written", format.name(), format.about(), chosen.as_str()];
        table.push(cells.map(Into::into).to_vec());
    }
    output::write_table(&table, global)?;
    Ok(Exit::Done)
}
