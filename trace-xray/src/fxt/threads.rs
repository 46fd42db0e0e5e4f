//! The threads of an archive, and the processes in whose logs they are.

use std::collections::{BTreeMap, HashMap};

use trace_analyze::catalog::Catalog;
use trace_format::layout::ObjectType;
use trace_format::{Item, KernelObject, ThreadKoids};

use super::process::Process;
use super::sorter::{Row, OPEN};

/// A thread with records of one provider.
#[derive(Debug, Clone)]
pub(super) struct Thread {
    koids: ThreadKoids,
    provider: Option<u32>,
    /// The id of the process in whose log it is.
    log: u64,
    /// Its first and last time.
    pub(super) start: u64,
    pub(super) last: u64,
    /// The most bytes of its records, and of the largest of them.
    pub(super) bytes: u64,
    pub(super) largest: u64,
}

impl Thread {
    fn new(koids: ThreadKoids, provider: Option<u32>) -> Self {
        let (log, start) = (koids.process, u64::MAX);
        Self { koids, provider, log, start, last: 0, bytes: 0, largest: 0 }
    }

    fn add(&mut self, row: Row) {
        self.start = self.start.min(row.begin);
        let end = if row.end == OPEN { row.begin } else { row.end };
        self.last = self.last.max(end);
        let bytes = row.most_bytes();
        self.bytes += bytes;
        self.largest = self.largest.max(bytes);
    }

    fn has_records(&self) -> bool {
        self.start != u64::MAX
    }

    /// Returns what the numbers of one thread have in common.
    pub(super) fn key(&self) -> (u64, u64) {
        (self.koids.process, self.koids.thread)
    }

    /// Returns its process and thread ids. A koid of more than 32 bits gets a negative
    /// number.
    pub(super) fn ids(&self, number: u32) -> [i32; 2] {
        let artificial = -1 - i32::try_from(number).unwrap_or(i32::MAX - 1);
        // Negative ids of a log are the koids from 2^31 on.
        let id = |koid| u32::try_from(koid).map_or(artificial, |id| id as i32);
        let process =
            if self.koids == ThreadKoids::UNKNOWN { self.log } else { self.koids.process };
        [process, self.koids.thread].map(id)
    }
}

/// Collects the threads and processes of an archive.
#[derive(Debug, Default)]
pub(super) struct Threads {
    /// The numbers of threads. A thread has one for each provider: if its process executes another
    /// program, the calls of the first one do not go on.
    numbers: HashMap<(ThreadKoids, Option<u32>), u32>,
    list: Vec<Thread>,
    /// The processes of providers, and their names.
    processes: BTreeMap<Option<u32>, Process>,
}

impl Threads {
    /// Returns the number of a thread.
    pub(super) fn number(&mut self, koids: ThreadKoids, provider: Option<u32>) -> u32 {
        let next = self.list.len() as u32;
        let number = *self.numbers.entry((koids, provider)).or_insert(next);
        if number == next {
            self.list.push(Thread::new(koids, provider));
        }
        number
    }

    /// Adds a row of the thread with this number to its size.
    pub(super) fn add(&mut self, number: u32, row: Row) {
        if let Some(thread) = self.list.get_mut(number as usize) {
            thread.add(row);
        }
    }

    /// Keeps the first process of a provider: its own. A program may name it again.
    pub(super) fn process(&mut self, item: &Item<'_>, object: &KernelObject<'_>) {
        if object.object_type == ObjectType::PROCESS {
            let process =
                || Process { pid: object.koid, name: item.text(object.name).into_owned() };
            self.processes.entry(item.provider.id()).or_insert_with(process);
        }
    }

    /// Returns the threads, and the numbers of those with records by the process in whose log they
    /// are.
    pub(super) fn finish(mut self, names: &Catalog) -> (Vec<Thread>, BTreeMap<Process, Vec<u32>>) {
        let logs = self.logs(names);
        (self.list, logs)
    }

    /// Assigns each thread with records to the log of a process: that of its provider if the thread
    /// belongs to it, else the first recorded one with its id, or else that of its provider.
    /// Archives of other programs may not describe their processes.
    fn logs(&mut self, names: &Catalog) -> BTreeMap<Process, Vec<u32>> {
        let mut by_pid: HashMap<u64, &Process> = HashMap::new();
        for process in self.processes.values() {
            by_pid.entry(process.pid).or_insert(process);
        }
        let mut logs: BTreeMap<Process, Vec<u32>> = BTreeMap::new();
        for (number, thread) in (0..).zip(&mut self.list) {
            let pid = thread.koids.process;
            let own = self.processes.get(&thread.provider);
            let recorded = own.filter(|own| own.pid == pid).or(by_pid.get(&pid).copied());
            let process = recorded.or(own).cloned().unwrap_or_else(|| {
                let name = names.process_name(pid).to_owned();
                Process { pid, name }
            });
            thread.log = process.pid;
            if thread.has_records() {
                logs.entry(process).or_default().push(number);
            }
        }
        logs
    }
}
