//! The states of threads between scheduling records.
//!
//! ```text
//!            wake-up                 switch to it
//!  blocked ───────────► runnable ───────────────────► running
//!     ▲                    ▲       switch from it,       │
//!     │                    └───────── runnable ──────────┤
//!     └──────────────── switch from it, blocked ─────────┘
//! ```
//!
//! The state of a thread before its first record is unknown, and so are the states of all threads
//! while the recording is paused.
//!
//! A thread that the wake-up of a record finds running is woken up before it has left its CPU: if
//! its next switch has no other wake-up, it is runnable from the switch on.
//!
//! A switch is missing if a CPU leaves a thread that it did not run. Some kernels of virtual
//! machines write no switches from the idle thread of a CPU. The outgoing thread then ran since it
//! became runnable, or since the last switch of the CPU if that is later.

use trace_format::layout::ThreadState;

use super::steps::{Step, StepKind, Steps};

/// A time of a thread in one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Interval {
    pub(super) thread: u32,
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) activity: Activity,
}

/// The state of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Activity {
    Running {
        /// The number of the CPU.
        cpu: u32,
    },
    /// The thread waits for a CPU.
    Runnable {
        reason: Reason,
        /// Whether the end of the wait is recorded.
        is_complete: bool,
    },
    Blocked,
}

/// Why a thread waits for a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reason {
    /// It was woken up.
    Woken,
    /// Another thread got its CPU, or none.
    Preempted(Option<u32>),
}

#[derive(Debug, Clone, Copy, Default)]
enum State {
    #[default]
    Unknown,
    Running {
        from: u64,
        exit: Option<u64>,
        cpu: u32,
    },
    Runnable {
        from: u64,
        reason: Reason,
    },
    Blocked {
        from: u64,
        was_woken: bool,
    },
}

#[derive(Debug, Clone, Copy, Default)]
struct Thread {
    state: State,
    /// A wake-up found it running.
    was_woken: bool,
    missing: u64,
    /// The end of its last interval.
    last: u64,
}

/// What a CPU does since a time.
#[derive(Debug, Clone, Copy)]
struct Turn {
    thread: Option<u32>,
    from: u64,
}

impl State {
    /// Returns the begin of and the reason for a wait for a CPU, if this is one.
    fn wait(self) -> Option<(u64, Reason)> {
        match self {
            Self::Runnable { from, reason } => Some((from, reason)),
            Self::Blocked { from, was_woken: true } => Some((from, Reason::Woken)),
            _ => None,
        }
    }
}

struct Replay<V> {
    threads: Vec<Thread>,
    cpus: Vec<Option<Turn>>,
    start: u64,
    visit: V,
}

/// Calls `visit` with the states of all threads, those of one thread in the order of time. States
/// at the end of the records last until `end`, or until [`Steps::end`]. In a slice, states can
/// begin before [`Steps::start`]. Returns the number of missing switches of each
/// thread.
pub(super) fn replay(steps: &mut Steps, end: Option<u64>, visit: impl FnMut(Interval)) -> Vec<u64> {
    let (threads, cpus) = (steps.threads().len(), steps.cpus());
    let (start, end) = (steps.start(), end.unwrap_or_else(|| steps.end()));
    let list = steps.sorted();
    let threads = vec![Thread::default(); threads];
    let mut replay = Replay { threads, cpus: vec![None; cpus], start, visit };
    list.iter().for_each(|step| replay.step(step));
    replay.finish(end);
    replay.threads.iter().map(|thread| thread.missing).collect()
}

impl<V: FnMut(Interval)> Replay<V> {
    fn step(&mut self, step: &Step) {
        match step.kind {
            StepKind::Switch { cpu, outgoing, state, incoming } => {
                let turn = Turn { thread: incoming, from: step.time };
                let place = self.cpus.get_mut(cpu as usize);
                let last = place.and_then(|place| place.replace(turn));
                self.correct(cpu, last, outgoing);
                if let Some(thread) = outgoing {
                    self.depart(thread, step.time, (state, incoming));
                }
                if let Some(thread) = incoming {
                    self.arrive(thread, step.time, cpu);
                }
            }
            StepKind::Wakeup { thread, .. } => self.wake(thread, step.time),
            StepKind::Arrived { thread, cpu } => self.arrived(thread, step.time, cpu),
            StepKind::Left { thread: number, state, by, was_woken } => {
                let thread = self.thread(number);
                if matches!(thread.state, State::Unknown) {
                    thread.was_woken = was_woken;
                    self.depart(number, step.time, (state, by));
                }
            }
            StepKind::Gap { to, .. } => self.interrupt(step.time, to),
            StepKind::Exit(thread) => {
                if let State::Running { exit, .. } = &mut self.thread(thread).state {
                    *exit = Some(step.time);
                }
            }
        }
    }

    /// Begins a turn before the slice, unless records of another recording are there.
    fn arrived(&mut self, number: u32, time: u64, cpu: u32) {
        let turn = Turn { thread: Some(number), from: time };
        let is_unknown = matches!(self.thread(number).state, State::Unknown);
        if let Some(place @ None) = self.cpus.get_mut(cpu as usize).filter(|_| is_unknown) {
            *place = Some(turn);
            self.thread(number).state = State::Running { from: time, exit: None, cpu };
        }
    }

    /// Makes up for the missing switch between the last one of a CPU and a switch from `outgoing`.
    fn correct(&mut self, cpu: u32, last: Option<Turn>, outgoing: Option<u32>) {
        if last.is_some_and(|last| last.thread == outgoing) {
            return;
        }
        if let Some(Turn { thread: Some(thread), from }) = last {
            self.lose(thread, from);
        }
        if let Some(thread) = outgoing {
            self.estimate(thread, cpu, last.map(|last| last.from));
        }
    }

    /// Ends the turn of a thread at an unknown time, unless the thread has left the CPU already.
    fn lose(&mut self, number: u32, turn: u64) {
        let thread = self.thread(number);
        let State::Running { from, exit, cpu } = thread.state else { return };
        if from != turn {
            return;
        }
        thread.state = State::Unknown;
        match exit {
            Some(to) => self.report(number, (from, to), Activity::Running { cpu }),
            None => thread.missing += 1,
        }
    }

    /// Begins a turn of a thread at an estimated time: the switch to it is missing. `since` is the
    /// CPU's last switch.
    fn estimate(&mut self, number: u32, cpu: u32, since: Option<u64>) {
        let start = self.start;
        let thread = self.thread(number);
        let is_first = since.is_none();
        let was_seen = !matches!(thread.state, State::Unknown);
        thread.missing += u64::from(was_seen || !is_first);
        let before = std::mem::take(&mut thread.state);
        let ready = match before.wait() {
            Some((ready, _)) => ready,
            // The CPU has run the thread since the first record, or since it left another CPU.
            None => match before {
                State::Unknown if is_first => start.max(thread.last),
                State::Blocked { from, .. } if is_first => from,
                _ => return,
            },
        };
        let from = since.map_or(ready, |since| since.max(ready));
        thread.state = State::Running { from, exit: None, cpu };
        if let Some((_, reason)) = before.wait() {
            let activity = Activity::Runnable { reason, is_complete: false };
            self.report(number, (ready, from), activity);
        }
    }

    fn depart(&mut self, number: u32, time: u64, (state, by): (ThreadState, Option<u32>)) {
        let thread = self.thread(number);
        let was_woken = std::mem::take(&mut thread.was_woken);
        let before = thread.state;
        thread.state = match state {
            ThreadState::RUNNING => State::Runnable { from: time, reason: Reason::Preempted(by) },
            ThreadState::DYING | ThreadState::DEAD => State::Unknown,
            _ => State::Blocked { from: time, was_woken },
        };
        if let State::Running { from, cpu, .. } = before {
            self.report(number, (from, time), Activity::Running { cpu });
        }
    }

    fn arrive(&mut self, number: u32, time: u64, cpu: u32) {
        let thread = self.thread(number);
        let running = State::Running { from: time, exit: None, cpu };
        let before = std::mem::replace(&mut thread.state, running);
        thread.was_woken = false;
        if let Some((from, reason)) = before.wait() {
            let activity = Activity::Runnable { reason, is_complete: true };
            return self.report(number, (from, time), activity);
        }
        match before {
            State::Running { .. } => thread.missing += 1,
            State::Blocked { from, .. } => self.report(number, (from, time), Activity::Blocked),
            _ => {}
        }
    }

    fn wake(&mut self, number: u32, time: u64) {
        let thread = self.thread(number);
        let woken = State::Runnable { from: time, reason: Reason::Woken };
        match thread.state {
            State::Running { .. } => thread.was_woken = true,
            State::Unknown => thread.state = woken,
            State::Blocked { from, .. } => {
                thread.state = woken;
                self.report(number, (from, time), Activity::Blocked);
            }
            State::Runnable { .. } => {}
        }
    }

    /// Ends all states at the begin of a gap. CPUs may have run the threads that they leave first
    /// since its end.
    fn interrupt(&mut self, from: u64, to: u64) {
        self.finish(from);
        self.threads.iter_mut().for_each(|thread| thread.was_woken = false);
        self.cpus.fill(None);
        self.start = self.start.max(to);
    }

    /// Ends all states.
    fn finish(&mut self, end: u64) {
        for number in 0..self.threads.len() as u32 {
            let state = std::mem::take(&mut self.thread(number).state);
            let (from, to, activity) = match (state, state.wait()) {
                (_, Some((from, reason))) => {
                    (from, end, Activity::Runnable { reason, is_complete: false })
                }
                (State::Running { from, exit, cpu }, _) => {
                    (from, exit.unwrap_or(end), Activity::Running { cpu })
                }
                (State::Blocked { from, .. }, _) => (from, end, Activity::Blocked),
                _ => continue,
            };
            self.report(number, (from, to), activity);
        }
    }

    fn report(&mut self, thread: u32, (from, to): (u64, u64), activity: Activity) {
        let to = to.max(from);
        self.thread(thread).last = to;
        (self.visit)(Interval { thread, from, to, activity });
    }

    /// The numbers of threads are those of the steps.
    fn thread(&mut self, number: u32) -> &mut Thread {
        &mut self.threads[number as usize]
    }
}

#[cfg(test)]
mod tests;
