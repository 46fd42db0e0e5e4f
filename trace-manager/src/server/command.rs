//! The caller's commands to the loop, and the data that both share.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crossbeam_channel::{Receiver, Sender};
use trace_protocol::message::BufferDisposition;

use crate::config::SessionConfig;
use crate::error::ManagerError;
use crate::ledger::Guard;
use crate::notice::NoticeSender;
use crate::output::ArchiveOutput;
use crate::query::{Categories, ProviderInfo, ProviderStatistics, SessionInfo};
use crate::recording::{EndedRecording, Uncounted};
use crate::sink::{Follower, SinkRequest};
use crate::summary::Progress;
use crate::trigger::Condition;
use crate::waker::Waker;

/// A command of the caller.
#[derive(Debug)]
pub(crate) enum Command {
    /// Start a session.
    Start(Box<StartRequest>),
    /// Stop and end the session, if it has this number.
    Stop { session: u64 },
    /// Stop the session, which may start again.
    Pause { session: u64 },
    /// Start a stopped session again, with these category patterns if there are any.
    StartAgain {
        session: u64,
        disposition: BufferDisposition,
        categories: Option<Vec<String>>,
        reply: Sender<Result<(), ManagerError>>,
    },
    /// Write a snapshot, if the session has this number.
    Snapshot { session: u64, path: PathBuf, reply: Sender<Result<u64, ManagerError>> },
    /// Take a snapshot beside the archive, if it is this session. A notice follows.
    RequestSnapshot { session: u64 },
    /// React to a condition of the session that the caller has evaluated.
    Hold { session: u64, condition: Condition },
    /// Return the registered providers of one user, or all.
    Providers { user: Option<u32>, reply: Sender<Vec<ProviderInfo>> },
    /// Request the categories of the providers of one user, or of all, and return those of each.
    KnownCategories { user: Option<u32>, reply: Sender<Vec<Categories>> },
    /// Return the sessions that have not ended.
    Sessions { reply: Sender<Vec<SessionInfo>> },
    /// Return the statistics of the session's providers; `None` if it has ended.
    Statistics { session: u64, reply: Sender<Option<Vec<ProviderStatistics>>> },
    /// Copy the session's buffers to count their events; `None` if that is not possible.
    Uncounted { session: u64, reply: Sender<Option<Uncounted>> },
    /// Flush the rolling buffers of the session's providers.
    Flush { session: u64 },
    /// Replace the category patterns of the session.
    SetCategories { session: u64, patterns: Vec<String>, reply: Sender<Result<(), ManagerError>> },
    /// Add a live stream with events of these categories.
    Follow {
        session: u64,
        follower: Box<Follower>,
        categories: Vec<String>,
        reply: Sender<Result<(), ManagerError>>,
    },
    /// End the session, and then the loop.
    Quit,
}

/// A session to start, and the channels for its results.
#[derive(Debug)]
pub(crate) struct StartRequest {
    pub(crate) config: SessionConfig,
    pub(crate) output: ArchiveOutput,
    pub(crate) sinks: Vec<SinkRequest>,
    pub(crate) guard: Option<Guard>,
    /// The archive's path, as given by the caller. Snapshots are named after it.
    pub(crate) path: PathBuf,
    pub(crate) notices: NoticeSender,
    /// Set before the session stops if the caller discards the archive.
    pub(crate) discarded: Arc<AtomicBool>,
    pub(crate) shared: Arc<SharedProgress>,
    /// Receives the session's number, or the error.
    pub(crate) reply: Sender<Result<u64, ManagerError>>,
    /// Receives the ended session.
    pub(crate) done: Sender<EndedRecording>,
}

impl StartRequest {
    /// Removes the outputs of a session that does not start.
    pub(crate) fn discard(self) {
        self.output.discard();
        self.sinks.into_iter().for_each(SinkRequest::discard);
    }
}

/// The progress of a session, which the caller can read and wait for.
#[derive(Debug)]
pub(crate) struct SharedProgress {
    progress: Mutex<Progress>,
    changed: Condvar,
}

impl SharedProgress {
    pub(crate) fn new(progress: Progress) -> Self {
        Self { progress: Mutex::new(progress), changed: Condvar::new() }
    }

    pub(crate) fn get(&self) -> Progress {
        self.lock().clone()
    }

    pub(crate) fn set(&self, progress: Progress) {
        *self.lock() = progress;
        self.changed.notify_all();
    }

    /// Waits until `condition` holds, for at most `timeout`. Returns whether it does.
    pub(crate) fn wait(
        &self,
        timeout: std::time::Duration,
        condition: impl Fn(&Progress) -> bool,
    ) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), timeout, |now| !condition(now));
        let (progress, _) = waited.unwrap_or_else(PoisonError::into_inner);
        condition(&progress)
    }

    fn lock(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The caller's end: sends commands and wakes the loop.
#[derive(Debug, Clone)]
pub(crate) struct Mailbox {
    commands: Sender<Command>,
    waker: Waker,
    provider_changes: Arc<AtomicU64>,
}

/// The loop's end.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) commands: Receiver<Command>,
    pub(crate) waker: Waker,
    /// How often a provider has registered or disconnected. The loop counts, callers compare;
    /// nothing else depends on the order.
    pub(crate) provider_changes: Arc<AtomicU64>,
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<(Self, Inbox)> {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let waker = Waker::new()?;
        let provider_changes = Arc::<AtomicU64>::default();
        let changes = Arc::clone(&provider_changes);
        let mailbox = Self { commands: sender, waker: waker.clone(), provider_changes };
        Ok((mailbox, Inbox { commands: receiver, waker, provider_changes: changes }))
    }

    /// Returns how often a provider has registered or disconnected.
    pub(crate) fn provider_changes(&self) -> u64 {
        self.provider_changes.load(Relaxed)
    }

    pub(crate) fn send(&self, command: Command) -> Result<(), ManagerError> {
        self.commands.send(command).map_err(|_| ManagerError::Ended)?;
        self.waker.wake();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::machine::SessionState;

    fn progress(joined: usize) -> Progress {
        Progress { state: SessionState::Started, joined, ..Progress::INITIAL }
    }

    #[test]
    fn a_wait_ends_with_the_condition_or_the_time_out() {
        let shared = Arc::new(SharedProgress::new(progress(0)));
        let has_joined = |progress: &Progress| progress.joined > 0;
        assert!(!shared.wait(Duration::from_millis(1), has_joined));
        let setter = Arc::clone(&shared);
        let thread = thread::spawn(move || setter.set(progress(1)));
        assert!(shared.wait(Duration::from_secs(60), has_joined));
        thread.join().unwrap();
        assert!(shared.wait(Duration::ZERO, has_joined), "the condition holds already");
        assert_eq!(shared.get(), progress(1));
    }

    #[test]
    fn a_command_fails_after_the_loop_has_ended() {
        let (mailbox, inbox) = Mailbox::new().unwrap();
        mailbox.send(Command::Quit).unwrap();
        assert!(matches!(inbox.commands.try_recv(), Ok(Command::Quit)));
        drop(inbox);
        assert!(matches!(mailbox.send(Command::Quit), Err(ManagerError::Ended)));
    }
}
