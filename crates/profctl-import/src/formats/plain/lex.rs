//! Words of a line, and the words that mean something.

use profctl_model::FuncKind;

use crate::emit::EventKind;

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
            [b'"', inner @ ..] => memchr::memchr(b'"', inner).map(|at| at + 1),
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

/// The verbs, with the event that each makes.
pub(super) const VERBS: [(&[u8], EventKind); 14] = [
    (b">", EventKind::Enter),
    (b"<", EventKind::Exit),
    (b".", EventKind::Leaf),
    (b"=", EventKind::Return),
    (b"!", EventKind::Mark),
    (b"in", EventKind::Seen),
    (b"lost", EventKind::Gap),
    (b"runs", EventKind::RunsNow),
    (b"switch", EventKind::Switch),
    (b"wake", EventKind::Wake),
    (b"irq>", EventKind::InterruptEnter),
    (b"irq<", EventKind::InterruptExit),
    (b"switch>", EventKind::SwitchTagEnter),
    (b"switch<", EventKind::SwitchTagExit),
];

/// The event that `word` makes, if it is a verb.
pub(super) fn verb(word: &Word<'_>) -> Option<EventKind> {
    let found = VERBS.iter().find(|(spelling, _)| !word.quoted && *spelling == word.text);
    found.map(|&(_, kind)| kind)
}

/// The verb of an event, if a line can say it.
pub(super) fn spelling(kind: EventKind) -> Option<&'static [u8]> {
    VERBS.iter().find(|(_, of)| *of == kind).map(|&(verb, _)| verb)
}

/// Whether an event of `kind` may do without a time where the others have one: it then happens
/// between its neighbours.
pub(super) fn may_lack_time(kind: EventKind) -> bool {
    use EventKind::{Gap, InterruptEnter, InterruptExit, RunsNow};
    matches!(kind, Gap | RunsNow | InterruptEnter | InterruptExit)
}

/// Whether an event of `kind` may state its depth: those that name a function.
pub(super) fn takes_depth(kind: EventKind) -> bool {
    use EventKind::{Enter, Exit, Leaf, Mark, Return, Seen, SwitchTagEnter, SwitchTagExit};
    matches!(kind, Enter | Exit | Leaf | Return | Mark | Seen | SwitchTagEnter | SwitchTagExit)
}

/// The number in `cpuN`.
pub(super) fn cpu(word: &Word<'_>) -> Option<u32> {
    let number = word.text.strip_prefix(b"cpu").filter(|_| !word.quoted)?;
    crate::text::decimal(number, 0).and_then(|number| u32::try_from(number).ok())
}

/// The marks behind a name, with the kind of function that each stands for. Those of the name file
/// of a probe are the same.
pub(super) const MARKS: [(u8, FuncKind); 5] = [
    (b'!', FuncKind::Switch),
    (b'=', FuncKind::Mark),
    (b'^', FuncKind::Interrupt),
    (b'~', FuncKind::Idle),
    (b'$', FuncKind::Syscall),
];

/// The kind of a function that an event of `kind` names, unless a mark says otherwise.
pub(super) fn kind_by_verb(kind: EventKind) -> FuncKind {
    match kind {
        EventKind::Mark => FuncKind::Mark,
        EventKind::SwitchTagEnter | EventKind::SwitchTagExit => FuncKind::Switch,
        EventKind::Enter
        | EventKind::Exit
        | EventKind::Leaf
        | EventKind::Return
        | EventKind::Seen
        | EventKind::Gap
        | EventKind::RunsNow
        | EventKind::Switch
        | EventKind::Wake
        | EventKind::Fork
        | EventKind::ThreadExit
        | EventKind::InterruptEnter
        | EventKind::InterruptExit
        | EventKind::Complete
        | EventKind::Settle
        | EventKind::Describe
        | EventKind::Pass => FuncKind::Function,
    }
}
