//! Forks without exec.

use std::io::{Read, Write};

use trace_runtime::{trace_instant, TraceState};

use crate::sys;

/// Forks while another thread traces. Parent and child continue tracing. `how` selects the kind of
/// fork, and which processes are providers.
pub(crate) fn fork_and_trace(how: &str) {
    let trace = crate::init();
    trace_instant!("fork", "parent", "number" => 0u64);
    std::thread::spawn(|| loop {
        trace_instant!("fork", "bystander");
        std::thread::sleep(std::time::Duration::from_micros(20));
    });
    for number in 1..=20u64 {
        match sys::fork(how.contains("raw")) {
            0 => in_child(how, number),
            child => {
                trace_instant!("fork", "parent", "number" => number);
                sys::wait_for(child);
            }
        }
    }
    drop(trace);
}

fn in_child(how: &str, number: u64) -> ! {
    trace_instant!("fork", "child that is no provider", "number" => number);
    if how.contains("init") {
        let trace = crate::init();
        trace_instant!("fork", "child", "number" => number);
        drop(trace);
    }
    trace_instant!("fork", "child that is no provider", "number" => number);
    // The parent's handlers for exit run here too.
    std::process::exit(0);
}

/// Parent and child record the calls of the parent's observer.
pub(crate) fn observe_and_fork(how: &str) {
    let observer = trace_runtime::observe(|state| {
        trace_instant!("fork", "observed", "number" => state as u64);
    });
    let trace = crate::init();
    match sys::fork(how.contains("raw")) {
        0 => {
            assert_eq!(trace_runtime::trace_state(), TraceState::Stopped);
            drop(crate::init());
            drop(observer);
            drop(crate::init());
            std::process::exit(0);
        }
        child => sys::wait_for(child),
    }
    assert_eq!(trace_runtime::trace_state(), TraceState::Started);
    drop(trace);
}

/// Starts a child that continues until its standard input ends, and is killed.
pub(crate) fn orphan(how: &str) {
    let _trace = crate::init();
    trace_instant!("fork", "parent", "number" => 1u64);
    if sys::fork(how.contains("raw")) == 0 {
        let mut input = Vec::new();
        std::io::stdin().read_to_end(&mut input).expect("standard input can be read");
        println!("child continued");
        std::io::stdout().flush().expect("standard output can be written");
        sys::exit_now(0);
    }
    trace_instant!("fork", "parent", "number" => 2u64);
    sys::kill(std::process::id() as i32, libc::SIGKILL);
}
