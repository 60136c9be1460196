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
}
