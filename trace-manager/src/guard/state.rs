//! The guard's side while the manager lives: keeping the memory that it receives.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, OwnedFd};

use trace_protocol::archive::{ClockSample, Ledger, LedgerReader};
use trace_protocol::buffer::consumer::SlotReader;
use trace_protocol::buffer::memory::ReadMapping;
use trace_protocol::file::NewFile;
use trace_protocol::socket::Socket;

use crate::foreign::{Closer, ForeignSocket};
use crate::ledger::messages::{ArchiveNames, Message, Patterns, Provider, MAX_MESSAGE};
use crate::ledger::numbers::{provider, session};

/// The memory and files that the guard has received.
#[derive(Debug)]
pub(super) struct GuardState {
    /// The clocks at the start of the session.
    pub(super) first: ClockSample,
    pub(super) ledger: LedgerReader,
    /// The archive, or its last part.
    pub(super) archive: Option<NewFile>,
    /// The bytes before the last part of the archive.
    pub(super) part_start: u64,
    /// The part before the last one, which may not have its final name.
    pub(super) former_part: Option<NewFile>,
    /// The category patterns of the archive.
    pub(super) categories: Vec<String>,
    /// The first of the patterns that replace them.
    next_categories: Vec<String>,
    /// The providers that are not completely archived.
    pub(super) providers: BTreeMap<u32, GuardedProvider>,
    /// What closes the packet sockets of each user: they may have descriptors that the manager did
    /// not receive.
    closers: BTreeMap<u32, Closer>,
    pub(super) slots: Vec<SlotReader>,
    /// Offsets in bytes of the clock rates of the other providers in the archive, or in its last
    /// part.
    pub(super) rates: Vec<u64>,
}

/// A provider's memory and packet socket.
#[derive(Debug)]
pub(super) struct GuardedProvider {
    pub(super) provider: Provider,
    pub(super) buffer: ReadMapping,
    pub(super) ledger: LedgerReader,
    /// The manager's end of its packet socket.
    pub(super) packets: ForeignSocket,
    /// Whether it does not write to its buffer any more.
    pub(super) has_left: bool,
}

impl GuardState {
    /// Receives messages until the manager closes the socket. Returns `None` if no session began.
    pub(super) fn receive_all(socket: &Socket) -> Option<Self> {
        let mut state = None;
        let mut buffer = vec![0; MAX_MESSAGE];
        loop {
            let mut handles = Vec::new();
            match socket.recv_with_fds(&mut buffer, &mut handles) {
                Ok(length @ 1..) => {
                    let message = buffer.get(..length).and_then(Message::decode);
                    // Memory that cannot be mapped is not guarded.
                    let _applied = message.and_then(|message| apply(&mut state, message, handles));
                }
                Ok(0) | Err(_) => return state,
            }
        }
    }

    /// Returns whether the session has not ended.
    pub(super) fn is_running(&self) -> bool {
        self.ledger.get(session::STATE) == session::RUNNING
    }

    /// Returns the archive's valid length in bytes.
    pub(super) fn length(&self) -> u64 {
        self.ledger.get(session::LENGTH)
    }

    /// Removes and returns the slots with copies of a provider's rolling buffers.
    pub(super) fn take_slots(&mut self, id: u32) -> Vec<SlotReader> {
        let slots = std::mem::take(&mut self.slots);
        let (own, others) = slots.into_iter().partition(|slot| slot.owner() == Some(id));
        self.slots = others;
        own
    }

    /// Begins a part. The manager has completed the one before the former.
    fn begin_part(&mut self, start: u64, part: NewFile) {
        self.part_start = start;
        self.former_part = self.archive.replace(part);
        self.rates.clear();
    }

    /// Adds category patterns. They apply when the list is complete: the manager may be killed
    /// before.
    fn add_categories(&mut self, Patterns { is_first, is_last, patterns }: Patterns) {
        if is_first {
            self.next_categories.clear();
        }
        self.next_categories.extend(patterns);
        if is_last {
            self.categories = std::mem::take(&mut self.next_categories);
        }
    }

    /// Frees the memory of a provider that is completely archived.
    fn close(&mut self, id: u32) {
        let written = self.part_start..=self.length();
        if let Some(provider) = self.providers.remove(&id) {
            self.rates.extend(provider.rate_offset(&written));
        }
    }
}

impl GuardedProvider {
    /// Maps the memory of a provider. `handles` are its buffer, ledger and packet socket, which
    /// `closer` closes.
    pub(super) fn new(provider: Provider, handles: Vec<OwnedFd>, closer: &Closer) -> Option<Self> {
        let [buffer, ledger, packets] = <[OwnedFd; 3]>::try_from(handles).ok()?;
        let size = provider.layout.total_size();
        Some(Self {
            buffer: ReadMapping::map(buffer.as_fd(), size).ok()?,
            ledger: map_ledger(&ledger)?,
            provider,
            packets: ForeignSocket::packets(packets.into(), closer.clone()),
            has_left: false,
        })
    }

    /// Returns whether its opening is in these bytes of the archive.
    pub(super) fn is_open(&self, written: &RangeInclusive<u64>) -> bool {
        // A part begins with other records, so no opening ends at its start.
        written.contains(&self.ledger.get(provider::OPENING))
    }

    /// Returns whether its last block is in the first `length` bytes of the archive.
    pub(super) fn is_closed(&self, length: u64) -> bool {
        self.ledger.get(provider::CLOSING) <= length
    }

    /// Returns the offset of its clock's rate in these bytes of the archive, if that is an
    /// estimate.
    pub(super) fn rate_offset(&self, written: &RangeInclusive<u64>) -> Option<u64> {
        let before = self.ledger.get(provider::RATE_BEFORE);
        let end = self.ledger.get(provider::OPENING);
        let offset = end.checked_sub(before)?.checked_sub(*written.start())?;
        (before != 0 && self.is_open(written)).then_some(offset)
    }
}

fn apply(state: &mut Option<GuardState>, message: Message, handles: Vec<OwnedFd>) -> Option<()> {
    match (message, state.as_mut()) {
        (Message::Session(names), None) => *state = Some(begin_session(names, handles)?),
        (Message::Join(provider), Some(state)) => {
            let id = provider.identity.id;
            let closer = state.closers.entry(provider.identity.uid).or_default();
            let guarded = GuardedProvider::new(provider, handles, closer)?;
            state.providers.insert(id, guarded);
        }
        (Message::Slot(size), Some(state)) => {
            let slot = SlotReader::map(handles.first()?.as_fd(), usize::try_from(size).ok()?);
            state.slots.push(slot.ok()?);
        }
        (Message::Closed(id), Some(state)) => state.close(id),
        (Message::Categories(patterns), Some(state)) => state.add_categories(patterns),
        (Message::Part(start, names), Some(state)) => {
            let mut handles = handles.into_iter();
            state.begin_part(start, names.into_file(handles.next()?, handles.next()?));
        }
        _ => return None,
    }
    Some(())
}

fn begin_session(names: Option<ArchiveNames>, handles: Vec<OwnedFd>) -> Option<GuardState> {
    let mut handles = handles.into_iter();
    let ledger = map_ledger(&handles.next()?)?;
    let archive = match names {
        Some(names) => Some(names.into_file(handles.next()?, handles.next()?)),
        None => None,
    };
    Some(GuardState {
        first: ClockSample::now(),
        ledger,
        archive,
        part_start: 0,
        former_part: None,
        categories: Vec::new(),
        next_categories: Vec::new(),
        providers: BTreeMap::new(),
        closers: BTreeMap::new(),
        slots: Vec::new(),
        rates: Vec::new(),
    })
}

fn map_ledger(memory: &OwnedFd) -> Option<LedgerReader> {
    Some(LedgerReader::new(ReadMapping::map(memory.as_fd(), Ledger::SIZE).ok()?))
}
