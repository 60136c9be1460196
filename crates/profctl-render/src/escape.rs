//! Text from a trace made safe to print: on a terminal, in Markdown, in XML and HTML.
//!
//! Names come out of traces, and a thread may call itself anything.

use std::borrow::Cow;

use unicode_width::UnicodeWidthStr as _;

/// `text` with every character escaped that could control a terminal, break a line or reorder what
/// surrounds it.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_invisible) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            c if is_invisible(c) => escaped.extend(c.escape_default()),
            c => escaped.push(c),
        }
    }
    Cow::Owned(escaped)
}

/// Control characters, line separators, and characters without a glyph, the marks of bidirectional
/// text among them.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{180e}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

/// `text` as content or as the value of an attribute in XML and HTML. Lines stay lines; characters
/// that XML 1.0 cannot hold become replacement characters.
pub fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\t' | '\n' => escaped.push(c),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// The number of terminal columns that `text` occupies.
pub fn width(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.width() }
}

/// `text` truncated to `width` columns with an ellipsis.
pub fn shortened(text: &str, room: usize) -> Cow<'_, str> {
    if width(text) <= room {
        return Cow::Borrowed(text);
    }
    let mut cut = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += width(c.encode_utf8(&mut [0; 4]));
        if used > room {
            break;
        }
        cut.push(c);
    }
    cut.push('…');
    Cow::Owned(cut)
}

/// `text` as Markdown that renders as this text and nothing else: no emphasis, link, image, HTML,
/// table cell, mention or reference.
pub fn markdown_text(text: &str) -> String {
    let text = visible(text);
    let mut escaped = String::with_capacity(text.len());
    let mut before = ' ';
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\\' | '`' | '*' | '_' | '~' | '<' | '>' | '[' | ']' | '|' | '!' | '&' => {
                escaped.extend(['\\', c]);
            }
            // The number of an issue.
            '#' if rest.as_str().starts_with(|c: char| c.is_ascii_digit()) => {
                escaped.push_str("\\#");
            }
            // An empty comment between the sign and the name keeps GitHub from mentioning anyone.
            '@' => escaped.push_str("@<!-- -->"),
            // GitHub makes a link of whatever looks like an address.
            ':' | '.' if before.is_ascii_alphanumeric() && is_address(&escaped) => {
                escaped.extend(['\\', c]);
            }
            c => escaped.push(c),
        }
        before = c;
    }
    escaped
}

/// Whether `text` ends in what begins an address: a scheme, or `www`.
fn is_address(text: &str) -> bool {
    let word = text.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
    ["http", "https", "ftp", "mailto", "xmpp", "www"]
        .iter()
        .any(|address| word.eq_ignore_ascii_case(address))
}

/// `text` as a Markdown code span that may be in a table cell.
pub fn markdown_code(text: &str) -> String {
    let text = visible(text);
    if text.trim().is_empty() {
        return String::new();
    }
    // In a table a pipe must be escaped, and a backslash before it cannot be: such text, which no
    // code span holds, is written as HTML with every character but letters and digits as a number.
    if text.contains('|') && text.contains('\\') {
        let mut html = String::from("<code>");
        for c in text.chars() {
            match c {
                c if c.is_alphanumeric() || matches!(c, '_' | ' ') => html.push(c),
                c => html.extend(["&#", &u32::from(c).to_string(), ";"]),
            }
        }
        return html + "</code>";
    }
    let text = text.replace('|', "\\|");
    let fence = "`".repeat(longest_run(&text) + 1);
    let touches = text.starts_with('`') || text.ends_with('`');
    // A code span loses one space at each end if it has one at both.
    let padded = touches || (text.starts_with(' ') && text.ends_with(' '));
    let pad = if padded { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

/// The length of the longest run of backticks in `text`.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_invisible_passes() {
        for (text, expected) in [
            ("größe", "größe"),
            ("a\x1b[2J\n", "a\\u{1b}[2J\\n"),
            ("\u{61c}\u{202e}\u{2066}\u{feff}", "\\u{61c}\\u{202e}\\u{2066}\\u{feff}"),
            ("zero\u{200b}width", "zero\\u{200b}width"),
        ] {
            assert_eq!(visible(text), expected);
        }
    }

    #[test]
    fn text_stays_text_in_markdown() {
        for (text, expected) in [
            ("plain words, 5% of 3.5", "plain words, 5% of 3.5"),
            ("![x](http://y)", "\\!\\[x\\](http\\://y)"),
            ("<img src=x>|", "\\<img src=x\\>\\|"),
            ("www.example.org", "www\\.example.org"),
            ("#12 @someone", "\\#12 @<!-- -->someone"),
            ("a_b*c~d`e\\", "a\\_b\\*c\\~d\\`e\\\\"),
        ] {
            assert_eq!(markdown_text(text), expected);
        }
    }

    #[test]
    fn code_spans_hold_any_name() {
        for (name, expected) in [
            ("tcp_v4_rcv", "`tcp_v4_rcv`"),
            ("a|b", "`a\\|b`"),
            ("a`b", "``a`b``"),
            ("`` ` ``", "``` `` ` `` ```"),
            (
                "\\|![x](http://y)",
                "<code>&#92;&#124;&#33;&#91;x&#93;&#40;http&#58;&#47;&#47;y&#41;</code>",
            ),
            ("", ""),
        ] {
            assert_eq!(markdown_code(name), expected);
        }
    }
}
