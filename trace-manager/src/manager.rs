//! The manager, for callers.

mod queries;
mod session_handle;
#[cfg(test)]
mod tests;

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{self, Child};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use trace_protocol::socket::Listener;

pub use self::session_handle::SessionHandle;
use crate::config::SessionConfig;
use crate::error::ManagerError;
use crate::ledger::Guard;
use crate::limits::Limits;
use crate::machine_providers::MachineProviders;
use crate::notice::NoticeSender;
use crate::output::{ArchiveOutput, ArchiveTarget};
use crate::server::{Command, EventLoop, Mailbox, SharedProgress, StartRequest};
use crate::sink::SinkRequest;
use crate::summary::Progress;

/// A manager: listens for providers and runs sessions, any number at a time, on its own thread.
///
/// When it is dropped, it ends its sessions as [`SessionHandle::stop`] does, and then its thread.
#[derive(Debug)]
pub struct Manager {
    path: PathBuf,
    mailbox: Mailbox,
    machine_providers: MachineProviders,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Manager {
    /// Listens for providers at `path`. If only the last directory of the path is missing, it is
    /// created for this user only.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Bind`] if the socket cannot be created; [`ManagerError::EventLoop`] if the
    /// process has no free file descriptor or cannot start a thread.
    pub fn bind(path: &Path) -> Result<Self, ManagerError> {
        Self::bind_with(path, Limits::default())
    }

    /// Listens as [`bind`](Self::bind) does, with the given limits for providers.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind).
    pub fn bind_with(path: &Path, limits: Limits) -> Result<Self, ManagerError> {
        let listener =
            listen(path).map_err(|source| ManagerError::Bind { path: path.to_owned(), source })?;
        Self::with_listener(listener, limits)
    }

    /// Listens at a socket that the caller has bound, with the given limits for providers.
    ///
    /// # Errors
    ///
    /// [`ManagerError::EventLoop`], as [`bind`](Self::bind).
    pub fn with_listener(listener: Listener, limits: Limits) -> Result<Self, ManagerError> {
        let path = listener.path().to_owned();
        let (mailbox, inbox) = Mailbox::new().map_err(ManagerError::EventLoop)?;
        let machine_providers = MachineProviders::default();
        let event_loop = EventLoop::new(listener, inbox, limits, machine_providers.clone())
            .map_err(ManagerError::EventLoop)?;
        let builder = thread::Builder::new().name("trace-manager".to_owned());
        let thread = builder.spawn(|| event_loop.run()).map_err(ManagerError::EventLoop)?;
        Ok(Self { path, mailbox, machine_providers, thread: Some(thread) })
    }

    /// Returns the path of the socket.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts a process that may write records about the whole machine: scheduling records, and
    /// records with the koids of other processes. `TRACE_SOCKET` is set for it.
    ///
    /// The records of the process are trusted, so it should be a program of the caller. Connections
    /// of its children do not have this right. It does not count among the programs of a running
    /// session: [`Progress`](crate::Progress), [`SessionHandle::wait_provider`].
    ///
    /// # Errors
    ///
    /// If the process cannot be started or watched (before Linux 5.3).
    pub fn spawn_machine_provider(&self, command: &mut process::Command) -> io::Result<Child> {
        self.machine_providers.spawn(command.env("TRACE_SOCKET", &self.path))
    }

    /// Starts a process as [`spawn_machine_provider`](Self::spawn_machine_provider) does. Only the
    /// session records it that has its id as its [`companion`](SessionConfig::companion).
    ///
    /// # Errors
    ///
    /// As [`spawn_machine_provider`](Self::spawn_machine_provider).
    pub fn spawn_companion(&self, command: &mut process::Command) -> io::Result<Child> {
        self.machine_providers.spawn_companion(command.env("TRACE_SOCKET", &self.path))
    }

    /// Lets a running process write records about the whole machine, as
    /// [`spawn_machine_provider`](Self::spawn_machine_provider) does, if it runs as root.
    ///
    /// A process of another user remains an application, which writes about itself only. The user
    /// is that of `SO_PEERCRED` when the provider gets its buffer: at the start of a session, or
    /// when it joins one.
    ///
    /// # Errors
    ///
    /// If there is no such process, or it cannot be watched (before Linux 5.3).
    pub fn allow_machine_provider(&self, pid: u32) -> io::Result<()> {
        self.machine_providers.allow(pid)
    }

    /// Starts a session. Registered providers record when this returns or soon after; others join
    /// when they register.
    ///
    /// If the target is a pipe, this waits for its reader.
    ///
    /// # Errors
    ///
    /// [`ManagerError::ZeroBufferSize`] and [`ManagerError::BufferTooLarge`] for an impossible
    /// buffer; [`ManagerError::CreateArchive`].
    pub fn start(
        &self,
        config: SessionConfig,
        target: ArchiveTarget,
    ) -> Result<SessionHandle, ManagerError> {
        self.start_with_sinks(config, target, None, Vec::new())
    }

    /// Starts a session as [`start`](Self::start) does. If this process is killed, a guard
    /// completes its archive with all committed records.
    ///
    /// A guard cannot complete a pipe or a socket. If the guard ends early, the session continues
    /// without it.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_guarded(
        &self,
        config: SessionConfig,
        target: ArchiveTarget,
        guard: Guard,
    ) -> Result<SessionHandle, ManagerError> {
        self.start_with_sinks(config, target, Some(guard), Vec::new())
    }

    /// Starts a session as [`start`](Self::start) does, with further sinks.
    ///
    /// Providers record the union of the categories of the session and the sinks; each sink gets
    /// its own. A guard completes the session's archive only.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_with_sinks(
        &self,
        config: SessionConfig,
        target: ArchiveTarget,
        guard: Option<Guard>,
        sinks: Vec<SinkRequest>,
    ) -> Result<SessionHandle, ManagerError> {
        config.check()?;
        let path = match &target {
            ArchiveTarget::File(path) => path.clone(),
            ArchiveTarget::New(file) => file.place().path(),
            ArchiveTarget::Stream(_) | ArchiveTarget::Bounded(..) => PathBuf::new(),
        };
        let output = match &config.rotation {
            Some(rotation) => ArchiveOutput::open_parts(target, rotation.keep)?,
            None => ArchiveOutput::open(target)?,
        };
        if config.takes_snapshots() && output.naming().is_none() {
            return Err(ManagerError::SnapshotOfStream);
        }
        let (backup, parts) = (output.backup(), output.parts());
        let (notices, notice_receiver) = NoticeSender::new();
        let shared = Arc::new(SharedProgress::new(Progress::INITIAL));
        let (reply, reply_receiver) = crossbeam_channel::bounded(1);
        let (done, ended) = crossbeam_channel::bounded(1);
        let discarded = Arc::new(AtomicBool::new(false));
        let request = StartRequest {
            config,
            output,
            sinks,
            guard,
            path,
            notices,
            discarded: Arc::clone(&discarded),
            shared: Arc::clone(&shared),
            reply,
            done,
        };
        self.mailbox.send(Command::Start(Box::new(request)))?;
        let number = reply_receiver.recv().map_err(|_| ManagerError::Ended)??;
        let mailbox = self.mailbox.clone();
        Ok(SessionHandle {
            number,
            mailbox,
            discarded,
            shared,
            notice_receiver,
            ended: Mutex::new(Some(ended)),
            backup,
            parts,
        })
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // Fails if the loop has ended.
        let _ = self.mailbox.send(Command::Quit);
        if let Some(thread) = self.thread.take() {
            // If the loop failed, the sessions have reported it.
            let _ = thread.join();
        }
    }
}

fn listen(path: &Path) -> io::Result<Listener> {
    match Listener::bind(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let parent = path.parent().ok_or(error)?;
            DirBuilder::new().mode(0o700).create(parent)?;
            Listener::bind(path)
        }
        result => result,
    }
}
