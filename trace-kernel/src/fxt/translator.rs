//! The state between events and records.

mod frequent;
mod names;

use foldhash::HashSet;
use trace_format::{ThreadKoids, Value, WriteError};

use super::call_names::CallNames;
use super::calls::Calls;
use super::counters::{write_frequency, write_memory, Spaces};
use super::durations::{Durations, Kind};
use super::instants::{
    arguments, event, inline, marker, write_event, write_gap, write_log, write_other, INSTANT,
};
use super::labels::Label;
use super::scheduling::{write_scheduling, Wakeups};
use super::sink::RecordSink;
use super::start::Start;
use super::system_calls::SystemCalls;
use super::threads::Threads;
use crate::event::{Entry, Event};
use crate::page::Missed;

/// Writes the records of events, which have to be in the order of time.
#[derive(Debug, Default)]
pub struct Translator {
    threads: Threads,
    wakeups: Wakeups,
    system_calls: SystemCalls,
    durations: Durations,
    calls: Calls,
    spaces: Spaces,
    /// Threads with a `task_newtask`, which `sched_process_fork` follows.
    created: HashSet<u64>,
    /// The start of the command, if the scope is one.
    start: Option<Start>,
}

impl Translator {
    /// Names a thread.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn name<S: RecordSink>(
        &mut self,
        writer: &mut S,
        thread: u64,
        name: &str,
    ) -> Result<(), WriteError> {
        self.threads.note(writer, thread, None, name).map(drop)
    }

    /// Names a thread of a process.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn thread<S: RecordSink>(
        &mut self,
        writer: &mut S,
        koids: ThreadKoids,
        name: &str,
    ) -> Result<(), WriteError> {
        self.threads.note(writer, koids.thread, Some(koids.process), name).map(drop)
    }

    /// Names the system calls from now on.
    pub fn name_calls(&mut self, names: CallNames) {
        self.system_calls.name(names);
    }

    /// Notes the process of a thread.
    pub fn process(&mut self, thread: u64, process: u64) {
        self.threads.set_process(thread, process);
    }

    /// Returns a CPU as a thread, and names it the first time.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn cpu<S: RecordSink>(
        &mut self,
        writer: &mut S,
        cpu: u16,
    ) -> Result<ThreadKoids, WriteError> {
        self.durations.cpu(writer, cpu)
    }

    /// Limits the scope to these threads and those that they create. Names of other threads get the
    /// argument `partial`, because some of their switches are missing.
    pub fn limit(&mut self, threads: impl IntoIterator<Item = u64>) {
        self.threads.limit(threads);
    }

    /// Limits the scope to the command that a thread starts: the threads that it creates, and those
    /// that these create. Other events of the starter are left out, and so are those of a thread
    /// that it has created until that executes the command's program, but for scheduling.
    pub fn limit_to_command(&mut self, starter: u64) {
        self.threads.limit([]);
        self.start = Some(Start::new(starter));
    }

    /// Adds threads to the scope. Their names are written again, without the argument.
    pub fn include(&mut self, threads: impl IntoIterator<Item = u64>) {
        self.threads.include(threads);
    }

    /// Returns the threads of the scope, or `None` for all.
    #[cfg(target_os = "linux")]
    pub(crate) fn scope(&self) -> Option<impl Iterator<Item = u64> + '_> {
        self.threads.scope()
    }

    /// Writes an instant with the fields of an event, in this category.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn fields<S: RecordSink>(
        &mut self,
        writer: &mut S,
        entry: &Entry<'_>,
        category: &str,
    ) -> Result<(), WriteError> {
        let Event::Other { format, payload, order } = entry.event else { return Ok(()) };
        if self.is_recorder(entry.thread) {
            return Ok(());
        }
        let thread = self.threads.koids(entry.thread);
        write_other(writer, (entry.ticks, thread), (category, format), payload, order)
    }

    /// Writes an instant of a function, of which `entry` is the call. `labels` are its category and
    /// name.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn call<S: RecordSink>(
        &mut self,
        writer: &mut S,
        entry: &Entry<'_>,
        labels: (&str, &str),
    ) -> Result<(), WriteError> {
        if self.is_recorder(entry.thread) {
            return Ok(());
        }
        let thread = self.threads.koids(entry.thread);
        write_event(writer, event(entry.ticks, thread, inline(labels), INSTANT, &[]))
    }

    /// Begins the duration of a function. `stack` is the address of the stack, if it is known.
    ///
    /// # Errors
    ///
    /// Writing calls that have ended without a return failed.
    pub fn call_begin<S: RecordSink>(
        &mut self,
        writer: &mut S,
        entry: &Entry<'_>,
        labels: (&str, &str),
        stack: Option<u64>,
    ) -> Result<(), WriteError> {
        if self.is_recorder(entry.thread) {
            return Ok(());
        }
        let thread = self.threads.koids(entry.thread);
        self.calls.enter(writer, (entry.ticks, thread), labels, stack)
    }

    /// Writes the duration of a function that returns. `stack` is the address of the stack at its
    /// begin. Calls within it that have not returned are instants.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn call_end<S: RecordSink>(
        &mut self,
        writer: &mut S,
        entry: &Entry<'_>,
        labels: (&str, &str),
        stack: Option<u64>,
    ) -> Result<(), WriteError> {
        self.calls.leave(writer, (entry.ticks, entry.thread), labels, stack)
    }

    /// Writes the records of an event.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn entry<S: RecordSink>(
        &mut self,
        writer: &mut S,
        entry: &Entry<'_>,
    ) -> Result<(), WriteError> {
        if self.start.is_some() && self.is_hidden(writer, entry)? {
            return Ok(());
        }
        self.names(writer, entry)?;
        let Entry { ticks, cpu, thread, event, .. } = *entry;
        let koids = self.threads.koids(thread);
        match event {
            Event::Switch { .. } | Event::Waking { .. } | Event::Wakeup { .. } => {
                match self.wakeups.is_repeated(&event) {
                    true => Ok(()),
                    false => write_scheduling(writer, entry, None),
                }
            }
            Event::SyscallEnter { number, arguments } => {
                self.system_calls.begin(ticks, koids, number, arguments);
                Ok(())
            }
            Event::SyscallExit { number, result } => {
                self.system_calls.end(writer, ticks, koids, (number, result))
            }
            Event::Exit { task } => {
                self.threads.leave(task.thread);
                self.spaces.forget(task.thread);
                self.system_calls.exit(writer, ticks, task.thread)?;
                self.calls.exit(writer, task.thread)?;
                self.instant(writer, entry, koids)
            }
            Event::Exec { .. } => {
                self.spaces.forget(koids.process);
                self.instant(writer, entry, koids)
            }
            Event::IrqEnter { .. }
            | Event::IrqExit { .. }
            | Event::SoftirqEnter { .. }
            | Event::SoftirqExit { .. } => {
                let place = self.durations.cpu(writer, cpu)?;
                self.interrupt(writer, ticks, place, event)
            }
            Event::Log { text } => write_log(writer, (ticks, koids), text),
            Event::Frequency { cpu, khz } => {
                let place = self.durations.cpu(writer, cpu)?;
                write_frequency(writer, (ticks, place), (cpu, khz))
            }
            Event::ResidentMemory { space, is_own, kind, bytes } => {
                let process = match is_own {
                    true => self.spaces.note(space, koids),
                    false => self.spaces.process(space),
                };
                let Some(process) = process else { return Ok(()) };
                write_memory(writer, (ticks, process), (kind, bytes))
            }
            Event::Other { format, payload, order } => {
                let category = format!("kernel:event:{}/{}", format.system, format.name);
                write_other(writer, (ticks, koids), (&category, format), payload, order)
            }
            _ => self.instant(writer, entry, koids),
        }
    }

    /// Reports events of a CPU that are missing between two times.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn missed<S: RecordSink>(
        &mut self,
        writer: &mut S,
        cpu: u16,
        missed: Missed,
        times: (u64, u64),
    ) -> Result<(), WriteError> {
        let gap = match missed {
            Missed::None => return Ok(()),
            Missed::Count(number) => (number, "kernel buffer full"),
            Missed::Unknown => (1, "kernel buffer full: at least one"),
        };
        self.system_calls.interrupt();
        self.durations.interrupt(cpu);
        if let Some(start) = &mut self.start {
            start.missed();
        }
        self.calls.interrupt(writer)?;
        self.gap(writer, cpu, gap, times)
    }

    /// Reports a number of records of a CPU that are missing between two times, with the reason.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn gap<S: RecordSink>(
        &mut self,
        writer: &mut S,
        cpu: u16,
        (number, reason): (u64, &str),
        (from, to): (u64, u64),
    ) -> Result<(), WriteError> {
        let place = self.durations.cpu(writer, cpu)?;
        self.gap_at(writer, place, (number, reason), (from, to))
    }

    /// Reports a number of records that are missing at a thread, or a CPU as one, like
    /// [`gap`](Self::gap).
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn gap_at<S: RecordSink>(
        &mut self,
        writer: &mut S,
        place: ThreadKoids,
        (number, reason): (u64, &str),
        (from, to): (u64, u64),
    ) -> Result<(), WriteError> {
        write_gap(writer, place, (number, reason), (from, to))
    }

    /// Writes the system calls, interrupts and calls that have not ended.
    ///
    /// # Errors
    ///
    /// Writing failed.
    pub fn finish<S: RecordSink>(&mut self, writer: &mut S) -> Result<(), WriteError> {
        self.system_calls.finish(writer)?;
        self.durations.finish(writer)?;
        self.calls.finish(writer)
    }

    /// Returns whether an event is left out because it is not the command's. Names the threads that
    /// the starter creates.
    fn is_hidden<S: RecordSink>(
        &mut self,
        writer: &mut S,
        entry: &Entry<'_>,
    ) -> Result<bool, WriteError> {
        let Some(start) = &mut self.start else { return Ok(false) };
        let is_hidden = start.hides(&self.threads, entry);
        if start.note(&self.threads, &entry.event) {
            self.start = None;
        }
        if is_hidden && matches!(entry.event, Event::NewTask { .. } | Event::Fork { .. }) {
            self.names(writer, entry)?;
        }
        Ok(is_hidden)
    }

    /// Returns whether a thread executes code of the recorder, which starts the command.
    fn is_recorder(&self, thread: u64) -> bool {
        self.start.as_ref().is_some_and(|start| start.is_recorder(thread))
    }

    fn interrupt<S: RecordSink>(
        &mut self,
        writer: &mut S,
        ticks: u64,
        place: ThreadKoids,
        event: Event<'_>,
    ) -> Result<(), WriteError> {
        match event {
            Event::IrqEnter { irq, name } => {
                self.durations.begin(ticks, (place, Kind::Irq), (irq, name));
            }
            Event::SoftirqEnter { vector, name } => {
                self.durations.begin(ticks, (place, Kind::Softirq), (vector, name));
            }
            Event::IrqExit { irq, is_handled } => {
                let handled = (Label::Handled, Value::Bool(is_handled));
                self.durations.end(writer, ticks, (place, Kind::Irq), irq, Some(handled))?;
            }
            Event::SoftirqExit { vector } => {
                self.durations.end(writer, ticks, (place, Kind::Softirq), vector, None)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Writes an event without a length, on the thread that it is about.
    fn instant<S: RecordSink>(
        &mut self,
        writer: &mut S,
        entry: &Entry<'_>,
        koids: ThreadKoids,
    ) -> Result<(), WriteError> {
        let (category, name, thread) = match entry.event {
            Event::Migrate { task, .. } => (Label::Sched, Label::Migrate, Some(task.thread)),
            // `task_newtask` says more than `sched_process_fork`, which may be missing.
            Event::Fork { .. } => (Label::Tasks, Label::Fork, None),
            Event::Exec { thread, .. } => (Label::Tasks, Label::Exec, Some(thread)),
            Event::Exit { task } => (Label::Tasks, Label::Exit, Some(task.thread)),
            Event::Rename { thread, .. } => (Label::Tasks, Label::Rename, Some(thread)),
            Event::Marker { text } => return marker(writer, entry.ticks, koids, text),
            Event::Unknown { .. } => (Label::Event, Label::NoFormat, None),
            _ => return Ok(()),
        };
        let Some(category) = writer.category(category) else { return Ok(()) };
        let labels = (category, writer.label(name));
        let thread = thread.map_or(koids, |thread| self.threads.koids(thread));
        let arguments = arguments(writer, &entry.event);
        let arguments = arguments.as_slice();
        write_event(writer, event(entry.ticks, thread, labels, INSTANT, arguments))
    }
}
