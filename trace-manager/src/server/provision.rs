//! Creation of the providers' buffers.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, EventFlags};
use trace_protocol::archive::{ClockSample, Identity};
use trace_protocol::buffer::consumer::Collector;
use trace_protocol::buffer::header::{BufferingMode, Layout};
use trace_protocol::buffer::memory::ReadMapping;
use trace_protocol::message::{Register, ToProvider};
use trace_protocol::socket::{PeerCredentials, Socket};
use trace_protocol::words::as_bytes;

use super::active::Active;
use super::admission::PendingBuffer;
use super::outbox::Handles;
use super::source::Source;
use super::state::EventLoop;
use crate::buffers::{Buffers, NoMemory, Share, SharedBuffer};
use crate::collection::ProviderData;
use crate::foreign::ForeignSocket;
use crate::machine::{ProviderConfig, ProviderId, SessionNumber, SessionState, TraceeEvent};
use crate::recording::Opened;
use crate::summary::Refusal;
use crate::window::Window;

/// The time for which a provider waits for memory that others will release: until the rest of their
/// records is archived.
pub(super) const BUFFER_TIMEOUT: Duration = Duration::from_secs(5);

/// The reason for which a provider gets no buffer.
pub(super) enum NoBuffer {
    NoMemory(NoMemory),
    Failed(String),
}

impl fmt::Display for NoBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMemory(no_memory) => no_memory.fmt(f),
            Self::Failed(reason) => reason.fmt(f),
        }
    }
}

/// The memory of a provider: that of its buffer, and that of the records which its sessions retain.
struct Memory {
    buffer: Share,
    retained: BTreeMap<SessionNumber, Share>,
}

impl Memory {
    /// Reserves all of it, or none.
    fn take(
        buffers: &Buffers,
        peer: PeerCredentials,
        buffer: u64,
        retained: &[(SessionNumber, u64)],
    ) -> Result<Self, NoMemory> {
        let sizes = retained.iter().map(|(_, size)| *size).collect::<Vec<_>>();
        let (buffer, shares) = buffers.take_with(peer, buffer, &sizes)?;
        let sessions = retained.iter().map(|(session, _)| *session);
        Ok(Self { buffer, retained: sessions.zip(shares).collect() })
    }
}

impl EventLoop {
    /// Creates a provider's buffer, now or when memory is released.
    pub(super) fn create_buffer(&mut self, id: ProviderId) {
        let sessions = self.coordinator.sessions_of(id);
        self.create_buffer_until(id, sessions, Instant::now() + BUFFER_TIMEOUT);
    }

    /// `sessions` are those for which it waits, also those that may start again.
    fn create_buffer_until(
        &mut self,
        id: ProviderId,
        sessions: Vec<SessionNumber>,
        deadline: Instant,
    ) {
        let is_last_try = deadline <= Instant::now();
        self.refuse_excess_sessions(id, is_last_try);
        match self.try_create_buffer(id, is_last_try) {
            Ok(layout) => {
                self.defer_refusals(id, &sessions);
                let durable_size = layout.durable_size() as u64;
                let rolling_buffers = layout.rolling_buffers() as u32;
                self.provider_event(id, TraceeEvent::BufferReady { durable_size, rolling_buffers });
            }
            Err(NoBuffer::NoMemory(no_memory)) if no_memory.is_temporary && !is_last_try => {
                self.admission.pending.push_back(PendingBuffer {
                    id,
                    sessions,
                    deadline,
                    no_memory,
                });
            }
            Err(reason) => self.refuse_buffer(id, &sessions, &reason),
        }
        self.publish_progress(Duration::ZERO);
    }

    /// Refuses a provider that waits for these sessions.
    fn refuse_buffer(
        &mut self,
        id: ProviderId,
        sessions: &[SessionNumber],
        reason: &impl ToString,
    ) {
        let reason = reason.to_string();
        if self.record_missing_buffer(id, sessions, &reason) {
            self.send(id, &ToProvider::Refused { reason });
        }
        self.provider_event(id, TraceeEvent::NoBuffer);
    }

    /// Notes in the sessions that a provider gets no buffer. In a session that stops and may start
    /// again, it may get one later. Returns whether any session refuses it now.
    fn record_missing_buffer(
        &mut self,
        id: ProviderId,
        awaited: &[SessionNumber],
        reason: &str,
    ) -> bool {
        let Some(connection) = self.connections.get(&id) else { return false };
        let (name, peer) = (connection.name(), connection.peer);
        let mut is_refused = false;
        for (session, Active { recording, .. }) in &mut self.active {
            let refusal = Refusal { pid: peer.pid, name: name.clone(), reason: reason.to_owned() };
            if !self.coordinator.is_pausing(*session) {
                if recording.config().may_record(peer.uid, Some(id), &name) {
                    recording.refuse_finally(id, peer.uid, refusal);
                    is_refused = true;
                }
            } else if awaited.contains(session) {
                recording.defer_refusal(id, peer.uid, refusal);
            }
        }
        is_refused
    }

    /// Notes that these sessions, if they may start again, have not recorded a provider, which has
    /// a buffer for others now.
    fn defer_refusals(&mut self, id: ProviderId, sessions: &[SessionNumber]) {
        let Some(connection) = self.connections.get(&id) else { return };
        for session in sessions.iter().filter(|session| self.coordinator.is_pausing(**session)) {
            let Some(Active { recording, .. }) = self.active.get_mut(session) else { continue };
            let reason = "it waited for memory until the session stopped".to_owned();
            let PeerCredentials { pid, uid, .. } = connection.peer;
            let refusal = Refusal { pid, name: connection.name(), reason };
            recording.defer_refusal(id, uid, refusal);
        }
    }

    /// Returns the sessions for which a provider waits now. Those before that may start again are
    /// still among them. Others that it does not wait for any more have ended, and refuse it.
    fn still_awaited(&mut self, waiting: &PendingBuffer) -> Vec<SessionNumber> {
        let id = waiting.id;
        let mut awaited = self.coordinator.sessions_of(id);
        for session in &waiting.sessions {
            if awaited.contains(session) {
                continue;
            }
            if self.coordinator.is_pausing(*session) {
                awaited.push(*session);
            } else if let (Some(Active { recording, .. }), Some(connection)) =
                (self.active.get_mut(session), self.connections.get(&id))
            {
                let (name, reason) = (connection.name(), waiting.no_memory.to_string());
                let PeerCredentials { pid, uid, .. } = connection.peer;
                recording.refuse_finally(id, uid, Refusal { pid, name, reason });
            }
        }
        awaited
    }

    /// Creates the buffers of waiting providers if memory was released, and refuses those that no
    /// session records any more.
    pub(super) fn serve_waiting(&mut self) {
        for _ in 0..self.admission.pending.len() {
            let Some(waiting) = self.admission.pending.pop_front() else { return };
            if !self.connections.contains_key(&waiting.id) {
                continue;
            }
            let was_freed = waiting.no_memory.freed != self.admission.buffers.freed();
            if !self.is_recorded(waiting.id) {
                self.refuse_buffer(waiting.id, &waiting.sessions, &waiting.no_memory);
            } else {
                let sessions = self.still_awaited(&waiting);
                if was_freed || waiting.deadline <= Instant::now() {
                    self.create_buffer_until(waiting.id, sessions, waiting.deadline);
                } else {
                    self.admission.pending.push_back(PendingBuffer { sessions, ..waiting });
                }
            }
        }
    }

    /// Returns whether a provider waits for its buffer, or records, for a session that runs.
    fn is_recorded(&self, id: ProviderId) -> bool {
        let states = self.coordinator.sessions_of(id).into_iter();
        let mut states = states.filter_map(|session| self.coordinator.session_state(session));
        states.any(SessionState::is_running)
    }

    /// Returns the bytes of the records that sessions retain of a provider whose buffer has the
    /// mode `mode`, for those that retain any.
    pub(super) fn retained_sizes(
        &self,
        sessions: &[SessionNumber],
        mode: BufferingMode,
    ) -> Vec<(SessionNumber, u64)> {
        let size = |session| self.active.get(session)?.recording.retained_size(mode);
        sessions.iter().filter_map(|session| Some((*session, size(session)?))).collect()
    }

    /// Reserves the memory of a provider's buffer, and that of the records which its sessions
    /// retain. If the hinted size is too large, uses the default size; some of the provider's
    /// strings may not fit then. If it does not wait for memory, or at the last try, sessions
    /// without memory for retained records refuse the provider later.
    fn take_memory(
        &self,
        config: &ProviderConfig,
        peer: PeerCredentials,
        durable_hint: u64,
        sessions: &[SessionNumber],
        is_last_try: bool,
    ) -> Result<(Layout, Memory), NoBuffer> {
        let retained = self.retained_sizes(sessions, config.mode);
        let with_hint = |hint, retained: &[(SessionNumber, u64)]| {
            let layout = config.layout(hint).or_else(failed)?;
            let own = layout.total_size() as u64;
            let memory = Memory::take(&self.admission.buffers, peer, own, retained);
            memory.map(|memory| (layout, memory)).map_err(NoBuffer::NoMemory)
        };
        let taken = with_hint(durable_hint, &retained).or_else(|_| with_hint(0, &retained));
        match taken {
            Err(NoBuffer::NoMemory(no_memory)) if is_last_try || !no_memory.is_temporary => {
                with_hint(durable_hint, &[]).or_else(|_| with_hint(0, &[]))
            }
            taken => taken,
        }
    }

    /// Creates a provider's buffer and packet sockets, and adds the provider to the recording.
    fn try_create_buffer(&mut self, id: ProviderId, is_last_try: bool) -> Result<Layout, NoBuffer> {
        let Some(connection) = self.connections.get(&id) else {
            return failed("it has disconnected");
        };
        let Register { durable_hint, clock, .. } = connection.register.clone().unwrap_or_default();
        let sessions = self.coordinator.sessions_of(id);
        if sessions.is_empty() {
            return failed("there is no session");
        }
        let config = self.coordinator.config_of(id);
        let (layout, memory) =
            self.take_memory(&config, connection.peer, durable_hint, &sessions, is_last_try)?;
        let Memory { buffer: share, mut retained } = memory;
        let name = connection.name();
        let endpoints = create_endpoints(share, &layout, &name)
            .or_else(|error| failed(format!("no buffer: {error}")))?;
        let data = Source::Packets(id).data();
        epoll::add(&self.epoll, endpoints.packets.as_fd(), data, EventFlags::IN)
            .or_else(|error| failed(format!("no packet socket: {error}")))?;
        let policy = self.machine_providers.policy(connection.peer, connection.accepted);
        let collector = Collector::new(endpoints.mapping, layout, policy).or_else(failed)?;
        let (Some(collection), Some(connection)) =
            (&mut self.collection, self.connections.get_mut(&id))
        else {
            return failed("there is no session");
        };
        let identity = Identity {
            id: collection.next_id(),
            name,
            process_name: connection.process_name(),
            pid: connection.peer.pid,
            uid: connection.peer.uid,
            clock,
        };
        let known = connection.categories.iter().map(|it| it.name.clone()).collect();
        let buffer = Arc::clone(&endpoints.handles.buffer);
        let now = ClockSample::now();
        let joined_at = now.ticks(clock);
        let mut provider = ProviderData::new(identity, known, policy, collector, buffer, layout);
        for session in sessions {
            let Some(active) = self.active.get_mut(&session) else { continue };
            let (buffers, mode) = (&self.admission.buffers, layout.mode());
            let name = &provider.identity().name;
            let memory = match retained.remove(&session) {
                Some(memory) => Ok(Some(memory)),
                None => active.recording.reserve(id, mode, buffers, connection.peer, name),
            };
            let Ok(memory) = memory else { continue };
            let opened = Opened {
                id,
                is_helper: connection.is_helper,
                joined: provider.joined(joined_at, None, endpoints.packets.as_fd()),
                now,
                recorded: &config.categories,
                late: None,
            };
            active.recording.join(&opened, memory);
            provider.open(session, Window::of_buffer(joined_at, active.recording.elapsed()));
        }
        collection.join(id, provider);
        connection.buffer = Some(Arc::clone(&endpoints.handles.buffer));
        let closer = connection.closer.clone();
        connection.packets = Some(ForeignSocket::packets(endpoints.packets, closer));
        connection.handles = Some(endpoints.handles);
        Ok(layout)
    }
}

fn failed<T>(reason: impl ToString) -> Result<T, NoBuffer> {
    Err(NoBuffer::Failed(reason.to_string()))
}

/// The manager's and the provider's ends of a new buffer.
struct Endpoints {
    mapping: ReadMapping,
    packets: Socket,
    handles: Handles,
}

fn create_endpoints(share: Share, layout: &Layout, name: &str) -> io::Result<Endpoints> {
    let buffer = SharedBuffer::new(share, &memory_name(name))?;
    buffer.write_at(as_bytes(&layout.to_header()), 0)?;
    let mapping = ReadMapping::map(buffer.as_fd(), layout.total_size())?;
    let (packets, theirs) = Socket::packet_pair()?;
    packets.set_nonblocking(true);
    let handles = Handles { buffer: Arc::new(buffer), packets: theirs };
    Ok(Endpoints { mapping, packets, handles })
}

/// Returns the buffer's name for `/proc/PID/maps`.
fn memory_name(provider: &str) -> String {
    let printable = provider.chars().filter(|c| !c.is_control());
    format!("trace:{}", printable.collect::<String>())
}
