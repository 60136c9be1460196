//! Functions by the name that a user typed, and a hint when there is none.

use std::cmp::Reverse;

use profctl_model::{FuncId, IdVec, Names};

/// How many similar names a hint has at most.
const HINTS: usize = 5;

/// Which functions are called exactly `wanted`; several may be, in different modules. Fails, naming
/// similar ones, if none is.
pub(crate) fn functions(names: &Names, wanted: &str) -> Result<IdVec<FuncId, bool>, String> {
    let found: IdVec<FuncId, bool> = names.funcs.iter().map(|func| func.name == wanted).collect();
    if found.iter().any(|&is| is) {
        return Ok(found);
    }
    let all = names.funcs.iter().map(|func| func.name.as_str());
    Err(unknown("function", wanted, all))
}

/// The name that serves someone best who typed `wanted`.
pub(crate) fn nearest<'a>(wanted: &str, all: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = all.filter_map(|name| likeness(name, wanted).map(|likeness| (likeness, name)));
    near.max_by(|a, b| a.0.cmp(&b.0).then_with(|| b.1.cmp(a.1))).map(|(_, name)| name)
}

/// The error for a name that is not there.
pub(crate) fn unknown<'a>(what: &str, wanted: &str, all: impl Iterator<Item = &'a str>) -> String {
    let mut near: Vec<_> = all
        .filter_map(|name| likeness(name, wanted).map(|likeness| (Reverse(likeness), name)))
        .collect();
    near.sort_unstable();
    near.dedup();
    near.truncate(HINTS);
    if near.is_empty() {
        return format!("no {what} `{wanted}`");
    }
    let near: Vec<_> = near.into_iter().map(|(_, name)| format!("`{name}`")).collect();
    format!("no {what} `{wanted}`; did you mean {}?", near.join(", "))
}

/// The message for a function that is not among `all`: similar ones are named.
pub fn no_function<'a>(wanted: &str, all: impl Iterator<Item = &'a str>) -> String {
    unknown("function", wanted, all)
}

/// How well `name` serves someone who typed `wanted`; nothing if it does not.
fn likeness(name: &str, wanted: &str) -> Option<usize> {
    let (name, wanted) = (name.to_lowercase(), wanted.to_lowercase());
    if name.is_empty() || wanted.is_empty() {
        return None;
    }
    let longest = name.len().max(wanted.len());
    if name.contains(&wanted) || wanted.contains(&name) {
        return Some(100 * name.len().min(wanted.len()) / longest);
    }
    let allowed = 1 + wanted.len() / 4;
    if name.len().abs_diff(wanted.len()) > allowed {
        return None;
    }
    let distance = edits(name.as_bytes(), wanted.as_bytes());
    (distance <= allowed).then(|| 100 * (longest - distance) / longest)
}

/// The number of letters to insert, delete or replace to get from one to the other (Levenshtein).
pub(crate) fn edits(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, &from) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, &to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_are_near_and_few() {
        let all = ["in_cksum", "ip_input", "tcp_input", "tcp_output", "splx", "udp_input"];
        let hint = |wanted| unknown("function", wanted, all.into_iter());
        assert_eq!(hint("tcp_inptu"), "no function `tcp_inptu`; did you mean `tcp_input`?");
        assert_eq!(hint("cksum"), "no function `cksum`; did you mean `in_cksum`?");
        assert_eq!(hint("zzz"), "no function `zzz`");
    }

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits(b"kitten", b"sitting"), 3);
        assert_eq!(edits(b"", b"abc"), 3);
    }
}
