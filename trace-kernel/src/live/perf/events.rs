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
    /// The thread that starts the command, until it ends. It is not in the scope, but the threads
    /// that it creates are.
    starter: Option<u64>,
    /// The threads that have ended, but have not left their CPU.
    ending: HashSet<u64>,
    /// The thread that each CPU runs.
    running: HashMap<u16, u64>,
    /// The processes of threads that have not begun to end.
    processes: HashMap<u64, u64>,
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

    /// Notes the processes of threads that exist already.
    pub(crate) fn set_processes(&mut self, threads: impl IntoIterator<Item = (u64, u64)>) {
        self.processes = threads.into_iter().take(MAX_THREADS).collect();
    }

    /// Limits the scope to the threads that this one creates, and those that these create.
    pub(crate) fn limit_to_command(&mut self, starter: u64) {
        self.starter = Some(starter);
        if self.switches == Switches::Machine {
            self.scope = Some(HashSet::new());
        }
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
            Body::SwitchIn { from: None } if !self.is_in_scope(thread) => Ok(()),
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
                let former = if *is_exec { self.execute(thread, cpu) } else { thread };
                self.rename(thread, name);
                if self.is_in_scope(thread) {
                    visit(&entry(thread, Event::Rename { thread, name }))?;
                    if *is_exec {
                        visit(&entry(thread, Event::Exec { thread, former, file: "" }))?;
                    }
                }
                Ok(())
            }
            Body::Fork { process, thread: child, creator_process, creator } => {
                let (child, creator) = (u64::from(*child), u64::from(*creator));
                let name = self.names.get(&creator).cloned().unwrap_or_default();
                self.forget(child);
                self.rename(child, &name);
                if self.processes.len() < MAX_THREADS {
                    self.processes.insert(child, u64::from(*process));
                }
                if !self.is_in_scope(creator) && self.starter != Some(creator) {
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
                self.processes.remove(&thread);
                if self.is_in_scope(thread) {
                    visit(&entry(thread, Event::Exit { task: self.task(thread) }))?;
                }
                let is_starter = self.starter == Some(thread);
                if self.switches != Switches::Threads {
                    if is_starter {
                        self.starter = None;
                    }
                    if self.ending.len() >= MAX_THREADS {
                        self.ending.clear();
                    }
                    self.ending.insert(thread);
                    return Ok(());
                }
                if is_starter {
                    self.starter = None;
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
            // The thread that it runs is unknown.
            Body::CameOnline => {
                self.running.remove(&cpu);
                Ok(())
            }
        }
    }

    /// Notes that a process executes a program. Returns the former id of the thread: all others of
    /// the process have ended, perhaps also the first one, whose id this one has from now on.
    fn execute(&mut self, process: u64, cpu: u16) -> u64 {
        if self.processes.contains_key(&process) {
            return process;
        }
        let mut threads = self.processes.iter().filter(|(_, of)| **of == process);
        let (Some((former, _)), None) = (threads.next(), threads.next()) else { return process };
        let former = *former;
        self.processes.remove(&former);
        self.processes.insert(process, process);
        if let Some(scope) = &mut self.scope {
            if scope.remove(&former) {
                scope.insert(process);
            }
        }
        self.names.remove(&former);
        // The first thread may not have left its CPU.
        self.ending.remove(&process);
        for (cpu, thread) in self.running.iter_mut().filter(|(_, thread)| **thread == process) {
            *thread = others(*cpu).thread;
        }
        self.running.insert(cpu, process);
        former
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
        self.starter != Some(thread)
            && self.scope.as_ref().is_none_or(|scope| scope.contains(&thread))
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
        // The id of the starter is used again if the record of its end is missing.
        self.starter.take_if(|starter| *starter == thread);
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
mod tests;
