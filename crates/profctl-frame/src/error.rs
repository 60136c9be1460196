//! Errors of queries and files, in terms of the SQL.

use std::fmt;

use polars::error::PolarsError;

/// Why there is no result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The query cannot be: the message names what is wrong with it.
    Query(String),
    /// A file could not be written or read.
    File(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Query(message) | Self::File(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for Error {}

impl From<PolarsError> for Error {
    fn from(error: PolarsError) -> Self {
        match error {
            PolarsError::IO { error, .. } => Self::File(error.to_string()),
            PolarsError::Context { error, .. } | PolarsError::ExprContext { error, .. } => {
                (*error).into()
            }
            PolarsError::ColumnNotFound(name) | PolarsError::SchemaFieldNotFound(name) => {
                Self::Query(no_column(&name))
            }
            PolarsError::Duplicate(message) => Self::Query(duplicate(&message)),
            other => Self::Query(fragment(&other.to_string())),
        }
    }
}

/// The first line says which; what follows it is the plan.
fn no_column(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default().trim();
    let quoted = first.split(['"', '\'']).nth(1);
    match quoted {
        Some(name) => format!("no column '{name}'"),
        None => format!("no column: {first}"),
    }
}

/// What is said of two columns of one name.
pub(crate) fn repeated(name: &str) -> String {
    format!("two columns are called '{name}': rename one with AS")
}

/// The same, from what the engine says of it.
fn duplicate(message: &str) -> String {
    let name = message.split(['"', '\'', '`']).nth(1).unwrap_or_default();
    match name {
        "" => "two columns have the same name: rename one with AS".to_owned(),
        name => repeated(name),
    }
}

/// The first line as a lowercase fragment, without the parts of the engine that it went through.
fn fragment(message: &str) -> String {
    let first = message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let text = ["sql parser error: ", "SQL error: "]
        .iter()
        .fold(first, |text, prefix| text.strip_prefix(prefix).unwrap_or(text));
    let mut letters = text.chars();
    let is_word = letters.clone().nth(1).is_some_and(char::is_lowercase);
    match letters.next() {
        Some(letter) if is_word => letter.to_lowercase().chain(letters).collect(),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_fragments() {
        for (error, expected) in [
            (
                PolarsError::ColumnNotFound("unable to find column \"nett\"; valid: []".into()),
                "no column 'nett'",
            ),
            (
                PolarsError::ColumnNotFound("nett\n\nResolved plan until failure:".into()),
                "no column: nett",
            ),
            (
                PolarsError::SQLInterface("sql parser error: Expected: FROM, found: x".into()),
                "expected: FROM, found: x",
            ),
            (PolarsError::SQLInterface("SUM takes one".into()), "SUM takes one"),
        ] {
            assert_eq!(Error::from(error).to_string(), expected);
        }
    }
}
