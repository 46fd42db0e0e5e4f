//! The names of sampled threads.

use std::collections::HashMap;

use super::super::record::SampleId;
use crate::live::backend::Output;

/// The most threads whose name is remembered.
const MAX_THREADS: usize = 1 << 16;

/// The names of threads.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<u32, Box<str>>);

impl Names {
    pub(super) fn new(names: impl IntoIterator<Item = (u64, Box<str>)>) -> Self {
        let names = names.into_iter();
        Self(names.filter_map(|(thread, name)| Some((u32::try_from(thread).ok()?, name))).collect())
    }

    pub(super) fn set(&mut self, thread: u32, name: &str) {
        if self.0.len() < MAX_THREADS || self.0.contains_key(&thread) {
            self.0.insert(thread, name.into());
        }
    }

    /// Names a new thread like its creator.
    pub(super) fn copy(&mut self, thread: u32, creator: u32) {
        let name = self.0.get(&creator).cloned().unwrap_or_default();
        self.set(thread, &name);
    }

    /// Forgets a thread that ends: its id may be used again.
    pub(super) fn remove(&mut self, thread: u32) {
        self.0.remove(&thread);
    }

    /// Writes the process and the name of a thread, if they are new.
    pub(super) fn write(&self, id: SampleId, output: &mut Output<'_, '_>) -> Result<(), String> {
        let Output { translator, sink, .. } = output;
        let thread = u64::from(id.thread);
        translator.process(thread, id.process.into());
        let name = self.0.get(&id.thread).map(|name| &**name).unwrap_or_default();
        translator.name(sink, thread, name).map_err(|error| error.to_string())
    }
}
