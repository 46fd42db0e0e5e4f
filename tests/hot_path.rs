//! Trace points make no system calls, allocate no memory and cause no page faults, including a
//! thread's first one. The kernel and the allocator count them.

#[path = "counting/mod.rs"]
mod counting;

use std::future::{poll_fn, Future};
use std::hint::black_box;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};

use counting::allocations;
use trace_runtime::context;
use trace_runtime::{
    trace_async_enter, trace_at, trace_blob, trace_blob_event, trace_counter, trace_duration,
    trace_future_args, trace_instaflow_step, trace_instant, trace_log, trace_nonce, trace_track,
    trace_userspace_object, BlobType, Timestamp, TraceFutureExt, Track,
};

const ROUNDS: u64 = 100_000;

#[inline(never)]
fn trace_points(rounds: u64) {
    for round in 0..rounds {
        trace_duration!("hot", "scope");
        trace_duration!("hot", "scope with arguments", "number" => round, "text" => black_box("text"));
        trace_instant!("hot", "instant");
        trace_counter!("hot", "counter", 0, "value" => round);
        future(round);
        if round % 16 == 0 {
            other_records(round);
        }
    }
}

/// Trace points other than plain events.
fn other_records(round: u64) {
    let track = *TRACK.get_or_init(|| Track::new("hot track"));
    let now = Timestamp::now();
    trace_at!(now, instant("hot", "known time"));
    trace_track!(track, duration("hot", "on track", "number" => round));
    trace_instaflow_step!("hot", "flow", "step", round);
    drop(trace_async_enter!("hot", "operation", round));
    trace_blob!(BlobType::DATA, "blob", [1u8; 100]);
    trace_blob_event!("hot", "large blob", [2u8; 1000], "number" => round);
    trace_userspace_object!(&raw const round, "round");
    trace_log!("hot", "round {round}");
    // An instant of this thread, without category and name.
    let instant = [0x0100_0034, now.ticks(), 1];
    black_box(context::Context::acquire().map(|context| context.write_record(&instant)));
}

static TRACK: OnceLock<Track> = OnceLock::new();

/// A traced future's whole life, with two polls.
fn future(round: u64) {
    let mut polls = 0;
    let future = poll_fn(|_| {
        polls += 1;
        if polls == 2 {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    });
    let future = future.trace(trace_future_args!("hot", "future", "number" => round));
    let mut future = pin!(future);
    while future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {}
}

/// The counts of a thread around its trace points.
#[derive(Debug, Default, PartialEq)]
struct Counted {
    allocations: u64,
    page_faults: i64,
}

fn page_faults() -> i64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: there is room for the result.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
    // SAFETY: a rusage is numbers, and was zeroed and then filled.
    let usage = unsafe { usage.assume_init() };
    usage.ru_minflt + usage.ru_majflt
}

fn counted(rounds: u64) -> Counted {
    // The counters' own pages, and the stack's, are touched first.
    black_box(page_faults());
    let (before, faults) = (allocations(), page_faults());
    trace_points(rounds);
    Counted { page_faults: page_faults() - faults, allocations: allocations() - before }
}

/// From here on each system call of the calling thread, except `exit` and those in `allowed`, kills
/// the process.
fn forbid_system_calls(allowed: &[libc::c_long]) {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let instruction = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut program = vec![instruction(LOAD, 0, 0, 0)];
    for call in allowed.iter().chain(&[libc::SYS_exit]) {
        program.push(instruction(JUMP_IF_EQUAL, 0, 1, *call as u32));
        program.push(instruction(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW));
    }
    program.push(instruction(RETURN, 0, 0, libc::SECCOMP_RET_KILL_PROCESS));
    let filter = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
    // SAFETY: takes integers only.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    // SAFETY: the filter points to a program of the length it says, which lives through the call.
    let set =
        unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter) };
    assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
    std::mem::forget(program);
}

/// Runs `trace` in a new thread that may not make system calls.
///
/// With `wake_ups` it may wake the service thread, once per switch.
fn without_system_calls(wake_ups: bool, trace: impl FnOnce() + Send + 'static) {
    static DONE: AtomicBool = AtomicBool::new(false);
    DONE.store(false, Ordering::SeqCst);
    let thread = std::thread::spawn(move || {
        forbid_system_calls(if wake_ups { &[libc::SYS_futex] } else { &[] });
        trace();
        DONE.store(true, Ordering::SeqCst);
        // SAFETY: ends this thread without destructors, which would make system calls. The thread
        // is not joined.
        unsafe { libc::syscall(libc::SYS_exit, 0) };
    });
    while !DONE.load(Ordering::SeqCst) {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    std::mem::forget(thread);
}

#[test]
fn trace_points_make_no_system_calls_no_allocations_and_no_page_faults() {
    // In memory, because the kernel protects the pages of files that it writes to a disk.
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = directory.path().join("hot.fxt");
    let trace = trace_runtime::builder().output(&path).circular().buffer_size(8 << 20).init();
    // The first one of the process.
    without_system_calls(false, || assert_ne!(trace_nonce!(), 0));
    // Another thread loads the code's pages.
    std::thread::spawn(|| trace_points(ROUNDS)).join().unwrap();
    for _ in 0..3 {
        let first = std::thread::spawn(|| counted(ROUNDS)).join().unwrap();
        assert_eq!(
            first,
            Counted::default(),
            "{ROUNDS} rounds with switches, from a thread's first record on"
        );
    }
    without_system_calls(false, || trace_points(1000));
    without_system_calls(true, || trace_points(ROUNDS));
    drop(trace);
    let length = std::fs::metadata(&path).unwrap().len();
    assert!(length > 1 << 20, "the trace points were on: {length} bytes");
}
