//! Programs that restrict their system calls, and are ended for any other.

use std::ffi::{c_int, c_long, c_uint, c_ulong, c_void};
use std::os::unix::process::CommandExt;
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::thread;

use super::repeated;

extern "C" {
    fn prctl(option: c_int, ...) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
    fn clone(
        run: extern "C" fn(*mut c_void) -> c_int,
        stack: *mut c_void,
        flags: c_int,
        argument: *mut c_void,
        ...
    ) -> c_int;
    fn unshare(flags: c_int) -> c_int;
    fn pthread_create(
        thread: *mut c_ulong,
        attributes: *const c_void,
        run: extern "C" fn(*mut c_void) -> *mut c_void,
        argument: *mut c_void,
    ) -> c_int;
    fn pthread_key_create(key: *mut c_uint, destructor: extern "C" fn(*mut c_void)) -> c_int;
    fn pthread_setspecific(key: c_uint, value: *const c_void) -> c_int;
}

const WRITE: u32 = 1;
const MUNMAP: u32 = 11;
const BRK: u32 = 12;
const SIGPROCMASK: u32 = 14;
const SIGRETURN: u32 = 15;
const MADVISE: u32 = 28;
const EXIT: u32 = 60;
const SIGALTSTACK: u32 = 131;
const EXIT_GROUP: u32 = 231;
const GETDENTS: u32 = 217;
const GETTID: c_long = 186;

/// What the standard library does at the end of a thread and of the program.
const LAST: [u32; 9] =
    [WRITE, MUNMAP, BRK, SIGPROCMASK, SIGRETURN, MADVISE, EXIT, SIGALTSTACK, EXIT_GROUP];

/// What a tracer does, and the C library does not to execute a program.
const OF_TRACERS: [u32; 14] = [
    8,   // lseek
    41,  // socket
    42,  // connect
    56,  // clone
    202, // futex
    272, // unshare
    291, // epoll_create1
    294, // inotify_init1
    310, // process_vm_readv
    319, // memfd_create
    324, // membarrier
    332, // statx
    435, // clone3
    436, // close_range
];

#[repr(C)]
struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    value: u32,
}

#[repr(C)]
struct Filter {
    length: u16,
    instructions: *const Instruction,
}

/// Returns a filter that returns `listed` for these calls, and `other` for others.
fn filter(calls: &[u32], listed: u32, other: u32) -> Filter {
    let instruction = |code, if_false, value| Instruction { code, if_true: 0, if_false, value };
    let mut instructions = vec![instruction(0x20, 0, 0)];
    for call in calls {
        instructions.push(instruction(0x15, 1, *call));
        instructions.push(instruction(0x06, 0, listed));
    }
    instructions.push(instruction(0x06, 0, other));
    let instructions = instructions.leak();
    Filter { length: instructions.len() as u16, instructions: instructions.as_ptr() }
}

const ALLOW: u32 = 0x7fff_0000;
const KILL: u32 = 0x8000_0000;

fn install(filter: &Filter, all_threads: bool) {
    let zero: c_ulong = 0;
    let one: c_ulong = 1;
    // SAFETY: the call takes integers: no new privileges.
    assert_eq!(unsafe { prctl(38, one, zero, zero, zero) }, 0);
    let result = if all_threads {
        // SAFETY: the filter has so many instructions: seccomp, of all threads.
        unsafe { syscall(317, one, one, filter) }
    } else {
        let mode: c_ulong = 2;
        // SAFETY: as above.
        c_long::from(unsafe { prctl(22, mode, filter) })
    };
    assert_eq!(result, 0);
}

/// The first time that a function is unwound makes system calls, once in a program.
fn prepare_unwinding() {
    let _unwound = std::panic::catch_unwind(|| resume_unwind(Box::new(())));
}

/// Calls a function ten times, and is unwound.
#[inline(never)]
fn unwound() {
    println!("{}", repeated(10));
    resume_unwind(Box::new(()));
}

/// A thread under strict seccomp.
struct Strict {
    calls_before: bool,
    id: AtomicI64,
    key: AtomicU32,
    has_called: AtomicBool,
    has_ended: AtomicBool,
}

/// Threads under strict seccomp call functions, and end: the first one is recorded before, the
/// second one is not.
pub fn strict() {
    println!("{}", repeated(10));
    for calls_before in [true, false] {
        let strict: &Strict = Box::leak(Box::new(Strict {
            calls_before,
            id: AtomicI64::new(0),
            key: AtomicU32::new(0),
            has_called: AtomicBool::new(false),
            has_ended: AtomicBool::new(false),
        }));
        let mut thread = 0;
        let argument = std::ptr::from_ref(strict).cast_mut().cast();
        // SAFETY: the function takes this argument.
        let result = unsafe { pthread_create(&mut thread, std::ptr::null(), run_strict, argument) };
        assert_eq!(result, 0);
        strict.wait();
    }
    println!("{}", repeated(10));
}

impl Strict {
    /// Waits until the thread has ended. Fails if it was killed.
    fn wait(&self) {
        while !self.has_ended.load(Ordering::SeqCst) {
            let id = self.id.load(Ordering::SeqCst);
            let is_gone = id != 0 && !Path::new("/proc/self/task").join(id.to_string()).exists();
            let has_called = self.has_called.load(Ordering::SeqCst);
            let was_killed = is_gone && !self.has_ended.load(Ordering::SeqCst);
            assert!(!was_killed, "it was killed, has called functions: {has_called}");
            thread::sleep(std::time::Duration::from_millis(1));
        }
    }
}

/// Returns, so that destructors of keys run. No thread of the standard library does without system
/// calls there.
extern "C" fn run_strict(argument: *mut c_void) -> *mut c_void {
    // SAFETY: the argument is that of `strict`.
    let strict = unsafe { &*argument.cast::<Strict>() };
    // SAFETY: the call has no arguments.
    strict.id.store(unsafe { syscall(GETTID) }, Ordering::SeqCst);
    let mut key = 0;
    // SAFETY: the place for the key is valid.
    assert_eq!(unsafe { pthread_key_create(&mut key, strict_ends) }, 0);
    // SAFETY: the key was made above.
    assert_eq!(unsafe { pthread_setspecific(key, argument) }, 0);
    strict.key.store(key, Ordering::SeqCst);
    if strict.calls_before {
        assert_eq!(repeated(10), 90);
    }
    let mode: c_ulong = 1;
    // SAFETY: the call takes integers.
    assert_eq!(unsafe { prctl(22, mode) }, 0);
    strict.has_called.store(repeated(10) == 90, Ordering::SeqCst);
    std::ptr::null_mut()
}

/// Ends the thread in the second round of destructors: the C library would make other system calls.
extern "C" fn strict_ends(argument: *mut c_void) {
    // SAFETY: the value of the key is the argument of `strict`.
    let strict = unsafe { &*argument.cast::<Strict>() };
    let key = strict.key.swap(0, Ordering::SeqCst);
    if key != 0 {
        // SAFETY: the key was made by the thread.
        unsafe { pthread_setspecific(key, argument) };
        return;
    }
    strict.has_ended.store(strict.has_called.load(Ordering::SeqCst), Ordering::SeqCst);
    let status: c_long = 0;
    // SAFETY: ends the thread.
    unsafe { syscall(EXIT.into(), status) };
}

/// A thread with a filter calls functions, the first ones of the thread, is unwound, and ends. So
/// does the program.
pub fn filter_thread() {
    prepare_unwinding();
    let filtered = || {
        let filter = filter(&LAST, ALLOW, KILL);
        install(&filter, false);
        let _unwound = std::panic::catch_unwind(unwound);
        println!("{}", repeated(10));
    };
    thread::spawn(filtered).join().expect("no panic");
    filtered();
}

/// All threads get a filter, which ends the program if one of them wakes up in a system call that
/// the main thread does not make. Prints how many threads there are then.
pub fn filter_all() {
    prepare_unwinding();
    println!("{}", repeated(10));
    let threads = std::fs::read_dir("/proc/self/task").expect("it is mounted");
    install(&filter(&[&LAST[..], &[GETDENTS]].concat(), ALLOW, KILL), true);
    // It is read here first, and never closed.
    let mut threads = std::mem::ManuallyDrop::new(threads);
    println!("{}", threads.by_ref().count());
    let _unwound = std::panic::catch_unwind(unwound);
}

/// A thread with a filter may not read the processor's counter from some time on.
pub fn no_counter() {
    println!("{}", repeated(10));
    let thread = thread::spawn(|| {
        install(&filter(&[], ALLOW, ALLOW), false);
        let signal: c_ulong = 2;
        // SAFETY: the call takes an integer.
        assert_eq!(unsafe { prctl(26, signal) }, 0);
        println!("{}", repeated(10));
    });
    thread.join().expect("no panic");
    println!("{}", repeated(10));
}

/// A child that shares this process's memory until it ends restricts itself.
pub fn child() {
    extern "C" fn restricted(_: *mut c_void) -> c_int {
        let flag: c_ulong = 0x1_0000;
        // SAFETY: the call takes an integer.
        unsafe { syscall(272, flag) };
        let strict: c_ulong = 1;
        // SAFETY: as above.
        unsafe { prctl(22, strict) };
        let status: c_long = 0;
        // SAFETY: ends the child.
        unsafe { syscall(EXIT.into(), status) };
        0
    }
    let mut stack = vec![0u128; 4096];
    println!("{}", repeated(10));
    // SAFETY: this process waits until the child, which has a stack, has ended (`CLONE_VM`,
    // `CLONE_VFORK`).
    let child = unsafe {
        clone(restricted, stack.as_mut_ptr().add(4096).cast(), 0x4100, std::ptr::null_mut())
    };
    assert!(child > 0);
    println!("{}", repeated(10));
}

/// Makes a call that fails if the process has several threads (`CLONE_THREAD`), and prints its
/// error.
pub fn alone() {
    println!("{}", repeated(10));
    // SAFETY: the call takes an integer.
    let is_alone = unsafe { unshare(0x1_0000) } == 0;
    let error = (!is_alone).then(std::io::Error::last_os_error);
    println!("{error:?}\n{}", repeated(10));
}

/// Executes this program with a filter.
pub fn execute_confined(arguments: &[&str]) {
    println!("{}", repeated(10));
    install(&filter(&OF_TRACERS, KILL, ALLOW), false);
    let program = std::env::current_exe().expect("a path");
    let error = std::process::Command::new(program).args(arguments).exec();
    panic!("{error}");
}
