//! Names without compiler suffixes, so that a function is matched in two builds.
//!
//! Two kinds of suffix are distinguished. A *clone* (`.isra.0`, `.constprop.0`, `.llvm.123`, a Rust
//! hash) is the function itself, specialized: its calls are calls of the function. A *fragment*
//! (`.part.0`, `.cold`) is a piece that the function jumps to or calls: adding its calls to those
//! of the function would count them twice.

/// What the compilers append for a function that is still the whole function.
const CLONES: [&str; 11] = [
    "isra",
    "constprop",
    "llvm",
    "lto_priv",
    "ltrans_priv",
    "clone",
    "localalias",
    "__uniq",
    "cfi_jt",
    "cfi",
    "specialized",
];
/// What they append for a piece of one.
const FRAGMENTS: [&str; 4] = ["part", "cold", "warm", "hot"];

/// A name taken apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Canonical<'a> {
    /// What a programmer would call it.
    pub(super) base: &'a str,
    /// Which piece of it, if it is no more than one.
    pub(super) fragment: Option<&'static str>,
}

/// Takes the suffixes off `name`. A name that is nothing but suffixes stays as it is.
pub(super) fn canonical(name: &str) -> Canonical<'_> {
    let mut base = name;
    let mut fragment = None;
    loop {
        let without_hash = without_rust_hash(base);
        let Some((rest, suffix)) = last_suffix(without_hash) else {
            return Canonical { base: without_hash, fragment };
        };
        if let Suffix::Fragment(kind) = suffix {
            fragment = Some(kind);
        }
        base = rest;
    }
}

enum Suffix {
    Clone,
    Fragment(&'static str),
}

/// Splits the last `.word`, `.word.number` or `.number` off.
fn last_suffix(name: &str) -> Option<(&str, Suffix)> {
    let (rest, last) = name.rsplit_once('.').filter(|(rest, _)| !rest.is_empty())?;
    if is_number(last) {
        // `foo.isra.0` as one; `foo.0` is a number on its own.
        let with_word = rest.rsplit_once('.').filter(|(before, _)| !before.is_empty());
        let named = with_word.and_then(|(before, word)| Some((before, suffix(word)?)));
        return Some(named.unwrap_or((rest, Suffix::Clone)));
    }
    suffix(last).map(|suffix| (rest, suffix))
}

fn suffix(word: &str) -> Option<Suffix> {
    if CLONES.contains(&word) {
        return Some(Suffix::Clone);
    }
    FRAGMENTS.into_iter().find(|&fragment| fragment == word).map(Suffix::Fragment)
}

/// `core::fmt::write::h0123456789abcdef` or its mangled form without the hash.
fn without_rust_hash(name: &str) -> &str {
    const DIGITS: usize = 16;
    let is_hash = |text: &str| {
        text.len() == DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    if let Some((rest, hash)) = name.rsplit_once("::h").filter(|(rest, _)| !rest.is_empty())
        && is_hash(hash)
    {
        return rest;
    }
    let mangled = name.strip_suffix('E').and_then(|name| name.rsplit_once("17h"));
    match mangled {
        Some((rest, hash)) if is_hash(hash) && rest.starts_with("_ZN") => rest,
        _ => name,
    }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suffixes_come_off_and_pieces_are_told() {
        for (name, base, fragment) in [
            ("vfs_read", "vfs_read", None),
            ("finish_task_switch.isra.0", "finish_task_switch", None),
            ("foo.constprop.0.isra.3", "foo", None),
            ("folio_memcg_lock.part.0", "folio_memcg_lock", Some("part")),
            ("foo.isra.0.cold", "foo", Some("cold")),
            ("foo.cold", "foo", Some("cold")),
            ("foo.part.0.constprop.1", "foo", Some("part")),
            ("foo.llvm.12345678901234567890", "foo", None),
            ("foo.lto_priv.0", "foo", None),
            ("table.1", "table", None),
            ("foo.__uniq.1234.llvm.99", "foo", None),
            ("core::fmt::write::h0123456789abcdef", "core::fmt::write", None),
            ("core::fmt::write::h0123456789abcdeg", "core::fmt::write::h0123456789abcdeg", None),
            ("_ZN4core3fmt5write17h0123456789abcdefE", "_ZN4core3fmt5write", None),
            ("_ZN4core3fmt5write17h0123456789abcdefE.llvm.77", "_ZN4core3fmt5write", None),
            ("a.out", "a.out", None),
            ("Runtime.init", "Runtime.init", None),
            ("foo.isra", "foo", None),
            (".isra.0", ".isra", None),
            (".0", ".0", None),
            ("", "", None),
        ] {
            assert_eq!(canonical(name), Canonical { base, fragment }, "{name}");
        }
    }
}
