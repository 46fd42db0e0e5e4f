//! What is known of each provider.

use std::collections::hash_map::Entry;
use std::collections::HashMap;

use super::table::Table;
use super::ReadError;
use crate::layout::{ThreadKoids, MAX_STRING_INDEX};
use crate::record::{Metadata, Record};
use crate::ticks::TickRate;

/// A provider, as far as its records so far tell.
#[derive(Debug, Default)]
pub struct Provider {
    id: Option<u32>,
    name: Box<str>,
    rate: TickRate,
    strings: Table<Box<str>>,
    threads: Table<ThreadKoids>,
}

impl Provider {
    /// Returns a provider without strings and threads, one tick a nanosecond.
    #[must_use]
    pub fn new(id: Option<u32>, name: &str) -> Self {
        Self { id, name: name.into(), ..Self::default() }
    }

    /// Registers what a record of this provider says about later ones: strings, threads and the
    /// clock.
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

    /// Returns its id in this archive; `None` stands for whoever wrote the
    /// records before the first section.
    #[must_use]
    pub fn id(&self) -> Option<u32> {
        self.id
    }

    /// Returns its name, empty as long as there is no provider info record.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the rate of its timestamps, 1 tick per nanosecond as long as
    /// there is no initialization record.
    #[must_use]
    pub fn tick_rate(&self) -> TickRate {
        self.rate
    }

    /// Returns the string that was last registered for `index`.
    #[inline]
    #[must_use]
    pub fn string(&self, index: u16) -> Option<&str> {
        self.strings.get(index).map(|string| &**string)
    }

    /// Returns the thread that was last registered for `index`.
    #[inline]
    #[must_use]
    pub fn thread(&self, index: u8) -> Option<ThreadKoids> {
        self.threads.get(index.into()).copied()
    }

    /// Index 0 means the empty string; records for it are to be ignored.
    fn register_string(&mut self, index: u16, value: &[u8]) {
        if index != 0 && index <= MAX_STRING_INDEX {
            self.strings.insert(index, String::from_utf8_lossy(value).into());
        }
    }

    /// Index 0 means an inline thread; records for it are to be ignored.
    fn register_thread(&mut self, index: u8, koids: ThreadKoids) {
        if index != 0 {
            self.threads.insert(index.into(), koids);
        }
    }
}

/// All providers of an archive.
#[derive(Debug)]
pub(super) struct Providers {
    /// The first one is for records before the first section.
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

    /// Returns the provider that the records now are of.
    #[inline]
    pub(super) fn current(&self) -> &Provider {
        self.list.get(self.current).expect("`current` is set to places in the list only")
    }

    fn current_mut(&mut self) -> &mut Provider {
        self.list.get_mut(self.current).expect("`current` is set to places in the list only")
    }

    /// Takes note of what `record`, which is at `offset`, says about those
    /// that follow.
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
