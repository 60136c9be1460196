//! What a rule makes of the first lines of a trace.

use std::path::Path;

use profctl_import::ImportOptions;
use profctl_import::formats::rule::{self, Explained, Outcome};

use super::line;
use crate::args::{Expansion, Global};
use crate::exit::Failure;
use crate::input::{Content, Inputs};

/// How many lines are explained.
const LINES: usize = 10;

/// Appends what the rule that the user gave makes of the first lines; nothing without a rule, nor
/// for standard input, which can be read only once.
pub(super) fn append(
    trace: &Path,
    options: &ImportOptions,
    text: &mut String,
    (expansion, global): (Expansion, &Global),
) -> Result<(), Failure> {
    let Some(rule) = &options.rule else { return Ok(()) };
    if trace == Path::new("-") {
        return Ok(());
    }
    let file = Inputs::single(trace, global)?;
    let Content::Trace(input) = file.open(expansion)? else { return Ok(()) };
    let explained = rule::explain(&input, options, LINES)
        .map_err(|error| Failure::import(&file.name, &error))?;
    line(text, "");
    line(text, &format!("rule {}, line by line:", rule.name));
    for explained in &explained {
        append_line(explained, text);
    }
    Ok(())
}

fn append_line(explained: &Explained, text: &mut String) {
    let Explained { number, text: found, outcome } = explained;
    line(text, &format!("{number:>4}: {found}"));
    match outcome {
        Outcome::Ignored => line(text, "      ignored"),
        Outcome::Missed(why) => line(text, &format!("      no pattern: {why}")),
        Outcome::Matched { pattern, rule_line, groups, event } => {
            let groups: Vec<_> =
                groups.iter().map(|(name, text)| format!("{name}=`{text}`")).collect();
            let place = format!("      pattern {pattern} (line {rule_line} of the rule)");
            line(text, &format!("{place}: {}", groups.join(" ")));
            match event {
                Ok(event) if event.is_empty() => line(text, "      ignored"),
                Ok(event) => line(text, &format!("      event {event}")),
                Err(message) => line(text, &format!("      skipped: {message}")),
            }
        }
    }
}
