//! A thread that reads side events before their buffers are full.

use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use trace_kernel::perf_event::{SideEvents, Target};
use trace_protocol::clock;

/// How often the buffers are read.
const INTERVAL: Duration = Duration::from_millis(50);

/// Side events that are recorded.
#[derive(Debug)]
pub(super) struct SideThread {
    end: Sender<()>,
    thread: JoinHandle<Recorded>,
}

/// Side events at the end.
pub(super) struct Recorded {
    pub(super) events: SideEvents,
    /// The number of records that did not fit into their buffers, and of errors.
    pub(super) missing: u64,
}

impl SideThread {
    /// Records the side events of these targets, with the newest events only if `is_newest`.
    pub(super) fn start(targets: &[Target], is_newest: bool) -> io::Result<Self> {
        let mut side = SideEvents::open(targets, clock::ticks)?;
        if is_newest {
            side.keep_newest();
        }
        side.start()?;
        let (end, ended) = mpsc::channel();
        let read = move || {
            let mut errors = 0;
            while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                errors += u64::from(side.read().is_err());
            }
            errors += u64::from(side.stop().is_err());
            errors += u64::from(side.read().is_err());
            let missing = side.lost().unwrap_or(1) + errors;
            Recorded { events: side, missing }
        };
        let thread = thread::Builder::new().name("trace-insn-side".into()).spawn(read)?;
        Ok(Self { end, thread })
    }

    /// Stops, and returns the events.
    ///
    /// # Panics
    /// If the thread has panicked.
    pub(super) fn end(self) -> Recorded {
        drop(self.end);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
