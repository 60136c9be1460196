//! Which system call a number stands for on Linux: `raw_syscalls` events give numbers only.

/// The number of the first name, then names with one space between them; `-` stands for a number
/// without a name.
pub type Run = (u16, &'static str);

/// Whose numbers a kernel uses for its native programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Machine {
    /// 64-bit x86.
    #[default]
    X86,
    /// The list that 64-bit ARM, RISC-V and LoongArch share.
    Generic,
    /// A machine without a list here: numbers stay numbers.
    Unlisted,
}

impl Machine {
    /// The machine that `uname -m`, or the release of a kernel built for it, names. Nothing if the
    /// text names none.
    pub fn named(text: &str) -> Option<Self> {
        let has = |names: &[&str]| names.iter().any(|name| text.contains(name));
        if has(&["x86_64", "x86-64", "amd64"]) {
            Some(Self::X86)
        } else if has(&["aarch64", "arm64", "riscv64", "loongarch64"]) {
            Some(Self::Generic)
        } else if has(&["i386", "i486", "i586", "i686", "armv", "ppc", "s390", "mips", "sparc"]) {
            Some(Self::Unlisted)
        } else {
            None
        }
    }

    /// The machine that the user names.
    pub fn chosen(dialect: Option<&str>) -> Result<Option<Self>, String> {
        let Some(name) = dialect else { return Ok(None) };
        Self::named(name).map(Some).ok_or_else(|| {
            format!("no machine `{name}` for --dialect, expected x86_64, arm64 or riscv64")
        })
    }

    /// The name of a system call.
    pub fn name(self, number: u64) -> Option<&'static str> {
        let list = match self {
            Self::X86 => X86_64,
            Self::Generic => GENERIC,
            Self::Unlisted => return None,
        };
        within(list, u16::try_from(number).ok()?)
    }
}

/// The name of a number in a list.
pub fn within(list: &[Run], number: u16) -> Option<&'static str> {
    let run = list.partition_point(|(first, _)| *first <= number).checked_sub(1)?;
    let (first, names) = list[run];
    names.split(' ').nth(usize::from(number - first)).filter(|name| *name != "-")
}

/// Whether Linux has a system call of that name (on 64-bit x86).
pub fn is_linux_syscall(name: &[u8]) -> bool {
    let mut names = X86_64.iter().flat_map(|(_, names)| names.split(' '));
    names.any(|known| known.as_bytes() == name)
}

/// 64-bit x86 (arch/x86/entry/syscalls/syscall_64.tbl).
pub static X86_64: &[Run] = &[
    (0, "read write open close stat fstat lstat poll lseek mmap mprotect munmap brk"),
    (13, "rt_sigaction rt_sigprocmask rt_sigreturn ioctl pread64 pwrite64 readv writev access"),
    (22, "pipe select sched_yield mremap msync mincore madvise shmget shmat shmctl dup dup2"),
    (34, "pause nanosleep getitimer alarm setitimer getpid sendfile socket connect accept"),
    (44, "sendto recvfrom sendmsg recvmsg shutdown bind listen getsockname getpeername"),
    (53, "socketpair setsockopt getsockopt clone fork vfork execve exit wait4 kill uname"),
    (64, "semget semop semctl shmdt msgget msgsnd msgrcv msgctl fcntl flock fsync fdatasync"),
    (76, "truncate ftruncate getdents getcwd chdir fchdir rename mkdir rmdir creat link unlink"),
    (88, "symlink readlink chmod fchmod chown fchown lchown umask gettimeofday getrlimit"),
    (98, "getrusage sysinfo times ptrace getuid syslog getgid setuid setgid geteuid getegid"),
    (109, "setpgid getppid getpgrp setsid setreuid setregid getgroups setgroups setresuid"),
    (118, "getresuid setresgid getresgid getpgid setfsuid setfsgid getsid capget capset"),
    (127, "rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend sigaltstack utime mknod"),
    (134, "uselib personality ustat statfs fstatfs sysfs getpriority setpriority sched_setparam"),
    (143, "sched_getparam sched_setscheduler sched_getscheduler sched_get_priority_max"),
    (147, "sched_get_priority_min sched_rr_get_interval mlock munlock mlockall munlockall"),
    (153, "vhangup modify_ldt pivot_root _sysctl prctl arch_prctl adjtimex setrlimit chroot"),
    (162, "sync acct settimeofday mount umount2 swapon swapoff reboot sethostname setdomainname"),
    (172, "iopl ioperm create_module init_module delete_module get_kernel_syms query_module"),
    (179, "quotactl nfsservctl getpmsg putpmsg afs_syscall tuxcall security gettid readahead"),
    (188, "setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr"),
    (196, "flistxattr removexattr lremovexattr fremovexattr tkill time futex sched_setaffinity"),
    (204, "sched_getaffinity set_thread_area io_setup io_destroy io_getevents io_submit"),
    (210, "io_cancel get_thread_area lookup_dcookie epoll_create epoll_ctl_old epoll_wait_old"),
    (216, "remap_file_pages getdents64 set_tid_address restart_syscall semtimedop fadvise64"),
    (222, "timer_create timer_settime timer_gettime timer_getoverrun timer_delete clock_settime"),
    (228, "clock_gettime clock_getres clock_nanosleep exit_group epoll_wait epoll_ctl tgkill"),
    (235, "utimes vserver mbind set_mempolicy get_mempolicy mq_open mq_unlink mq_timedsend"),
    (243, "mq_timedreceive mq_notify mq_getsetattr kexec_load waitid add_key request_key keyctl"),
    (251, "ioprio_set ioprio_get inotify_init inotify_add_watch inotify_rm_watch migrate_pages"),
    (257, "openat mkdirat mknodat fchownat futimesat newfstatat unlinkat renameat linkat"),
    (266, "symlinkat readlinkat fchmodat faccessat pselect6 ppoll unshare set_robust_list"),
    (274, "get_robust_list splice tee sync_file_range vmsplice move_pages utimensat epoll_pwait"),
    (282, "signalfd timerfd_create eventfd fallocate timerfd_settime timerfd_gettime accept4"),
    (289, "signalfd4 eventfd2 epoll_create1 dup3 pipe2 inotify_init1 preadv pwritev"),
    (297, "rt_tgsigqueueinfo perf_event_open recvmmsg fanotify_init fanotify_mark prlimit64"),
    (303, "name_to_handle_at open_by_handle_at clock_adjtime syncfs sendmmsg setns getcpu"),
    (310, "process_vm_readv process_vm_writev kcmp finit_module sched_setattr sched_getattr"),
    (316, "renameat2 seccomp getrandom memfd_create kexec_file_load bpf execveat userfaultfd"),
    (324, "membarrier mlock2 copy_file_range preadv2 pwritev2 pkey_mprotect pkey_alloc"),
    (331, "pkey_free statx io_pgetevents rseq"),
    (424, "pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree"),
    (429, "move_mount fsopen fsconfig fsmount fspick pidfd_open clone3 close_range openat2"),
    (438, "pidfd_getfd faccessat2 process_madvise epoll_pwait2 mount_setattr quotactl_fd"),
    (444, "landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret"),
    (448, "process_mrelease futex_waitv set_mempolicy_home_node cachestat fchmodat2"),
    (453, "map_shadow_stack futex_wake futex_wait futex_requeue statmount listmount"),
    (459, "lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal setxattrat getxattrat"),
    (465, "listxattrat removexattrat open_tree_attr file_getattr file_setattr"),
];

/// The generic list (include/uapi/asm-generic/unistd.h).
static GENERIC: &[Run] = &[
    (0, "io_setup io_destroy io_submit io_cancel io_getevents setxattr lsetxattr fsetxattr"),
    (8, "getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr removexattr"),
    (15, "lremovexattr fremovexattr getcwd lookup_dcookie eventfd2 epoll_create1 epoll_ctl"),
    (22, "epoll_pwait dup dup3 fcntl inotify_init1 inotify_add_watch inotify_rm_watch ioctl"),
    (30, "ioprio_set ioprio_get flock mknodat mkdirat unlinkat symlinkat linkat renameat"),
    (39, "umount2 mount pivot_root nfsservctl statfs fstatfs truncate ftruncate fallocate"),
    (48, "faccessat chdir fchdir chroot fchmod fchmodat fchownat fchown openat close vhangup"),
    (59, "pipe2 quotactl getdents64 lseek read write readv writev pread64 pwrite64 preadv"),
    (70, "pwritev sendfile pselect6 ppoll signalfd4 vmsplice splice tee readlinkat fstatat"),
    (80, "fstat sync fsync fdatasync sync_file_range2 timerfd_create timerfd_settime"),
    (87, "timerfd_gettime utimensat acct capget capset personality exit exit_group waitid"),
    (96, "set_tid_address unshare futex set_robust_list get_robust_list nanosleep getitimer"),
    (103, "setitimer kexec_load init_module delete_module timer_create timer_gettime"),
    (109, "timer_getoverrun timer_settime timer_delete clock_settime clock_gettime clock_getres"),
    (115, "clock_nanosleep syslog ptrace sched_setparam sched_setscheduler sched_getscheduler"),
    (121, "sched_getparam sched_setaffinity sched_getaffinity sched_yield"),
    (125, "sched_get_priority_max sched_get_priority_min sched_rr_get_interval restart_syscall"),
    (129, "kill tkill tgkill sigaltstack rt_sigsuspend rt_sigaction rt_sigprocmask"),
    (136, "rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigreturn setpriority getpriority"),
    (142, "reboot setregid setgid setreuid setuid setresuid getresuid setresgid getresgid"),
    (151, "setfsuid setfsgid times setpgid getpgid getsid setsid getgroups setgroups uname"),
    (161, "sethostname setdomainname getrlimit setrlimit getrusage umask prctl getcpu"),
    (169, "gettimeofday settimeofday adjtimex getpid getppid getuid geteuid getgid getegid"),
    (178, "gettid sysinfo mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify"),
    (185, "mq_getsetattr msgget msgctl msgrcv msgsnd semget semctl semtimedop semop shmget"),
    (195, "shmctl shmat shmdt socket socketpair bind listen accept connect getsockname"),
    (205, "getpeername sendto recvfrom setsockopt getsockopt shutdown sendmsg recvmsg readahead"),
    (214, "brk munmap mremap add_key request_key keyctl clone execve mmap fadvise64 swapon"),
    (225, "swapoff mprotect msync mlock munlock mlockall munlockall mincore madvise"),
    (234, "remap_file_pages mbind get_mempolicy set_mempolicy migrate_pages move_pages"),
    (240, "rt_tgsigqueueinfo perf_event_open accept4 recvmmsg"),
    (260, "wait4 prlimit64 fanotify_init fanotify_mark name_to_handle_at open_by_handle_at"),
    (266, "clock_adjtime syncfs setns sendmmsg process_vm_readv process_vm_writev kcmp"),
    (273, "finit_module sched_setattr sched_getattr renameat2 seccomp getrandom memfd_create"),
    (280, "bpf execveat userfaultfd membarrier mlock2 copy_file_range preadv2 pwritev2"),
    (288, "pkey_mprotect pkey_alloc pkey_free statx io_pgetevents rseq kexec_file_load"),
    (403, "clock_gettime64 clock_settime64 clock_adjtime64 clock_getres_time64"),
    (407, "clock_nanosleep_time64 timer_gettime64 timer_settime64 timerfd_gettime64"),
    (411, "timerfd_settime64 utimensat_time64 pselect6_time64 ppoll_time64"),
    (416, "io_pgetevents_time64 recvmmsg_time64 mq_timedsend_time64 mq_timedreceive_time64"),
    (420, "semtimedop_time64 rt_sigtimedwait_time64 futex_time64 sched_rr_get_interval_time64"),
    (424, "pidfd_send_signal io_uring_setup io_uring_enter io_uring_register open_tree"),
    (429, "move_mount fsopen fsconfig fsmount fspick pidfd_open clone3 close_range openat2"),
    (438, "pidfd_getfd faccessat2 process_madvise epoll_pwait2 mount_setattr quotactl_fd"),
    (444, "landlock_create_ruleset landlock_add_rule landlock_restrict_self memfd_secret"),
    (448, "process_mrelease futex_waitv set_mempolicy_home_node cachestat fchmodat2"),
    (453, "map_shadow_stack futex_wake futex_wait futex_requeue statmount listmount"),
    (459, "lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal setxattrat getxattrat"),
    (465, "listxattrat removexattrat open_tree_attr file_getattr file_setattr"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_follow_each_other() {
        for list in [X86_64, GENERIC] {
            let mut next = 0;
            for (first, names) in list {
                assert!(*first >= next, "the run from {first} overlaps");
                next = first + names.split(' ').count() as u16;
            }
        }
    }

    #[test]
    fn numbers_that_are_well_known() {
        let x86 = [(0, "read"), (1, "write"), (59, "execve"), (231, "exit_group"), (257, "openat")];
        let more = [(334, "rseq"), (424, "pidfd_send_signal"), (435, "clone3"), (451, "cachestat")];
        for (number, name) in x86.into_iter().chain(more) {
            assert_eq!(Machine::X86.name(number), Some(name));
        }
        for (number, name) in [(63, "read"), (64, "write"), (94, "exit_group"), (221, "execve")] {
            assert_eq!(Machine::Generic.name(number), Some(name));
        }
        assert_eq!(Machine::X86.name(400), None);
        assert_eq!(Machine::X86.name(u64::MAX), None);
        assert_eq!(Machine::Unlisted.name(1), None);
    }

    #[test]
    fn machines_by_name() {
        for (text, machine) in [
            ("Linux (none) 6.1.0-47-amd64 x86_64", Some(Machine::X86)),
            ("6.1.0-56-cloud-arm64", Some(Machine::Generic)),
            ("Linux box 5.10.0 armv7l", Some(Machine::Unlisted)),
            ("6.1.0", None),
        ] {
            assert_eq!(Machine::named(text), machine, "{text}");
        }
    }
}
