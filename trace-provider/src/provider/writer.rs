//! Writing records.

use std::collections::HashMap;
use std::sync::Arc;

use trace_format::layout::StringRef;
use trace_protocol::buffer::consumer::IdentityPolicy;
use trace_protocol::buffer::producer::Slot;
use trace_protocol::mode::BufferingMode;
use trace_protocol::thread_id;

use crate::engine::access::Access;
use crate::engine::client::RecordClock;
use crate::engine::names::write_own_name;
use crate::engine::Engine;
use crate::provider::lease::Lease;

/// Writes the records of a thread.
///
/// It can move to another thread. Its records still belong to the thread that created it.
#[derive(Debug)]
pub struct Writer {
    pub(crate) engine: &'static Engine,
    pub(crate) clock: RecordClock,
    pub(crate) policy: IdentityPolicy,
    /// `None` before the first record, and if the system has no memory.
    pub(crate) slot: Option<&'static Slot>,
    /// Strings in the table of the recording `strings_of`.
    pub(crate) strings: HashMap<Box<str>, StringRef>,
    strings_of: u64,
    /// A buffer for the record that is written.
    pub(crate) words: Vec<u64>,
    thread: u32,
    _lease: Arc<Lease>,
}

impl Writer {
    pub(crate) fn new(lease: Arc<Lease>, clock: RecordClock, about_machine: bool) -> Self {
        let policy = match about_machine {
            true => IdentityPolicy::Machine,
            false => IdentityPolicy::Own(u64::from(std::process::id())),
        };
        Self {
            engine: lease.engine,
            clock,
            policy,
            slot: None,
            strings: HashMap::new(),
            strings_of: 0,
            words: Vec::new(),
            thread: thread_id::ask_kernel(),
            _lease: lease,
        }
    }

    /// Returns whether `category` is recorded.
    #[must_use]
    pub fn is_enabled(&self, category: &str) -> bool {
        self.engine.is_category_enabled(category)
    }

    /// Returns the current time of the provider's clock, in ticks.
    #[must_use]
    pub fn now(&self) -> u64 {
        (self.clock.ticks)()
    }

    /// Returns whether a further part of the buffer is free. In streaming mode, a writer that can
    /// wait with its records should do so until one is. In other modes it is always true.
    #[must_use]
    pub fn has_space(&self) -> bool {
        let recorder = self.engine.recorder;
        let can_be_full =
            recorder.is_recording() && recorder.mode() == Some(BufferingMode::Streaming);
        !can_be_full || recorder.has_next()
    }

    /// Prepares the writer for the current recording. Returns its slot, and the recording.
    pub(crate) fn enter(&mut self) -> Option<(&'static Slot, Access)> {
        let access = Access::acquire(self.engine)?;
        if self.slot.is_none() {
            self.attach();
        }
        if self.strings_of != access.recording() {
            self.strings_of = access.recording();
            self.strings.clear();
        }
        self.slot.map(|slot| (slot, access))
    }

    fn attach(&mut self) {
        let recorder = self.engine.recorder;
        self.slot = recorder.attach(self.thread);
        if recorder.asks_for_slots() {
            self.engine.notify();
        }
        if self.slot.is_none() {
            recorder.lost_without_slot(self.clock.ticks);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        if let Some(slot) = self.slot {
            if self.thread == thread_id::ask_kernel() {
                // The service thread may not have named this thread yet.
                write_own_name(self.engine, slot);
            }
            self.engine.recorder.detach(slot);
        }
    }
}
