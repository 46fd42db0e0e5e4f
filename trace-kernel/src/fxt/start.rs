//! The start of a command by a thread of the recorder.
//!
//! ```text
//! starter ──fork──► new thread ──exec──► command
//!  hidden            scheduling only      all events
//! ```
//!
//! The starter's events are not the command's. Until the new thread executes the command's program,
//! its code is the recorder's. Its times on a CPU are the command's, as they are for the kernel.

use foldhash::HashSet;

use super::threads::Threads;
use crate::event::{Entry, Event};

/// The start of a command.
#[derive(Debug)]
pub(super) struct Start {
    /// `None` if another thread has its id.
    starter: Option<u64>,
    /// The threads that the starter has created, until they execute a program.
    created: HashSet<u64>,
    /// The threads of the command that ended before the starter. They may have a last switch.
    ended: HashSet<u64>,
    has_starter_ended: bool,
}

impl Start {
    /// The command is started by this thread, which has not created it yet.
    pub(super) fn new(starter: u64) -> Self {
        let (created, ended) = Default::default();
        Self { starter: Some(starter), created, ended, has_starter_ended: false }
    }

    /// Notes a new thread. Returns whether the starter has created it.
    pub(super) fn create(&mut self, child: u64, creator: u64) -> bool {
        let is_by_starter = self.is_starter(creator);
        match is_by_starter {
            true => self.created.insert(child),
            // The id is used again.
            false => self.created.remove(&child),
        };
        is_by_starter
    }

    /// Events are missing, perhaps one by which a thread becomes the command's: from now on, all
    /// that the starter has created are. The end of the starter may be missing, too, and no other
    /// event would end the list of ended threads.
    pub(super) fn missed(&mut self) {
        self.created.clear();
        self.ended.clear();
        self.has_starter_ended = true;
    }

    /// Returns whether a thread executes code of the recorder.
    pub(super) fn is_recorder(&self, thread: u64) -> bool {
        self.is_starter(thread) || self.created.contains(&thread)
    }

    fn is_starter(&self, thread: u64) -> bool {
        self.starter == Some(thread)
    }

    /// Returns whether an event is not the command's. `threads` has those of the command.
    pub(super) fn hides(&self, threads: &Threads, entry: &Entry<'_>) -> bool {
        match entry.event {
            Event::Switch { outgoing, incoming, .. } => {
                self.hides_switch(threads, outgoing.thread, incoming.thread)
            }
            Event::Waking { task, .. }
            | Event::Wakeup { task, .. }
            | Event::Migrate { task, .. } => self.is_between(threads, entry.thread, task.thread),
            Event::Fork { .. }
            | Event::NewTask { .. }
            | Event::Exec { .. }
            | Event::Exit { .. }
            | Event::Rename { .. } => self.is_starter(entry.thread),
            _ => self.is_recorder(entry.thread),
        }
    }

    /// Returns whether a switch is not the command's.
    pub(super) fn hides_switch(&self, threads: &Threads, outgoing: u64, incoming: u64) -> bool {
        // A thread leaves the scope before its last switch.
        !self.ended.contains(&outgoing) && self.is_between(threads, outgoing, incoming)
    }

    /// Returns whether an event of two threads is one of the starter and no thread of the command.
    pub(super) fn is_between(&self, threads: &Threads, thread: u64, other: u64) -> bool {
        (self.is_starter(thread) && !threads.is_in_scope(other))
            || (self.is_starter(other) && !threads.is_in_scope(thread))
    }

    /// Notes a switch from this thread, which may be its last one.
    pub(super) fn note_switch(&mut self, outgoing: u64) {
        if !self.ended.is_empty() {
            self.ended.remove(&outgoing);
        }
    }

    /// Notes an event of the command's start. Returns whether nothing more will be hidden.
    ///
    /// The end of the starter changes nothing: events of its thread follow until its last switch,
    /// which may not be recorded.
    pub(super) fn note(&mut self, threads: &Threads, event: &Event<'_>) -> bool {
        match *event {
            Event::Exec { thread, .. } => {
                self.created.remove(&thread);
            }
            Event::Exit { task } => {
                self.created.remove(&task.thread);
                self.has_starter_ended |= self.is_starter(task.thread);
                if !self.has_starter_ended && threads.is_in_scope(task.thread) {
                    self.ended.insert(task.thread);
                }
            }
            Event::Switch { outgoing, .. } => self.note_switch(outgoing.thread),
            Event::NewTask { child, .. } | Event::Fork { child, .. } if self.is_starter(child) => {
                self.starter = None;
            }
            _ => {}
        }
        self.starter.is_none() && self.created.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use trace_format::layout::ThreadState;

    use super::*;
    use crate::event::{Context, Task};

    const STARTER: u64 = 7;
    const COMMAND: u64 = 9;
    const OTHER: u64 = 5;

    fn task(thread: u64) -> Task<'static> {
        Task { name: "", thread, priority: None }
    }

    fn switch(from: u64, to: u64) -> Event<'static> {
        let (outgoing, state, incoming) = (task(from), ThreadState::BLOCKED, task(to));
        Event::Switch { outgoing, state, incoming }
    }

    /// Thread 7 has started the command 9, which has not executed its program.
    fn start() -> (Start, Threads) {
        let (mut start, mut threads) = (Start::new(STARTER), Threads::default());
        threads.limit([]);
        assert!(!start.create(10, OTHER) && start.create(COMMAND, STARTER));
        threads.include([COMMAND]);
        (start, threads)
    }

    fn hides((start, threads): &(Start, Threads), thread: u64, event: Event<'_>) -> bool {
        let context = Context::Thread;
        start.hides(threads, &Entry { ticks: 1, cpu: 0, thread, context, event })
    }

    #[test]
    fn switches_and_wakeups_of_the_starter_with_others_are_hidden() {
        let state = start();
        for other in [OTHER, 0] {
            assert!(hides(&state, STARTER, switch(STARTER, other)));
            assert!(hides(&state, other, switch(other, STARTER)));
            assert!(hides(&state, other, Event::Waking { task: task(STARTER), cpu: 0 }));
            assert!(hides(&state, STARTER, Event::Waking { task: task(other), cpu: 0 }));
        }
        assert!(!hides(&state, STARTER, switch(STARTER, COMMAND)));
        assert!(!hides(&state, COMMAND, switch(COMMAND, STARTER)));
        assert!(!hides(&state, COMMAND, switch(COMMAND, OTHER)));
        assert!(!hides(&state, STARTER, Event::Wakeup { task: task(COMMAND), cpu: 0 }));
    }

    #[test]
    fn the_command_begins_with_its_program() {
        let mut state = start();
        let call = Event::SyscallEnter { number: 1, arguments: [0; 6] };
        assert!(hides(&state, STARTER, call) && hides(&state, COMMAND, call));
        let exec = Event::Exec { thread: COMMAND, former: COMMAND, file: "" };
        assert!(!hides(&state, COMMAND, exec));
        assert!(!state.0.note(&state.1, &exec), "the starter may run");
        assert!(!hides(&state, COMMAND, call) && hides(&state, STARTER, call));
        let exit = Event::Exit { task: task(STARTER) };
        assert!(hides(&state, STARTER, exit) && !state.0.note(&state.1, &exit));
        assert!(hides(&state, STARTER, call), "it runs until its last switch");
    }

    /// The event of the program's start may be among those that the kernel dropped.
    #[test]
    fn the_command_is_not_hidden_after_a_loss() {
        let mut state = start();
        let call = Event::SyscallEnter { number: 1, arguments: [0; 6] };
        assert!(hides(&state, COMMAND, call));
        state.0.missed();
        assert!(!hides(&state, COMMAND, call) && hides(&state, STARTER, call));
    }

    #[test]
    fn the_list_of_ended_threads_does_not_grow_if_the_end_of_the_starter_was_dropped() {
        let (mut start, mut threads) = start();
        start.missed();
        for thread in 20..30 {
            threads.include([thread]);
            start.note(&threads, &Event::Exit { task: task(thread) });
        }
        assert_eq!(start.ended.len(), 0);
    }

    #[test]
    fn the_id_of_a_thread_of_the_starter_is_used_again() {
        let mut state = start();
        assert!(state.0.is_recorder(COMMAND));
        assert!(!state.0.create(COMMAND, OTHER));
        assert!(!state.0.is_recorder(COMMAND));
    }

    #[test]
    fn the_last_switch_of_a_thread_is_the_commands() {
        let mut state = start();
        let exit = Event::Exit { task: task(COMMAND) };
        state.0.note(&state.1, &exit);
        state.1.leave(COMMAND);
        assert!(!hides(&state, COMMAND, switch(COMMAND, STARTER)));
        state.0.note(&state.1, &switch(COMMAND, STARTER));
        assert!(hides(&state, COMMAND, switch(COMMAND, STARTER)), "the id is used again");
    }

    #[test]
    fn the_id_of_the_starter_is_used_again() {
        let (mut start, threads) = start();
        start.note(&threads, &Event::Exec { thread: COMMAND, former: COMMAND, file: "" });
        assert!(
            start.note(&threads, &Event::NewTask { child: STARTER, name: "", is_in_process: true })
        );
        assert!(!start.is_recorder(STARTER));
    }
}
