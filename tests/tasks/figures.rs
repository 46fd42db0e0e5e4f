//! A thousand tasks on two threads: their times in the archive equal their own measurements.
//!
//! A task measures from inside, at its first and last line and around each of its polls. A wrapper
//! of the traced future measures from outside. The archive's times are in between. The test does
//! not depend on the load: preemption affects both measurements.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use trace_runtime::{trace_future_args, TraceFutureExt};

use crate::found::Task;
use crate::Recording;

const TASKS: u64 = 1000;
/// The CPU time of a task: most of the time of its polls.
const BURNS: u32 = 4;
const BURN: Duration = Duration::from_micros(250);
/// The tolerance between the clocks: the archive's clock is calibrated against the system's during
/// the recording.
const CLOCKS: Duration = Duration::from_micros(200);
const MILLISECOND: Duration = Duration::from_millis(1);

/// The measurements of one task.
#[derive(Debug, Default, Clone, Copy)]
struct Measured {
    /// From the first line of the task to its last.
    inner_wall: Duration,
    /// From before the first poll to after the last.
    outer_wall: Duration,
    /// All polls, from inside and from outside.
    inner_polls: Duration,
    outer_polls: Duration,
    /// CPU time of all polls, from inside and from outside.
    inner_cpu: Duration,
    outer_cpu: Duration,
}

/// The measurements by task number.
type Notes = Arc<Vec<Mutex<Measured>>>;

/// Returns the CPU time of the calling thread.
fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Uses this much CPU time.
fn burn(how_long: Duration) {
    let end = thread_cpu() + how_long;
    while thread_cpu() < end {
        std::hint::spin_loop();
    }
}

/// A future whose polls are measured from outside.
struct MeasuredFuture<F> {
    future: Pin<Box<F>>,
    started: Option<Instant>,
    note: Note,
    notes: Notes,
    number: u64,
}

/// Stores the measurements of one poll.
type Note = Box<dyn Fn(&mut Measured, Around) + Send>;

/// The measurements of one poll.
struct Around {
    since_first: Duration,
    poll: Duration,
    cpu: Duration,
}

impl<F: Future> Future for MeasuredFuture<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let (cpu, start) = (thread_cpu(), Instant::now());
        let first = *self.started.get_or_insert(start);
        let result = self.future.as_mut().poll(context);
        let end = Instant::now();
        let around =
            Around { since_first: end - first, poll: end - start, cpu: thread_cpu() - cpu };
        (self.note)(&mut self.notes[self.number as usize].lock().unwrap(), around);
        result
    }
}

fn measured<F: Future>(
    future: F,
    notes: &Notes,
    number: u64,
    note: impl Fn(&mut Measured, Around) + Send + 'static,
) -> MeasuredFuture<F> {
    let (note, notes) = (Box::new(note), Arc::clone(notes));
    MeasuredFuture { future: Box::pin(future), started: None, note, notes, number }
}

async fn work(number: u64) {
    for round in 0..BURNS {
        burn(BURN);
        tokio::time::sleep(Duration::from_millis(u64::from(round) + number % 7)).await;
    }
}

/// Returns whether the task is dropped while it sleeps: every tenth one.
fn is_dropped(number: u64) -> bool {
    number % 10 == 9
}

async fn traced(number: u64, notes: Notes) {
    let inner = measured(work(number), &notes, number, |measured, around| {
        measured.inner_wall = around.since_first;
        measured.inner_polls += around.poll;
        measured.inner_cpu += around.cpu;
    });
    let traced = inner.trace(trace_future_args!("test", "task", "number" => number));
    let outer = measured(traced, &notes, number, |measured, around| {
        measured.outer_wall = around.since_first;
        measured.outer_polls += around.poll;
        measured.outer_cpu += around.cpu;
    });
    if is_dropped(number) {
        let _dropped = tokio::time::timeout(Duration::from_millis(3), outer).await;
    } else {
        outer.await;
    }
}

fn run(notes: &Notes) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(async {
        let all: Vec<_> =
            (0..TASKS).map(|number| tokio::spawn(traced(number, Arc::clone(notes)))).collect();
        for task in all {
            task.await.unwrap();
        }
    });
}

#[test]
fn the_times_of_a_thousand_tasks_are_right() {
    let notes: Notes = Arc::new((0..TASKS).map(|_| Mutex::default()).collect());
    let recording = Recording::start();
    run(&notes);
    // Fails if two tasks share a track.
    let tasks = recording.tasks();
    let tasks = tasks.named("task");
    assert_eq!(tasks.len(), TASKS as usize);
    let measured = |task: &Task| *notes[task.numbers["number"] as usize].lock().unwrap();
    let pairs: Vec<_> = tasks.into_iter().map(|task| (task, measured(task))).collect();
    check_ends(&pairs);
    check_wall(&pairs);
    check_cpu(&pairs);
}

fn check_ends(pairs: &[(&Task, Measured)]) {
    for (task, _) in pairs {
        let state = task.state();
        // On a slow machine, a task may be ready before it is dropped.
        let dropped = is_dropped(task.numbers["number"]);
        assert!(state == "ready" || dropped && state == "cancelled", "{task:?}");
    }
    assert!(pairs.iter().any(|(task, _)| task.state() == "cancelled"));
}

/// Checks that the wall-clock time of each task equals its own measurement, to a millisecond.
fn check_wall(pairs: &[(&Task, Measured)]) {
    let ready = pairs.iter().filter(|(task, _)| task.state() == "ready");
    let mut close = 0;
    let mut all = 0;
    for (task, measured) in ready {
        let wall = Duration::from_nanos(task.wall_nanos());
        let (inner, outer) = (measured.inner_wall, measured.outer_wall);
        assert!(inner <= wall + CLOCKS && wall <= outer + CLOCKS, "{wall:?} {measured:?}");
        all += 1;
        close += usize::from(wall.abs_diff(inner) <= MILLISECOND);
        // A larger difference means preemption, which the outside measurement includes.
        assert!(wall.abs_diff(inner) <= MILLISECOND + (outer - inner), "{wall:?} {measured:?}");
    }
    assert!(close * 100 >= all * 99, "{close} of {all} within a millisecond");
}

/// Checks that the sum of the polls equals the CPU time to 5 %, without the time of preemptions.
fn check_cpu(pairs: &[(&Task, Measured)]) {
    let sum = |of: &dyn Fn(&(&Task, Measured)) -> Duration| pairs.iter().map(of).sum::<Duration>();
    let polls = sum(&|(task, _)| Duration::from_nanos(task.poll_nanos()));
    let (inner, outer) = (sum(&|(_, m)| m.inner_polls), sum(&|(_, m)| m.outer_polls));
    assert!(inner <= polls + CLOCKS && polls <= outer + CLOCKS, "{inner:?} {polls:?} {outer:?}");
    let cpu = sum(&|(_, m)| m.outer_cpu);
    assert!(cpu > BURN * BURNS * TASKS as u32 / 2, "the tasks have computed: {cpu:?}");
    // Bounds of the preempted time in the polls. They differ by the time of preemptions between the
    // two measurements.
    let least = inner.saturating_sub(sum(&|(_, m)| m.inner_cpu));
    let most = outer.saturating_sub(cpu);
    let [least, most] =
        [most, least].map(|taken| polls.saturating_sub(taken).as_secs_f64() / cpu.as_secs_f64());
    eprintln!(
        "polls {polls:?}, CPU time {cpu:?}: without preemptions {least:.4} to {most:.4} of it"
    );
    assert!(least <= 1.05 && most >= 0.95, "{polls:?} in polls, {cpu:?} of CPU time");
    if most - least < 0.02 {
        assert!(least >= 0.95 && most <= 1.05, "{polls:?} in polls, {cpu:?} of CPU time");
    }
}
