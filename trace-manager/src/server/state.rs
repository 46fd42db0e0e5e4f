//! What the event loop looks after.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::event::epoll::{self, EventData, EventFlags};
use trace_protocol::archive::ClockSample;
use trace_protocol::socket::Listener;

use super::active::Active;
use super::admission::Admission;
use super::command::Inbox;
use super::connection::Connection;
use crate::limits::Limits;
use crate::machine::{Conductor, ProviderId, Time};
use crate::machine_providers::MachineProviders;

/// What is read of one provider's messages in a turn, in bytes.
const SCRATCH: usize = 64 << 10;

/// What an epoll event is about: a provider's number and one of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    Listener,
    Inbox,
    Messages(ProviderId),
    Packets(ProviderId),
    /// The end of the process, however many others have its sockets open.
    Process(ProviderId),
    /// The end of the packet socket of a session that is over for it.
    Kept(ProviderId),
}

impl Source {
    pub(super) fn data(self) -> EventData {
        let (kind, id) = match self {
            Self::Listener => (0, 0),
            Self::Inbox => (1, 0),
            Self::Messages(id) => (2, id),
            Self::Packets(id) => (3, id),
            Self::Process(id) => (4, id),
            Self::Kept(id) => (5, id),
        };
        EventData::new_u64(u64::from(id) << 3 | kind)
    }

    pub(super) fn from_data(data: EventData) -> Self {
        let data = data.u64();
        let id = (data >> 3) as ProviderId;
        match data & 7 {
            0 => Self::Listener,
            1 => Self::Inbox,
            2 => Self::Messages(id),
            3 => Self::Packets(id),
            4 => Self::Process(id),
            _ => Self::Kept(id),
        }
    }
}

/// The event loop and all that it looks after.
#[derive(Debug)]
pub(crate) struct EventLoop {
    pub(super) epoll: OwnedFd,
    pub(super) listener: Listener,
    pub(super) inbox: Inbox,
    pub(super) conductor: Conductor,
    pub(super) connections: BTreeMap<ProviderId, Connection>,
    pub(super) active: Option<Active>,
    pub(super) next_provider: ProviderId,
    pub(super) sessions: u64,
    /// When the loop's time began.
    pub(super) origin: Instant,
    pub(super) clocks: ClockSample,
    pub(super) admission: Admission,
    pub(super) machine_providers: MachineProviders,
    pub(super) accept_again: Option<Instant>,
    pub(super) quitting: bool,
    pub(super) scratch: Vec<u8>,
}

impl EventLoop {
    /// Sets the loop up.
    pub(crate) fn new(
        listener: Listener,
        inbox: Inbox,
        limits: Limits,
        machine_providers: MachineProviders,
    ) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let admission = Admission::new(limits, inbox.waker.clone());
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        epoll::add(&epoll, &listener, Source::Listener.data(), EventFlags::IN)?;
        epoll::add(&epoll, &inbox.waker, Source::Inbox.data(), EventFlags::IN)?;
        Ok(Self {
            epoll,
            listener,
            inbox,
            conductor: Conductor::new(),
            connections: BTreeMap::new(),
            active: None,
            next_provider: 1,
            sessions: 0,
            origin: Instant::now(),
            clocks: ClockSample::now(),
            admission,
            machine_providers,
            accept_again: None,
            quitting: false,
            scratch: vec![0; SCRATCH],
        })
    }

    pub(super) fn now(&self) -> Time {
        self.origin.elapsed()
    }
}
