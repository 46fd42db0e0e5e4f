//! The requests of an interleaving, and their outcomes by the model.

use std::time::Duration;

use trace_protocol::control::{
    CategoryChange, ErrorCode, FlushError, FollowRequest, GeneralError, Request, SessionState as S,
    SnapshotRequest, StartError, StartRequest, StopError, StopRequest, TerminateRequest,
    TraceConfig,
};
use trace_protocol::message::BufferDisposition;
use trace_protocol::mode::BufferingMode;

use super::model::{Model, Outcome, Tracked, Wait};
use crate::choices::Choices;
use crate::control_server::limits::ControlLimits;
use crate::control_server::machine::{SessionId, Ticket};

/// Names of sessions. The empty name stands for the only session, or for one that is chosen.
const NAMES: [&str; 4] = ["", "a", "b", "c"];

/// Kinds of replies.
const INITIALIZED: Outcome = Outcome::Replied(0x305);
const STARTED: Outcome = Outcome::Replied(0x306);
const STOPPED: Outcome = Outcome::Replied(0x307);
const TERMINATED: Outcome = Outcome::Replied(0x308);
const FLUSHED: Outcome = Outcome::Replied(0x309);
const WATCHING: Outcome = Outcome::Replied(0x30c);
const CHANGED: Outcome = Outcome::Replied(0x30f);
const PAUSED: Outcome = Outcome::Replied(0x313);
const GROUPS: Outcome = Outcome::Replied(0x303);
const QUOTA: Outcome = general(GeneralError::Quota);

const fn general(error: GeneralError) -> Outcome {
    Outcome::Failed(ErrorCode::General(error))
}

/// The outcomes that a request may have, and what it waits for if it does.
#[derive(Debug)]
pub(super) struct Expectation {
    pub(super) outcomes: Vec<Outcome>,
    pub(super) wait: Wait,
    /// The session that the request means.
    pub(super) session: Option<SessionId>,
}

/// Chooses a request, for a session of this name if it is not one for a new session.
pub(in crate::control_server) fn choose(
    choices: &mut Choices<'_>,
    name: Option<String>,
) -> Request {
    let new = choices.of(&NAMES).to_owned();
    let session = name.unwrap_or_else(|| new.clone());
    match choices.below(32) {
        0..=5 => Request::Initialize(config(new, choices)),
        6..=13 => Request::Start(StartRequest {
            session,
            disposition: choices.of(&[BufferDisposition::Retain, BufferDisposition::ClearEntire]),
            additional_categories: Vec::new(),
        }),
        14..=17 => Request::Stop(StopRequest { session, write_results: choices.one_in(3) }),
        18 => {
            let write_results = choices.one_in(2);
            Request::Terminate(TerminateRequest { session, write_results })
        }
        19..=22 => Request::Watch(session),
        23 => Request::Flush(session),
        24 => Request::Snapshot(SnapshotRequest { session, output: Default::default() }),
        25 => Request::Follow(FollowRequest { session, categories: Vec::new() }),
        26..=27 => {
            let add = vec![choices.of(&["one", "two", "three", "#none", "-four"]).to_owned()];
            Request::ChangeCategories(CategoryChange { session, add, remove: Vec::new() })
        }
        28 => Request::GetStatistics(session),
        29 => Request::GetKnownCategories,
        30 => Request::GetSessions,
        _ => match choices.one_in(2) {
            true => Request::GetProviders,
            false => Request::GetGroups,
        },
    }
}

fn config(name: String, choices: &mut Choices<'_>) -> TraceConfig {
    let modes = [BufferingMode::Oneshot, BufferingMode::Circular, BufferingMode::Streaming];
    TraceConfig {
        name,
        detached: choices.one_in(2),
        mode: choices.of(&modes),
        buffer_size: choices.of(&[0, 1, 1, 1, 2, 2, 4]) << 20,
        duration: Duration::from_secs(choices.of(&[0, 0, 0, 0, 0, 0, 2, 4])),
        start_timeout: Duration::from_secs(choices.of(&[0, 1, 8])),
        stop_timeout: Duration::from_secs(choices.of(&[0, 1, 8])),
        categories: match choices.below(16) {
            0..=3 => Vec::new(),
            4 => vec!["#none".to_owned()],
            _ => vec!["one".to_owned()],
        },
        ..TraceConfig::default()
    }
}

impl Model {
    /// Returns what a request of a connected controller causes.
    pub(super) fn expect(
        &self,
        ticket: Ticket,
        request: &Request,
        limits: &ControlLimits,
    ) -> Expectation {
        let uid = self.clients[&ticket.client];
        let name = match request {
            Request::Start(StartRequest { session, .. })
            | Request::Stop(StopRequest { session, .. })
            | Request::Terminate(TerminateRequest { session, .. })
            | Request::Snapshot(SnapshotRequest { session, .. })
            | Request::Follow(FollowRequest { session, .. })
            | Request::ChangeCategories(CategoryChange { session, .. })
            | Request::Flush(session)
            | Request::GetStatistics(session)
            | Request::Watch(session) => Some(session),
            _ => None,
        };
        let id = name.and_then(|name| self.find(uid, name));
        let found = id.and_then(|id| Some((id, self.sessions.get(&id)?)));
        let (outcomes, wait) = match (request, found) {
            (Request::Initialize(config), _) => {
                (self.of_initialize(uid, config, limits), Wait::Nothing)
            }
            (Request::GetGroups, _) => (vec![GROUPS], Wait::Nothing),
            (Request::GetKnownCategories, _) => (vec![Outcome::Waits, QUOTA], Wait::Job),
            (Request::GetProviders | Request::GetSessions, _) => (vec![Outcome::Waits], Wait::Job),
            (Request::ChangeCategories(CategoryChange { add, .. }), _)
                if add.iter().any(|it| it.starts_with(['#', '-'])) =>
            {
                (vec![general(GeneralError::BadRequest)], Wait::Nothing)
            }
            (request, None) => (vec![missing(request)], Wait::Nothing),
            (request, Some((id, session))) => self.of_session(ticket, request, id, session),
        };
        Expectation { outcomes, wait, session: id }
    }

    fn of_initialize(
        &self,
        uid: u32,
        config: &TraceConfig,
        limits: &ControlLimits,
    ) -> Vec<Outcome> {
        let (number, buffers) =
            self.active_of(uid).fold((0, 0), |(number, sum), it| (number + 1, sum + it.buffer));
        let is_used = self.active_of(uid).any(|it| it.name == config.name);
        let is_wrong = config.buffer_size == 0 || config.categories == ["#none"];
        vec![match () {
            () if is_wrong => general(GeneralError::BadRequest),
            () if number >= limits.sessions => QUOTA,
            () if buffers + config.buffer_size > limits.buffers => QUOTA,
            () if is_used && !config.name.is_empty() => general(GeneralError::NameInUse),
            () => INITIALIZED,
        }]
    }

    fn of_session(
        &self,
        ticket: Ticket,
        request: &Request,
        id: SessionId,
        session: &Tracked,
    ) -> (Vec<Outcome>, Wait) {
        let waits = |wait: Wait| {
            let is_mine =
                |(key, it): (&(u64, u32), &Wait)| key.0 == ticket.client && it.ends_with(wait);
            match self.waits.iter().any(is_mine) {
                // A connection waits once.
                true => (vec![general(GeneralError::BadRequest)], Wait::Nothing),
                false => (vec![Outcome::Waits], wait),
            }
        };
        let at_once = |outcome| (vec![outcome], Wait::Nothing);
        match request {
            Request::Start(_) => match session.state {
                S::Initialized => (vec![Outcome::Waits], Wait::Start(id)),
                // Or its user has started others too often, or the session ends.
                S::Paused => {
                    let failed = general(GeneralError::Failed);
                    (vec![Outcome::Waits, QUOTA, failed], Wait::Start(id))
                }
                S::Starting | S::Started => at_once(start_error(StartError::AlreadyStarted)),
                S::Stopped => at_once(start_error(StartError::Terminating)),
                _ => at_once(start_error(StartError::Stopping)),
            },
            Request::Stop(StopRequest { write_results, .. }) => match session.state {
                _ if session.aborted => at_once(stop_error(StopError::Aborted)),
                S::Initialized => at_once(stop_error(StopError::NotStarted)),
                S::Stopped if *write_results => at_once(STOPPED),
                _ if *write_results => waits(Wait::Archive(id)),
                S::Starting if !session.is_open => at_once(stop_error(StopError::NotStarted)),
                S::Starting | S::Started | S::Pausing => waits(Wait::Pause(id)),
                S::Paused => at_once(PAUSED),
                _ => at_once(stop_error(StopError::Aborted)),
            },
            Request::Terminate(TerminateRequest { write_results, .. }) => match session.state {
                S::Initialized => at_once(TERMINATED),
                S::Stopped if !*write_results => at_once(general(GeneralError::NoSession)),
                S::Stopped => at_once(STOPPED),
                _ => waits(Wait::Results(id)),
            },
            Request::Watch(_) => at_once(WATCHING),
            Request::GetStatistics(_) => (vec![Outcome::Waits], Wait::Job),
            Request::Flush(_) if session.records() => at_once(FLUSHED),
            Request::Flush(_) => at_once(Outcome::Failed(ErrorCode::Flush(FlushError::NotStarted))),
            _ if !session.records() => at_once(general(GeneralError::NoSession)),
            Request::ChangeCategories(_) => (vec![CHANGED, QUOTA], Wait::Nothing),
            _ => (vec![Outcome::Waits, QUOTA], Wait::Job),
        }
    }
}

/// Returns the outcome of a request for a session that the controller does not have.
fn missing(request: &Request) -> Outcome {
    match request {
        Request::Start(_) => start_error(StartError::NotInitialized),
        Request::Stop(_) => stop_error(StopError::NotInitialized),
        Request::Flush(_) => Outcome::Failed(ErrorCode::Flush(FlushError::NotInitialized)),
        _ => general(GeneralError::NoSession),
    }
}

fn start_error(error: StartError) -> Outcome {
    Outcome::Failed(ErrorCode::Start(error))
}

fn stop_error(error: StopError) -> Outcome {
    Outcome::Failed(ErrorCode::Stop(error))
}

/// Returns whether a reply that came later is one for which the request waited. `is_discarded` is
/// whether the session's archive is removed.
pub(super) fn is_result(wait: Wait, outcome: Outcome, is_discarded: bool) -> bool {
    match (wait, outcome) {
        (_, Outcome::Waits | Outcome::Closed) => false,
        (Wait::Nothing, _) | (Wait::Job, _) => true,
        (Wait::Start(_), Outcome::Failed(ErrorCode::General(_))) => true,
        (Wait::Pause(_), Outcome::Failed(code)) => code == ErrorCode::Stop(StopError::Aborted),
        // Its output could not be opened.
        (Wait::Results(_) | Wait::Archive(_), Outcome::Failed(ErrorCode::General(code))) => {
            code == GeneralError::Output
        }
        (Wait::Archive(_), outcome) if is_discarded => outcome == stop_error(StopError::Aborted),
        (Wait::Start(_), outcome) => outcome == STARTED,
        (Wait::Pause(_), outcome) => outcome == PAUSED,
        (Wait::Results(_) | Wait::Archive(_), outcome) => outcome == STOPPED,
    }
}
