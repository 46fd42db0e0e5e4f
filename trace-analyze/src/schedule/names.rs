//! The names of threads in scheduling records.

use std::collections::{BTreeMap, HashMap};

use trace_format::layout::{cut_str, ObjectType};
use trace_format::{Item, KernelObject, Record, ThreadKoids};

use crate::arguments::process_of;
use crate::catalog::Catalog;
use crate::group::Group;

/// The most names of threads.
const MAX_NAMES: usize = 1 << 20;

/// The most bytes of a name. A small record can refer to a long name.
const MAX_NAME_BYTES: usize = 256;

/// The names and processes of threads.
#[derive(Default)]
pub(super) struct Names {
    catalog: Catalog,
    /// By thread and provider.
    threads: BTreeMap<(u64, Option<u32>), Box<str>>,
    processes: HashMap<u64, u64>,
}

impl Names {
    pub(super) fn note(&mut self, item: &Item<'_>) {
        self.catalog.note(item);
        match &item.record {
            Record::KernelObject(object) if object.object_type == ObjectType::THREAD => {
                self.note_thread(item, object);
            }
            _ => {}
        }
    }

    fn note_thread(&mut self, item: &Item<'_>, object: &KernelObject<'_>) {
        if self.threads.len() >= MAX_NAMES {
            return;
        }
        let name = item.text(object.name);
        let name = cut_str(&name, MAX_NAME_BYTES).into();
        self.threads.insert((object.koid, item.provider.id()), name);
        if let Some(process) = process_of(item, object) {
            self.processes.insert(object.koid, process);
        }
    }

    /// Returns whether the archive has only a part of a thread's scheduling records.
    pub(super) fn is_partial(&self, thread: u64) -> bool {
        self.catalog.is_partial(thread)
    }

    /// Returns a thread with its names. A program's own name of a thread is preferred to the one
    /// that the provider of scheduling records has.
    pub(super) fn group(&self, thread: u64, is_scheduler: impl Fn(Option<u32>) -> bool) -> Group {
        let process = self.processes.get(&thread).copied().unwrap_or(0);
        let named = self.threads.range((thread, None)..=(thread, Some(u32::MAX)));
        let name = named.min_by_key(|((_, provider), _)| is_scheduler(*provider));
        Group {
            koids: ThreadKoids::new(process, thread),
            process_name: self.catalog.process_name(process).to_owned(),
            thread_name: name.map_or_else(String::new, |(_, name)| name.to_string()),
            value: None,
        }
    }
}
