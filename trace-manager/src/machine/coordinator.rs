//! The coordinator of the sessions and all providers.

mod combined;
mod deadlines;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use trace_protocol::message::{ClockSource, Features, StartOptions, ToProvider};

use deadlines::Deadlines;

use super::membership::{Demand, Leaving, Membership, Step};
use super::{
    DurationWatch, ProviderConfig, ProviderSpec, Session, SessionAction, SessionEvent,
    SessionNumber, SessionState, Time, Timeouts, Tracee, TraceeAction, TraceeCounts, TraceeEvent,
    TraceeState,
};

/// The manager's number of a connected provider. Numbers are never reused.
pub type ProviderId = u32;

/// An event for the coordinator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Input {
    /// A provider registered.
    Registered(ProviderId, Registration),
    /// An event of one provider.
    Provider(ProviderId, TraceeEvent),
    /// The provider has left the buffers in which it did not reply in time.
    BuffersLeft(ProviderId),
    /// A provider that waits for its buffer gets none that also serves this session.
    Unserved(ProviderId, SessionNumber),
    /// The caller opens a session. Ignored if it exists.
    Open(SessionNumber, ProviderConfig),
    /// The caller starts the session.
    Start(SessionNumber, StartOptions),
    /// The caller stops the session.
    Stop(SessionNumber),
    /// The caller ends the session.
    Terminate(SessionNumber),
    /// The caller replaces the category patterns of the session, and the differences for the
    /// providers of single names. Providers that record are not interrupted, if they accept it.
    SetCategories(SessionNumber, Vec<String>, Vec<ProviderSpec>),
    /// The caller flushes the current rolling buffers of the session's providers (streaming).
    Flush(SessionNumber),
    /// Time passed.
    Tick,
}

/// A provider that registers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Registration {
    /// Its user, from the kernel.
    pub uid: u32,
    /// Its name.
    pub name: String,
    /// The messages that it supports.
    pub features: Features,
    /// Its clock.
    pub clock: ClockSource,
    /// Its process id, if it records only for the session that has it as its companion.
    pub companion: Option<u32>,
}

/// An action for the event loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    /// An action for one provider.
    Provider(ProviderId, TraceeAction),
    /// A session joins a provider that has its buffer: its sinks get the provider's next records.
    Join(ProviderId, SessionNumber),
    /// A session leaves a provider whose buffer others have, too.
    Leave(ProviderId, SessionNumber, Leaving),
    /// The loop reserves memory for the records that the sessions of a provider with a circular
    /// buffer, and those that are to join it, retain when it streams. Then it reports
    /// [`TraceeEvent::StreamReserved`].
    Stream(ProviderId),
    /// A provider stops, and gets a new buffer, because its sessions change and it cannot change
    /// its categories while it records.
    Restart(ProviderId),
    /// The session has a new state.
    State(SessionNumber, SessionState),
}

/// The sessions and all connected providers.
#[derive(Debug, Default)]
pub struct Coordinator {
    providers: BTreeMap<ProviderId, Provider>,
    sessions: BTreeMap<SessionNumber, Current>,
    /// Providers that may have to change, because their state or that of a session has changed.
    changed: BTreeSet<ProviderId>,
    /// Whether a session may have to change, because its state or that of a provider has changed.
    must_count: bool,
    /// Providers that are dead. They are removed by the next call.
    dead: Vec<ProviderId>,
    /// The times until which sessions wait for replies of providers.
    deadlines: Deadlines,
    /// The number of providers that were looked at.
    #[cfg(test)]
    pub(super) visits: std::cell::Cell<usize>,
    outputs: Vec<Output>,
    /// The unions of the categories of sessions, until a session's state changes: many providers
    /// have the same sessions.
    unions: RefCell<BTreeMap<UnionKey, Vec<String>>>,
}

/// Sessions, and the name of a provider for which one of them has differences. It is empty for all
/// other providers.
type UnionKey = (Vec<SessionNumber>, String);

#[derive(Debug)]
struct Current {
    session: Session,
    config: ProviderConfig,
    start: StartOptions,
}

#[derive(Debug, Default)]
struct Provider {
    uid: u32,
    name: String,
    clock: ClockSource,
    companion: Option<u32>,
    tracee: Tracee,
    membership: Membership,
}

impl Provider {
    /// Returns the time until which the sessions wait for its reply, if they do.
    fn deadline(&self) -> Option<Time> {
        let Self { tracee, membership, .. } = self;
        tracee.deadline().into_iter().chain(membership.deadline(tracee)).min()
    }
}

impl Coordinator {
    /// Creates a coordinator without providers and without sessions.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a session's state; `None` if there is no such session.
    pub fn session_state(&self, session: SessionNumber) -> Option<SessionState> {
        self.sessions.get(&session).map(|current| current.session.state())
    }

    /// Returns whether a session stops, and may start again.
    pub fn is_pausing(&self, session: SessionNumber) -> bool {
        self.sessions.get(&session).is_some_and(|current| current.session.is_pausing())
    }

    /// Returns the connected providers that are in a session, or join it as soon as they can: when
    /// they have a buffer, or have left the one for other sessions, or when the session starts
    /// again.
    pub fn participants(&self, session: SessionNumber) -> impl Iterator<Item = ProviderId> + '_ {
        let current = self.sessions.get(&session);
        let records = |it: &Current| it.session.state().is_running() || it.session.is_pausing();
        let records = current.filter(|it| records(it));
        let joins = move |(id, it): &(&ProviderId, &Provider)| {
            it.membership.takes_part(session)
                || records.is_some_and(|records| self.may_record(records, **id))
                    && !it.membership.excludes(session)
        };
        let connected = |it: &Provider| it.tracee.state() != TraceeState::Dead;
        let providers = self.providers.iter().filter(move |(_, it)| connected(it));
        providers.filter(joins).map(|(id, _)| *id)
    }

    /// Returns a connected provider.
    pub fn tracee(&self, id: ProviderId) -> Option<&Tracee> {
        self.providers.get(&id).map(|provider| &provider.tracee)
    }

    /// Returns whether a provider has answered that it records for a session.
    pub fn has_answered(&self, id: ProviderId, session: SessionNumber) -> bool {
        let answered = |it: &Provider| it.membership.has_answered(session, &it.tracee);
        self.providers.get(&id).is_some_and(answered)
    }

    /// Returns the sessions that a provider is in, or for which it waits for its buffer.
    pub fn sessions_of(&self, id: ProviderId) -> Vec<SessionNumber> {
        self.providers.get(&id).map_or(Vec::new(), |provider| provider.membership.sessions())
    }

    /// Returns the sessions that a provider is in, and those that record and are to join it.
    pub fn expected_sessions_of(&self, id: ProviderId) -> Vec<SessionNumber> {
        let mut sessions = self.sessions_of(id);
        let joining = self.demand(id).running.into_iter();
        let joining: Vec<_> = joining.filter(|session| !sessions.contains(session)).collect();
        sessions.extend(joining);
        sessions
    }

    /// Returns the combined configuration of the sessions that a provider is in.
    pub fn config_of(&self, id: ProviderId) -> ProviderConfig {
        self.config_for(id, &self.sessions_of(id))
    }

    /// Returns the time at which an [`Input::Tick`] is due.
    pub fn deadline(&self) -> Option<Time> {
        self.deadlines.first()
    }

    /// Returns the providers whose time for a reply is over at the time `now`. Their packets should
    /// be read before an [`Input::Tick`]: the reply may be among them.
    pub fn overdue(&self, now: Time) -> Vec<ProviderId> {
        self.deadlines.until(now).collect()
    }

    /// Returns whether the provider's time for a reply is over at the time `now`.
    pub fn is_overdue(&self, id: ProviderId, now: Time) -> bool {
        self.deadlines.of(id).is_some_and(|deadline| deadline <= now)
    }

    /// Handles an event at the time `now`. Returns the actions, in order.
    ///
    /// Dead providers stay available until the next call.
    pub fn on(&mut self, input: Input, now: Time) -> Vec<Output> {
        for id in std::mem::take(&mut self.dead) {
            self.providers.remove(&id);
            self.deadlines.set(id, None);
            self.must_count = true;
        }
        match input {
            Input::Registered(id, registration) => self.registered(id, registration),
            Input::Provider(id, event) => self.tracee_event(id, event, now),
            Input::BuffersLeft(id) => {
                if let Some(provider) = self.providers.get_mut(&id) {
                    provider.membership.has_left_buffers();
                    self.changed.insert(id);
                    self.note_deadline(id);
                }
            }
            Input::Unserved(id, session) => {
                let waits = |it: &&mut Provider| it.tracee.state() == TraceeState::Initializing;
                if let Some(provider) = self.providers.get_mut(&id).filter(waits) {
                    provider.membership.leave_unserved(session);
                    self.changed.insert(id);
                }
            }
            Input::Open(session, config) => self.open(session, config),
            Input::Start(session, options) => {
                self.session(session, SessionEvent::Start(options));
            }
            Input::Stop(session) => self.session(session, SessionEvent::Stop),
            Input::Terminate(session) => self.session(session, SessionEvent::Terminate),
            Input::SetCategories(session, categories, providers) => {
                self.set_categories(session, categories, providers);
            }
            Input::Flush(session) => self.flush(session, now),
            Input::Tick => self.tick(now),
        }
        self.settle(now);
        std::mem::take(&mut self.outputs)
    }

    fn registered(&mut self, id: ProviderId, registration: Registration) {
        let Registration { uid, name, features, clock, companion } = registration;
        let tracee = Tracee::new(features);
        let provider = Provider { uid, name, clock, companion, tracee, ..Provider::default() };
        self.providers.insert(id, provider);
        let is_running = |it: &Current| it.session.state().is_running();
        let started = self.sessions.values().any(|it| is_running(it) && self.may_record(it, id));
        let reply = TraceeAction::Send(ToProvider::Registered { started });
        self.outputs.push(Output::Provider(id, reply));
        self.changed.insert(id);
    }

    fn open(&mut self, number: SessionNumber, config: ProviderConfig) {
        if self.sessions.contains_key(&number) {
            return;
        }
        let (session, start) = (Session::new(), StartOptions::default());
        self.sessions.insert(number, Current { session, config, start });
        self.entered(number, SessionState::Initialized);
    }

    /// Notes that a session has a new state.
    fn entered(&mut self, session: SessionNumber, state: SessionState) {
        self.outputs.push(Output::State(session, state));
        self.must_count = true;
        self.changed.extend(self.providers.keys());
        self.unions.get_mut().clear();
        if state == SessionState::Terminated {
            self.sessions.remove(&session);
            self.providers.values_mut().for_each(|it| it.membership.forget(session));
        }
    }

    fn session(&mut self, number: SessionNumber, event: SessionEvent) {
        let Some(current) = self.sessions.get_mut(&number) else { return };
        let before = current.session.state();
        let action = current.session.on(event);
        let after = current.session.state();
        if let Some(SessionAction::StartAll(options)) = &action {
            current.start = options.clone();
        }
        // A provider that has stopped for this session gets a new buffer.
        if before == SessionState::Stopped && matches!(action, Some(SessionAction::StartAll(_))) {
            for Provider { tracee, membership, .. } in self.providers.values_mut() {
                membership.start_again(number, tracee);
            }
        }
        if before != after {
            self.entered(number, after);
        }
    }

    /// Changes providers by the states of the sessions, and sessions by the states of their
    /// providers, until both are stable.
    fn settle(&mut self, now: Time) {
        loop {
            while let Some(id) = self.changed.pop_first() {
                self.visit();
                self.settle_provider(id, now);
                self.must_count = true;
            }
            // Most inputs, such as requests to save, change nothing that sessions wait for.
            if !std::mem::take(&mut self.must_count) {
                return;
            }
            let numbers: Vec<SessionNumber> = self.sessions.keys().copied().collect();
            for number in numbers {
                let counts = self.counts(number);
                self.session(number, SessionEvent::Counts(counts));
            }
        }
    }

    /// Counts that a provider is looked at.
    #[inline]
    fn visit(&self) {
        #[cfg(test)]
        self.visits.set(self.visits.get() + 1);
    }

    /// Notes until when the sessions of a provider wait for its reply, after its state has changed.
    fn note_deadline(&mut self, id: ProviderId) {
        self.deadlines.set(id, self.providers.get(&id).and_then(Provider::deadline));
    }

    fn settle_provider(&mut self, id: ProviderId, now: Time) {
        let demand = self.demand(id);
        let Some(provider) = self.providers.get_mut(&id) else { return };
        let steps = provider.membership.next(&provider.tracee, &demand, now);
        // Those of sessions that have left do not count.
        let sessions = provider.membership.sessions();
        let timeouts = sessions.iter().filter_map(|session| demand.timeouts.get(session).copied());
        if let Some(timeouts) = timeouts.reduce(Timeouts::max) {
            provider.tracee.set_timeouts(timeouts);
        }
        for step in steps {
            match step {
                Step::Join(session) => self.outputs.push(Output::Join(id, session)),
                Step::Leave(session, it) => self.outputs.push(Output::Leave(id, session, it)),
                Step::Initialize => {
                    let config = self.config_of(id);
                    self.tracee_event(id, TraceeEvent::Initialize(config), now);
                }
                Step::Start => {
                    self.set_conditions(id, &sessions, now);
                    let options = self.start_options(id);
                    self.tracee_event(id, TraceeEvent::Start(options), now);
                }
                Step::SetCategories => {
                    let joined = self.joined(id, &demand.running);
                    self.set_conditions(id, &joined, now);
                    let categories = self.combine_started(id, &joined);
                    self.tracee_event(id, TraceeEvent::SetCategories(categories), now);
                }
                Step::Stream => {
                    self.tracee_event(id, TraceeEvent::Stream, now);
                    self.outputs.push(Output::Stream(id));
                }
                Step::KeepMode => self.tracee_event(id, TraceeEvent::KeepMode, now),
                Step::Restart => {
                    self.outputs.push(Output::Restart(id));
                    self.tracee_event(id, TraceeEvent::Stop, now);
                }
                Step::Stop => self.tracee_event(id, TraceeEvent::Stop, now),
                Step::Terminate => self.tracee_event(id, TraceeEvent::Terminate, now),
            }
        }
        self.note_deadline(id);
    }

    /// Returns those of the sessions that a provider records for.
    fn joined(&self, id: ProviderId, sessions: &[SessionNumber]) -> Vec<SessionNumber> {
        self.providers.get(&id).map_or(Vec::new(), |it| it.membership.joined(sessions))
    }

    /// Passes the conditions of these sessions to a provider.
    fn set_conditions(&mut self, id: ProviderId, sessions: &[SessionNumber], now: Time) {
        let clock = self.providers.get(&id).map_or_else(ClockSource::default, |it| it.clock);
        let sessions = sessions.iter().filter_map(|session| self.sessions.get(session));
        let watches = sessions.flat_map(|session| session.config.watches.iter().cloned());
        let limits = DurationWatch::limits(watches.collect(), clock);
        self.tracee_event(id, TraceeEvent::SetConditions(limits), now);
    }

    /// Returns the sessions that a provider should serve.
    fn demand(&self, id: ProviderId) -> Demand {
        let mut demand = Demand::default();
        let Some(provider) = self.providers.get(&id) else { return demand };
        for (number, current) in &self.sessions {
            demand.timeouts.insert(*number, current.config.timeouts);
            let excluded = provider.membership.excludes(*number) || !self.may_record(current, id);
            match current.session.state() {
                state if state.is_running() && !excluded => demand.running.push(*number),
                SessionState::Initialized if !excluded => demand.initialized.push(*number),
                SessionState::Terminating => demand.ending.push(*number),
                _ => {}
            }
        }
        demand
    }

    /// Returns whether a session may record a provider: it records those of one user, or all, and
    /// may be limited to some of them. A companion has one session.
    fn may_record(&self, session: &Current, id: ProviderId) -> bool {
        let Some(provider) = self.providers.get(&id) else { return false };
        let ProviderConfig { user, only, companion, .. } = &session.config;
        user.is_none_or(|user| user == provider.uid)
            && match provider.companion {
                Some(_) => provider.companion == *companion,
                None => only.includes(Some(id), &provider.name),
            }
    }

    fn counts(&self, session: SessionNumber) -> TraceeCounts {
        let mut counts = TraceeCounts::default();
        let Some(current) = self.sessions.get(&session) else { return counts };
        let is_running = current.session.state().is_running();
        for (id, Provider { tracee, membership, .. }) in &self.providers {
            self.visit();
            let may_join = is_running && self.may_record(current, *id);
            if membership.has(session) {
                let is_starting = membership.is_starting(session, tracee);
                counts.present += 1;
                counts.starting += usize::from(is_starting);
                counts.unstopped += usize::from(tracee.is_unstopped() || tracee.is_leaving());
            } else if may_join && tracee.in_session() && !membership.excludes(session) {
                counts.starting += 1;
            }
        }
        counts
    }

    fn set_categories(
        &mut self,
        session: SessionNumber,
        categories: Vec<String>,
        providers: Vec<ProviderSpec>,
    ) {
        let Some(current) = self.sessions.get_mut(&session) else { return };
        (current.config.categories, current.config.providers) = (categories, providers);
        self.unions.get_mut().clear();
        for (id, provider) in &mut self.providers {
            if provider.membership.has(session) {
                provider.membership.change_categories();
                self.changed.insert(*id);
            }
        }
    }

    fn flush(&mut self, session: SessionNumber, now: Time) {
        let providers = self.providers.iter().filter(|(_, it)| it.membership.has(session));
        let ids: Vec<ProviderId> = providers.map(|(id, _)| *id).collect();
        for id in ids {
            self.tracee_event(id, TraceeEvent::Flush, now);
        }
    }

    fn tick(&mut self, now: Time) {
        for (id, Provider { tracee, membership, .. }) in &mut self.providers {
            if membership.expire(tracee, now) {
                self.changed.insert(*id);
            }
        }
        let ids: Vec<ProviderId> = self.providers.keys().copied().collect();
        for id in ids {
            self.tracee_event(id, TraceeEvent::Tick, now);
        }
    }

    fn tracee_event(&mut self, id: ProviderId, event: TraceeEvent, now: Time) {
        let Some(Provider { tracee, membership, .. }) = self.providers.get_mut(&id) else { return };
        let progress = |it: &Tracee| (it.state(), it.changes(), it.stream());
        let before = progress(tracee);
        let actions = tracee.on(event, now);
        if before != progress(tracee) {
            self.changed.insert(id);
        }
        membership.after(&actions, tracee);
        if tracee.state() == TraceeState::Dead && before.0 != TraceeState::Dead {
            self.dead.push(id);
        }
        self.note_deadline(id);
        self.outputs.extend(actions.into_iter().map(|action| Output::Provider(id, action)));
    }
}
