//! Recording into a buffer: what a session's start and stop do to trace points, strings and the
//! recorder.

use std::time::Duration;

use trace_format::layout::StringRef;
use trace_protocol::buffer::header::Layout;
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::omission::Omission;
use trace_protocol::buffer::producer::Session;

use crate::engine::categories::Wanted;
use crate::engine::client::{Client, RecordClock};
use crate::engine::names;
use crate::engine::table::{Keep, Table};
use crate::engine::Engine;

/// The buffer of an engine, recorded into between [`Recording::start`] and [`Recording::stop`].
/// There is one at a time.
#[derive(Debug)]
pub(crate) struct Recording<'a> {
    engine: &'static Engine,
    client: &'a dyn Client,
}

/// How long the end of a recording waits for threads to leave their trace points.
const PATIENCE: Duration = Duration::from_secs(1);

impl<'a> Recording<'a> {
    /// Makes `mapping` the recorder's buffer. `None` if the recorder has one already.
    pub(crate) fn begin(
        engine: &'static Engine,
        client: &'a dyn Client,
        clock: RecordClock,
        mapping: WriteMapping,
        layout: Layout,
    ) -> Option<Self> {
        let (new, loss_strings) = Table::new(mapping.clone(), layout, clock.ticks, &engine.refs);
        let session = Session {
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

    /// Empties the durable buffer, and with it the string table.
    pub(crate) fn clear(&mut self) {
        self.with_table(Table::clear);
    }

    /// Turns on the trace points of `categories`, which are remembered already, and begins to
    /// record.
    ///
    /// Returns the wrapped count that begins.
    pub(crate) fn start(&mut self, categories: &Wanted) -> Option<u32> {
        // What was raised before is none of this recording's.
        self.engine.alerts.forget();
        self.client.forget();
        self.with_table(|table| {
            let key = table.intern("process").unwrap_or(StringRef::EMPTY);
            self.engine.set_process_key(key);
            table.want(Some(categories.clone()));
            self.client.turn(table);
            table.tell_left_off();
        });
        // Behind the strings, without which trace points are off.
        self.client.begin();
        self.engine.recorder.start()
    }

    /// Ends recording, and writes the ends of scopes that found no room. The trace points stay as
    /// they are until they are off.
    pub(crate) fn stop(&mut self) {
        self.engine.recorder.stop(PATIENCE);
        // Nothing is stopped twice.
        if self.with_table(|table| table.is_wanted()).unwrap_or(false) {
            self.client.end();
        }
        self.with_table(|table| {
            table.want(None);
            self.client.turn(table);
            table.tell_left_off();
            table.tell_names_left_off();
            self.engine.recorder.write_last_ends(table.durable());
        });
    }

    /// Says in the trace that `number` of something are left out, if they are.
    pub(crate) fn tell(&mut self, what: Omission, number: u64) {
        self.with_table(|table| table.tell(what, number));
    }

    /// Bytes of the durable buffer that are written.
    pub(crate) fn durable_end(&self) -> u64 {
        self.with_table(|table| table.durable().end()).unwrap_or(0)
    }

    /// Records the names that were changed, if there is much room.
    pub(crate) fn tell_names(&mut self) {
        self.client.serve();
    }

    /// Records the name of a thread: the one that the client gives it, or the kernel's. Returns
    /// whether it has one.
    pub(crate) fn name_thread(&mut self, thread: u32) -> bool {
        self.client.name_thread(thread, &mut || self.name_by_kernel(thread))
    }

    fn name_by_kernel(&self, thread: u32) -> bool {
        let Some(name) = names::of_living_thread(thread) else { return false };
        let mut words = Vec::new();
        if names::thread_object(self.engine, &mut words, thread.into(), &name).is_ok() {
            self.with_table(|table| {
                if table.append_name(&words, Keep::Eighth).is_none() {
                    table.leave_off_names(1);
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
