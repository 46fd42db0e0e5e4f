//! A thread that computes, sleeps, waits for another thread, and shares its CPU with it, with the
//! kernel's own sums of its times.

use std::fs;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::thread;
use std::time::Duration;

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
/// for a CPU.
fn measure(what: &'static str, work: impl FnOnce()) {
    let before = (cpu_time(), delay());
    {
        trace_duration!("waits", "part", "what" => what);
        work();
    }
    let (run, delayed) = (cpu_time() - before.0, delay() - before.1);
    trace_instant!("waits", "times", "run" => run.as_nanos() as u64, "runnable" => delayed);
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
