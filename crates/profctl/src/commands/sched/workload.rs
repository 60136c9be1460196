//! Workloads described in TOML, for `sched --whatif`.
//!
//! ```toml
//! [[thread]]
//! name = "ls"
//! repeat = 520
//! step = [{ compute = "1.92ms" }, { wake = "server" }, { block = "woken" }]
//! ```

use std::path::Path;

use profctl_analyze::sched::whatif::{Program, Step, Workload};
use profctl_model::{Ticks, Timebase};
use serde::Deserialize;

use crate::duration::{self, Length};
use crate::exit::Failure;

/// Steps beyond which a file is refused.
const STEPS_MAX: usize = 20_000_000;
/// Threads beyond which a file is refused.
const THREADS_MAX: usize = 100_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    /// CPUs.
    cpus: Option<usize>,
    #[serde(default)]
    thread: Vec<Described>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
    name: String,
    /// How often the steps are done.
    repeat: Option<usize>,
    /// How many such threads there are.
    copies: Option<usize>,
    #[serde(default)]
    step: Vec<StepText>,
}

/// One of `compute`, `block`, `wake`; or steps to repeat.
#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct StepText {
    /// A length, or `forever`.
    compute: Option<String>,
    /// A length, or `woken`.
    block: Option<String>,
    /// The name of a thread.
    wake: Option<String>,
    repeat: Option<usize>,
    #[serde(default)]
    step: Vec<StepText>,
}

/// Reads a workload.
pub(super) fn read(path: &Path) -> Result<Workload, Failure> {
    let name = path.display().to_string();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::input(name.clone(), error.to_string()))?;
    parse(&text).map_err(|message| Failure::input(name, message))
}

fn parse(text: &str) -> Result<Workload, String> {
    let file: File = toml::from_str(text).map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        let line = before.map_or(1, |before| before.matches('\n').count() + 1);
        format!("line {line}: {}", error.message())
    })?;
    // The first of several copies has the name.
    let mut first_of = Vec::new();
    let mut n = 0_usize;
    for thread in &file.thread {
        first_of.push((thread.name.as_str(), n));
        n = n.saturating_add(thread.copies.unwrap_or(1));
    }
    if n > THREADS_MAX {
        return Err(format!("{n} threads, expected at most {THREADS_MAX}"));
    }
    let mut programs: Vec<Program> = Vec::new();
    for thread in &file.thread {
        let about = |message: String| format!("thread `{}`: {message}", thread.name);
        let mut once = Vec::new();
        append(&mut once, &thread.step, &first_of).map_err(about)?;
        let steps = repeated(&once, thread.repeat.unwrap_or(1)).map_err(about)?;
        let copies = thread.copies.unwrap_or(1);
        if steps.len().saturating_mul(copies) > STEPS_MAX {
            return Err(about(format!("more than {STEPS_MAX} steps")));
        }
        for copy in 1..=copies {
            let name = match copies {
                1 => thread.name.clone(),
                _ => format!("{}#{copy}", thread.name),
            };
            programs.push(Program { name, steps: steps.clone(), ..Program::default() });
        }
    }
    if programs.is_empty() {
        return Err("no [[thread]]".into());
    }
    let cpus = file.cpus.unwrap_or(1);
    if cpus == 0 {
        return Err("cpus = 0, expected at least 1".into());
    }
    Ok(Workload { programs, cpus, timebase: Timebase::NANOSECONDS })
}

fn append(
    steps: &mut Vec<Step>,
    texts: &[StepText],
    threads: &[(&str, usize)],
) -> Result<(), String> {
    for text in texts {
        let StepText { compute, block, wake, repeat, step } = text;
        let given = [compute.is_some(), block.is_some(), wake.is_some(), !step.is_empty()];
        if given.into_iter().filter(|given| *given).count() != 1 {
            return Err("a step is one of compute, block, wake, or step with repeat".into());
        }
        if let Some(length) = compute {
            steps.push(match length.as_str() {
                "forever" => Step::ComputeForever,
                length => Step::Compute(nanoseconds(length, "compute")?),
            });
        }
        if let Some(length) = block {
            steps.push(match length.as_str() {
                "woken" => Step::BlockUntilWoken,
                length => Step::BlockFor(nanoseconds(length, "block")?),
            });
        }
        if let Some(name) = wake {
            let known = threads.iter().find(|(known, _)| known == name);
            let (_, thread) = known.ok_or_else(|| format!("wake: no thread `{name}`"))?;
            steps.push(Step::Wake(*thread));
        }
        let mut inner = Vec::new();
        append(&mut inner, step, threads)?;
        steps.extend(repeated(&inner, repeat.unwrap_or(1))?);
    }
    Ok(())
}

fn repeated(steps: &[Step], times: usize) -> Result<Vec<Step>, String> {
    if steps.len().saturating_mul(times) > STEPS_MAX {
        return Err(format!("more than {STEPS_MAX} steps"));
    }
    Ok(steps.repeat(times))
}

fn nanoseconds(text: &str, key: &str) -> Result<Ticks, String> {
    match duration::parse(text) {
        Ok(Length::Nanos(nanos)) => Ok(Ticks(nanos)),
        Ok(Length::Counts(_)) => Err(format!("{key}: expected a duration such as 5ms")),
        Err(message) => Err(format!("{key} = {text:?}: {message}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_repeated_and_threads_copied() {
        let text = r#"
            [[thread]]
            name = "client"
            repeat = 2
            step = [
                { repeat = 2, step = [{ compute = "1ms" }] },
                { wake = "server" },
                { block = "woken" },
            ]
            [[thread]]
            name = "hog"
            copies = 2
            step = [{ compute = "forever" }]
            [[thread]]
            name = "server"
            step = [{ block = "5us" }]
        "#;
        let workload = parse(text).unwrap();
        let names: Vec<&str> = workload.programs.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["client", "hog#1", "hog#2", "server"]);
        let ms = Step::Compute(Ticks(1_000_000));
        let once = [ms, ms, Step::Wake(3), Step::BlockUntilWoken];
        assert_eq!(workload.programs[0].steps, [once, once].concat());
        assert_eq!(workload.programs[3].steps, [Step::BlockFor(Ticks(5_000))]);
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, expected) in [
            ("", "no [[thread]]"),
            ("[[thread]]\nname = 'a'\nstep = [{ }]", "thread `a`: a step is one of"),
            ("[[thread]]\nname = 'a'\nstep = [{ compute = '5' }]", "thread `a`: compute = \"5\""),
            ("[[thread]]\nname = 'a'\nstep = [{ wake = 'b' }]", "wake: no thread `b`"),
            ("[[thread]]\nname = 'a'\nsteps = []", "line 3: unknown field"),
            ("[[thread]]\nname = 'a'\ncopies = 9999999999", "9999999999 threads"),
        ] {
            let message = parse(text).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
