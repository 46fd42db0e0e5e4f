//! The names of threads, and their selection by `-t`.

use std::collections::HashMap;

use trace_format::layout::ObjectType;
use trace_format::{Item, Record};

/// The most threads whose names are kept.
const MAX_THREADS: usize = 1 << 16;

/// The names of threads so far, and the selected ones.
#[derive(Debug, Default)]
pub(crate) struct Threads {
    selected: Vec<String>,
    names: HashMap<u64, String>,
}

impl Threads {
    /// Selects threads by id or name; all if the list is empty.
    pub(crate) fn new(selected: Vec<String>) -> Self {
        Self { selected, names: HashMap::new() }
    }

    /// Adds the thread of a record. It must get each record.
    pub(crate) fn note(&mut self, item: &Item<'_>) {
        let Record::KernelObject(object) = &item.record else { return };
        let has_space = self.names.len() < MAX_THREADS || self.names.contains_key(&object.koid);
        if object.object_type == ObjectType::THREAD && has_space {
            self.names.insert(object.koid, item.text(object.name).into_owned());
        }
    }

    /// Returns the name of a thread.
    pub(crate) fn name(&self, thread: u64) -> Option<&str> {
        self.names.get(&thread).map(String::as_str)
    }

    /// Returns whether events of a thread are selected.
    pub(crate) fn includes(&self, thread: u64) -> bool {
        let is_thread = |selected: &String| {
            selected.parse() == Ok(thread) || self.name(thread) == Some(selected)
        };
        self.selected.is_empty() || self.selected.iter().any(is_thread)
    }
}
