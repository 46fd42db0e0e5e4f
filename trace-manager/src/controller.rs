//! A client of a daemon: lists its providers, and starts and stops sessions.
//!
//! ```no_run
//! use std::fs::File;
//! use trace_manager::controller::{Controller, TraceConfig};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut controller = Controller::connect_default()?;
//! let config = TraceConfig { buffer_size: 4 << 20, ..TraceConfig::default() };
//! let session = controller.initialize(&config, &File::create("trace.fxt")?)?;
//! controller.start(&session)?;
//! std::thread::sleep(std::time::Duration::from_secs(1));
//! let summary = controller.stop(&session)?;
//! println!("{} bytes of {} providers", summary.bytes, summary.providers.len());
//! # Ok(())
//! # }
//! ```

mod calls;
mod error;
mod results;

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags};
use rustix::process::geteuid;
use trace_protocol::control::{
    CategoryChange, FollowRequest, Parts, Reply, Request, SnapshotRequest, StopRequest,
    TerminateRequest, ToController, CONTROL_SOCKET, EVENT,
};
use trace_protocol::message::Decoder;
use trace_protocol::socket::{default_socket_paths, PeerCredentials, Socket};

use crate::trigger::Cause;

pub use self::error::ControllerError;
pub use self::results::end_of;
pub use trace_protocol::control::{
    ArchiveFailure, CompanionResult, ConfigurationInfo, ConfiguredFailure, ControlError, EndKind,
    ErrorCode, FlushError, GeneralError, GroupInfo, KnownCategory, Output, ProviderFilter,
    ProviderInfo, ProviderResult, ProviderSpec, ProviderStatistics, RotationOptions, SessionInfo,
    SessionState, SnapshotOptions, StartError, StartRequest, StopError, Summary, TraceConfig,
    TriggerAction, TriggerSpec,
};
pub use trace_protocol::message::BufferDisposition;

type Result<T> = std::result::Result<T, ControllerError>;

/// An event of a session that the controller watches.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionEvent {
    /// The session has a new state.
    State {
        /// The session's name.
        session: String,
        /// Its state.
        state: SessionState,
    },
    /// A provider raised an alert.
    Alert {
        /// The session's name.
        session: String,
        /// The alert's name.
        alert: String,
    },
    /// A snapshot was written, or failed.
    Snapshot {
        /// The session's name.
        session: String,
        /// Its path, as the daemon sees it.
        path: PathBuf,
        /// Its causes; none if somebody requested it.
        causes: Vec<Cause>,
        /// Its size in bytes, or the error.
        result: std::result::Result<u64, String>,
    },
}

/// A connection to a daemon.
///
/// When it is dropped, the sessions end that it has initialized and that are not detached. Their
/// results are written.
#[derive(Debug)]
pub struct Controller {
    socket: Socket,
    daemon: PeerCredentials,
    decoder: Decoder<ToController>,
    parts: Parts,
    /// The number of the last request.
    last: u32,
    events: VecDeque<SessionEvent>,
    timeout: Option<Duration>,
}

/// Returns the path of the control socket, in the folder of the registration socket.
pub fn control_socket_path(registration: &Path) -> PathBuf {
    registration.with_file_name(CONTROL_SOCKET)
}

impl Controller {
    /// Connects to the daemon with the control socket at `path`.
    ///
    /// # Errors
    ///
    /// [`ControllerError::Connect`]; [`ControllerError::Untrusted`] if it runs neither as root nor
    /// as this user.
    pub fn connect(path: &Path) -> Result<Self> {
        let failed = |source| ControllerError::Connect { path: path.to_owned(), source };
        let socket = Socket::connect(path).map_err(failed)?;
        let daemon = socket.peer_credentials().map_err(failed)?;
        let uid = daemon.uid;
        if uid != 0 && uid != geteuid().as_raw() {
            return Err(ControllerError::Untrusted { uid });
        }
        Ok(Self::new(socket, daemon))
    }

    /// Uses a connected socket, whose other end this process has.
    pub(crate) fn of_socket(socket: Socket) -> io::Result<Self> {
        let daemon = socket.peer_credentials()?;
        Ok(Self::new(socket, daemon))
    }

    fn new(socket: Socket, daemon: PeerCredentials) -> Self {
        Self {
            socket,
            daemon,
            decoder: Decoder::new(),
            parts: Parts::default(),
            last: EVENT,
            events: VecDeque::new(),
            timeout: None,
        }
    }

    /// Returns the process that has created the control socket, from the kernel: the daemon, or the
    /// service manager that has started it.
    pub fn daemon_pid(&self) -> u32 {
        self.daemon.pid
    }

    /// Sets the longest time to wait for further bytes of a reply; by default there is no limit.
    /// Beyond, a request fails with [`ControllerError::NoAnswer`], and the connection is useless.
    pub fn set_timeout(&mut self, timeout: Option<Duration>) {
        self.timeout = timeout;
    }

    /// Connects to the daemon that programs find by themselves: see
    /// [`default_socket_paths`].
    ///
    /// # Errors
    ///
    /// As [`connect`](Self::connect), for the first path.
    pub fn connect_default() -> Result<Self> {
        let paths = default_socket_paths();
        let mut paths = paths.iter().map(|path| Self::connect(&control_socket_path(path)));
        let first = paths.next().unwrap_or(Err(ControllerError::Closed(None)));
        first.or_else(|error| paths.next().and_then(Result::ok).ok_or(error))
    }

    /// Returns the registered providers that this user may record.
    ///
    /// # Errors
    ///
    /// [`ControllerError`], as all requests.
    pub fn providers(&mut self) -> Result<Vec<ProviderInfo>> {
        match self.call(Request::GetProviders)? {
            Reply::Providers(providers) => Ok(providers),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Returns the categories of these providers. Waits for their replies, for at most about a
    /// second.
    ///
    /// # Errors
    ///
    /// [`ControllerError`], as all requests.
    pub fn known_categories(&mut self) -> Result<Vec<KnownCategory>> {
        match self.call(Request::GetKnownCategories)? {
            Reply::KnownCategories(categories) => Ok(categories),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Returns the category groups of the daemon's configuration.
    ///
    /// # Errors
    ///
    /// [`ControllerError`], as all requests.
    pub fn groups(&mut self) -> Result<Vec<GroupInfo>> {
        match self.call(Request::GetGroups)? {
            Reply::Groups(groups) => Ok(groups),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Returns the use of the daemon's configuration. That of another user's daemon has no reasons.
    ///
    /// # Errors
    ///
    /// [`ControllerError`], as all requests.
    pub fn configuration(&mut self) -> Result<ConfigurationInfo> {
        match self.call(Request::GetConfiguration)? {
            Reply::Configuration(configuration) => Ok(configuration),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Returns the sessions of this user; for root, those of all users.
    ///
    /// # Errors
    ///
    /// [`ControllerError`], as all requests.
    pub fn sessions(&mut self) -> Result<Vec<SessionInfo>> {
        match self.call(Request::GetSessions)? {
            Reply::Sessions(sessions) => Ok(sessions),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Creates a session. `output` is the descriptor that [`TraceConfig::output`] describes.
    /// Returns the session's name.
    ///
    /// # Errors
    ///
    /// [`ControllerError`], as all requests.
    pub fn initialize(&mut self, config: &TraceConfig, output: &impl AsFd) -> Result<String> {
        match self.call_with(Request::Initialize(config.clone()), Some(output.as_fd()))? {
            Reply::Initialized(name) => Ok(name),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Starts a session. Returns when its programs record, the time to wait for them is over
    /// ([`TraceConfig::start_timeout`]), or the session stops. Opening its output may wait, if it
    /// is a pipe.
    ///
    /// # Errors
    ///
    /// [`ControllerError::Refused`] with a [`StartError`], and others.
    pub fn start(&mut self, session: &str) -> Result<()> {
        self.start_with(StartRequest { session: session.to_owned(), ..StartRequest::default() })
    }

    /// Starts a session as [`start`](Self::start) does, with further categories. After
    /// [`pause`](Self::pause), the disposition is the treatment of records that are in the buffers:
    /// see [`SessionHandle::start_again`](crate::SessionHandle::start_again).
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    pub fn start_with(&mut self, start: StartRequest) -> Result<()> {
        match self.call(Request::Start(start))? {
            Reply::Started => Ok(()),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Stops a session, and waits until its results are written. An empty name selects the only
    /// session.
    ///
    /// # Errors
    ///
    /// [`ControllerError::Refused`] with a [`StopError`], and others.
    pub fn stop(&mut self, session: &str) -> Result<Summary> {
        let stop = StopRequest { session: session.to_owned(), write_results: true };
        match self.call(Request::Stop(stop))? {
            Reply::Stopped(summary) => Ok(summary),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Stops sessions as [`stop`](Self::stop) does, all at once. Calls `requested` when the daemon
    /// has all requests, or does not take them in the time of [`set_timeout`](Self::set_timeout),
    /// which is not limited from then on. Returns the results in the order of the names.
    ///
    /// `requested` may end the daemon, which completes the archives first. The result of a session
    /// for which that took too long is [`ControllerError::Closed`].
    pub fn stop_all(
        &mut self,
        sessions: &[String],
        requested: impl FnOnce(),
    ) -> Vec<Result<Summary>> {
        let stop = |session: &String| {
            Request::Stop(StopRequest { session: session.clone(), write_results: true })
        };
        let mut results = self.call_all(sessions.iter().map(stop), requested);
        let result = |_: &String| match results.pop_front() {
            Some(Ok(Reply::Stopped(summary))) => Ok(summary),
            Some(Ok(reply)) => Err(unexpected(&reply)),
            Some(Err(error)) => Err(error),
            None => Err(ControllerError::Closed(None)),
        };
        sessions.iter().map(result).collect()
    }

    /// Stops a session, which can start again, and waits until its programs have stopped. They keep
    /// their buffers.
    ///
    /// # Errors
    ///
    /// As [`stop`](Self::stop).
    pub fn pause(&mut self, session: &str) -> Result<()> {
        let stop = StopRequest { session: session.to_owned(), write_results: false };
        match self.call(Request::Stop(stop))? {
            Reply::Paused => Ok(()),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Ends a session, and removes its archive, if that is a new file. Returns what was recorded,
    /// if the session had started. If the session ends meanwhile, its archive stays, and the result
    /// has its size.
    ///
    /// # Errors
    ///
    /// [`ControllerError::Refused`], as all requests, also if the session has ended already: its
    /// archive and its results stay.
    pub fn abort(&mut self, session: &str) -> Result<Option<Summary>> {
        self.terminate_with(session, false)
    }

    /// Ends a session in any state. Returns its results, if it had started.
    ///
    /// # Errors
    ///
    /// [`ControllerError`], as all requests.
    pub fn terminate(&mut self, session: &str) -> Result<Option<Summary>> {
        self.terminate_with(session, true)
    }

    fn terminate_with(&mut self, session: &str, write_results: bool) -> Result<Option<Summary>> {
        let terminate = TerminateRequest { session: session.to_owned(), write_results };
        match self.call(Request::Terminate(terminate))? {
            Reply::Stopped(summary) => Ok(Some(summary)),
            Reply::Terminated => Ok(None),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Makes providers in streaming mode send their records so far.
    ///
    /// # Errors
    ///
    /// [`ControllerError::Refused`] with a [`FlushError`], and others.
    pub fn flush(&mut self, session: &str) -> Result<()> {
        match self.call(Request::Flush(session.to_owned()))? {
            Reply::Flushed => Ok(()),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Writes a snapshot of all records so far. `descriptor` is what `output` describes. Returns
    /// the number of bytes.
    ///
    /// # Errors
    ///
    /// [`ControllerError`], as all requests.
    pub fn snapshot(
        &mut self,
        session: &str,
        output: Output,
        descriptor: &impl AsFd,
    ) -> Result<u64> {
        let snapshot = SnapshotRequest { session: session.to_owned(), output };
        match self.call_with(Request::Snapshot(snapshot), Some(descriptor.as_fd()))? {
            Reply::Snapshot(bytes) => Ok(bytes),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Returns the statistics of the providers that a session records now.
    ///
    /// # Errors
    ///
    /// [`ControllerError`], as all requests.
    pub fn statistics(&mut self, session: &str) -> Result<Vec<ProviderStatistics>> {
        match self.call(Request::GetStatistics(session.to_owned()))? {
            Reply::Statistics(providers) => Ok(providers),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Subscribes to the events of a session. The first one is its present state, and the last one
    /// [`SessionState::Terminated`], when it is removed: its results were taken, or it has none. A
    /// session has these states:
    ///
    /// ```text
    /// initialized --> starting --> started --------> stopping --> stopped --> terminated
    ///                               |  ^                ^ or terminating
    ///                               v  |                |
    ///                     pausing --> paused -----------+
    /// ```
    ///
    /// A session that is terminated before it has started, or whose start fails, has no results.
    /// That of a running `trace record` is started from the begin.
    ///
    /// # Errors
    ///
    /// [`ControllerError`], as all requests.
    pub fn watch(&mut self, session: &str) -> Result<()> {
        match self.call(Request::Watch(session.to_owned()))? {
            Reply::Watching => Ok(()),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Streams the records that a session collects from now on to a pipe or a socket, with events
    /// of these categories. The stream ends with the session, or when its reader ends.
    ///
    /// # Errors
    ///
    /// [`ControllerError`], as all requests.
    pub fn follow(
        &mut self,
        session: &str,
        categories: &[String],
        descriptor: &impl AsFd,
    ) -> Result<()> {
        let follow = FollowRequest { session: session.to_owned(), categories: categories.to_vec() };
        match self.call_with(Request::Follow(follow), Some(descriptor.as_fd()))? {
            Reply::Following => Ok(()),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Adds and removes category patterns of a session while it records. Programs continue. Returns
    /// the patterns after the change.
    ///
    /// # Errors
    ///
    /// [`ControllerError`], as all requests.
    pub fn change_categories(
        &mut self,
        session: &str,
        add: &[String],
        remove: &[String],
    ) -> Result<Vec<String>> {
        let (session, add, remove) = (session.to_owned(), add.to_vec(), remove.to_vec());
        match self.call(Request::ChangeCategories(CategoryChange { session, add, remove }))? {
            Reply::CategoriesChanged(categories) => Ok(categories),
            reply => Err(unexpected(&reply)),
        }
    }

    /// Waits for the next event of a session that is watched, for at most `timeout`.
    ///
    /// # Errors
    ///
    /// [`ControllerError`], if the connection ends.
    pub fn next_event(&mut self, timeout: Duration) -> Result<Option<SessionEvent>> {
        let deadline = Instant::now().checked_add(timeout);
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            if let Some(message) = self.next_message() {
                self.take(message?)?;
                continue;
            }
            let rest = deadline.map(|at| at.saturating_duration_since(Instant::now()));
            let millis =
                rest.map_or(-1, |rest| i32::try_from(rest.as_millis()).unwrap_or(i32::MAX));
            match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], millis) {
                Ok(0) => return Ok(None),
                Ok(_) => self.receive()?,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(ControllerError::Io(error.into())),
            }
        }
    }
}

fn unexpected(reply: &Reply) -> ControllerError {
    ControllerError::Unexpected { kind: reply.kind() }
}
