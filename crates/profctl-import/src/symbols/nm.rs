//! Lines of `nm`: `0040 T main`, `0040 0012 T main`, `main T 0040 12` (`-P`), `main |0040| T |…`
//! (`-f sysv`), each perhaps after `file:`; `System.map` and `/proc/kallsyms` are of the first
//! kind.

use super::Entry;
use crate::text;

/// Every symbol of the listing. Lines that are none are skipped, but not if all are.
pub(super) fn entries(bytes: &[u8]) -> Result<Vec<Entry>, String> {
    let mut first_other = None;
    let mut entries = Vec::new();
    for line in text::lines(bytes) {
        let line = String::from_utf8_lossy(line.text);
        match entry(line.trim()) {
            Some(entry) => entries.push(entry),
            None if line.trim().is_empty() => {}
            None => first_other = first_other.or_else(|| Some(text::excerpt(line.as_bytes()))),
        }
    }
    match first_other {
        Some(found) if entries.is_empty() => {
            Err(format!("found `{found}`, expected an ELF file or lines such as `00401000 T main`"))
        }
        _ => Ok(entries),
    }
}

fn entry(line: &str) -> Option<Entry> {
    if line.contains('|') {
        return sysv(line);
    }
    let (first, rest) = line.split_once(char::is_whitespace)?;
    // `nm -A` puts the file before the address, with a colon and without a space.
    let first = first.rsplit_once(':').map_or(first, |(_, address)| address);
    let mut words = rest.split_whitespace();
    let second = words.next()?;
    match (hexadecimal(first), letter(second)) {
        (Some(address), Some(kind)) => named(address, None, kind, behind(rest, 1)),
        (Some(address), None) => {
            let (size, kind) = (hexadecimal(second)?, letter(words.next()?)?);
            named(address, Some(size), kind, behind(rest, 2))
        }
        (None, Some(kind)) => {
            let address = hexadecimal(words.next()?)?;
            named(address, words.next().and_then(hexadecimal), kind, first)
        }
        (None, None) => None,
    }
}

/// `name |value |class |type |size |line |section`.
fn sysv(line: &str) -> Option<Entry> {
    let mut fields = line.split('|').map(str::trim);
    let (name, value, class) = (fields.next()?, fields.next()?, fields.next()?);
    let size = fields.nth(1).and_then(hexadecimal);
    named(hexadecimal(value)?, size, letter(class)?, name)
}

fn named(address: u64, size: Option<u64>, kind: char, name: &str) -> Option<Entry> {
    // kallsyms puts the module after the name, `nm -l` the source file: both after a tab.
    let name = name.split('\t').next().unwrap_or(name).trim();
    // Undefined and absolute symbols have no place in the program.
    if name.is_empty() || matches!(kind, 'U' | 'A' | 'a') || super::is_mapping(name) {
        return None;
    }
    let rank = match kind {
        'T' => Some(0),
        't' => Some(1),
        'W' | 'w' => Some(2),
        'i' => Some(3),
        _ => None,
    };
    Some(Entry { address, size: size.filter(|&size| size > 0), rank, name: name.to_owned() })
}

/// What of `text` follows its first `words` words.
fn behind(text: &str, words: usize) -> &str {
    let mut rest = text.trim_start();
    for _ in 0..words {
        rest = rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
    }
    rest
}

fn hexadecimal(word: &str) -> Option<u64> {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let fits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    fits.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

fn letter(word: &str) -> Option<char> {
    let mut letters = word.chars();
    let letter = letters.next()?;
    (letters.next().is_none() && (letter.is_ascii_alphabetic() || letter == '-')).then_some(letter)
}
