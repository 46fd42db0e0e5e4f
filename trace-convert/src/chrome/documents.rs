//! JSON documents within an archive.

use std::collections::{BTreeMap, BTreeSet};

use trace_format::Item;

use super::spool::Spool;
use crate::tef::Form;

/// The documents of an archive.
#[derive(Debug, Default)]
pub(super) struct Documents {
    /// The providers of documents, with the shift of each document in nanoseconds.
    pub(super) providers: BTreeMap<Option<u32>, u64>,
    /// The providers whose next counter only repeats a carried event for viewers.
    pub(super) shown: BTreeSet<Option<u32>>,
    /// The form of the document, if the archive begins with one.
    pub(super) restored: Option<Form>,
    /// An event or member that is not complete yet.
    pub(super) pieces: Option<Pieces>,
    /// Members that are written after the events.
    pub(super) members: Spool,
}

#[derive(Debug)]
pub(super) struct Pieces {
    pub(super) name: &'static str,
    pub(super) json: Vec<u8>,
}

impl Documents {
    /// Returns whether the archive has no document.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.providers.is_empty()
    }

    /// Returns whether the archive begins with a document, which is then restored.
    pub(super) fn is_restored(&self) -> bool {
        self.restored.is_some()
    }

    /// Returns whether a record belongs to a document.
    #[inline]
    pub(super) fn has(&self, item: &Item<'_>) -> bool {
        self.providers.contains_key(&item.provider.id())
    }

    /// Returns a record's time in its document, in nanoseconds. A document that was merged with
    /// other archives keeps the merged time.
    pub(super) fn time(&self, item: &Item<'_>, nanos: u64) -> i128 {
        let shift = self.providers.get(&item.provider.id()).filter(|_| self.is_restored());
        i128::from(nanos) - i128::from(shift.copied().unwrap_or(0))
    }

    /// Sets the shift of a document; returns `false` if the digits are malformed.
    pub(super) fn set_shift(&mut self, item: &Item<'_>, digits: &[u8]) -> bool {
        let shift = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok());
        shift.is_some_and(|shift| self.providers.insert(item.provider.id(), shift).is_some())
    }
}
