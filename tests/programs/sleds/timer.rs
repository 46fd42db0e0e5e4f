//! A timer interrupts calls, and the recording of calls, at a high rate, on a signal stack.

use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

#[repr(C)]
struct SignalAction {
    handler: extern "C" fn(c_int),
    mask: [u64; 16],
    flags: c_int,
    restorer: usize,
}

#[repr(C)]
struct SignalStack {
    start: *mut c_void,
    flags: c_int,
    size: usize,
}

extern "C" {
    fn sigaction(signal: c_int, action: *const SignalAction, before: *mut SignalAction) -> c_int;
    fn sigaltstack(stack: *const SignalStack, before: *mut SignalStack) -> c_int;
    fn setitimer(which: c_int, value: *const [i64; 4], before: *mut [i64; 4]) -> c_int;
}

const SIGALRM: c_int = 14;
const SA_ONSTACK: c_int = 0x0800_0000;
const SA_RESTART: c_int = 0x1000_0000;

static TICKS: AtomicU64 = AtomicU64::new(0);

/// Calls functions until the timer has interrupted them `number` times. Prints the number of calls,
/// and that of ticks.
pub fn interrupted(number: u64) {
    super::loading::wait_until_patched(outer as *const u8);
    let stack = Vec::leak(vec![0u8; 256 << 10]);
    let stack = SignalStack { start: stack.as_mut_ptr().cast(), flags: 0, size: stack.len() };
    // SAFETY: the stack is never freed.
    assert_eq!(unsafe { sigaltstack(&stack, std::ptr::null_mut()) }, 0);
    let flags = SA_ONSTACK | SA_RESTART;
    let action = SignalAction { handler: tick, mask: [0; 16], flags, restorer: 0 };
    // SAFETY: the handler stores to an atomic only.
    assert_eq!(unsafe { sigaction(SIGALRM, &action, std::ptr::null_mut()) }, 0);
    set_interval(100);
    let mut calls = 0;
    while TICKS.load(Ordering::Relaxed) < number {
        assert_eq!(outer(calls), 3 * calls + 2);
        calls += 1;
    }
    set_interval(0);
    println!("{calls} {}", TICKS.load(Ordering::Relaxed));
}

/// Sets the interval of the timer in microseconds; 0 stops it.
fn set_interval(micros: i64) {
    // SAFETY: the value is valid.
    assert_eq!(unsafe { setitimer(0, &[0, micros, 0, micros], std::ptr::null_mut()) }, 0);
}

#[inline(never)]
fn outer(n: u64) -> u64 {
    black_box(middle(black_box(n))) + 1
}

#[inline(never)]
fn middle(n: u64) -> u64 {
    black_box(inner(n)) + 1
}

#[inline(never)]
fn inner(n: u64) -> u64 {
    black_box(n) * 3
}

#[inline(never)]
extern "C" fn tick(_: c_int) {
    assert_eq!(in_tick(1), 2);
}

#[inline(never)]
fn in_tick(n: u64) -> u64 {
    TICKS.fetch_add(n, Ordering::Relaxed);
    black_box(n) + 1
}
