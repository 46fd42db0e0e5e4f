//! The programs of an interleaving: the real coordinator, and providers that count their records.
//!
//! A provider numbers its records. The model has a sink for each session of a provider, as the
//! event loop has: it is open from the buffer or the join on, until the leave or the end of the
//! buffer. Each save passes the records since the last one to all open sinks.

use std::collections::{BTreeMap, VecDeque};

use trace_protocol::message::{Features, ToProvider};
use trace_protocol::packet::{Packet, PACKET_VERSION};

use crate::choices::Choices;
use crate::machine::{
    Coordinator, End, Input, Output, ProviderId, Registration, SessionNumber, SessionState, Time,
    TraceeAction, TraceeEvent, TraceeState, Violation,
};

/// The users of programs and controllers. The first one is root.
pub(super) const USERS: [u32; 3] = [0, 1000, 1001];

/// The most programs that are connected.
const MOST: usize = 5;

/// What a program sends, in order.
#[derive(Debug, Clone, Copy)]
enum Sent {
    Packet(Packet),
    /// A save of the records before this number.
    Save(u64),
    /// It leaves its buffer.
    Closed,
}

/// A connected program.
#[derive(Debug, Default)]
struct Program {
    uid: u32,
    inbox: VecDeque<ToProvider>,
    /// What it has sent, with the number of the buffer that it has.
    outbox: VecDeque<(u32, Sent)>,
    /// The number of buffers of which it has read, and that it has got.
    read_buffers: u32,
    buffers: u32,
    /// Buffers that it did not leave in time.
    retained: Vec<u32>,
    /// Whether it has read Start, and not Stop.
    records: bool,
    /// The number of its records.
    written: u64,
    /// The records that it has requested to save.
    requested: u64,
    /// Whether the manager has got a request to save that it has not met.
    is_save_due: bool,
    /// The records that the manager has passed to sinks.
    passed: u64,
    /// The wrapped count of the next save.
    wraps: u32,
    /// The last change of categories, until it replies.
    change: Option<u32>,
    /// The number of its records before each change of categories of the buffer.
    changed_at: BTreeMap<u32, u64>,
    /// The number of its records before the change whose reply the manager handles.
    confirmed: Option<u64>,
    /// Whether it has always followed the protocol, in time, and got its buffers.
    is_reliable: bool,
    has_buffer: bool,
}

impl Program {
    /// Returns whether it records into the buffer that the manager reads.
    fn is_recorded(&self) -> bool {
        self.records && self.has_buffer && self.read_buffers == self.buffers
    }
}

/// The records of a program in a session.
#[derive(Debug)]
struct Sink {
    /// The number of the next record that it gets.
    next: u64,
}

/// The programs, and the sessions of the manager.
#[derive(Debug, Default)]
pub(super) struct Programs {
    coordinator: Coordinator,
    programs: BTreeMap<ProviderId, Program>,
    last: ProviderId,
    sinks: BTreeMap<(ProviderId, SessionNumber), Sink>,
    states: BTreeMap<SessionNumber, SessionState>,
    /// The changes of sessions that nobody has taken.
    changes: Vec<(SessionNumber, SessionState)>,
    users: BTreeMap<SessionNumber, Option<u32>>,
    /// The number of records, and of those that a session got.
    pub(super) written: u64,
    pub(super) archived: u64,
}

impl Programs {
    pub(super) fn state(&self, session: SessionNumber) -> Option<SessionState> {
        self.coordinator.session_state(session)
    }

    /// Takes the changes of sessions since the last call.
    pub(super) fn take_changes(&mut self) -> Vec<(SessionNumber, SessionState)> {
        std::mem::take(&mut self.changes)
    }

    /// Opens and starts a session for programs of a user, or for all.
    pub(super) fn open(
        &mut self,
        session: SessionNumber,
        config: crate::machine::ProviderConfig,
        now: Time,
    ) {
        self.users.insert(session, config.user);
        self.on(Input::Open(session, config), now);
        self.on(Input::Start(session, Default::default()), now);
    }

    pub(super) fn on(&mut self, input: Input, now: Time) {
        for output in self.coordinator.on(input, now) {
            self.perform(output, now);
        }
        self.check();
    }

    /// Passes time.
    pub(super) fn tick(&mut self, now: Time) {
        if self.coordinator.deadline().is_some_and(|at| at <= now) {
            self.on(Input::Tick, now);
            let deadline = self.coordinator.deadline();
            assert!(deadline.is_none_or(|at| at > now), "a tick has its effect at once");
        }
    }

    fn perform(&mut self, output: Output, now: Time) {
        match output {
            Output::State(session, state) => self.entered(session, state),
            Output::Join(id, session) => self.join(id, session),
            Output::Leave(id, session, leaving) => {
                assert!(self.sinks.keys().filter(|it| it.0 == id).count() > 1, "others stay");
                self.suspect(id, &leaving.end);
                self.close(id, session, leaving.has_rest);
            }
            Output::Stream(id) => {
                // There is no memory for some, which are restarted.
                let event = TraceeEvent::StreamReserved { has_memory: id % 4 != 2 };
                for output in self.coordinator.on(Input::Provider(id, event), now) {
                    self.perform(output, now);
                }
            }
            Output::Restart(id) => assert!(self.programs[&id].has_buffer, "{id} records"),
            Output::Provider(id, action) => self.act(id, action, now),
        }
    }

    fn act(&mut self, id: ProviderId, action: TraceeAction, now: Time) {
        match action {
            TraceeAction::CreateBuffer => self.create_buffer(id, now),
            TraceeAction::Send(message) => {
                if let Some(program) = self.programs.get_mut(&id) {
                    program.inbox.push_back(message);
                }
            }
            TraceeAction::Save(_) => {
                self.save(id);
                // The loop checks each copy at once.
                for output in self.coordinator.on(Input::Provider(id, TraceeEvent::Checked), now) {
                    self.perform(output, now);
                }
            }
            TraceeAction::Finish(end) => self.finish(id, &end),
            TraceeAction::StartTimedOut => self.programs.get_mut(&id).unwrap().is_reliable = false,
            TraceeAction::CutOff(_) => drop(self.programs.remove(&id)),
            TraceeAction::Streams { first, .. } => {
                self.programs.get_mut(&id).unwrap().wraps = first
            }
            TraceeAction::Alert(_) | TraceeAction::Watched(_) | TraceeAction::Held { .. } => {}
        }
    }

    fn entered(&mut self, session: SessionNumber, state: SessionState) {
        self.changes.push((session, state));
        self.states.insert(session, state);
        match state {
            SessionState::Started => self.check_started(session),
            SessionState::Terminated => {
                assert!(!self.sinks.keys().any(|it| it.1 == session), "its sinks are complete");
                self.states.remove(&session);
            }
            _ => {}
        }
    }

    /// A session has started: each program that keeps to the protocol records for it.
    fn check_started(&self, session: SessionNumber) {
        for (id, program) in self.programs.iter().filter(|(_, it)| it.is_reliable) {
            let state = self.coordinator.tracee(*id).map(|it| it.state());
            if self.may_record(session, program) {
                let has_it = self.sinks.contains_key(&(*id, session));
                // It gets a new buffer for more sessions.
                let restarts = matches!(state, Some(TraceeState::Stopping { .. }));
                let records = program.is_recorded() || restarts;
                assert!(has_it && records, "{session} lacks {id}: {state:?}");
            }
        }
    }

    fn may_record(&self, session: SessionNumber, program: &Program) -> bool {
        self.users.get(&session).is_some_and(|user| user.is_none_or(|it| it == program.uid))
    }

    fn create_buffer(&mut self, id: ProviderId, now: Time) {
        let program = self.programs.get_mut(&id).expect("it is connected");
        assert!(!program.has_buffer, "{id} has a buffer");
        // There is no memory for some.
        let has_memory = id % 8 != 7;
        program.is_reliable &= has_memory;
        program.has_buffer = has_memory;
        program.buffers += u32::from(has_memory);
        (program.requested, program.passed) = (program.written, program.written);
        program.wraps = 0;
        let sessions = self.coordinator.sessions_of(id);
        assert!(!sessions.is_empty(), "a buffer is for a session");
        if has_memory {
            sessions.into_iter().for_each(|session| self.open_sink(id, session));
        }
        let event = match has_memory {
            true => TraceeEvent::BufferReady { durable_size: 4096, rolling_buffers: 8 },
            false => TraceeEvent::NoBuffer,
        };
        for output in self.coordinator.on(Input::Provider(id, event), now) {
            self.perform(output, now);
        }
    }

    fn join(&mut self, id: ProviderId, session: SessionNumber) {
        assert!(self.states[&session].is_running(), "{session} records");
        assert!(self.programs[&id].has_buffer, "{id} records");
        self.open_sink(id, session);
    }

    fn open_sink(&mut self, id: ProviderId, session: SessionNumber) {
        let program = &self.programs[&id];
        assert!(self.may_record(session, program), "{id} is another user's");
        let before = self.sinks.insert((id, session), Sink { next: program.written });
        assert!(before.is_none(), "{id} joins {session} once");
    }

    /// Passes the records before a number to all sinks of a program.
    fn pass(&mut self, id: ProviderId, until: u64) {
        let program = self.programs.get_mut(&id).expect("it is connected");
        assert!(program.passed <= until && until <= program.written);
        for ((_, session), sink) in self.sinks.iter_mut().filter(|it| it.0 .0 == id) {
            assert!(sink.next >= program.passed, "{session} lacks records of {id}");
            if sink.next < until {
                self.archived += until - sink.next;
                sink.next = until;
            }
        }
        program.passed = until;
    }

    fn save(&mut self, id: ProviderId) {
        let program = self.programs.get_mut(&id).expect("it is connected");
        assert!(std::mem::take(&mut program.is_save_due), "{id} is saved once");
        let until = program.requested;
        self.pass(id, until);
    }

    /// A session leaves a program: it has all records from before the change of categories, and
    /// the rest of the buffer if the program has not replied to it.
    fn close(&mut self, id: ProviderId, session: SessionNumber, has_rest: bool) {
        let sink = self.sinks.remove(&(id, session)).expect("it leaves once");
        let program = &self.programs[&id];
        if has_rest {
            self.archived += program.written.saturating_sub(sink.next);
        } else {
            let has_all = program.confirmed.is_some_and(|before| program.passed >= before);
            assert!(has_all || !program.is_reliable, "{session} lacks records of {id}");
        }
    }

    fn finish(&mut self, id: ProviderId, end: &End) {
        self.suspect(id, end);
        let program = &self.programs[&id];
        assert!(program.has_buffer, "the buffer of {id} is read once");
        let (written, sinks) = (program.written, self.sinks.len());
        self.pass(id, written);
        self.sinks.retain(|it, _| it.0 != id);
        assert!(self.sinks.len() < sinks, "a buffer is for a session");
        let program = self.programs.get_mut(&id).expect("it is connected");
        program.has_buffer = false;
        if *end == End::TimedOut {
            program.retained.push(program.buffers);
        }
    }

    /// Only a program that is connected and replies in time is recorded without a gap.
    fn suspect(&mut self, id: ProviderId, end: &End) {
        if let (Some(program), false) = (self.programs.get_mut(&id), *end == End::Terminated) {
            program.is_reliable = false;
        }
    }

    fn check(&self) {
        for (id, program) in &self.programs {
            let of_program = self.sinks.keys().filter(|it| it.0 == *id).map(|it| it.1);
            let (sinks, mut sessions) = (Vec::from_iter(of_program), Vec::new());
            if program.has_buffer {
                sessions = self.coordinator.sessions_of(*id);
            }
            assert_eq!(sinks, sessions, "the sinks of {id}");
        }
    }

    /// Does something with any program.
    pub(super) fn step(&mut self, choices: &mut Choices<'_>, now: Time) {
        if self.programs.len() < MOST && choices.one_in(4) || self.programs.is_empty() {
            return self.connect(choices, now);
        }
        let Some(id) = choices.of_any(self.programs.keys().copied()) else { return };
        match choices.below(32) {
            0..=5 => self.read(id),
            6..=11 => self.deliver(id, now),
            12..=15 => self.reply(id, now),
            16..=17 => self.reply_to_change(id),
            18..=27 => self.write(id),
            28..=29 => self.request_save(id),
            30 if choices.one_in(8) => self.misbehave(id, choices, now),
            31 if choices.one_in(8) => self.disconnect(id, now),
            _ => {}
        }
    }

    fn connect(&mut self, choices: &mut Choices<'_>, now: Time) {
        self.last += 1;
        let (id, uid) = (self.last, choices.of(&[1000, 1000, 1000, 1001, 0]));
        self.programs.insert(id, Program { uid, is_reliable: true, ..Program::default() });
        let features = match choices.below(4) {
            0 => Features::default(),
            1 => Features::SET_CATEGORIES,
            _ => Features::SET_CATEGORIES.with(Features::STREAM),
        };
        let registration = Registration { uid, features, ..Registration::default() };
        self.on(Input::Registered(id, registration), now);
    }

    /// A program reads its next message.
    fn read(&mut self, id: ProviderId) {
        let program = self.programs.get_mut(&id).expect("it is connected");
        let reply = match program.inbox.pop_front() {
            Some(ToProvider::Initialize(_)) => {
                program.read_buffers += 1;
                program.records = false;
                program.change = None;
                return;
            }
            Some(ToProvider::Start(_)) => {
                program.records = true;
                Sent::Packet(Packet::Started { version: PACKET_VERSION })
            }
            Some(ToProvider::Stop) => {
                program.records = false;
                // This is the reply to a change, too.
                program.change = None;
                Sent::Packet(Packet::Stopped)
            }
            Some(ToProvider::Terminate) => Sent::Closed,
            Some(ToProvider::Stream) => {
                // Two older rolling buffers are full.
                let streaming = Sent::Packet(Packet::Streaming { first: 5, current: 7 });
                program.outbox.push_back((program.read_buffers, streaming));
                let save = Sent::Save(program.written);
                program.outbox.push_back((program.read_buffers, save));
                save
            }
            Some(ToProvider::SetCategories { sequence, .. }) => {
                program.change = Some(sequence);
                program.changed_at.insert(sequence, program.written);
                return;
            }
            _ => return,
        };
        program.outbox.push_back((program.read_buffers, reply));
    }

    /// A program replies to a change of categories, after the earlier records.
    fn reply_to_change(&mut self, id: ProviderId) {
        let is_streaming = self.is_streaming(id);
        let program = self.programs.get_mut(&id).expect("it is connected");
        let Some(sequence) = program.change.take() else { return };
        let buffer = program.read_buffers;
        if is_streaming {
            program.outbox.push_back((buffer, Sent::Save(program.written)));
        }
        let reply = Sent::Packet(Packet::CategoriesSet { sequence });
        program.outbox.push_back((buffer, reply));
    }

    fn is_streaming(&self, id: ProviderId) -> bool {
        let mode = self.coordinator.tracee(id).map(|it| it.mode());
        mode == Some(trace_protocol::mode::BufferingMode::Streaming)
    }

    /// The manager reads the next packet of a program.
    fn deliver(&mut self, id: ProviderId, now: Time) {
        let program = self.programs.get_mut(&id).expect("it is connected");
        let Some((buffer, sent)) = program.outbox.pop_front() else { return };
        if buffer != program.buffers || !program.has_buffer {
            return self.deliver_late(id, buffer, sent, now);
        }
        let event = match sent {
            Sent::Packet(packet) => TraceeEvent::Packet(packet),
            Sent::Closed => TraceeEvent::PacketsClosed,
            Sent::Save(until) => {
                (program.requested, program.is_save_due) = (until, true);
                program.wraps += 1;
                let wrapped_count = program.wraps - 1;
                TraceeEvent::Packet(Packet::SaveBuffer { wrapped_count, durable_data_end: 0 })
            }
        };
        if let Sent::Packet(Packet::CategoriesSet { sequence }) = sent {
            program.confirmed = program.changed_at.get(&sequence).copied();
        }
        self.on(Input::Provider(id, event), now);
        let Some(program) = self.programs.get_mut(&id) else { return };
        program.confirmed = None;
        if let Sent::Save(until) = sent {
            assert!(!program.is_reliable || program.passed >= until, "{id} is saved");
        }
    }

    /// The socket of a packet is closed, but its end is noticed.
    fn deliver_late(&mut self, id: ProviderId, buffer: u32, sent: Sent, now: Time) {
        let program = self.programs.get_mut(&id).expect("it is connected");
        let before = program.retained.len();
        if let Sent::Closed = sent {
            program.retained.retain(|it| *it != buffer);
        }
        if before != 0 && program.retained.is_empty() {
            self.on(Input::BuffersLeft(id), now);
        }
    }

    /// A program records an event. Each session that has started gets it.
    fn write(&mut self, id: ProviderId) {
        let program = self.programs.get_mut(&id).expect("it is connected");
        if !program.is_recorded() {
            return;
        }
        program.written += 1;
        self.written += 1;
        let program = &self.programs[&id];
        let started = self.states.iter().filter(|it| *it.1 == SessionState::Started);
        for (session, _) in started.filter(|_| program.is_reliable) {
            let has_it = self.sinks.contains_key(&(id, *session));
            assert!(has_it || !self.may_record(*session, program), "{session} loses a record");
        }
    }

    /// The program requests to save its rolling buffer.
    fn request_save(&mut self, id: ProviderId) {
        let is_streaming = self.is_streaming(id);
        let program = self.programs.get_mut(&id).expect("it is connected");
        if program.is_recorded() && is_streaming {
            program.outbox.push_back((program.buffers, Sent::Save(program.written)));
        }
    }

    fn misbehave(&mut self, id: ProviderId, choices: &mut Choices<'_>, now: Time) {
        let program = self.programs.get_mut(&id).expect("it is connected");
        program.is_reliable = false;
        let wrapped_count = program.wraps + 1;
        let event = match choices.below(6) {
            0 => TraceeEvent::Packet(Packet::Started { version: PACKET_VERSION + 1 }),
            1 => TraceeEvent::Packet(Packet::Stopped),
            2 => TraceeEvent::Violation(Violation::Flood),
            3 => TraceeEvent::PacketsClosed,
            4 => TraceeEvent::Packet(Packet::SaveBuffer { wrapped_count, durable_data_end: 0 }),
            _ => TraceeEvent::Packet(Packet::CategoriesSet { sequence: 3 }),
        };
        self.on(Input::Provider(id, event), now);
        if self.coordinator.tracee(id).is_none_or(|it| it.state() == TraceeState::Dead) {
            self.programs.remove(&id);
        }
    }

    fn disconnect(&mut self, id: ProviderId, now: Time) {
        self.programs.get_mut(&id).expect("it is connected").is_reliable = false;
        self.on(Input::Provider(id, TraceeEvent::Disconnected), now);
        self.programs.remove(&id);
    }

    /// A program replies to all that it has got.
    fn reply(&mut self, id: ProviderId, now: Time) {
        let has = |it: &Self, what: fn(&Program) -> bool| it.programs.get(&id).is_some_and(what);
        while has(self, |it| !it.inbox.is_empty()) {
            self.read(id);
        }
        if has(self, |_| true) {
            self.reply_to_change(id);
        }
        while has(self, |it| !it.outbox.is_empty()) {
            self.deliver(id, now);
        }
    }

    /// All programs reply to what they get, as long as they get anything.
    pub(super) fn settle(&mut self, now: Time) {
        for _ in 0..8 {
            Vec::from_iter(self.programs.keys().copied())
                .iter()
                .for_each(|id| self.reply(*id, now));
        }
    }
}
