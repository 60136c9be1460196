//! What the report calls the sides, if not by their paths.

use profctl_analyze::diff::Side;

use crate::exit::Failure;

#[derive(clap::Args, Debug)]
pub(crate) struct SideNames {
    /// Name of BEFORE in the report [default: its path]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    name_before: Option<String>,
    /// Name of AFTER in the report [default: its path]
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    name_after: Option<String>,
}

impl SideNames {
    /// Gives the sides their names.
    pub(crate) fn apply(&self, sides: &mut [Side; 2]) {
        for (side, name) in sides.iter_mut().zip([&self.name_before, &self.name_after]) {
            if let Some(name) = name {
                side.name.clone_from(name);
            }
        }
    }

    /// Fails if there is a name where the report has no place for it.
    pub(crate) fn refuse(&self, report: &str) -> Result<(), Failure> {
        let before = self.name_before.as_ref().map(|_| "--name-before");
        before.map_or(Ok(()), |flag| Err(no_effect(flag, report)))?;
        self.refuse_after(report)
    }

    /// Fails if there is a name of the side after.
    pub(crate) fn refuse_after(&self, report: &str) -> Result<(), Failure> {
        match self.name_after {
            Some(_) => Err(no_effect("--name-after", report)),
            None => Ok(()),
        }
    }
}

fn no_effect(flag: &str, report: &str) -> Failure {
    Failure::usage(format!("{flag} has no effect {report}"))
}
