//! Access to one recording of an engine, to write encoded records.

use std::sync::atomic::Ordering;

use trace_format::encode::Encoding;
use trace_format::layout::{cut_str, StringRef, ThreadKoids, ThreadRef};
use trace_format::layout::{MAX_LARGE_RECORD_WORDS, MAX_STRING_BYTES};
use trace_protocol::buffer::consumer::{check_record, IdentityPolicy};
use trace_protocol::buffer::producer::{Reservation, Slot};

use crate::engine::table::Table;
use crate::engine::Engine;

/// A recording. It does not delay the end of the recording: after that, all calls fail.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    engine: &'static Engine,
    recording: u64,
}

impl Access {
    /// Returns access to the current recording, or `None` if there is none. Costs two loads.
    #[must_use]
    pub fn acquire(engine: &'static Engine) -> Option<Self> {
        let recording = engine.recorder.recording();
        engine.recorder.is_recording().then_some(Self { engine, recording })
    }

    /// Returns access to the recording with this number.
    #[must_use]
    pub fn new(engine: &'static Engine, recording: u64) -> Self {
        Self { engine, recording }
    }

    /// Returns the number of the recording.
    #[must_use]
    pub fn recording(self) -> u64 {
        self.recording
    }

    /// Returns whether the recording is still current. Costs two loads.
    #[must_use]
    pub fn is_current(self) -> bool {
        let now = Self::acquire(self.engine);
        now.is_some_and(|now| now.recording == self.recording)
    }

    /// Returns the ref of a text, and registers the text if it is new. Takes a lock.
    #[must_use]
    pub fn register_string(self, text: &str) -> Option<StringRef> {
        self.with_table(|table| table.intern(cut_str(text, MAX_STRING_BYTES)))
    }

    /// Returns the ref of a thread, and registers the thread if it is new. Takes a lock.
    #[must_use]
    pub fn register_thread(self, koids: ThreadKoids) -> Option<ThreadRef> {
        self.with_table(|table| table.register_thread(koids))
    }

    /// Writes a record to the durable buffer, if it leaves enough space for strings. Takes a lock.
    #[must_use]
    pub fn write_durable(self, record: &[u64], policy: IdentityPolicy) -> bool {
        self.is_valid(record, policy)
            && self.with_table(|table| table.append_durable(record)).is_some()
    }

    /// Writes a record on the thread that owns the slot, if the collector accepts such a record.
    /// Takes no lock and makes no system call.
    pub fn write(self, slot: Option<&Slot>, record: &[u64], policy: IdentityPolicy) -> bool {
        let Some((header, payload)) = record.split_first() else { return false };
        if !self.is_valid(record, policy) {
            return false;
        }
        let Some(open) = slot.and_then(|slot| self.reserve(slot, record.len())) else {
            return false;
        };
        for (word, value) in open.words().iter().skip(1).zip(payload) {
            word.store(*value, Ordering::Relaxed);
        }
        open.commit(*header);
        true
    }

    /// Writes a record on the thread that owns the slot. The words are stored in place and are not
    /// checked. Takes no lock and makes no system call.
    pub(crate) fn write_unchecked(
        self,
        slot: &Slot,
        record: &Encoding<'_, '_>,
        policy: IdentityPolicy,
    ) -> bool {
        debug_assert!(self.accepts(record, policy), "the collector refuses {record:?}");
        let Some(open) = self.reserve(slot, record.words()) else { return false };
        let mut places = open.words().iter().skip(1);
        record.payload(|word| {
            if let Some(place) = places.next() {
                place.store(word, Ordering::Relaxed);
            }
        });
        open.commit(record.header());
        true
    }

    /// Returns whether the collector accepts a record, or the recording is over.
    fn accepts(self, record: &Encoding<'_, '_>, policy: IdentityPolicy) -> bool {
        let mut words = vec![record.header()];
        record.payload(|word| words.push(word));
        // The refs are valid until the recording is over.
        check_record(&self.engine.refs, &words, policy).is_ok() || !self.is_current()
    }

    /// Reserves a record of `words` words on the thread that owns the slot. `None` for more words
    /// than a record can have.
    #[inline]
    pub(crate) fn reserve(self, slot: &Slot, words: usize) -> Option<Reservation<'_>> {
        if words as u64 > MAX_LARGE_RECORD_WORDS {
            return None;
        }
        let open = slot.open(self.engine.recorder, words.max(1))?;
        // Checked again: while the slot is busy, the recording does not end.
        if self.engine.recorder.recording() != self.recording {
            open.abandon();
            return None;
        }
        Some(open)
    }

    fn is_valid(self, record: &[u64], policy: IdentityPolicy) -> bool {
        self.is_current() && check_record(&self.engine.refs, record, policy).is_ok()
    }

    fn with_table<T>(self, act: impl FnOnce(&mut Table) -> Option<T>) -> Option<T> {
        let mut table = self.engine.table();
        // Checked under the lock: the service thread takes it before it changes the table at the
        // start or end of a recording.
        table.as_mut().filter(|table| table.is_recording() && self.is_current()).and_then(act)
    }
}
