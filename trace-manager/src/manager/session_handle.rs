//! A session, for its caller.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_channel::Receiver;
use trace_protocol::free_spare_pages;
use trace_protocol::message::BufferDisposition;

use super::queries::query;
use crate::error::ManagerError;
use crate::machine::SessionState;
use crate::notice::{Notice, NoticeReceiver};
use crate::output::stream::open_nonblocking;
use crate::output::{Backup, CompletedParts};
use crate::query::{EventCounts, ProviderStatistics};
use crate::recording::{EndedRecording, Uncounted};
use crate::server::{Command, Mailbox, SharedProgress};
use crate::sink::{Finish, Follower, StreamLease};
use crate::summary::{Progress, SessionSummary};
use crate::trigger::Condition;

/// A session. It stops when it is dropped.
///
/// All methods can be called from any thread.
#[derive(Debug)]
pub struct SessionHandle {
    pub(super) number: u64,
    pub(super) mailbox: Mailbox,
    pub(super) discarded: Arc<AtomicBool>,
    pub(super) shared: Arc<SharedProgress>,
    pub(super) notice_receiver: NoticeReceiver,
    pub(super) ended: Mutex<Option<Receiver<EndedRecording>>>,
    pub(super) backup: Backup,
    pub(super) parts: CompletedParts,
}

impl SessionHandle {
    /// Stops and ends the session. Does not wait; may be called again.
    pub fn stop(&self) {
        // Fails if the loop, and so the session, has ended.
        let _ = self.mailbox.send(Command::Stop { session: self.number });
    }

    /// Stops the session, which can start again. Does not wait: [`Notice::Stopped`] follows. Has
    /// no effect on a session that does not record.
    ///
    /// Programs do not record until [`start_again`](Self::start_again). Their buffers are kept, and
    /// are collected if the session ends instead, or if this process is killed and the session has
    /// a guard.
    pub fn pause(&self) {
        // Fails if the loop, and so the session, has ended.
        let _ = self.mailbox.send(Command::Pause { session: self.number });
    }

    /// Starts the session again after [`pause`](Self::pause). Its archive continues: each program
    /// gets a new buffer, and the archive an event `recording interrupted` with the time of the
    /// stop and that of the start. Does not wait for the new buffers: [`Notice::Started`] follows.
    ///
    /// `disposition` is the treatment of records that are in the buffers: all in oneshot and
    /// circular mode; in streaming mode those that the manager has not read. Records of programs
    /// that have ended, and of those that recorded for another session meanwhile, are in the
    /// archive already. [`BufferDisposition::ClearEntire`] drops the others, and
    /// [`BufferDisposition::ClearNondurable`] all but the names of threads, tracks and processes.
    /// `categories` replaces the category patterns, as [`set_categories`](Self::set_categories)
    /// does.
    ///
    /// # Errors
    ///
    /// [`ManagerError::NotStopped`]; [`ManagerError::SessionEnded`]; those of
    /// [`set_categories`](Self::set_categories).
    pub fn start_again(
        &self,
        disposition: BufferDisposition,
        categories: Option<Vec<String>>,
    ) -> Result<(), ManagerError> {
        let session = self.number;
        query(&self.mailbox, |reply| Command::StartAgain {
            session,
            disposition,
            categories,
            reply,
        })?
    }

    /// Stops the session as [`stop`](Self::stop) does, and removes the archive. An older file of
    /// its name stays.
    pub fn discard(&self) {
        self.discarded.store(true, Ordering::Release);
        self.stop();
    }

    /// Returns whether the archive is to be removed.
    pub(crate) fn is_discarded(&self) -> bool {
        self.discarded.load(Ordering::Acquire)
    }

    /// Returns the session's number. Numbers of a manager are never reused.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Returns the statistics of the providers that the session records now.
    ///
    /// # Errors
    ///
    /// [`ManagerError::SessionEnded`], [`ManagerError::Ended`].
    pub fn statistics(&self) -> Result<Vec<ProviderStatistics>, ManagerError> {
        let session = self.number;
        query(&self.mailbox, |reply| Command::Statistics { session, reply })?
            .ok_or(ManagerError::SessionEnded)
    }

    /// Makes the session's providers in streaming mode send their records so far.
    pub fn flush(&self) {
        // Fails if the loop, and so the session, has ended.
        let _ = self.mailbox.send(Command::Flush { session: self.number });
    }

    /// Streams the records that are collected from now on to `output`, a pipe or a socket, with
    /// events of the selected categories; an empty list selects all of the session.
    ///
    /// Providers are flushed several times a second. The session does not wait for the reader: if
    /// it is slow, events are dropped, and reported in the stream. The stream ends with the
    /// session.
    ///
    /// # Errors
    ///
    /// [`ManagerError::FollowMode`]; [`ManagerError::TooManyFollowers`];
    /// [`ManagerError::SessionEnded`]; [`ManagerError::EventLoop`] if no thread can be started.
    pub fn follow(&self, output: OwnedFd, categories: Vec<String>) -> Result<(), ManagerError> {
        self.follow_leased(output, categories, None)
    }

    /// As [`follow`](Self::follow). Drops `lease` when the stream ends.
    pub(crate) fn follow_leased(
        &self,
        output: OwnedFd,
        categories: Vec<String>,
        lease: Option<Arc<StreamLease>>,
    ) -> Result<(), ManagerError> {
        let follower = open_nonblocking(output).and_then(|it| Follower::start(it, lease));
        let follower = Box::new(follower.map_err(ManagerError::EventLoop)?);
        let session = self.number;
        query(&self.mailbox, |reply| Command::Follow { session, follower, categories, reply })?
    }

    /// Replaces the category patterns of the session while it records. They may be of the form
    /// `PROVIDER/PATTERN`, as in [`SessionConfig::select`](crate::SessionConfig::select).
    ///
    /// Programs continue: no event is lost that both the earlier and the new categories select.
    /// Events of other categories begin or end with the change, which programs make soon after.
    /// Programs that do not accept it get a new buffer ([`Notice::Restart`]).
    ///
    /// # Errors
    ///
    /// [`ManagerError::CategoriesOfSinks`]; [`ManagerError::SessionEnded`].
    pub fn set_categories(&self, patterns: Vec<String>) -> Result<(), ManagerError> {
        let session = self.number;
        query(&self.mailbox, |reply| Command::SetCategories { session, patterns, reply })?
    }

    /// Writes a snapshot of all records so far to `path`, and waits until it is complete. Returns
    /// its size in bytes.
    ///
    /// The snapshot has the records of the session's archive and of the providers' buffers: all so
    /// far in streaming mode, the most recent in circular mode. If the archive is cut into parts,
    /// the snapshot begins with the present one. Open scopes are begins without an
    /// end. The file gets its name when it is complete. The session continues, and its own archive
    /// is not affected.
    ///
    /// The buffers are copied while no other provider is served, which takes a few milliseconds for
    /// 16 MiB.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Snapshot`] if the file cannot be written; [`ManagerError::SnapshotOfStream`]
    /// if the session's archive is a pipe or a socket; [`ManagerError::SnapshotTooLarge`];
    /// [`ManagerError::SessionEnded`].
    pub fn snapshot(&self, path: &Path) -> Result<u64, ManagerError> {
        let (reply, reply_receiver) = crossbeam_channel::bounded(1);
        let path = path.to_owned();
        self.mailbox.send(Command::Snapshot { session: self.number, path, reply })?;
        reply_receiver.recv().map_err(|_| ManagerError::Ended)?
    }

    /// Requests a snapshot beside the session's archive, with the time in its name. Does not wait:
    /// [`Notice::Snapshot`] follows.
    pub fn request_snapshot(&self) {
        // Fails if the loop has ended, and the session with it.
        let _ = self.mailbox.send(Command::RequestSnapshot { session: self.number });
    }

    /// Performs the actions of the triggers with this condition: for conditions that the caller
    /// evaluates, such as signals.
    pub fn hold(&self, condition: Condition) {
        // Fails if the loop has ended, and the session with it.
        let _ = self.mailbox.send(Command::Hold { session: self.number, condition });
    }

    /// Waits for the next notice of the session, for at most `timeout`.
    ///
    /// About a thousand notices can wait for the caller. Further ones are dropped, alerts first;
    /// the summary has them all. If the queue is full, a notice of the session's state or of its
    /// guard replaces the earlier ones of its kind, and is behind all others: the last one of each
    /// kind always arrives.
    pub fn next_notice(&self, timeout: Duration) -> Option<Notice> {
        self.notice_receiver.receive(timeout)
    }

    /// Returns the progress of the session, at most about 0.1 s old.
    pub fn progress(&self) -> Progress {
        self.shared.get()
    }

    /// Counts the events so far, also those in the buffers of the providers.
    ///
    /// The buffers are copied and counted on this thread, while providers are served. Records that
    /// are collected meanwhile may be missing from the count.
    ///
    /// # Errors
    ///
    /// [`ManagerError::SessionEnded`], also if the copies would take too much memory;
    /// [`ManagerError::Ended`].
    pub fn count_events(&self) -> Result<EventCounts, ManagerError> {
        let session = self.number;
        let uncounted = query(&self.mailbox, |reply| Command::Uncounted { session, reply })?;
        uncounted.map(Uncounted::count).ok_or(ManagerError::SessionEnded)
    }

    /// Waits until a provider has joined, for at most `timeout`. Returns whether one has.
    ///
    /// Processes of [`spawn_machine_provider`](crate::Manager::spawn_machine_provider) and
    /// [`spawn_companion`](crate::Manager::spawn_companion) do not count.
    pub fn wait_provider(&self, timeout: Duration) -> bool {
        self.shared.wait(timeout, |progress| progress.joined > 0)
    }

    /// Waits until the session has reached `state` or a later one, for at most `timeout`. Returns
    /// whether it has.
    pub fn wait_state(&self, state: SessionState, timeout: Duration) -> bool {
        self.shared.wait(timeout, |progress| progress.state >= state)
    }

    /// Waits until the session has ended and its archive is written. Returns the summary.
    ///
    /// Returns only after [`stop`](Self::stop), which another thread may call meanwhile.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Ended`] if the manager failed, or this was called before.
    pub fn join(&self) -> Result<SessionSummary, ManagerError> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner).take();
        let ended = ended.ok_or(ManagerError::Ended)?;
        let ended = ended.recv().map_err(|_| ManagerError::Ended)?;
        let (snapshots, archive) = (ended.snapshots.join(), ended.archive.wait());
        // Copies of the session were made and dropped until here.
        free_spare_pages();
        let (parts, parts_removed) = self.parts.get();
        Ok(SessionSummary {
            duration: ended.duration,
            providers: ended.providers,
            refused: ended.refused,
            refusals: ended.refusals,
            alerts: ended.alerts,
            conditions: ended.conditions,
            unknown_conditions: ended.unknown_conditions,
            incomplete_conditions: ended.incomplete_conditions,
            late_conditions: ended.late_conditions,
            categories: ended.categories,
            archive,
            parts,
            parts_removed,
            backup: self.backup.get().cloned(),
            sinks: ended.sinks.into_iter().map(Finish::wait).collect(),
            stopped_by: ended.stopped_by,
            snapshots: snapshots.summaries,
            snapshots_removed: snapshots.removed,
            guard_failure: ended.guard_failure,
        })
    }
}

impl Drop for SessionHandle {
    fn drop(&mut self) {
        self.stop();
    }
}
