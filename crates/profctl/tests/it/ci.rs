//! The templates for continuous integration: their scripts are run as the services run them. Also a
//! step of our own CI that is skipped if a program is missing.

use std::fs;
use std::path::Path;
use std::process::Command;

use profctl_testkit::fixtures;

use crate::diff::{runs, trace};
use crate::program::{Run, Scratch, finish};

/// The lines below the line that reads `head`, as far as they stand further right.
fn below<'a>(lines: &'a [&'a str], head: &str) -> &'a [&'a str] {
    let at = lines.iter().position(|line| line.trim() == head).expect("the key is in the file");
    let depth = |line: &str| line.len() - line.trim_start().len();
    let rest = &lines[at + 1..];
    let inside = |line: &&&str| line.trim().is_empty() || depth(line) > depth(lines[at]);
    &rest[..rest.iter().take_while(inside).count()]
}

fn dedented(lines: &[&str]) -> String {
    let depth = lines[0].len() - lines[0].trim_start().len();
    let lines: Vec<&str> = lines.iter().map(|line| line.get(depth..).unwrap_or("")).collect();
    lines.join("\n")
}

/// One step of the composite action: its variables and its script.
fn step(name: &str) -> (Vec<(String, String)>, String) {
    let page = fs::read_to_string(fixtures::root().join("ci/github/action.yml"))
        .expect("it is in the repository");
    let lines: Vec<&str> = page.lines().collect();
    let step = below(&lines, &format!("- name: {name}"));
    let variables = below(step, "env:").iter().map(|line| {
        let (name, value) = line.trim().split_once(": ").expect("a variable has a value");
        let input = value.trim_start_matches("${{ inputs.").trim_end_matches(" }}");
        (name.to_owned(), input.to_owned())
    });
    (variables.collect(), dedented(below(step, "run: |")))
}

/// Runs a script as the service does, in `folder`.
fn shell(script: &str, folder: &str, variables: &[(&str, &str)]) -> Run {
    let file = Path::new(folder).join("script.sh");
    fs::write(&file, script).expect("the folder can be written");
    let mut command = Command::new("bash");
    command.args(["--noprofile", "--norc", "-eo", "pipefail"]).arg(&file).current_dir(folder);
    // The service itself may be what runs this test.
    command.env_remove("GITHUB_OUTPUT").env_remove("GITHUB_STEP_SUMMARY");
    finish(command.envs(variables.iter().copied()))
}

/// Runs a step with the defaults of the action for what `inputs` does not name.
fn run_step(name: &str, folder: &str, inputs: &[(&str, &str)]) -> Run {
    let (variables, script) = step(name);
    let of = |input: &str| {
        let given = inputs.iter().find(|(name, _)| *name == input).map(|(_, value)| *value);
        given.unwrap_or_else(|| match input {
            "profctl" => env!("CARGO_BIN_EXE_profctl"),
            "reports" => "profctl-reports",
            "config" | "arguments" | "history" => "",
            other => panic!("{other} has no default"),
        })
    };
    let mut variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, input)| (name.as_str(), of(input))).collect();
    let (output, summary) = (format!("{folder}/output"), format!("{folder}/summary"));
    variables.extend([("GITHUB_OUTPUT", output.as_str()), ("GITHUB_STEP_SUMMARY", &summary)]);
    shell(&script, folder, &variables)
}

#[test]
fn the_action_for_github_ends_as_the_gate_does() {
    let scratch = Scratch::new("ci_github");
    let base = runs(&scratch, "base", &[("f", 1000), ("g", 2000)]);
    let slow = runs(&scratch, "slow of mine", &[("f", 1300), ("g", 2000)]);
    let one = scratch.file("one.txt", trace(&[("f", 1000)]));
    let policy = scratch.file("lenient.toml", "max_regression = \"40%\"\n");
    for (n, (inputs, code, verdict)) in [
        (&[("before", base.as_str()), ("after", &base)][..], 0, "pass"),
        (&[("before", &base), ("after", &slow)], 1, "regressed"),
        (&[("before", &base), ("after", &slow), ("config", &policy)], 0, "pass"),
        (
            &[("before", &base), ("after", &slow), ("arguments", "--max-regression 40% --strict")],
            0,
            "pass",
        ),
        (&[("before", &one), ("after", &one)], 4, "inconclusive"),
        (&[("before", "missing"), ("after", &base)], 3, "error"),
    ]
    .into_iter()
    .enumerate()
    {
        let folder = scratch.path(&format!("work{n}"));
        fs::create_dir(&folder).unwrap();
        let ended = run_step("Gate", &folder, inputs);
        assert_eq!(ended.code, Some(code), "{inputs:?}: {}", ended.stderr);
        let read = |name: &str| fs::read_to_string(Path::new(&folder).join(name));
        let said = read("output").unwrap();
        assert_eq!(said, format!("verdict={verdict}\nexit-code={code}\n"), "{inputs:?}");
        assert_eq!(ended.stdout.contains("::error"), verdict == "regressed", "{}", ended.stdout);
        if code == 3 {
            continue;
        }
        for report in ["gate.json", "gate.md", "gate.xml", "gate.sarif"] {
            assert!(!read(&format!("profctl-reports/{report}")).unwrap().is_empty(), "{report}");
        }
        assert_eq!(read("summary").unwrap(), read("profctl-reports/gate.md").unwrap());
    }
    let folder = scratch.path("work0");
    let inputs = [("before", base.as_str()), ("after", &slow)];
    let ended = run_step("Self-test", &folder, &inputs);
    assert!(ended.code == Some(0) && ended.stdout.contains("self-test: passed"), "{ended:?}");
}

/// The commands of the job for GitLab, in order.
fn commands() -> Vec<String> {
    let page = fs::read_to_string(fixtures::root().join("ci/gitlab/profctl.yml"))
        .expect("it is in the repository");
    let lines: Vec<&str> = page.lines().collect();
    let mut commands: Vec<String> = Vec::new();
    for line in below(&lines, "script:").iter().map(|line| line.trim()) {
        match line.strip_prefix("- ") {
            // The lines of a folded text are joined by blanks.
            Some(">-") => commands.push(String::new()),
            Some(command) => commands.push(command.to_owned()),
            None if line.starts_with('#') => {}
            None => {
                let last = commands.last_mut().expect("the first line begins a command");
                *last = format!("{last} {line}");
            }
        }
    }
    commands
}

#[test]
fn the_job_for_gitlab_ends_as_the_gate_does() {
    let scratch = Scratch::new("ci_gitlab");
    let base = runs(&scratch, "base", &[("f", 1000), ("g", 2000)]);
    let slow = runs(&scratch, "slow", &[("f", 1300), ("g", 2000)]);
    let commands = commands();
    assert_eq!(commands.len(), 5, "{commands:?}");
    let folder = Path::new(env!("CARGO_BIN_EXE_profctl")).parent().unwrap();
    let found = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    for (n, (after, arguments, code)) in
        [(&base, "", 0), (&slow, "", 1), (&slow, "--max-regression 40%", 0)].into_iter().enumerate()
    {
        let work = scratch.path(&format!("work{n}"));
        fs::create_dir(&work).unwrap();
        let ended = shell(
            &commands.join("\n"),
            &work,
            &[
                ("PATH", &found),
                ("PROFCTL_BEFORE", &base),
                ("PROFCTL_AFTER", after),
                ("PROFCTL_ARGUMENTS", arguments),
                ("PROFCTL_REPORTS", "reports"),
            ],
        );
        assert_eq!(ended.code, Some(code), "{}{}", ended.stdout, ended.stderr);
        for report in ["gate.json", "gate.md", "gate.xml", "gate.sarif"] {
            assert!(Path::new(&work).join("reports").join(report).is_file(), "{report}");
        }
    }
}

#[test]
fn fuzzing_is_skipped_without_cargo_fuzz() {
    let scratch = Scratch::new("ci_fuzz");
    let folder = scratch.path(".");
    let fuzz = fixtures::root().join("scripts/fuzz");
    // A cargo that has no such command is found first.
    let script = format!(
        "mkdir bin; ln -s \"$(type -P false)\" bin/cargo; PATH=$PWD/bin:$PATH '{}' 60x",
        fuzz.display()
    );
    let skipped = shell(&script, &folder, &[]);
    assert_eq!((skipped.code, skipped.stderr.as_str()), (Some(0), ""));
    assert!(skipped.stdout.starts_with("skipped: needs"), "{}", skipped.stdout);
}
