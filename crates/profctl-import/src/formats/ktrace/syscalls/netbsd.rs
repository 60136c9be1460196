//! NetBSD's own numbers. A call whose arguments changed has a new number and a name with the
//! release in which they did.

use super::Run;

/// What NetBSD has besides the numbers that all BSDs share.
pub(super) static CALLS: &[Run] = &[
    (162, "getdomainname setdomainname uname sysarch"),
    (169, "semsys msgsys shmsys - pread pwrite"),
    (176, "ntp_adjtime"),
    (205, "undelete __futimes50 getpgid reboot poll"),
    (221, "semget semop semconfig - msgget msgsnd msgrcv shmat - shmdt shmget clock_gettime"),
    (233, "clock_settime clock_getres timer_create timer_delete timer_settime timer_gettime"),
    (239, "timer_getoverrun nanosleep fdatasync mlockall munlockall __sigtimedwait sigqueueinfo"),
    (246, "modctl"),
    (270, "__posix_rename swapctl getdents minherit lchmod lchown lutimes __msync13 __stat13"),
    (279, "__fstat13 __lstat13 __sigaltstack14 __vfork14 __posix_chown __posix_fchown"),
    (285, "__posix_lchown getsid __clone fktrace preadv pwritev __sigaction14 __sigpending14"),
    (293, "__sigprocmask14 __sigsuspend14 __sigreturn14 __getcwd fchroot fhopen fhstat fhstatfs"),
    (301, "____semctl13 __msgctl13 __shmctl13 lchflags issetugid utrace getcontext setcontext"),
    (309, "_lwp_create _lwp_exit _lwp_self _lwp_wait _lwp_suspend _lwp_continue _lwp_wakeup"),
    (316, "_lwp_getprivate _lwp_setprivate _lwp_kill _lwp_detach _lwp_park _lwp_unpark"),
    (322, "_lwp_unpark_all _lwp_setname _lwp_getname _lwp_ctl"),
    (340, "__sigaction_sigtramp - - rasctl kqueue kevent _sched_setparam _sched_getparam"),
    (348, "_sched_setaffinity _sched_getaffinity sched_yield _sched_protect - - fsync_range"),
    (355, "uuidgen getvfsstat statvfs1 fstatvfs1 fhstatvfs1"),
    (375, "setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr listxattr llistxattr"),
    (383, "flistxattr removexattr lremovexattr fremovexattr __stat30 __fstat30 __lstat30"),
    (390, "__getdents30 - __fhstat30 __ntp_gettime30 __socket30 __getfh30 __fhopen40"),
    (397, "__fhstatvfs140 __fhstat40 aio_cancel aio_error aio_fsync aio_read aio_return"),
    (404, "aio_suspend aio_write lio_listio"),
    (410, "__mount50 mremap pset_create pset_destroy pset_assign _pset_bind __posix_fadvise50"),
    (417, "__select50 __gettimeofday50 __settimeofday50 __utimes50 __adjtime50 __lfs_segwait50"),
    (423, "__futimes50 __lutimes50 __setitimer50 __getitimer50 __clock_gettime50"),
    (428, "__clock_settime50 __clock_getres50 __nanosleep50 ____sigtimedwait50 __mq_timedsend50"),
    (433, "__mq_timedreceive50 ___lwp_park50 __kevent50 __pselect50 __pollts50 __aio_suspend50"),
    (439, "__stat50 __fstat50 __lstat50 ____semctl50 __shmctl50 __msgctl50 __getrusage50"),
    (446, "__timer_settime50 __timer_gettime50 __ntp_gettime50 __wait450 __mknod50 __fhstat50"),
    (453, "pipe2 dup3 kqueue1 paccept linkat renameat mkfifoat mknodat mkdirat faccessat fchmodat"),
    (464, "fchownat fexecve fstatat utimensat openat readlinkat symlinkat unlinkat futimens"),
    (473, "__quotactl posix_spawn recvmmsg sendmmsg clock_nanosleep ___lwp_park60 posix_fallocate"),
    (480, "fdiscard wait6 clock_getcpuclockid2 __getvfsstat90 __statvfs190 __fstatvfs190"),
    (486, "__fhstatvfs190"),
];
