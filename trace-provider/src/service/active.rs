//! The buffer of a recording: hands its rolling buffers over one after another, and records the
//! names of its threads.

use std::time::{Duration, Instant};

use trace_protocol::buffer::header::{BufferingMode, Layout};
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::omission::Omission;
use trace_protocol::buffer::producer::Streamed;

use crate::engine::categories::SelectedCategories;
use crate::engine::client::{Client, RecordClock};
use crate::engine::observers::{Announcer, Work};
use crate::engine::Engine;
use crate::service::recording::Recording;
use crate::service::slots::add_slots;
use crate::service::tries::Tries;
use crate::sys;
use crate::TraceState;

/// The interval at which the service thread looks for new threads during a recording.
pub(crate) const NAMES_INTERVAL: Duration = Duration::from_millis(100);

/// The longest wait for threads to leave a rolling buffer in one turn of the service thread.
const PATIENCE: Duration = Duration::from_millis(50);

/// The longest wait for threads to leave trace points, before the recording streams: no thread can
/// begin a rolling buffer meanwhile.
const STREAM_PATIENCE: Duration = Duration::from_millis(5);

/// The recorder's buffer, and the progress of its hand-over.
#[derive(Debug)]
pub(crate) struct Active<'a> {
    engine: &'static Engine,
    recording: Recording<'a>,
    announcer: &'a Announcer,
    layout: Layout,
    /// What happens when a rolling buffer is full.
    mode: BufferingMode,
    /// The tries to stream, while the recorder is to stream and waits for threads.
    stream_tries: Option<Tries>,
    /// The oldest wrapped count that is not handed over yet.
    next: u32,
    /// The state that was announced last. A recording stops only after it is `Stopping`.
    state: TraceState,
    /// The time at which changed names were recorded last.
    named: Instant,
}

impl<'a> Active<'a> {
    /// Makes `mapping` the recorder's buffer. `None` if the recorder has a buffer.
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
        let state = TraceState::Stopped;
        let mode = layout.mode();
        Some(Self {
            engine,
            recording,
            announcer,
            layout,
            mode,
            stream_tries: None,
            next: 0,
            state,
            named,
        })
    }

    /// Starts recording `categories`, with a cleared durable buffer if `clear`. Does nothing during
    /// a recording.
    pub(crate) fn start(&mut self, categories: &SelectedCategories, clear: bool) {
        if self.is_started() {
            return;
        }
        if clear {
            self.recording.clear();
        }
        (self.mode, self.stream_tries) = (self.layout.mode(), None);
        // Not the current one: threads may have filled the first one already.
        self.next = self.recording.start(categories).unwrap_or(0);
        self.enter(TraceState::Started);
    }

    /// Records `categories` from now on. The others' trace points are turned off.
    pub(crate) fn select(&self, categories: &SelectedCategories) {
        self.recording.select(categories);
    }

    /// Returns a function that announces the end of the recording to observers, once. It does its
    /// argument's work until they have returned.
    pub(crate) fn announce_stop(&mut self) -> impl FnOnce(Option<Work<'_>>) + use<'a> {
        let (engine, announcer) = (self.engine, self.announcer);
        let is_first = self.state == TraceState::Started;
        if is_first {
            self.state = TraceState::Stopping;
        }
        move |work| {
            if is_first {
                engine.observers.enter(TraceState::Stopping, announcer, work);
            }
        }
    }

    /// Stops recording, after [`announce_stop`](Self::announce_stop). Returns whether there was a
    /// recording.
    pub(crate) fn stop(&mut self) -> bool {
        if !self.is_started() {
            return false;
        }
        self.name_threads();
        self.recording.stop();
        self.enter(TraceState::Stopped);
        true
    }

    fn enter(&mut self, state: TraceState) {
        self.state = state;
        self.engine.observers.enter(state, self.announcer, None);
    }

    /// Returns what happens when a rolling buffer is full.
    pub(crate) fn mode(&self) -> BufferingMode {
        self.mode
    }

    /// Lets [`Active::stream`] begin to stream, if the recording is circular.
    pub(crate) fn begin_streaming(&mut self) {
        if self.is_started() && self.mode == BufferingMode::Circular {
            self.stream_tries.get_or_insert_with(|| Tries::new(Instant::now()));
        }
    }

    /// Returns the time until the next try to stream, if the recording is to stream and does not
    /// yet.
    pub(crate) fn next_stream_try(&self) -> Option<Duration> {
        self.stream_tries.as_ref().map(|tries| tries.remaining(Instant::now()))
    }

    /// Begins to stream, if a try is due, and no thread is in the middle of a trace point. Returns
    /// the rolling buffers from then on, which are full ones to save.
    pub(crate) fn stream(&mut self) -> Option<Streamed> {
        if !self.is_started() {
            return None;
        }
        let tries = self.stream_tries.as_mut()?;
        if !tries.remaining(Instant::now()).is_zero() {
            return None;
        }
        let Some(streamed) = self.engine.recorder.stream(STREAM_PATIENCE) else {
            tries.failed(Instant::now());
            return None;
        };
        (self.mode, self.stream_tries) = (BufferingMode::Streaming, None);
        self.next = streamed.first;
        Some(streamed)
    }

    /// Returns whether there is a recording, which may be about to stop.
    pub(crate) fn is_started(&self) -> bool {
        self.state != TraceState::Stopped
    }

    /// Returns the number of bytes that are written to the durable buffer.
    pub(crate) fn durable_end(&self) -> u64 {
        self.recording.durable_end()
    }

    /// Returns the next wrapped count whose rolling buffer is full and has no writers, if there is
    /// one: to be saved in streaming mode, and free otherwise. The same one until
    /// [`Active::hand_over`].
    pub(crate) fn next_full(&self) -> Option<u32> {
        let wrapped_count = self.next;
        if !self.is_started() || self.engine.recorder.current()? <= wrapped_count {
            return None;
        }
        if !self.engine.recorder.quiesce(PATIENCE) {
            // A thread is preempted in a trace point. The next turn checks it again.
            return None;
        }
        Some(wrapped_count)
    }

    /// Returns whether a full rolling buffer is not handed over or free yet.
    pub(crate) fn has_full(&self) -> bool {
        self.engine.recorder.current().is_some_and(|current| current > self.next)
    }

    /// Marks the wrapped count of [`Active::next_full`] as handed over.
    pub(crate) fn hand_over(&mut self) {
        self.next += 1;
    }

    /// Marks the rolling buffer of this wrapped count as free.
    pub(crate) fn mark_saved(&self, wrapped_count: u32) {
        self.engine.recorder.mark_saved(wrapped_count);
    }

    /// Frees full rolling buffers without writers, in circular mode: all of them after one check of
    /// the threads.
    pub(crate) fn recycle(&mut self) {
        if self.mode() != BufferingMode::Circular || !self.is_started() {
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

    /// Reports in the trace that `number` items are missing, if it is not 0.
    pub(crate) fn report_omission(&mut self, omission: Omission, number: u64) {
        self.recording.report_omission(omission, number);
    }

    /// Hands the current rolling buffer over before it is full. Returns the first wrapped count
    /// whose rolling buffer has only later records, or `None` if the next one is not free.
    pub(crate) fn flush(&self) -> Option<u32> {
        self.engine.recorder.flush()
    }

    /// Returns whether the rolling buffers before this wrapped count are handed over.
    pub(crate) fn is_handed_over(&self, wrapped_count: u32) -> bool {
        self.next >= wrapped_count
    }

    /// Adds slots for more threads, and records the names of new threads, and periodically the
    /// changed names.
    pub(crate) fn serve_threads(&mut self) {
        if !self.is_started() {
            return;
        }
        // Without memory, threads without a slot count their losses.
        let _added = add_slots(self.engine.recorder);
        self.report_slotless();
        self.name_threads();
    }

    /// Counts the losses of threads without a slot in the buffer.
    pub(crate) fn report_slotless(&self) {
        self.engine.recorder.report_slotless();
    }

    /// Records the names of new threads, and periodically the changed names.
    pub(crate) fn name_threads(&mut self) {
        for slot in self.engine.recorder.slots() {
            let thread = slot.thread();
            if thread != 0 && !slot.is_named() && self.recording.name_thread(thread) {
                slot.set_named(thread);
            }
        }
        if self.named.elapsed() >= NAMES_INTERVAL {
            self.named = Instant::now();
            self.recording.write_changed_names();
        }
    }
}

/// Populates the pages of a large buffer on another thread, because the recording does not wait for
/// it. The thread blocks all signals, as the calling one does. Without it, trace points take the
/// page faults.
fn populate_rest(mapping: WriteMapping) {
    let _beside = sys::spawn(c"trace-populate", move || mapping.populate_rest());
}
