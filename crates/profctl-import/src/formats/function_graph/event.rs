//! Events inside the graph: `/* sched_switch: prev_comm=… ==> next_comm=… */`.

use memchr::memmem;

use super::line::number;

/// What an event says that matters to a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Comment<'a> {
    Switch {
        from: Task<'a>,
        to: Task<'a>,
        preempted: bool,
    },
    Waking(Task<'a>),
    /// The name of any other event, or of what a program wrote into the trace.
    Mark(&'a [u8]),
}

/// A task by its full name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Task<'a> {
    pub(super) name: &'a [u8],
    pub(super) pid: u64,
}

/// Reads what stands between `/*` and `*/`.
pub(super) fn parse(inside: &[u8]) -> Comment<'_> {
    let end = memchr::memchr(b':', inside).unwrap_or(inside.len());
    let name = inside[..end].trim_ascii();
    let fields = inside.get(end + 1..).unwrap_or_default();
    let known = match name {
        b"sched_switch" => switch(fields),
        b"sched_waking" | b"sched_wakeup_new" => {
            task(fields, b"comm=", b" pid=").map(|(task, _)| Comment::Waking(task))
        }
        _ => None,
    };
    known.unwrap_or(Comment::Mark(event_name(name)))
}

/// The first word: `sys_read(fd: 3, …)` and `sys_read -> 0x1` are both `sys_read`.
fn event_name(name: &[u8]) -> &[u8] {
    let end = name.iter().position(|byte| matches!(byte, b'(' | b' ')).unwrap_or(name.len());
    if end == 0 { b"event" } else { &name[..end] }
}

/// Names may hold anything, ` ==> ` and `prev_pid=` too, so each field is sought from the end.
fn switch(fields: &[u8]) -> Option<Comment<'_>> {
    let arrow = memmem::rfind(fields, b" ==> next_comm=")?;
    let (from, behind) = task(&fields[..arrow], b"prev_comm=", b" prev_pid=")?;
    let (to, _) = task(&fields[arrow + 5..], b"next_comm=", b" next_pid=")?;
    let state = memmem::rfind(behind, b"prev_state=").map(|at| &behind[at + 11..]);
    let preempted = state.is_some_and(|state| state.starts_with(b"R"));
    Some(Comment::Switch { from, to, preempted })
}

/// A name and a pid, and what stands behind the pid.
fn task<'a>(fields: &'a [u8], name_key: &[u8], pid_key: &[u8]) -> Option<(Task<'a>, &'a [u8])> {
    let name_at = memmem::find(fields, name_key)? + name_key.len();
    let pid_at = memmem::rfind(fields, pid_key).filter(|&at| at >= name_at)?;
    let behind = &fields[pid_at + pid_key.len()..];
    let digits = behind.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let pid = number(&behind[..digits])?;
    Some((Task { name: &fields[name_at..pid_at], pid }, &behind[digits..]))
}
