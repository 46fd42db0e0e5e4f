//! The manager's side: sending memory to the guard, and updating its ledgers.
//!
//! No call of the event loop waits. If the guard is dead or slow, the session continues without it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{poll, PollFd, PollFlags};
use trace_protocol::archive::{Identity, Ledger};
use trace_protocol::buffer::consumer::{IdentityPolicy, SaveSlot};
use trace_protocol::buffer::header::Layout;
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::file::NewFile;
use trace_protocol::socket::MemoryFile;

use super::link::{Link, UnsentCategories};
use super::messages::{ArchiveNames, Message, Provider};
use super::numbers::{provider, session, LedgerUpdate};
use super::Guard;
use crate::buffers::SharedBuffer;
use crate::limited::Progress;
use crate::output::ArchiveOutput;

/// The longest time to wait until the guard takes the next part of an archive.
const PATIENCE: Duration = Duration::from_secs(1);

/// The failure of a guard whose end of the socket is closed.
const ENDED: &str = "it has ended";

/// The failure of a guard that did not take the new categories of the session.
const CATEGORIES: &str = "it did not take the new categories";

/// The failure of a guard that did not take the next part of the archive.
const LATE: &str = "it did not take the next part of the archive in time";

/// A session's guard, as the manager uses it. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct GuardHandle {
    pub(crate) ledger: Ledger,
    pub(crate) link: Arc<Link>,
    /// Whether the guard can complete the archive, which must be a file.
    completes_archive: bool,
}

/// The ledger of one provider.
#[derive(Debug)]
pub(crate) struct ProviderLedger {
    id: u32,
    ledger: Ledger,
    /// The provider's buffer, if the guard will read it.
    buffer: Option<Arc<SharedBuffer>>,
    /// How far the session has come with its own limit.
    progress: Progress,
}

/// A provider that joins, as it is sent to the guard.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JoinedProvider<'a> {
    pub(crate) identity: &'a Identity,
    /// The processes about which it may write records.
    pub(crate) policy: IdentityPolicy,
    pub(crate) joined_at: u64,
    /// Records that it had dropped before the session joined while it recorded; `None` if the
    /// session has it from the start of its buffer.
    pub(crate) dropped_before: Option<u64>,
    /// The number of these whose reports were overwritten, at most.
    pub(crate) overwritten_reports: u64,
    /// The first rolling buffer that a circular buffer saves, if it streams.
    pub(crate) streams_from: Option<u32>,
    /// Losses that its own records had reported before.
    pub(crate) reported_before: u64,
    pub(crate) layout: Layout,
    pub(crate) buffer: &'a Arc<SharedBuffer>,
    /// The manager's end of its packet socket. Its closing shows the guard that the provider has
    /// left its buffer.
    pub(crate) packets: BorrowedFd<'a>,
}

impl GuardHandle {
    /// Sends the archive and its categories to the guard. If that fails, the session has no guard.
    pub(crate) fn begin(
        guard: Guard,
        output: &ArchiveOutput,
        categories: &[String],
    ) -> Option<Self> {
        let link = Link::new(guard.socket);
        let (ledger, memory) = new_ledger().ok()?;
        let message = Message::Session(output.naming().and_then(ArchiveNames::of));
        let mut handles = vec![memory.as_fd()];
        if let Some(file) = output.naming() {
            handles.extend([file.file().as_fd(), file.place().directory().as_fd()]);
        }
        link.send(&message, &handles).ok()?;
        let guard =
            Self { ledger, link: Arc::new(link), completes_archive: output.naming().is_some() };
        if !guard.send_categories(categories) {
            // Otherwise the guard would complete an archive that is still written.
            guard.abandoned();
            return None;
        }
        Some(guard)
    }

    /// Replaces the category patterns of the archive. A slow guard gets them later, from
    /// [`failure`](Self::failure). If that fails, the session continues without the guard.
    pub(crate) fn set_categories(&self, categories: &[String]) {
        let Some(messages) = Message::categories(categories) else {
            return self.give_up_categories();
        };
        let unsent = UnsentCategories { messages, deadline: Instant::now() + PATIENCE };
        *self.link.unsent_categories() = Some(unsent);
        self.send_unsent();
    }

    /// Sends the category patterns that the socket had no space for.
    fn send_unsent(&self) {
        if self.link.send_categories().is_err() {
            self.give_up_categories();
        }
    }

    /// Gives the guard up: it would complete the archive with other events.
    fn give_up_categories(&self) {
        // Only the first failure is kept.
        let _ = self.link.failure.set(if self.has_ended() { ENDED } else { CATEGORIES });
        self.abandoned();
    }

    /// Sends category patterns. Returns whether the guard has all.
    fn send_categories(&self, categories: &[String]) -> bool {
        let messages = Message::categories(categories);
        messages.is_some_and(|messages| messages.iter().all(|it| self.link.send(it, &[]).is_ok()))
    }

    /// Sends a provider's buffer to the guard, before the provider gets it.
    pub(crate) fn join(&self, joined: &JoinedProvider<'_>) -> Option<ProviderLedger> {
        let (ledger, memory) = new_ledger().ok()?;
        ledger.set(provider::OPENING, provider::UNKNOWN);
        ledger.set(provider::CLOSING, provider::UNKNOWN);
        ledger.set(provider::COPY, provider::UNKNOWN);
        ledger.set(provider::REPORTED, joined.reported_before);
        let streams_from = joined.streams_from.map_or(0, |first| u64::from(first) + 1);
        ledger.set(provider::STREAMS_FROM, streams_from);
        ledger.set(provider::OVERWRITTEN_REPORTS, joined.overwritten_reports);
        let message = Message::Join(Provider {
            identity: joined.identity.clone(),
            policy: joined.policy,
            joined_at: joined.joined_at,
            dropped_before: joined.dropped_before,
            layout: joined.layout,
        });
        let handles = [joined.buffer.as_fd(), memory.as_fd(), joined.packets];
        self.link.send(&message, &handles).ok()?;
        let buffer = self.completes_archive.then(|| Arc::clone(joined.buffer));
        let progress = Progress::default();
        Some(ProviderLedger { id: joined.identity.id, ledger, buffer, progress })
    }

    /// Sends the next part of the archive, which begins after `start` bytes. If that fails, the
    /// session continues without the guard. Waits for a slow guard for up to a second.
    pub(crate) fn begin_part(&self, part: &NewFile, start: u64) {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match self.try_begin_part(part, start) {
                Ok(()) => return,
                Err(error)
                    if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline =>
                {
                    thread::sleep(Duration::from_millis(1));
                }
                // The guard would complete the wrong file.
                Err(_) => {
                    // Only the first failure is kept.
                    let _ = self.link.failure.set(if self.has_ended() { ENDED } else { LATE });
                    return self.abandoned();
                }
            }
        }
    }

    /// Returns why the guard would not complete the archive, if it was given up or has ended. The
    /// event loop calls it several times a second.
    pub(crate) fn failure(&self) -> Option<&'static str> {
        if !self.completes_archive {
            return None;
        }
        self.send_unsent();
        if self.link.failure.get().is_none() && self.has_ended() {
            let _ = self.link.failure.set(ENDED);
        }
        self.link.failure.get().copied()
    }

    /// Returns whether the guard's end of the socket is closed.
    fn has_ended(&self) -> bool {
        // No event is requested: poll always reports the end of the peer.
        let mut fds = [PollFd::new(&self.link.socket, PollFlags::empty())];
        matches!(poll(&mut fds, 0), Ok(1))
    }

    fn try_begin_part(&self, part: &NewFile, start: u64) -> io::Result<()> {
        let names = ArchiveNames::of(part).ok_or(io::ErrorKind::NotFound)?;
        let handles = [part.file().as_fd(), part.place().directory().as_fd()];
        self.link.send(&Message::Part(start, names), &handles)
    }

    /// Returns the archive's valid length in bytes.
    pub(crate) fn archived_bytes(&self) -> u64 {
        self.ledger.get(session::LENGTH)
    }

    /// Notes that a block will end at `end`, before it is written.
    pub(crate) fn before_write(update: Option<&LedgerUpdate>, end: u64) {
        if let Some(update) = update {
            update.before_write(end);
        }
    }

    /// Notes that a block is written, and that the archive has `length` bytes with it.
    pub(crate) fn after_write(&self, update: Option<&LedgerUpdate>, length: u64) {
        self.ledger.set(session::LENGTH, length);
        if let Some(update) = update {
            update.after_write();
        }
        if let Some(LedgerUpdate::Closing { id, .. }) = update {
            self.link.close(*id);
        }
    }

    /// Notes that the archive is written, before it is renamed.
    pub(crate) fn complete(&self) {
        self.set_state(session::WRITTEN);
    }

    /// Notes that a block could not be written.
    pub(crate) fn fail(&self) {
        self.set_state(session::FAILED);
    }

    /// Notes that the partial archive is final, and that the caller gets the error.
    pub(crate) fn abandoned(&self) {
        self.ledger.set(session::STATE, session::ABANDONED);
    }

    fn set_state(&self, state: u64) {
        if self.ledger.get(session::STATE) != session::ABANDONED {
            self.ledger.set(session::STATE, state);
        }
    }
}

impl ProviderLedger {
    /// Returns the update for the block that opens the provider. The word with the clock's rate is
    /// `rate_before` bytes before the block's end; 0 if the rate is final. Earlier parts of the
    /// archive report `reported_before` losses.
    pub(crate) fn opening(&self, rate_before: u64, reported_before: u64) -> LedgerUpdate {
        self.ledger.set(provider::RATE_BEFORE, rate_before);
        LedgerUpdate::Opening { ledger: self.ledger.clone(), reported_before }
    }

    /// Returns the update for a block with the records of a copy. Without slots, the copy is in the
    /// manager's own memory. The provider's own records report `reported` losses up to its end.
    pub(crate) fn save(&self, slots: Vec<SaveSlot>, reported: u64) -> LedgerUpdate {
        let progress = self.progress;
        LedgerUpdate::Save { ledger: self.ledger.clone(), slots, reported, progress }
    }

    /// Returns the update for the block that closes the provider, with the records of the copies in
    /// `slots`.
    pub(crate) fn closing(&self, slots: Vec<SaveSlot>) -> LedgerUpdate {
        let (ledger, buffer) = (self.ledger.clone(), self.buffer.clone());
        LedgerUpdate::Closing { ledger, id: self.id, slots, _buffer: buffer }
    }

    /// Notes that a rolling buffer was copied, before its provider gets the reply. `shared` is
    /// whether the guard can read the copy.
    pub(crate) fn copied(&self, wrapped_count: u32, shared: bool) {
        if !shared {
            let before = self.ledger.get(provider::UNSHARED);
            self.ledger.set(provider::UNSHARED, before + 1);
        }
        self.ledger.set(provider::SAVED, u64::from(wrapped_count) + 1);
    }

    /// Notes that the circular buffer streams, from the rolling buffer `first` on.
    pub(crate) fn stream(&self, first: u32) {
        self.ledger.set(provider::STREAMS_FROM, u64::from(first) + 1);
    }

    /// Corrects how many losses from before the session were reported by overwritten records.
    pub(crate) fn correct_reports(&self, overwritten: u64) {
        self.ledger.set(provider::OVERWRITTEN_REPORTS, overwritten);
    }

    /// Notes that a session limits the provider's records itself: to so many words in oneshot mode.
    /// The session has come as far as `progress` with the same connection. Called before the
    /// provider's first records.
    pub(crate) fn limit(&mut self, first_words: Option<u64>, progress: Progress) {
        self.progress = progress;
        progress.set(&self.ledger, provider::LIMITED);
        self.ledger.set(provider::FIRST_WORDS, first_words.unwrap_or(0));
    }

    /// Notes how far the session has come with its own limit, once the next copy is archived.
    pub(crate) fn set_progress(&mut self, progress: Progress) {
        self.progress = progress;
    }

    /// Notes that the provider has reported its stop: it writes nothing more into its buffer.
    pub(crate) fn stopped(&self) {
        self.ledger.set(provider::STOPPED, 1);
    }
}

fn new_ledger() -> io::Result<(Ledger, MemoryFile)> {
    let memory = MemoryFile::new("trace-ledger", Ledger::SIZE as u64)?;
    let mapping = WriteMapping::map(memory.as_fd(), Ledger::SIZE)?;
    Ok((Ledger::new(mapping), memory))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use trace_protocol::socket::Socket;

    use super::*;
    use crate::guard::{run_guard, GuardOutcome};
    use crate::ledger::messages::MAX_MESSAGE;
    use crate::output::ArchiveTarget;

    fn receive(socket: &Socket) -> Vec<u32> {
        let (mut bytes, mut closed) = (vec![0; MAX_MESSAGE], Vec::new());
        while let Ok(length @ 1..) = socket.recv(&mut bytes) {
            match Message::decode(&bytes[..length]) {
                Some(Message::Closed(id)) => closed.push(id),
                message => panic!("{message:?}"),
            }
        }
        closed
    }

    /// The session continues without the guard, which must not complete its archive.
    #[test]
    fn a_guard_that_does_not_get_the_categories_does_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let target = ArchiveTarget::File(directory.path().join("a.fxt"));
        let mut output = ArchiveOutput::open(target).unwrap();
        output.keep();
        let file = File::from(output.as_fd().try_clone_to_owned().unwrap());
        file.write_all_at(b"written", 0).unwrap();
        let (guard, theirs) = Guard::pair().unwrap();
        assert!(GuardHandle::begin(guard, &output, &["a".repeat(MAX_MESSAGE)]).is_none());
        assert!(matches!(run_guard(theirs), GuardOutcome::Nothing));
        assert_eq!(file.metadata().unwrap().len(), 7);
    }

    #[test]
    fn closed_providers_wait_until_the_socket_has_space() {
        let (socket, theirs) = Socket::packet_pair().unwrap();
        socket.set_nonblocking(true);
        theirs.set_nonblocking(true);
        let link = Link::new(socket);
        let unsent = || link.unsent.lock().unwrap().len();
        let mut last = 0;
        while unsent() == 0 {
            last += 1;
            link.close(last);
        }
        link.close(last + 1);
        assert_eq!(unsent(), 2);
        assert_eq!(receive(&theirs), (1..last).collect::<Vec<_>>());
        link.close(last + 2);
        assert_eq!((unsent(), receive(&theirs)), (0, vec![last + 2, last + 1, last]));
        drop(theirs);
        link.close(last + 3);
        assert_eq!(unsent(), 0, "the guard has ended");
    }
}
