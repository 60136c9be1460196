//! Why a line is of no pattern: how far the nearest one came.

use regex::bytes::Regex;

use super::compile::{Rule, compile};
use crate::text;

/// The beginnings of every pattern that are expressions of their own, the longest first, each
/// with its length in bytes.
pub(super) struct Near<'a> {
    rule: &'a Rule,
    beginnings: Vec<Vec<(usize, Regex)>>,
}

/// How far a pattern came in a line.
#[derive(Clone, Copy)]
struct Reach {
    /// The row of the pattern.
    row: usize,
    /// Bytes of its expression that match.
    prefix: usize,
    /// What they match.
    start: usize,
    end: usize,
}

impl<'a> Near<'a> {
    pub(super) fn of(rule: &'a Rule) -> Self {
        let beginnings = rule.patterns.iter().map(|pattern| {
            let source = pattern.source.as_str();
            let ends = source.char_indices().map(|(at, _)| at).filter(|at| *at > 0).rev();
            ends.filter_map(|end| Some((end, compile(&source[..end]).ok()?))).collect()
        });
        Self { rule, beginnings: beginnings.collect() }
    }

    /// What stopped the pattern that came furthest in `line`, for the message.
    pub(super) fn miss(&self, line: &[u8]) -> String {
        self.describe(line, self.furthest(line))
    }

    /// The same for the line of several in which a pattern came furthest, with its number.
    pub(super) fn nearest(&self, lines: &[(u64, &[u8])]) -> Option<(u64, String)> {
        let reached = lines.iter().map(|(number, line)| (*number, *line, self.furthest(line)));
        let far = |reach: Option<Reach>| reach.map_or(0, |reach| reach.end);
        let (number, line, reach) =
            reached.max_by_key(|(number, _, reach)| (far(*reach), std::cmp::Reverse(*number)))?;
        Some((number, self.describe(line, reach)))
    }

    /// The pattern that came furthest in `line`; the first of several.
    fn furthest(&self, line: &[u8]) -> Option<Reach> {
        let rows = self.beginnings.iter().enumerate();
        let reached = rows.filter_map(|(row, beginnings)| {
            beginnings.iter().find_map(|(prefix, regex)| {
                let found = regex.find(line).filter(|found| !found.is_empty())?;
                Some(Reach { row, prefix: *prefix, start: found.start(), end: found.end() })
            })
        });
        reached.max_by_key(|reach| (reach.end, std::cmp::Reverse(reach.row)))
    }

    fn describe(&self, line: &[u8], reach: Option<Reach>) -> String {
        let found = text::excerpt(line);
        let Some(Reach { row, prefix, start, end }) = reach else {
            return format!("found `{found}`; no pattern matches its beginning");
        };
        let pattern = &self.rule.patterns[row];
        format!(
            "found `{found}`; pattern {} (line {} of the rule) came closest: `{}` matched `{}`, \
             then `{}` was expected and `{}` found",
            row + 1,
            pattern.line,
            &pattern.source[..prefix],
            text::excerpt(&line[start..end]),
            &pattern.source[prefix..],
            text::excerpt(&line[end..]),
        )
    }
}
