//! What packets refer back to: names told once, tracks, clocks, defaults.

use std::sync::Arc;

use profctl_model::hash::FastMap;

use super::clocks::Clocks;
use super::ours::Ours;
use super::wire::Fields;
use crate::emit::ThreadKey;

/// Everything that a packet may refer to. Copying it is cheap: what did not change is shared.
#[derive(Clone, Default, Debug)]
pub(super) struct Memory {
    pub(super) sequences: FastMap<u32, Arc<Sequence>>,
    pub(super) tracks: Arc<Tracks>,
    pub(super) clocks: Arc<Clocks>,
    /// What an export of ours says of the trace it was made from.
    pub(super) ours: Option<Arc<Ours>>,
    /// Whether the bytes just before were no packet.
    pub(super) astray: bool,
}

/// What one writer of packets has said.
#[derive(Clone, Default, Debug)]
pub(super) struct Sequence {
    /// Whether what it refers to was told since packets were last lost.
    pub(super) is_whole: bool,
    /// Whether packets were lost since its last event.
    pub(super) has_lost: bool,
    /// Names by number.
    pub(super) tables: Arc<Tables>,
    /// The track of its events that name none.
    pub(super) track: Option<u64>,
    /// The clock of its packets that name none.
    pub(super) clock: Option<u32>,
    /// Its own clocks.
    pub(super) clocks: Clocks,
    /// The latest time in microseconds of the older way to state times.
    pub(super) microseconds: i64,
}

/// Names that a writer tells once and refers to by number.
#[derive(Clone, Default, Debug)]
pub(super) struct Tables {
    pub(super) events: FastMap<u64, Arc<[u8]>>,
    pub(super) categories: FastMap<u64, Arc<[u8]>>,
    pub(super) annotations: FastMap<u64, Arc<[u8]>>,
    pub(super) strings: FastMap<u64, Arc<[u8]>>,
    pub(super) symbols: FastMap<u64, Arc<[u8]>>,
}

impl Tables {
    /// Takes what a packet tells.
    pub(super) fn learn(&mut self, interned: &[u8]) {
        for (number, value) in Fields::of(interned) {
            let table = match number {
                1 => &mut self.categories,
                2 => &mut self.events,
                3 => &mut self.annotations,
                29 => &mut self.strings,
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
    threads: FastMap<u64, (Option<u32>, ThreadKey)>,
    /// Names of tracks that are no thread's, with the track that took each first.
    taken: FastMap<String, u64>,
    processes: FastMap<u64, String>,
    /// Threads by their id alone, as the kernel calls them.
    members: FastMap<u64, ThreadKey>,
}

impl Tracks {
    /// The CPU, if the track is one's, and the thread of a track.
    pub(super) fn lane(&self, uuid: u64) -> (Option<u32>, ThreadKey) {
        match self.threads.get(&uuid) {
            Some(lane) => lane.clone(),
            None if uuid == 0 => (None, ThreadKey::Named("global".into())),
            None => (None, ThreadKey::Named(format!("track {uuid}"))),
        }
    }

    /// Takes the descriptor of a track; returns its number if its thread is one that idles, and
    /// only we say so.
    pub(super) fn learn(&mut self, descriptor: &[u8]) -> Option<u64> {
        let (mut uuid, mut parent) = (0, None);
        let (mut name, mut thread, mut process, mut counts) = (None, None, None, false);
        let mut facts = None;
        for (number, value) in Fields::of(descriptor) {
            match number {
                1 => uuid = value.number().unwrap_or(0),
                5 => parent = value.number(),
                14 => facts = value.bytes().and_then(Facts::read),
                2 | 10 | 13 => name = value.bytes().or(name),
                3 => process = value.bytes(),
                4 => thread = value.bytes(),
                8 => counts = true,
                _ => {}
            }
        }
        if counts {
            return None;
        }
        let name = name.map(|name| String::from_utf8_lossy(name).into_owned());
        let lane = if let Some(facts) = facts {
            let of_thread = thread.map(read_thread).and_then(|(_, _, name)| name);
            let name = of_thread.or(name).filter(|_| !facts.is_unnamed);
            facts.lane(name.unwrap_or_default())
        } else if let Some((pid, Some(tid), of_thread)) = thread.map(read_thread) {
            let name = of_thread.or(name).unwrap_or_default();
            let thread = match pid {
                Some(pid) => ThreadKey::Member { pid, tid, name },
                None => ThreadKey::Tid(tid, name),
            };
            self.members.entry(tid).or_insert_with(|| thread.clone());
            (None, thread)
        } else if let Some(process) = process {
            let name = name.unwrap_or_else(|| read_process(process));
            self.processes.insert(uuid, name.clone());
            (None, ThreadKey::Named(self.unique(name, uuid)))
        } else {
            let name = name.unwrap_or_else(|| format!("track {uuid}"));
            let process = parent.and_then(|parent| self.processes.get(&parent));
            let full = match process {
                Some(process) => format!("{process}/{name}"),
                None => name,
            };
            (None, ThreadKey::Named(self.unique(full, uuid)))
        };
        self.threads.insert(uuid, lane);
        facts.is_some_and(|facts| facts.idles).then_some(uuid)
    }

    /// The thread of a sequence, told in the older way: its track is made up.
    pub(super) fn learn_thread(&mut self, descriptor: &[u8]) -> Option<u64> {
        let (_, tid, name) = read_thread(descriptor);
        let tid = tid?;
        // No writer hands out numbers near the end.
        let uuid = u64::MAX - tid;
        self.threads.insert(uuid, (None, ThreadKey::Tid(tid, name.unwrap_or_default())));
        Some(uuid)
    }

    /// The thread that the kernel calls by this id and name.
    pub(super) fn task(&self, tid: u64, name: &[u8]) -> ThreadKey {
        let known = self.members.get(&tid).cloned();
        known.unwrap_or_else(|| ThreadKey::Tid(tid, String::from_utf8_lossy(name).into_owned()))
    }

    /// Tracks of one name are not one track.
    fn unique(&mut self, name: String, uuid: u64) -> String {
        match *self.taken.entry(name.clone()).or_insert(uuid) {
            first if first == uuid => name,
            _ => format!("{name} (track {uuid})"),
        }
    }
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

/// What the description of a track says of its thread, if we wrote it: Perfetto has no place for a
/// thread without an id, or with a large one, or for an idle task.
#[derive(Clone, Copy, Debug)]
struct Facts {
    tid: Option<u64>,
    pid: Option<u64>,
    /// The idle task of a CPU.
    idle: bool,
    /// Another thread that idles.
    idles: bool,
    /// What it is called is made up.
    is_unnamed: bool,
}

impl Facts {
    fn read(text: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(text).ok()?.strip_prefix("profctl: ")?;
        let idles = text == "a thread that idles";
        let is_unnamed = text.ends_with(" without a name");
        let idle = text == "idle task";
        let mut facts = Self { tid: None, pid: None, idle, idles, is_unnamed };
        let mut words = text.split(' ');
        while let Some(word) = words.next() {
            match word {
                "thread" => facts.tid = words.next().and_then(|id| id.parse().ok()),
                "process" => facts.pid = words.next().and_then(|id| id.parse().ok()),
                _ => {}
            }
        }
        Some(facts)
    }

    /// The CPU, if the thread has one of its own, and the thread.
    fn lane(self, name: String) -> (Option<u32>, ThreadKey) {
        let thread = match (self.idle, self.tid, self.pid) {
            (true, _, _) => {
                let cpu = name.strip_prefix("<idle>/").and_then(|cpu| cpu.parse().ok());
                return (cpu, ThreadKey::Idle);
            }
            (false, Some(tid), Some(pid)) => ThreadKey::Member { pid, tid, name },
            (false, Some(tid), None) => ThreadKey::Tid(tid, name),
            (false, None, _) => ThreadKey::Named(name),
        };
        (None, thread)
    }
}
