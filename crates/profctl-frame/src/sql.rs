//! What is looked at in a query before it is parsed: that it only reads, that it is not too deep for
//! the stack, and where `end` is the column of that name.

use std::ops::Range;

use profctl_model::tables::TableSchema;

use crate::error::{Error, repeated};

/// Operators that a query may have. Each may lie in the one before, and parsing, planning and
/// computing go down to the last of them on the stack.
const OPERATORS_MAX: usize = 500;

/// Words that begin a statement that does something else than answer.
const WRITING: [&str; 22] = [
    "alter", "analyze", "attach", "begin", "call", "commit", "copy", "create", "delete", "detach",
    "drop", "grant", "insert", "install", "load", "merge", "pragma", "replace", "revoke",
    "truncate", "update", "vacuum",
];

/// Words after which an expression begins.
const BEFORE_OPERAND: [&str; 30] = [
    "all",
    "and",
    "as",
    "between",
    "by",
    "case",
    "distinct",
    "else",
    "except",
    "filter",
    "from",
    "having",
    "ilike",
    "in",
    "intersect",
    "is",
    "join",
    "like",
    "limit",
    "not",
    "offset",
    "on",
    "or",
    "over",
    "regexp",
    "rlike",
    "select",
    "then",
    "when",
    "where",
];

/// Words that are operators.
const OPERATORS: [&str; 12] = [
    "and",
    "between",
    "case",
    "except",
    "ilike",
    "in",
    "intersect",
    "is",
    "join",
    "like",
    "or",
    "union",
];

/// A piece of a query.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A keyword or a name without quotes.
    Word,
    /// A name in quotes, a text or a number.
    Operand,
    Operator,
    Open,
    Close,
    /// A comma, a semicolon, a point.
    Mark,
}

/// The query as it is to be parsed. Fails on what is not a question.
pub(crate) fn checked(sql: &str) -> Result<String, Error> {
    let pieces = pieces(sql);
    let word = |piece: &(Kind, Range<usize>)| {
        (piece.0 == Kind::Word).then(|| sql[piece.1.clone()].to_lowercase())
    };
    if let Some(first) = pieces.iter().find(|piece| piece.0 != Kind::Open).and_then(word)
        && WRITING.contains(&first.as_str())
    {
        let first = first.to_uppercase();
        return Err(Error::Query(format!(
            "{first} is refused: a query only reads, it begins with SELECT or WITH"
        )));
    }
    let is_operator = |piece: &(Kind, Range<usize>)| {
        piece.0 == Kind::Operator
            || word(piece).is_some_and(|word| OPERATORS.contains(&word.as_str()))
    };
    let operators = pieces.iter().filter(|piece| is_operator(piece)).count();
    if operators > OPERATORS_MAX {
        return Err(Error::Query(format!(
            "the query has {operators} operators, expected at most {OPERATORS_MAX}; a list of \
             values is shorter: name IN ('a', 'b')"
        )));
    }
    if let Some(name) = repeated_column(sql, &pieces) {
        return Err(Error::Query(repeated(name)));
    }
    Ok(with_quoted_ends(sql, &pieces))
}

/// The columns of a table that a query may use: those whose names are in it, in any sense; all if it
/// takes columns without naming them.
pub(crate) fn columns_used(sql: &str, table: &TableSchema) -> Vec<&'static str> {
    let pieces = pieces(sql);
    let text = |range: &Range<usize>| &sql[range.clone()];
    let words: Vec<String> = pieces
        .iter()
        .filter(|(kind, range)| {
            *kind == Kind::Word || (*kind == Kind::Operand && text(range).starts_with(['"', '`']))
        })
        .map(|(_, range)| text(range).trim_matches(['"', '`']).to_lowercase())
        .collect();
    let count = |word: &str| words.iter().filter(|other| *other == word).count();
    // `FROM spans` alone is SELECT *, and a list may be given by a pattern.
    let is_open = count("from") > count("select")
        || ["natural", "table", "columns", "exclude", "except"].iter().any(|word| count(word) > 0)
        || has_wildcard(sql, &pieces);
    let names = table.columns.iter().map(|column| column.name);
    names.filter(|name| is_open || count(name) > 0).collect()
}

/// Whether a `*` stands for columns: where an operand would begin, but for COUNT(*).
fn has_wildcard(sql: &str, pieces: &[(Kind, Range<usize>)]) -> bool {
    let word = |at: usize| match &pieces[at] {
        (Kind::Word, range) => sql[range.clone()].to_lowercase(),
        _ => String::new(),
    };
    (0..pieces.len()).any(|at| {
        let (kind, range) = &pieces[at];
        if *kind != Kind::Operator || !sql[range.clone()].starts_with('*') {
            return false;
        }
        match at.checked_sub(1).map(|before| pieces[before].0) {
            Some(Kind::Operand | Kind::Close) => false,
            Some(Kind::Word) => BEFORE_OPERAND.contains(&word(at - 1).as_str()),
            Some(Kind::Open) => at < 2 || word(at - 2) != "count",
            Some(Kind::Operator | Kind::Mark) | None => true,
        }
    })
}

/// A name that two columns of the answer have.
fn repeated_column<'a>(sql: &'a str, pieces: &[(Kind, Range<usize>)]) -> Option<&'a str> {
    let mut depth = 0_usize;
    // The names of the columns so far, in a list of them; the pieces of the next.
    let mut names: Option<Vec<&str>> = None;
    let mut column: Vec<(Kind, &str)> = Vec::new();
    for (kind, range) in pieces {
        let text = &sql[range.clone()];
        let is = |word: &&str| *kind == Kind::Word && text.eq_ignore_ascii_case(word);
        depth -= usize::from(*kind == Kind::Close && depth > 0);
        if depth == 0 && is(&"select") {
            (names, column) = (Some(Vec::new()), Vec::new());
            continue;
        }
        let is_end = depth == 0 && AFTER_COLUMNS.iter().any(is);
        let is_comma = depth == 0 && *kind == Kind::Mark && text == ",";
        depth += usize::from(*kind == Kind::Open);
        if !(is_comma || is_end) {
            column.push((*kind, text));
            continue;
        }
        if let Some(names) = &mut names
            && let Some(name) = name_of(&column)
        {
            if names.iter().any(|other| other.eq_ignore_ascii_case(name)) {
                return Some(name);
            }
            names.push(name);
        }
        column.clear();
        if is_end {
            names = None;
        }
    }
    let names = names?;
    name_of(&column).filter(|name| names.iter().any(|other| other.eq_ignore_ascii_case(name)))
}

/// Words that end the list of columns.
const AFTER_COLUMNS: [&str; 9] =
    ["from", "union", "intersect", "except", "where", "group", "order", "limit", "having"];

/// The name of a column, if stated: after AS, after an expression, or as in its table.
fn name_of<'a>(column: &[(Kind, &'a str)]) -> Option<&'a str> {
    let is_name = |(kind, text): &(Kind, &str)| match kind {
        Kind::Word => true,
        Kind::Operand => text.starts_with(['"', '`']),
        _ => false,
    };
    let (last, before) = column.split_last()?;
    let is_told = match before.last() {
        None | Some((Kind::Operand | Kind::Close, _)) => true,
        Some((Kind::Mark, text)) => *text == ".",
        Some((Kind::Word, text)) => {
            let text = text.to_lowercase();
            text == "as" || !BEFORE_OPERAND.contains(&text.as_str())
        }
        Some((Kind::Operator | Kind::Open, _)) => false,
    };
    // The end of CASE is not a name.
    let is_end = last.1.eq_ignore_ascii_case("end")
        && before.iter().any(|(_, text)| text.eq_ignore_ascii_case("case"))
        && !before.last().is_some_and(|(_, text)| text.eq_ignore_ascii_case("as"));
    (is_told && is_name(last) && !is_end).then(|| last.1.trim_matches(['"', '`']))
}

/// `end` is a keyword that closes CASE, and a column. Where an expression begins, or outside of CASE,
/// it can only be the column, and is quoted.
fn with_quoted_ends(sql: &str, pieces: &[(Kind, Range<usize>)]) -> String {
    let mut quoted = String::with_capacity(sql.len() + 8);
    let mut done = 0;
    let mut open_cases = 0_usize;
    let mut before_operand = true;
    for (kind, range) in pieces {
        let word = match kind {
            Kind::Word => sql[range.clone()].to_lowercase(),
            _ => String::new(),
        };
        if word == "end" {
            if open_cases == 0 || before_operand {
                quoted.push_str(&sql[done..range.start]);
                quoted.push_str("\"end\"");
                done = range.end;
            } else {
                open_cases -= 1;
            }
        }
        open_cases += usize::from(word == "case");
        before_operand = match kind {
            Kind::Word => BEFORE_OPERAND.contains(&word.as_str()),
            Kind::Operand | Kind::Close => false,
            Kind::Operator | Kind::Open | Kind::Mark => true,
        };
    }
    quoted.push_str(&sql[done..]);
    quoted
}

/// The pieces without blanks and comments.
fn pieces(sql: &str) -> Vec<(Kind, Range<usize>)> {
    let mut pieces: Vec<(Kind, Range<usize>)> = Vec::new();
    let mut at = 0;
    while let Some(c) = sql[at..].chars().next() {
        let rest = &sql[at..];
        let (kind, length) = match c {
            c if c.is_whitespace() => (None, c.len_utf8()),
            '-' if rest.starts_with("--") => (None, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => (None, comment(rest)),
            '\'' | '"' | '`' => (Some(Kind::Operand), in_quotes(rest, c)),
            c if c.is_alphabetic() || c == '_' => (Some(Kind::Word), run(rest, is_of_word)),
            c if c.is_ascii_digit() => {
                (Some(Kind::Operand), run(rest, |c| is_of_word(c) || c == '.'))
            }
            '(' | '[' => (Some(Kind::Open), 1),
            ')' | ']' => (Some(Kind::Close), 1),
            ',' | ';' | '.' => (Some(Kind::Mark), 1),
            '-' | '/' => (Some(Kind::Operator), 1),
            c if c.is_ascii() => (Some(Kind::Operator), run(rest, is_of_operator).max(1)),
            c => (Some(Kind::Operator), c.len_utf8()),
        };
        pieces.extend(kind.map(|kind| (kind, at..at + length)));
        at += length;
    }
    pieces
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn is_of_operator(c: char) -> bool {
    matches!(c, '+' | '*' | '%' | '|' | '&' | '^' | '<' | '>' | '=' | '!' | '~' | ':' | '@' | '#')
}

/// The bytes of the longest beginning of such characters.
fn run(text: &str, takes: impl Fn(char) -> bool) -> usize {
    text.find(|c| !takes(c)).unwrap_or(text.len())
}

/// The bytes of a text in quotes; two quotes are one that is part of it.
fn in_quotes(text: &str, quote: char) -> usize {
    let mut at = 1;
    while let Some(end) = text[at..].find(quote) {
        at += end + 1;
        if !text[at..].starts_with(quote) {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// The bytes of a comment, which may hold others.
fn comment(text: &str) -> usize {
    let (mut at, mut depth) = (2, 1);
    while depth > 0 {
        let rest = &text[at..];
        match (rest.find("*/"), rest.find("/*")) {
            (None, _) => return text.len(),
            (Some(end), Some(begin)) if begin < end => {
                at += begin + 2;
                depth += 1;
            }
            (Some(end), _) => {
                at += end + 2;
                depth -= 1;
            }
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use profctl_model::tables::SPANS;

    use super::*;

    #[test]
    fn end_is_a_column_where_no_case_ends() {
        for (sql, expected) in [
            ("SELECT start, end FROM spans", "SELECT start, \"end\" FROM spans"),
            ("SELECT s.END - start FROM spans s", "SELECT s.\"end\" - start FROM spans s"),
            ("SELECT wall end FROM spans", "SELECT wall \"end\" FROM spans"),
            (
                "SELECT CASE WHEN end > 5 THEN end ELSE 0 END, MAX(end) FROM spans ORDER BY end",
                "SELECT CASE WHEN \"end\" > 5 THEN \"end\" ELSE 0 END, MAX(\"end\") FROM spans \
                 ORDER BY \"end\"",
            ),
            (
                "SELECT CASE end WHEN 1 THEN CASE WHEN a THEN b END END AS end FROM spans",
                "SELECT CASE \"end\" WHEN 1 THEN CASE WHEN a THEN b END END AS \"end\" FROM spans",
            ),
            (
                "SELECT ' end ', \"end\" -- end\n, 1/*end*/",
                "SELECT ' end ', \"end\" -- end\n, 1/*end*/",
            ),
            ("SELECT 'it''s end', ender, end5", "SELECT 'it''s end', ender, end5"),
            ("SELECT CASE WHEN NULL THEN NULL END", "SELECT CASE WHEN NULL THEN NULL END"),
            ("SELECT 'open", "SELECT 'open"),
            ("SELECT /* open /* */", "SELECT /* open /* */"),
            ("größe → end", "größe → \"end\""),
        ] {
            assert_eq!(checked(sql).unwrap(), expected);
        }
    }

    #[test]
    fn columns_that_a_query_may_use_are_those_that_it_names() {
        for (sql, expected) in [
            ("SELECT name, SUM(net) FROM spans GROUP BY name", Some("name net")),
            ("SELECT COUNT(*) FROM spans", Some("")),
            ("SELECT count ( * ), net * 100 / ELAPSED FROM spans", Some("elapsed net")),
            ("SELECT 2*\"end\", `id`, (wall)*2 FROM spans -- cpu", Some("id end wall")),
            ("SELECT p.name FROM spans c JOIN spans p ON c.parent = p.id", Some("id parent name")),
            ("SELECT net AS depth FROM spans WHERE name = 'thread'", Some("name depth net")),
            ("SELECT * FROM spans", None),
            ("SELECT DISTINCT * FROM spans", None),
            ("SELECT s.* FROM spans s", None),
            ("SELECT net, * FROM spans", None),
            ("SELECT net FROM (SELECT*FROM spans)", None),
            ("SELECT COUNT(DISTINCT *) FROM spans", None),
            ("FROM spans", None),
            ("TABLE spans", None),
            ("SELECT name FROM spans NATURAL JOIN functions", None),
            ("SELECT COLUMNS('^n') FROM spans", None),
            ("SELECT MAX(net) FROM (FROM spans)", None),
        ] {
            let names = SPANS.columns.iter().map(|column| column.name);
            let all = names.collect::<Vec<_>>().join(" ");
            let expected = expected.unwrap_or(&all);
            assert_eq!(columns_used(sql, &SPANS).join(" "), expected, "{sql}");
        }
    }

    #[test]
    fn columns_of_one_name_are_an_error() {
        for (sql, name) in [
            ("SELECT net AS a, wall AS a FROM spans", Some("a")),
            ("SELECT net, net FROM spans", Some("net")),
            ("SELECT s.net, t.NET FROM spans s", Some("NET")),
            ("SELECT SUM(net) n, MAX(wall) AS \"n\" FROM spans", Some("n")),
            ("SELECT 1 AS a, 2 AS a", Some("a")),
            ("WITH x AS (SELECT net FROM spans) SELECT net, net FROM x", Some("net")),
            ("SELECT net, (SELECT MAX(net) FROM spans) AS most FROM spans", None),
            ("SELECT net, wall AS net2, start + net, end FROM spans", None),
            ("SELECT SUM(net), SUM(wall), COUNT(*), COUNT(id) FROM spans", None),
            ("SELECT CASE WHEN a THEN b END, CASE WHEN c THEN d END FROM spans", None),
            ("SELECT CASE WHEN a THEN b END AS x, end FROM spans ORDER BY a, a", None),
            ("SELECT net FROM spans UNION SELECT net FROM functions", None),
            ("SELECT DISTINCT name, 'a', 'a', 1, 1 FROM spans", None),
        ] {
            let pieces = pieces(sql);
            assert_eq!(repeated_column(sql, &pieces), name, "{sql}");
        }
    }

    #[test]
    fn statements_that_write_and_deep_ones_are_refused() {
        for sql in
            ["drop table spans", " ( Insert into spans values (1))", "/*x*/COPY spans TO 'x'"]
        {
            assert!(checked(sql).unwrap_err().to_string().contains("is refused"), "{sql}");
        }
        for sql in ["SELECT replace(name, 'a', 'b') FROM spans", "WITH x AS (SELECT 1) SELECT 2"] {
            assert_eq!(checked(sql).unwrap(), sql);
        }
        let terms = format!("SELECT {} FROM spans", vec!["1"; 30_000].join("+"));
        let said = checked(&terms).unwrap_err().to_string();
        assert!(said.starts_with("the query has 29999 operators"), "{said}");
        let list = format!("SELECT * FROM spans WHERE id IN ({})", vec!["1"; 30_000].join(","));
        assert!(checked(&list).is_ok());
    }
}
