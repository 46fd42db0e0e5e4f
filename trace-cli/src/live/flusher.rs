//! Flushing the session that records a file.

use std::path::Path;
use std::time::{Duration, Instant};

use trace_manager::controller::{Controller, ControllerError, SessionInfo};

use crate::commands::servers;
use crate::recorders::PATIENCE;

/// The time between two flushes, as of the streams of sessions.
const INTERVAL: Duration = Duration::from_millis(200);

/// Lets the session that writes an archive save its records before its buffers are full.
pub(super) struct Flusher {
    controller: Controller,
    session: String,
    last: Option<Instant>,
}

impl Flusher {
    /// Finds the session that writes this archive; `None` if there is none, or one of another user.
    /// The paths are compared as texts: a link to an archive, and a part of it, have no session.
    pub(super) fn find(archive: &Path, socket: Option<&Path>) -> Option<Self> {
        let path = std::path::absolute(archive).ok()?;
        let writes = |session: &SessionInfo| Path::new(&session.output) == path;
        let (daemon, recorders) = servers(socket);
        let of_recorder = recorders.into_iter().find(|recorder| writes(&recorder.session));
        let (mut controller, session) = match of_recorder {
            Some(recorder) => (recorder.controller, recorder.session),
            None => {
                let mut daemon = daemon.ok()?;
                daemon.set_timeout(Some(PATIENCE));
                let session = daemon.sessions().ok()?.into_iter().find(writes)?;
                (daemon, session)
            }
        };
        controller.set_timeout(Some(PATIENCE));
        Some(Self { controller, session: session.name, last: None })
    }

    /// Flushes the session five times a second. Returns false if the connection cannot be used any
    /// more, such as after a time-out: then each later request would wait as long.
    pub(super) fn flush(&mut self) -> bool {
        if self.last.is_some_and(|last| last.elapsed() < INTERVAL) {
            return true;
        }
        self.last = Some(Instant::now());
        // It is refused while the session is paused, and if it has ended.
        matches!(self.controller.flush(&self.session), Ok(()) | Err(ControllerError::Refused(_)))
    }
}
