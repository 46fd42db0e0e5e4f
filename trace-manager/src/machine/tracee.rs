//! One connected provider, as the manager sees it.
//!
//! ```text
//!               register (provider)
//!                      |
//!                      v      initialize (session)
//!     +----------> Registered ----------> Initializing --- no buffer (loop) --> Registered
//!     |                                        | buffer ready (loop)
//!     |                                        v
//!     |                                   Initialized
//!     |                                        | start (session)
//!     |                                        v
//!     |                                    Starting
//!     |                                        | STARTED (provider), or its time is up
//!     |                                        v
//!     |                                     Started ------ STOPPED (provider) ------+
//!     |                                        | stop (session; also in Starting)   |
//!     |                                        v                                    |
//!     |                                    Stopping                                 |
//!     |                                        | STOPPED (provider), or time is up  |
//!     |                                        v                                    |
//!     |                                     Stopped <-------------------------------+
//!     |                                        | terminate (session)   ^ start (session) leads
//!     |                                        v                         back to Starting
//!     +---- finish ----------------------- Terminating
//!           packet socket closed (provider), or time is up
//!
//!     any state --- registration socket closed (provider), or cut off (manager) ---> Dead
//! ```
//!
//! Whatever the way out of a session, exactly one [`TraceeAction::Finish`] marks it, and that is
//! when the rest of the buffer is read. A provider that did not answer to stop is not waited for
//! again.

use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::message::{Initialize, StartOptions, ToProvider};
use trace_protocol::packet::{AlertName, Packet, PACKET_VERSION};

use super::save_sequence::SaveSequence;
use super::{End, ProviderConfig, SaveRequest, Time, Timeouts, Violation};

/// Where a provider stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TraceeState {
    /// Connected, in no session.
    Registered,
    /// In a session, without a buffer yet.
    Initializing,
    /// Has its buffer, and was not asked to start.
    Initialized,
    /// Was asked to start, and has until the deadline to answer.
    Starting {
        /// When it counts as started.
        deadline: Time,
    },
    /// Records.
    Started,
    /// Was asked to stop, and has until the deadline to answer.
    Stopping {
        /// When it counts as stopped.
        deadline: Time,
    },
    /// Records no more; its buffer is still its own.
    Stopped,
    /// Was asked to give its buffer back, and has until the deadline to do so.
    Terminating {
        /// When the buffer is read without waiting any longer.
        deadline: Time,
    },
    /// Gone for ever.
    Dead,
}

/// What happens to a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceeEvent {
    /// The session wants it in.
    Initialize(ProviderConfig),
    /// The loop made its buffer; `durable_size` is in bytes.
    BufferReady {
        /// Size of the durable buffer in bytes.
        durable_size: u64,
    },
    /// The loop could not make its buffer.
    NoBuffer,
    /// The session starts.
    Start(StartOptions),
    /// The session stops.
    Stop,
    /// The session ends.
    Terminate,
    /// The session wants the current rolling buffer handed over.
    Flush,
    /// A packet came.
    Packet(Packet),
    /// The packet socket was closed by the provider.
    PacketsClosed,
    /// The registration socket was closed by the provider.
    Disconnected,
    /// The loop saw it break the protocol.
    Violation(Violation),
    /// Time passed.
    Tick,
}

/// What the loop has to do about a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TraceeAction {
    /// Make its buffer, then report [`TraceeEvent::BufferReady`] or [`TraceeEvent::NoBuffer`].
    MakeBuffer,
    /// Send it a message; the buffer goes with [`ToProvider::Initialize`].
    Send(ToProvider),
    /// Copy the rolling buffer, then answer with [`Packet::BufferSaved`].
    Save(SaveRequest),
    /// Tell the caller of an alert.
    Alert(AlertName),
    /// Tell the caller that it was not heard of in time after a start.
    StartTimedOut,
    /// Read what is left in its buffer and give the buffer up.
    Finish(End),
    /// Close its connection.
    CutOff(Violation),
}

/// One connected provider.
#[derive(Debug, Clone)]
pub struct Tracee {
    state: TraceeState,
    timeouts: Timeouts,
    initialize: Initialize,
    saves: SaveSequence,
    start_acknowledged: bool,
    stop_acknowledged: bool,
}

type Actions = Vec<TraceeAction>;

impl Tracee {
    /// Makes the tracee of a provider that just registered.
    pub fn new() -> Self {
        Self {
            state: TraceeState::Registered,
            timeouts: Timeouts::default(),
            initialize: Initialize::default(),
            saves: SaveSequence::default(),
            start_acknowledged: false,
            stop_acknowledged: false,
        }
    }

    /// Returns where it stands.
    pub fn state(&self) -> TraceeState {
        self.state
    }

    /// Tells whether it answered to the last start.
    pub fn start_acknowledged(&self) -> bool {
        self.start_acknowledged
    }

    /// Tells whether it answered to the last stop.
    pub fn stop_acknowledged(&self) -> bool {
        self.stop_acknowledged
    }

    /// Tells whether it is in a session: between initialize and finish.
    pub fn in_session(&self) -> bool {
        !matches!(self.state, TraceeState::Registered | TraceeState::Dead)
    }

    /// Returns when it wants a [`TraceeEvent::Tick`].
    pub fn deadline(&self) -> Option<Time> {
        match self.state {
            TraceeState::Starting { deadline }
            | TraceeState::Stopping { deadline }
            | TraceeState::Terminating { deadline } => Some(deadline),
            _ => None,
        }
    }

    /// The transition function: takes what happened at `now`, returns what to do.
    pub fn on(&mut self, event: TraceeEvent, now: Time) -> Actions {
        use TraceeEvent as E;
        use TraceeState as S;
        match (self.state, event) {
            (S::Dead, _) => Vec::new(),
            (_, E::Disconnected) => self.leave(S::Dead, End::Disconnected),
            (_, E::Violation(violation)) => self.cut_off(violation),
            (S::Registered, E::Initialize(provider_config)) => self.enter(provider_config),
            (S::Registered, E::Packet(_)) => self.cut_off(Violation::Unexpected("a packet")),
            (S::Registered, _) => Vec::new(),
            (S::Initializing, E::BufferReady { durable_size }) => self.initialized(durable_size),
            (S::Initializing, E::NoBuffer) => self.without_buffer(),
            (S::Initialized | S::Stopped, E::Start(options)) => self.start(options, now),
            (S::Starting { .. } | S::Started, E::Stop) => self.stop(now),
            (S::Initialized | S::Stopped, E::Terminate) => self.terminate(now),
            (S::Starting { .. } | S::Started, E::Flush) => self.flush(),
            (_, E::Packet(packet)) => self.packet(packet),
            (S::Terminating { .. }, E::PacketsClosed) => self.leave(S::Registered, End::Terminated),
            (_, E::PacketsClosed) => self.leave(S::Registered, End::Disconnected),
            (_, E::Tick) => self.tick(now),
            _ => Vec::new(),
        }
    }

    fn enter(&mut self, provider_config: ProviderConfig) -> Actions {
        self.state = TraceeState::Initializing;
        self.timeouts = provider_config.timeouts;
        self.initialize =
            Initialize { mode: provider_config.mode, categories: provider_config.categories };
        self.start_acknowledged = false;
        self.stop_acknowledged = false;
        vec![TraceeAction::MakeBuffer]
    }

    fn initialized(&mut self, durable_size: u64) -> Actions {
        self.state = TraceeState::Initialized;
        self.saves = SaveSequence::new(durable_size);
        vec![TraceeAction::Send(ToProvider::Initialize(self.initialize.clone()))]
    }

    fn without_buffer(&mut self) -> Actions {
        self.state = TraceeState::Registered;
        Vec::new()
    }

    fn start(&mut self, options: StartOptions, now: Time) -> Actions {
        self.state = TraceeState::Starting { deadline: now + self.timeouts.start };
        self.start_acknowledged = false;
        self.stop_acknowledged = false;
        vec![TraceeAction::Send(ToProvider::Start(options))]
    }

    fn stop(&mut self, now: Time) -> Actions {
        self.state = TraceeState::Stopping { deadline: now + self.timeouts.stop };
        vec![TraceeAction::Send(ToProvider::Stop)]
    }

    fn flush(&mut self) -> Actions {
        match self.initialize.mode {
            BufferingMode::Streaming => vec![TraceeAction::Send(ToProvider::Flush)],
            _ => Vec::new(),
        }
    }

    fn terminate(&mut self, now: Time) -> Actions {
        let silent = self.state == TraceeState::Stopped && !self.stop_acknowledged;
        let mut actions = vec![TraceeAction::Send(ToProvider::Terminate)];
        if silent {
            actions.extend(self.leave(TraceeState::Registered, End::TimedOut));
        } else {
            self.state = TraceeState::Terminating { deadline: now + self.timeouts.terminate };
        }
        actions
    }

    fn packet(&mut self, packet: Packet) -> Actions {
        match packet {
            Packet::Started { version } => self.started(version),
            Packet::SaveBuffer { wrapped_count, durable_data_end } => {
                self.save(wrapped_count, durable_data_end)
            }
            Packet::Stopped => self.stopped(),
            Packet::Alert(name) => vec![TraceeAction::Alert(name)],
            Packet::BufferSaved { .. } => self.cut_off(Violation::Unexpected("BUFFER_SAVED")),
        }
    }

    fn started(&mut self, version: u32) -> Actions {
        let asked = !matches!(self.state, TraceeState::Initializing | TraceeState::Initialized);
        if version != PACKET_VERSION {
            return self.cut_off(Violation::PacketVersion(version));
        }
        if !asked || self.start_acknowledged {
            return self.cut_off(Violation::Unexpected("STARTED"));
        }
        self.start_acknowledged = true;
        if let TraceeState::Starting { .. } = self.state {
            self.state = TraceeState::Started;
        }
        Vec::new()
    }

    fn stopped(&mut self) -> Actions {
        if !self.start_acknowledged || self.stop_acknowledged {
            return self.cut_off(Violation::Unexpected("STOPPED"));
        }
        self.stop_acknowledged = true;
        if let TraceeState::Started | TraceeState::Stopping { .. } = self.state {
            self.state = TraceeState::Stopped;
        }
        Vec::new()
    }

    fn save(&mut self, wrapped_count: u32, durable_data_end: u64) -> Actions {
        // Before STARTED the provider's version, and so its data, is not known.
        let checked = match (self.initialize.mode, self.start_acknowledged) {
            (BufferingMode::Streaming, true) => self.saves.check(wrapped_count, durable_data_end),
            (BufferingMode::Streaming, false) => Err(Violation::Unexpected("SAVE_BUFFER")),
            _ => Err(Violation::NotStreaming),
        };
        match checked {
            Ok(request) => vec![TraceeAction::Save(request)],
            Err(violation) => self.cut_off(violation),
        }
    }

    fn tick(&mut self, now: Time) -> Actions {
        if self.deadline().is_none_or(|deadline| deadline > now) {
            return Vec::new();
        }
        match self.state {
            TraceeState::Starting { .. } => {
                self.state = TraceeState::Started;
                vec![TraceeAction::StartTimedOut]
            }
            TraceeState::Stopping { .. } => {
                self.state = TraceeState::Stopped;
                Vec::new()
            }
            _ => self.leave(TraceeState::Registered, End::TimedOut),
        }
    }

    fn cut_off(&mut self, violation: Violation) -> Actions {
        let mut actions = self.leave(TraceeState::Dead, End::CutOff(violation.clone()));
        actions.push(TraceeAction::CutOff(violation));
        actions
    }

    /// Leaves the session, if it is in one, for `state`.
    fn leave(&mut self, state: TraceeState, end: End) -> Actions {
        let had_buffer = self.in_session() && self.state != TraceeState::Initializing;
        let orderly = end == End::Disconnected && self.stop_acknowledged;
        self.state = state;
        let end = if orderly { End::Terminated } else { end };
        if had_buffer {
            vec![TraceeAction::Finish(end)]
        } else {
            Vec::new()
        }
    }
}

impl Default for Tracee {
    fn default() -> Self {
        Self::new()
    }
}
