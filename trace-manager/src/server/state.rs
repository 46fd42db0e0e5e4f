//! What the event loop looks after.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::event::epoll::{self, EventFlags};
use trace_protocol::archive::ClockSample;
use trace_protocol::socket::Listener;

use super::active::Active;
use super::admission::Admission;
use super::command::Inbox;
use super::connection::Connection;
use super::source::Source;
use crate::limits::Limits;
use crate::machine::{Coordinator, ProviderId, Time};
use crate::machine_providers::MachineProviders;

/// What is read of one provider's messages in a turn, in bytes.
const SCRATCH: usize = 64 << 10;

/// The event loop and all that it looks after.
#[derive(Debug)]
pub(crate) struct EventLoop {
    pub(super) epoll: OwnedFd,
    pub(super) listener: Listener,
    pub(super) inbox: Inbox,
    pub(super) coordinator: Coordinator,
    pub(super) connections: BTreeMap<ProviderId, Connection>,
    pub(super) active: Option<Active>,
    pub(super) next_provider: ProviderId,
    pub(super) sessions: u64,
    /// When the loop's time began.
    pub(super) origin: Instant,
    pub(super) clocks: ClockSample,
    pub(super) admission: Admission,
    pub(super) machine_providers: MachineProviders,
    pub(super) accept_resumes_at: Option<Instant>,
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
            coordinator: Coordinator::new(),
            connections: BTreeMap::new(),
            active: None,
            next_provider: 1,
            sessions: 0,
            origin: Instant::now(),
            clocks: ClockSample::now(),
            admission,
            machine_providers,
            accept_resumes_at: None,
            quitting: false,
            scratch: vec![0; SCRATCH],
        })
    }

    pub(super) fn now(&self) -> Time {
        self.origin.elapsed()
    }
}
