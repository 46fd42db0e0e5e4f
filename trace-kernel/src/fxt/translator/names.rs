//! The names and processes of threads, and the threads of the scope.

use trace_format::WriteError;

use super::super::sink::RecordSink;
use super::Translator;
use crate::event::{Entry, Event};

/// The most threads that wait for their `sched_process_fork`.
const MAX_CREATED: usize = 1 << 16;

impl Translator {
    /// Writes the names of the threads of an event, if they are new.
    pub(super) fn names<S: RecordSink>(
        &mut self,
        writer: &mut S,
        entry: &Entry<'_>,
    ) -> Result<(), WriteError> {
        let mut note = |thread, process, name: &str| {
            self.threads.note(writer, thread, process, name).map(drop)
        };
        match entry.event {
            Event::Switch { outgoing, incoming, .. } => {
                note(outgoing.thread, None, outgoing.name)?;
                note(incoming.thread, None, incoming.name)
            }
            Event::Waking { task, .. }
            | Event::Wakeup { task, .. }
            | Event::Migrate { task, .. }
            | Event::Exit { task } => note(task.thread, None, task.name),
            Event::Fork { child, name } => {
                // The id may be that of a thread that has ended, if `task_newtask` is not there.
                if !self.created.remove(&child) {
                    self.threads.remove(child);
                    self.adopt(child, entry.thread);
                }
                self.threads.note(writer, child, None, name).map(drop)
            }
            Event::Rename { thread, name } => note(thread, None, name),
            Event::NewTask { child, name, is_in_process } => {
                let parent = self.threads.koids(entry.thread).process;
                let process = if is_in_process { parent } else { child };
                self.threads.remove(child);
                self.adopt(child, entry.thread);
                self.remember(child);
                let process = Some(process).filter(|process| *process != 0);
                self.threads.note(writer, child, process, name).map(drop)
            }
            Event::Exec { thread, former, .. } if former != thread => {
                self.replace_first(writer, entry.ticks, (thread, former))
            }
            // The process's first thread has its id.
            Event::Exec { thread, .. } => note(thread, Some(thread), ""),
            _ => Ok(()),
        }
    }

    fn remember(&mut self, created: u64) {
        if self.created.len() >= MAX_CREATED {
            self.created.clear();
        }
        self.created.insert(created);
    }

    /// Notes that a thread has executed a program and continues with the id of its process, whose
    /// first thread has ended. The calls that it made before have no end.
    fn replace_first<S: RecordSink>(
        &mut self,
        writer: &mut S,
        ticks: u64,
        (process, former): (u64, u64),
    ) -> Result<(), WriteError> {
        self.system_calls.exit(writer, ticks, former)?;
        self.calls.exit(writer, former)?;
        if self.threads.is_limited() && self.threads.is_in_scope(former) {
            self.threads.leave(former);
            let name = self.threads.name(process);
            self.threads.include([process]);
            self.threads.note(writer, process, Some(process), &name)?;
        }
        self.threads.remove(former);
        self.threads.note(writer, process, Some(process), "").map(drop)
    }

    /// Adds a new thread to the scope if its creator is in it, or starts the command.
    fn adopt(&mut self, child: u64, creator: u64) {
        let start = self.start.as_mut();
        match start.is_some_and(|start| start.create(child, creator)) {
            true => self.threads.include([child]),
            false => self.threads.adopt(child, creator),
        }
    }
}
