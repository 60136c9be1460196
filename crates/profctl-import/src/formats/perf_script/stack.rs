//! Which functions are open on a thread, from its branches.
//!
//! Branches are more than calls and returns: a function that ends in a jump to another (a tail
//! call), an exception that leaves several at once, code that was not recorded. What is open has to
//! be known to tell a jump back from a jump on, so it is kept from block to block.

use std::sync::Arc;

use profctl_model::{Func, FuncKind};

use super::branch::{Branch, End, Kind};
use super::symbol::Symbol;
use crate::emit::{At, Emitter, NameRef, Stated};

/// A function: its kind (one byte), its name, NUL, its file.
type Key = Arc<[u8]>;

/// What is executed while nothing is recorded.
const UNTRACED: &[u8] = b"f[untraced]\0";
/// The kernel, where only user code is recorded.
const KERNEL: &[u8] = b"s[syscall]\0";

/// The functions that are open on a thread, the outermost first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Stack {
    open: Vec<Key>,
}

/// A place in code as it matters here.
struct Code {
    key: Key,
    /// Whether it is the first instruction of a function; unknown without offsets.
    is_start: Option<bool>,
    /// Whether it is known at all: what was not recorded is at 0.
    is_known: bool,
}

impl Code {
    fn of(symbol: Symbol<'_>, kind: u8) -> Self {
        Self {
            key: key(kind, symbol.name, symbol.object).into(),
            is_start: symbol.offset.map(|offset| offset == 0),
            is_known: symbol.address != 0,
        }
    }
}

/// What names a function: its kind, its name without the suffix of code that was moved out of the
/// way, the file that it is in.
fn key(kind: u8, name: &[u8], object: &[u8]) -> Vec<u8> {
    let name = name.strip_suffix(b".cold").unwrap_or(name);
    let object = object.rsplit(|byte| *byte == b'/').next().unwrap_or(object);
    let is_kernel = object.starts_with(b"[kernel.kallsyms]") || object.starts_with(b"vmlinux");
    let is_unknown = object == b"[unknown]" || object == b"inlined";
    let object = if is_kernel || is_unknown { b"" } else { object };
    let mut key = Vec::with_capacity(name.len() + object.len() + 2);
    key.push(kind);
    key.extend_from_slice(name);
    key.push(0);
    key.extend_from_slice(object);
    key
}

/// The function of a symbol that is called like any other.
pub(super) fn function(name: &[u8], object: &[u8], out: &mut Emitter) -> NameRef {
    name_of(&key(b'f', name, object), out)
}

fn name_of(key: &[u8], out: &mut Emitter) -> NameRef {
    out.name(key, |key| {
        let end = memchr::memchr(0, key).unwrap_or(key.len());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let object = key.get(end + 1..).unwrap_or_default();
        Func {
            name: text(&key[1..end]),
            module: (!object.is_empty()).then(|| text(object)),
            kind: match key[0] {
                b's' => FuncKind::Syscall,
                b'i' => FuncKind::Interrupt,
                _ => FuncKind::Function,
            },
            ..Func::default()
        }
    })
}

/// Exceptions come like interrupts, but are caused by what they interrupted.
fn interrupt_kind(name: &[u8]) -> u8 {
    let is_exception = [&b"asm_exc_"[..], b"exc_", b"page_fault", b"async_page_fault"];
    if is_exception.iter().any(|start| name.starts_with(start)) { b'f' } else { b'i' }
}

impl Stack {
    /// Clears the stack after a loss; the emitter closes the calls.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }

    /// Does what a branch says.
    pub(super) fn branch(&mut self, branch: &Branch<'_>, at: At, out: &mut Emitter) {
        let Branch { kind, from, to } = *branch;
        let to_kind = match kind {
            Kind::Syscall => b's',
            Kind::HardwareInterrupt => interrupt_kind(to.name),
            _ => b'f',
        };
        let from = self.as_open(Code::of(from, b'f'));
        let mut to = Code::of(to, to_kind);
        if !matches!(kind, Kind::Syscall | Kind::HardwareInterrupt) {
            to = self.as_open(to);
        }
        let kind = match kind {
            Kind::TraceStart | Kind::TraceEnd(_) => kind,
            _ if !from.is_known && !to.is_known => return,
            _ if !from.is_known => Kind::TraceStart,
            Kind::Call if !to.is_known => Kind::TraceEnd(End::Call),
            Kind::Return if !to.is_known => Kind::TraceEnd(End::Return),
            Kind::Syscall if !to.is_known => Kind::TraceEnd(End::Syscall),
            Kind::SyscallReturn if !to.is_known => Kind::TraceEnd(End::SyscallReturn),
            _ if !to.is_known => Kind::TraceEnd(End::Other),
            Kind::Unknown if to.key == from.key => Kind::Jump,
            Kind::Unknown if to.is_start == Some(true) => Kind::Call,
            Kind::Unknown => Kind::Return,
            kind => kind,
        };
        match kind {
            Kind::Call | Kind::Syscall | Kind::Interrupt | Kind::HardwareInterrupt => {
                self.be_in(&from.key, at, out);
                self.enter(to.key, at, out);
            }
            Kind::Return => {
                self.leave(&from.key, at, out);
                if to.is_start == Some(true) {
                    // Such a return is a jump (a retpoline).
                    self.enter(to.key, at, out);
                } else {
                    self.be_in(&to.key, at, out);
                }
            }
            Kind::SyscallReturn | Kind::InterruptReturn => {
                if self.find(&to.key).is_none() {
                    self.leave(&from.key, at, out);
                }
                self.be_in(&to.key, at, out);
            }
            Kind::Jump | Kind::Unknown | Kind::Abort => {
                if to.key == from.key && kind != Kind::Abort {
                    self.be_in(&from.key, at, out);
                } else if to.is_start != Some(true) && self.find(&to.key).is_some() {
                    self.be_in(&to.key, at, out);
                } else {
                    self.be_in(&from.key, at, out);
                    self.leave(&from.key, at, out);
                    self.enter(to.key, at, out);
                }
            }
            Kind::TraceStart => self.start(to, at, out),
            Kind::TraceEnd(end) => self.end(&from, end, at, out),
        }
    }

    /// Recording goes on at `to`.
    fn start(&mut self, to: Code, at: At, out: &mut Emitter) {
        if let Some(top) = self.open.last()
            && (**top == *UNTRACED || **top == *KERNEL)
        {
            self.pop_to(self.open.len() - 1, at, out);
        }
        if !to.is_known {
            return;
        }
        match to.is_start {
            Some(true) if self.open.last() != Some(&to.key) => self.enter(to.key, at, out),
            _ => self.be_in(&to.key, at, out),
        }
    }

    /// Recording ends at `from`.
    fn end(&mut self, from: &Code, end: End, at: At, out: &mut Emitter) {
        if from.is_known {
            self.be_in(&from.key, at, out);
        }
        match end {
            End::Return | End::SyscallReturn => self.leave(&from.key, at, out),
            End::Call | End::Syscall | End::Other => {}
        }
        // What runs outside of all that is open is not known to be of this thread.
        if !self.open.is_empty() {
            let key = if end == End::Syscall { KERNEL } else { UNTRACED };
            self.enter(key.into(), at, out);
        }
    }

    /// The same code under the kind with which it was entered: an interrupt's handler is code like
    /// any other once it runs.
    fn as_open(&self, mut code: Code) -> Code {
        let same = |open: &&Key| open[1..] == code.key[1..];
        if let Some(open) = self.open.iter().rev().find(same) {
            code.key = Arc::clone(open);
        }
        code
    }

    fn find(&self, key: &Key) -> Option<usize> {
        self.open.iter().rposition(|open| open == key)
    }

    /// Ends the calls from the one at `level` on.
    fn pop_to(&mut self, level: usize, at: At, out: &mut Emitter) {
        let Some(key) = self.open.get(level).map(Arc::clone) else { return };
        let above = &self.open[level + 1..];
        // An exit ends the innermost call of its function: where that is another one, those above
        // are ended one by one.
        if above.contains(&key) {
            for key in above.iter().rev() {
                let name = name_of(key, out);
                out.partial_end(at, name, true);
            }
        }
        let name = name_of(&key, out);
        out.exit(at, Some(name), Stated::NOTHING);
        self.open.truncate(level);
    }

    /// The innermost open call is `key`: its callees have ended, or its entry is missing.
    fn be_in(&mut self, key: &Key, at: At, out: &mut Emitter) {
        match self.find(key) {
            Some(level) => self.pop_to(level + 1, at, out),
            None => {
                let name = name_of(key, out);
                out.seen(at, name);
                self.open.push(Arc::clone(key));
            }
        }
    }

    fn enter(&mut self, key: Key, at: At, out: &mut Emitter) {
        let name = name_of(&key, out);
        out.enter(at, name, Stated::NOTHING);
        self.open.push(key);
    }

    /// `key` ends, whether or not its entry was recorded.
    fn leave(&mut self, key: &Key, at: At, out: &mut Emitter) {
        match self.find(key) {
            Some(level) => self.pop_to(level, at, out),
            None if self.open.is_empty() => {
                let name = name_of(key, out);
                out.exit(at, Some(name), Stated::NOTHING);
            }
            // Another name for what is open.
            None => {}
        }
    }
}
