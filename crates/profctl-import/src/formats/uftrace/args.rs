//! How many bytes the arguments and return values of a function take, by the specifications in
//! `info`: `FUNCTION@arg1/i32,arg2/s;…`. Their values are not read.

use regex::Regex;

use super::info::{Feature, Info};
use crate::bytes::{self, Endian};

/// One value as it is stored.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Value {
    /// That many bytes.
    Fixed(usize),
    /// A length of two bytes, then the text.
    Text,
}

/// One value of a specification.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Spec {
    /// What is stored, such as `arg1` or `fparg2`: a later one of that name replaces it.
    what: String,
    is_return: bool,
    value: Value,
}

/// To which functions a list of values belongs.
#[derive(Clone, Debug)]
enum Pattern {
    Exact(String),
    Regex(Regex),
}

impl Pattern {
    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == name,
            Self::Regex(regex) => regex.is_match(name),
        }
    }
}

/// The values of one function, in the order in which they are after its records.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Values {
    arguments: Vec<Value>,
    returns: Vec<Value>,
}

impl Values {
    /// The bytes that the values take at the start of `data`. Nothing if none are known, or if
    /// `data` is too short.
    pub(super) fn size(&self, is_return: bool, data: &[u8], endian: Endian) -> Option<usize> {
        let values = if is_return { &self.returns } else { &self.arguments };
        let mut size = 0_usize;
        for value in values {
            size += match value {
                Value::Fixed(bytes) => *bytes,
                Value::Text => 2 + bytes::integer(data, size, 2, endian)? as usize,
            };
            size = size.next_multiple_of(4);
        }
        (size > 0).then(|| size.next_multiple_of(8))
    }
}

/// All specifications of a recording.
#[derive(Clone, Debug, Default)]
pub(super) struct Specs {
    asked: Vec<(Pattern, Vec<Spec>)>,
    /// The built-in specifications of uftrace, if they were enabled.
    known: Vec<(Pattern, Vec<Spec>)>,
}

impl Specs {
    /// The specifications that `info` holds.
    pub(super) fn of(info: &Info) -> Self {
        let is_glob = info.value("pattern_type") == Some("glob");
        let specs = |key: &str| -> Vec<(Pattern, Vec<Spec>)> {
            let texts = info.specs(key).flat_map(|text| text.split(';'));
            texts
                .filter_map(|text| spec(text, key.starts_with("ret"), is_glob, info.word))
                .collect()
        };
        if !info.has(Feature::Argument) && !info.has(Feature::Retval) {
            return Self::default();
        }
        let chain = |first: &str, second: &str| [specs(first), specs(second)].concat();
        let known = chain("argauto", "retauto");
        let mut asked = chain("argspec", "retspec");
        // A name without values asks for those that are known.
        for (pattern, values) in asked.iter_mut().filter(|(_, values)| values.is_empty()) {
            let of_pattern = known.iter().filter(|(known, _)| match known {
                Pattern::Exact(name) => pattern.matches(name),
                Pattern::Regex(_) => false,
            });
            if let Pattern::Exact(_) = pattern {
                values.extend(of_pattern.flat_map(|(_, values)| values.clone()));
            }
        }
        Self { asked, known: if info.has(Feature::AutoArgs) { known } else { Vec::new() } }
    }

    /// Whether there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.asked.is_empty() && self.known.is_empty()
    }

    /// The values of the function of that name.
    pub(super) fn values(&self, name: &str) -> Values {
        let mut found: Vec<&Spec> = Vec::new();
        for (is_asked, list) in [(true, &self.asked), (false, &self.known)] {
            for spec in list.iter().filter(|(pattern, _)| pattern.matches(name)) {
                for spec in &spec.1 {
                    match found.iter_mut().find(|known| known.what == spec.what) {
                        Some(known) if is_asked => *known = spec,
                        Some(_) => {}
                        None => found.push(spec),
                    }
                }
            }
        }
        let of = |is_return| {
            let found = found.iter().filter(move |spec| spec.is_return == is_return);
            found.map(|spec| spec.value.clone()).collect()
        };
        Values { arguments: of(false), returns: of(true) }
    }
}

/// `PATTERN@ACTION,…`: the pattern and those actions that are values.
fn spec(text: &str, is_return: bool, is_glob: bool, word: usize) -> Option<(Pattern, Vec<Spec>)> {
    let (name, actions) = text.split_once('@').unwrap_or((text, ""));
    let pattern = pattern(name.trim(), is_glob)?;
    // `retval` alone may be omitted after a name.
    let alone = actions.is_empty() && is_return;
    let actions = if alone { "retval" } else { actions };
    Some((pattern, actions.split(',').filter_map(|action| value(action, word)).collect()))
}

/// Names without special characters are taken as they are; others by the recording's kind of
/// patterns.
fn pattern(name: &str, is_glob: bool) -> Option<Pattern> {
    if name.is_empty() {
        return None;
    }
    if !name.contains(|c| ".?*+-^$|()[]{}\\".contains(c)) {
        return Some(Pattern::Exact(name.to_owned()));
    }
    if !is_glob {
        return Regex::new(name).ok().map(Pattern::Regex);
    }
    let mut regex = String::from("^");
    for c in name.chars() {
        match c {
            '*' => regex.push_str(".*"),
            '?' => regex.push('.'),
            '[' | ']' | '-' => regex.push(c),
            c => regex.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
    regex.push('$');
    Regex::new(&regex).ok().map(Pattern::Regex)
}

/// `arg1/i32`, `fparg2/64`, `retval/s`, `arg3/t16:name`, each perhaps with `%register` after it.
fn value(action: &str, word: usize) -> Option<Spec> {
    let action = action.trim();
    let (what, format) = match action.find(['/', '%']) {
        Some(at) => (&action[..at], action[at..].strip_prefix('/').unwrap_or("")),
        None => (action, ""),
    };
    let is_float = what.starts_with("fparg");
    let is_return = what == "retval";
    let number = what.strip_prefix("fparg").or_else(|| what.strip_prefix("arg"));
    let is_number = |n: &str| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit());
    if !is_return && !number.is_some_and(is_number) {
        return None;
    }
    let format = format.split('%').next().unwrap_or_default();
    let letter = format.chars().next().filter(|c| !c.is_ascii_digit());
    let rest = &format[letter.map_or(0, char::len_utf8)..];
    let bits = rest.parse::<usize>().ok();
    let value = match letter {
        Some('s' | 'S') => Value::Text,
        Some('c') => Value::Fixed(1),
        Some('t') => {
            let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
            Value::Fixed(rest[..digits].parse().ok()?)
        }
        Some('f') => Value::Fixed(bits.map_or(8, |bits| bits / 8)),
        _ => Value::Fixed(bits.map_or(if is_float { 8 } else { word }, |bits| bits / 8)),
    };
    Some(Spec { what: what.to_owned(), is_return, value })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(lines: &str) -> Info {
        let mut file = b"Ftrace!\0\x04\0\0\0\x28\0\x01\x02\x7b\x03\0\0\0\0\0\0".to_vec();
        file.resize(40, 0);
        file.extend(lines.as_bytes());
        Info::parse(&file).unwrap()
    }

    #[track_caller]
    fn check(lines: &str, name: &str, arguments: Option<usize>, returns: Option<usize>) {
        let values = Specs::of(&info(lines)).values(name);
        let data = [&[5, 0][..], b"hello", &[0; 30]].concat();
        let size = |is_return| values.size(is_return, &data, Endian::Little);
        assert_eq!((size(false), size(true)), (arguments, returns), "{lines} {name}");
    }

    #[test]
    fn sizes_follow_the_specification() {
        check("argspec:f@arg1\n", "f", Some(8), None);
        check("argspec:f@arg1\n", "g", None, None);
        check("argspec:f@arg1/i32,arg2/c,arg3/x64\n", "f", Some(16), None);
        check("argspec:f@arg1/i16%rdi,arg2/u8\n", "f", Some(8), None);
        check("argspec:f@fparg1,fparg2/32,fparg3/80\n", "f", Some(24), None);
        check("argspec:f@arg1/s,arg2/c\n", "f", Some(16), None);
        check("argspec:f@arg1/t12:pair%RDI+RSI\nretspec:f@retval/d32\n", "f", Some(16), Some(8));
        check("argspec:f@arg1/e:kind\nretspec:f@retval/S\n", "f", Some(8), Some(8));
        check("argspec:gree.@arg1/i32\n", "greet", Some(8), None);
        check("argspec:^a.*@arg1\npattern_type:regex\n", "ab", Some(8), None);
        check("argspec:a*c@arg1\npattern_type:glob\n", "abbc", Some(8), None);
        check("argspec:a*c@arg1\npattern_type:glob\n", "abcd", None, None);
        check("argspec:f@libc,arg1\n", "f", Some(8), None);
    }

    #[test]
    fn what_was_asked_for_comes_before_what_is_known() {
        let lines = "argspec:f@arg1/i32;atoi\nretspec:f\nargauto:f@arg1/s,arg2/i64;atoi@arg1/s\n\
                     retauto:f@retval/i32\n";
        check(lines, "f", Some(16), Some(8));
        check(lines, "atoi", Some(8), None);
    }

    #[test]
    fn odd_specifications_are_passed_over() {
        for text in ["", "@", "f@", "f@arg", "f@argx", "f@arg1/t", "(@arg1", "f@depth=3,time=1us"] {
            check(&format!("argspec:{text}\n"), "f", None, None);
        }
    }
}
