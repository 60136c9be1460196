//! The walk as the tools for processes print it.

use std::io::Write;

use super::text::Text;
use super::walk::{Step, Walk};

impl Text {
    /// System calls, one a leaf: every eighth in two parts, with a call of another process between.
    pub(super) fn strace(&mut self, walk: &mut Walk) {
        const CALLS: [&str; 6] = ["read", "write", "futex", "epoll_wait", "close", "openat"];
        let before = walk.time;
        let Step::Leaf { function, length, .. } = walk.next() else { return };
        let name = CALLS[function % CALLS.len()];
        let task = 100 + walk.task();
        let micros = (before + length) / 1_000 - before / 1_000;
        let stamp = |time: u64| {
            let time = 1_700_000_000_000_000 + time / 1_000;
            format!("{}.{:06}", time / 1_000_000, time % 1_000_000)
        };
        let (begin, end) = (stamp(before), stamp(before + length));
        let length = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
        // A vector takes all that is written.
        let _ = if function % 8 == 0 {
            write!(
                self.out,
                "{task} {begin} {name}(3, \"a) = 1\", 512 <unfinished ...>\n\
                 99 {begin} getpid() = 99 <0.000000>\n\
                 {task} {end} <... {name} resumed>) = 512 <{length}>\n"
            )
        } else {
            writeln!(self.out, "{task} {begin} {name}(3, \"a) = 1\", 512) = 512 <{length}>")
        };
    }

    /// Branches of a processor trace: one line per call or return.
    pub(super) fn perf_script(&mut self, walk: &mut Walk) {
        let before = walk.time;
        let step = walk.next();
        let (cpu, tid) = (walk.cpu, 1_000 + walk.task());
        let path = walk.path();
        let mut line = |time: u64, kind: &str, from: Option<usize>, to: Option<usize>| {
            let place = |function: Option<usize>, offset: usize| match function {
                Some(function) => {
                    let name = &self.names[function];
                    format!(
                        "{:16x} {name}+0x{offset:x} (/usr/bin/made)",
                        0x40_0000 + 64 * function + offset
                    )
                }
                None => "               0 [unknown] ([unknown])".into(),
            };
            let is_return = kind.ends_with("return");
            let (from, to) = if is_return {
                (place(from, 0x30), place(to, 0x25))
            } else {
                (place(from, 0x20), place(to, 0))
            };
            let (seconds, nanos) = (time / 1_000_000_000, time % 1_000_000_000);
            // A vector takes all that is written.
            let _ = writeln!(
                self.out,
                "            made {tid:6} [{cpu:03}] {seconds}.{nanos:09}:          1   branches:uH:   \
                 {kind:<28} {from} => {to}"
            );
        };
        match step {
            Step::Enter { function, .. } => match path[..] {
                [.., caller, _] => line(before, "call", Some(caller), Some(function)),
                _ => line(before, "tr strt", None, Some(function)),
            },
            Step::Leaf { function, length, .. } => {
                let caller = path.last().copied();
                line(before, "call", caller, Some(function));
                line(before + length, "return", Some(function), caller);
            }
            Step::Exit { function, .. } => match path.last() {
                Some(&caller) => line(walk.time, "return", Some(function), Some(caller)),
                None => line(walk.time, "tr end  return", Some(function), None),
            },
            Step::Switch { .. } => {}
        }
    }
}
