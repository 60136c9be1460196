//! What packets refer back to: interned names, tracks, clocks, defaults.

use std::sync::Arc;

use profctl_model::hash::FastMap;

use super::clocks::Clocks;
use super::layered::Layered;
use super::wire::Fields;
use crate::emit::ThreadKey;
use crate::kernel_events::syscalls::Machine;

/// Everything that a packet may refer to. Copying it is cheap: what did not change is shared.
#[derive(Clone, Default, Debug)]
pub(super) struct Memory {
    pub(super) sequences: Layered<u32, Arc<Sequence>>,
    pub(super) tracks: Arc<Tracks>,
    pub(super) clocks: Arc<Clocks>,
    pub(super) kernel: Arc<Kernel>,
    /// Whether the bytes just before were no packet.
    pub(super) astray: bool,
}

/// What events of the kernel refer back to.
#[derive(Clone, Default, Debug)]
pub(super) struct Kernel {
    /// Whose system call numbers they are.
    pub(super) machine: Machine,
    /// The names of interrupts by number: exits have numbers only.
    pub(super) irqs: FastMap<u64, Arc<[u8]>>,
    /// Who runs on each CPU, as far as it is known: switches in their compact form do not say who
    /// leaves.
    pub(super) running: FastMap<u32, u64>,
    /// Whether functions are recorded with their depth: they are the calls, and system calls and
    /// interrupts, which do not nest with them, are marks.
    pub(super) has_graph: bool,
}

/// What one writer of packets has said.
#[derive(Clone, Default, Debug)]
pub(super) struct Sequence {
    /// Whether its state was written since packets were last lost.
    pub(super) is_whole: bool,
    /// Whether packets were lost since its last event.
    pub(super) has_lost: bool,
    /// Names by number.
    pub(super) tables: Tables,
    /// The track of its events that name none.
    pub(super) track: Option<u64>,
    /// The clock of its packets that name none.
    pub(super) clock: Option<u32>,
    /// Its own clocks.
    pub(super) clocks: Clocks,
    /// The latest time in microseconds of the older way to state times.
    pub(super) microseconds: i64,
}

/// Interned names of a writer.
#[derive(Clone, Default, Debug)]
pub(super) struct Tables {
    pub(super) events: Layered<u64, Arc<[u8]>>,
    pub(super) symbols: Layered<u64, Arc<[u8]>>,
}

impl Tables {
    /// Applies the state in a packet.
    pub(super) fn learn(&mut self, interned: &[u8]) {
        for (number, value) in Fields::of(interned) {
            let table = match number {
                2 => &mut self.events,
                26 => &mut self.symbols,
                _ => continue,
            };
            let Some(entry) = value.bytes() else { continue };
            let (mut id, mut name) = (0, None);
            for (number, value) in Fields::of(entry) {
                match number {
                    1 => id = value.number().unwrap_or(0),
                    2 => name = value.bytes(),
                    _ => {}
                }
            }
            if let Some(name) = name {
                table.insert(id, name.into());
            }
        }
    }
}

/// Whose calls a track shows.
#[derive(Clone, Default, Debug)]
pub(super) struct Tracks {
    threads: Layered<u64, ThreadKey>,
    /// Names of tracks that are no thread's, with the track that took each first.
    taken: Layered<String, u64>,
    processes: Layered<u64, String>,
    /// Threads by their id alone, as the kernel calls them.
    members: Layered<u64, ThreadKey>,
}

impl Tracks {
    /// The thread of a track.
    pub(super) fn thread(&self, uuid: u64) -> ThreadKey {
        self.threads.get(&uuid).cloned().unwrap_or_else(|| undescribed(uuid))
    }

    /// Whether a track has a thread that later descriptors do not change.
    pub(super) fn is_settled(&self, uuid: u64) -> bool {
        self.threads.get(&uuid).is_some()
    }

    /// Gives a track without a descriptor a thread of its own at its first event. After that only a
    /// descriptor with a thread id changes it.
    pub(super) fn settle(&mut self, uuid: u64) {
        self.threads.insert(uuid, undescribed(uuid));
    }

    /// Takes the descriptor of a track.
    pub(super) fn learn(&mut self, descriptor: &[u8]) {
        let (mut uuid, mut parent) = (0, None);
        let (mut name, mut thread, mut process, mut counts) = (None, None, None, false);
        for (number, value) in Fields::of(descriptor) {
            match number {
                1 => uuid = value.number().unwrap_or(0),
                5 => parent = value.number(),
                2 | 10 | 13 => name = value.bytes().or(name),
                3 => process = value.bytes(),
                4 => thread = value.bytes(),
                8 => counts = true,
                _ => {}
            }
        }
        if counts {
            return;
        }
        let name = name.map(|name| String::from_utf8_lossy(name).into_owned());
        let thread = if let Some((pid, Some(tid), of_thread)) = thread.map(read_thread) {
            let name = of_thread.or(name).unwrap_or_default();
            let thread = match pid {
                Some(pid) => ThreadKey::Member { pid, tid, name },
                None => ThreadKey::Tid(tid, name),
            };
            if self.members.get(&tid).is_none() {
                self.members.insert(tid, thread.clone());
            }
            thread
        } else if let Some(process) = process {
            let name = name.unwrap_or_else(|| read_process(process));
            self.processes.insert(uuid, name.clone());
            ThreadKey::Named(self.unique(name, uuid))
        } else {
            let name = name.unwrap_or_else(|| format!("track {uuid}"));
            let process = parent.and_then(|parent| self.processes.get(&parent));
            let full = match process {
                Some(process) => format!("{process}/{name}"),
                None => name,
            };
            ThreadKey::Named(self.unique(full, uuid))
        };
        let is_late = self.threads.get(&uuid) == Some(&undescribed(uuid));
        if !is_late || !matches!(thread, ThreadKey::Named(_)) {
            self.threads.insert(uuid, thread);
        }
    }

    /// The thread of a sequence, from a legacy descriptor: its track is generated.
    pub(super) fn learn_thread(&mut self, descriptor: &[u8]) -> Option<u64> {
        let (_, tid, name) = read_thread(descriptor);
        let tid = tid?;
        // No writer uses numbers near the end.
        let uuid = u64::MAX - tid;
        self.threads.insert(uuid, ThreadKey::Tid(tid, name.unwrap_or_default()));
        Some(uuid)
    }

    /// Takes a list of processes and threads.
    pub(super) fn learn_processes(&mut self, tree: &[u8]) {
        for (number, value) in Fields::of(tree) {
            let Some(entry) = value.bytes() else { continue };
            let (pid, tid, name) = match number {
                1 => {
                    let (pid, name) = process_of_tree(entry);
                    (pid, pid, name)
                }
                2 => thread_of_tree(entry),
                _ => continue,
            };
            let (Some(pid), Some(tid)) = (pid, tid) else { continue };
            let known = match self.members.get(&tid) {
                Some(ThreadKey::Member { name, .. }) => !name.is_empty(),
                _ => false,
            };
            if !known {
                let name = name.unwrap_or_default();
                self.members.insert(tid, ThreadKey::Member { pid, tid, name });
            }
        }
    }

    /// The thread that the kernel calls by this id and name.
    pub(super) fn task(&self, tid: u64, name: &[u8]) -> ThreadKey {
        let known = self.members.get(&tid).cloned();
        known.unwrap_or_else(|| ThreadKey::Tid(tid, String::from_utf8_lossy(name).into_owned()))
    }

    /// Tracks of one name are not one track.
    fn unique(&mut self, name: String, uuid: u64) -> String {
        match self.taken.get(&name) {
            Some(&first) if first != uuid => format!("{name} (track {uuid})"),
            Some(_) => name,
            None => {
                self.taken.insert(name.clone(), uuid);
                name
            }
        }
    }
}

/// The thread of a track that no descriptor names.
fn undescribed(uuid: u64) -> ThreadKey {
    ThreadKey::Named(if uuid == 0 { "global".into() } else { format!("track {uuid}") })
}

/// Id and name of a process in a list: the program, without its folder and cut as Linux cuts it.
/// Names of kernel threads (`kworker/0:1`) are no paths.
fn process_of_tree(process: &[u8]) -> (Option<u64>, Option<String>) {
    let (mut pid, mut name) = (None, None);
    for (number, value) in Fields::of(process) {
        match number {
            1 => pid = value.number(),
            3 if name.is_none() => name = value.bytes(),
            _ => {}
        }
    }
    let name = name.map(|name| {
        let is_path = name.starts_with(b"/") || name.starts_with(b".");
        let base = name.rsplit(|byte| *byte == b'/').next().filter(|_| is_path).unwrap_or(name);
        String::from_utf8_lossy(&base[..base.len().min(15)]).into_owned()
    });
    (pid, name)
}

/// Process, id and name of a thread in a list.
fn thread_of_tree(thread: &[u8]) -> (Option<u64>, Option<u64>, Option<String>) {
    let (mut pid, mut tid, mut name) = (None, None, None);
    for (number, value) in Fields::of(thread) {
        match number {
            1 => tid = value.number(),
            2 => name = value.bytes().map(|name| String::from_utf8_lossy(name).into_owned()),
            3 => pid = value.number(),
            _ => {}
        }
    }
    (pid, tid, name)
}

/// Process, id and name in the descriptor of a thread.
fn read_thread(descriptor: &[u8]) -> (Option<u64>, Option<u64>, Option<String>) {
    let (mut pid, mut tid, mut name) = (None, None, None);
    for (number, value) in Fields::of(descriptor) {
        match number {
            1 => pid = value.number(),
            2 => tid = value.number(),
            5 => name = value.bytes().map(|name| String::from_utf8_lossy(name).into_owned()),
            _ => {}
        }
    }
    (pid, tid, name)
}

fn read_process(descriptor: &[u8]) -> String {
    let (mut pid, mut name) = (0, None);
    for (number, value) in Fields::of(descriptor) {
        match number {
            1 => pid = value.number().unwrap_or(0),
            6 => name = value.bytes().map(|name| String::from_utf8_lossy(name).into_owned()),
            _ => {}
        }
    }
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| format!("process {pid}"))
}
