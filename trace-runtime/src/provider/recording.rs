//! Recording into a buffer: what a session's start and stop do to sites, strings and the recorder.

use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use trace_format::layout::StringRef;
use trace_protocol::buffer::header::Layout;
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::buffer::omission::Omission;
use trace_protocol::buffer::producer::Session;
use trace_protocol::clock;

use super::given;
use super::table::{table, Keep, Table};
use super::wanted::Wanted;
use crate::point::{alert, registry};
use crate::{value, RECORDER};

/// The string ref of the key `process`, in the recording under way.
static PROCESS_KEY: AtomicU16 = AtomicU16::new(0);

/// The string ref of the key `process`.
pub(crate) fn process_key() -> StringRef {
    StringRef::from_bits(PROCESS_KEY.load(Ordering::Relaxed))
}

/// The buffer of this process, recorded into between [`Recording::start`] and [`Recording::stop`].
/// There is one at a time.
#[derive(Debug)]
pub(crate) struct Recording(());

/// How long the end of a recording waits for threads to leave their trace points.
const PATIENCE: Duration = Duration::from_secs(1);

impl Recording {
    /// Makes `mapping` the recorder's buffer. `wake` wakes the service thread.
    pub(crate) fn begin(mapping: WriteMapping, layout: Layout, wake: fn()) -> Self {
        let (new, loss_strings) = Table::new(mapping.clone(), layout);
        *table() = Some(new);
        let process = u64::from(std::process::id());
        RECORDER.begin(Box::new(Session {
            mapping,
            layout,
            process,
            clock: clock::ticks,
            wake,
            loss_strings,
        }));
        Self(())
    }

    fn with_table<T>(&self, act: impl FnOnce(&mut Table) -> T) -> Option<T> {
        table().as_mut().map(act)
    }

    /// Empties the durable buffer, and with it the string table.
    pub(crate) fn clear(&mut self) {
        self.with_table(Table::clear);
    }

    /// Turns on the sites of `categories`, which are remembered already, and begins to record.
    ///
    /// Returns the wrapped count that begins.
    pub(crate) fn start(&mut self, categories: &Wanted) -> Option<u32> {
        // What was raised before is none of this recording's.
        alert::forget();
        let _earlier = value::take_cut();
        let mut given = given::given();
        self.with_table(|table| {
            let key = table.intern("process").unwrap_or(StringRef::EMPTY);
            PROCESS_KEY.store(key.bits(), Ordering::Relaxed);
            table.want(Some(categories.clone()));
            registry::turn_all(table);
            table.tell_left_off();
            // Behind the strings, without which trace points are off.
            given.tell_all(table);
        });
        drop(given);
        RECORDER.start()
    }

    /// Ends recording, and writes the ends of scopes that found no room. The sites stay as they are
    /// until they are off.
    pub(crate) fn stop(&mut self) {
        RECORDER.stop(PATIENCE);
        let mut given = given::given();
        self.with_table(|table| {
            // Nothing is stopped twice.
            let stopping = table.is_wanted();
            table.want(None);
            registry::turn_all(table);
            table.tell_left_off();
            if stopping {
                let unwritten = given.tell_last(table);
                table.tell_names_left_off(unwritten);
                table.tell(Omission::Strings, value::take_cut());
            }
            RECORDER.write_last_ends(table.durable());
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
        let mut given = given::given();
        self.with_table(|table| given.tell_pending(table, Keep::Half));
    }

    /// Records the name of a thread: the one that it was given, or the kernel's. Returns whether it
    /// has one.
    pub(crate) fn name_thread(&mut self, thread: u32) -> bool {
        // Locked until the name is recorded, so that no younger one comes before it.
        let mut given = given::given();
        if self.with_table(|table| given.tell_thread(thread, table)).unwrap_or(false) {
            return true;
        }
        let Some(name) = super::names::of_living_thread(thread) else { return false };
        let mut words = Vec::new();
        if super::names::thread_object(&mut words, thread.into(), &name).is_ok() {
            self.with_table(|table| {
                if table.append_name(&words, Keep::Eighth).is_none() {
                    table.leave_off_name();
                }
            });
        }
        true
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop();
        *table() = None;
        RECORDER.end();
    }
}

/// Bytes of the durable buffer that this program wants: its strings, those of trace points that it
/// makes at run time, the names of its tracks, and those of a few hundred threads.
pub(crate) fn durable_hint() -> u64 {
    const THREAD_NAMES: usize = 16 << 10;
    const AT_RUN_TIME: usize = 48 << 10;
    let strings: usize =
        registry::texts().into_iter().map(|text| 8 + text.len().next_multiple_of(8)).sum();
    (strings + strings / 4 + given::hint() + THREAD_NAMES + AT_RUN_TIME) as u64
}
