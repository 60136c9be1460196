//! What a line says, names and positions written out in full.

use profctl_model::hash::FastMap;

use crate::text;

/// The two kinds of names that matter.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Space {
    Function,
    Object,
}

/// `(12) name` gives a number to a name, and `(12)` stands for it from then on.
#[derive(Debug, Default)]
pub(super) struct Names {
    known: FastMap<(Space, u64), String>,
}

impl Names {
    /// The name that `text` stands for; nothing if its number was never given.
    pub(super) fn resolve(&mut self, space: Space, text: &str) -> Option<String> {
        let text = text.trim();
        let numbered = text.strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let numbered = numbered.and_then(|(digits, name)| {
            Some((text::decimal(digits.as_bytes(), 0)?, name.trim_start()))
        });
        let Some((number, name)) = numbered else { return Some(text.to_owned()) };
        if name.is_empty() {
            return self.known.get(&(space, number)).cloned();
        }
        self.known.insert((space, number), name.to_owned());
        Some(name.to_owned())
    }
}

/// The cost in column `column` of a line of `n_positions` positions and then costs; nothing if it
/// is no such line. Costs at the end of a line may be omitted if they are 0.
pub(super) fn cost(line: &str, n_positions: usize, column: usize) -> Option<u64> {
    let mut words = line.split_ascii_whitespace();
    for _ in 0..n_positions {
        position(words.next()?)?;
    }
    let costs: Option<Vec<u64>> = words.map(|word| text::decimal(word.as_bytes(), 0)).collect();
    Some(costs?.get(column).copied().unwrap_or(0))
}

/// `12`, `0x40`, `+3`, `-3`, `*`: where they are does not matter, only that they are positions.
fn position(word: &str) -> Option<()> {
    let digits = word.strip_prefix(['+', '-']).unwrap_or(word);
    (word == "*" || text::integer(digits.as_bytes()).is_some()).then_some(())
}
