//! Which system call a number stands for.
//!
//! Numbers keep their meaning for decades, with few exceptions; those whose meaning changed, and
//! those not listed, are shown as kdump shows unknown numbers: `[n]`.

mod bsd;
mod freebsd;
mod linux;
mod netbsd;

use super::dialect::System;
use crate::kernel_events::syscalls::{self as of_linux, Run, within};

/// Whose numbers per process uses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Abi {
    /// Those of the kernel that wrote the trace.
    Native,
    /// Those of FreeBSD, on another kernel.
    FreeBsd,
    /// Those of Linux on 64-bit x86.
    Linux64,
    /// Those of Linux on 32-bit x86.
    Linux32,
    /// Those of a system without a list here.
    Unlisted,
}

/// How many kinds of [`Abi`] there are.
pub(super) const ABIS: usize = 5;

impl Abi {
    /// The numbers that go with the name of an emulation, on a kernel with registers of `word`
    /// bytes.
    pub(super) fn of_emulation(name: &[u8], word: usize) -> Self {
        match name {
            b"linux" if word == 8 => Self::Linux64,
            b"linux" | b"linux32" => Self::Linux32,
            b"freebsd" => Self::FreeBsd,
            b"native" => Self::Native,
            _ if name.starts_with(b"netbsd") || name.starts_with(b"openbsd") => Self::Native,
            _ if name.starts_with(b"aout") => Self::Native,
            _ => Self::Unlisted,
        }
    }

    /// The numbers that go with FreeBSD's `sv_flags`.
    pub(super) fn of_flags(flags: u32) -> Self {
        const ABI: u32 = 0xff;
        const LINUX: u32 = 3;
        const FREEBSD: u32 = 9;
        const ILP32: u32 = 0x100;
        match flags & ABI {
            LINUX if flags & ILP32 != 0 => Self::Linux32,
            LINUX => Self::Linux64,
            FREEBSD => Self::Native,
            _ => Self::Unlisted,
        }
    }
}

/// The name of a system call. A list that must hide what a later one says of a number has no name
/// for it there, so lists do not overlap where they differ.
pub(super) fn name(system: System, abi: Abi, number: u16) -> Option<&'static str> {
    let lists: &[&[Run]] = match (abi, system) {
        (Abi::Native, System::FreeBsd | System::Bsd44) | (Abi::FreeBsd, _) => {
            &[freebsd::CALLS, bsd::COMMON]
        }
        (Abi::Native, System::NetBsd) => &[netbsd::CALLS, bsd::COMMON],
        (Abi::Native, System::OpenBsd) => &[bsd::OPENBSD],
        (Abi::Native, System::OldOpenBsd) => &[bsd::OLD_OPENBSD, bsd::COMMON],
        (Abi::Native, System::MacOs) => &[bsd::MACOS, bsd::COMMON],
        (Abi::Linux64, _) => &[of_linux::X86_64],
        (Abi::Linux32, _) => &[linux::I386],
        (Abi::Unlisted, _) => &[],
    };
    lists.iter().find_map(|list| within(list, number))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTS: [(&str, &[Run]); 8] = [
        ("common", bsd::COMMON),
        ("openbsd", bsd::OPENBSD),
        ("old openbsd", bsd::OLD_OPENBSD),
        ("macos", bsd::MACOS),
        ("freebsd", freebsd::CALLS),
        ("netbsd", netbsd::CALLS),
        ("linux 64", of_linux::X86_64),
        ("linux 32", linux::I386),
    ];

    #[test]
    fn runs_follow_each_other_and_names_are_names() {
        for (list, runs) in LISTS {
            let mut next = 0;
            for (first, names) in runs {
                assert!(*first >= next, "{list}: the run from {first} overlaps");
                next = first + names.split(' ').count() as u16;
                for name in names.split(' ') {
                    let is_name = name == "-"
                        || (!name.is_empty()
                            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_'));
                    assert!(is_name, "{list}: `{name}` in the run from {first}");
                }
            }
        }
    }

    /// Numbers at the ends of runs, where a name too many or too few would show.
    #[test]
    fn numbers_that_are_well_known() {
        use System::{Bsd44, FreeBsd, MacOs, NetBsd, OldOpenBsd, OpenBsd};
        for (system, number, expected) in [
            (FreeBsd, 1, "exit"),
            (FreeBsd, 59, "execve"),
            (FreeBsd, 147, "setsid"),
            (FreeBsd, 204, "munlock"),
            (FreeBsd, 209, "poll"),
            (FreeBsd, 240, "nanosleep"),
            (FreeBsd, 253, "issetugid"),
            (FreeBsd, 326, "__getcwd"),
            (FreeBsd, 335, "utrace"),
            (FreeBsd, 363, "kevent"),
            (FreeBsd, 417, "sigreturn"),
            (FreeBsd, 454, "_umtx_op"),
            (FreeBsd, 477, "mmap"),
            (FreeBsd, 499, "openat"),
            (FreeBsd, 533, "cap_rights_limit"),
            (FreeBsd, 551, "fstat"),
            (FreeBsd, 563, "getrandom"),
            (FreeBsd, 575, "close_range"),
            (FreeBsd, 591, "setcred"),
            (Bsd44, 128, "rename"),
            (NetBsd, 7, "wait4"),
            (NetBsd, 204, "munlock"),
            (NetBsd, 282, "__vfork14"),
            (NetBsd, 306, "utrace"),
            (NetBsd, 325, "_lwp_ctl"),
            (NetBsd, 344, "kqueue"),
            (NetBsd, 427, "__clock_gettime50"),
            (NetBsd, 439, "__stat50"),
            (NetBsd, 468, "openat"),
            (NetBsd, 482, "clock_getcpuclockid2"),
            (OpenBsd, 11, "wait4"),
            (OpenBsd, 83, "futex"),
            (OpenBsd, 87, "clock_gettime"),
            (OpenBsd, 108, "pledge"),
            (OpenBsd, 197, "mmap"),
            (OpenBsd, 209, "utrace"),
            (OpenBsd, 252, "poll"),
            (OpenBsd, 321, "openat"),
            (OpenBsd, 329, "__set_tcb"),
            (OldOpenBsd, 7, "wait4"),
            (OldOpenBsd, 253, "issetugid"),
            (MacOs, 153, "pread"),
            (MacOs, 230, "poll"),
            (MacOs, 197, "mmap"),
            (MacOs, 363, "kevent"),
        ] {
            assert_eq!(name(system, Abi::Native, number), Some(expected), "{system:?} {number}");
        }
        for (number, expected) in
            [(0, "read"), (59, "execve"), (231, "exit_group"), (257, "openat"), (334, "rseq")]
        {
            assert_eq!(name(FreeBsd, Abi::Linux64, number), Some(expected), "{number}");
        }
        for (number, expected) in
            [(1, "exit"), (11, "execve"), (192, "mmap2"), (252, "exit_group"), (295, "openat")]
        {
            assert_eq!(name(FreeBsd, Abi::Linux32, number), Some(expected), "{number}");
        }
        assert_eq!(name(FreeBsd, Abi::Native, 600), None);
        assert_eq!(name(OpenBsd, Abi::Native, 0), None);
        assert_eq!(name(FreeBsd, Abi::Unlisted, 1), None);
    }

    #[test]
    fn tracing_itself_and_the_calls_of_every_program_are_known_everywhere() {
        use System::{Bsd44, FreeBsd, MacOs, NetBsd, OldOpenBsd, OpenBsd};
        for system in [FreeBsd, NetBsd, OpenBsd, OldOpenBsd, Bsd44, MacOs] {
            for (number, expected) in [
                (1, "exit"),
                (2, "fork"),
                (3, "read"),
                (4, "write"),
                (5, "open"),
                (6, "close"),
                (20, "getpid"),
                (45, "ktrace"),
                (54, "ioctl"),
                (59, "execve"),
                (66, "vfork"),
                (73, "munmap"),
                (92, "fcntl"),
                (97, "socket"),
                (137, "rmdir"),
            ] {
                assert_eq!(name(system, Abi::Native, number), Some(expected), "{system:?}");
            }
        }
    }
}
