//! Builds on disk: where they are, in which order they were made, what is known of each.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use profctl_analyze::diff::{Side, natural_order};
use profctl_analyze::history::{Build, History};
use profctl_analyze::summarize::Quality;
use profctl_model::Timebase;
use serde::Deserialize;

use crate::args::{Global, Reading, Selection};
use crate::commands::diff::sides;
use crate::exit::{Failure, reason};
use crate::input::{self, ABOUT_BUILD, is_description};

/// How the builds of a directory are put in order.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Order {
    /// By name, numbers by their value
    Name,
    /// By the date in build.toml, else the time of the file
    Time,
    /// By the commit in build.toml, as `git rev-list` has it
    Git,
}

#[derive(Deserialize, Debug, Default)]
#[serde(deny_unknown_fields)]
struct AboutFile {
    commit: Option<String>,
    date: Option<String>,
    config: Option<String>,
}

/// A build and where it is.
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) build: Build,
}

impl Place {
    /// Reads its runs.
    pub(crate) fn read(
        &self,
        reading: &Reading,
        selection: &Selection,
        global: &Global,
    ) -> Result<Side, Failure> {
        sides::one(&self.path, reading, selection, global)
    }
}

/// The builds that were named, or those of the directory that was.
pub(crate) fn find(named: &[PathBuf], order: Order) -> Result<Vec<Place>, Failure> {
    let [folder] = named else {
        return named.iter().map(|path| place(path.clone())).collect();
    };
    let name = folder.display().to_string();
    let entries =
        fs::read_dir(folder).and_then(Iterator::collect::<std::io::Result<Vec<_>>>).map_err(
            |error| Failure::input(name.as_str(), format!("{}, expected builds", reason(&error))),
        )?;
    let is_build = |path: &PathBuf| {
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        !hidden && !is_description(path)
    };
    let paths = entries.iter().map(fs::DirEntry::path).filter(is_build);
    let mut places = paths.map(place).collect::<Result<Vec<_>, _>>()?;
    if places.len() < 2 {
        let found = places.len();
        return Err(Failure::input(name, format!("holds {found} builds, expected 2 or more")));
    }
    let by_name = |a: &Place, b: &Place| natural_order(&a.build.name, &b.build.name);
    match order {
        Order::Name => places.sort_by(by_name),
        Order::Time => {
            let key = |place: &Place| -> Option<String> {
                place.build.date.clone().or_else(|| {
                    let modified = fs::metadata(&place.path).ok()?.modified().ok()?;
                    let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
                    Some(format!("@{:020}", since.as_secs()))
                })
            };
            // A date and a time of a file cannot be compared: a file without a date comes last.
            let keys: HashMap<PathBuf, (bool, Option<String>)> = places
                .iter()
                .map(|place| (place.path.clone(), (place.build.date.is_none(), key(place))))
                .collect();
            places.sort_by(|a, b| keys[&a.path].cmp(&keys[&b.path]).then_with(|| by_name(a, b)));
        }
        Order::Git => {
            let ranks = commits()?;
            for place in &places {
                let name = &place.build.name;
                match &place.build.commit {
                    Some(commit) if rank(&ranks, commit).is_some() => {}
                    Some(commit) => {
                        return Err(Failure::usage(format!("{name}: no commit {commit} in git")));
                    }
                    None => {
                        return Err(Failure::usage(format!("{name}: no commit in {ABOUT_BUILD}")));
                    }
                }
            }
            let of = |place: &Place| {
                place.build.commit.as_deref().and_then(|commit| rank(&ranks, commit))
            };
            places.sort_by(|a, b| of(a).cmp(&of(b)).then_with(|| by_name(a, b)));
        }
    }
    Ok(places)
}

/// What was measured of builds.
pub(crate) struct Builds {
    pub(crate) history: History,
    /// The clock of the first.
    pub(crate) timebase: Timebase,
    /// How good each run was.
    pub(crate) qualities: Vec<Quality>,
}

/// Reads the runs of builds.
pub(crate) fn read(
    places: Vec<Place>,
    reading: &Reading,
    selection: &Selection,
    global: &Global,
) -> Result<Builds, Failure> {
    let mut history = History::default();
    let mut timebase: Option<Timebase> = None;
    let mut qualities = Vec::new();
    for place in places {
        let side = place.read(reading, selection, global)?;
        let of_side = side.runs[0].profile.timebase;
        let first = *timebase.get_or_insert(of_side);
        if first.unit_name() != of_side.unit_name() {
            let (a, b) = (of_side.unit_name(), first.unit_name());
            let message = format!("the build counts {a}, the ones before it {b}");
            return Err(Failure::input(side.name, message));
        }
        qualities.extend(sides::qualities(&side));
        history.add(place.build, side);
    }
    // Levels are in the unit that a clock reports, whatever its ticks.
    let timebase = match timebase {
        Some(timebase) if timebase.unit_name() != "ns" => timebase,
        _ => Timebase::NANOSECONDS,
    };
    Ok(Builds { history, timebase, qualities })
}

fn place(path: PathBuf) -> Result<Place, Failure> {
    let file = path.join(ABOUT_BUILD);
    let about = if file.is_file() { about(&file)? } else { AboutFile::default() };
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let endings = [".zst", ".gz", ".xz", ".json", ".profile"];
    let name = endings
        .iter()
        .fold(name, |name, ending| name.strip_suffix(ending).map_or(name.clone(), str::to_owned));
    let AboutFile { commit, date, config } = about;
    Ok(Place { path, build: Build { name, commit, date, config, runs: 0 } })
}

fn about(file: &Path) -> Result<AboutFile, Failure> {
    let name = file.display().to_string();
    let bytes = input::read_side_file(file)?;
    let text = String::from_utf8_lossy(&bytes);
    toml::from_str(&text).map_err(|error| Failure::input(name, error.message().to_owned()))
}

/// The place of each commit in the history of what is checked out.
fn commits() -> Result<Vec<String>, Failure> {
    let output =
        Command::new("git").args(["rev-list", "--topo-order", "--reverse", "HEAD"]).output();
    let output = output.map_err(|error| Failure::usage(format!("git rev-list: {error}")))?;
    if !output.status.success() {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::usage(format!("git rev-list: {}", why.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

fn rank(commits: &[String], commit: &str) -> Option<usize> {
    let found = |known: &String| commit.len() >= 7 && known.starts_with(commit);
    commits.iter().position(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_named_without_the_ending_of_their_file() {
        let name = |path: &str| place(PathBuf::from(path)).unwrap().build.name;
        assert_eq!(name("builds/v10.profile.json.zst"), "v10");
        assert_eq!(name("builds/v2"), "v2");
        assert!(natural_order("v2", "v10").is_lt());
    }

    #[test]
    fn a_commit_may_be_abbreviated() {
        let known = vec!["aaaaaaaaaaaa".to_owned(), "abcdef012345".to_owned()];
        assert_eq!(rank(&known, "abcdef0"), Some(1));
        assert_eq!(rank(&known, "abc"), None);
    }
}
