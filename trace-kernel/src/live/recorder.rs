//! The thread that reads the kernel's events and writes records.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use trace_provider::Writer;

use super::backend::Backend;
use super::clock::TraceClock;
use super::processes;
use super::scope::Limit;
use super::sink::Tables;
use super::source::{Destination, Source};
use super::totals::{lock, Totals};

/// The time between two rounds.
const ROUND: Duration = Duration::from_millis(50);

/// A request to the thread. The sender waits until the other end of the channel is dropped.
#[derive(Debug)]
pub(super) enum Request {
    /// A recording has started.
    Start(SyncSender<()>),
    /// The recording is about to stop.
    Stop(SyncSender<()>),
}

/// Reads the kernel's events and writes records.
#[derive(Debug)]
pub(super) struct Recorder {
    sources: Vec<Source>,
    limit: Limit,
    destination: Destination,
    /// The last round of all sources.
    last: Option<Instant>,
}

impl Recorder {
    pub(super) fn new(
        sources: Vec<(Box<dyn Backend>, TraceClock)>,
        limit: Limit,
        tables: Tables,
        totals: Arc<Mutex<Totals>>,
    ) -> Self {
        let sources = sources.into_iter().map(|(backend, clock)| Source::new(backend, clock));
        let destination = Destination { tables, totals, is_reported: false };
        Self { sources: sources.collect(), limit, destination, last: None }
    }

    /// Serves requests until their sender is dropped.
    pub(super) fn run(mut self, requests: &Receiver<Request>, mut writer: Writer) {
        let (mut is_recording, mut has_more) = (false, false);
        loop {
            // Requests are served between two rounds, also if the kernel writes faster.
            let wait = if has_more { Duration::ZERO } else { ROUND };
            let request = match is_recording {
                true => requests.recv_timeout(wait),
                false => requests.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match request {
                Ok(Request::Start(_done)) => {
                    if !std::mem::replace(&mut is_recording, true) {
                        self.start(&writer);
                    }
                }
                Ok(Request::Stop(_done)) => {
                    if std::mem::replace(&mut is_recording, false) {
                        self.stop(&mut writer);
                    }
                }
                Err(RecvTimeoutError::Timeout) => has_more = self.round(&mut writer),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn start(&mut self, writer: &Writer) {
        let Self { sources, limit, destination, .. } = self;
        destination.tables.clear();
        destination.is_reported = false;
        lock(&destination.totals).latest = None;
        let threads = processes::threads();
        for source in sources {
            let started = source.start(limit, &threads, writer);
            destination.note(started);
        }
    }

    fn stop(&mut self, writer: &mut Writer) {
        let Self { sources, destination, .. } = self;
        let mut discarded = 0;
        for source in sources {
            discarded += source.stop(destination, writer);
        }
        if discarded > 0 {
            let error = format!("the session had no memory for the last {discarded} events");
            destination.note(Err(error));
        }
    }

    /// Reads the events of all CPUs and writes those before this time. Returns whether there may be
    /// more.
    ///
    /// While all parts of the session's buffer are full, the events stay in the kernel's buffer. A
    /// source that has more is read at once, and the others at their time.
    fn round(&mut self, writer: &mut Writer) -> bool {
        if !writer.has_space() {
            return false;
        }
        let Self { sources, destination, last, .. } = self;
        let is_due = last.is_none_or(|last| last.elapsed() >= ROUND);
        if is_due {
            *last = Some(Instant::now());
        }
        let mut has_more = false;
        for source in sources.iter_mut().filter(|source| is_due || source.has_more()) {
            has_more |= source.round(destination, writer);
        }
        has_more
    }
}
