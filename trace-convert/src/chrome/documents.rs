//! What is known of documents in an archive.

use std::collections::{BTreeMap, BTreeSet};

use trace_format::Item;

use super::spool::Spool;

/// What is known of documents in the archive.
#[derive(Debug, Default)]
pub(super) struct Documents {
    /// The providers whose records are of a document, with its shift in nanoseconds.
    pub(super) providers: BTreeMap<Option<u32>, u64>,
    /// The providers whose next counter only shows an event that was carried.
    pub(super) shown: BTreeSet<Option<u32>>,
    /// The form of the document that the archive starts with, if it does.
    pub(super) whole: Option<Form>,
    /// An event or member of which more may follow.
    pub(super) pieces: Option<Pieces>,
    /// Members to be written behind the events.
    pub(super) members: Spool,
}

/// How the events of a document stand in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Array,
    Object,
}

#[derive(Debug)]
pub(super) struct Pieces {
    pub(super) name: &'static str,
    pub(super) json: Vec<u8>,
}

impl Documents {
    /// Tells whether there are none.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.providers.is_empty()
    }

    /// Tells whether the JSON is to be that of a document.
    pub(super) fn is_whole(&self) -> bool {
        self.whole.is_some()
    }

    /// Tells whether a record is of a document.
    #[inline]
    pub(super) fn has(&self, item: &Item<'_>) -> bool {
        self.providers.contains_key(&item.provider.id())
    }

    /// Returns the time of the document, in nanoseconds. Together with other archives it keeps
    /// the time of these.
    pub(super) fn time(&self, item: &Item<'_>, nanos: u64) -> i128 {
        let shift = self.providers.get(&item.provider.id()).filter(|_| self.is_whole());
        i128::from(nanos) - i128::from(shift.copied().unwrap_or(0))
    }

    /// Takes the shift of a document; `false` if it is none.
    pub(super) fn set_shift(&mut self, item: &Item<'_>, digits: &[u8]) -> bool {
        let shift = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        shift.is_some_and(|shift| self.providers.insert(item.provider.id(), shift).is_some())
    }
}
