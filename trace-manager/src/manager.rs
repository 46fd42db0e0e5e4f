//! The manager and its sessions, as the caller has them.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{self, Child};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crossbeam_channel::Receiver;
use trace_protocol::socket::Listener;

use crate::archive::{ArchiveOutput, ArchiveTarget};
use crate::config::SessionConfig;
use crate::error::ManagerError;
use crate::guard::Guard;
use crate::limits::Limits;
use crate::machine::SessionState;
use crate::machine_providers::MachineProviders;
use crate::notice::{Notice, NoticeSender};
use crate::recording::EndedRecording;
use crate::server::{Command, EventLoop, Mailbox, SharedProgress, StartRequest};
use crate::sink::{Finish, SinkRequest};
use crate::summary::{Progress, SessionSummary};

/// A manager: listens for providers and runs sessions, one at a time, in a thread of its own.
///
/// Dropped, it ends its session as [`SessionHandle::stop`] does, and then itself.
#[derive(Debug)]
pub struct Manager {
    path: PathBuf,
    mailbox: Mailbox,
    machine_providers: MachineProviders,
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Manager {
    /// Listens for providers at `path`. The directory is made if only it is missing, for this user
    /// alone.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Bind`] when the socket cannot be made, [`ManagerError::EventLoop`] when the
    /// process has no file descriptor or thread left.
    pub fn bind(path: &Path) -> Result<Self, ManagerError> {
        Self::bind_with(path, Limits::default())
    }

    /// Listens as [`bind`](Self::bind) does, with other limits for providers than the usual ones.
    ///
    /// # Errors
    ///
    /// As [`bind`](Self::bind).
    pub fn bind_with(path: &Path, limits: Limits) -> Result<Self, ManagerError> {
        let listener =
            listen(path).map_err(|source| ManagerError::Bind { path: path.to_owned(), source })?;
        let (mailbox, inbox) = Mailbox::new().map_err(ManagerError::EventLoop)?;
        let machine_providers = MachineProviders::default();
        let event_loop = EventLoop::new(listener, inbox, limits, machine_providers.clone())
            .map_err(ManagerError::EventLoop)?;
        let builder = thread::Builder::new().name("trace-manager".to_owned());
        let thread = builder.spawn(|| event_loop.run()).map_err(ManagerError::EventLoop)?;
        Ok(Self { path: path.to_owned(), mailbox, machine_providers, thread: Some(thread) })
    }

    /// Returns the path that providers connect to.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Starts a process that may write records about the whole machine: scheduling records, and
    /// records with the koids of other processes. `TRACE_SOCKET` is set for it.
    ///
    /// All that the process writes is believed, so it should be a program of the caller's own. Only
    /// connections that this process itself makes count, not those of its children.
    ///
    /// # Errors
    ///
    /// When the process cannot be started or watched (before Linux 5.3).
    pub fn spawn_machine_provider(&self, command: &mut process::Command) -> io::Result<Child> {
        self.machine_providers.spawn(command.env("TRACE_SOCKET", &self.path))
    }

    /// Lets a process that runs already write records about the whole machine, as
    /// [`spawn_machine_provider`](Self::spawn_machine_provider) does, if it is root's.
    ///
    /// A process of another user stays an application, which writes about itself alone. What counts
    /// is the user that the kernel names (`SO_PEERCRED`), and when the provider gets its buffer: at
    /// the start of a session, or when it joins one.
    ///
    /// # Errors
    ///
    /// When there is no such process, or it cannot be watched (before Linux 5.3).
    pub fn allow_machine_provider(&self, pid: u32) -> io::Result<()> {
        self.machine_providers.allow(pid)
    }

    /// Starts a session. Providers that are there record when this returns or soon after; others
    /// join as they come.
    ///
    /// A target that names a pipe is opened here, which waits for its reader.
    ///
    /// # Errors
    ///
    /// [`ManagerError::SessionActive`] while another session is not over;
    /// [`ManagerError::ZeroBufferSize`] and [`ManagerError::BufferTooLarge`] for a buffer that cannot
    /// be; [`ManagerError::CreateArchive`].
    pub fn start(
        &self,
        config: SessionConfig,
        target: ArchiveTarget,
    ) -> Result<SessionHandle, ManagerError> {
        self.start_with_sinks(config, target, None, Vec::new())
    }

    /// Starts a session as [`start`](Self::start) does, of which a guard completes the archive if
    /// this process is killed: what providers had recorded is not lost.
    ///
    /// An archive that is a pipe or a socket cannot be completed. A guard that ends early does the
    /// session no harm.
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

    /// Starts a session as [`start`](Self::start) does, of which other sinks get the records, too.
    ///
    /// Providers record the categories that the session or one of the sinks asks for, and each gets
    /// its own. A guard completes the session's archive alone.
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
            ArchiveTarget::Stream(_) => PathBuf::new(),
        };
        let output = ArchiveOutput::open(target)?;
        if config.takes_snapshots() && output.naming().is_none() {
            return Err(ManagerError::SnapshotOfStream);
        }
        let (notices, notice_receiver) = NoticeSender::new();
        let shared = Arc::new(SharedProgress::new(Progress {
            state: SessionState::Initialized,
            elapsed: Duration::ZERO,
            providers: 0,
            joined: 0,
            events: 0,
            bytes: 0,
            lost: 0,
            archive_failure: None,
        }));
        let (reply, reply_receiver) = crossbeam_channel::bounded(1);
        let (done, recorded) = crossbeam_channel::bounded(1);
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
            recorded: Mutex::new(Some(recorded)),
        })
    }
}

impl Drop for Manager {
    fn drop(&mut self) {
        // Fails when the loop has ended already.
        let _ = self.mailbox.send(Command::Quit);
        if let Some(thread) = self.thread.take() {
            // What ended the loop early, its sessions have seen.
            let _ = thread.join();
        }
    }
}

/// A session. Dropped, it stops.
///
/// All methods can be called from any thread.
#[derive(Debug)]
pub struct SessionHandle {
    number: u64,
    mailbox: Mailbox,
    discarded: Arc<AtomicBool>,
    shared: Arc<SharedProgress>,
    notice_receiver: Receiver<Notice>,
    recorded: Mutex<Option<Receiver<EndedRecording>>>,
}

impl SessionHandle {
    /// Asks the session to stop and end. Does not wait; may be called again.
    pub fn stop(&self) {
        // Fails when the loop has ended, and the session with it.
        let _ = self.mailbox.send(Command::Stop { session: self.number });
    }

    /// Like [`stop`](Self::stop), and throws the archive away: a file of its name stays as it was.
    pub fn discard(&self) {
        self.discarded.store(true, Ordering::Release);
        self.stop();
    }

    /// Asks providers in streaming mode to hand over what they have so far.
    pub fn flush(&self) {
        // Fails when the loop has ended, and the session with it.
        let _ = self.mailbox.send(Command::Flush);
    }

    /// Writes an archive of what there is so far to `path`, and waits until that is done. Returns
    /// its size in bytes.
    ///
    /// It holds what the session's own archive holds, and what is in the providers' buffers: in
    /// streaming mode all so far, in circular mode the last moments. Scopes that are open are
    /// begins without an end. The file gets its name when it is whole. Recording goes on, and
    /// nothing of it is missing in the session's archive.
    ///
    /// The copy of the buffers is made at once, while no other provider is served: that takes a few
    /// milliseconds for 16 MiB.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Snapshot`] when the file cannot be written;
    /// [`ManagerError::SnapshotOfStream`] when the session's archive is none;
    /// [`ManagerError::SnapshotTooLarge`]; [`ManagerError::SessionEnded`].
    pub fn snapshot(&self, path: &Path) -> Result<u64, ManagerError> {
        let (reply, reply_receiver) = crossbeam_channel::bounded(1);
        let path = path.to_owned();
        self.mailbox.send(Command::Snapshot { session: self.number, path, reply })?;
        reply_receiver.recv().map_err(|_| ManagerError::Ended)?
    }

    /// Waits for the next thing that the session has to tell, `timeout` at most.
    ///
    /// A caller who does not look misses what comes when about a thousand wait; alerts are left out
    /// first. The summary has them all.
    pub fn next_notice(&self, timeout: Duration) -> Option<Notice> {
        self.notice_receiver.recv_timeout(timeout).ok()
    }

    /// Returns how the session is doing; at most about 0.1 s old.
    pub fn progress(&self) -> Progress {
        self.shared.get()
    }

    /// Waits until a provider has joined, `timeout` at most. Tells whether one has.
    pub fn wait_provider(&self, timeout: Duration) -> bool {
        self.shared.wait(timeout, |progress| progress.joined > 0)
    }

    /// Waits until the session stands in `state` or beyond, `timeout` at most. Tells whether it
    /// does.
    pub fn wait_state(&self, state: SessionState, timeout: Duration) -> bool {
        self.shared.wait(timeout, |progress| progress.state >= state)
    }

    /// Waits until the session is over and its archive written, and returns what it has come to.
    ///
    /// Somebody has to have called [`stop`](Self::stop), or calls it from another thread.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Ended`] when the manager ended without it, or when this was called before.
    pub fn join(&self) -> Result<SessionSummary, ManagerError> {
        let recorded = self.recorded.lock().unwrap_or_else(PoisonError::into_inner).take();
        let recorded = recorded.ok_or(ManagerError::Ended)?;
        let recorded = recorded.recv().map_err(|_| ManagerError::Ended)?;
        Ok(SessionSummary {
            duration: recorded.duration,
            providers: recorded.providers,
            refused: recorded.refused,
            refusals: recorded.refusals,
            alerts: recorded.alerts,
            categories: recorded.categories,
            archive: recorded.archive.wait(),
            sinks: recorded.sinks.into_iter().map(Finish::wait).collect(),
            stopped_by: recorded.stopped_by,
            snapshots: recorded.snapshots.join(),
        })
    }
}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        self.stop();
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
