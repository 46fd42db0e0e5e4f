//! The state machine of a connected provider.
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
//!     |                                        | STARTED (provider), or time-out
//!     |                                        v
//!     |                                     Started ------ STOPPED (provider) ------+
//!     |     set categories (session): no    |  |
//!     |     new state; confirmed by          +--+                                   |
//!     |     CATEGORIES_SET (provider)          |                                    |
//!     |                                        | stop (session; also in Starting)   |
//!     |                                        v                                    |
//!     |                                    Stopping                                 |
//!     |                                        | STOPPED (provider), or time-out    |
//!     |                                        v                                    |
//!     |                                     Stopped <-------------------------------+
//!     |                                        | terminate (session, also one that starts again:
//!     |                                        v            the provider gets a new buffer)
//!     +---- finish ----------------------- Terminating
//!           packet socket closed (provider), or time-out
//!
//!     any state --- registration socket closed (provider), or cut off (manager) ---> Dead
//! ```
//!
//! On every way out of a session, there is exactly one [`TraceeAction::Finish`]: then the rest of
//! the buffer is read. The manager does not wait for Terminate if the provider did not reply to
//! Stop.

mod conditions;
mod interface;
mod stream;

use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::message::{DurationLimit, Features, Initialize, StartOptions, ToProvider};
use trace_protocol::packet::{Packet, PACKET_VERSION};

pub use self::interface::{TraceeAction, TraceeEvent, TraceeState};
pub(super) use self::stream::Stream;

use self::conditions::Conditions;
use super::save_sequence::SaveSequence;
use super::{End, ProviderConfig, Time, Timeouts, Violation};

/// A connected provider.
#[derive(Debug, Clone)]
pub struct Tracee {
    state: TraceeState,
    features: Features,
    timeouts: Timeouts,
    initialize: Initialize,
    saves: SaveSequence,
    start_acknowledged: bool,
    stop_acknowledged: bool,
    /// The replies in the last buffer that it has left.
    left: Replies,
    changes: Changes,
    conditions: Conditions,
    stream: Stream,
    /// The number of rolling buffers of its buffer.
    rolling_buffers: u32,
}

/// The replies of a provider while it had one buffer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Replies {
    /// Whether it replied to Start.
    pub start: bool,
    /// Whether it replied to Stop.
    pub stop: bool,
}

/// The changes of categories in one buffer, which are numbered from 1.
#[derive(Debug, Clone, Copy, Default)]
struct Changes {
    sent: u32,
    confirmed: u32,
}

type Actions = Vec<TraceeAction>;

impl Tracee {
    /// Creates the state machine of a provider that just registered.
    pub fn new(features: Features) -> Self {
        Self {
            state: TraceeState::Registered,
            features,
            timeouts: Timeouts::default(),
            initialize: Initialize::default(),
            saves: SaveSequence::default(),
            start_acknowledged: false,
            stop_acknowledged: false,
            left: Replies::default(),
            changes: Changes::default(),
            conditions: Conditions::default(),
            stream: Stream::No,
            rolling_buffers: 0,
        }
    }

    /// Returns its state.
    pub fn state(&self) -> TraceeState {
        self.state
    }

    /// Returns its replies in the present buffer.
    pub fn replies(&self) -> Replies {
        Replies { start: self.start_acknowledged, stop: self.stop_acknowledged }
    }

    /// Returns its replies in the last buffer that it has left. It may have the next one already.
    pub fn last_replies(&self) -> Replies {
        self.left
    }

    /// Returns whether it is in a session: between initialize and finish.
    pub fn in_session(&self) -> bool {
        !matches!(self.state, TraceeState::Registered | TraceeState::Dead)
    }

    /// Returns whether it has been started and has not stopped.
    pub fn is_unstopped(&self) -> bool {
        use TraceeState as S;
        matches!(self.state, S::Starting { .. } | S::Started | S::Stopping { .. })
    }

    /// Returns whether it is to leave its buffer, and has not done it.
    pub fn is_leaving(&self) -> bool {
        matches!(self.state, TraceeState::Terminating { .. })
    }

    /// Returns the mode of its buffer. It becomes streaming if a circular one begins to stream.
    pub fn mode(&self) -> BufferingMode {
        self.initialize.mode
    }

    /// Returns whether its sessions can change while it records. A buffer in another mode than
    /// streaming cannot be split, and neither can the rolling buffers from before a change of the
    /// mode.
    pub(super) fn can_change_sessions(&self) -> bool {
        let is_streaming = self.mode() == BufferingMode::Streaming && !self.has_older_buffers();
        is_streaming && self.can_set_categories()
    }

    /// Returns whether its categories can change while it records.
    pub(super) fn can_set_categories(&self) -> bool {
        self.features.contains(Features::SET_CATEGORIES)
    }

    /// Returns the number of the last change of categories that it confirmed.
    pub fn changes(&self) -> u32 {
        self.changes.confirmed
    }

    /// Returns the number of the next change of categories.
    pub(super) fn next_change(&self) -> u32 {
        self.changes.sent + 1
    }

    /// Returns the time at which a [`TraceeEvent::Tick`] is due.
    pub fn deadline(&self) -> Option<Time> {
        match self.state {
            TraceeState::Starting { deadline }
            | TraceeState::Stopping { deadline }
            | TraceeState::Terminating { deadline } => Some(deadline),
            _ => None,
        }
    }

    /// Replaces the time-outs of the next states. Its sessions have changed.
    pub(super) fn set_timeouts(&mut self, timeouts: Timeouts) {
        self.timeouts = timeouts;
    }

    /// The transition function: handles an event at the time `now`, and returns the actions.
    pub fn on(&mut self, event: TraceeEvent, now: Time) -> Actions {
        use TraceeEvent as E;
        use TraceeState as S;
        match (self.state, event) {
            (S::Dead, _) => Vec::new(),
            (_, E::Disconnected) => self.leave(S::Dead, End::Disconnected),
            (_, E::Violation(violation)) => self.cut_off(violation),
            (S::Registered, E::Initialize(config)) => self.enter(config),
            (S::Registered, E::Packet(_)) => self.cut_off(Violation::Unexpected("a packet")),
            (S::Registered, _) => Vec::new(),
            (S::Initializing, E::Initialize(config)) => self.configure(config),
            (S::Initializing, E::BufferReady { durable_size, rolling_buffers }) => {
                self.rolling_buffers = rolling_buffers;
                self.initialized(durable_size)
            }
            (S::Initializing, E::NoBuffer) => self.without_buffer(),
            (S::Initialized, E::Start(options)) => self.start(options, now),
            (S::Starting { .. } | S::Started, E::SetCategories(categories)) => {
                self.set_categories(categories)
            }
            (S::Initialized | S::Starting { .. } | S::Started, E::SetConditions(limits)) => {
                self.set_conditions(limits)
            }
            (_, E::Stream) => self.begin_stream(),
            (_, E::StreamReserved { has_memory }) => self.stream_reserved(has_memory),
            (_, E::KeepMode) => self.keep_mode(),
            (_, E::Checked) => self.note_checked(),
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

    fn enter(&mut self, config: ProviderConfig) -> Actions {
        self.state = TraceeState::Initializing;
        self.start_acknowledged = false;
        self.stop_acknowledged = false;
        self.changes = Changes::default();
        self.conditions = Conditions::default();
        self.stream = Stream::No;
        self.configure(config);
        vec![TraceeAction::CreateBuffer]
    }

    fn configure(&mut self, config: ProviderConfig) -> Actions {
        self.timeouts = config.timeouts;
        self.initialize = Initialize { mode: config.mode, categories: config.categories };
        Vec::new()
    }

    fn set_categories(&mut self, categories: Vec<String>) -> Actions {
        let sequence = self.next_change();
        self.changes.sent = sequence;
        vec![TraceeAction::Send(ToProvider::SetCategories { sequence, categories })]
    }

    fn set_conditions(&mut self, limits: Vec<DurationLimit>) -> Actions {
        let is_supported = self.features.contains(Features::SET_CONDITIONS);
        if !is_supported || !self.conditions.request(&limits) {
            return Vec::new();
        }
        vec![TraceeAction::Send(ToProvider::SetConditions(limits))]
    }

    fn condition_watched(&mut self, number: u32) -> Actions {
        match self.start_acknowledged && self.conditions.watch(number) {
            true => vec![TraceeAction::Watched(number)],
            false => self.cut_off(Violation::Unexpected("CONDITION_WATCHED")),
        }
    }

    fn condition_held(&mut self, number: u32, times: u64) -> Actions {
        match self.conditions.is_watched(number) && times != 0 {
            true => vec![TraceeAction::Held { number, times }],
            false => self.cut_off(Violation::Unexpected("CONDITION_HELD")),
        }
    }

    fn categories_set(&mut self, sequence: u32) -> Actions {
        let Changes { sent, .. } = self.changes;
        if !self.start_acknowledged || sequence == 0 || sequence > sent {
            return self.cut_off(Violation::Unexpected("CATEGORIES_SET"));
        }
        self.changes.confirmed = self.changes.confirmed.max(sequence);
        Vec::new()
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
        self.conditions.start();
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
            Packet::CategoriesSet { sequence } => self.categories_set(sequence),
            Packet::Alert(name) => vec![TraceeAction::Alert(name)],
            Packet::ConditionWatched { number } => self.condition_watched(number),
            Packet::ConditionHeld { number, times } => self.condition_held(number, times),
            Packet::Streaming { first, current } => self.streaming(first, current),
            Packet::BufferSaved { .. } => self.cut_off(Violation::Unexpected("BUFFER_SAVED")),
        }
    }

    fn started(&mut self, version: u32) -> Actions {
        let was_started =
            !matches!(self.state, TraceeState::Initializing | TraceeState::Initialized);
        if version != PACKET_VERSION {
            return self.cut_off(Violation::PacketVersion(version));
        }
        if !was_started || self.start_acknowledged {
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
        // Before STARTED, the provider's version is unknown, and so is the format of its data.
        let checked = match (self.initialize.mode, self.start_acknowledged) {
            (BufferingMode::Streaming, true) => self.saves.check(wrapped_count, durable_data_end),
            (BufferingMode::Streaming, false) => Err(Violation::Unexpected("SAVE_BUFFER")),
            _ => Err(Violation::NotStreaming),
        };
        self.note_saved();
        match checked {
            Ok(request) => vec![TraceeAction::Save(request)],
            Err(violation) => self.cut_off(violation),
        }
    }

    fn tick(&mut self, now: Time) -> Actions {
        match self.state {
            TraceeState::Starting { deadline } if deadline <= now => {
                self.state = TraceeState::Started;
                vec![TraceeAction::StartTimedOut]
            }
            TraceeState::Stopping { deadline } if deadline <= now => {
                self.state = TraceeState::Stopped;
                Vec::new()
            }
            TraceeState::Terminating { deadline } if deadline <= now => {
                self.leave(TraceeState::Registered, End::TimedOut)
            }
            _ => Vec::new(),
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
        if had_buffer {
            self.left = self.replies();
        }
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
        Self::new(Features::default())
    }
}
