//! What all BSDs have from 4.3 and 4.4, and the systems that added little to it in the days of the
//! traces read here. Compatibility entries have their plain name.

use super::Run;

/// The numbers that FreeBSD, NetBSD, old OpenBSD and macOS share.
pub(super) static COMMON: &[Run] = &[
    (0, "syscall exit fork read write open close wait4 creat link unlink - chdir fchdir mknod"),
    (15, "chmod chown break getfsstat lseek getpid mount unmount setuid getuid geteuid ptrace"),
    (27, "recvmsg sendmsg recvfrom accept getpeername getsockname access chflags fchflags sync"),
    (37, "kill stat getppid lstat dup pipe getegid profil ktrace sigaction getgid sigprocmask"),
    (49, "getlogin setlogin acct sigpending sigaltstack ioctl reboot revoke symlink readlink"),
    (59, "execve umask chroot fstat getkerninfo getpagesize msync vfork - - sbrk sstk mmap"),
    (72, "vadvise munmap mprotect madvise - - mincore getgroups setgroups getpgrp setpgid"),
    (83, "setitimer wait swapon getitimer gethostname sethostname getdtablesize dup2 - fcntl"),
    (93, "select - fsync setpriority socket connect accept getpriority send recv sigreturn bind"),
    (105, "setsockopt listen - sigvec sigblock sigsetmask sigsuspend sigstack recvmsg sendmsg"),
    (116, "gettimeofday getrusage getsockopt - readv writev settimeofday fchown fchmod recvfrom"),
    (126, "setreuid setregid rename truncate ftruncate flock mkfifo sendto shutdown socketpair"),
    (136, "mkdir rmdir utimes - adjtime getpeername gethostid sethostid getrlimit setrlimit"),
    (146, "killpg setsid quotactl quota getsockname"),
    (155, "nfssvc getdirentries statfs fstatfs - - getfh"),
    (181, "setgid setegid seteuid - - - - stat fstat lstat pathconf fpathconf - getrlimit"),
    (195, "setrlimit getdirentries mmap __syscall lseek truncate ftruncate __sysctl mlock munlock"),
];

/// OpenBSD since 5.5, which renumbered much. 49 was getlogin until it became mmap; the list says
/// what a program calls more often.
pub(super) static OPENBSD: &[Run] = &[
    (1, "exit fork read write open close getentropy __tfork link unlink wait4 chdir fchdir mknod"),
    (15, "chmod chown break getdtablecount getrusage getpid mount unmount setuid getuid geteuid"),
    (26, "ptrace recvmsg sendmsg recvfrom accept getpeername getsockname access chflags fchflags"),
    (36, "sync - stat getppid lstat dup fstatat getegid profil ktrace sigaction getgid"),
    (48, "sigprocmask mmap setlogin acct sigpending fstat ioctl reboot revoke symlink readlink"),
    (59, "execve umask chroot getfsstat statfs fstatfs fhstatfs vfork gettimeofday settimeofday"),
    (69, "setitimer getitimer select kevent munmap mprotect madvise utimes futimes - getgroups"),
    (80, "setgroups getpgrp setpgid futex utimensat futimens kbind clock_gettime clock_settime"),
    (89, "clock_getres dup2 nanosleep fcntl accept4 __thrsleep fsync setpriority socket connect"),
    (99, "getdents getpriority pipe2 dup3 sigreturn bind setsockopt listen chflagsat pledge ppoll"),
    (110, "pselect sigsuspend sendsyslog - unveil __realpath recvmmsg sendmmsg getsockopt thrkill"),
    (120, "readv writev kill fchown fchmod - setreuid setregid rename - - flock mkfifo sendto"),
    (134, "shutdown socketpair mkdir rmdir - - adjtime getlogin_r getthrname setthrname"),
    (147, "setsid quotactl - ypconnect - - - - nfssvc - - pinsyscalls mimmutable waitid getfh"),
    (164, "__tmpfd sysarch lseek truncate ftruncate pread pwrite preadv pwritev pread pwrite"),
    (181, "setgid setegid seteuid"),
    (190, "pathconfat pathconf fpathconf swapctl getrlimit setrlimit - mmap __syscall lseek"),
    (200, "truncate ftruncate sysctl mlock munlock - - getpgid - utrace"),
    (221, "semget - - - msgget msgsnd msgrcv shmat - shmdt"),
    (250, "minherit - poll issetugid lchown getsid msync"),
    (263, "pipe fhopen - - preadv pwritev kqueue kqueue1 mlockall munlockall"),
    (281, "getresuid setresuid getresgid setresgid - mquery closefrom sigaltstack shmget semop"),
    (294, "fhstat __semctl shmctl msgctl sched_yield getthrid - __thrwakeup __threxit"),
    (303, "__thrsigdivert __getcwd adjfreq - - - - setrtable getrtable - faccessat fchmodat"),
    (315, "fchownat - linkat mkdirat mkfifoat mknodat openat readlinkat renameat symlinkat"),
    (325, "unlinkat"),
    (329, "__set_tcb __get_tcb"),
];

/// What OpenBSD before 5.5 has besides the common numbers.
pub(super) static OLD_OPENBSD: &[Run] = &[
    (173, "pread pwrite"),
    (206, "futimes getpgid"),
    (221, "semget - - - msgget msgsnd msgrcv shmat - shmdt"),
    (232, "clock_gettime clock_settime clock_getres"),
    (240, "nanosleep"),
    (250, "minherit rfork poll issetugid lchown getsid msync"),
    (263, "pipe fhopen - - preadv pwritev kqueue kevent mlockall munlockall"),
    (281, "getresuid setresuid getresgid setresgid - mquery closefrom sigaltstack shmget semop"),
];

/// What macOS 10.0 to 10.4 has besides the common numbers.
pub(super) static MACOS: &[Run] = &[
    (139, "futimes"),
    (151, "getpgid - pread pwrite"),
    (159, "unmount"),
    (165, "quotactl - mount"),
    (180, "kdebug_trace"),
    (184, "sigreturn"),
    (205, "undelete"),
    (220, "getattrlist setattrlist getdirentriesattr exchangedata - searchfs delete copyfile"),
    (230, "poll watchevent waitevent modwatch getxattr fgetxattr setxattr fsetxattr removexattr"),
    (239, "fremovexattr listxattr flistxattr fsctl initgroups"),
    (250, "minherit semsys msgsys shmsys semctl semget semop - msgctl msgget msgsnd msgrcv shmat"),
    (263, "shmctl shmdt shmget shm_open shm_unlink sem_open sem_close sem_unlink sem_wait"),
    (272, "sem_trywait sem_post sem_getvalue"),
    (310, "getsid"),
    (327, "issetugid __pthread_kill"),
    (331, "__disable_threadsignal __pthread_markcancel __pthread_canceled __semwait_signal utrace"),
    (362, "kqueue kevent"),
];
