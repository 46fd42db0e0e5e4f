//! The session that a command uses: one of the daemon, or that of a recorder.

use std::path::Path;

use anyhow::{bail, Error, Result};
use trace_convert::visible;
use trace_manager::controller::{Controller, ControllerError, SessionInfo, SessionState};

use crate::daemon_client::connect;
use crate::message::HINT;
use crate::recorders::{self, Recorder, PATIENCE};

/// A session, and the connection to the process that records it.
pub(crate) struct Found {
    pub(crate) controller: Controller,
    pub(crate) name: String,
}

/// Finds a session of the daemon by its name, or a recorder by its process or the name of its
/// session; without a name, the only one. `socket` names a daemon: recorders are not searched.
pub(crate) fn find_session(socket: Option<&Path>, name: &str) -> Result<Found> {
    let (daemon, recorders) = servers(socket);
    if recorders.is_empty() {
        let controller = daemon.map_err(|error| without_server(error, socket))?;
        return Ok(Found { controller, name: name.to_owned() });
    }
    let mut daemon = daemon.ok();
    let (of_daemon, silent) = match daemon.as_mut().map(sessions_of) {
        Some(Ok(sessions)) => (sessions, None),
        // The connection of one that fails or does not answer is useless.
        Some(Err(error)) => {
            daemon = None;
            (Vec::new(), Some(error))
        }
        None => (Vec::new(), None),
    };
    let of_daemon: Vec<_> = of_daemon.into_iter().filter(|it| is_named(it, name)).collect();
    let is_meant = |it: &Recorder| it.pid.to_string() == name || is_named(&it.session, name);
    let (mut meant, others): (Vec<_>, Vec<_>) = recorders.into_iter().partition(is_meant);
    match (daemon, of_daemon.as_slice(), meant.len()) {
        (Some(controller), [session], 0) => Ok(Found { controller, name: session.name.clone() }),
        (_, [], 1) => {
            let Recorder { controller, session, .. } = meant.remove(0);
            Ok(Found { controller, name: session.name })
        }
        // The daemon has the reason.
        (Some(controller), [], 0) => Ok(Found { controller, name: name.to_owned() }),
        (None, [], 0) => {
            if let Some(error) = silent {
                return Err(error.into());
            }
            let others = list(&[], &others);
            bail!("there is no session '{}'{HINT}sessions are {others}", visible(name))
        }
        _ => {
            let several = list(&of_daemon, &meant);
            bail!("several sessions match: {several}{HINT}name a recorder by its process id")
        }
    }
}

/// Returns the error that nothing records, if no daemon was found and none was named.
fn without_server(error: Error, socket: Option<&Path>) -> Error {
    match error.downcast_ref() {
        Some(ControllerError::Connect { .. }) if socket.is_none() => {
            error.context("nothing records: no trace record of this user runs, and no daemon")
        }
        _ => error,
    }
}

/// Connects to the daemon, and to the recorders of this user unless the daemon's socket is named.
pub(crate) fn servers(socket: Option<&Path>) -> (Result<Controller>, Vec<Recorder>) {
    let daemon = connect(socket);
    let mut recorders = match socket {
        Some(_) => Vec::new(),
        None => recorders::find(),
    };
    if let Ok(daemon) = &daemon {
        // A recorded command has `TRACE_SOCKET`, so that its recorder is found twice.
        recorders.retain(|recorder| recorder.pid != daemon.daemon_pid());
    }
    (daemon, recorders)
}

/// Returns the sessions of the daemon.
fn sessions_of(daemon: &mut Controller) -> Result<Vec<SessionInfo>, ControllerError> {
    daemon.set_timeout(Some(PATIENCE));
    let sessions = daemon.sessions();
    daemon.set_timeout(None);
    sessions
}

/// Returns whether a name means this session. An empty one means each that has not ended.
pub(crate) fn is_named(session: &SessionInfo, name: &str) -> bool {
    match name.is_empty() {
        true => is_running(session),
        false => session.name == name,
    }
}

/// Returns whether a session has not ended.
pub(crate) fn is_running(session: &SessionInfo) -> bool {
    session.state != SessionState::Stopped
}

/// Returns where the records are of a session whose daemon is gone, as a hint.
pub(crate) fn place(archive: &Path) -> String {
    format!("what was recorded until then is in {}, if the session had a guard", archive.display())
}

fn list(of_daemon: &[SessionInfo], recorders: &[Recorder]) -> String {
    let of_daemon = of_daemon.iter().map(|session| visible(&session.name).into_owned());
    let recorders =
        recorders.iter().map(|it| format!("{} (process {})", visible(&it.session.name), it.pid));
    of_daemon.chain(recorders).collect::<Vec<_>>().join(", ")
}
