//! A child of a fork that ran no handlers, while another thread of its parent holds the locks of
//! this crate.
#![cfg(all(target_os = "linux", not(feature = "ntrace")))]

use std::sync::atomic::{AtomicBool, Ordering};

use trace_runtime::context::{EventType, TracePoint};
use trace_runtime::{trace_nonce, trace_process_name, trace_thread_name, Track};

/// Ends the child.
fn leave(status: i32) -> ! {
    // SAFETY: ends this process, and runs nothing of it.
    unsafe { libc::_exit(status) }
}

/// Names and makes what takes a lock. A child that waits in vain is ended by the alarm.
fn child() {
    // SAFETY: an alarm without a handler ends the process.
    unsafe { libc::alarm(10) };
    let track = Track::new("of the child");
    trace_thread_name!("child");
    trace_process_name!("child");
    let point = TracePoint::new(EventType::Instant, "forked", "of the child", &[]);
    leave(i32::from(track == Track::with_id("kept", 1) || point.is_on()))
}

/// Has a child of a bare clone do something, which has to leave with status 0.
fn fork_and_wait(child: impl FnOnce()) {
    let none: libc::c_long = 0;
    // SAFETY: without flags but the signal at its end, clone is fork; the child goes on with a copy
    // of this stack.
    let pid = unsafe {
        libc::syscall(libc::SYS_clone, libc::SIGCHLD as libc::c_long, none, none, none, none)
    };
    assert!(pid >= 0);
    if pid == 0 {
        child();
        leave(1);
    }
    let mut status = 0;
    // SAFETY: waits for the child made just above; the place for its status is valid.
    unsafe { libc::waitpid(pid as i32, &mut status, 0) };
    assert_eq!(status, 0);
}

/// Also before anything else of this crate was asked for.
#[test]
fn a_child_gives_ids_of_its_own() {
    let last = trace_nonce!();
    fork_and_wait(|| leave(i32::from(trace_nonce!().abs_diff(last) < 1 << 20)));
    assert!(trace_nonce!() - last < 1 << 20);
}

#[test]
fn a_child_waits_for_none_of_its_parents_locks() {
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
