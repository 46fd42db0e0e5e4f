//! The current string and thread tables of each provider, as numbers of the catalog.

use std::collections::HashMap;

use trace_format::layout::MAX_STRING_INDEX;
use trace_format::Provider;

use super::ThreadId;

/// The entry of an index that was not looked up.
const NONE: u32 = u32::MAX;

/// The tables of all providers.
#[derive(Debug, Default)]
pub(super) struct Tables {
    list: Vec<Table>,
    by_id: HashMap<Option<u32>, usize>,
    /// The provider of the previous record, and its place in `list`.
    last: Option<(Option<u32>, usize)>,
}

impl Tables {
    #[inline]
    pub(super) fn of(&mut self, provider: &Provider) -> &mut Table {
        let place = self.place_of(provider);
        self.list.get_mut(place).expect("`place_of` returns places in the list only")
    }

    /// Returns the place of a provider in `list`.
    #[inline]
    pub(super) fn place_of(&mut self, provider: &Provider) -> usize {
        match self.last {
            Some((id, place)) if id == provider.id() => place,
            _ => self.place_slow(provider),
        }
    }

    #[cold]
    fn place_slow(&mut self, provider: &Provider) -> usize {
        let next = self.list.len();
        let place = *self.by_id.entry(provider.id()).or_insert(next);
        if place == next {
            self.list.push(Table::default());
        }
        self.last = Some((provider.id(), place));
        place
    }
}

/// The tables of one provider.
#[derive(Debug)]
pub(super) struct Table {
    texts: Vec<u32>,
    threads: Box<[u32; 256]>,
}

impl Default for Table {
    fn default() -> Self {
        Self { texts: Vec::new(), threads: Box::new([NONE; 256]) }
    }
}

impl Table {
    #[inline]
    pub(super) fn text(&self, index: u16) -> Option<u32> {
        self.texts.get(usize::from(index)).copied().filter(|id| *id != NONE)
    }

    pub(super) fn set_text(&mut self, index: u16, id: u32) {
        let place = usize::from(index.min(MAX_STRING_INDEX));
        if self.texts.len() <= place {
            self.texts.resize(place + 1, NONE);
        }
        if let Some(entry) = self.texts.get_mut(place) {
            *entry = id;
        }
    }

    pub(super) fn forget_text(&mut self, index: u16) {
        if let Some(entry) = self.texts.get_mut(usize::from(index)) {
            *entry = NONE;
        }
    }

    #[inline]
    pub(super) fn thread(&self, index: u8) -> Option<ThreadId> {
        let id = self.threads[usize::from(index)];
        (id != NONE).then_some(ThreadId(id))
    }

    pub(super) fn set_thread(&mut self, index: u8, id: ThreadId) {
        self.threads[usize::from(index)] = id.0;
    }

    pub(super) fn forget_thread(&mut self, index: u8) {
        self.set_thread(index, ThreadId(NONE));
    }
}
