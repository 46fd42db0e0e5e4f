//! Small numbers for the names and threads of an archive.
//!
//! What looks at every event of an archive has no time to compare strings: a
//! [`Catalog`] gives each pair of category and name, and each thread of a
//! provider, a number, and looks a string up only when its index in the
//! provider's table has come to mean something else.

mod hash;
mod registry;
mod strings;
mod tables;

use std::collections::{BTreeSet, HashMap};

use trace_format::{Item, Record, Text, Thread, ThreadKoids};

pub use hash::DenseMap;
use registry::Registry;
use strings::Strings;
use tables::Tables;

/// A category with a name; counts from 0 in the order of appearance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelId(pub u32);

/// A thread as one provider writes it; counts from 0 in the order of
/// appearance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// Returns the number as a place in a list.
    pub fn place(self) -> usize {
        self.0 as usize
    }
}

/// The names and threads that an archive has had so far.
///
/// Memory grows with how many different ones there are, not with the archive.
#[derive(Debug, Default)]
pub struct Catalog {
    strings: Strings,
    labels: Vec<(u32, u32)>,
    label_ids: DenseMap<LabelId>,
    /// What each thread is.
    threads: Vec<ThreadKoids>,
    thread_ids: HashMap<(usize, ThreadKoids), ThreadId>,
    tables: Tables,
    registry: Registry,
}

impl Catalog {
    /// Takes note of what a record that is no event says about later ones, and
    /// of the names of processes and threads. All records must go through here.
    #[inline]
    pub fn note(&mut self, item: &Item<'_>) {
        if !matches!(item.record, Record::Event(_)) {
            self.note_slow(item);
        }
    }

    #[inline(never)]
    fn note_slow(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::String { index, .. } => self.tables.of(item.provider).forget_text(*index),
            Record::Thread { index, .. } => self.tables.of(item.provider).forget_thread(*index),
            Record::KernelObject(object) => self.registry.note(item, object),
            _ => {}
        }
    }

    /// The same, and takes note of the threads of events and logs.
    #[inline]
    pub fn note_threads(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::Event(event) => drop(self.thread(item, event.thread)),
            Record::Log(log) => drop(self.thread(item, log.thread)),
            _ => self.note(item),
        }
    }

    /// Returns the number of a category and a name of `item`'s record.
    #[inline]
    pub fn label(&mut self, item: &Item<'_>, category: Text<'_>, name: Text<'_>) -> LabelId {
        let category = self.text(item, category);
        let name = self.text(item, name);
        self.label_of(category, name)
    }

    #[cold]
    fn new_label(&mut self, key: u64, texts: (u32, u32)) -> LabelId {
        let id = LabelId(self.labels.len() as u32);
        self.labels.push(texts);
        self.label_ids.insert(key, id);
        id
    }

    /// Returns the number of a thread of `item`'s record.
    #[inline]
    pub fn thread(&mut self, item: &Item<'_>, thread: Thread) -> ThreadId {
        if let Thread::Indexed(index) = thread {
            if let Some(id) = self.tables.of(item.provider).thread(index) {
                return id;
            }
        }
        self.thread_slow(item, thread)
    }

    #[inline(never)]
    fn thread_slow(&mut self, item: &Item<'_>, thread: Thread) -> ThreadId {
        let koids = item.thread(thread);
        let provider = self.tables.place_of(item.provider);
        let next = ThreadId(self.threads.len() as u32);
        let id = *self.thread_ids.entry((provider, koids)).or_insert(next);
        if id == next {
            self.threads.push(koids);
        }
        if let Thread::Indexed(index) = thread {
            self.tables.of(item.provider).set_thread(index, id);
        }
        id
    }

    /// Returns the number of a string of `item`'s record, the same for equal
    /// strings.
    #[inline]
    pub fn text(&mut self, item: &Item<'_>, text: Text<'_>) -> u32 {
        if let Text::Indexed(index) = text {
            if let Some(id) = self.tables.of(item.provider).text(index) {
                return id;
            }
        }
        self.text_slow(item, text)
    }

    #[inline(never)]
    fn text_slow(&mut self, item: &Item<'_>, text: Text<'_>) -> u32 {
        let id = self.intern(&item.text(text));
        if let Text::Indexed(index) = text {
            self.tables.of(item.provider).set_text(index, id);
        }
        id
    }

    /// Returns the number of a string that need not be of the archive.
    pub fn intern(&mut self, string: &str) -> u32 {
        self.strings.intern(string)
    }

    /// Returns about how much memory the strings take, in bytes.
    pub fn string_bytes(&self) -> usize {
        self.strings.bytes()
    }

    /// Returns the number of a category and a name that [`Catalog::intern`]
    /// has given numbers.
    #[inline]
    pub fn label_of(&mut self, category: u32, name: u32) -> LabelId {
        let key = u64::from(category) << 32 | u64::from(name);
        match self.label_ids.get(&key) {
            Some(id) => *id,
            None => self.new_label(key, (category, name)),
        }
    }

    /// Returns all strings, in the order of their numbers.
    pub fn strings(&self) -> impl ExactSizeIterator<Item = &str> {
        self.strings.iter()
    }

    /// Returns category and name of all labels, in the order of their numbers.
    pub fn labels(&self) -> &[(u32, u32)] {
        &self.labels
    }

    /// Returns the categories of all labels.
    pub fn categories(&self) -> BTreeSet<String> {
        self.labels.iter().map(|(category, _)| self.string(*category).to_owned()).collect()
    }

    /// Returns the string with a number of [`Catalog::text`].
    pub fn string(&self, id: u32) -> &str {
        self.strings.get(id).unwrap_or_default()
    }

    /// Returns the category of a label.
    #[must_use]
    pub fn category(&self, label: LabelId) -> &str {
        self.labels.get(label.0 as usize).map_or("", |(category, _)| self.string(*category))
    }

    /// Returns the name of a label.
    #[must_use]
    pub fn name(&self, label: LabelId) -> &str {
        self.labels.get(label.0 as usize).map_or("", |(_, name)| self.string(*name))
    }

    /// Returns the koids of a thread.
    #[must_use]
    pub fn koids(&self, thread: ThreadId) -> ThreadKoids {
        self.threads.get(thread.place()).copied().unwrap_or(ThreadKoids::UNKNOWN)
    }

    /// Returns the name of a process, empty if the archive has none.
    #[must_use]
    pub fn process_name(&self, process: u64) -> &str {
        self.registry.process(process)
    }

    /// Returns the threads that have a name which the archive gives without a process, in each
    /// process that has such a thread; if none has, in process 0.
    pub fn loose_names(&self) -> impl Iterator<Item = (ThreadKoids, &str)> {
        let threads: BTreeSet<ThreadKoids> = self.threads.iter().copied().collect();
        let loose = threads.into_iter().filter(|koids| self.registry.is_loose(koids.thread));
        let mut loose: Vec<ThreadKoids> = loose.collect();
        let known: BTreeSet<u64> = loose.iter().map(|koids| koids.thread).collect();
        let others: BTreeSet<u64> = self.registry.loose().collect();
        loose.extend(others.difference(&known).map(|thread| ThreadKoids::new(0, *thread)));
        loose.into_iter().map(|koids| (koids, self.thread_name(koids)))
    }

    /// Returns the name of a thread, empty if the archive has none.
    #[must_use]
    pub fn thread_name(&self, koids: ThreadKoids) -> &str {
        self.registry.thread(koids)
    }
}
