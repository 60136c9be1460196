//! Who runs where: lanes of the input resolved to threads and CPUs of the trace.

use profctl_model::hash::FastSet;
use profctl_model::{CpuId, Names, Thread, ThreadId};

use crate::emit::{LaneKey, ThreadKey};
use crate::identity::{Identity, PerThread};

/// A lane in the ids of the trace. No thread: the thread that runs on the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lane {
    pub(super) cpu: Option<CpuId>,
    pub(super) thread: Option<ThreadId>,
}

#[derive(Debug, Default)]
pub(super) struct Lanes {
    threads: PerThread<ThreadId>,
    /// Threads that a record of its own named: names beside other records do not replace that.
    named: FastSet<ThreadId>,
    /// Who runs on each CPU; row 0 is "no CPU".
    running: Vec<Option<Running>>,
}

#[derive(Clone, Copy, Debug)]
struct Running {
    thread: ThreadId,
    /// Whether nothing is known of the thread but its CPU.
    anonymous: bool,
}

/// What Linux prints for a task whose name it has forgotten.
const FORGOTTEN: &str = "<...>";

impl Lanes {
    pub(super) fn resolve(&mut self, key: &LaneKey, names: &mut Names) -> Lane {
        let cpu = key.cpu.map(|number| names.cpu(number));
        let Some((identity, thread)) = describe(key) else { return Lane { cpu, thread: None } };
        let id = self.threads.get_or_insert_with(identity, || names.threads.push(thread.clone()));
        let known = &mut names.threads[id];
        known.pid = known.pid.or(thread.pid);
        learn_name(known, &thread.name, self.named.contains(&id));
        Lane { cpu, thread: Some(id) }
    }

    /// See [`PerThread::share`].
    pub(super) fn share(&mut self, tid: u64) {
        self.threads.share(tid);
    }

    /// The name that `thread` has now was stated for itself.
    pub(super) fn named(&mut self, thread: ThreadId) {
        self.named.insert(thread);
    }

    /// From here on `lane.thread` runs on `lane.cpu`, where `before` ran.
    pub(super) fn runs_now(&mut self, lane: Lane, before: Option<&LaneKey>, names: &mut Names) {
        let Some(thread) = lane.thread else { return };
        // The first switch on a CPU says who ran there until now without having been named.
        if let Some((identity, described)) = before.and_then(describe)
            && let Some(Running { thread: unnamed, anonymous: true }) = *self.row(lane.cpu)
            && !self.threads.contains(&identity)
        {
            names.threads[unnamed] = described;
            self.threads.insert(identity, unnamed);
        }
        *self.row(lane.cpu) = Some(Running { thread, anonymous: false });
    }

    /// Who runs on `cpu`.
    #[inline]
    pub(super) fn runs_on(&mut self, cpu: Option<CpuId>, names: &mut Names) -> ThreadId {
        let row = cpu.map_or(0, |cpu| cpu.index() + 1);
        match self.running.get(row) {
            Some(Some(running)) => running.thread,
            _ => self.unnamed(cpu, names),
        }
    }

    #[cold]
    fn unnamed(&mut self, cpu: Option<CpuId>, names: &mut Names) -> ThreadId {
        let name = cpu.map_or("all".into(), |cpu| format!("cpu{}", names.cpus[cpu]));
        let thread = names.threads.push(Thread { name, ..Thread::default() });
        *self.row(cpu) = Some(Running { thread, anonymous: true });
        thread
    }

    fn row(&mut self, cpu: Option<CpuId>) -> &mut Option<Running> {
        let row = cpu.map_or(0, |cpu| cpu.index() + 1);
        if row >= self.running.len() {
            self.running.resize(row + 1, None);
        }
        &mut self.running[row]
    }
}

/// What a key says of a thread, if it names one.
fn describe(key: &LaneKey) -> Option<(Identity, Thread)> {
    let thread = Thread::default();
    let thread = match &key.thread {
        ThreadKey::Unstated => return None,
        ThreadKey::Tid(tid, name) => Thread { name: name.clone(), tid: Some(*tid), ..thread },
        ThreadKey::Member { pid, tid, name } => {
            Thread { name: name.clone(), tid: Some(*tid), pid: Some(*pid), ..thread }
        }
        ThreadKey::Idle => {
            let name = key.cpu.map_or("<idle>".into(), |number| format!("<idle>/{number}"));
            Thread { name, tid: Some(0), idle: true, ..thread }
        }
        ThreadKey::Named(name) => Thread { name: name.clone(), ..thread },
    };
    Some((Identity::of(key), thread))
}

/// Takes the longer of two spellings of one name: recorders truncate or omit them. Another name is
/// the newer one, unless the thread had it before (several workers may meet it again) or its own
/// was `stated`.
fn learn_name(thread: &mut Thread, other: &str, stated: bool) {
    let is_forgotten = |name: &str| name.is_empty() || name == FORGOTTEN;
    let Thread { name, former_names, .. } = thread;
    if is_forgotten(other) || name.starts_with(other) {
        return;
    }
    if is_forgotten(name) || other.starts_with(&**name) {
        other.clone_into(name);
    } else if !former_names.iter().any(|former| former.starts_with(other)) {
        let older =
            if stated { other.to_owned() } else { std::mem::replace(name, other.to_owned()) };
        former_names.push(older);
    }
}
