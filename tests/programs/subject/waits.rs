//! A thread that computes, sleeps, waits for another thread, and shares its CPU with it, with the
//! kernel's own sums of its times.

use std::fs;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::thread;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;
use rustix::process::{sched_getaffinity, sched_setaffinity, CpuSet};
use rustix::time::{clock_gettime, ClockId};
use trace_runtime::{trace_duration, trace_instant, trace_thread_name};

const REPETITIONS: u64 = 5;
const LENGTH: Duration = Duration::from_millis(20);

/// What the other thread does next.
enum Order {
    Compute,
    Answer,
}

/// Runs both threads on one CPU.
pub(crate) fn run() {
    let _trace = crate::init();
    use_one_cpu();
    let (orders, received) = channel();
    let (answers, answered) = channel();
    thread::scope(|scope| {
        scope.spawn(|| rival(received, answers));
        scope.spawn(|| worker(orders, answered));
    });
}

fn use_one_cpu() {
    let allowed = sched_getaffinity(None).expect("the kernel has affinities");
    let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu));
    let mut only = CpuSet::new();
    only.set(first.expect("a CPU is allowed"));
    sched_setaffinity(None, &only).expect("the CPU is allowed");
}

fn rival(orders: Receiver<Order>, answers: Sender<()>) {
    trace_thread_name!("rival");
    for order in orders {
        compute();
        if let Order::Answer = order {
            answers.send(()).expect("the worker waits");
        }
    }
}

fn worker(orders: Sender<Order>, answers: Receiver<()>) {
    trace_thread_name!("worker");
    for _ in 0..REPETITIONS {
        measure("compute", compute);
        measure("sleep", || thread::sleep(LENGTH));
        orders.send(Order::Answer).expect("the rival runs");
        measure("wait", || answers.recv().expect("the rival answers"));
        orders.send(Order::Compute).expect("the rival runs");
        measure("compete", compute);
    }
}

/// Takes CPU time.
fn compute() {
    let end = cpu_time() + LENGTH;
    while cpu_time() < end {}
}

/// Records a scope, and then the time for which the kernel ran the thread in it, and let it wait
/// for a CPU: at least between the readings within the scope, and at most between those around it.
fn measure(what: &'static str, work: impl FnOnce()) {
    let (stolen, around) = (stolen(), Times::read());
    let within = {
        trace_duration!("waits", "part", "what" => what);
        let within = Times::read();
        work();
        within.elapsed()
    };
    let (around, stolen) = (around.elapsed(), self::stolen() - stolen);
    trace_instant!("waits", "times", "least_run" => within.run, "most_run" => around.run,
        "least_runnable" => within.runnable, "most_runnable" => around.runnable,
        "stolen" => stolen);
}

/// What the kernel has counted for the thread so far, in nanoseconds.
struct Times {
    /// Without the time that a hypervisor took.
    run: u64,
    runnable: u64,
}

impl Times {
    fn read() -> Self {
        Self { run: cpu_time().as_nanos() as u64, runnable: delay() }
    }

    /// Returns the times since then.
    fn elapsed(&self) -> Self {
        let now = Self::read();
        Self { run: now.run - self.run, runnable: now.runnable - self.runnable }
    }
}

fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Returns for how many nanoseconds the thread has waited for a CPU so far.
fn delay() -> u64 {
    let times = fs::read_to_string("/proc/thread-self/schedstat").expect("it exists");
    let delay = times.split_whitespace().nth(1).and_then(|number| number.parse().ok());
    delay.expect("the second number of schedstat")
}

/// Returns for how many nanoseconds a hypervisor has run something else while a CPU had work.
fn stolen() -> u64 {
    let stat = fs::read_to_string("/proc/stat").expect("it exists");
    let ticks = stat.split_whitespace().nth(8).and_then(|number| number.parse::<u64>().ok());
    ticks.expect("the eighth number of the first line") * 1_000_000_000 / clock_ticks_per_second()
}
