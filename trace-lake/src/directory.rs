//! What a query needs to know of a whole archive before it reads events: threads, processes, their
//! names, and clocks.
//!
//! A name can come after the first events of its thread, so a first pass reads them.

mod clocks;
mod extent;
mod order;

use std::collections::{BTreeSet, HashMap};

use trace_analyze::catalog::{Catalog, ThreadId};
use trace_analyze::scheduling::Switch;
use trace_analyze::{arguments, is_clock_anchor, Damage};
use trace_format::layout::ObjectType;
use trace_format::{EventKind, Item, Metadata, Module, Process, Record, Thread, ThreadKoids};

use crate::times::nanos;
pub use clocks::{Clock, Clocks};
use extent::Extent;
use order::Order;

/// A thread of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadInfo {
    /// Its process, or `None` if the archive has only its scheduling records.
    pub process: Option<u64>,
    /// Its koid.
    pub thread: u64,
    /// Its name.
    pub name: Option<String>,
}

/// A process of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    /// Its koid.
    pub process: u64,
    /// Its name, or that of its first thread.
    pub name: Option<String>,
}

/// A program or library that a process has loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleInfo {
    /// The process.
    pub process: u64,
    /// The time of the observation.
    pub nanos: i64,
    /// The name.
    pub name: String,
    /// The build id in hexadecimal digits.
    pub build_id: String,
}

/// Threads, processes and clocks of an archive. Threads and processes are numbered in the order of
/// their first records.
#[derive(Debug, Default)]
pub struct Directory {
    /// The threads, by number.
    pub threads: Vec<ThreadInfo>,
    /// The processes, by number.
    pub processes: Vec<ProcessInfo>,
    /// The modules in the order of their records.
    pub modules: Vec<ModuleInfo>,
    /// The names of the providers, in the order of their first records.
    pub providers: Vec<String>,
    /// The clocks.
    pub clocks: Clocks,
    /// The number of events.
    pub events: u64,
    /// The times of the first and the last record that has one. Those beyond 292 years are damaged,
    /// and are left out.
    pub extent: Option<(i64, i64)>,
    /// Missing and unreadable data.
    pub damage: Damage,
    /// The threads whose spans need a sort to be nested.
    unordered: BTreeSet<usize>,
    has_ordered: bool,
    by_koids: HashMap<ThreadKoids, usize>,
    by_thread: HashMap<u64, usize>,
    by_process: HashMap<u64, usize>,
}

impl Directory {
    /// Returns the number of a thread.
    #[must_use]
    pub fn number(&self, koids: ThreadKoids) -> Option<usize> {
        self.by_koids.get(&koids).copied()
    }

    /// Returns the number of a thread whose process is not recorded.
    #[must_use]
    pub fn number_of_thread(&self, thread: u64) -> Option<usize> {
        self.by_thread.get(&thread).copied()
    }

    /// Returns the number of a process.
    #[must_use]
    pub fn process_number(&self, process: u64) -> Option<usize> {
        self.by_process.get(&process).copied()
    }

    /// Returns the name of a thread.
    #[must_use]
    pub fn thread_name(&self, number: Option<usize>) -> Option<&str> {
        self.threads.get(number?)?.name.as_deref()
    }

    /// Returns the name of a process.
    #[must_use]
    pub fn process_name(&self, number: Option<usize>) -> Option<&str> {
        self.processes.get(number?)?.name.as_deref()
    }

    /// Returns whether the spans of a thread are nested in the order of their records: each has one
    /// record, and is around or after those recorded before it.
    #[must_use]
    pub(crate) fn is_ordered(&self, number: Option<usize>) -> bool {
        number.is_some_and(|number| !self.unordered.contains(&number))
    }

    /// Returns whether the spans of a thread that has some are so nested.
    pub(crate) fn has_ordered(&self) -> bool {
        self.has_ordered
    }

    /// Returns whether the spans of all threads are so nested.
    pub(crate) fn are_all_ordered(&self) -> bool {
        self.unordered.is_empty()
    }

    fn add_thread(&mut self, koids: ThreadKoids) {
        let next = self.threads.len();
        if *self.by_koids.entry(koids).or_insert(next) == next {
            let (process, thread) = (Some(koids.process), koids.thread);
            self.threads.push(ThreadInfo { process, thread, name: None });
            self.by_thread.entry(koids.thread).or_insert(next);
            self.add_process(koids.process);
        }
    }

    fn add_process(&mut self, process: u64) {
        let next = self.processes.len();
        if *self.by_process.entry(process).or_insert(next) == next {
            self.processes.push(ProcessInfo { process, name: None });
        }
    }
}

/// Reads a [`Directory`].
#[derive(Debug, Default)]
pub(crate) struct Reading {
    directory: Directory,
    catalog: Catalog,
    /// What is known of each thread of the catalog.
    orders: Vec<Order>,
    extent: Extent,
    /// Threads that are named or scheduled without their process.
    loose: BTreeSet<u64>,
}

impl Reading {
    pub(crate) fn item(&mut self, item: &Item<'_>) {
        self.catalog.note(item);
        match &item.record {
            Record::Event(event) => {
                self.directory.events += 1;
                let thread = self.thread(item, event.thread);
                if let Some(order) = self.orders.get_mut(thread.place()) {
                    order.event(item, event);
                }
                if is_clock_anchor(item, event) {
                    self.directory.clocks.note(item, event);
                }
            }
            Record::Log(log) => drop(self.thread(item, log.thread)),
            Record::Backtrace(sample) => drop(self.thread(item, sample.thread)),
            Record::KernelObject(object) if object.object_type == ObjectType::THREAD => {
                match arguments::process_of(item, object) {
                    Some(process) => {
                        self.directory.add_thread(ThreadKoids::new(process, object.koid));
                    }
                    None => drop(self.loose.insert(object.koid)),
                }
            }
            Record::KernelObject(object) if object.object_type == ObjectType::PROCESS => {
                self.directory.add_process(object.koid);
            }
            Record::Module(module) => self.module(item, module),
            Record::Metadata(Metadata::ProviderInfo { name, .. }) => {
                self.directory.providers.push(String::from_utf8_lossy(name).into_owned());
            }
            Record::ThreadWakeup(wakeup) => drop(self.loose.insert(wakeup.thread)),
            _ => self.switch(item),
        }
        self.times(item);
    }

    #[inline]
    fn times(&mut self, item: &Item<'_>) {
        let rate = item.provider.tick_rate();
        match &item.record {
            Record::Event(event) => {
                self.extent.note(rate, event.ticks);
                if let EventKind::DurationComplete { end } = event.kind {
                    self.extent.note(rate, end);
                }
            }
            record => { *record }.times().for_each(|ticks| self.extent.note(rate, *ticks)),
        }
    }

    #[inline]
    fn thread(&mut self, item: &Item<'_>, thread: Thread) -> ThreadId {
        let id = self.catalog.thread(item, thread);
        if id.place() == self.orders.len() {
            self.orders.push(Order::default());
            self.directory.add_thread(self.catalog.koids(id));
        }
        id
    }

    fn switch(&mut self, item: &Item<'_>) {
        let Some(switch) = Switch::of(item) else { return };
        if let Some((outgoing, incoming)) = switch.koids {
            let tasks = [(switch.outgoing, outgoing), (switch.incoming, incoming)];
            let threads = tasks.into_iter().filter(|(task, _)| task.thread != 0);
            threads.for_each(|(_, koids)| self.directory.add_thread(koids));
            return;
        }
        let threads = [switch.outgoing.thread, switch.incoming.thread];
        self.loose.extend(threads.into_iter().filter(|thread| *thread != 0));
    }

    fn module(&mut self, item: &Item<'_>, module: &Module<'_>) {
        let process = match module.process {
            Process::Inline(koid) => koid,
            indexed => item.process(indexed),
        };
        self.directory.add_process(process);
        let build_id = module.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        self.directory.modules.push(ModuleInfo {
            process,
            nanos: nanos(item, module.ticks),
            name: String::from_utf8_lossy(module.name).into_owned(),
            build_id,
        });
    }

    pub(crate) fn finish(self, damage: Damage) -> Directory {
        let Self { mut directory, catalog, orders, extent, loose } = self;
        (directory.unordered, directory.has_ordered) = unordered(&directory, &catalog, &orders);
        directory.extent = extent.finish();
        for thread in loose {
            let next = directory.threads.len();
            if *directory.by_thread.entry(thread).or_insert(next) == next {
                directory.threads.push(ThreadInfo { process: None, thread, name: None });
            }
        }
        for thread in &mut directory.threads {
            let koids = ThreadKoids::new(thread.process.unwrap_or(0), thread.thread);
            let name = catalog.thread_name(koids);
            thread.name = (!name.is_empty()).then(|| name.to_owned());
        }
        for process in &mut directory.processes {
            let name = catalog.process_name(process.process);
            process.name = (!name.is_empty()).then(|| name.to_owned());
        }
        directory.clocks.sort();
        Directory { damage, ..directory }
    }
}

/// Returns the threads whose spans need a sort to be nested, and whether there are others with
/// spans. A thread with spans of two providers has two numbers in the catalog.
fn unordered(
    directory: &Directory,
    catalog: &Catalog,
    orders: &[Order],
) -> (BTreeSet<usize>, bool) {
    let mut seen = BTreeSet::new();
    let with_spans = catalog.threads().iter().zip(orders).filter(|(_, order)| order.has_spans());
    let is_unordered = |(koids, order): (&ThreadKoids, &Order)| {
        let number = directory.number(*koids)?;
        let is_first = seen.insert(number);
        (!is_first || !order.is_ordered()).then_some(number)
    };
    let unordered: BTreeSet<usize> = with_spans.filter_map(is_unordered).collect();
    let has_ordered = seen.len() > unordered.len();
    (unordered, has_ordered)
}
