//! Records that the program makes itself.

use trace_format::layout::{StringRef, ThreadKoids, ThreadRef};
use trace_protocol::buffer::consumer::IdentityPolicy;
use trace_protocol::buffer::header::BufferingMode as Mode;
use trace_protocol::buffer::producer::CHUNK_THREAD;
use trace_provider::Access;

use super::BufferingMode;
use crate::thread::slot;
use crate::{ENGINE, RECORDER};

/// Access to the recording under way, for records that the program makes itself.
///
/// It holds nothing up: while there is a context the recording can end, and another one begin.
/// String and thread refs belong to the recording that the context was acquired in, and so does the
/// context. Once that is over, [`Context::is_current`] is false, nothing is registered, and nothing
/// is written: acquire another context then, and register anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    recording: u64,
}

/// Records are about this process, whose number the collector knows.
const OWN: IdentityPolicy = IdentityPolicy::Own(0);

impl Context {
    /// The thread that writes the record: registered already, in every recording.
    pub const THIS_THREAD: ThreadRef = CHUNK_THREAD;

    /// A context, while anything is recorded. Costs two loads.
    #[must_use]
    pub fn acquire() -> Option<Self> {
        Access::acquire(&ENGINE).map(|access| Self { recording: access.recording() })
    }

    /// Whether the recording that this belongs to is still under way. Costs two loads.
    #[must_use]
    pub fn is_current(self) -> bool {
        self.access().is_current()
    }

    /// The ref of a text, which is registered if it is new; up to 32,000 bytes of it.
    ///
    /// `None` where the recording is over, and where its string table or durable buffer is full:
    /// put the text in the record then. Takes a lock and allocates; not for signal handlers.
    #[must_use]
    pub fn register_string(self, text: &str) -> Option<StringRef> {
        self.access().register_string(text)
    }

    /// The ref of a thread, which is registered if it is new. There are 254 in a recording.
    ///
    /// Who collects the records puts the provider's own process in place of `process`: a provider
    /// says who it is, not who others are. `None` as for [`Context::register_string`], with the
    /// same cost.
    #[must_use]
    pub fn register_thread(self, process: u64, thread: u64) -> Option<ThreadRef> {
        self.access().register_thread(ThreadKoids::new(process, thread))
    }

    /// Writes one whole record, whose words are those of the trace format, on this thread. Returns
    /// whether it was recorded.
    ///
    /// What the collector would refuse is refused here: words that are not exactly one record of
    /// the format, refs that are not registered, text that is not UTF-8, metadata and scheduling
    /// records, and records that register something, for which there are methods. Where there is no
    /// room the record is counted as lost, as that of a macro is.
    ///
    /// Costs a check of the record, and its copy; takes no lock and allocates nothing.
    pub fn write_record(self, record: &[u64]) -> bool {
        self.access().write(slot(), record, OWN)
    }

    /// What happens when the buffer is full.
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
