//! What the report calls the sides, if not by their paths.

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
    /// Replaces the names of the sides.
    pub(crate) fn apply(&self, names: [&mut String; 2]) {
        for (ours, given) in names.into_iter().zip([&self.name_before, &self.name_after]) {
            if let Some(given) = given {
                ours.clone_from(given);
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
