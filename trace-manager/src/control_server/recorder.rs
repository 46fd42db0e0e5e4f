//! The thread of a session: opens its output, starts it, and waits for its notices and its end.

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use log::Level;
use trace_protocol::control::{ControlError, GeneralError, Summary, TraceConfig};
use trace_protocol::file::Directory;
use trace_protocol::socket::PeerCredentials;

use super::caller::Caller;
use super::companion::{self, Companion};
use super::kept::{keep, open_directory, KeptFile, NextPart};
use super::limits::ControlLimits;
use super::machine::{OpenRequest, SessionEvent, SessionId};
use super::output::{is_deputy, OpenOutput};
use super::outputs::{OutputLease, Outputs};
use super::running::Running;
use super::shared::{Message, Shared};
use super::snapshot;
use super::triggers::takes_snapshots;
use super::{convert, other};
use crate::config::SessionConfig;
use crate::error::ManagerError;
use crate::manager::SessionHandle;
use crate::notice::Notice;
use crate::output::{ArchiveTarget, StreamBounds};
use crate::summary::Refusal;
use crate::trigger::Cause;

/// The time for which a thread waits for a notice. The end of the session wakes it before.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(60);

/// The results of a session that is copied to its output at its end.
#[derive(Debug)]
struct Transfer {
    from: File,
    to: File,
    patience: Duration,
}

/// Starts the thread of a session. If that fails, reports it like a failure of the session.
pub(super) fn spawn(shared: &Arc<Shared>, id: SessionId, request: OpenRequest) {
    let thread_shared = Arc::clone(shared);
    let builder = thread::Builder::new().name("trace-session".to_owned());
    if let Err(error) = builder.spawn(move || run(thread_shared, id, request)) {
        let error = ControlError::general(GeneralError::Failed, error.to_string());
        shared.send(Message::Session(id, SessionEvent::NotOpened(error)));
    }
}

fn run(shared: Arc<Shared>, id: SessionId, request: OpenRequest) {
    let (queue, uid) = (Arc::clone(&request.queue), request.caller.peer.uid);
    let owner = (!request.is_own).then_some(uid);
    let commands = match shared.commands.start(&request.config) {
        Ok(commands) => commands,
        Err(error) => {
            let error = ControlError::general(GeneralError::Failed, error.to_string());
            return shared.finish(Message::Session(id, SessionEvent::NotOpened(error)));
        }
    };
    let is_restored = request.earlier.is_some();
    let name = request.config.name.clone();
    let (companion, Opened { running, transfer, lease }) =
        match open_with_companion(&shared, request) {
            Ok(opened) => opened,
            Err(error) if is_restored => {
                shared.log(
                    Level::Error,
                    owner,
                    format_args!("the session {name} does not go on: {error}"),
                );
                return shared.finish(Message::Session(id, SessionEvent::NotOpened(error)));
            }
            Err(error) => {
                return shared.finish(Message::Session(id, SessionEvent::NotOpened(error)));
            }
        };
    let Running { guard_failure, .. } = running;
    let (handle, output, kept) =
        (Arc::clone(&running.handle), running.output.clone(), running.kept.clone());
    let running = Running { owner, name: name.clone(), ..running };
    shared.send(Message::Opened(id, Box::new(running)));
    while let Some(notice) = next_notice(&handle) {
        if let Some(message) = Message::announcing(id, &queue, &notice) {
            shared.send(message);
        }
        match notice {
            Notice::GuardFailed { reason } => log::warn!(
                "session {name}: the guard will not complete the archive if the daemon is killed: \
                 {reason}"
            ),
            // Programs cause these, so that they are limited in all sessions.
            Notice::Refused(Refusal { name: program, pid, reason }) => shared.log(
                Level::Warn,
                Some(uid),
                format_args!("session {name} does not record {program} ({pid}): {reason}"),
            ),
            Notice::Restart { name: program, pid } => shared.log(
                Level::Warn,
                Some(uid),
                format_args!(
                    "session {name}: the recording of {program} ({pid}) was interrupted by another \
                     session"
                ),
            ),
            Notice::Stopped => {
                kept.iter().for_each(KeptFile::note_pause);
                shared.send(Message::Session(id, SessionEvent::Paused));
            }
            Notice::StartedAgain => kept.iter().for_each(KeptFile::note_start),
            Notice::Started => shared.send(Message::Session(id, SessionEvent::Recording)),
            Notice::Stopping { .. } => shared.send(Message::Session(id, SessionEvent::Stopping)),
            Notice::Snapshot { path, causes, result: Ok(_) } => {
                commands.on_snapshot(&causes, &path);
            }
            Notice::Part { path } => commands.on_part(&path),
            Notice::Snapshot { path, result: Err(error), .. } => shared.log(
                Level::Error,
                owner,
                format_args!("session {}: no snapshot {}: {error}", name, path.display()),
            ),
            Notice::Alert { .. } => {}
        }
    }
    if queue.dropped() != 0 {
        let dropped = queue.dropped();
        shared.log(
            Level::Warn,
            owner,
            format_args!("session {name}: {dropped} alerts and snapshots were not announced"),
        );
    }
    let mut summary = Box::new(end(&handle, output, transfer));
    if let Some(reason) = guard_failure {
        summary.guard_failure = Some(reason.to_owned());
    }
    let parts: Vec<PathBuf> = summary.parts.iter().map(PathBuf::from).collect();
    commands.on_last_parts(&parts);
    if summary.failure.is_none() {
        let (alert, condition) = (summary.stopped_by.clone(), summary.stopped_by_condition.clone());
        if let Some(cause) = Cause::either(alert, condition) {
            // Only sessions of the configuration have commands. Their output is a path.
            let archive = summary.parts.last().unwrap_or(&summary.output);
            commands.on_end(&cause, Path::new(archive));
        }
    }
    drop((handle, lease));
    kept.iter().for_each(KeptFile::remove);
    summary.companion = companion.map(Companion::end);
    shared.finish(Message::Session(id, SessionEvent::Ended(summary)));
}

/// Waits for the next notice. Returns `None` if the session has ended.
fn next_notice(handle: &SessionHandle) -> Option<Notice> {
    loop {
        let start = Instant::now();
        match handle.next_notice(NOTICE_TIMEOUT) {
            Some(notice) => return Some(notice),
            // The session's end of the channel is gone.
            None if start.elapsed() < NOTICE_TIMEOUT => return None,
            None => {}
        }
    }
}

/// A session that has started.
struct Opened {
    running: Running,
    transfer: Option<Transfer>,
    /// Keeps other sessions from the file that it writes.
    lease: Option<OutputLease>,
}

/// Starts a session, after its companion.
fn open_with_companion(
    shared: &Shared,
    request: OpenRequest,
) -> Result<(Option<Box<dyn Companion>>, Opened), ControlError> {
    let starter = shared.companions.as_deref();
    let companion =
        companion::start(starter, &shared.manager, &request.config, request.caller.peer);
    // The session does not go on, also after the next start of the daemon.
    let companion = companion.inspect_err(|_| {
        request.earlier.iter().for_each(|(file, _)| file.remove());
    })?;
    let id = companion.as_ref().map(|companion| companion.id());
    Ok((companion, open(shared, request, id)?))
}

fn open(
    shared: &Shared,
    request: OpenRequest,
    companion: Option<u32>,
) -> Result<Opened, ControlError> {
    let OpenRequest { mut config, descriptor, caller, earlier, .. } = request;
    if takes_snapshots(&config) && is_deputy(caller.peer) {
        let reason = "snapshots of triggers require a daemon of the same user\nhint: start a \
                      daemon of your own, or take snapshots with trace snapshot";
        return Err(ControlError::general(GeneralError::Unsupported, reason));
    }
    let failed = |error: io::Error| ControlError::general(GeneralError::Output, error.to_string());
    let before = earlier.as_ref().map(|(file, _)| file.clone());
    let descriptor = match (descriptor, &earlier) {
        (Some(descriptor), _) => descriptor.into_owned(),
        (None, Some((_, session))) => open_directory(session),
        (None, None) => Err(other("the output is missing")),
    };
    let remove = |error: &io::Error| before.iter().for_each(|file| file.remove_after(error));
    let descriptor = descriptor.inspect_err(remove).map_err(failed)?;
    let part = keep(shared.kept.as_ref(), &mut config, &descriptor, caller, earlier);
    let part = part.inspect_err(remove).map_err(failed)?;
    let kept = part.file.clone();
    let opened = open_part(shared, &config, companion, (descriptor, caller), part);
    opened.inspect_err(|_| kept.iter().for_each(KeptFile::remove))
}

/// Starts a session, which may be the next part of one of a killed daemon.
fn open_part(
    shared: &Shared,
    config: &TraceConfig,
    companion: Option<u32>,
    (descriptor, caller): (OwnedFd, Caller),
    part: NextPart,
) -> Result<Opened, ControlError> {
    let failed = |error: io::Error| ControlError::general(GeneralError::Output, error.to_string());
    let output = OpenOutput::open(&config.output, descriptor, caller.peer).map_err(failed)?;
    let lease = match config.rotation.is_cut() {
        // Parts get numbers that no other session uses.
        true => None,
        false => reserve(&shared.outputs, &output).map_err(failed)?,
    };
    let description = output.description();
    let (target, transfer) = target(shared, output, config, caller.peer).map_err(failed)?;
    let recorded = convert::session_config(config, caller);
    let recorded = SessionConfig { companion, ..recorded };
    let session = start(shared, recorded, target, &part);
    let opened = |(handle, guard_failure)| {
        let running = Running::new(Arc::new(handle), description);
        let kept = part.file;
        let fixed_categories = companion.map(|_| companion::FIXED_CATEGORIES.to_owned());
        let running = Running { guard_failure, kept, fixed_categories, ..running };
        Opened { running, transfer, lease }
    };
    session.map(opened).map_err(|error| {
        let code = match error {
            ManagerError::ZeroBufferSize
            | ManagerError::BufferTooLarge { .. }
            | ManagerError::RotationMode
            | ManagerError::RotationSize { .. } => GeneralError::BadRequest,
            ManagerError::CreateArchive { .. } => GeneralError::Output,
            _ => GeneralError::Failed,
        };
        ControlError::general(code, error.to_string())
    })
}

/// Reserves the file of a session. Fails if another session writes it: one archive would replace
/// the other.
fn reserve(outputs: &Outputs, output: &OpenOutput) -> io::Result<Option<OutputLease>> {
    let OpenOutput::New(file) = output else { return Ok(None) };
    match outputs.reserve(file)? {
        Some(lease) => Ok(Some(lease)),
        None => Err(other(format!(
            "another session writes {}\nhint: choose another name, or stop that session",
            output.description()
        ))),
    }
}

/// Returns the target of the archive, and the copy that follows at the end.
fn target(
    shared: &Shared,
    output: OpenOutput,
    config: &TraceConfig,
    peer: PeerCredentials,
) -> io::Result<(ArchiveTarget, Option<Transfer>)> {
    let limits = &shared.limits;
    let descriptor = match output {
        OpenOutput::New(file) => return Ok((ArchiveTarget::New(file), None)),
        OpenOutput::Stream(descriptor) => File::from(descriptor),
    };
    if config.defer_transfer {
        let from = Directory::open(&shared.scratch)?.create_unnamed()?;
        let file = OwnedFd::from(from.try_clone()?);
        let target = match is_deputy(peer) {
            true => bounded(file, limits.scratch, limits),
            false => ArchiveTarget::Stream(file),
        };
        return Ok((target, Some(Transfer { from, to: descriptor, patience: limits.patience })));
    }
    Ok((stream(descriptor, peer, limits)?, None))
}

/// Returns the target that is written during the session. A file of the daemon's user needs no
/// reader, and so no limits.
fn stream(
    descriptor: File,
    peer: PeerCredentials,
    limits: &ControlLimits,
) -> io::Result<ArchiveTarget> {
    let is_own_file = descriptor.metadata()?.is_file() && !is_deputy(peer);
    Ok(match is_own_file {
        true => ArchiveTarget::Stream(descriptor.into()),
        false => bounded(descriptor.into(), u64::MAX, limits),
    })
}

fn bounded(fd: OwnedFd, size: u64, limits: &ControlLimits) -> ArchiveTarget {
    let ControlLimits { unwritten, patience, .. } = *limits;
    ArchiveTarget::Bounded(fd, StreamBounds { unwritten, size, patience })
}

/// Starts a session. Returns why it has no guard, if it should have one.
fn start(
    shared: &Shared,
    mut config: SessionConfig,
    target: ArchiveTarget,
    part: &NextPart,
) -> Result<(SessionHandle, Option<&'static str>), ManagerError> {
    config.interrupted_at = part.interrupted_at;
    let file = part.file.as_ref().map(KeptFile::path);
    let guard = shared.start_guard.as_ref().map(|start| start(file));
    let failure = matches!(guard, Some(None)).then_some("it cannot be started");
    let session = shared.manager.start_with_sinks(config, target, guard.flatten(), Vec::new());
    Ok((session?, failure))
}

/// Waits for the results, and transfers them.
fn end(handle: &SessionHandle, output: String, transfer: Option<Transfer>) -> Summary {
    let mut summary = match handle.join() {
        Ok(summary) => convert::summary(&summary, output),
        Err(error) => failed(output, &error),
    };
    // The archive of an aborted session has no bytes.
    let is_complete = summary.failure.is_none() && summary.bytes != 0;
    if let Some(transfer) = transfer.filter(|_| is_complete) {
        match transfer.copy(|| handle.is_discarded()) {
            // An aborted one is not copied, and its records are in no file.
            Ok(bytes) => summary.bytes = bytes.unwrap_or(0),
            Err(error) => {
                summary = Summary { failure: failed(String::new(), &error).failure, ..summary }
            }
        }
    }
    summary
}

fn failed(output: String, error: &dyn std::error::Error) -> Summary {
    let failure =
        trace_protocol::control::ArchiveFailure { reason: error.to_string(), ..Default::default() };
    Summary { output, failure: Some(failure), ..Summary::default() }
}

impl Transfer {
    /// Returns the number of bytes, or `None` if it is aborted.
    fn copy(mut self, is_aborted: impl Fn() -> bool) -> io::Result<Option<u64>> {
        self.from.rewind()?;
        snapshot::copy_unless(&mut self.from, &self.to, self.patience, is_aborted)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn only_a_file_of_the_daemons_user_has_no_limits() {
        let own = rustix::process::geteuid().as_raw();
        let peer = |uid| PeerCredentials { pid: 1, uid, gid: 1 };
        let limits = ControlLimits::default();
        let is_bounded = |output: File, uid| {
            let target = stream(output, peer(uid), &limits).unwrap();
            matches!(target, ArchiveTarget::Bounded(_, StreamBounds { size: u64::MAX, .. }))
        };
        let file = tempfile::tempfile().unwrap();
        assert!(!is_bounded(file.try_clone().unwrap(), own));
        assert!(is_bounded(file, own + 1));
        let (_reader, writer) = UnixStream::pair().unwrap();
        assert!(is_bounded(OwnedFd::from(writer).into(), own));
    }
}
