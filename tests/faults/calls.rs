//! The system calls of the manager, and how each can fail.

use libc::*;

/// The effect of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// The call is not made, and fails with this error.
    Error(i32),
    /// The call is made for half of the bytes.
    Short,
}

/// A system call, and the errors with which it fails.
pub(crate) struct Call {
    pub(crate) number: i64,
    pub(crate) name: &'static str,
    pub(crate) errors: &'static [i32],
}

const fn call(number: i64, name: &'static str, errors: &'static [i32]) -> Call {
    Call { number, name, errors }
}

/// The calls that fail because resources are exhausted or a signal arrives.
pub(crate) const FAULTS: &[Call] = &[
    call(SYS_read, "read", &[EIO, EINTR]),
    call(SYS_pread64, "pread64", &[EIO, EINTR]),
    call(SYS_readv, "readv", &[EIO, EINTR]),
    call(SYS_write, "write", &[ENOSPC, EINTR]),
    call(SYS_pwrite64, "pwrite64", &[ENOSPC, EINTR]),
    call(SYS_writev, "writev", &[ENOSPC, EINTR]),
    call(SYS_copy_file_range, "copy_file_range", &[ENOSPC, EINTR]),
    call(SYS_sendfile, "sendfile", &[ENOMEM, EINTR]),
    call(SYS_open, "open", &[EMFILE, ENOMEM, EINTR]),
    call(SYS_openat, "openat", &[EMFILE, ENOSPC, EINTR]),
    call(SYS_openat2, "openat2", &[EMFILE, ENOMEM, EINTR]),
    call(SYS_fstat, "fstat", &[ENOMEM]),
    call(SYS_newfstatat, "newfstatat", &[ENOMEM]),
    call(SYS_statx, "statx", &[ENOMEM]),
    call(SYS_statfs, "statfs", &[ENOMEM]),
    call(SYS_fstatfs, "fstatfs", &[ENOMEM, EINTR]),
    call(SYS_getdents64, "getdents64", &[ENOMEM]),
    call(SYS_readlink, "readlink", &[ENOMEM]),
    call(SYS_readlinkat, "readlinkat", &[ENOMEM]),
    call(SYS_mkdir, "mkdir", &[ENOSPC]),
    call(SYS_mkdirat, "mkdirat", &[ENOSPC]),
    call(SYS_rename, "rename", &[ENOSPC]),
    call(SYS_renameat, "renameat", &[ENOSPC]),
    call(SYS_renameat2, "renameat2", &[ENOSPC]),
    call(SYS_linkat, "linkat", &[ENOSPC]),
    call(SYS_unlink, "unlink", &[EIO]),
    call(SYS_unlinkat, "unlinkat", &[EIO]),
    call(SYS_chmod, "chmod", &[EIO]),
    call(SYS_fchmod, "fchmod", &[EIO]),
    call(SYS_fchmodat, "fchmodat", &[EIO]),
    call(SYS_fchown, "fchown", &[EIO]),
    call(SYS_ftruncate, "ftruncate", &[ENOSPC, EINTR]),
    call(SYS_fallocate, "fallocate", &[ENOSPC, ENOMEM, EINTR]),
    call(SYS_fsync, "fsync", &[EIO]),
    call(SYS_fdatasync, "fdatasync", &[EIO]),
    call(SYS_flock, "flock", &[ENOLCK, EINTR]),
    call(SYS_fcntl, "fcntl", &[EMFILE]),
    call(SYS_ioctl, "ioctl", &[ENOMEM]),
    call(SYS_memfd_create, "memfd_create", &[EMFILE, ENOMEM]),
    call(SYS_mmap, "mmap", &[ENOMEM]),
    call(SYS_socket, "socket", &[EMFILE, ENOMEM]),
    call(SYS_socketpair, "socketpair", &[EMFILE, ENOMEM]),
    call(SYS_bind, "bind", &[ENOSPC]),
    call(SYS_listen, "listen", &[ENOMEM]),
    call(SYS_connect, "connect", &[ENOMEM, EINTR]),
    call(SYS_accept4, "accept4", &[EMFILE, ENOMEM, ECONNABORTED, EINTR]),
    call(SYS_sendto, "sendto", &[ENOMEM, EINTR]),
    call(SYS_sendmsg, "sendmsg", &[ENOMEM, ETOOMANYREFS, EINTR]),
    call(SYS_recvfrom, "recvfrom", &[EINTR]),
    call(SYS_recvmsg, "recvmsg", &[ENOMEM, EINTR]),
    call(SYS_getsockopt, "getsockopt", &[ENOMEM]),
    call(SYS_setsockopt, "setsockopt", &[ENOMEM]),
    call(SYS_pidfd_open, "pidfd_open", &[EMFILE, ENOMEM]),
    call(SYS_epoll_create1, "epoll_create1", &[EMFILE, ENOMEM]),
    call(SYS_epoll_ctl, "epoll_ctl", &[ENOMEM, ENOSPC]),
    call(SYS_epoll_wait, "epoll_wait", &[EINTR]),
    call(SYS_epoll_pwait, "epoll_pwait", &[EINTR]),
    call(SYS_eventfd2, "eventfd2", &[EMFILE, ENOMEM]),
    call(SYS_pipe2, "pipe2", &[EMFILE, ENFILE]),
    call(SYS_dup, "dup", &[EMFILE]),
    call(SYS_dup3, "dup3", &[EMFILE]),
    call(SYS_poll, "poll", &[ENOMEM, EINTR]),
    call(SYS_ppoll, "ppoll", &[ENOMEM, EINTR]),
    call(SYS_clone, "clone", &[EAGAIN, ENOMEM]),
    call(SYS_clone3, "clone3", &[EAGAIN, ENOMEM]),
    call(SYS_vfork, "vfork", &[EAGAIN, ENOMEM]),
    call(SYS_wait4, "wait4", &[EINTR]),
    call(SYS_waitid, "waitid", &[EINTR]),
    call(SYS_clock_nanosleep, "clock_nanosleep", &[EINTR]),
    call(SYS_getrandom, "getrandom", &[EINTR]),
    call(SYS_prlimit64, "prlimit64", &[EPERM]),
    call(SYS_prctl, "prctl", &[EINVAL]),
    call(SYS_kill, "kill", &[EPERM]),
    call(SYS_membarrier, "membarrier", &[EPERM]),
    call(SYS_setpriority, "setpriority", &[EACCES]),
    call(SYS_close_range, "close_range", &[ENOMEM]),
    call(SYS_rmdir, "rmdir", &[EIO]),
    call(SYS_sched_setattr, "sched_setattr", &[EPERM]),
];

/// The calls without faults, with the reason.
pub(crate) const EXEMPT: &[(i64, &str)] = &[
    (SYS_close, "a failed close is not repeated, and the descriptor is closed"),
    (SYS_futex, "the standard library ends the process"),
    (SYS_brk, "the allocator uses mmap then"),
    (SYS_mremap, "only the allocator calls it, and Rust ends the process without memory"),
    (SYS_munmap, "fails only for wrong arguments"),
    (SYS_mprotect, "only the allocator and new threads call it"),
    (SYS_madvise, "advice"),
    (SYS_lseek, "fails only for pipes"),
    (SYS_exit, "does not return"),
    (SYS_exit_group, "does not return"),
    (SYS_execve, "the call that starts the process"),
    (SYS_rt_sigaction, "fails only for wrong arguments"),
    (SYS_rt_sigprocmask, "fails only for wrong arguments"),
    (SYS_rt_sigreturn, "does not return"),
    (SYS_sigaltstack, "fails only for wrong arguments"),
    (SYS_set_robust_list, "fails only for wrong arguments"),
    (SYS_set_tid_address, "does not fail"),
    (SYS_rseq, "fails only for wrong arguments"),
    (SYS_restart_syscall, "continues an interrupted call"),
    (SYS_arch_prctl, "the loader calls it"),
    (SYS_access, "the loader calls it"),
    (SYS_sched_getaffinity, "fails only for wrong arguments"),
    (SYS_sched_getattr, "fails only for wrong arguments"),
    (SYS_sched_yield, "does not fail"),
    (SYS_getpid, "does not fail"),
    (SYS_gettid, "does not fail"),
    (SYS_getppid, "does not fail"),
    (SYS_getuid, "does not fail"),
    (SYS_geteuid, "does not fail"),
    (SYS_getgid, "does not fail"),
    (SYS_getegid, "does not fail"),
    (SYS_getpgid, "does not fail"),
    (SYS_setpgid, "fails only for wrong arguments"),
    (SYS_umask, "does not fail"),
    (SYS_getcwd, "fails only without a working directory"),
    (SYS_uname, "fails only for wrong arguments"),
    (SYS_sysinfo, "fails only for wrong arguments"),
    (SYS_clock_gettime, "fails only for wrong arguments"),
    (SYS_clock_getres, "fails only for wrong arguments"),
    (SYS_getsockname, "fails only for wrong arguments"),
    (SYS_getpeername, "fails only for wrong arguments"),
    (SYS_shutdown, "fails only for wrong arguments"),
];

/// Returns a call that can fail.
pub(crate) fn find(number: u64) -> Option<&'static Call> {
    FAULTS.iter().find(|call| call.number as u64 == number)
}

/// Returns whether a call may fail without the process having to end: Rust ends it if the allocator
/// gets no memory.
pub(crate) fn may_fail(number: u64, arguments: &[u64; 6]) -> bool {
    let has_file = |arguments: &[u64; 6]| arguments[4] as i32 >= 0;
    // Rust ends the process without a stack for its signal handlers, too, which can be written.
    let is_stack = |arguments: &[u64; 6]| {
        arguments[2] as i32 == PROT_NONE && arguments[3] as i32 & MAP_STACK != 0
    };
    // A process may always read its own limits.
    let reads_limit = number == SYS_prlimit64 as u64 && arguments[2] == 0;
    !reads_limit && (number != SYS_mmap as u64 || has_file(arguments) || is_stack(arguments))
}

/// Returns whether only a file has this effect.
pub(crate) fn needs_file(number: u64, effect: Effect) -> bool {
    let transfers = [SYS_read, SYS_pread64, SYS_readv, SYS_write, SYS_pwrite64, SYS_writev];
    transfers.contains(&(number as i64))
        && matches!(effect, Effect::Short | Effect::Error(EIO | ENOSPC))
}

/// Returns the effects that a call can have.
pub(crate) fn effects(call: &Call) -> Vec<Effect> {
    let mut effects: Vec<_> = call.errors.iter().map(|error| Effect::Error(*error)).collect();
    if [SYS_read, SYS_pread64, SYS_write, SYS_pwrite64].contains(&call.number) {
        effects.push(Effect::Short);
    }
    effects
}

impl Effect {
    /// Returns whether the process must not be affected.
    pub(crate) fn is_harmless(self) -> bool {
        matches!(self, Self::Short | Self::Error(EINTR | ECONNABORTED))
    }
}
