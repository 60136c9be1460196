//! The numbers of Linux on 32-bit x86, for programs that run under a BSD's emulation of it.

use super::Run;

/// 32-bit programs. 59 is the native number of execve, under which its return is recorded when a
/// native program turns into a Linux one.
pub(super) static I386: &[Run] = &[
    (1, "exit fork read write open close waitpid creat link unlink execve chdir time mknod chmod"),
    (16, "lchown - - lseek getpid mount umount setuid getuid stime ptrace alarm - pause utime"),
    (33, "access nice - sync kill rename mkdir rmdir dup pipe times - brk setgid getgid signal"),
    (49, "geteuid getegid acct umount2 - ioctl fcntl - setpgid - execve umask chroot ustat dup2"),
    (64, "getppid getpgrp setsid sigaction - - setreuid setregid sigsuspend sigpending"),
    (74, "sethostname setrlimit getrlimit getrusage gettimeofday settimeofday getgroups setgroups"),
    (82, "select symlink - readlink uselib swapon reboot readdir mmap munmap truncate ftruncate"),
    (94, "fchmod fchown getpriority setpriority - statfs fstatfs ioperm socketcall syslog"),
    (104, "setitimer getitimer stat lstat fstat"),
    (114, "wait4 swapoff sysinfo ipc fsync sigreturn clone setdomainname uname modify_ldt"),
    (124, "adjtimex mprotect sigprocmask"),
    (132, "getpgid fchdir - - personality - setfsuid setfsgid _llseek getdents select flock msync"),
    (145, "readv writev getsid fdatasync _sysctl mlock munlock mlockall munlockall sched_setparam"),
    (155, "sched_getparam sched_setscheduler sched_getscheduler sched_yield"),
    (159, "sched_get_priority_max sched_get_priority_min sched_rr_get_interval nanosleep mremap"),
    (164, "setresuid getresuid"),
    (168, "poll - setresgid getresgid prctl rt_sigreturn rt_sigaction rt_sigprocmask"),
    (176, "rt_sigpending rt_sigtimedwait rt_sigqueueinfo rt_sigsuspend pread64 pwrite64 chown"),
    (183, "getcwd capget capset sigaltstack sendfile"),
    (190, "vfork getrlimit mmap2 truncate64 ftruncate64 stat64 lstat64 fstat64 lchown getuid"),
    (200, "getgid geteuid getegid setreuid setregid getgroups setgroups fchown setresuid"),
    (209, "getresuid setresgid getresgid chown setuid setgid setfsuid setfsgid pivot_root mincore"),
    (219, "madvise getdents64 fcntl64"),
    (224, "gettid readahead setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr"),
    (233, "llistxattr flistxattr removexattr lremovexattr fremovexattr tkill sendfile64 futex"),
    (241, "sched_setaffinity sched_getaffinity set_thread_area get_thread_area"),
    (252, "exit_group - epoll_create epoll_ctl epoll_wait - set_tid_address timer_create"),
    (260, "timer_settime timer_gettime timer_getoverrun timer_delete clock_settime clock_gettime"),
    (266, "clock_getres clock_nanosleep statfs64 fstatfs64 tgkill utimes"),
    (295, "openat mkdirat mknodat fchownat futimesat fstatat64 unlinkat renameat linkat symlinkat"),
    (305, "readlinkat fchmodat faccessat pselect6 ppoll unshare set_robust_list get_robust_list"),
];
