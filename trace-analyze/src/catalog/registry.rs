//! The names of processes and threads.

use std::collections::HashMap;

use trace_format::layout::{cut_str, ObjectType};
use trace_format::{Item, KernelObject, ThreadKoids, Value};

use crate::arguments;

/// The argument of a thread's name if the archive has only a part of its context switches.
const PARTIAL: &str = "partial";

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

/// A thread's name.
#[derive(Debug)]
struct ThreadName {
    /// Its process, if the archive has it.
    process: Option<u64>,
    name: Box<str>,
    /// Whether the thread has been partial with each of its names in this process.
    is_partial: bool,
}

impl Registry {
    pub(super) fn note(&mut self, item: &Item<'_>, object: &KernelObject<'_>) {
        let name = item.text(object.name);
        let name = cut_str(&name, MAX_NAME_BYTES);
        if object.object_type == ObjectType::PROCESS {
            if self.processes.len() < MAX_NAMES || self.processes.contains_key(&object.koid) {
                self.processes.insert(object.koid, name.into());
            }
        } else if object.object_type == ObjectType::THREAD {
            let mut partial = arguments::named(item, &object.arguments, PARTIAL);
            let is_partial = partial.any(|value| value == Value::Bool(true));
            let process = arguments::process_of(item, object);
            let name = ThreadName { process, name: name.into(), is_partial };
            self.note_thread(object.koid, name);
        }
    }

    fn note_thread(&mut self, thread: u64, name: ThreadName) {
        if self.threads.len() >= MAX_NAMES && !self.threads.contains_key(&thread) {
            return;
        }
        let names = self.threads.entry(thread).or_default();
        // Koids are unique on a machine. Only merged archives have one in several processes.
        let has_room = names.len() < 8;
        match names.iter_mut().find(|earlier| earlier.process == name.process) {
            Some(earlier) => {
                let is_partial = earlier.is_partial && name.is_partial;
                *earlier = ThreadName { is_partial, ..name };
            }
            None if has_room => names.push(name),
            None => {}
        }
    }

    /// Returns whether a thread has a name without its process.
    pub(super) fn is_loose(&self, thread: u64) -> bool {
        let names = self.threads.get(&thread);
        names.is_some_and(|names| names.iter().any(|name| name.process.is_none()))
    }

    /// Returns whether a thread was partial whenever it got a name.
    pub(super) fn is_partial(&self, thread: u64) -> bool {
        let names = self.threads.get(&thread);
        names.is_some_and(|names| names.iter().all(|name| name.is_partial))
    }

    /// Returns the threads that have a name without their process.
    pub(super) fn loose(&self) -> impl Iterator<Item = u64> + '_ {
        self.threads.keys().copied().filter(|thread| self.is_loose(*thread))
    }

    /// Returns the name of a process, or of its first thread, whose koid is that of the process.
    pub(super) fn process(&self, koid: u64) -> &str {
        match self.own_name(koid) {
            "" if koid != 0 => self.thread(ThreadKoids::new(koid, koid)),
            name => name,
        }
    }

    /// Returns the processes that have only the name of their first thread.
    pub(super) fn unnamed(&self) -> impl Iterator<Item = u64> + '_ {
        let is_first = |(thread, names): &(&u64, &Vec<ThreadName>)| {
            names.iter().any(|name| name.process == Some(**thread))
        };
        let processes = self.threads.iter().filter(is_first).map(|(thread, _)| *thread);
        processes.filter(|process| *process != 0 && self.own_name(*process).is_empty())
    }

    fn own_name(&self, process: u64) -> &str {
        self.processes.get(&process).map_or("", |name| name)
    }

    pub(super) fn thread(&self, koids: ThreadKoids) -> &str {
        let names = self.threads.get(&koids.thread).map_or(&[][..], |names| names);
        let of = |process| names.iter().find(|name| name.process == process);
        of(Some(koids.process)).or_else(|| of(None)).map_or("", |name| &*name.name)
    }
}
