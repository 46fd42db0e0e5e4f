//! The start and stop of a recording: trace points, strings and the recorder.

use std::time::Duration;

use trace_format::layout::StringRef;
use trace_protocol::buffer::header::Layout;
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::omission::Omission;
use trace_protocol::buffer::producer::RecorderSession;
use trace_protocol::message::ClockSource;

use crate::engine::categories::SelectedCategories;
use crate::engine::client::{Client, RecordClock};
use crate::engine::names;
use crate::engine::table::{Keep, Table};
use crate::engine::Engine;

/// The buffer of an engine. Threads write to it between [`Recording::start`] and
/// [`Recording::stop`]. There is one at a time.
#[derive(Debug)]
pub(crate) struct Recording<'a> {
    engine: &'static Engine,
    client: &'a dyn Client,
}

/// The longest wait for threads to leave their trace points at the end of a recording.
const PATIENCE: Duration = Duration::from_secs(1);

impl<'a> Recording<'a> {
    /// Makes `mapping` the recorder's buffer. `None` if the recorder has a buffer.
    pub(crate) fn begin(
        engine: &'static Engine,
        client: &'a dyn Client,
        clock: RecordClock,
        mapping: WriteMapping,
        layout: Layout,
    ) -> Option<Self> {
        // Trace points read no other clock for function records than the CPU's counter.
        let function_records =
            layout.has_function_records() && clock.source == ClockSource::CpuCounter;
        let layout = layout.with_function_records(function_records);
        let (new, loss_strings) =
            Table::new(mapping.clone(), layout, clock.ticks, &engine.refs, &engine.conditions);
        let session = RecorderSession {
            mapping,
            layout,
            process: u64::from(std::process::id()),
            clock: clock.ticks,
            wake: &engine.wake,
            loss_strings,
        };
        engine.recorder.begin(Box::new(session)).ok()?;
        *engine.table() = Some(new);
        Some(Self { engine, client })
    }

    fn with_table<T>(&self, act: impl FnOnce(&mut Table) -> T) -> Option<T> {
        self.engine.table().as_mut().map(act)
    }

    /// Clears the durable buffer and the string table.
    pub(crate) fn clear(&mut self) {
        self.with_table(Table::clear);
    }

    /// Turns on the trace points of `categories`, which the engine has selected, and starts
    /// recording.
    ///
    /// Returns the first wrapped count.
    pub(crate) fn start(&mut self, categories: &SelectedCategories) -> Option<u32> {
        // Earlier alerts do not belong to this recording.
        self.engine.alerts.forget();
        self.client.forget();
        self.engine.conditions.forget();
        self.with_table(|table| {
            table.watches().begin();
            let key = table.intern("process").unwrap_or(StringRef::EMPTY);
            self.engine.set_process_key(key);
        });
        self.select(categories);
        // After the strings, because trace points without them are off.
        self.client.begin();
        self.engine.recorder.start()
    }

    /// Turns on the trace points of `categories`, which the engine has selected, and all others
    /// off. A trace point that stays on has the same strings, so it records without a gap.
    pub(crate) fn select(&self, categories: &SelectedCategories) {
        self.with_table(|table| {
            table.select(Some(categories.clone()));
            self.client.turn(table);
            table.report_disabled_sites();
        });
    }

    /// Stops recording, turns the trace points off, and writes the pending ends of scopes.
    pub(crate) fn stop(&mut self) {
        self.engine.recorder.stop(PATIENCE);
        // A second stop does nothing.
        if self.with_table(|table| table.is_recording()).unwrap_or(false) {
            self.client.end();
        }
        self.with_table(|table| {
            table.select(None);
            self.client.turn(table);
            table.report_disabled_sites();
            table.report_omitted_names();
            self.engine.recorder.write_last_ends(table.durable());
        });
    }

    /// Reports in the trace that `number` items are missing, if it is not 0.
    pub(crate) fn report_omission(&mut self, omission: Omission, number: u64) {
        self.with_table(|table| table.report_omission(omission, number));
    }

    /// Returns the number of bytes that are written to the durable buffer.
    pub(crate) fn durable_end(&self) -> u64 {
        self.with_table(|table| table.durable().end()).unwrap_or(0)
    }

    /// Records the changed names, if enough of the durable buffer is free.
    pub(crate) fn write_changed_names(&mut self) {
        self.client.serve();
    }

    /// Records the name of a thread: the client's, or else the kernel's. Returns whether the thread
    /// has a name.
    pub(crate) fn name_thread(&mut self, thread: u32) -> bool {
        self.client.name_thread(thread, &mut || self.name_by_kernel(thread))
    }

    fn name_by_kernel(&self, thread: u32) -> bool {
        let Some(name) = names::of_living_thread(thread) else { return false };
        let mut words = Vec::new();
        if names::thread_object(self.engine, &mut words, thread.into(), &name).is_ok() {
            self.with_table(|table| {
                if table.append_name(&words, Keep::Eighth).is_none() {
                    table.count_omitted_names(1);
                }
            });
        }
        true
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        self.stop();
        *self.engine.table() = None;
        self.engine.recorder.end();
    }
}
