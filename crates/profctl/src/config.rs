//! User preferences: `$XDG_CONFIG_HOME/profctl/config.toml`. It changes defaults of flags, so that
//! a flag always wins.

use std::path::PathBuf;

use profctl_render::TimeUnit;
use serde::Deserialize;

use crate::exit::Failure;

/// The file.
#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields)]
pub(crate) struct Config {
    /// Time unit in tables, as `--unit` takes it.
    unit: Option<String>,
    /// The columns of `summarize`, as `--columns` takes them.
    columns: Option<Vec<String>>,
    /// The command that pages, or `false` for none.
    pager: Option<Pager>,
    /// When to use colors, as `--color` takes it.
    theme: Option<String>,
}

#[derive(Deserialize, Debug)]
#[serde(untagged)]
enum Pager {
    Command(String),
    Wanted(bool),
}

const COLORS: [&str; 3] = ["auto", "always", "never"];

impl Config {
    /// Reads the file, if there is one.
    pub(crate) fn read() -> Result<Self, Failure> {
        let Some(path) = path().filter(|path| path.is_file()) else { return Ok(Self::default()) };
        let name = path.display().to_string();
        let text = std::fs::read_to_string(&path)
            .map_err(|error| Failure::usage(format!("{name}: {error}")))?;
        let config: Self = toml::from_str(&text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            let line = before.map_or(1, |before| before.matches('\n').count() + 1);
            Failure::usage(format!("{name}:{line}: {}", error.message()))
        })?;
        let units = TimeUnit::ALL.map(TimeUnit::name);
        for (key, value, allowed) in
            [("unit", &config.unit, &units[..]), ("theme", &config.theme, &COLORS)]
        {
            if let Some(value) = value.as_ref().filter(|value| !allowed.contains(&value.as_str())) {
                let allowed = allowed.join(", ");
                let message = format!("{name}: {key} = {value:?}, expected one of {allowed}");
                return Err(Failure::usage(message));
            }
        }
        Ok(config)
    }

    /// The command line with these defaults.
    pub(crate) fn apply(&self, mut command: clap::Command) -> clap::Command {
        // clap needs a value with static lifetime.
        if let Some(unit) = self.unit.clone().map(String::leak) {
            command = command.mut_arg("unit", |arg| arg.default_value(&*unit));
        }
        if let Some(color) = self.theme.clone().map(String::leak) {
            command = command.mut_arg("color", |arg| arg.default_value(&*color));
        }
        if let Some(columns) = &self.columns {
            let columns: &str = columns.join(",").leak();
            command = command.mut_subcommand("summarize", |summarize| {
                summarize.mut_arg("columns", |arg| arg.default_value(columns))
            });
        }
        command
    }

    /// The command that pages; an empty one for none.
    pub(crate) fn pager(&self) -> Option<String> {
        match &self.pager {
            Some(Pager::Command(command)) => Some(command.clone()),
            Some(Pager::Wanted(false)) => Some(String::new()),
            Some(Pager::Wanted(true)) | None => None,
        }
    }
}

fn path() -> Option<PathBuf> {
    let folder = match std::env::var_os("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(std::env::var_os("HOME")?).join(".config"),
    };
    Some(folder.join("profctl/config.toml"))
}
