//! A reserved record that the caller fills.

use std::sync::atomic::AtomicU64;

use trace_protocol::buffer::producer::Reservation;

/// A reserved record of the writer that it borrows. Without [`Reserved::commit`] it is abandoned.
#[derive(Debug)]
#[must_use = "a record without a commit is discarded"]
pub struct Reserved<'w> {
    /// `None` after the commit.
    open: Option<Reservation<'w>>,
}

impl<'w> Reserved<'w> {
    #[inline]
    pub(crate) fn new(open: Reservation<'w>) -> Self {
        Self { open: Some(open) }
    }

    /// Returns the words of the record. [`Reserved::commit`] stores the header in the first one.
    #[inline]
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        self.open.as_ref().map_or(&[], Reservation::words)
    }

    /// Makes the record visible. It then survives the death of the process.
    #[inline]
    pub fn commit(mut self, header: u64) {
        if let Some(open) = self.open.take() {
            open.commit(header);
        }
    }
}

impl Drop for Reserved<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            open.abandon();
        }
    }
}
