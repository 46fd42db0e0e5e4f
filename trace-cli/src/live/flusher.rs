//! Flushing the session that records a file.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use trace_manager::controller::{Controller, ControllerError, SessionInfo};

use crate::recorders::PATIENCE;
use crate::sessions::servers;

/// The time between two flushes, as of the streams of sessions.
const INTERVAL: Duration = Duration::from_millis(200);

/// The longest time between two attempts to connect.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// Lets the session that writes an archive save its records before its buffers are full.
pub(super) struct Flusher {
    archive: PathBuf,
    socket: Option<PathBuf>,
    /// `None` at first, and after a request failed.
    connection: Option<Connection>,
    /// The time of the next flush, or of the next attempt to connect.
    next: Instant,
    /// The time after the next failure until the next attempt to connect.
    pause: Duration,
}

/// A connection to the server of a session.
struct Connection {
    controller: Controller,
    session: String,
}

impl Flusher {
    /// Flushes the session that writes this archive, once it is found: the archive of a recorder
    /// exists before its server, and that of another user has no session. The paths are compared as
    /// texts: a link to an archive, and a part of it, have no session.
    ///
    /// # Errors
    ///
    /// If the path is empty, or the working directory has no name.
    pub(super) fn new(archive: &Path, socket: Option<&Path>) -> io::Result<Self> {
        let (archive, socket) = (std::path::absolute(archive)?, socket.map(Path::to_owned));
        Ok(Self { archive, socket, connection: None, next: Instant::now(), pause: INTERVAL })
    }

    /// Flushes the session five times a second.
    ///
    /// A connection cannot be used after a time-out, so another one is made. The time until then
    /// doubles with each failure in a row: a recorder may be stopped, and each attempt waits for
    /// it.
    pub(super) fn flush(&mut self) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        let Self { archive, socket, connection, .. } = self;
        let connected = connection.take().or_else(|| Connection::find(archive, socket.as_deref()));
        self.connection = connected.and_then(Connection::flush);
        let wait = after(self.connection.is_some(), now.elapsed(), &mut self.pause);
        self.next = Instant::now() + wait;
    }
}

/// Returns the time until the next request, after one that took `time`. `pause` is that after a
/// failure.
fn after(has_succeeded: bool, time: Duration, pause: &mut Duration) -> Duration {
    let wait = if has_succeeded { INTERVAL } else { time.max(*pause).min(LONGEST_PAUSE) };
    *pause = if has_succeeded { INTERVAL } else { wait * 2 };
    wait
}

impl Connection {
    /// Connects to the server of the session that writes this archive.
    fn find(archive: &Path, socket: Option<&Path>) -> Option<Self> {
        let writes = |session: &SessionInfo| Path::new(&session.output) == archive;
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
        Some(Self { controller, session: session.name })
    }

    /// Flushes the session. Returns `None` if the connection cannot be used any more.
    fn flush(mut self) -> Option<Self> {
        // It is refused while the session is paused, and if it has ended.
        let flushed = self.controller.flush(&self.session);
        matches!(flushed, Ok(()) | Err(ControllerError::Refused(_))).then_some(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pause_doubles_with_each_failure_in_a_row_up_to_a_minute() {
        let mut pause = INTERVAL;
        let mut waits = |results: &[(bool, u64)]| -> Vec<u128> {
            let time = Duration::from_millis;
            results.iter().map(|it| after(it.0, time(it.1), &mut pause).as_millis()).collect()
        };
        assert_eq!(waits(&[(false, 1); 4]), [200, 400, 800, 1600]);
        assert_eq!(waits(&[(false, 5000); 6]), [5000, 10_000, 20_000, 40_000, 60_000, 60_000]);
        assert_eq!(waits(&[(true, 1), (false, 1), (false, 1)]), [200, 200, 400]);
    }
}
