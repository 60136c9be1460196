//! What this worker has met: system calls by number, threads by the bytes of their header. A reader
//! always fills the same emitter, so its references stay valid.

use profctl_model::{Func, FuncKind};

use super::dialect::System;
use super::header::Comm;
use super::payload;
use super::syscalls::{self, ABIS, Abi};
use crate::emit::{Emitter, LaneKey, LaneRef, NameRef, ThreadKey};

/// Numbers from here on share one name: no kernel has as many calls, and garbage must not become
/// a name each.
const NUMBERS_MAX: u32 = 4096;
/// Signals from here on share one name.
const SIGNALS_MAX: u32 = 256;
/// Threads that are remembered at a time; a power of two.
const THREADS: usize = 64;
/// The module of what a program says of itself, which keeps a function `read` apart from the
/// system call.
const OF_THE_PROGRAM: &str = "user";

#[derive(Default)]
pub(super) struct Interned {
    /// By [`Abi`] and number.
    calls: [Vec<Known>; ABIS],
    fault: Option<NameRef>,
    path: Option<NameRef>,
    user: Option<NameRef>,
    threads: Vec<Option<Thread>>,
    /// The spelling of a function, put together without an allocation.
    spelling: Vec<u8>,
}

/// What is known of a system call.
#[derive(Clone, Copy, Default)]
enum Known {
    /// It was not met yet.
    #[default]
    Nothing,
    /// Its name.
    Name(NameRef),
    /// It is omitted.
    LeftOut,
}

/// A thread as a header has it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Thread {
    number: u64,
    cpu: Option<u32>,
    comm: Comm,
    lane: LaneRef,
}

impl Interned {
    /// The name of a system call, or nothing if its calls are omitted: those of utrace(2) would
    /// enclose the very function that they announce.
    #[inline]
    pub(super) fn call(
        &mut self,
        system: System,
        abi: Abi,
        number: u32,
        out: &mut Emitter,
    ) -> Option<NameRef> {
        match self.calls[abi as usize].get(number as usize) {
            Some(Known::Name(name)) => Some(*name),
            Some(Known::LeftOut) => None,
            Some(Known::Nothing) | None => self.meet(system, abi, number, out),
        }
    }

    #[cold]
    fn meet(
        &mut self,
        system: System,
        abi: Abi,
        number: u32,
        out: &mut Emitter,
    ) -> Option<NameRef> {
        if number >= NUMBERS_MAX {
            return Some(out.func("[out of range]", FuncKind::Syscall));
        }
        let listed = syscalls::name(system, abi, number as u16);
        let known = match listed {
            Some("utrace") => Known::LeftOut,
            Some(name) => Known::Name(out.func(name, FuncKind::Syscall)),
            None => Known::Name(out.func(&format!("[{number}]"), FuncKind::Syscall)),
        };
        let calls = &mut self.calls[abi as usize];
        if calls.len() <= number as usize {
            calls.resize(number as usize + 1, Known::Nothing);
        }
        calls[number as usize] = known;
        match known {
            Known::Name(name) => Some(name),
            Known::LeftOut | Known::Nothing => None,
        }
    }

    /// A page fault, from the trap to the page.
    #[inline]
    pub(super) fn fault(&mut self, out: &mut Emitter) -> NameRef {
        *self.fault.get_or_insert_with(|| out.func("page_fault", FuncKind::Function))
    }

    /// The look-up of a path, whichever it is.
    #[inline]
    pub(super) fn path(&mut self, out: &mut Emitter) -> NameRef {
        *self.path.get_or_insert_with(|| out.func("namei", FuncKind::Mark))
    }

    /// What a program said that announces no function.
    #[inline]
    pub(super) fn user(&mut self, out: &mut Emitter) -> NameRef {
        *self.user.get_or_insert_with(|| of_the_program(b"\0\0utrace", FuncKind::Mark, out))
    }

    /// A function of the program.
    pub(super) fn function(&mut self, name: &[u8], out: &mut Emitter) -> NameRef {
        self.spelling.clear();
        self.spelling.push(0);
        self.spelling.extend_from_slice(name);
        of_the_program(&self.spelling, FuncKind::Function, out)
    }

    /// The lane of a thread.
    #[inline]
    pub(super) fn lane(
        &mut self,
        system: System,
        (pid, thread): (u32, Option<i64>),
        cpu: Option<u32>,
        comm: &Comm,
        out: &mut Emitter,
    ) -> LaneRef {
        let number = thread_number(system, pid, thread);
        let slot = number as usize & (THREADS - 1);
        if let Some(Some(known)) = self.threads.get(slot)
            && known.number == number
            && known.cpu == cpu
            && known.comm == *comm
        {
            return known.lane;
        }
        self.meet_thread(slot, number, cpu, comm, out)
    }

    #[cold]
    fn meet_thread(
        &mut self,
        slot: usize,
        number: u64,
        cpu: Option<u32>,
        comm: &Comm,
        out: &mut Emitter,
    ) -> LaneRef {
        let end = comm.iter().position(|byte| *byte == 0).unwrap_or(comm.len());
        // Until it executes the program that is to be traced, a thread is ktrace itself, which is
        // not what it should be known by.
        let name = match &comm[..end] {
            b"ktrace" => String::new(),
            name => String::from_utf8_lossy(name).into_owned(),
        };
        let lane = out.lane(LaneKey { cpu, thread: thread_key(number, name) });
        self.threads.resize(THREADS, None);
        self.threads[slot] = Some(Thread { number, cpu, comm: *comm, lane });
        lane
    }
}

/// A signal.
#[cold]
pub(super) fn signal(number: u32, out: &mut Emitter) -> NameRef {
    match payload::signal(number) {
        Some(name) => out.func(name, FuncKind::Mark),
        None if number < SIGNALS_MAX => out.func(&format!("SIG{number}"), FuncKind::Mark),
        None => out.func("SIG", FuncKind::Mark),
    }
}

/// A CPU of which is not said who runs there, or no CPU at all.
pub(super) fn nobody(cpu: Option<u32>, out: &mut Emitter) -> LaneRef {
    out.lane(LaneKey { cpu, thread: ThreadKey::Unstated })
}

/// The NUL at the start of `spelling` keeps it apart from the names of system calls.
fn of_the_program(spelling: &[u8], kind: FuncKind, out: &mut Emitter) -> NameRef {
    out.name(spelling, |spelling| {
        let name =
            spelling.iter().position(|byte| *byte != 0).map_or(&[][..], |at| &spelling[at..]);
        Func {
            name: String::from_utf8_lossy(name).into_owned(),
            module: Some(OF_THE_PROGRAM.into()),
            kind,
            ..Func::default()
        }
    })
}

/// A process before the number of one of its threads; above every 32-bit number.
const BEHIND_PID: u64 = 1 << 32;
/// Numbers of threads that were given out in their process, not in the system, are below this.
const OF_A_PROCESS: u32 = 1_000;

/// The number by which a thread is known. FreeBSD, OpenBSD and NetBSD from 10 on number the threads
/// of the whole system; before, NetBSD counted from 1 in every process. Where there is no number,
/// or what cannot be one, the process has one thread.
#[inline]
fn thread_number(system: System, pid: u32, thread: Option<i64>) -> u64 {
    let Some(thread) = thread.and_then(|thread| u32::try_from(thread).ok()) else {
        return u64::from(pid);
    };
    match thread {
        0 | 0x8000_0000.. => u64::from(pid),
        1 if system == System::NetBsd => u64::from(pid),
        2..OF_A_PROCESS if system == System::NetBsd && thread < pid => {
            u64::from(pid) * BEHIND_PID + u64::from(thread)
        }
        thread => u64::from(thread),
    }
}

/// Who a number stands for.
fn thread_key(number: u64, name: String) -> ThreadKey {
    match (number / BEHIND_PID, number % BEHIND_PID) {
        (0, number) => ThreadKey::Tid(number, name),
        (pid, thread) => ThreadKey::Named(format!("{pid}/{thread}")),
    }
}
