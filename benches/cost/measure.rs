//! Measurement of interleaved loops, in CPU time of their thread.

use std::sync::Barrier;

use crate::more;
use crate::points::{self, Loop};

/// Trace points in a loop.
const COUNT: u64 = 20_000;
/// Repetitions of each loop; the fastest is reported.
const REPETITIONS: usize = 60;

/// The cost of a loop.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Figure {
    pub(crate) what: &'static str,
    /// Nanoseconds of CPU time for one trace point.
    pub(crate) minimum: f64,
    pub(crate) median: f64,
    /// The baseline to subtract or compare with.
    pub(crate) base: Base,
}

/// The baseline of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Base {
    /// None: the loop is a baseline itself.
    Itself,
    /// The difference to an empty loop.
    Empty,
    /// This number of reads of the clock.
    Clocks(f64),
    /// This number of reads of the clock, and a call.
    ClocksAndCall(f64),
    /// The difference to another loop.
    Beyond(&'static str),
    /// The ratio to another loop.
    Loop(&'static str),
}

/// The polls of a plain future, and of one whose macros write the records of a traced future.
const POLL: &str = "poll of a future";
const RECORDS: &str = "poll with the same records by macros";

const LOOPS: [(&str, Loop, Base); 24] = [
    ("raw clock read", points::clock, Base::Itself),
    ("empty loop", points::empty, Base::Itself),
    ("function call", points::call, Base::Itself),
    ("off", points::off, Base::Empty),
    ("off, with arguments", points::off_with_arguments, Base::Empty),
    ("scope", points::scope, Base::Clocks(2.0)),
    ("`#[trace_fn]`", points::attribute, Base::ClocksAndCall(2.0)),
    ("scope, one i64 and one short &str", points::scope_with_arguments, Base::Clocks(2.0)),
    ("instant", points::instant, Base::Clocks(1.0)),
    ("counter, one i64", points::counter, Base::Clocks(1.0)),
    ("instant at a known time", points::known_time, Base::Clocks(1.0)),
    ("instant on a track", points::track_instant, Base::Clocks(1.0)),
    ("scope on a track", points::track_scope, Base::Clocks(2.0)),
    ("flow event with its own duration", points::instaflow, Base::Clocks(1.0)),
    ("log, one number formatted", points::log, Base::Clocks(1.0)),
    ("blob event, 1 KiB", points::blob_event, Base::Clocks(1.0)),
    ("an `Instant` as a timestamp", points::conversion, Base::Clocks(1.0)),
    ("async begin", more::async_begin, Base::Clocks(1.0)),
    ("userspace object", more::object, Base::Clocks(1.0)),
    ("nonce", more::nonce, Base::Clocks(1.0)),
    (POLL, points::polls_untraced, Base::Itself),
    ("poll of a traced future, off", points::polls_off, Base::Beyond(POLL)),
    (RECORDS, points::records_of_polls, Base::Clocks(3.0)),
    ("poll of a traced future", points::polls_traced, Base::Loop(RECORDS)),
];

/// Measures everything.
pub(crate) fn figures() -> Vec<Figure> {
    let mut samples: Vec<Vec<f64>> = LOOPS.iter().map(|_| Vec::new()).collect();
    let mut pairs = Vec::new();
    for (_, run, _) in &LOOPS {
        time(*run);
    }
    for _ in 0..REPETITIONS {
        for ((_, run, _), samples) in LOOPS.iter().zip(&mut samples) {
            samples.push(time(*run));
        }
        pairs.push(time_on_two_threads(points::scope));
    }
    let names = LOOPS.iter().map(|(what, _, base)| (*what, *base));
    let names = names.chain([("scope, two threads", Base::Clocks(2.0))]);
    samples.push(pairs);
    names.zip(samples).map(|((what, base), samples)| figure(what, base, samples)).collect()
}

fn figure(what: &'static str, base: Base, mut samples: Vec<f64>) -> Figure {
    samples.sort_by(f64::total_cmp);
    Figure { what, minimum: samples[0], median: samples[samples.len() / 2], base }
}

fn time(run: Loop) -> f64 {
    let start = thread_cpu_nanos();
    run(COUNT);
    (thread_cpu_nanos() - start) as f64 / COUNT as f64
}

fn time_on_two_threads(run: Loop) -> f64 {
    let barrier = Barrier::new(2);
    let timed = || {
        run(COUNT / 10);
        barrier.wait();
        time(run)
    };
    std::thread::scope(|scope| {
        let other = scope.spawn(timed);
        let mine = timed();
        (mine + other.join().expect("the loop does not panic")) / 2.0
    })
}

/// Returns the CPU time of this thread in nanoseconds.
fn thread_cpu_nanos() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Reads the clock of timestamps once.
#[inline(always)]
pub(crate) fn raw_clock() -> u64 {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: every x86-64 processor has the instruction.
    unsafe {
        core::arch::x86_64::_rdtsc()
    }
    #[cfg(not(target_arch = "x86_64"))]
    trace_protocol::counter::read().unwrap_or(0)
}
