//! The system calls of the roles that are not in the standard library.

use std::fs::{File, OpenOptions};
use std::os::fd::{AsRawFd, FromRawFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64};

/// Maps a file of numbers, which is shared, and survives the processes that write to it.
pub(crate) fn shared_numbers(path: &Path, count: usize) -> &'static [AtomicU64] {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .expect("it opens");
    let size = count * size_of::<AtomicU64>();
    file.set_len(size as u64).expect("it has room");
    let protection = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping at an address of the kernel's choice disturbs no memory of this
    // process.
    let start = unsafe {
        libc::mmap(std::ptr::null_mut(), size, protection, libc::MAP_SHARED, file.as_raw_fd(), 0)
    };
    assert_ne!(start, libc::MAP_FAILED, "{}", std::io::Error::last_os_error());
    // SAFETY: the mapping is page-aligned, `size` bytes long, and never unmapped; any bytes are
    // valid numbers.
    unsafe { std::slice::from_raw_parts(start.cast(), count) }
}

/// Creates a pipe. Returns its ends for reading and writing.
pub(crate) fn pipe() -> (File, File) {
    let mut ends = [0; 2];
    // SAFETY: there is room for both descriptors.
    let created = unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) };
    assert_eq!(created, 0, "{}", std::io::Error::last_os_error());
    // SAFETY: the call has created the descriptors, which have no other owner.
    ends.map(|end| unsafe { File::from_raw_fd(end) }).into()
}

/// Returns the Linux id of the calling thread.
pub(crate) fn thread_id() -> u64 {
    // SAFETY: gettid takes no argument and cannot fail.
    unsafe { libc::gettid() as u64 }
}

/// Forks, with or without the C library's handlers. Returns 0 in the child.
pub(crate) fn fork(raw: bool) -> i32 {
    let pid = if raw {
        let none: libc::c_long = 0;
        // SAFETY: with only the signal at its end as flags, clone is fork; the child continues with
        // a copy of this stack.
        unsafe {
            libc::syscall(libc::SYS_clone, libc::SIGCHLD as libc::c_long, none, none, none, none)
                as i32
        }
    } else {
        // SAFETY: the child does not touch locks that other threads may have held.
        unsafe { libc::fork() }
    };
    assert!(pid >= 0, "{}", std::io::Error::last_os_error());
    pid
}

/// Waits for the end of a child, which exits with 0.
pub(crate) fn wait_for(child: i32) {
    let mut status = 0;
    // SAFETY: there is room for the status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0, "the child exits with 0");
}

/// Waits for the end of the only child, which exits with 0.
pub(crate) fn wait_for_any() {
    let mut status = 0;
    // SAFETY: there is room for the status.
    assert!(unsafe { libc::waitpid(-1, &mut status, 0) } > 0);
    assert_eq!(status, 0, "the child exits with 0");
}

/// Closes all descriptors from this number on, as closefrom(3) does.
pub(crate) fn close_from(first: u32) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: there is room for the limit.
    assert_eq!(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) }, 0);
    (first as i32..limit.rlim_cur.min(4096) as i32).for_each(close);
}

/// Closes a descriptor, if it is open.
pub(crate) fn close(descriptor: i32) {
    // SAFETY: this program does not use the descriptor afterwards.
    unsafe { libc::close(descriptor) };
}

/// From here on this system call fails as if the kernel did not have it, also in threads that are
/// started later.
pub(crate) fn refuse(call: libc::c_long) {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let instruction = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut program = [
        instruction(LOAD, 0, 0, 0),
        instruction(JUMP_IF_EQUAL, 0, 1, call as u32),
        instruction(RETURN, 0, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
        instruction(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: takes integers only.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    // SAFETY: the filter points to a program of the length it says, which lives through the call.
    let set =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
}

/// Ends this process at once, without exit handlers.
pub(crate) fn exit_now(code: i32) -> ! {
    // SAFETY: takes an integer and does not return.
    unsafe { libc::_exit(code) }
}

/// Sends a signal to a process. Returns whether the process exists.
pub(crate) fn kill(pid: i32, signal: i32) -> bool {
    // SAFETY: takes integers.
    unsafe { libc::kill(pid, signal) == 0 }
}

/// Sends a signal to a thread of this process.
pub(crate) fn kill_thread(thread: u64, signal: i32) {
    let process = std::process::id();
    // SAFETY: takes integers.
    unsafe {
        libc::syscall(libc::SYS_tgkill, process as libc::pid_t, thread as libc::pid_t, signal)
    };
}

/// Sets a signal handler, which must be async-signal-safe.
pub(crate) fn handle(signal: i32, handler: extern "C" fn(i32)) {
    let handler = handler as *const () as libc::sighandler_t;
    // SAFETY: the handler is a function of this program of the right type.
    assert_ne!(unsafe { libc::signal(signal, handler) }, libc::SIG_ERR);
}

/// Set by [`note_signal`].
pub(crate) static SIGNALLED: AtomicBool = AtomicBool::new(false);

/// A handler that notes that it was called.
pub(crate) extern "C" fn note_signal(_: i32) {
    SIGNALLED.store(true, std::sync::atomic::Ordering::SeqCst);
}

/// Registers a function to be called when the process exits.
pub(crate) fn at_exit(function: extern "C" fn()) {
    // SAFETY: the function is one of this program, and does not unwind.
    assert_eq!(unsafe { libc::atexit(function) }, 0);
}

/// Starts a new session, without the terminal and the process group.
pub(crate) fn new_session() {
    // SAFETY: takes no argument.
    assert!(unsafe { libc::setsid() } >= 0);
}

/// Limits locked memory to `bytes`, and becomes a user to whom that applies.
pub(crate) fn limit_locked_memory(bytes: u64) {
    let limit = libc::rlimit { rlim_cur: bytes, rlim_max: bytes };
    // SAFETY: the limit is a valid place to read.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &limit) }, 0);
    // SAFETY: getuid takes no argument.
    if unsafe { libc::getuid() } == 0 {
        // SAFETY: setuid takes an integer. There is one thread as yet.
        assert_eq!(unsafe { libc::setuid(65534) }, 0);
    }
}

/// Locks all memory that the process has and will have.
pub(crate) fn lock_all_memory() -> std::io::Result<()> {
    // SAFETY: mlockall takes an integer.
    match unsafe { libc::mlockall(libc::MCL_CURRENT | libc::MCL_FUTURE) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Makes the kernel end the calling thread if it reads the CPU's counter.
pub(crate) fn forbid_counter() {
    // SAFETY: the call takes an integer.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV) }, 0);
}

/// Puts the calling thread under strict seccomp, which also forbids reading the CPU's counter.
pub(crate) fn forbid_system_calls() {
    // SAFETY: the call takes an integer.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_STRICT) }, 0);
}

/// Ends only the calling thread.
pub(crate) fn exit_thread() -> ! {
    // SAFETY: the thread holds no lock.
    unsafe { libc::syscall(libc::SYS_exit, 0) };
    unreachable!("the thread has ended")
}
