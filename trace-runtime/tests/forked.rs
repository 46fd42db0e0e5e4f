//! A child that is forked without fork handlers, while another thread of its parent holds locks of
//! this crate.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

use std::sync::atomic::{AtomicBool, Ordering};

use trace_runtime::context::{EventType, TracePoint};
use trace_runtime::{trace_nonce, trace_process_name, trace_thread_name, Track};

/// Ends the child.
fn leave(status: i32) -> ! {
    // SAFETY: ends this process without running code of it.
    unsafe { libc::_exit(status) }
}

/// Calls functions that take locks. The alarm ends a child that blocks.
fn child() {
    // SAFETY: an alarm without a handler ends the process.
    unsafe { libc::alarm(10) };
    let track = Track::new("of the child");
    trace_thread_name!("child");
    trace_process_name!("child");
    let point = TracePoint::new(EventType::Instant, "forked", "of the child", &[]);
    leave(i32::from(track == Track::with_id("kept", 1) || point.is_on()))
}

/// Runs `child` in a child process of a plain clone, and expects exit status 0.
fn fork_and_wait(child: impl FnOnce()) {
    let none: libc::c_long = 0;
    // SAFETY: with no flag but the exit signal, clone is fork: the child continues with a copy of
    // this stack.
    let pid = unsafe {
        libc::syscall(libc::SYS_clone, libc::SIGCHLD as libc::c_long, none, none, none, none)
    };
    assert!(pid >= 0);
    if pid == 0 {
        child();
        leave(1);
    }
    let mut status = 0;
    // SAFETY: waits for the child created above. The pointer to the status is valid.
    unsafe { libc::waitpid(pid as i32, &mut status, 0) };
    assert_eq!(status, 0);
}

/// Also if nothing else of this crate was called before.
#[test]
fn a_child_has_its_own_ids() {
    let last = trace_nonce!();
    fork_and_wait(|| leave(i32::from(trace_nonce!().abs_diff(last) < 1 << 20)));
    assert!(trace_nonce!() - last < 1 << 20);
}

#[test]
fn a_child_does_not_wait_for_locks_of_its_parent() {
    static DONE: AtomicBool = AtomicBool::new(false);
    Track::with_id("kept", 1);
    let holder = std::thread::spawn(|| {
        while !DONE.load(Ordering::Relaxed) {
            Track::with_id("kept", 1);
        }
    });
    for _ in 0..50 {
        fork_and_wait(child);
    }
    DONE.store(true, Ordering::Relaxed);
    holder.join().unwrap();
}
