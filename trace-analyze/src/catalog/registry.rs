//! The names of processes and threads.

use std::collections::HashMap;

use trace_format::layout::{cut_str, ObjectType};
use trace_format::{Item, KernelObject, ThreadKoids};

use crate::arguments;

/// The most names of each kind.
const MAX_NAMES: usize = 1 << 20;

/// The most bytes of a name. A small record can refer to a long name.
const MAX_NAME_BYTES: usize = 256;

/// The names of processes and threads so far.
#[derive(Debug, Default)]
pub(super) struct Registry {
    processes: HashMap<u64, Box<str>>,
    threads: HashMap<u64, Vec<ThreadName>>,
}

/// A thread's process, if the archive has it, and name.
type ThreadName = (Option<u64>, Box<str>);

impl Registry {
    pub(super) fn note(&mut self, item: &Item<'_>, object: &KernelObject<'_>) {
        let name = item.text(object.name);
        let name = cut_str(&name, MAX_NAME_BYTES);
        if object.object_type == ObjectType::PROCESS {
            if self.processes.len() < MAX_NAMES || self.processes.contains_key(&object.koid) {
                self.processes.insert(object.koid, name.into());
            }
        } else if object.object_type == ObjectType::THREAD {
            self.note_thread(object.koid, arguments::process_of(item, object), name);
        }
    }

    fn note_thread(&mut self, thread: u64, process: Option<u64>, name: &str) {
        if self.threads.len() >= MAX_NAMES && !self.threads.contains_key(&thread) {
            return;
        }
        let names = self.threads.entry(thread).or_default();
        names.retain(|(of, _)| *of != process);
        // Koids are unique on a machine. Only merged archives have one in several processes.
        if names.len() < 8 {
            names.push((process, name.into()));
        }
    }

    /// Returns whether a thread has a name without its process.
    pub(super) fn is_loose(&self, thread: u64) -> bool {
        let names = self.threads.get(&thread);
        names.is_some_and(|names| names.iter().any(|(of, _)| of.is_none()))
    }

    /// Returns the threads that have a name without their process.
    pub(super) fn loose(&self) -> impl Iterator<Item = u64> + '_ {
        self.threads.keys().copied().filter(|thread| self.is_loose(*thread))
    }

    pub(super) fn process(&self, koid: u64) -> &str {
        self.processes.get(&koid).map_or("", |name| name)
    }

    pub(super) fn thread(&self, koids: ThreadKoids) -> &str {
        let names = self.threads.get(&koids.thread).map_or(&[][..], |names| names);
        let of = |process| names.iter().find(|(of, _)| *of == process);
        of(Some(koids.process)).or_else(|| of(None)).map_or("", |(_, name)| name)
    }
}
