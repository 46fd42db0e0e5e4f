//! The manager's side: handing memory over and keeping the numbers.
//!
//! Nothing here waits. What the guard does not take, because it is gone or behind, goes on without
//! it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::{Arc, Mutex, PoisonError};

use trace_protocol::archive::{Identity, Ledger};
use trace_protocol::buffer::consumer::{IdentityPolicy, SaveSlot};
use trace_protocol::buffer::header::Layout;
use trace_protocol::buffer::memory::WriteMapping;
use trace_protocol::socket::{MemoryFile, Socket};

use super::ledger::{provider, session, LedgerUpdate};
use super::messages::{Message, Names, Provider};
use super::Guard;
use crate::archive::ArchiveOutput;
use crate::buffers::SharedBuffer;

/// A session's guard. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct GuardHandle {
    pub(super) ledger: Ledger,
    pub(super) link: Arc<Link>,
    /// Whether the guard can complete the archive.
    completes_archive: bool,
}

/// A provider's part of it.
#[derive(Debug)]
pub(crate) struct ProviderLedger {
    id: u32,
    ledger: Ledger,
    /// Its buffer, which the guard reads if it completes the archive.
    buffer: Option<Arc<SharedBuffer>>,
}

/// What the guard is given of a provider.
#[derive(Debug)]
pub(crate) struct JoinedProvider<'a> {
    pub(crate) identity: &'a Identity,
    /// About whom it may write records.
    pub(crate) policy: IdentityPolicy,
    pub(crate) joined_at: u64,
    pub(crate) layout: Layout,
    pub(crate) buffer: &'a Arc<SharedBuffer>,
    /// The manager's end of its packet socket, by whose end the guard sees that it has left its
    /// buffer.
    pub(crate) packets: BorrowedFd<'a>,
}

#[derive(Debug)]
pub(super) struct Link {
    socket: Socket,
    /// Providers whose end the guard had no room to be told of.
    closed: Mutex<Vec<u32>>,
}

impl GuardHandle {
    /// Hands the archive over. `None` if that fails, and then the session has no guard.
    pub(crate) fn begin(guard: Guard, output: &ArchiveOutput) -> Option<Self> {
        let link = Link { socket: guard.socket, closed: Mutex::default() };
        let (ledger, memory) = new_ledger().ok()?;
        let message = Message::Session(output.naming().and_then(Names::of));
        let mut handles = vec![memory.as_fd()];
        if let Some(file) = output.naming() {
            handles.extend([file.file().as_fd(), file.place().directory().as_fd()]);
        }
        link.send(&message, &handles).ok()?;
        Some(Self { ledger, link: Arc::new(link), completes_archive: output.naming().is_some() })
    }

    /// Hands a provider's buffer over, before the provider has it.
    pub(crate) fn join(&self, joined: &JoinedProvider<'_>) -> Option<ProviderLedger> {
        let (ledger, memory) = new_ledger().ok()?;
        ledger.set(provider::OPENING, provider::UNKNOWN);
        ledger.set(provider::CLOSING, provider::UNKNOWN);
        let message = Message::Join(Provider {
            identity: joined.identity.clone(),
            policy: joined.policy,
            joined_at: joined.joined_at,
            layout: joined.layout,
        });
        let handles = [joined.buffer.as_fd(), memory.as_fd(), joined.packets];
        self.link.send(&message, &handles).ok()?;
        let buffer = self.completes_archive.then(|| Arc::clone(joined.buffer));
        Some(ProviderLedger { id: joined.identity.id, ledger, buffer })
    }

    /// Returns the archive's valid length in bytes.
    pub(crate) fn archived_bytes(&self) -> u64 {
        self.ledger.get(session::LENGTH)
    }

    /// Says that a block is going to end at `end`.
    pub(crate) fn before_write(update: Option<&LedgerUpdate>, end: u64) {
        if let Some(update) = update {
            update.before_write(end);
        }
    }

    /// Says that a block has been written, and that the archive has `length` bytes with it.
    pub(crate) fn after_write(&self, update: Option<&LedgerUpdate>, length: u64) {
        self.ledger.set(session::LENGTH, length);
        if let Some(update) = update {
            update.after_write();
        }
        if let Some(LedgerUpdate::Closing { id, .. }) = update {
            self.link.close(*id);
        }
    }

    /// Says that all is written and the archive is about to get its name.
    pub(crate) fn complete(&self) {
        self.ledger.set(session::STATE, session::WRITTEN);
    }

    /// Says that something could not be written.
    pub(crate) fn fail(&self) {
        self.ledger.set(session::STATE, session::FAILED);
    }

    /// Says that the part which could be written is left as it is, and the caller learns why.
    pub(crate) fn abandoned(&self) {
        self.ledger.set(session::STATE, session::ABANDONED);
    }
}

impl ProviderLedger {
    /// Returns what to note about the block that opens the provider, in which the word with the
    /// clock's rate is so many bytes before the end; 0 if the rate is known.
    pub(crate) fn opening(&self, rate_before: u64) -> LedgerUpdate {
        self.ledger.set(provider::RATE_BEFORE, rate_before);
        LedgerUpdate::Opening(self.ledger.clone())
    }

    /// Returns what to note about a block with the records of a copy, which is in one of the slots
    /// or not where the guard sees it.
    pub(crate) fn save(&self, slots: Vec<SaveSlot>) -> LedgerUpdate {
        match slots.is_empty() {
            false => LedgerUpdate::Save(slots),
            true => LedgerUpdate::Unshared(self.ledger.clone()),
        }
    }

    /// Returns what to note about the block that closes the provider and has the records of the
    /// copies in `slots`.
    pub(crate) fn closing(&self, slots: Vec<SaveSlot>) -> LedgerUpdate {
        let (ledger, buffer) = (self.ledger.clone(), self.buffer.clone());
        LedgerUpdate::Closing { ledger, id: self.id, slots, _buffer: buffer }
    }

    /// Says that a rolling buffer was copied, to where the guard sees it or not, before its
    /// provider is told.
    pub(crate) fn copied(&self, wrapped_count: u32, shared: bool) {
        if !shared {
            let before = self.ledger.get(provider::UNSHARED);
            self.ledger.set(provider::UNSHARED, before + 1);
        }
        self.ledger.set(provider::SAVED, u64::from(wrapped_count) + 1);
    }

    /// Says what the provider's own loss records account for, after a copy was read.
    pub(crate) fn set_reported(&self, losses: u64) {
        self.ledger.set(provider::REPORTED, losses);
    }
}

impl Link {
    pub(super) fn send(&self, message: &Message, handles: &[BorrowedFd<'_>]) -> io::Result<()> {
        self.socket.send(&message.encode(), handles).map(drop)
    }

    /// Has the guard give up a provider's memory, now or with the next one.
    fn close(&self, id: u32) {
        let mut closed = self.closed.lock().unwrap_or_else(PoisonError::into_inner);
        closed.push(id);
        while let Some(id) = closed.last() {
            match self.send(&Message::Closed(*id), &[]) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // Sent, or there is nobody to take it.
                _ => closed.pop(),
            };
        }
    }
}

fn new_ledger() -> io::Result<(Ledger, MemoryFile)> {
    let memory = MemoryFile::new("trace-ledger", Ledger::SIZE as u64)?;
    let mapping = WriteMapping::map(memory.as_fd(), Ledger::SIZE)?;
    Ok((Ledger::new(mapping), memory))
}
