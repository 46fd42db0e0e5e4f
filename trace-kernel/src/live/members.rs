//! The threads of a control group while it is recorded by tracefs.
//!
//! The kernel selects events by a list of thread ids. It adds the threads and processes that the
//! listed ones start, and removes those that end. Each round adds the threads that have been moved
//! into the group. Those that have been moved out stay in the list, and their events are left out:
//! a list that is replaced would lack the threads that start meanwhile.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::cgroup::Cgroup;
use super::instance::Instance;
use crate::event::{Entry, Event};

/// The file with the kernel's list of thread ids.
pub(super) const EVENT_PID: &str = "set_event_pid";

/// The least time between two looks at the group.
const INTERVAL: Duration = Duration::from_millis(50);

/// A control group that is recorded.
#[derive(Debug)]
pub(super) struct Group {
    cgroup: Arc<Cgroup>,
    pub(super) members: Members,
    /// The threads that have been moved into it since the last call of [`joined`](Self::joined).
    joined: Vec<u64>,
    last: Option<Instant>,
}

impl Group {
    /// Records a group with these threads, which are in the kernel's list.
    pub(super) fn new(cgroup: Arc<Cgroup>, threads: &[u64]) -> Self {
        let members = Members::new(threads.iter().copied());
        Self { cgroup, members, joined: Vec::new(), last: None }
    }

    /// Starts a recording, in which all threads of the group are new.
    pub(super) fn start(&mut self) {
        self.joined = self.members.threads.keys().copied().collect();
    }

    /// Adds the threads that have been moved into the group to the kernel's list, after the ticks
    /// `now`.
    pub(super) fn update(&mut self, instance: &Instance, now: u64) -> Result<(), String> {
        if self.last.is_some_and(|last| last.elapsed() < INTERVAL) {
            return Ok(());
        }
        self.last = Some(Instant::now());
        let found = self.cgroup.threads();
        let found = found.map_err(|error| format!("{}: {error}", self.cgroup.path().display()))?;
        let new = self.members.update(&found, now);
        if !new.is_empty() {
            let added = instance.append(EVENT_PID, &thread_list(&new));
            added.map_err(|error| error.to_string())?;
        }
        self.joined.extend(new);
        Ok(())
    }

    /// Returns the threads that have been moved into the group, once.
    pub(super) fn joined(&mut self) -> std::vec::Drain<'_, u64> {
        self.joined.drain(..)
    }
}

/// Returns a list of threads for the kernel.
pub(super) fn thread_list(threads: &[u64]) -> String {
    let threads: Vec<String> = threads.iter().map(u64::to_string).collect();
    threads.join(" ")
}

/// The threads of a control group.
#[derive(Debug)]
pub(super) struct Members {
    /// The threads whose events are recorded. Those that have left the group, or ended, have the
    /// ticks from which on their events are not.
    threads: HashMap<u64, Option<u64>>,
    /// The threads that were not in the group in the last round.
    missing: HashSet<u64>,
}

impl Members {
    /// Creates the list of a group that has these threads.
    pub(super) fn new(threads: impl IntoIterator<Item = u64>) -> Self {
        let threads = threads.into_iter().map(|thread| (thread, None)).collect();
        Self { threads, missing: HashSet::new() }
    }

    /// Notes the threads that the group has after the ticks `now`. Returns those that are new.
    pub(super) fn update(&mut self, found: &HashSet<u64>, now: u64) -> Vec<u64> {
        let Self { threads, missing } = self;
        // They were missing before `now`, which is after all of their events in the group.
        for thread in missing.drain().filter(|thread| !found.contains(thread)) {
            if let Some(left @ None) = threads.get_mut(&thread) {
                *left = Some(now);
            }
        }
        let is_in =
            |threads: &HashMap<u64, Option<u64>>, thread| threads.get(thread) == Some(&None);
        let new = found.iter().filter(|thread| !is_in(threads, thread));
        let new: Vec<u64> = new.copied().collect();
        threads.extend(new.iter().map(|thread| (*thread, None)));
        let is_missing = |(thread, left): (&u64, &Option<u64>)| {
            (left.is_none() && !found.contains(thread)).then_some(*thread)
        };
        missing.extend(threads.iter().filter_map(is_missing));
        new
    }

    /// Forgets the threads that had left before `end`. The events before it have been visited.
    pub(super) fn forget(&mut self, end: u64) {
        self.threads.retain(|_, left| left.is_none_or(|left| left >= end));
    }

    /// Returns whether an event is one of the group's threads. Events have to be in the order of
    /// time.
    pub(super) fn has(&mut self, entry: &Entry<'_>) -> bool {
        let Entry { ticks, thread, .. } = *entry;
        let is_in = self.has_thread(thread, ticks);
        match entry.event {
            Event::NewTask { child, .. } if is_in => {
                self.threads.insert(child, None);
            }
            // The id was one of the group's threads before.
            Event::NewTask { child, .. } => {
                self.threads.remove(&child);
            }
            _ => {}
        }
        is_in || others(&entry.event).into_iter().flatten().any(|it| self.has_thread(it, ticks))
    }

    fn has_thread(&self, thread: u64, ticks: u64) -> bool {
        self.threads.get(&thread).is_some_and(|left| left.is_none_or(|left| ticks < left))
    }
}

/// Returns the threads of an event by which the kernel selects it, beside the one that ran.
fn others(event: &Event<'_>) -> [Option<u64>; 2] {
    match event {
        Event::Switch { outgoing, incoming, .. } => [Some(outgoing.thread), Some(incoming.thread)],
        Event::Waking { task, .. } | Event::Wakeup { task, .. } => [Some(task.thread), None],
        _ => [None, None],
    }
}

#[cfg(test)]
mod tests {
    use trace_format::layout::ThreadState;

    use super::*;
    use crate::event::{Context, Task};

    fn task(thread: u64) -> Task<'static> {
        Task { name: "", thread, priority: None }
    }

    fn at<'a>(ticks: u64, thread: u64, event: Event<'a>) -> Entry<'a> {
        Entry { ticks, cpu: 0, thread, context: Context::Thread, event }
    }

    fn switch(ticks: u64, from: u64, to: u64) -> Entry<'static> {
        let (outgoing, state, incoming) = (task(from), ThreadState::BLOCKED, task(to));
        at(ticks, from, Event::Switch { outgoing, state, incoming })
    }

    #[test]
    fn switches_from_and_to_members_are_theirs() {
        let mut members = Members::new([7]);
        assert!(members.has(&switch(1, 7, 9)) && members.has(&switch(2, 9, 7)));
        assert!(!members.has(&switch(3, 9, 0)));
        let waking = |task| Event::Waking { task, cpu: 0 };
        assert!(members.has(&at(4, 9, waking(task(7)))) && members.has(&at(4, 7, waking(task(9)))));
        assert!(!members.has(&at(5, 9, waking(task(8)))));
    }

    #[test]
    fn children_are_members_from_their_start() {
        let mut members = Members::new([7]);
        let start = |child| Event::NewTask { child, name: "", is_in_process: false };
        assert!(members.has(&at(1, 7, start(8))) && members.has(&switch(2, 8, 0)));
        assert!(!members.has(&at(3, 9, start(10))) && !members.has(&switch(4, 10, 0)));
        // The id is used again outside of the group.
        assert!(!members.has(&at(5, 9, start(8))) && !members.has(&switch(6, 8, 0)));
    }

    #[test]
    fn threads_that_are_moved_join_and_leave() {
        let mut members = Members::new([7, 8]);
        let found = |threads: &[u64]| threads.iter().copied().collect::<HashSet<u64>>();
        assert_eq!(members.update(&found(&[7, 9]), 10), [9]);
        assert!(members.has(&switch(11, 9, 0)), "it has joined");
        assert!(members.has(&switch(12, 8, 0)), "it may have left after the time of the round");
        assert!(members.update(&found(&[7, 9]), 20).is_empty());
        assert!(members.has(&switch(19, 8, 0)), "the events before are kept");
        assert!(!members.has(&switch(20, 8, 0)), "it has left");
        members.forget(21);
        assert!(!members.threads.contains_key(&8));
        assert_eq!(members.update(&found(&[7, 8, 9]), 30), [8]);
        assert!(members.has(&switch(31, 8, 0)), "it is back");
        // It was missing for less than a round.
        assert!(members.update(&found(&[7, 9]), 40).is_empty());
        assert!(members.update(&found(&[7, 8, 9]), 50).is_empty());
        assert!(members.update(&found(&[7, 8, 9]), 60).is_empty());
        assert!(members.has(&switch(61, 8, 0)));
    }
}
