//! What is counted together: the recorded threads, or what runs on a CPU.

use std::io;
use std::mem;

use trace_format::layout::{ObjectType, ARTIFICIAL_KOID_BIT};
use trace_format::{Argument, KernelObject, ThreadKoids, Value, WriteError};

use super::super::hotplug::online;
use super::super::sys::{Attributes, Count, Event, Target};
use crate::fxt::RecordSink;
use crate::live::processes;
use crate::live::scope::Scope;

/// The artificial process and thread that have the counters of all recorded threads.
const THREADS: ThreadKoids = ThreadKoids {
    process: ARTIFICIAL_KOID_BIT | 7 << 28,
    thread: ARTIFICIAL_KOID_BIT | 7 << 28 | 1,
};

/// Its name.
const THREADS_NAME: &str = "recorded threads";

/// What is counted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// These threads, and the threads and processes that they create.
    Threads(Vec<ScopeThread>),
    /// The threads of a target on a CPU.
    Cpu(u16, Target),
}

/// A thread of the scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ScopeThread {
    id: u64,
    is_of_recorder: bool,
}

/// The events of a counter at one place.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// Those that are enabled when recording starts.
    pub(super) at_start: Vec<Event>,
    /// Those of the recorder, which starts the command: the kernel enables the copies of processes
    /// that execute a program. The recorder itself is not counted.
    pub(super) at_exec: Vec<Event>,
}

/// The bit of the flags `enable_on_exec`.
const ENABLE_ON_EXEC: u64 = 1 << 12;

impl Place {
    /// Returns the places of a scope: one for a list of threads, else all CPUs.
    pub(super) fn all(scope: &Scope) -> Vec<Self> {
        let on_cpus = |target| online().into_iter().map(|cpu| Self::Cpu(cpu, target)).collect();
        match scope {
            Scope::Machine => on_cpus(Target::Cpu),
            Scope::Cgroup(cgroup) => on_cpus(Target::Cgroup(cgroup.descriptor())),
            Scope::Threads(threads) => vec![Self::of_threads(threads)],
            Scope::Command(starter) => vec![Self::of_threads(&[*starter])],
        }
    }

    fn of_threads(threads: &[u64]) -> Self {
        let recorder = recorder();
        let of = |id: &u64| ScopeThread { id: *id, is_of_recorder: is_of(*id, recorder) };
        Self::Threads(threads.iter().map(of).collect())
    }

    /// Returns the id of its counters, which have the same name everywhere.
    pub(super) fn id(&self) -> u64 {
        match self {
            Self::Threads(_) => 0,
            Self::Cpu(cpu, _) => u64::from(*cpu) + 1,
        }
    }

    /// Opens the events of a counter, which are off. Threads that have ended are left out.
    pub(super) fn open(&self, attributes: &Attributes) -> io::Result<Events> {
        let mut events = Events::default();
        match self {
            Self::Cpu(cpu, target) => {
                events.at_start.push(Event::open_counter(attributes, *target, Some(*cpu))?);
            }
            Self::Threads(threads) => {
                for thread in threads {
                    events.add(attributes, *thread)?;
                }
            }
        }
        match events.at_start.is_empty() && events.at_exec.is_empty() {
            true => Err(io::Error::from_raw_os_error(libc::ESRCH)),
            false => Ok(events),
        }
    }
}

impl Events {
    /// Returns the values of the events, always in the same order.
    pub(super) fn counts(&self) -> io::Result<Vec<Count>> {
        self.at_start.iter().chain(&self.at_exec).map(Event::count).collect()
    }

    /// Adds a thread, unless it has ended.
    fn add(&mut self, attributes: &Attributes, thread: ScopeThread) -> io::Result<()> {
        let (list, flags) = match thread.is_of_recorder {
            true => (&mut self.at_exec, ENABLE_ON_EXEC),
            false => (&mut self.at_start, 0),
        };
        let attributes = Attributes { flags: attributes.flags | flags, ..*attributes };
        match Event::open_counter(&attributes, Target::Thread(thread.id), None) {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            event => event.map(|event| list.push(event)),
        }
    }
}

/// Returns the recorder: the parent of this process, which starts the command.
fn recorder() -> Option<u64> {
    processes::family(u64::from(std::process::id())).map(|(_, parent)| parent)
}

/// Returns whether a thread belongs to a process.
fn is_of(thread: u64, process: Option<u64>) -> bool {
    process.is_some() && processes::family(thread).map(|(own, _)| own) == process
}

/// Returns the thread that has the counters of all recorded threads, and names it the first time.
pub(super) fn threads_koids<S: RecordSink>(
    writer: &mut S,
    is_named: &mut bool,
) -> Result<ThreadKoids, WriteError> {
    if !mem::replace(is_named, true) {
        let process = [Argument::new("process", Value::Koid(THREADS.process))];
        let objects = [
            (ObjectType::PROCESS, THREADS.process, &[][..]),
            (ObjectType::THREAD, THREADS.thread, &process[..]),
        ];
        for (object_type, koid, arguments) in objects {
            let (name, arguments) = (THREADS_NAME.into(), arguments.into());
            writer.record(&KernelObject { object_type, koid, name, arguments }.into())?;
        }
    }
    Ok(THREADS)
}
