//! Records that the program encodes itself.

use trace_format::layout::{StringRef, ThreadKoids, ThreadRef};
use trace_protocol::buffer::consumer::IdentityPolicy;
use trace_protocol::buffer::header::BufferingMode as Mode;
use trace_protocol::buffer::producer::CHUNK_THREAD;
use trace_provider::Access;

use super::BufferingMode;
use crate::thread::slot;
use crate::{ENGINE, RECORDER};

/// Access to the current recording, for records that the program encodes itself.
///
/// A context does not keep its recording alive: the recording can end at any time, and another one
/// begin. String and thread refs are valid only in the recording in which the context was acquired.
///
/// After that recording, [`Context::is_current`] returns false and every method fails. Acquire a
/// new context then, and register strings and threads again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    recording: u64,
}

/// Records are about this process, whose number the collector knows.
const OWN: IdentityPolicy = IdentityPolicy::Own(0);

impl Context {
    /// The ref of the thread that writes the record. It is registered in every recording.
    pub const THIS_THREAD: ThreadRef = CHUNK_THREAD;

    /// Returns a context of the current recording, or `None` if nothing is recorded. Costs two
    /// loads.
    #[must_use]
    pub fn acquire() -> Option<Self> {
        Access::acquire(&ENGINE).map(|access| Self { recording: access.recording() })
    }

    /// Returns whether the context's recording is still running. Costs two loads.
    #[must_use]
    pub fn is_current(self) -> bool {
        self.access().is_current()
    }

    /// Returns the ref of a string, and registers the string if it is new. Up to 32,000 bytes are
    /// registered.
    ///
    /// Returns `None` if the recording is over, or if its string table or durable buffer is full.
    /// Write the text inline then.
    ///
    /// Takes a lock and allocates. Not async-signal-safe.
    #[must_use]
    pub fn register_string(self, text: &str) -> Option<StringRef> {
        self.access().register_string(text)
    }

    /// Returns the ref of a thread, and registers the thread if it is new. A recording has up to
    /// 254 threads.
    ///
    /// The manager replaces `process` with the provider's own process, because a provider may not
    /// write records of other processes.
    ///
    /// Returns `None` under the conditions of [`Context::register_string`], and costs as much.
    #[must_use]
    pub fn register_thread(self, process: u64, thread: u64) -> Option<ThreadRef> {
        self.access().register_thread(ThreadKoids::new(process, thread))
    }

    /// Writes one complete record, encoded as words of the trace format, from this thread. Returns
    /// whether it was recorded.
    ///
    /// Refuses the records that the manager would refuse:
    ///
    /// - words that are not exactly one record
    /// - refs that are not registered
    /// - text that is not UTF-8
    /// - metadata and scheduling records
    /// - records that register strings or threads, for which there are methods
    ///
    /// If the buffer is full, the record is counted as dropped.
    ///
    /// Costs a check and a copy of the record. Takes no lock and does not allocate.
    pub fn write_record(self, record: &[u64]) -> bool {
        self.access().write(slot(), record, OWN)
    }

    /// Returns the behavior when the buffer is full.
    #[must_use]
    pub fn buffering_mode(self) -> BufferingMode {
        match RECORDER.mode() {
            Some(Mode::Circular) => BufferingMode::Circular,
            Some(Mode::Streaming) => BufferingMode::Streaming,
            Some(Mode::Oneshot) | None => BufferingMode::Oneshot,
        }
    }

    fn access(self) -> Access {
        Access::new(&ENGINE, self.recording)
    }
}
