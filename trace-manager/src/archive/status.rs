//! The state of an archive's writer, for other threads.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use trace_format::layout::{record, RecordType};
use trace_protocol::buffer::consumer::record_words;

use crate::output::BlockRole;

/// The state of the writer thread, for other threads.
#[derive(Debug, Default)]
pub(crate) struct WriterStatus {
    /// Bytes written. Stored by the writer thread with release, so a reader of the number can read
    /// as many bytes from the file.
    pub(super) bytes: AtomicU64,
    /// The text of the first error.
    failure: Mutex<Option<String>>,
    /// The text of the error of the last cut. The archive continues without the cut.
    cut_failure: Mutex<Option<String>>,
    /// Whether the writer waits for space on the disk, which is full.
    is_full: AtomicBool,
    /// Records that are not written because the archive has failed.
    unwritten: AtomicU64,
    /// Why a block did not reach the writer.
    lost: Mutex<Option<io::Error>>,
    /// Set by the writer thread, with release, as its last store.
    ended: AtomicBool,
}

impl WriterStatus {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    /// Returns the number of records that are not written because the archive has failed.
    pub(crate) fn unwritten(&self) -> u64 {
        self.unwritten.load(Ordering::Relaxed)
    }

    /// Counts the records of a block that is not written.
    pub(super) fn count_unwritten(&self, role: BlockRole, bytes: &[u8]) {
        if role == BlockRole::Content {
            self.unwritten.fetch_add(count_records(bytes), Ordering::Relaxed);
        }
    }

    pub(crate) fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether the writer waits for space on the disk.
    pub(crate) fn is_full(&self) -> bool {
        self.is_full.load(Ordering::Relaxed)
    }

    /// Returns why the archive ends, waits or is not cut.
    pub(crate) fn problem(&self) -> Option<String> {
        let full = || self.is_full().then(|| "the disk is full, records wait in memory".to_owned());
        let cut = || self.cut_failure.lock().unwrap_or_else(PoisonError::into_inner).clone();
        self.failure().or_else(full).or_else(cut)
    }

    /// Returns whether the writer has ended.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    pub(super) fn fail(&self, error: &io::Error) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert_with(|| error.to_string());
    }

    /// Sets the error of the last cut.
    pub(super) fn set_cut_failure(&self, error: Option<&io::Error>) {
        let text = error.map(|error| format!("no next part: it cannot be created: {error}"));
        *self.cut_failure.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    /// Sets whether the writer waits for space on the disk.
    pub(super) fn set_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::Relaxed);
    }

    pub(super) fn lose(&self, error: io::Error) {
        self.fail(&error);
        *self.lost.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    /// Returns whether a block did not reach the writer.
    pub(super) fn has_lost(&self) -> bool {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    pub(super) fn take_lost(&self) -> Option<io::Error> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Returns the number of records that are neither names nor metadata.
fn count_records(bytes: &[u8]) -> u64 {
    let (mut rest, mut count) = (bytes, 0);
    while let Some((header, _)) = rest.split_first_chunk() {
        let header = u64::from_le_bytes(*header);
        let size = record_words(header).map_or(rest.len(), |words| words * 8);
        let is_name = matches!(
            RecordType::from_bits(record::Type::get(header)),
            None | Some(
                RecordType::Metadata
                    | RecordType::Initialization
                    | RecordType::String
                    | RecordType::Thread
                    | RecordType::KernelObject
            )
        );
        count += u64::from(!is_name);
        rest = rest.get(size.max(8)..).unwrap_or_default();
    }
    count
}

/// Sets `ended` when the thread ends, also by a panic.
pub(super) struct EndOnDrop(pub(super) Arc<WriterStatus>);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.ended.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_stays() {
        let status = WriterStatus::default();
        assert_eq!((status.failure(), status.take_lost().is_none()), (None, true));
        status.fail(&io::Error::other("first"));
        status.lose(io::Error::other("second"));
        assert_eq!(status.failure().as_deref(), Some("first"));
        assert_eq!(status.take_lost().unwrap().to_string(), "second");
        assert!(status.take_lost().is_none());
    }

    #[test]
    fn a_writer_has_ended_when_its_thread_ends() {
        let status = Arc::new(WriterStatus::default());
        let end = EndOnDrop(Arc::clone(&status));
        assert!(!status.has_ended());
        drop(end);
        assert!(status.has_ended());
    }
}
