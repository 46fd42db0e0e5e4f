//! One session.

use std::sync::Arc;

use trace_protocol::control::{
    Event, Output, ProviderSpec, SessionInfo, SessionState, Summary, TraceConfig, EVENT,
};

use super::{ClientId, Ticket};
use crate::control_server::caller::Caller;
use crate::control_server::convert;
use crate::control_server::event_queue::EventQueue;
use crate::foreign::ForeignDescriptor;
use crate::machine::Time;

/// A session of a user.
#[derive(Debug)]
pub(super) struct ControlledSession {
    /// The controller that initialized it.
    pub(super) caller: Caller,
    /// The connection with which it ends; `None` if it is detached, and was started.
    pub(super) client: Option<ClientId>,
    pub(super) config: TraceConfig,
    pub(super) phase: Phase,
    /// Requests that wait for the results.
    pub(super) waiting: Vec<Waiting>,
    watchers: Vec<ClientId>,
    pub(super) queue: Arc<EventQueue>,
    /// Whether its programs have recorded.
    has_begun: bool,
    /// The time at which it stops.
    pub(super) deadline: Option<Time>,
    /// Whether its results are not written.
    pub(super) aborted: bool,
    /// Why it cannot stop without its results, if it cannot.
    pub(super) no_pause: Option<String>,
}

/// The phase of a session.
#[derive(Debug)]
pub(super) enum Phase {
    /// Has its output, and has not started.
    Initialized(ForeignDescriptor),
    /// Its thread opens the output, or its programs do not record yet. The request waits.
    Starting(Starting),
    /// Records.
    Started,
    /// Waits for its providers to stop, after which it may start again. The requests wait, too.
    Pausing(Vec<Ticket>),
    /// Has stopped, and may start again.
    Paused,
    /// Waits for its providers and its output.
    Stopping,
    /// Has ended, and nobody has taken its results.
    Stopped(Box<Summary>),
}

/// A request that waits for the results.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) ticket: Ticket,
    /// Whether it is a stop, which fails if the session is aborted.
    pub(super) is_stop: bool,
}

/// A start that waits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Starting {
    pub(super) ticket: Ticket,
    /// Whether the session stops as soon as it has opened.
    pub(super) stops: bool,
    /// The time until which the start waits for programs, once the session has opened.
    pub(super) until: Option<Time>,
}

impl Starting {
    /// Returns a start whose session has not opened.
    pub(super) fn new(ticket: Ticket) -> Self {
        Self { ticket, stops: false, until: None }
    }
}

impl ControlledSession {
    pub(super) fn new(
        caller: Caller,
        client: ClientId,
        config: TraceConfig,
        descriptor: ForeignDescriptor,
    ) -> Self {
        let client = Some(client);
        Self { client, ..Self::in_phase(Phase::Initialized(descriptor), caller, config) }
    }

    /// Returns a session that its own process has started, and ends. No connection ends it.
    pub(super) fn served(
        owner: Caller,
        config: TraceConfig,
        queue: Arc<EventQueue>,
        no_pause: Option<String>,
    ) -> Self {
        let session = Self::in_phase(Phase::Started, owner, config);
        Self { queue, no_pause, has_begun: true, ..session }
    }

    /// Returns a session of a killed daemon, which starts again. Nobody waits for it.
    pub(super) fn restored(caller: Caller, config: TraceConfig, queue: Arc<EventQueue>) -> Self {
        let nobody = Ticket { client: 0, id: EVENT };
        let starting = Phase::Starting(Starting::new(nobody));
        Self { queue, ..Self::in_phase(starting, caller, config) }
    }

    fn in_phase(phase: Phase, caller: Caller, config: TraceConfig) -> Self {
        Self {
            caller,
            client: None,
            config,
            phase,
            waiting: Vec::new(),
            watchers: Vec::new(),
            queue: Arc::default(),
            has_begun: false,
            deadline: None,
            aborted: false,
            no_pause: None,
        }
    }

    /// Returns the user to whom it belongs.
    pub(super) fn uid(&self) -> u32 {
        self.caller.peer.uid
    }

    /// Returns whether it has not ended.
    pub(super) fn is_active(&self) -> bool {
        !matches!(self.phase, Phase::Stopped(_))
    }

    /// Returns whether programs record for it. It may wait for others that start.
    pub(super) fn records(&self) -> bool {
        matches!(self.phase, Phase::Started | Phase::Starting(Starting { until: Some(_), .. }))
    }

    /// Returns its category patterns with those of single programs, as `PROGRAM/PATTERN`.
    ///
    /// # Errors
    ///
    /// If a program's name cannot be in a pattern.
    pub(super) fn category_patterns(&self) -> Result<Vec<String>, String> {
        let mut patterns = self.config.categories.clone();
        let own = self.config.providers.iter().filter(|spec| !spec.categories.is_empty());
        for ProviderSpec { name, categories, .. } in own {
            if name.starts_with('-') || name.contains('/') {
                return Err(format!("the categories of the program '{name}' cannot change"));
            }
            if patterns.is_empty() {
                // Patterns of single programs alone would select nothing of other programs.
                patterns.push("*".to_owned());
            }
            patterns.extend(categories.iter().map(|it| match it.strip_prefix('-') {
                Some(excluded) => format!("-{name}/{excluded}"),
                None => format!("{name}/{it}"),
            }));
        }
        Ok(patterns)
    }

    /// Replaces its category patterns, and those of single programs.
    pub(super) fn set_categories(&mut self, patterns: Vec<String>) {
        self.config.categories = patterns;
        self.config.providers.iter_mut().for_each(|spec| spec.categories.clear());
    }

    /// Returns the time at which something is due.
    pub(super) fn deadline(&self) -> Option<Time> {
        [self.deadline, self.starts_until()].into_iter().flatten().min()
    }

    /// Returns the time until which a start of the session waits for programs. Those that do not
    /// reply do not prevent it, and new ones may register all the time.
    pub(super) fn starts_until(&self) -> Option<Time> {
        match &self.phase {
            Phase::Starting(starting) => starting.until,
            _ => None,
        }
    }

    /// Returns [`starts_until`](Self::starts_until) of a start at `now`.
    pub(super) fn start_deadline(&self, now: Time) -> Time {
        now.saturating_add(convert::timeouts(&self.config).start)
    }

    /// Notes that its programs record from `now` on. Its duration begins, if it has one, when they
    /// do so for the first time. Returns whether it begins.
    pub(super) fn begin(&mut self, now: Time) -> bool {
        let duration = self.config.duration;
        let begins = !std::mem::replace(&mut self.has_begun, true) && !duration.is_zero();
        if begins {
            self.deadline = Some(now.saturating_add(duration));
        }
        begins
    }

    pub(super) fn state(&self) -> SessionState {
        match self.phase {
            Phase::Initialized(_) => SessionState::Initialized,
            Phase::Starting(_) => SessionState::Starting,
            Phase::Started => SessionState::Started,
            Phase::Pausing(_) => SessionState::Pausing,
            Phase::Paused => SessionState::Paused,
            Phase::Stopping if self.aborted => SessionState::Terminating,
            Phase::Stopping => SessionState::Stopping,
            Phase::Stopped(_) => SessionState::Stopped,
        }
    }

    /// Returns the event of its state.
    pub(super) fn event(&self) -> Event {
        Event { session: self.config.name.clone(), state: self.state() }
    }

    /// Returns the largest buffer of a provider.
    pub(super) fn buffer_size(&self) -> u64 {
        buffer_size(&self.config)
    }

    /// Adds a client that watches. Returns the alerts of the time when nobody did.
    pub(super) fn watch(&mut self, client: ClientId) -> Vec<String> {
        if !self.watchers.contains(&client) {
            self.watchers.push(client);
        }
        self.queue.watch()
    }

    pub(super) fn watchers(&self) -> Vec<ClientId> {
        self.watchers.clone()
    }

    /// Adds a request that waits for the results. Returns false if its client has one already.
    pub(super) fn wait(&mut self, waiting: Waiting) -> bool {
        let client = waiting.ticket.client;
        let is_first = self.waiting.iter().all(|it| it.ticket.client != client);
        if is_first {
            self.waiting.push(waiting);
        }
        is_first
    }

    /// Removes a client that waits or watches.
    pub(super) fn forget(&mut self, client: ClientId) {
        self.waiting.retain(|it| it.ticket.client != client);
        if let Phase::Pausing(tickets) = &mut self.phase {
            tickets.retain(|ticket| ticket.client != client);
        }
        self.watchers.retain(|watcher| *watcher != client);
        if self.watchers.is_empty() && self.queue.is_watched() {
            self.queue.unwatch();
        }
    }

    /// Returns its description. The control thread adds the progress while it runs.
    pub(super) fn info(&self) -> SessionInfo {
        let mut info = SessionInfo {
            name: self.config.name.clone(),
            uid: self.uid(),
            state: self.state(),
            detached: self.config.detached,
            mode: self.config.mode,
            buffer_size: self.config.buffer_size,
            categories: self.config.categories.clone(),
            output: match &self.config.output {
                Output::Descriptor => String::new(),
                Output::Beneath(name) => name.clone(),
            },
            ..SessionInfo::default()
        };
        if let Phase::Stopped(summary) = &self.phase {
            info.output.clone_from(&summary.output);
            info.elapsed = summary.duration;
            info.joined = summary.providers.len() as u64;
            info.events = summary.providers.iter().map(|provider| provider.events).sum();
            let unwritten = summary.failure.as_ref().map_or(0, |failure| failure.unwritten);
            let dropped = summary.providers.iter().map(|provider| provider.dropped);
            info.lost = dropped.fold(unwritten, u64::saturating_add);
            info.refusals = summary.refusals;
            info.last_refusal = summary.refused.last().cloned();
            info.bytes = summary.bytes;
            info.guard_failure.clone_from(&summary.guard_failure);
            info.failure = summary.failure.as_ref().map(|failure| failure.reason.clone());
        }
        info
    }
}

/// Returns the largest buffer of a provider in a session with this configuration.
pub(super) fn buffer_size(config: &TraceConfig) -> u64 {
    let sizes = config.providers.iter().map(|provider| provider.buffer_size);
    sizes.fold(config.buffer_size, u64::max)
}
