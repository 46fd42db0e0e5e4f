//! Room for a record that the caller fills.

use std::sync::atomic::AtomicU64;

use trace_protocol::buffer::producer::Reservation;

/// Room for one record of the writer that it borrows. It is given back if it is dropped without
/// [`Reserved::commit`].
#[derive(Debug)]
#[must_use = "nothing is recorded without a commit"]
pub struct Reserved<'w> {
    /// `None` once it is committed.
    open: Option<Reservation<'w>>,
}

impl<'w> Reserved<'w> {
    pub(crate) fn new(open: Reservation<'w>) -> Self {
        Self { open: Some(open) }
    }

    /// The words of the record, with the header's at 0, which [`Reserved::commit`] stores.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        self.open.as_ref().map_or(&[], Reservation::words)
    }

    /// Makes the record visible: from here on it survives whatever happens to the process.
    pub fn commit(mut self, header: u64) {
        if let Some(open) = self.open.take() {
            open.commit(header);
        }
    }
}

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            open.abandon();
        }
    }
}
