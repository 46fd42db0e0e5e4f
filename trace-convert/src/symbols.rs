//! The names of functions at the addresses of samples: those that the archive has, see
//! [`symbolize`](crate::symbolize), else those of the files of modules on this machine.

mod files;
pub(crate) mod record;
mod table;
mod texts;

use std::path::Path;
use std::sync::Arc;

use trace_format::notes::SYMBOLS;
use trace_format::{Item, Record};
use trace_symbols::{Frame, ModuleError};

use crate::images::CodeModule;
use files::Files;
use table::Table;

/// The frames at an address, innermost first.
pub(crate) type Frames = Arc<[Frame]>;

/// The names of functions: those of the archive, else those of files on this machine.
///
/// Memory is bounded, but for the files, whose sections are in memory.
#[derive(Debug)]
pub struct Symbols {
    archived: Table,
    /// Those of files that were looked up.
    found: Table,
    /// `None` if files are not read.
    files: Option<Files>,
    malformed: u64,
}

impl Default for Symbols {
    fn default() -> Self {
        Self { files: Some(Files::default()), ..Self::of_archive() }
    }
}

impl Symbols {
    /// Returns only the names that the archive has: no files are read.
    #[must_use]
    pub fn of_archive() -> Self {
        Self { archived: Table::default(), found: Table::default(), files: None, malformed: 0 }
    }

    /// Adds the names of a record, and returns whether it is a record of names. It must get each
    /// record of the archive, before the samples that have these names.
    #[inline]
    pub fn note(&mut self, item: &Item<'_>) -> bool {
        match &item.record {
            Record::Blob(blob) if item.text(blob.name) == SYMBOLS => {
                self.add(blob.payload);
                true
            }
            _ => false,
        }
    }

    #[cold]
    fn add(&mut self, payload: &[u8]) {
        match record::decode(payload) {
            Some(names) => names.add_to(&mut self.archived),
            None => self.malformed += 1,
        }
    }

    /// Returns the frames at an address of a module's file, innermost first. There are none if no
    /// function is known.
    pub(crate) fn frames(&mut self, module: &CodeModule, address: u64) -> Frames {
        let archived = self.archived.get(module, address);
        if let Some(frames) = archived.or_else(|| self.found.get(module, address)) {
            return frames;
        }
        let Some(files) = &mut self.files else { return Frames::default() };
        let frames = files.frames(module, address);
        if self.found.is_full() {
            self.found = Table::default();
        }
        self.found.add(module, address, &frames)
    }

    /// Returns whether the archive has the name of an address.
    pub(crate) fn has_archived(&self, module: &CodeModule, address: u64) -> bool {
        self.archived.get(module, address).is_some()
    }

    /// Frees the memory of a module's file.
    pub(crate) fn forget_file(&mut self, module: &CodeModule) {
        if let Some(files) = &mut self.files {
            files.forget(module);
        }
        self.found = Table::default();
    }

    /// Returns the files that cannot name their functions, or only without lines, with the reason,
    /// in order.
    #[must_use]
    pub fn unusable(&self) -> Vec<(&Path, ModuleError)> {
        self.files.as_ref().map(Files::unusable).unwrap_or_default()
    }

    /// Returns the number of names in the archive that are not used, because there are too many,
    /// and of malformed records.
    #[must_use]
    pub fn omitted(&self) -> u64 {
        self.archived.omitted() + self.malformed
    }
}

/// Returns the name of an address without a function.
pub(crate) fn unnamed(module: &CodeModule, address: u64) -> String {
    let file = module.name.rsplit('/').next().unwrap_or_default();
    format!("{file}+{address:#x}")
}

#[cfg(test)]
mod tests;
