//! The control socket of a daemon: controllers start and stop sessions of a [`Manager`].
//!
//! ```text
//!  controllers          control thread                        session threads
//!  -----------          --------------                        ---------------
//!  requests ----------> connections --> ControlMachine -----> open the output, start the session,
//!  replies, events <--- queues     <--- (no I/O)       <----- wait for its notices and its end
//! ```
//!
//! The control thread never waits for an output, a provider or a session: each session has a thread
//! that does, and so has each snapshot and each query of categories.
//!
//! | module | subject |
//! |---|---|
//! | `machine` | what requests, sessions and ended connections cause; without I/O |
//! | `limits` | the resources of a user |
//! | `client` | one connection |
//! | `caller` | a controller, and what it may see |
//! | `group` | the group of the control socket |
//! | `companion` | processes that record the machine for a session |
//! | `event_loop` | the control thread |
//! | `shared` | what its threads share |
//! | `event_queue` | the alerts and snapshots of a session on their way to the control thread |
//! | `recorder`, `snapshot`, `follow` | the threads of a session, a snapshot, a live stream that starts |
//! | `running` | a session that has started, for the control thread |
//! | `kept` | sessions that go on after a kill of the daemon |
//! | `served` | a session that the process has started itself, for controllers |
//! | `output` | the outputs that controllers pass |
//! | `convert` | the manager's values as those of the protocol |

mod caller;
mod client;
mod client_log;
mod companion;
pub(crate) mod convert;
mod event_loop;
mod event_queue;
mod follow;
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) mod fuzzed;
mod group;
mod kept;
mod limits;
mod machine;
mod output;
mod outputs;
mod recorder;
mod running;
mod served;
mod shared;
mod snapshot;
#[cfg(test)]
mod tests;
mod triggers;

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use crossbeam_channel::Sender;
use trace_protocol::control::ConfigurationInfo;
use trace_protocol::socket::Listener;

pub use self::companion::{Companion, StartCompanion};
use self::event_loop::ControlLoop;
use self::event_queue::EventQueue;
pub use self::limits::ControlLimits;
#[cfg(feature = "fuzzing")]
pub(crate) use self::machine::interleavings;
pub use self::served::ServedSession;
use self::shared::Message;
use crate::controller::Controller;
use crate::error::ManagerError;
use crate::ledger::Guard;
use crate::manager::Manager;
use crate::output::part_name;
use crate::waker::Waker;

/// Category groups: names without `#`, and their patterns.
pub type CategoryGroups = BTreeMap<String, Vec<String>>;

/// The options of a [`ControlServer`].
pub struct ControlSettings {
    /// The category groups.
    pub groups: CategoryGroups,
    /// The limits for users.
    pub limits: ControlLimits,
    /// A folder for files that are not complete. No other user may read that of a daemon.
    pub scratch: PathBuf,
    /// Starts a guard for a session. A session without a guard is not completed if this process is
    /// killed.
    pub guard: Option<StartGuard>,
    /// A folder for files of sessions that go on after a kill of this process: a server with the
    /// same folder starts them again. It is created when it is used, and no other user may write
    /// it.
    pub sessions: Option<PathBuf>,
    /// Starts processes that record the machine for single sessions. Without it, sessions record
    /// only the programs that register.
    pub companions: Option<Box<dyn StartCompanion>>,
}

/// Starts a guard process; see [`ControlSettings::guard`]. If the session has a file in
/// [`ControlSettings::sessions`], the guard passes its path to [`note_end`] when this process is
/// killed.
pub type StartGuard = Box<dyn Fn(Option<&Path>) -> Option<Guard> + Send + Sync>;

/// Notes in the file of a session that the daemon has ended now. Only guards call this.
///
/// # Errors
///
/// If the file cannot be written, or is missing because the session has ended.
pub fn note_end(file: &Path) -> io::Result<()> {
    kept::note_end(file)
}

/// Serves controllers on a thread of its own. When it is dropped, it stops the sessions of
/// controllers, and returns when their archives are complete.
#[derive(Debug)]
pub struct ControlServer {
    messages: Sender<Message>,
    waker: Waker,
    /// The events of the served session; of a daemon, unused.
    queue: Arc<EventQueue>,
    thread: Option<JoinHandle<()>>,
}

impl ControlServer {
    /// Starts to serve controllers that connect to `listener`.
    ///
    /// # Errors
    ///
    /// [`ManagerError::EventLoop`] if the process has no free file descriptor or cannot start a
    /// thread.
    pub fn start(
        listener: Listener,
        manager: Manager,
        settings: ControlSettings,
    ) -> Result<Self, ManagerError> {
        Self::spawn(listener, Arc::new(manager), settings, None).map_err(ManagerError::EventLoop)
    }

    fn spawn(
        listener: Listener,
        manager: Arc<Manager>,
        settings: ControlSettings,
        session: Option<ServedSession>,
    ) -> io::Result<Self> {
        let waker = Waker::new()?;
        let (messages, received) = crossbeam_channel::unbounded();
        let channel = (messages.clone(), received);
        let mut server = ControlLoop::new(listener, manager, settings, channel, waker.clone())?;
        let queue = session.map(|session| server.serve(session)).unwrap_or_default();
        let builder = thread::Builder::new().name("trace-control".to_owned());
        let thread = builder.spawn(|| server.run())?;
        Ok(Self { messages, waker, queue, thread: Some(thread) })
    }

    /// Connects as the daemon itself: only sessions of this connection may have triggers that run
    /// commands.
    ///
    /// # Errors
    ///
    /// If the process or the system has no file descriptor left.
    pub fn connect(&self) -> io::Result<Controller> {
        let (own, theirs) = UnixStream::pair()?;
        let controller = Controller::of_socket(OwnedFd::from(own).into())?;
        self.send(Message::Connect(OwnedFd::from(theirs).into()));
        Ok(controller)
    }

    /// Replaces the category groups. Running sessions are not affected.
    pub fn set_groups(&self, groups: CategoryGroups) {
        self.send(Message::Groups(groups));
    }

    /// Returns what passes the use of the configuration to controllers.
    pub fn configuration(&self) -> ConfigurationReporter {
        ConfigurationReporter { messages: self.messages.clone(), waker: self.waker.clone() }
    }

    fn send(&self, message: Message) {
        // Fails if the thread has ended.
        let _ = self.messages.send(message);
        self.waker.wake();
    }
}

/// Passes the use of the daemon's configuration to controllers; see
/// [`ControlServer::configuration`].
#[derive(Debug, Clone)]
pub struct ConfigurationReporter {
    messages: Sender<Message>,
    waker: Waker,
}

impl ConfigurationReporter {
    /// Replaces what controllers get. Only those of this process's user and of root get reasons.
    pub fn report(&self, configuration: ConfigurationInfo) {
        // Fails if the thread has ended.
        let _ = self.messages.send(Message::Configuration(Box::new(configuration)));
        self.waker.wake();
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        self.send(Message::ShutDown);
        if let Some(thread) = self.thread.take() {
            // If it has panicked, its sessions stop with their handles.
            let _ = thread.join();
        }
    }
}

impl fmt::Debug for ControlSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { groups, limits, scratch, guard, sessions, companions } = self;
        f.debug_struct("ControlSettings")
            .field("groups", groups)
            .field("limits", limits)
            .field("scratch", scratch)
            .field("guard", &guard.is_some())
            .field("sessions", sessions)
            .field("companions", companions)
            .finish()
    }
}

/// Returns an error of the output as one of the system.
fn other(reason: impl Into<String>) -> io::Error {
    io::Error::other(reason.into())
}
