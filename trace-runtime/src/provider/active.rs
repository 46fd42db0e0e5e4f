//! A buffer that is recorded into: its rolling buffers are handed over one after another, and its
//! threads get names.

use std::time::{Duration, Instant};

use trace_protocol::buffer::header::{BufferingMode, Layout};
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::omission::Omission;

use super::observers::Observers;
use super::recording::Recording;
use super::wanted::Wanted;
use super::{service, sys, wake};
use crate::{TraceState, RECORDER};

/// How long a turn of the service thread waits for threads to leave a rolling buffer.
const PATIENCE: Duration = Duration::from_millis(50);

/// A buffer of the recorder, and how far it has been handed over.
#[derive(Debug)]
pub(super) struct Active {
    recording: Recording,
    layout: Layout,
    /// The oldest wrap that is not handed over yet.
    next: u32,
    started: bool,
    /// When changed names were recorded last.
    named: Instant,
}

impl Active {
    /// Makes `mapping` the recorder's buffer.
    pub(super) fn new(mapping: WriteMapping, layout: Layout) -> Self {
        if mapping.has_rest() {
            populate_rest(mapping.clone());
        }
        let recording = Recording::begin(mapping, layout, wake::notify);
        Self { recording, layout, next: 0, started: false, named: Instant::now() }
    }

    /// Starts recording `categories`, from an empty durable buffer if `clear`. Does nothing while
    /// it records.
    pub(super) fn start(&mut self, categories: &Wanted, clear: bool, observers: &Observers) {
        if self.started {
            return;
        }
        if clear {
            self.recording.clear();
        }
        // Not what is current now: threads may have filled that one already.
        self.next = self.recording.start(categories).unwrap_or(0);
        self.started = true;
        observers.enter(TraceState::Started);
    }

    /// Stops recording. Returns whether it was.
    pub(super) fn stop(&mut self, observers: &Observers) -> bool {
        if self.started {
            observers.enter(TraceState::Stopping);
            self.name_threads();
            self.recording.stop();
            observers.enter(TraceState::Stopped);
        }
        std::mem::take(&mut self.started)
    }

    /// What happens when a rolling buffer is full.
    pub(super) fn mode(&self) -> BufferingMode {
        self.layout.mode()
    }

    pub(super) fn is_started(&self) -> bool {
        self.started
    }

    /// Bytes of the durable buffer that are written.
    pub(super) fn durable_end(&self) -> u64 {
        self.recording.durable_end()
    }

    /// The next wrap that threads have left for good, if there is one: to be saved in streaming
    /// mode, and free otherwise.
    pub(super) fn next_full(&mut self) -> Option<u32> {
        let wrapped_count = self.next;
        if !self.started || RECORDER.current()? <= wrapped_count {
            return None;
        }
        if !RECORDER.quiesce(PATIENCE) {
            // A thread is held up in a trace point. It is looked for again at the next turn.
            return None;
        }
        self.next += 1;
        Some(wrapped_count)
    }

    /// Says that the rolling buffer of this wrap may be written again.
    pub(super) fn mark_saved(&self, wrapped_count: u32) {
        RECORDER.mark_saved(wrapped_count);
    }

    /// In circular mode a rolling buffer is free as soon as its threads have left it: all that are
    /// full, after one look at the threads.
    pub(super) fn recycle(&mut self) {
        if self.mode() != BufferingMode::Circular || !self.started {
            return;
        }
        let full = RECORDER.current().and_then(|current| current.checked_sub(1));
        if let Some(last) = full.filter(|last| *last >= self.next) {
            if RECORDER.quiesce(PATIENCE) {
                self.next = last + 1;
                self.mark_saved(last);
            }
        }
    }

    /// Says in the trace that `number` of something are left out, if they are.
    pub(super) fn tell(&mut self, what: Omission, number: u64) {
        self.recording.tell(what, number);
    }

    /// Hands the current rolling buffer over, although it is not full.
    pub(super) fn flush(&self) {
        RECORDER.flush();
    }

    /// Provides slots for more threads, and records the names of threads that have none yet, and
    /// from time to time those that were changed.
    pub(super) fn serve_threads(&mut self) {
        if !self.started {
            return;
        }
        // Where there is no memory, threads without a slot count what they lose.
        let _added = service::add_slots();
        RECORDER.report_slotless();
        self.name_threads();
    }

    fn name_threads(&mut self) {
        for slot in RECORDER.slots() {
            let thread = slot.thread();
            if thread != 0 && !slot.is_named() && self.recording.name_thread(thread) {
                slot.set_named(thread);
            }
        }
        if self.named.elapsed() >= service::NAMES_INTERVAL {
            self.named = Instant::now();
            self.recording.tell_names();
        }
    }
}

/// Has a large buffer's pages made present beside the recording, which does not wait for it. The
/// thread blocks all signals, as the calling one does. Without it trace points take the faults.
fn populate_rest(mapping: WriteMapping) {
    let _beside = sys::spawn("trace-populate", move || mapping.populate_rest());
}
