//! The ways in which a process ends.

use std::io::{Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::{mpsc, Mutex};
use std::time::{Duration, Instant};

use trace_runtime::{trace_enabled, trace_fn, trace_instant, NotTraced, TraceState};

use crate::sys;

fn myself() -> Command {
    Command::new(std::env::current_exe().expect("it knows where it is"))
}

/// Traces a first and a last event, and ends at once.
pub(crate) fn end(how: &str) {
    let trace = crate::init();
    while how == "recorded" && !trace_enabled!() {
        // A provider of a very large buffer may begin to record after `init`.
        std::thread::sleep(Duration::from_millis(1));
    }
    trace_instant!("end", "first");
    trace_instant!("end", "last");
    match how {
        "return" | "recorded" => drop(trace),
        "exit" => std::process::exit(7),
        "exit-now" => sys::exit_now(8),
        "abort" => std::process::abort(),
        "panic" => panic!("expected"),
        "terminate" => drop(sys::kill(std::process::id() as i32, libc::SIGTERM)),
        "forgotten" => std::mem::forget(trace),
        _ => panic!("expected a way to end, found {how:?}"),
    }
}

/// Becomes a provider again while an observer of the first one has not returned, and after that.
pub(crate) fn restart() {
    let (resume, paused) = mpsc::channel::<()>();
    let paused = Mutex::new(paused);
    let observer = trace_runtime::observe(move |state| {
        if state == TraceState::Stopping {
            let _dropped = paused.lock().expect("no observer panics").recv();
        }
    });
    drop(crate::init());
    let second = crate::init();
    assert!(matches!(second.status(), Err(NotTraced::Start(_))), "{:?}", second.status());
    trace_instant!("end", "while the first provider stops");
    drop((second, resume));
    let third = loop {
        let trace = crate::init();
        match trace.status() {
            Ok(()) => break trace,
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    };
    trace_instant!("end", "of the third provider");
    drop((third, observer));
}

/// Ends while an observer does not return.
pub(crate) fn end_in_observer() {
    let trace = crate::init();
    std::mem::forget(trace_runtime::observe(|state| {
        if state == TraceState::Stopping {
            loop {
                std::thread::park();
            }
        }
    }));
    trace_instant!("end", "last");
    drop(trace);
}

/// Stops being a provider at once, and continues.
pub(crate) fn drop_guard() {
    let begin = Instant::now();
    drop(crate::init());
    let traced = begin.elapsed();
    trace_instant!("end", "not recorded");
    std::thread::sleep(Duration::from_secs(2).max(20 * traced));
}

/// Has no scope but its own, which begins before it becomes a provider.
#[trace_fn]
pub(crate) fn late_init() {
    let _trace = crate::init();
    std::thread::sleep(Duration::from_millis(1100));
}

/// Executes another traced program.
pub(crate) fn exec_another() {
    let _trace = crate::init();
    trace_instant!("end", "before exec");
    let error = myself().args(["end", "return"]).exec();
    panic!("{error}");
}

/// Executes a shell's script by another thread than the first, without tracing.
pub(crate) fn exec_by_thread(script: &str) {
    let script = script.to_owned();
    let execute = move || Command::new("sh").args(["-c", &script]).exec();
    let error = std::thread::spawn(execute).join().expect("the thread ends by the program");
    panic!("{error}");
}

/// Traces before, and after the run of a child that traces too.
pub(crate) fn parent() {
    let _trace = crate::init();
    trace_instant!("end", "parent before");
    assert!(myself().args(["end", "return"]).status().expect("the child starts").success());
    for number in 0..1000u64 {
        trace_instant!("end", "parent after", "number" => number);
    }
}

/// Starts a grandchild that traces after this command has ended.
pub(crate) fn daemon() {
    let command = std::process::id().to_string();
    let mut middle = myself()
        .args(["daemon-parent", &command])
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut said = [0; 6];
    middle
        .stdout
        .as_mut()
        .expect("it is a pipe")
        .read_exact(&mut said)
        .expect("the grandchild reports that it is a provider");
    middle.wait().expect("it can be waited for");
}

/// The process between the two, which ends at once.
#[expect(clippy::zombie_processes, reason = "the grandchild must lose its parent")]
pub(crate) fn daemon_parent(command: &str) {
    sys::new_session();
    myself()
        .args(["daemon-itself", command])
        .stdin(Stdio::null())
        .spawn()
        .expect("the grandchild starts");
}

/// The grandchild.
pub(crate) fn daemon_itself(command: i32) {
    let _trace = crate::init();
    say("ready");
    while sys::kill(command, 0) {
        std::thread::sleep(Duration::from_millis(1));
    }
    trace_instant!("end", "after the command");
}

/// An idle provider, until its standard input ends.
pub(crate) fn idle() {
    let _trace = crate::init();
    say("ready");
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input).expect("standard input can be read");
}

/// Traces continuously, until its standard input ends.
pub(crate) fn chatter() {
    let _trace = crate::init();
    say("ready");
    std::thread::spawn(|| {
        for number in 0u64.. {
            trace_instant!("chatter", "word", "number" => number);
            std::thread::sleep(Duration::from_micros(100));
        }
    });
    let mut input = Vec::new();
    std::io::stdin().read_to_end(&mut input).expect("standard input can be read");
    trace_instant!("chatter", "last word");
}

/// Ends by a signal, without a handler.
pub(crate) fn until_signal() {
    let _trace = crate::init();
    trace_instant!("end", "before signal");
    say("ready");
    std::thread::sleep(Duration::MAX);
}

/// Handles a signal, and exits with a code of its own.
pub(crate) fn handle_signal() {
    let trace = crate::init();
    for signal in [libc::SIGINT, libc::SIGTERM] {
        sys::handle(signal, sys::note_signal);
    }
    say("ready");
    while !sys::SIGNALLED.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(1));
    }
    trace_instant!("end", "after signal");
    drop(trace);
    std::process::exit(42);
}

/// Reports progress to the test.
fn say(line: &str) {
    println!("{line}");
    std::io::stdout().flush().expect("standard output can be written");
}
