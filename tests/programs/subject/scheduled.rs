//! Threads that sleep, wait for each other and change their CPUs, with the kernel's own counts of
//! their context switches.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Condvar, Mutex};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use rustix::process::{sched_getaffinity, sched_getcpu, sched_setaffinity, CpuSet};
use trace_runtime::{trace_duration, trace_instant, trace_thread_name};

use crate::sys;

/// The numbers of repetitions.
const SLEEPS: u64 = 20;
const ROUNDS: u64 = 200;
const HANDOVERS: u64 = 50;
const MOVES: u64 = 20;
const MARKERS: u64 = 50;
const OFFSETS: u64 = 200;
const SPINS: u64 = 20;

/// The time of a spin.
const SPIN: Duration = Duration::from_millis(2);

/// Runs the threads. Writes markers to the file `marker` if it exists.
pub(crate) fn run(marker: &Path) {
    let _trace = crate::init();
    let (left, right) = UnixStream::pair().expect("the system has sockets");
    let turn = (Mutex::new(0), Condvar::new());
    let (to_second, to_first) = (sys::pipe(), sys::pipe());
    thread::scope(|scope| {
        start(scope, "sleeper", sleep);
        start(scope, "ping", || play(left, true));
        start(scope, "pong", || play(right, false));
        start(scope, "first", || pass((to_first.0, to_second.1), true));
        start(scope, "second", || pass((to_second.0, to_first.1), false));
        start(scope, "spinner", spin);
        start(scope, "even", || take_turns(&turn, 0));
        start(scope, "odd", || take_turns(&turn, 1));
        start(scope, "mover", change_cpus);
        start(scope, "marker", || mark(marker));
    });
}

/// Starts a thread that records its counts at its start and its end.
fn start<'s>(scope: &'s Scope<'s, '_>, name: &'static str, work: impl FnOnce() + Send + 's) {
    scope.spawn(move || {
        trace_thread_name!(name);
        counters();
        work();
        counters();
    });
}

/// Records the kernel's counts of this thread: context switches that it caused and that others
/// caused, and how often it got a CPU.
fn counters() {
    loop {
        let before = counts();
        trace_instant!("scheduled", "counts", "voluntary" => before[0], "involuntary" => before[1],
            "arrivals" => before[2]);
        if counts() == before {
            return trace_instant!("scheduled", "counts are exact");
        }
    }
}

fn counts() -> [u64; 3] {
    let read = |name| fs::read_to_string(format!("/proc/thread-self/{name}")).expect("it exists");
    let (status, schedstat) = (read("status"), read("schedstat"));
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|number| number.trim().parse().ok()).expect("the kernel counts switches")
    };
    let arrivals = schedstat.split_whitespace().nth(2).and_then(|number| number.parse().ok());
    let arrivals = arrivals.expect("the third number of schedstat");
    [field("voluntary_ctxt_switches:"), field("nonvoluntary_ctxt_switches:"), arrivals]
}

fn sleep() {
    for number in 0..SLEEPS {
        trace_duration!("scheduled", "sleep", "number" => number);
        thread::sleep(Duration::from_millis(2));
    }
}

/// Sends a byte to and fro.
fn play(mut peer: UnixStream, is_first: bool) {
    let mut byte = [0];
    for number in 0..ROUNDS {
        trace_instant!("scheduled", "round", "number" => number);
        if is_first {
            peer.write_all(&byte).expect("the peer is open");
        }
        peer.read_exact(&mut byte).expect("the peer is open");
        if !is_first {
            peer.write_all(&byte).expect("the peer is open");
        }
    }
}

/// Sends a byte to and fro through two pipes.
fn pass((mut from, mut to): (File, File), is_first: bool) {
    let mut byte = [0];
    for number in 0..ROUNDS {
        trace_instant!("scheduled", "pass", "number" => number);
        if is_first {
            to.write_all(&byte).expect("the pipe is open");
        }
        from.read_exact(&mut byte).expect("the pipe is open");
        if !is_first {
            to.write_all(&byte).expect("the pipe is open");
        }
    }
}

/// Computes without a system call.
fn spin() {
    for number in 0..SPINS {
        trace_duration!("scheduled", "spin", "number" => number);
        let start = Instant::now();
        while start.elapsed() < SPIN {
            std::hint::spin_loop();
        }
    }
}

/// Takes every second turn.
fn take_turns((turn, changed): &(Mutex<u64>, Condvar), own: u64) {
    for number in 0..HANDOVERS {
        let turn = turn.lock().expect("no thread panics");
        let mut turn = changed.wait_while(turn, |turn| *turn % 2 != own).expect("as above");
        trace_instant!("scheduled", "turn", "number" => number);
        *turn += 1;
        changed.notify_one();
    }
}

/// Runs on each CPU in turn.
fn change_cpus() {
    let allowed = sched_getaffinity(None).expect("the kernel has affinities");
    let cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).cycle();
    for cpu in cpus.take(MOVES as usize) {
        let mut only = CpuSet::new();
        only.set(cpu);
        sched_setaffinity(None, &only).expect("the CPU is allowed");
        trace_instant!("scheduled", "moved", "cpu" => sched_getcpu() as u64);
    }
}

/// Writes a marker or gets another name between two events, in turn. Without a file of markers,
/// only names.
pub(crate) fn offsets(path: &Path) {
    let _trace = crate::init();
    let mut file = fs::OpenOptions::new().write(true).open(path).ok();
    for number in 0..OFFSETS {
        let text = format!("n{number}");
        match file.as_mut().filter(|_| number % 2 == 0) {
            Some(file) => {
                trace_instant!("offsets", "before", "number" => number);
                let written = file.write_all(text.as_bytes());
                trace_instant!("offsets", "after", "number" => number);
                written.expect("markers can be written");
            }
            None => {
                let name = std::ffi::CString::new(text).expect("a name");
                trace_instant!("offsets", "before", "number" => number);
                let named = rustix::thread::set_name(&name);
                trace_instant!("offsets", "after", "number" => number);
                named.expect("threads can be named");
            }
        }
    }
}

/// Writes markers between two events each.
fn mark(path: &Path) {
    let Ok(mut file) = fs::OpenOptions::new().write(true).open(path) else { return };
    for number in 0..MARKERS {
        let text = format!("marker {number}");
        trace_instant!("scheduled", "before marker", "number" => number);
        // One write is one marker.
        file.write_all(text.as_bytes()).expect("markers can be written");
        trace_instant!("scheduled", "after marker", "number" => number);
    }
}
