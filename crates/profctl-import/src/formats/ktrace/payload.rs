//! What lies after a header, as far as this reader looks at it. Data that programs read or wrote,
//! paths, arguments and structures are never looked at.

use super::dialect::{Dialect, Field, System};
use super::header::unsigned;
use crate::emit::CallPart;

const SHORT: Field = Field { at: 0, width: 2 };
const INT: Field = Field { at: 0, width: 4 };
const SECOND_SHORT: Field = Field { at: 2, width: 2 };
const SECOND_INT: Field = Field { at: 4, width: 4 };

/// Whether a payload is as its dialect has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// It is.
    Right,
    /// It is not.
    Wrong,
    /// It would be in any dialect.
    Silent,
}

impl Shape {
    pub(super) fn of(is_right: bool) -> Self {
        if is_right { Self::Right } else { Self::Wrong }
    }

    /// How much it counts in favor of the dialect.
    pub(super) fn weight(self) -> i64 {
        match self {
            Self::Right => 1,
            Self::Wrong => -1,
            Self::Silent => 0,
        }
    }
}

/// Whether the number of the call is a whole `int`, with the length of the arguments after it.
/// Elsewhere it is a `short`, with the number of arguments after it.
fn counts_bytes(system: System) -> bool {
    matches!(system, System::NetBsd | System::OpenBsd | System::OldOpenBsd)
}

/// Whether `payload` is as long as the call in it says.
pub(super) fn is_call<const BIG: bool>(dialect: &Dialect, payload: &[u8]) -> bool {
    let word = dialect.word;
    if payload.len() < word.min(8) {
        return false;
    }
    if counts_bytes(dialect.system) {
        return payload.len() >= 8 && {
            let arguments = unsigned::<BIG>(payload, SECOND_INT) as usize;
            arguments.is_multiple_of(word) && payload.len() == 8 + arguments
        };
    }
    let arguments = unsigned::<BIG>(payload, SECOND_SHORT) as usize;
    // Darwin keeps arguments as 64 bits on its 32-bit machines, and does not pad them.
    let argument = if dialect.system == System::MacOs { 8 } else { word };
    payload.len() == word.max(4) + arguments * argument
}

/// The number of the system call that was entered.
#[inline]
pub(super) fn call<const BIG: bool>(system: System, payload: &[u8]) -> Option<u32> {
    number::<BIG>(counts_bytes(system), payload)
}

/// The number of the system call that was left.
#[inline]
pub(super) fn returned<const BIG: bool>(system: System, payload: &[u8]) -> Option<u32> {
    number::<BIG>(system == System::OpenBsd, payload)
}

#[inline]
fn number<const BIG: bool>(is_int: bool, payload: &[u8]) -> Option<u32> {
    if payload.len() < 4 {
        return None;
    }
    Some(unsigned::<BIG>(payload, if is_int { INT } else { SHORT }) as u32)
}

/// Whether the thread left its CPU, and whether it could have gone on.
#[inline]
pub(super) fn switch<const BIG: bool>(payload: &[u8]) -> Option<(bool, bool)> {
    if payload.len() < 8 {
        return None;
    }
    Some((unsigned::<BIG>(payload, INT) != 0, unsigned::<BIG>(payload, SECOND_INT) != 0))
}

/// The first number in a payload: a signal, or flags.
#[inline]
pub(super) fn first<const BIG: bool>(payload: &[u8]) -> Option<u32> {
    (payload.len() >= 4).then(|| unsigned::<BIG>(payload, INT) as u32)
}

/// The longest name of a function that is taken from a program, bytes.
const NAME_MAX: usize = 1024;

/// What a program logs with utrace(2) by convention: `pf>` and a name where a function begins,
/// `pf<` and the name where it ends. The mark may also be the identifier that is before the data.
pub(super) fn announcement(payload: &[u8], id: usize) -> Option<(CallPart, &[u8])> {
    let (id, data) = payload.split_at_checked(id)?;
    let (kind, name) = match (kind_of(data), kind_of(id)) {
        (Some(kind), _) => (kind, &data[3..]),
        (None, Some(kind)) => (kind, data),
        (None, None) => return None,
    };
    let end = name.iter().position(|byte| *byte == 0).unwrap_or(name.len());
    let name = name[..end].trim_ascii();
    (name.len() <= NAME_MAX && !name.is_empty()).then_some((kind, name))
}

fn kind_of(text: &[u8]) -> Option<CallPart> {
    match text.get(..3)? {
        b"pf>" => Some(CallPart::Enter),
        b"pf<" => Some(CallPart::Exit),
        _ => None,
    }
}

/// The name of a signal. From 32 on every system has its own.
pub(super) fn signal(number: u32) -> Option<&'static str> {
    const NAMES: [&str; 31] = [
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGEMT",
        "SIGFPE",
        "SIGKILL",
        "SIGBUS",
        "SIGSEGV",
        "SIGSYS",
        "SIGPIPE",
        "SIGALRM",
        "SIGTERM",
        "SIGURG",
        "SIGSTOP",
        "SIGTSTP",
        "SIGCONT",
        "SIGCHLD",
        "SIGTTIN",
        "SIGTTOU",
        "SIGIO",
        "SIGXCPU",
        "SIGXFSZ",
        "SIGVTALRM",
        "SIGPROF",
        "SIGWINCH",
        "SIGINFO",
        "SIGUSR1",
        "SIGUSR2",
    ];
    NAMES.get((number as usize).checked_sub(1)?).copied()
}
