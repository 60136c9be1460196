//! A rule file as it is written, before it is understood.
//!
//! Everything keeps its place in the text, so that an error can name the line.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

use serde::Deserialize;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use toml::Spanned;

use crate::formats::ImportError;

/// The keys of a rule file.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// One line: which text the rule reads.
    #[serde(default)]
    pub(super) about: String,
    /// What an input must hold to be treated as this without being asked; presets only.
    pub(super) sniff: Option<Spanned<String>>,
    /// What ticks in group `ts`.
    pub(super) ts_unit: Option<Spanned<String>>,
    /// How group `ts` is written.
    pub(super) ts_format: Option<Spanned<String>>,
    /// Bits after which group `ts` wraps.
    pub(super) ts_bits: Option<Spanned<u32>>,
    /// What groups `dur` and `net` count.
    pub(super) dur_unit: Option<Spanned<String>>,
    /// Columns of group `indent` a level.
    pub(super) indent: Option<Spanned<IndentEntry>>,
    /// Names of functions of a kind of their own.
    pub(super) interrupt: Option<Spanned<String>>,
    /// See `interrupt`.
    pub(super) syscall: Option<Spanned<String>>,
    /// See `interrupt`.
    pub(super) idle: Option<Spanned<String>>,
    /// Names of threads that are idle tasks.
    pub(super) idle_thread: Option<Spanned<String>>,
    /// Lines that say nothing.
    #[serde(default)]
    pub(super) ignore: Texts,
    /// Lines that say something, in the order in which they are tried.
    pub(super) pattern: Option<Spanned<Patterns>>,
    /// How records are laid out, in place of `pattern`.
    pub(super) record: Option<Spanned<RecordEntry>>,
    /// What the words in group `kind` mean.
    #[serde(default)]
    pub(super) kind: BTreeMap<String, Spanned<String>>,
}

/// One way a line can look.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct PatternEntry {
    pub(super) regex: Spanned<String>,
    /// What such a line means, whatever it says.
    pub(super) kind: Option<Spanned<String>>,
    /// The kind of the function that it names.
    pub(super) class: Option<Spanned<String>>,
    /// Why an input with such a line cannot be read.
    pub(super) refuse: Option<String>,
}

/// How binary records are laid out: bytes, and fields as `OFFSET:SIZE`.
#[derive(Deserialize, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordEntry {
    pub(super) size: Spanned<u64>,
    /// Bytes in front of the first record.
    #[serde(default)]
    pub(super) header: u64,
    pub(super) endian: Option<Spanned<String>>,
    pub(super) ts: Spanned<String>,
    pub(super) addr: Spanned<String>,
    pub(super) kind: Spanned<String>,
    pub(super) tid: Option<Spanned<String>>,
    pub(super) pid: Option<Spanned<String>>,
    pub(super) cpu: Option<Spanned<String>>,
    /// What addresses count from where symbols count from 0: the base of a program that was moved.
    #[serde(default)]
    pub(super) base: u64,
}

/// One pattern as a string, or a table for each.
#[derive(Debug)]
pub(super) enum Patterns {
    /// `pattern = '…'`.
    One(String),
    /// `[[pattern]]`.
    Many(Vec<PatternEntry>),
}

/// One string or several, each with its place.
#[derive(Debug, Default)]
pub(super) struct Texts(pub(super) Vec<Spanned<String>>);

/// `2`, or `"auto"`.
#[derive(Debug)]
pub(super) enum IndentEntry {
    Columns(u64),
    Word(String),
}

impl<'de> Deserialize<'de> for Patterns {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Patterns;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a regular expression, or a table `[[pattern]]` for each")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Patterns, E> {
                Ok(Patterns::One(text.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Patterns, A::Error> {
                let mut patterns = Vec::new();
                while let Some(pattern) = items.next_element()? {
                    patterns.push(pattern);
                }
                Ok(Patterns::Many(patterns))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl<'de> Deserialize<'de> for Texts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self(Vec::deserialize(deserializer)?))
    }
}

impl<'de> Deserialize<'de> for IndentEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl Visitor<'_> for Either {
            type Value = IndentEntry;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number of columns, or \"auto\"")
            }
            fn visit_i64<E: de::Error>(self, columns: i64) -> Result<IndentEntry, E> {
                Ok(IndentEntry::Columns(u64::try_from(columns).unwrap_or(0)))
            }
            fn visit_str<E: de::Error>(self, word: &str) -> Result<IndentEntry, E> {
                Ok(IndentEntry::Word(word.to_owned()))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// Reads the text of a rule file.
pub(super) fn parse(text: &str) -> Result<File, ImportError> {
    toml::from_str(text).map_err(|error| {
        // The message may come with hints on lines of their own.
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        objection(text, error.span(), message)
    })
}

/// An error at `span` of a rule file.
pub(super) fn objection(
    text: &str,
    span: Option<Range<usize>>,
    message: impl Into<String>,
) -> ImportError {
    let line = span.map(|span| line_of(text, span.start));
    ImportError { offset: None, line, message: message.into() }
}

/// The line, from 1, of the byte at `offset`.
pub(super) fn line_of(text: &str, offset: usize) -> u64 {
    let before = &text.as_bytes()[..offset.min(text.len())];
    1 + memchr::memchr_iter(b'\n', before).count() as u64
}
