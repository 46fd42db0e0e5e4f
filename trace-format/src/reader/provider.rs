//! The name, clock and tables of each provider.

use std::collections::hash_map::Entry;
use std::collections::HashMap;

use super::table::Table;
use super::ReadError;
use crate::layout::{ThreadKoids, MAX_STRING_INDEX};
use crate::record::{Metadata, Record};
use crate::ticks::TickRate;

/// The name, clock, strings and threads of a provider, according to its records so far.
#[derive(Debug, Default)]
pub struct Provider {
    id: Option<u32>,
    name: Box<str>,
    rate: TickRate,
    strings: Table<Box<str>>,
    threads: Table<ThreadKoids>,
}

impl Provider {
    /// Returns a provider without strings and threads, with one tick per nanosecond.
    #[must_use]
    pub fn new(id: Option<u32>, name: &str) -> Self {
        Self { id, name: name.into(), ..Self::default() }
    }

    /// Applies a string, thread or initialization record of this provider. Ignores other records.
    #[inline]
    pub fn apply(&mut self, record: &Record<'_>) {
        match record {
            Record::String { index, value } => self.register_string(*index, value),
            Record::Thread { index, koids } => self.register_thread(*index, *koids),
            Record::Initialization { ticks_per_second } => {
                self.rate = TickRate::from_ticks_per_second(*ticks_per_second).unwrap_or_default();
            }
            _ => {}
        }
    }

    /// Returns the provider's id in the archive, or `None` for the provider of the records before
    /// the first section.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.id
    }

    /// Returns the provider's name, empty before its provider info record.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the rate of the provider's clock, 1 tick per nanosecond before its initialization
    /// record.
    #[must_use]
    pub fn tick_rate(&self) -> TickRate {
        self.rate
    }

    /// Returns the string that `index` refers to, or `None` if it is not registered.
    #[inline]
    #[must_use]
    pub fn string(&self, index: u16) -> Option<&str> {
        self.strings.get(index).map(|string| &**string)
    }

    /// Returns the thread that `index` refers to, or `None` if it is not registered.
    #[inline]
    #[must_use]
    pub fn thread(&self, index: u8) -> Option<ThreadKoids> {
        self.threads.get(index.into()).copied()
    }

    /// Index 0 is the empty string, so records for it are ignored.
    fn register_string(&mut self, index: u16, value: &[u8]) {
        if index != 0 && index <= MAX_STRING_INDEX {
            self.strings.insert(index, String::from_utf8_lossy(value).into());
        }
    }

    /// Index 0 is an inline thread, so records for it are ignored.
    fn register_thread(&mut self, index: u8, koids: ThreadKoids) {
        if index != 0 {
            self.threads.insert(index.into(), koids);
        }
    }
}

/// The providers of an archive.
#[derive(Debug)]
pub(super) struct Providers {
    /// The first provider is that of the records before the first section.
    list: Vec<Provider>,
    by_id: HashMap<u32, usize>,
    current: usize,
    limit: usize,
}

impl Providers {
    pub(super) fn new(limit: usize) -> Self {
        let list = vec![Provider::default()];
        Self { list, by_id: HashMap::new(), current: 0, limit }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Provider> {
        self.list.iter().filter(|provider| provider.id.is_some())
    }

    /// Returns the provider of the current section.
    #[inline]
    pub(super) fn current(&self) -> &Provider {
        self.list.get(self.current).expect("`current` is always an index of the list")
    }

    fn current_mut(&mut self) -> &mut Provider {
        self.list.get_mut(self.current).expect("`current` is always an index of the list")
    }

    /// Applies `record`, which is at `offset`, to the current provider, or changes the current
    /// provider.
    #[inline]
    pub(super) fn apply(&mut self, record: &Record<'_>, offset: u64) -> Result<(), ReadError> {
        match record {
            Record::Event(_) => Ok(()),
            Record::Metadata(metadata) => self.apply_metadata(metadata, offset),
            record => {
                self.current_mut().apply(record);
                Ok(())
            }
        }
    }

    fn apply_metadata(&mut self, metadata: &Metadata<'_>, offset: u64) -> Result<(), ReadError> {
        match metadata {
            Metadata::ProviderInfo { id, name } => {
                self.switch_to(*id, offset)?;
                self.current_mut().name = String::from_utf8_lossy(name).into();
                Ok(())
            }
            Metadata::ProviderSection { id } => self.switch_to(*id, offset),
            Metadata::ProviderEvent { .. } | Metadata::MagicNumber => Ok(()),
        }
    }

    fn switch_to(&mut self, id: u32, offset: u64) -> Result<(), ReadError> {
        let next = self.list.len();
        self.current = match self.by_id.entry(id) {
            Entry::Occupied(entry) => *entry.get(),
            Entry::Vacant(_) if next > self.limit => {
                let limit = self.limit;
                return Err(ReadError::TooManyProviders { offset, limit });
            }
            Entry::Vacant(entry) => {
                let id = Some(id);
                self.list.push(Provider { id, ..Provider::default() });
                *entry.insert(next)
            }
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_indices_of_the_tables_are_registered() {
        let mut provider = Provider::new(Some(7), "p");
        let koids = ThreadKoids::new(1, 2);
        for index in [0, 1, MAX_STRING_INDEX, MAX_STRING_INDEX + 1] {
            provider.apply(&Record::String { index, value: b"x" });
        }
        for index in [0, 1] {
            provider.apply(&Record::Thread { index, koids });
        }
        let strings = [0, 1, MAX_STRING_INDEX, MAX_STRING_INDEX + 1].map(|n| provider.string(n));
        assert_eq!(strings, [None, Some("x"), Some("x"), None]);
        assert_eq!([0, 1].map(|index| provider.thread(index)), [None, Some(koids)]);
        assert_eq!((provider.id(), provider.name()), (Some(7), "p"));
    }
}
