//! `task.txt`: which sessions (programs), tasks, forks and libraries there were.
//!
//! ```text
//! SESS timestamp=1639.386624716 pid=10354 sid=06008325f92f96d5 exename="/tmp/prog"
//! TASK timestamp=1639.386896692 tid=10358 pid=10354
//! FORK timestamp=1639.387868681 pid=10359 ppid=10354
//! DLOP timestamp=1639.387044933 tid=10354 sid=06008325f92f96d5 base=7f4487ef5000 libname="./libplug.so"
//! ```

use crate::text;

/// A program that ran in a process from some time on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Session {
    pub(super) time: u64,
    pub(super) pid: u64,
    /// Names the file of its mappings.
    pub(super) id: String,
    pub(super) program: String,
    /// Libraries that it loaded later, in time order.
    pub(super) loaded: Vec<Library>,
}

/// A library that a program loaded while it ran.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Library {
    pub(super) time: u64,
    pub(super) base: u64,
    pub(super) path: String,
}

/// A thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Task {
    pub(super) tid: u64,
    pub(super) pid: u64,
    /// The process that it was forked from.
    pub(super) parent: Option<u64>,
    pub(super) time: u64,
}

/// A parsed `task.txt`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Tasks {
    /// In time order.
    pub(super) sessions: Vec<Session>,
    /// One for each thread, in the order of the file.
    pub(super) threads: Vec<Task>,
    /// Lines that say something else.
    pub(super) unread: usize,
}

impl Tasks {
    /// Parses the file.
    pub(super) fn parse(file: &[u8]) -> Self {
        let mut tasks = Self::default();
        let mut loaded = Vec::new();
        for line in text::lines(file) {
            let line = String::from_utf8_lossy(line.text);
            if line.trim().is_empty() {
                continue;
            }
            if tasks.line(&line, &mut loaded).is_none() {
                tasks.unread += 1;
            }
        }
        tasks.sessions.sort_by_key(|session| session.time);
        loaded.sort_by_key(|(_, library): &(String, Library)| library.time);
        for (id, library) in loaded {
            let of_id = tasks.sessions.iter_mut().find(|session| session.id == id);
            if let Some(session) = of_id {
                session.loaded.push(library);
            }
        }
        tasks
    }

    fn line(&mut self, line: &str, loaded: &mut Vec<(String, Library)>) -> Option<()> {
        let field = |key: &str| {
            let value = line.split_once(&format!(" {key}="))?.1;
            match value.strip_prefix('"') {
                // A path may hold quotes itself.
                Some(quoted) => quoted.rsplit_once('"').map(|(text, _)| text),
                None => value.split_whitespace().next(),
            }
        };
        let number = |key: &str| field(key)?.parse::<u64>().ok();
        let time = text::decimal(field("timestamp")?.as_bytes(), 9)?;
        match line.get(..4)? {
            "SESS" => self.sessions.push(Session {
                time,
                pid: number("pid").or_else(|| number("tid"))?,
                id: field("sid")?.to_owned(),
                program: field("exename")?.to_owned(),
                loaded: Vec::new(),
            }),
            "TASK" => {
                self.task(Task { tid: number("tid")?, pid: number("pid")?, parent: None, time });
            }
            "FORK" => {
                let pid = number("pid")?;
                self.task(Task { tid: pid, pid, parent: Some(number("ppid")?), time });
            }
            "DLOP" => {
                let base = u64::from_str_radix(field("base")?, 16).ok()?;
                let path = field("libname")?.to_owned();
                loaded.push((field("sid")?.to_owned(), Library { time, base, path }));
            }
            _ => return None,
        }
        Some(())
    }

    fn task(&mut self, task: Task) {
        // A program that starts another one in its place says so once more.
        match self.threads.iter_mut().find(|known| known.tid == task.tid) {
            Some(known) => known.parent = known.parent.or(task.parent),
            None => self.threads.push(task),
        }
    }

    /// The task of that id.
    pub(super) fn of(&self, tid: u64) -> Option<&Task> {
        self.threads.iter().find(|task| task.tid == tid)
    }

    /// Which sessions the thread was in, and from when on, in time order.
    pub(super) fn sessions_of(&self, tid: u64) -> Vec<(u64, usize)> {
        let pid = self.of(tid).map_or(tid, |task| task.pid);
        let mut found: Vec<(u64, usize)> = Vec::new();
        for (index, session) in self.sessions.iter().enumerate() {
            if session.pid == pid {
                found.push((session.time, index));
            }
        }
        // Until it starts a program of its own, a process has that of its parent at the fork.
        let mut child = self.of(pid);
        for _ in 0..self.threads.len() {
            let Some(&Task { parent: Some(parent), time, .. }) = child else { break };
            let mut of_parent = self.sessions.iter().enumerate().rev();
            let inherited = of_parent.find(|(_, s)| s.pid == parent && s.time <= time);
            if let Some((index, session)) = inherited {
                found.insert(0, (session.time, index));
                break;
            }
            child = self.of(parent);
        }
        if found.is_empty() && !self.sessions.is_empty() {
            found.push((0, 0));
        }
        found
    }

    /// What the thread's program is called at the end, without its folder and cut as Linux cuts it.
    pub(super) fn name_of(&self, tid: u64) -> String {
        let last = self.sessions_of(tid).last().map(|&(_, index)| &self.sessions[index].program);
        last.map_or_else(String::new, |path| base(path).chars().take(15).collect())
    }
}

/// A path without its folders.
pub(super) fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &[u8] = b"SESS timestamp=10.000000005 pid=1 sid=aa exename=\"/bin/a \"b\"\"\n\
        TASK timestamp=10.1 tid=1 pid=1\nTASK timestamp=11.0 tid=2 pid=1\n\
        DLOP timestamp=13.5 tid=1 sid=aa base=7f00 libname=\"./late.so\"\n\
        DLOP timestamp=12.5 tid=1 sid=aa base=6f00 libname=\"./early.so\"\n\
        FORK timestamp=12.000000000 pid=3 ppid=1\nFORK timestamp=13 pid=4 ppid=3\n\
        SESS timestamp=14.0 pid=3 sid=bb exename=\"/usr/bin/a-very-long-program\"\n\
        TASK timestamp=14.1 tid=3 pid=3\nodd\nWHAT timestamp=1.0\n";

    #[test]
    fn sessions_tasks_forks_and_libraries() {
        let tasks = Tasks::parse(TEXT);
        assert_eq!(tasks.unread, 2);
        assert_eq!(tasks.sessions[0].program, "/bin/a \"b\"");
        assert_eq!(tasks.sessions[0].time, 10_000_000_005);
        let paths: Vec<_> = tasks.sessions[0].loaded.iter().map(|lib| lib.path.as_str()).collect();
        assert_eq!(paths, ["./early.so", "./late.so"]);
        let parent = |tid| tasks.of(tid).unwrap().parent;
        assert_eq!([1, 2, 3, 4].map(parent), [None, None, Some(1), Some(3)]);
        assert_eq!(tasks.sessions_of(1), [(10_000_000_005, 0)]);
        assert_eq!(tasks.sessions_of(2), [(10_000_000_005, 0)]);
        assert_eq!(tasks.sessions_of(3), [(10_000_000_005, 0), (14_000_000_000, 1)]);
        // Forked before its parent started another program: the program of its parent's parent.
        assert_eq!(tasks.sessions_of(4), [(10_000_000_005, 0)]);
        assert_eq!(tasks.sessions_of(99), [(0, 0)]);
        assert_eq!(tasks.name_of(3), "a-very-long-pro");
    }

    #[test]
    fn forks_in_a_ring_end() {
        let tasks =
            Tasks::parse(b"FORK timestamp=1.0 pid=1 ppid=2\nFORK timestamp=1.0 pid=2 ppid=1\n");
        assert_eq!(tasks.sessions_of(1), []);
    }

    #[test]
    fn a_cut_file_is_read_up_to_the_cut() {
        for cut in 0..TEXT.len() {
            Tasks::parse(&TEXT[..cut]);
        }
    }
}
