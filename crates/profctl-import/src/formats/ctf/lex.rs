//! The words of TSDL, the language of CTF metadata.

/// A word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Token {
    Word(String),
    Number(i128),
    Text(String),
    /// One of `{}[]<>();,=.:`, `:=` as `a` and `...` as `r`.
    Sign(u8),
}

/// `:=`.
pub(super) const ASSIGN: u8 = b'a';
/// `...`.
pub(super) const RANGE: u8 = b'r';

/// The words of `text`, each with its line. Fails with the line and what was found there.
pub(super) fn tokens(text: &[u8]) -> Result<Vec<(Token, u32)>, (u32, String)> {
    let mut lexer = Lexer { text, at: 0, line: 1 };
    let mut tokens = Vec::new();
    while let Some(token) = lexer.next()? {
        tokens.push((token, lexer.line));
    }
    Ok(tokens)
}

struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> u8 {
        self.text.get(self.at + ahead).copied().unwrap_or(0)
    }

    fn skip(&mut self, bytes: usize) {
        let end = (self.at + bytes).min(self.text.len());
        self.line += memchr::memchr_iter(b'\n', &self.text[self.at..end]).count() as u32;
        self.at = end;
    }

    /// Skips up to and with `end`.
    fn skip_to(&mut self, end: &[u8]) {
        let rest = &self.text[self.at..];
        let found = memchr::memmem::find(rest, end).map_or(rest.len(), |at| at + end.len());
        self.skip(found);
    }

    fn next(&mut self) -> Result<Option<Token>, (u32, String)> {
        loop {
            match (self.peek(0), self.peek(1)) {
                (b'/', b'*') => self.skip_to(b"*/"),
                (b'/', b'/') => self.skip_to(b"\n"),
                (0, _) if self.at >= self.text.len() => return Ok(None),
                (byte, _) if byte.is_ascii_whitespace() => self.skip(1),
                _ => break,
            }
        }
        let first = self.peek(0);
        if first.is_ascii_alphabetic() || first == b'_' {
            return Ok(Some(Token::Word(self.word())));
        }
        if first.is_ascii_digit() || (first == b'-' && self.peek(1).is_ascii_digit()) {
            return self.number().map(Some);
        }
        if first == b'"' {
            return self.text().map(Some);
        }
        let (sign, length) = match first {
            b':' if self.peek(1) == b'=' => (ASSIGN, 2),
            b'.' if self.peek(1) == b'.' => (RANGE, 3),
            b'{' | b'}' | b'[' | b']' | b'<' | b'>' | b'(' | b')' | b';' | b',' | b'=' | b'.'
            | b':' | b'*' => (first, 1),
            other => return Err((self.line, format!("`{}`", other.escape_ascii()))),
        };
        self.skip(length);
        Ok(Some(Token::Sign(sign)))
    }

    fn word(&mut self) -> String {
        let rest = &self.text[self.at..];
        let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len());
        let word = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.skip(length);
        word
    }

    fn number(&mut self) -> Result<Token, (u32, String)> {
        let negative = self.peek(0) == b'-';
        self.skip(usize::from(negative));
        let word = self.word();
        let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
        let parsed = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
            Some(hexadecimal) => i128::from_str_radix(hexadecimal, 16),
            None if digits.len() > 1 && digits.starts_with('0') => {
                i128::from_str_radix(&digits[1..], 8)
            }
            None => digits.parse(),
        };
        let number = parsed.map_err(|_| (self.line, format!("`{word}`, expected a number")))?;
        Ok(Token::Number(if negative { -number } else { number }))
    }

    fn text(&mut self) -> Result<Token, (u32, String)> {
        let line = self.line;
        self.skip(1);
        let mut text = Vec::new();
        loop {
            match self.peek(0) {
                b'"' => break,
                0 if self.at >= self.text.len() => {
                    return Err((line, "an unterminated string".into()));
                }
                b'\\' => {
                    text.push(match self.peek(1) {
                        b'n' => b'\n',
                        b't' => b'\t',
                        other => other,
                    });
                    self.skip(2);
                }
                byte => {
                    text.push(byte);
                    self.skip(1);
                }
            }
        }
        self.skip(1);
        Ok(Token::Text(String::from_utf8_lossy(&text).into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_numbers_texts_and_signs() {
        let text = b"/* c */ typealias integer { size = 0x20; } := u32; // end\n a.b 0 ... -3 010 5ULL \"x\\\"y\"";
        let found: Vec<String> = tokens(text)
            .unwrap()
            .into_iter()
            .map(|(token, _)| match token {
                Token::Word(word) => word,
                Token::Number(number) => number.to_string(),
                Token::Text(text) => format!("{text:?}"),
                Token::Sign(sign) => char::from(sign).to_string(),
            })
            .collect();
        assert_eq!(
            found.join(" "),
            "typealias integer { size = 32 ; } a u32 ; a . b 0 r -3 8 5 \"x\\\"y\""
        );
    }

    #[test]
    fn lines_are_counted_and_trouble_is_named() {
        assert_eq!(tokens(b"a\n\n/*\n*/b\n\x01").unwrap_err(), (5, "`\\x01`".into()));
        assert!(tokens(b"\"abc").unwrap_err().1.contains("unterminated"));
        assert!(tokens(b"0xzz").unwrap_err().1.contains("a number"));
        assert!(tokens(b"/* never").unwrap().is_empty());
    }
}
