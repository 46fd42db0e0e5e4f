//! Small numbers for the names and threads of an archive.
//!
//! To compare strings for each event takes too long. A [`Catalog`] numbers pairs of category and
//! name, and threads of a provider. It looks at a string only if the string's index has a new
//! meaning in the provider's table.

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

/// The number of a category and name, from 0 in the order of appearance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LabelId(pub u32);

/// The number of a provider's thread, from 0 in the order of appearance.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub u32);

impl ThreadId {
    /// Returns the number as an index.
    pub fn place(self) -> usize {
        self.0 as usize
    }
}

/// The names and threads in an archive so far.
///
/// Memory grows with their number, not with the length of the archive.
#[derive(Debug, Default)]
pub struct Catalog {
    strings: Strings,
    /// The category and name of each label.
    labels: Vec<(u32, u32)>,
    label_ids: DenseMap<LabelId>,
    threads: Vec<ThreadKoids>,
    thread_ids: HashMap<(usize, ThreadKoids), ThreadId>,
    tables: Tables,
    registry: Registry,
}

impl Catalog {
    /// Updates the tables and the names of processes and threads. It must get each record of the
    /// archive.
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

    /// Like [`Catalog::note`], and numbers the threads of events and logs.
    #[inline]
    pub fn note_threads(&mut self, item: &Item<'_>) {
        match &item.record {
            Record::Event(event) => drop(self.thread(item, event.thread)),
            Record::Log(log) => drop(self.thread(item, log.thread)),
            _ => self.note(item),
        }
    }

    /// Like [`Catalog::note`], and numbers the category and name of events and large blobs.
    #[inline]
    pub fn note_labels(&mut self, item: &Item<'_>) {
        self.note(item);
        match &item.record {
            Record::Event(event) => drop(self.label(item, event.category, event.name)),
            Record::LargeBlob(blob) => drop(self.label(item, blob.category, blob.name)),
            _ => {}
        }
    }

    /// Returns the number of a category and name in `item`'s record.
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

    /// Returns the number of a thread in `item`'s record.
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

    /// Returns the number of a string in `item`'s record. Equal strings have one number.
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

    /// Returns the number of a string, which need not be in the archive.
    pub fn intern(&mut self, string: &str) -> u32 {
        self.strings.intern(string)
    }

    /// Returns the approximate memory of the strings in bytes.
    pub fn string_bytes(&self) -> usize {
        self.strings.bytes()
    }

    /// Returns the number of a category and name with numbers of [`Catalog::intern`].
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

    /// Returns the categories and names of all labels, in the order of their numbers.
    pub fn labels(&self) -> &[(u32, u32)] {
        &self.labels
    }

    /// Returns the category and the name of each label, in the order of their numbers.
    pub fn label_texts(&self) -> impl Iterator<Item = (&str, &str)> + Clone {
        self.labels.iter().map(|(category, name)| (self.string(*category), self.string(*name)))
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

    /// Returns the koids of all threads, by number.
    #[must_use]
    pub fn threads(&self) -> &[ThreadKoids] {
        &self.threads
    }

    /// Returns the koids of a thread.
    #[must_use]
    pub fn koids(&self, thread: ThreadId) -> ThreadKoids {
        self.threads.get(thread.place()).copied().unwrap_or(ThreadKoids::UNKNOWN)
    }

    /// Returns the name of a process, or of its first thread if it has none of its own, or an empty
    /// string.
    #[must_use]
    pub fn process_name(&self, process: u64) -> &str {
        self.registry.process(process)
    }

    /// Returns the processes that have only the name of their first thread, with that.
    pub fn names_of_first_threads(&self) -> impl Iterator<Item = (u64, &str)> {
        let processes: BTreeSet<u64> = self.registry.unnamed().collect();
        processes.into_iter().map(|process| (process, self.process_name(process)))
    }

    /// Returns whether the archive has only a part of a thread's context switches, so that its
    /// state is unknown: all its names so far have the argument `partial`.
    #[must_use]
    pub fn is_partial(&self, thread: u64) -> bool {
        self.registry.is_partial(thread)
    }

    /// Returns the threads whose name the archive has without their process, in each process with
    /// such a thread. If no process has one, the process is 0.
    pub fn loose_names(&self) -> impl Iterator<Item = (ThreadKoids, &str)> {
        let threads: BTreeSet<ThreadKoids> = self.threads.iter().copied().collect();
        let loose = threads.into_iter().filter(|koids| self.registry.is_loose(koids.thread));
        let mut loose: Vec<ThreadKoids> = loose.collect();
        let in_processes: BTreeSet<u64> = loose.iter().map(|koids| koids.thread).collect();
        let others: BTreeSet<u64> = self.registry.loose().collect();
        loose.extend(others.difference(&in_processes).map(|thread| ThreadKoids::new(0, *thread)));
        loose.into_iter().map(|koids| (koids, self.thread_name(koids)))
    }

    /// Returns the name of a thread, or an empty string if it has none.
    #[must_use]
    pub fn thread_name(&self, koids: ThreadKoids) -> &str {
        self.registry.thread(koids)
    }
}

#[cfg(test)]
mod tests;
