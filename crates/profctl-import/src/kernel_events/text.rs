//! Events as text: `sched_switch: prev_comm=… ==> next_comm=…` as the kernel prints them,
//! `sched_switch: swapper/1:0 [120] R ==> init:1 [120]` as `trace-cmd report` does.
//!
//! Names of tasks may hold anything, ` ==> ` and `prev_pid=` too, so fields after a name are sought
//! from the end.

use memchr::memmem;

use super::{KernelEvent, Syscall, Task, vector};
use crate::emit::{PrevState, WakingKind};
use crate::text;

/// An event as it was printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Printed<'a> {
    /// Its name without its system; empty if the line has none.
    pub name: &'a [u8],
    /// What is printed after the name.
    pub arguments: &'a [u8],
    /// What it means.
    pub event: KernelEvent<'a>,
}

/// Reads `name: arguments`, `system:name: arguments`, and the forms that tracefs prints for system
/// calls: `sys_read(fd: 3, …)` and `sys_read -> 0x1`.
pub fn printed(body: &[u8]) -> Printed<'_> {
    if let Some(call) = tracefs_syscall(body) {
        return call;
    }
    let Some((name, arguments)) = split_name(body) else {
        return Printed { name: b"", arguments: body, event: KernelEvent::Other };
    };
    Printed { name, arguments, event: event(name, arguments) }
}

/// What the event `name` with these arguments means.
pub fn event<'a>(name: &'a [u8], arguments: &'a [u8]) -> KernelEvent<'a> {
    known(name, arguments).unwrap_or(KernelEvent::Other)
}

fn known<'a>(name: &'a [u8], arguments: &'a [u8]) -> Option<KernelEvent<'a>> {
    Some(match name {
        b"sched_switch" => switch(arguments)?,
        b"sched_waking" => waking(WakingKind::Waking, arguments)?,
        b"sched_wakeup" => waking(WakingKind::Wakeup, arguments)?,
        b"sched_wakeup_new" => waking(WakingKind::WakeupNew, arguments)?,
        b"sched_process_fork" => {
            let at = memmem::rfind(arguments, b" child_comm=")?;
            let (parent, _) = task(&arguments[..at], b"comm=", b" pid=")?;
            let (child, _) = task(&arguments[at + 1..], b"child_comm=", b" child_pid=")?;
            KernelEvent::Fork { parent, child }
        }
        b"sched_process_exit" => KernelEvent::Exit(task(arguments, b"comm=", b" pid=")?.0),
        b"task_rename" => {
            let tid = number_behind(arguments, b"pid=")?;
            let at = memmem::rfind(arguments, b" newcomm=")? + 9;
            let end = memmem::rfind(arguments, b" oom_score_adj=").filter(|&end| end >= at)?;
            KernelEvent::Rename(Task { tid, name: &arguments[at..end] })
        }
        b"irq_handler_entry" | b"irq_handler_exit" => {
            let name_at = memmem::find(arguments, b" name=").map(|at| at + 6);
            KernelEvent::Irq {
                number: number_behind(arguments, b"irq=")?,
                name: name_at.map(|at| arguments[at..].trim_ascii_end()),
                entered: name.ends_with(b"entry"),
            }
        }
        b"softirq_entry" | b"softirq_exit" => {
            let at = memmem::find(arguments, b"[action=")? + 8;
            let end = memchr::memchr(b']', &arguments[at..])?;
            let action = &arguments[at..at + end];
            KernelEvent::SoftIrq { action, entered: name.ends_with(b"entry") }
        }
        b"sys_enter" | b"sys_exit" => {
            let number = if arguments.starts_with(b"NR -1 ") {
                u64::MAX
            } else {
                number_behind(arguments, b"NR ").or_else(|| number_behind(arguments, b"id="))?
            };
            let call = Syscall::Number(number);
            KernelEvent::Syscall { call, entered: name == b"sys_enter", raw: true }
        }
        _ => {
            if let Some(call) = name.strip_prefix(b"sys_enter_") {
                let call = Syscall::Name(call);
                return Some(KernelEvent::Syscall { call, entered: true, raw: false });
            }
            if let Some(call) = name.strip_prefix(b"sys_exit_") {
                let call = Syscall::Name(call);
                return Some(KernelEvent::Syscall { call, entered: false, raw: false });
            }
            let (name, entered) = vector(name)?;
            KernelEvent::Vector { name, entered }
        }
    })
}

/// The name before the first `: `, and what is after it. A name is one word of letters, digits and
/// underscores, perhaps with its system in front.
fn split_name(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let end = body.iter().position(|byte| !is_word(byte)).unwrap_or(body.len());
    if end == 0 || body.get(end) != Some(&b':') {
        return None;
    }
    let behind = &body[end + 1..];
    match behind.first() {
        None => Some((&body[..end], behind)),
        Some(b' ' | b'\t') => Some((&body[..end], behind.trim_ascii_start())),
        // The system in front.
        Some(_) => split_name(behind).filter(|(name, _)| !name.contains(&b':')),
    }
}

/// `sys_read(fd: 3, buf: 7ffc, count: 1)` or `sys_read -> 0x1`.
fn tracefs_syscall(body: &[u8]) -> Option<Printed<'_>> {
    let behind = body.strip_prefix(b"sys_")?;
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let end = behind.iter().position(|byte| !is_word(byte))?;
    if end == 0 {
        return None;
    }
    let call = Syscall::Name(&behind[..end]);
    let name = &body[..4 + end];
    let (entered, arguments) = match &behind[end..] {
        [b'(', arguments @ ..] => (true, arguments.strip_suffix(b")").unwrap_or(arguments)),
        [b' ', b'-', b'>', value @ ..] => (false, value.trim_ascii()),
        _ => return None,
    };
    let event = KernelEvent::Syscall { call, entered, raw: false };
    Some(Printed { name, arguments, event })
}

fn switch(arguments: &[u8]) -> Option<KernelEvent<'_>> {
    if arguments.starts_with(b"prev_comm=") {
        let next_at = memmem::rfind(arguments, b" next_comm=")?;
        let (prev, behind) = task(&arguments[..next_at], b"prev_comm=", b" prev_pid=")?;
        let (next, _) = task(&arguments[next_at + 1..], b"next_comm=", b" next_pid=")?;
        let state_at = memmem::rfind(behind, b" prev_state=")? + 12;
        let letters = &behind[state_at..];
        let end = letters.iter().position(|&byte| byte == b' ').unwrap_or(letters.len());
        let letters = &letters[..end];
        let state = match text::integer(letters) {
            Some(bits) if letters.starts_with(b"0x") => super::record::StateBits::LINUX.state(bits),
            _ => PrevState::from_linux(letters),
        };
        return Some(KernelEvent::Switch { prev, state, next });
    }
    let arrow = memmem::rfind(arguments, b" ==> ")?;
    let (prev, behind) = reported_task(&arguments[..arrow])?;
    let (next, _) = reported_task(&arguments[arrow + 5..])?;
    Some(KernelEvent::Switch { prev, state: reported_state(behind.trim_ascii()), next })
}

/// The state as libtraceevent prints it: its list of letters, `SDTtZXxW`, is older than today's
/// kernels, so `W` is the idle state, `x` parked, and `Z` and `X` have changed places.
fn reported_state(letters: &[u8]) -> PrevState {
    PrevState::from_linux(match letters {
        [b'W', ..] => b"I",
        [b'x', ..] => b"P",
        [b'Z', ..] => b"X",
        [b'X', ..] => b"Z",
        other => other,
    })
}

fn waking(kind: WakingKind, arguments: &[u8]) -> Option<KernelEvent<'_>> {
    if let Some((target, behind)) = task(arguments, b"comm=", b" pid=") {
        let cpu = number_behind(behind, b"target_cpu=").and_then(|cpu| u32::try_from(cpu).ok());
        return Some(KernelEvent::Waking { kind, target, cpu });
    }
    let (target, behind) = reported_task(arguments)?;
    let cpu = number_behind(behind, b"CPU:").and_then(|cpu| u32::try_from(cpu).ok());
    Some(KernelEvent::Waking { kind, target, cpu })
}

/// A name and a pid, and what is after the pid.
fn task<'a>(fields: &'a [u8], name_key: &[u8], pid_key: &[u8]) -> Option<(Task<'a>, &'a [u8])> {
    let name = fields.strip_prefix(name_key)?;
    let pid_at = memmem::rfind(name, pid_key)?;
    let behind = &name[pid_at + pid_key.len()..];
    let (tid, length) = leading_number(behind)?;
    Some((Task { tid, name: &name[..pid_at] }, &behind[length..]))
}

/// `rcu_preempt:15 [120] …`, and what is after the bracket.
fn reported_task(fields: &[u8]) -> Option<(Task<'_>, &[u8])> {
    let bracket = memmem::rfind(fields, b" [")?;
    let colon = memchr::memrchr(b':', &fields[..bracket])?;
    let tid = text::decimal(&fields[colon + 1..bracket], 0)?;
    let close = memchr::memchr(b']', &fields[bracket..])?;
    Some((Task { tid, name: &fields[..colon] }, &fields[bracket + close + 1..]))
}

/// The number after the first `key`.
fn number_behind(fields: &[u8], key: &[u8]) -> Option<u64> {
    let at = memmem::find(fields, key)? + key.len();
    leading_number(&fields[at..]).map(|(number, _)| number)
}

/// The number with which `fields` begin, in decimal or after `0x` in hexadecimal, and its length.
fn leading_number(fields: &[u8]) -> Option<(u64, usize)> {
    let digits = if fields.starts_with(b"0x") {
        2 + fields[2..].iter().take_while(|byte| byte.is_ascii_hexdigit()).count()
    } else {
        fields.iter().take_while(|byte| byte.is_ascii_digit()).count()
    };
    Some((text::integer(&fields[..digits])?, digits))
}
