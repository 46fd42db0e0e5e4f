//! What the caller asks of the loop, and what both look at.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crossbeam_channel::{Receiver, Sender};

use crate::archive::ArchiveOutput;
use crate::config::SessionConfig;
use crate::error::ManagerError;
use crate::guard::Guard;
use crate::notice::NoticeSender;
use crate::recording::EndedRecording;
use crate::sink::SinkRequest;
use crate::summary::Progress;
use crate::waker::Waker;

/// What the caller asks.
#[derive(Debug)]
pub(crate) enum Command {
    /// Start a session.
    Start(Box<StartRequest>),
    /// Stop and end the session, if it is this one.
    Stop { session: u64 },
    /// Write what there is so far to another archive, if it is this session.
    Snapshot { session: u64, path: PathBuf, reply: Sender<Result<u64, ManagerError>> },
    /// Hand over the current rolling buffers.
    Flush,
    /// End the loop once the session has ended.
    Quit,
}

/// A session to be started, and where the answers go.
#[derive(Debug)]
pub(crate) struct StartRequest {
    pub(crate) config: SessionConfig,
    pub(crate) output: ArchiveOutput,
    pub(crate) sinks: Vec<SinkRequest>,
    pub(crate) guard: Option<Guard>,
    /// The archive's path as the caller has it, which snapshots are named after.
    pub(crate) path: PathBuf,
    pub(crate) notices: NoticeSender,
    /// Set before the session stops if nobody wants its archive.
    pub(crate) discarded: Arc<AtomicBool>,
    pub(crate) shared: Arc<SharedProgress>,
    /// The session's number, or why there is none.
    pub(crate) reply: Sender<Result<u64, ManagerError>>,
    /// What the session has come to.
    pub(crate) done: Sender<EndedRecording>,
}

impl StartRequest {
    /// Throws away what was created for a session that does not begin.
    pub(crate) fn discard(self) {
        self.output.discard();
        self.sinks.into_iter().for_each(SinkRequest::discard);
    }
}

/// How a session is doing, for the caller to look at and to wait for.
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

    /// Waits until `condition` holds, `timeout` at most. Tells whether it does.
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

/// The caller's end: commands, and something that wakes the loop up.
#[derive(Debug, Clone)]
pub(crate) struct Mailbox {
    commands: Sender<Command>,
    waker: Waker,
}

/// The loop's end.
#[derive(Debug)]
pub(crate) struct Inbox {
    pub(crate) commands: Receiver<Command>,
    pub(crate) waker: Waker,
}

impl Mailbox {
    pub(crate) fn new() -> io::Result<(Self, Inbox)> {
        let (sender, receiver) = crossbeam_channel::unbounded();
        let waker = Waker::new()?;
        let mailbox = Self { commands: sender, waker: waker.clone() };
        Ok((mailbox, Inbox { commands: receiver, waker }))
    }

    pub(crate) fn send(&self, command: Command) -> Result<(), ManagerError> {
        self.commands.send(command).map_err(|_| ManagerError::Ended)?;
        self.waker.wake();
        Ok(())
    }
}
