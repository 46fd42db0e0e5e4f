//! Times of threads from `/proc`, for users who may use neither tracefs nor perf events.
//!
//! Twenty times a second, `/proc/PID/task/TID/schedstat` of each thread is a counter record. Times
//! between two samples, and threads that live between them, are not recorded.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::sync::Arc;

use trace_format::{Argument, Event, EventKind, Thread, ThreadKoids, Value, WriteError};

use super::backend::{Backend, Output, Progress};
use super::cgroup::Cgroup;
use super::clock::{monotonic_raw, TraceClock};
use super::error::LiveError;
use super::processes;
use super::scope::Scope;
use crate::fxt::write_event;

/// The category of the counters.
const CATEGORY: &str = "kernel:sched";

/// The name of the counters.
const NAME: &str = "sampled schedstat";

/// Samples of the threads of some processes and their descendants.
#[derive(Debug)]
pub(super) struct Sampling {
    /// The control group whose threads are sampled in place of those of processes.
    cgroup: Option<Arc<Cgroup>>,
    /// The processes whose descendants are sampled.
    roots: Vec<u64>,
    /// The recorder. It and this process are not sampled.
    recorder: u64,
    sampled: HashSet<u64>,
    /// Processes that are not sampled.
    others: HashSet<u64>,
    samples: Vec<Sample>,
}

/// The times of a thread.
#[derive(Debug)]
struct Sample {
    ticks: u64,
    process: u64,
    thread: u64,
    name: Box<str>,
    times: Times,
}

/// The fields of `schedstat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Times {
    /// The time on a CPU in nanoseconds.
    run: u64,
    /// The time of waiting for a CPU in nanoseconds.
    wait: u64,
    /// How often it got a CPU.
    turns: u64,
}

impl Sampling {
    /// Samples the processes of these threads and the processes that they start, or a control
    /// group. Of this process's
    /// parent, only the processes that it starts are sampled.
    pub(super) fn new(scope: &Scope, threads: &[u64]) -> Result<Self, LiveError> {
        check()?;
        let cgroup = match scope {
            Scope::Cgroup(cgroup) => Some(Arc::clone(cgroup)),
            Scope::Machine | Scope::Threads(_) | Scope::Command(_) => None,
        };
        let families = threads.iter().filter_map(|thread| processes::family(*thread));
        let mut roots: Vec<u64> = families.map(|(process, _)| process).collect();
        roots.dedup();
        let own = u64::from(std::process::id());
        let recorder = processes::family(own).map_or(0, |(_, parent)| parent);
        let (sampled, others) = Default::default();
        Ok(Self { cgroup, roots, recorder, sampled, others, samples: Vec::new() })
    }

    /// Returns the threads that are sampled now, each with its process.
    fn threads(&mut self) -> io::Result<Vec<(u64, u64)>> {
        if let Some(cgroup) = &self.cgroup {
            let process = |thread| Some((processes::family(thread)?.0, thread));
            return Ok(cgroup.threads()?.into_iter().filter_map(process).collect());
        }
        self.update();
        let of = |process| processes::threads_of(process).into_iter().map(move |it| (process, it));
        Ok(self.sampled.iter().copied().flat_map(of).collect())
    }

    /// Adds the processes that have started, and removes those that have ended.
    fn update(&mut self) {
        let all: HashSet<u64> = processes::all().into_iter().collect();
        self.others.retain(|process| all.contains(process));
        self.sampled.retain(|process| all.contains(process));
        let is_new =
            |process: &u64| !self.others.contains(process) && !self.sampled.contains(process);
        let parent = |process| Some((process, processes::family(process)?.1));
        let mut new: Vec<(u64, u64)> = all.into_iter().filter(is_new).filter_map(parent).collect();
        // A parent may come after its child.
        loop {
            let count = new.len();
            new.retain(|(process, parent)| {
                let is_child = self.sampled.contains(parent) || self.roots.contains(parent);
                if is_child {
                    self.sampled.insert(*process);
                }
                !is_child
            });
            if new.len() == count {
                break;
            }
        }
        self.others.extend(new.into_iter().map(|(process, _)| process));
    }
}

impl Backend for Sampling {
    fn start(&mut self) -> Result<(), String> {
        let roots = self.roots.iter().filter(|root| **root != self.recorder);
        self.sampled = roots.copied().collect();
        self.others = processes::all().into_iter().collect();
        self.others.retain(|process| !self.sampled.contains(process));
        Ok(())
    }

    fn stop(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn read(&mut self, clock: &TraceClock, _now: u64) -> Progress {
        let threads = match self.threads() {
            Ok(threads) => threads,
            Err(error) => return Progress { has_more: false, result: Err(error.to_string()) },
        };
        for (process, thread) in threads {
            let ticks = clock.ticks(monotonic_raw());
            // The thread may end between these calls.
            let Some(times) = times(process, thread) else { continue };
            let name = processes::name(thread).unwrap_or_default();
            self.samples.push(Sample { ticks, process, thread, name, times });
        }
        Progress { has_more: false, result: Ok(()) }
    }

    fn write(&mut self, end: u64, output: &mut Output<'_, '_>) -> Result<(), String> {
        self.samples.sort_by_key(|sample| sample.ticks);
        let number = self.samples.partition_point(|sample| sample.ticks < end);
        let written = self.samples.drain(..number).map(|sample| sample.write(output));
        // All samples are written, also after an error.
        let written: Vec<Result<(), WriteError>> = written.collect();
        written.into_iter().collect::<Result<(), _>>().map_err(|error| error.to_string())
    }

    fn finish(&mut self, _now: u64, _output: &mut Output<'_, '_>) -> Result<(), String> {
        Ok(())
    }

    fn discard(&mut self) -> u64 {
        std::mem::take(&mut self.samples).len() as u64
    }
}

impl Sample {
    fn write(&self, output: &mut Output<'_, '_>) -> Result<(), WriteError> {
        let Output { translator, sink, .. } = output;
        translator.process(self.thread, self.process);
        translator.name(sink, self.thread, &self.name)?;
        let Times { run, wait, turns } = self.times;
        let arguments = [("run_ns", run), ("wait_ns", wait), ("turns", turns)];
        let arguments = arguments.map(|(name, value)| Argument::new(name, Value::Uint64(value)));
        let event = Event {
            ticks: self.ticks,
            thread: Thread::Inline(ThreadKoids::new(self.process, self.thread)),
            category: CATEGORY.into(),
            name: NAME.into(),
            kind: EventKind::Counter { id: self.thread },
            arguments: arguments[..].into(),
        };
        write_event(sink, event)
    }
}

/// Returns whether this kernel counts the times of threads.
///
/// # Errors
///
/// It does not.
fn check() -> Result<(), LiveError> {
    let own = u64::from(std::process::id());
    times(own, own).map(drop).ok_or(LiveError::NoSchedstat)
}

/// Returns the times of a thread, unless it has ended.
fn times(process: u64, thread: u64) -> Option<Times> {
    parse(&fs::read_to_string(format!("/proc/{process}/task/{thread}/schedstat")).ok()?)
}

fn parse(text: &str) -> Option<Times> {
    let mut numbers = text.split_whitespace().map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some(Times { run: next()?, wait: next()?, turns: next()? })
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn fields_of_schedstat() {
        assert_eq!(parse("12 3 4\n"), Some(Times { run: 12, wait: 3, turns: 4 }));
        for wrong in ["", "1 2", "1 x 3"] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }

    /// A shell starts `cat`, whose parent is found in the same round.
    #[test]
    fn descendants_are_sampled() {
        let mut sampling =
            Sampling::new(&Scope::Machine, &[u64::from(std::process::id())]).unwrap();
        let mut earlier = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        sampling.start().unwrap();
        let mut shell = Command::new("sh");
        shell.args(["-c", "cat; exit 0"]).stdin(Stdio::piped());
        let mut shell = shell.spawn().unwrap();
        let is_descendant = |process: u64| {
            processes::family(process).is_some_and(|(_, parent)| parent == u64::from(shell.id()))
        };
        while !processes::all().into_iter().any(is_descendant) {
            std::thread::yield_now();
        }
        sampling.update();
        assert!(sampling.sampled.contains(&u64::from(shell.id())));
        assert!(sampling.sampled.iter().any(|process| is_descendant(*process)));
        assert!(!sampling.sampled.contains(&u64::from(earlier.id())));
        for process in [&mut earlier, &mut shell] {
            drop(process.stdin.take());
            process.wait().unwrap();
        }
        sampling.update();
        assert!(!sampling.sampled.contains(&u64::from(shell.id())));
    }
}
