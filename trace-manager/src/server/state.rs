//! The data of the event loop.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::event::epoll::{self, EventFlags};
use trace_protocol::archive::ClockSample;
use trace_protocol::socket::Listener;

use super::active::Active;
use super::admission::Admission;
use super::categories_query::CategoriesQuery;
use super::command::Inbox;
use super::connection::Connection;
use super::ending::EndingProcess;
use super::paused::PausedPackets;
use super::source::Source;
use crate::collection::Collection;
use crate::foreign::Closer;
use crate::limits::Limits;
use crate::machine::{Coordinator, ProviderId, SessionNumber, Time};
use crate::machine_providers::MachineProviders;

/// Bytes of one provider's messages that are read in one turn.
const SCRATCH: usize = 64 << 10;

/// The event loop.
#[derive(Debug)]
pub(crate) struct EventLoop {
    pub(super) epoll: OwnedFd,
    pub(super) listener: Listener,
    pub(super) inbox: Inbox,
    pub(super) coordinator: Coordinator,
    pub(super) connections: BTreeMap<ProviderId, Connection>,
    /// Processes whose connections have ended.
    pub(super) ending_processes: BTreeMap<ProviderId, EndingProcess>,
    /// The sessions that have not ended.
    pub(super) active: BTreeMap<SessionNumber, Active>,
    /// The data of the providers; `None` without a session.
    pub(super) collection: Option<Collection>,
    pub(super) next_provider: ProviderId,
    pub(super) last_session: SessionNumber,
    /// The number of the next session's first condition.
    pub(super) next_condition: u32,
    /// The origin of the coordinator's time.
    pub(super) origin: Instant,
    /// A sample of the clocks from before the session.
    pub(super) clocks: ClockSample,
    pub(super) admission: Admission,
    pub(super) paused: PausedPackets,
    /// What closes the descriptors that programs of each user pass.
    pub(super) closers: BTreeMap<u32, Closer>,
    pub(super) machine_providers: MachineProviders,
    /// The end of a pause of accepting connections.
    pub(super) accept_resumes_at: Option<Instant>,
    pub(super) category_queries: BTreeMap<Option<u32>, CategoriesQuery>,
    pub(super) quitting: bool,
    pub(super) scratch: Vec<u8>,
}

impl EventLoop {
    /// Creates the loop, and watches the listener and the inbox.
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
            coordinator: Coordinator::new(),
            connections: BTreeMap::new(),
            ending_processes: BTreeMap::new(),
            active: BTreeMap::new(),
            collection: None,
            next_provider: 1,
            last_session: 0,
            next_condition: 1,
            origin: Instant::now(),
            clocks: ClockSample::now(),
            admission,
            paused: PausedPackets::default(),
            closers: BTreeMap::new(),
            machine_providers,
            accept_resumes_at: None,
            category_queries: BTreeMap::new(),
            quitting: false,
            scratch: vec![0; SCRATCH],
        })
    }

    pub(super) fn now(&self) -> Time {
        self.origin.elapsed()
    }
}
