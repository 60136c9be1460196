//! The rules that are shipped.

use std::sync::{Arc, LazyLock};

use super::compile::Rule;
use super::line::{Found, Matcher};
use crate::text;

/// A rule that is shipped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Preset {
    /// The name for `--rule`.
    pub name: &'static str,
    /// The rule file.
    pub text: &'static str,
}

/// Every rule that is shipped, by name.
pub static PRESETS: &[Preset] = &[
    Preset { name: "cyg-profile", text: include_str!("presets/cyg-profile.toml") },
    Preset { name: "dtrace-flow", text: include_str!("presets/dtrace-flow.toml") },
    Preset { name: "initcall-debug", text: include_str!("presets/initcall-debug.toml") },
    Preset { name: "printk", text: include_str!("presets/printk.toml") },
    Preset { name: "truss", text: include_str!("presets/truss.toml") },
    Preset { name: "uftrace-replay", text: include_str!("presets/uftrace-replay.toml") },
];

/// The preset of that name.
pub fn preset(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// The same, compiled once.
static COMPILED: LazyLock<Vec<Arc<Rule>>> = LazyLock::new(|| {
    let compile = |preset: &Preset| Rule::compile(preset.name, preset.text);
    PRESETS.iter().map(|preset| Arc::new(compile(preset).expect("presets are tested"))).collect()
});

/// The rule, if a preset of that name says just that.
pub(super) fn compiled(name: &str, text: &str) -> Option<Arc<Rule>> {
    let row = PRESETS.iter().position(|preset| preset.name == name && preset.text == text)?;
    COMPILED.get(row).map(Arc::clone)
}

impl Preset {
    /// What it reads, in one line.
    pub fn about(&self) -> &'static str {
        let rule = COMPILED.iter().find(|rule| rule.name == self.name);
        rule.map_or("", |rule| &rule.about)
    }
}

/// Lines that a preset must read before it recognizes a text.
const LINES_SURE: usize = 3;

/// The preset that `head` is of beyond doubt: it has what the preset asks for, and hardly a line
/// that the preset does not read.
pub(super) fn recognize(head: &[u8]) -> Option<Arc<Rule>> {
    if !text::looks_like_text(head) {
        return None;
    }
    let fits = |rule: &&Arc<Rule>| {
        rule.sniff.as_ref().is_some_and(|sniff| sniff.is_match(head)) && reads(rule, head)
    };
    COMPILED.iter().find(fits).map(Arc::clone)
}

fn reads(rule: &Arc<Rule>, head: &[u8]) -> bool {
    let mut matcher = Matcher::new(Arc::clone(rule), None, 1);
    let (mut read, mut missed) = (0, 0);
    for line in text::lines(head).filter(|line| line.ended) {
        match matcher.find(line.text) {
            Found::Pattern(_) => read += 1,
            Found::Nothing => missed += 1,
            Found::Ignored => {}
        }
    }
    read >= LINES_SURE && missed * 10 <= read
}
