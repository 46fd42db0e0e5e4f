//! A buffer that is recorded into: its rolling buffers are handed over one after another, and its
//! threads get names.

use std::time::{Duration, Instant};

use trace_protocol::buffer::header::{BufferingMode, Layout};
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::omission::Omission;

use crate::engine::categories::Wanted;
use crate::engine::client::{Client, RecordClock};
use crate::engine::observers::Announcer;
use crate::engine::Engine;
use crate::service::recording::Recording;
use crate::service::slots::add_slots;
use crate::sys;
use crate::TraceState;

/// How often the service thread looks for new threads while it records.
pub(crate) const NAMES_INTERVAL: Duration = Duration::from_millis(100);

/// How long a turn of the service thread waits for threads to leave a rolling buffer.
const PATIENCE: Duration = Duration::from_millis(50);

/// A buffer of the recorder, and how far it has been handed over.
#[derive(Debug)]
pub(crate) struct Active<'a> {
    engine: &'static Engine,
    recording: Recording<'a>,
    announcer: &'a Announcer,
    layout: Layout,
    /// The oldest wrap that is not handed over yet.
    next: u32,
    started: bool,
    /// When changed names were recorded last.
    named: Instant,
}

impl<'a> Active<'a> {
    /// Makes `mapping` the recorder's buffer. `None` if the recorder has one already.
    pub(crate) fn new(
        engine: &'static Engine,
        client: &'a dyn Client,
        announcer: &'a Announcer,
        clock: RecordClock,
        mapping: WriteMapping,
        layout: Layout,
    ) -> Option<Self> {
        let rest = mapping.has_rest().then(|| mapping.clone());
        let recording = Recording::begin(engine, client, clock, mapping, layout)?;
        if let Some(mapping) = rest {
            populate_rest(mapping);
        }
        let named = Instant::now();
        Some(Self { engine, recording, announcer, layout, next: 0, started: false, named })
    }

    /// Starts recording `categories`, from an empty durable buffer if `clear`. Does nothing while
    /// it records.
    pub(crate) fn start(&mut self, categories: &Wanted, clear: bool) {
        if self.started {
            return;
        }
        if clear {
            self.recording.clear();
        }
        // Not what is current now: threads may have filled that one already.
        self.next = self.recording.start(categories).unwrap_or(0);
        self.started = true;
        self.enter(TraceState::Started);
    }

    /// Stops recording. Returns whether it was.
    pub(crate) fn stop(&mut self) -> bool {
        if self.started {
            self.enter(TraceState::Stopping);
            self.name_threads();
            self.recording.stop();
            self.enter(TraceState::Stopped);
        }
        std::mem::take(&mut self.started)
    }

    fn enter(&self, state: TraceState) {
        self.engine.observers.enter(state, self.announcer);
    }

    /// What happens when a rolling buffer is full.
    pub(crate) fn mode(&self) -> BufferingMode {
        self.layout.mode()
    }

    pub(crate) fn is_started(&self) -> bool {
        self.started
    }

    /// Bytes of the durable buffer that are written.
    pub(crate) fn durable_end(&self) -> u64 {
        self.recording.durable_end()
    }

    /// The next wrap that threads have left for good, if there is one: to be saved in streaming
    /// mode, and free otherwise. The same one until [`Active::hand_over`].
    pub(crate) fn next_full(&self) -> Option<u32> {
        let wrapped_count = self.next;
        if !self.started || self.engine.recorder.current()? <= wrapped_count {
            return None;
        }
        if !self.engine.recorder.quiesce(PATIENCE) {
            // A thread is held up in a trace point. It is looked for again at the next turn.
            return None;
        }
        Some(wrapped_count)
    }

    /// Says that the wrap of [`Active::next_full`] is handed over.
    pub(crate) fn hand_over(&mut self) {
        self.next += 1;
    }

    /// Says that the rolling buffer of this wrap may be written again.
    pub(crate) fn mark_saved(&self, wrapped_count: u32) {
        self.engine.recorder.mark_saved(wrapped_count);
    }

    /// In circular mode a rolling buffer is free as soon as its threads have left it: all that are
    /// full, after one look at the threads.
    pub(crate) fn recycle(&mut self) {
        if self.mode() != BufferingMode::Circular || !self.started {
            return;
        }
        let full = self.engine.recorder.current().and_then(|current| current.checked_sub(1));
        if let Some(last) = full.filter(|last| *last >= self.next) {
            if self.engine.recorder.quiesce(PATIENCE) {
                self.next = last + 1;
                self.mark_saved(last);
            }
        }
    }

    /// Says in the trace that `number` of something are left out, if they are.
    pub(crate) fn tell(&mut self, what: Omission, number: u64) {
        self.recording.tell(what, number);
    }

    /// Hands the current rolling buffer over, although it is not full.
    pub(crate) fn flush(&self) {
        self.engine.recorder.flush();
    }

    /// Provides slots for more threads, and records the names of threads that have none yet, and
    /// from time to time those that were changed.
    pub(crate) fn serve_threads(&mut self) {
        if !self.started {
            return;
        }
        // Where there is no memory, threads without a slot count what they lose.
        let _added = add_slots(self.engine.recorder);
        self.engine.recorder.report_slotless();
        self.name_threads();
    }

    fn name_threads(&mut self) {
        for slot in self.engine.recorder.slots() {
            let thread = slot.thread();
            if thread != 0 && !slot.is_named() && self.recording.name_thread(thread) {
                slot.set_named(thread);
            }
        }
        if self.named.elapsed() >= NAMES_INTERVAL {
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
