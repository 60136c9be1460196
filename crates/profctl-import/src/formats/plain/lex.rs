//! Words of a line, and the words that mean something.

use profctl_model::FuncKind;

/// One word. A quoted word never means anything but itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Word<'a> {
    /// What it says, without its quotes.
    pub(super) text: &'a [u8],
    /// What follows the closing quote without a space; empty for words without quotes.
    pub(super) suffix: &'a [u8],
    /// Whether it was in quotes.
    pub(super) quoted: bool,
    /// All of it, as it was written.
    pub(super) spelling: &'a [u8],
}

/// The words of a line, up to a lone `#`.
#[derive(Clone, Debug)]
pub(super) struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { rest: line }
    }
}

impl<'a> Iterator for Words<'a> {
    type Item = Word<'a>;

    fn next(&mut self) -> Option<Word<'a>> {
        let rest = self.rest.trim_ascii_start();
        let closing = match rest {
            [b'"', inner @ ..] => closing_quote(inner).map(|at| at + 1),
            _ => None,
        };
        let unclosed = closing.is_none() && rest.starts_with(b"\"");
        let space = |byte: &u8| byte.is_ascii_whitespace();
        let from = closing.unwrap_or(0);
        let end = rest[from..].iter().position(space).map_or(rest.len(), |at| from + at);
        let (spelling, after) = rest.split_at(end);
        if spelling.is_empty() || spelling == b"#" {
            self.rest = b"";
            return None;
        }
        self.rest = after;
        Some(match closing {
            Some(closing) => Word {
                text: &spelling[1..closing],
                suffix: &spelling[closing + 1..],
                quoted: true,
                spelling,
            },
            // With its quote as suffix it is refused wherever it stands.
            None if unclosed => Word { text: b"", suffix: spelling, quoted: true, spelling },
            None => Word { text: spelling, suffix: b"", quoted: false, spelling },
        })
    }
}

/// Where a quoted word ends: two quotes together are one that belongs to it.
fn closing_quote(inner: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += memchr::memchr(b'"', &inner[at..])?;
        if inner.get(at + 1) != Some(&b'"') {
            return Some(at);
        }
        at += 2;
    }
}

impl Word<'_> {
    /// What it says, as a text.
    pub(super) fn said(&self) -> String {
        let text = String::from_utf8_lossy(self.text);
        if self.quoted { text.replace("\"\"", "\"") } else { text.into_owned() }
    }
}

/// What a line says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verb {
    Enter,
    Exit,
    Leaf,
    Returned,
    Instant,
    Within,
    Lost,
    Runs,
    Switch,
    Wake,
    IrqEnter,
    IrqExit,
    TagEnter,
    TagExit,
    PartialEnd,
    Incomplete,
    Covers,
    Advance,
    Fork,
    ThreadExit,
    NameThread,
    Share,
    Sum,
    Diag,
}

/// The verbs as they are spelled.
pub(super) const VERBS: [(&str, Verb); 24] = [
    (">", Verb::Enter),
    ("<", Verb::Exit),
    (".", Verb::Leaf),
    ("=", Verb::Returned),
    ("!", Verb::Instant),
    ("in", Verb::Within),
    ("lost", Verb::Lost),
    ("runs", Verb::Runs),
    ("switch", Verb::Switch),
    ("wake", Verb::Wake),
    ("irq>", Verb::IrqEnter),
    ("irq<", Verb::IrqExit),
    ("switch>", Verb::TagEnter),
    ("switch<", Verb::TagExit),
    ("~", Verb::PartialEnd),
    ("incomplete", Verb::Incomplete),
    ("covers", Verb::Covers),
    ("advance", Verb::Advance),
    ("fork", Verb::Fork),
    ("exits", Verb::ThreadExit),
    ("is", Verb::NameThread),
    ("shared", Verb::Share),
    ("sum", Verb::Sum),
    ("diag", Verb::Diag),
];

/// The verb that `word` is.
pub(super) fn verb(word: &Word<'_>) -> Option<Verb> {
    let found = VERBS.iter().find(|(spelling, _)| !word.quoted && spelling.as_bytes() == word.text);
    found.map(|&(_, verb)| verb)
}

impl Verb {
    /// The kind of a function that it names, unless a mark says otherwise.
    pub(super) fn kind(self) -> FuncKind {
        match self {
            Self::Instant => FuncKind::Mark,
            Self::TagEnter | Self::TagExit => FuncKind::Switch,
            _ => FuncKind::Function,
        }
    }
}

/// The number in `cpuN`.
pub(super) fn cpu(word: &Word<'_>) -> Option<u32> {
    let number = word.text.strip_prefix(b"cpu").filter(|_| !word.quoted)?;
    crate::text::decimal(number, 0).and_then(|number| u32::try_from(number).ok())
}

/// The marks after a name, with the kind of function that each stands for. Those of the name file
/// of a probe are the same, but for the one that says plainly what is the default elsewhere.
pub(super) const MARKS: [(u8, FuncKind); 6] = [
    (b'!', FuncKind::Switch),
    (b'=', FuncKind::Mark),
    (b'^', FuncKind::Interrupt),
    (b'~', FuncKind::Idle),
    (b'$', FuncKind::Syscall),
    (b'&', FuncKind::Function),
];
