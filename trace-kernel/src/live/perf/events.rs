//! From perf records to events of the kernel.

use std::collections::{HashMap, HashSet};

use trace_format::layout::{ThreadState, ARTIFICIAL_KOID_BIT};

use super::record::{Body, NO_THREAD};
use super::timed::Timed;
use crate::event::{Context, Entry, Event, Task};

/// The first of the artificial threads, one for the threads of each CPU that are not recorded.
const OTHERS: u64 = ARTIFICIAL_KOID_BIT | 3 << 29;

/// The name of such a thread.
const OTHERS_NAME: &str = "other threads or idle";

/// The most threads whose name is remembered.
const MAX_THREADS: usize = 1 << 16;

/// The threads whose switches are records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Switches {
    /// All threads.
    Machine,
    /// Those of a control group: each record has the thread before or after it, too.
    Cgroup,
    /// Some threads. Their records have no other thread.
    #[default]
    Threads,
}

/// The state between perf records and events, which have to be in the order of time.
#[derive(Debug, Default)]
pub(crate) struct Events {
    names: HashMap<u64, Box<str>>,
    switches: Switches,
    /// The threads of the scope; `None` if the kernel selects them, or for the machine.
    scope: Option<HashSet<u64>>,
    /// The threads that have ended, but have not left their CPU.
    ending: HashSet<u64>,
    /// The thread that each CPU runs.
    running: HashMap<u16, u64>,
}

impl Events {
    /// Returns the events of threads, of which these exist already. If the records are those of
    /// the machine, only switches from and to the threads of `scope` are events; all are if it is
    /// empty.
    pub(crate) fn new(
        names: impl IntoIterator<Item = (u64, Box<str>)>,
        switches: Switches,
        scope: &[u64],
    ) -> Self {
        let scope = (switches == Switches::Machine && !scope.is_empty())
            .then(|| scope.iter().copied().collect());
        Self { names: names.into_iter().collect(), switches, scope, ..Self::default() }
    }

    /// Uses the records of selected threads from now on.
    pub(crate) fn of_threads(&mut self) {
        self.switches = Switches::Threads;
    }

    /// Calls `visit` with the events of a record.
    pub(crate) fn push<E>(
        &mut self,
        timed: &Timed,
        mut visit: impl FnMut(&Entry<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let (cpu, ticks, record) = (timed.cpu(), timed.ticks, &timed.record);
        let thread = u64::from(record.sample.thread);
        let context = Context::Thread;
        let entry = |thread, event| Entry { ticks, cpu, thread, context, event };
        match &record.body {
            // The record of the thread before has both threads. On some virtual machines, the idle
            // thread of a CPU has no records.
            Body::SwitchIn { from: Some(from) } => {
                let thread = self.incoming(record.sample.thread, cpu);
                let before = self.running.insert(cpu, thread);
                let has_record = match self.switches {
                    Switches::Cgroup => before == Some(thread),
                    _ => (before, *from) != (Some(0), 0),
                };
                if has_record || !self.is_in_scope(thread) {
                    return Ok(());
                }
                let from = self.incoming(*from, cpu);
                let (outgoing, incoming) = (self.task(from), self.task(thread));
                let state = ThreadState::RUNNING;
                visit(&entry(from, Event::Switch { outgoing, state, incoming }))
            }
            Body::SwitchIn { from: None } => {
                let (outgoing, state) = (others(cpu), ThreadState::RUNNING);
                let incoming = self.task(thread);
                visit(&entry(outgoing.thread, Event::Switch { outgoing, state, incoming }))
            }
            Body::SwitchOut { is_preempted, to } => {
                let is_named = record.sample.thread != NO_THREAD;
                let thread = self.outgoing(record.sample.thread, cpu);
                let state = self.state(thread, is_named, *is_preempted);
                let to = to.map(|to| self.incoming(to, cpu));
                self.running.insert(cpu, to.unwrap_or(others(cpu).thread));
                if self.is_in_scope(thread) || to.is_some_and(|to| self.is_in_scope(to)) {
                    let outgoing = self.task(thread);
                    let incoming = to.map_or_else(|| others(cpu), |to| self.task(to));
                    visit(&entry(thread, Event::Switch { outgoing, state, incoming }))?;
                }
                if state == ThreadState::DEAD {
                    self.forget(thread);
                }
                Ok(())
            }
            Body::Comm { thread, name, is_exec, .. } => {
                let thread = u64::from(*thread);
                self.rename(thread, name);
                if self.is_in_scope(thread) {
                    visit(&entry(thread, Event::Rename { thread, name }))?;
                    if *is_exec {
                        visit(&entry(thread, Event::Exec { thread, file: "" }))?;
                    }
                }
                Ok(())
            }
            Body::Fork { process, thread: child, creator_process, creator } => {
                let (child, creator) = (u64::from(*child), u64::from(*creator));
                let name = self.names.get(&creator).cloned().unwrap_or_default();
                self.forget(child);
                self.rename(child, &name);
                if !self.is_in_scope(creator) {
                    return Ok(());
                }
                if let Some(scope) = &mut self.scope {
                    scope.insert(child);
                }
                let is_in_process = process == creator_process;
                visit(&entry(creator, Event::NewTask { child, name: &name, is_in_process }))?;
                visit(&entry(creator, Event::Fork { child, name: &name }))
            }
            Body::Exit { thread, .. } => {
                let thread = u64::from(*thread);
                if self.is_in_scope(thread) {
                    visit(&entry(thread, Event::Exit { task: self.task(thread) }))?;
                }
                if self.switches != Switches::Threads {
                    if self.ending.len() >= MAX_THREADS {
                        self.ending.clear();
                    }
                    self.ending.insert(thread);
                    return Ok(());
                }
                // It is the last record of the thread, which leaves its CPU soon.
                let (outgoing, state) = (self.task(thread), ThreadState::DEAD);
                let switch = Event::Switch { outgoing, state, incoming: others(cpu) };
                visit(&entry(thread, switch))?;
                self.forget(thread);
                Ok(())
            }
            Body::Mmap(_) | Body::Sample(_) | Body::Other => Ok(()),
            // `Cpus` reports them.
            Body::Lost { .. }
            | Body::LostSamples { .. }
            | Body::Throttle { .. }
            | Body::Unthrottle { .. } => Ok(()),
        }
    }

    /// Returns the thread that leaves a CPU. The kernel does not name one that has ended.
    fn outgoing(&self, thread: u32, cpu: u16) -> u64 {
        match thread {
            NO_THREAD => self.running.get(&cpu).copied().unwrap_or(others(cpu).thread),
            thread => u64::from(thread),
        }
    }

    /// Returns the thread that gets a CPU. The kernel does not name one that was preempted while it
    /// ended, unless it still has its id: this is known if there is only one such thread.
    fn incoming(&self, thread: u32, cpu: u16) -> u64 {
        if thread != NO_THREAD {
            return u64::from(thread);
        }
        let mut waiting =
            self.ending.iter().filter(|it| !self.running.values().any(|by| by == *it));
        match (waiting.next(), waiting.next()) {
            (Some(thread), None) => *thread,
            _ => others(cpu).thread,
        }
    }

    /// Returns the state of a thread that leaves a CPU. A thread that ends can be preempted before
    /// its last switch. If it has no id then, it counts as dead.
    fn state(&self, thread: u64, is_named: bool, is_preempted: bool) -> ThreadState {
        match is_preempted {
            true if is_named => ThreadState::RUNNING,
            _ if self.ending.contains(&thread) => ThreadState::DEAD,
            true => ThreadState::RUNNING,
            // The idle thread can always continue.
            false if thread == 0 || thread >= OTHERS => ThreadState::RUNNING,
            false => ThreadState::BLOCKED,
        }
    }

    fn is_in_scope(&self, thread: u64) -> bool {
        self.scope.as_ref().is_none_or(|scope| scope.contains(&thread))
    }

    fn task(&self, thread: u64) -> Task<'_> {
        let name = match self.names.get(&thread) {
            Some(name) => name,
            None if thread >= OTHERS => OTHERS_NAME,
            None => "",
        };
        Task { name, thread, priority: None }
    }

    fn rename(&mut self, thread: u64, name: &str) {
        if self.names.len() < MAX_THREADS || self.names.contains_key(&thread) {
            self.names.insert(thread, name.into());
        }
    }

    /// Forgets a thread that has left its last CPU: its id may be used again.
    fn forget(&mut self, thread: u64) {
        self.names.remove(&thread);
        self.ending.remove(&thread);
        if let Some(scope) = &mut self.scope {
            scope.remove(&thread);
        }
    }
}

/// Returns the artificial thread of all threads of a CPU that are not recorded.
fn others(cpu: u16) -> Task<'static> {
    Task { name: OTHERS_NAME, thread: OTHERS + u64::from(cpu), priority: None }
}

#[cfg(test)]
mod tests {
    use super::super::record::{PerfRecord, SampleId};
    use super::*;

    /// Returns the events of records on CPU 3, each as its thread and text. `thread` is the one of
    /// the record's `sample_id`.
    fn events(events: &mut Events, records: &[(u32, Body)]) -> Vec<String> {
        let mut lines = Vec::new();
        for (ticks, (thread, body)) in (1..).zip(records) {
            let sample = SampleId { process: 7, thread: *thread, time: 0, cpu: 3 };
            let record = PerfRecord { sample, body: body.clone() };
            let pushed = events.push(&Timed { ticks, since: 0, record }, |entry| {
                assert_eq!((entry.ticks, entry.cpu), (ticks, 3));
                lines.push(line(entry));
                Ok::<(), ()>(())
            });
            pushed.unwrap();
        }
        lines
    }

    fn line(entry: &Entry<'_>) -> String {
        let task = |task: Task<'_>| {
            assert_eq!(task.priority, None);
            let is_others = task.thread == OTHERS + 3;
            if is_others {
                "others".to_owned()
            } else {
                format!("{}{}", task.name, task.thread)
            }
        };
        match entry.event {
            Event::Switch { outgoing, state, incoming } => {
                let state = match state {
                    ThreadState::RUNNING => "runnable",
                    ThreadState::DEAD => "dead",
                    _ => "blocked",
                };
                format!("{} {state} -> {}", task(outgoing), task(incoming))
            }
            Event::NewTask { child, name, is_in_process } => {
                format!("{}: new {name}{child} {is_in_process}", entry.thread)
            }
            Event::Fork { child, .. } => format!("{}: fork {child}", entry.thread),
            Event::Rename { thread, name } => format!("rename {name}{thread}"),
            Event::Exec { thread, file: "" } => format!("exec {thread}"),
            Event::Exit { task: it } => format!("exit {}", task(it)),
            other => panic!("{other:?}"),
        }
    }

    fn out(is_preempted: bool, to: Option<u32>) -> Body {
        Body::SwitchOut { is_preempted, to }
    }

    fn fork(creator: u32, process: u32, thread: u32) -> Body {
        Body::Fork { process, thread, creator_process: 7, creator }
    }

    #[test]
    fn switches_of_selected_threads() {
        let names = [(7, "app".into())];
        let name = Body::Comm { process: 9, thread: 9, name: "child".into(), is_exec: true };
        let records = [
            (7, Body::SwitchIn { from: None }),
            (7, fork(7, 7, 8)),
            (7, fork(7, 9, 9)),
            (7, out(true, None)),
            (9, name),
            (7, Body::SwitchIn { from: None }),
            (7, out(false, None)),
            (9, Body::Exit { process: 7, thread: 9 }),
            (0, Body::Lost { number: 3 }),
        ];
        let expected = [
            "others runnable -> app7",
            "7: new app8 true",
            "7: fork 8",
            "7: new app9 false",
            "7: fork 9",
            "app7 runnable -> others",
            "rename child9",
            "exec 9",
            "others runnable -> app7",
            "app7 blocked -> others",
            "exit child9",
            "child9 dead -> others",
        ];
        assert_eq!(events(&mut Events::new(names, Switches::Threads, &[7]), &records), expected);
    }

    #[test]
    fn switches_of_cpus_have_both_threads() {
        let names = [(5, "other".into()), (7, "app".into())];
        let records = [
            (5, out(true, Some(6))),
            (6, Body::SwitchIn { from: Some(5) }),
            (6, out(false, Some(7))),
            (7, Body::SwitchIn { from: Some(6) }),
            (7, fork(7, 7, 8)),
            (5, fork(5, 5, 50)),
            (7, out(true, Some(0))),
            (0, out(false, Some(8))),
            (8, Body::Exit { process: 7, thread: 8 }),
            // The kernel does not name a thread that has ended.
            (NO_THREAD, out(false, Some(5))),
            (5, Body::SwitchIn { from: Some(NO_THREAD) }),
            (5, out(false, Some(8))),
        ];
        let expected = [
            "6 blocked -> app7",
            "7: new app8 true",
            "7: fork 8",
            "app7 runnable -> 0",
            "0 runnable -> app8",
            "exit app8",
            "app8 dead -> other5",
        ];
        assert_eq!(
            events(&mut Events::new(names.clone(), Switches::Machine, &[7]), &records),
            expected
        );
        let all = events(&mut Events::new(names, Switches::Machine, &[]), &records);
        assert_eq!(all.len(), expected.len() + 4, "{all:?}");
        assert_eq!(all[0], "other5 runnable -> 6");
    }

    #[test]
    fn a_switch_from_an_idle_thread_without_records() {
        let records = [
            (7, out(false, Some(0))),
            (5, Body::SwitchIn { from: Some(0) }),
            (5, out(true, Some(0))),
            (7, Body::SwitchIn { from: Some(0) }),
            (7, out(false, Some(0))),
            (0, out(false, Some(7))),
            (7, Body::SwitchIn { from: Some(0) }),
        ];
        let found = events(&mut Events::new([], Switches::Machine, &[7]), &records);
        let expected = ["7 blocked -> 0", "0 runnable -> 7", "7 blocked -> 0", "0 runnable -> 7"];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_thread_that_is_preempted_before_its_last_switch_ends_with_that() {
        let preempted = [
            (0, out(false, Some(7))),
            (7, Body::SwitchIn { from: Some(0) }),
            (7, Body::Exit { process: 7, thread: 7 }),
            (7, out(true, Some(5))),
            (5, Body::SwitchIn { from: Some(7) }),
        ];
        let last = [
            // Its parent may have waited for it meanwhile, or not.
            [(5, out(false, Some(NO_THREAD))), (NO_THREAD, out(false, Some(5)))],
            [(5, out(false, Some(7))), (7, out(false, Some(5)))],
        ];
        let expected =
            ["0 runnable -> 7", "exit 7", "7 runnable -> 5", "5 blocked -> 7", "7 dead -> 5"];
        for last in last {
            let records = [&preempted[..], &last].concat();
            assert_eq!(events(&mut Events::new([], Switches::Machine, &[7]), &records), expected);
        }
    }

    #[test]
    fn a_thread_that_is_preempted_while_it_ends_is_dead_and_has_no_other_id() {
        let records = [
            (7, Body::SwitchIn { from: Some(0) }),
            (7, Body::Exit { process: 7, thread: 7 }),
            (NO_THREAD, out(true, Some(5))),
            (5, Body::SwitchIn { from: Some(NO_THREAD) }),
            (5, out(false, Some(NO_THREAD))),
            (NO_THREAD, Body::SwitchIn { from: Some(5) }),
            (NO_THREAD, out(false, Some(5))),
        ];
        let expected = ["exit 7", "7 dead -> 5", "5 blocked -> others", "others runnable -> 5"];
        assert_eq!(events(&mut Events::new([], Switches::Machine, &[]), &records), expected);
        let in_scope = events(&mut Events::new([], Switches::Machine, &[5]), &records);
        assert_eq!(in_scope, expected[1..]);
        let from_idle = [
            (7, out(false, Some(0))),
            (NO_THREAD, Body::SwitchIn { from: Some(0) }),
            (NO_THREAD, out(false, Some(7))),
        ];
        let expected = ["7 blocked -> 0", "0 runnable -> others", "others runnable -> 7"];
        assert_eq!(events(&mut Events::new([], Switches::Machine, &[]), &from_idle), expected);
        // The first record of a CPU.
        let first = [(NO_THREAD, out(false, Some(5)))];
        assert_eq!(
            events(&mut Events::new([], Switches::Machine, &[]), &first),
            ["others runnable -> 5"]
        );
    }

    /// Threads outside of a control group have no records: those of its threads name them.
    #[test]
    fn switches_of_a_control_group() {
        let out = |to| Body::SwitchOut { is_preempted: false, to: Some(to) };
        let into = |from| Body::SwitchIn { from: Some(from) };
        let records = [(5, into(9)), (5, out(6)), (6, into(5)), (6, out(9)), (5, into(0))];
        let expected = ["9 runnable -> 5", "5 blocked -> 6", "6 blocked -> 9", "0 runnable -> 5"];
        assert_eq!(events(&mut Events::new([], Switches::Cgroup, &[]), &records), expected);
    }
}
