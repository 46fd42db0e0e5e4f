//! The requests of controllers.

use std::sync::Arc;

use trace_protocol::categories;
use trace_protocol::control::{
    check_categories, CategoryChange, ConfigurationInfo, ControlError, ErrorCode, FlushError,
    FollowRequest, GeneralError, GroupInfo, Reply, Request, SnapshotRequest, StartError,
    StartRequest, StopError, StopRequest, TerminateRequest, ToDaemon, TraceConfig, EVENT,
};

use super::session::{ControlledSession, Phase, Starting, Waiting};
use super::{
    ClientId, ControlMachine, FollowJob, OpenRequest, Output, Query, SessionId, SnapshotJob, Ticket,
};
use crate::control_server::caller::Caller;
use crate::control_server::triggers::check_rules;
use crate::foreign::ForeignDescriptor;
use crate::machine::Time;

const NOT_RECORDING: &str = "the session does not record";

/// A refused request.
pub(super) type Refused = (ErrorCode, String);

pub(super) fn general(code: GeneralError, reason: impl Into<String>) -> Refused {
    (ErrorCode::General(code), reason.into())
}

/// Returns the reply to a stop of a session whose results another request has discarded.
pub(super) fn aborted() -> Refused {
    (ErrorCode::Stop(StopError::Aborted), "the session was aborted".to_owned())
}

impl ControlMachine {
    pub(super) fn request(
        &mut self,
        client: ClientId,
        message: ToDaemon,
        descriptor: Option<ForeignDescriptor>,
        now: Time,
    ) {
        let Some(Caller { peer, .. }) = self.clients.get(&client) else { return };
        if !self.own.contains(&client) && !self.requests.take(peer.uid, now) {
            let reason = format!("more than {} requests in a second", self.limits.requests);
            return self.close(client, &reason);
        }
        let ticket = Ticket { client, id: message.id };
        if self.is_ending {
            return self.fail(ticket, GeneralError::ShuttingDown, "the daemon ends");
        }
        if let Err((code, reason)) = self.handle(ticket, message.request, descriptor, now) {
            self.reply(ticket, Reply::Failed(ControlError { code, reason }));
        }
    }

    fn handle(
        &mut self,
        ticket: Ticket,
        request: Request,
        descriptor: Option<ForeignDescriptor>,
        now: Time,
    ) -> Result<(), Refused> {
        match request {
            Request::GetProviders => self.query(ticket, Query::Providers(self.programs_of(ticket))),
            Request::GetKnownCategories => return self.query_categories(ticket),
            Request::GetGroups => self.reply_groups(ticket),
            Request::GetSessions => self.query_sessions(ticket),
            Request::GetConfiguration => self.reply_configuration(ticket),
            Request::Initialize(config) => return self.initialize(ticket, config, descriptor),
            Request::Start(start) => return self.start(ticket, start, now),
            Request::Stop(stop) => return self.request_stop(ticket, &stop, now),
            Request::Terminate(end) => return self.terminate(ticket, &end),
            Request::Flush(name) => return self.flush(ticket, &name, now),
            Request::Snapshot(snapshot) => return self.snapshot(ticket, snapshot, descriptor, now),
            Request::GetStatistics(name) => {
                let id = self.find(ticket, &name)?;
                self.query(ticket, Query::Statistics(id));
            }
            Request::Watch(name) => return self.watch(ticket, &name),
            Request::ChangeCategories(change) => {
                return self.change_categories(ticket, &change, now)
            }
            Request::Follow(follow) => return self.follow(ticket, &follow, descriptor, now),
        }
        Ok(())
    }

    fn query(&mut self, ticket: Ticket, query: Query) {
        self.outputs.push(Output::Query(ticket, query));
    }

    /// Starts a query, which takes up to a second, or shares the one that runs. Replies are large,
    /// so that a connection has one at a time.
    fn query_categories(&mut self, ticket: Ticket) -> Result<(), Refused> {
        let user = self.programs_of(ticket);
        let waiting = self.category_queries.entry(user).or_default();
        if waiting.iter().any(|it| it.client == ticket.client) {
            let reason = "this connection already waits for the known categories";
            return Err(general(GeneralError::Quota, reason));
        }
        waiting.push(ticket);
        if waiting.len() == 1 {
            self.outputs.push(Output::QueryCategories(user));
        }
        Ok(())
    }

    fn reply_groups(&mut self, ticket: Ticket) {
        let groups = self.groups.iter().map(|(name, categories)| GroupInfo {
            name: name.clone(),
            categories: categories.clone(),
        });
        let groups = groups.collect();
        self.reply(ticket, Reply::Groups(groups));
    }

    /// Sessions of others have names that a controller does not see.
    fn reply_configuration(&mut self, ticket: Ticket) {
        let (owner, configuration) = &self.configuration;
        let is_visible = self.peer(ticket).is_some_and(|peer| [0, *owner].contains(&peer.uid));
        let configuration = match is_visible {
            true => configuration.clone(),
            false => ConfigurationInfo {
                is_complete: configuration.is_complete,
                ..ConfigurationInfo::default()
            },
        };
        self.reply(ticket, Reply::Configuration(configuration));
    }

    fn query_sessions(&mut self, ticket: Ticket) {
        let sessions = self.visible(ticket).map(|(id, session)| (id, session.info())).collect();
        self.query(ticket, Query::Sessions(sessions));
    }

    fn initialize(
        &mut self,
        ticket: Ticket,
        mut config: TraceConfig,
        descriptor: Option<ForeignDescriptor>,
    ) -> Result<(), Refused> {
        if self.is_recorder {
            let reason = "a recorder starts no sessions for others\nhint: start a daemon with \
                          trace daemon";
            return Err(general(GeneralError::Unsupported, reason));
        }
        let bad = |reason: String| general(GeneralError::BadRequest, reason);
        config.check().map_err(bad)?;
        let descriptor = descriptor.ok_or_else(|| bad("the output is missing".to_owned()))?;
        config.categories = self.expand(&config.categories)?;
        let Some(caller) = self.clients.get(&ticket.client).copied() else { return Ok(()) };
        check_rules(&config, self.own.contains(&ticket.client)).map_err(bad)?;
        let uid = caller.peer.uid;
        self.check_quota(uid, &config)?;
        self.choose_name(uid, &mut config)?;
        let name = config.name.clone();
        self.last_session += 1;
        let session = ControlledSession::new(caller, ticket.client, config, descriptor);
        self.sessions.insert(self.last_session, session);
        self.reply(ticket, Reply::Initialized(name));
        Ok(())
    }

    /// Replaces the groups in category patterns. Checks the result.
    fn expand(&self, categories: &[String]) -> Result<Vec<String>, Refused> {
        let mut expanded = Vec::new();
        for pattern in categories {
            if pattern.contains("/#") || pattern.starts_with("-#") {
                let reason = match pattern.starts_with('-') {
                    true => format!("'{pattern}': a group is not excluded, but its categories"),
                    false => format!("'{pattern}': a group is for all providers"),
                };
                return Err(general(GeneralError::Unsupported, reason));
            }
            match pattern.strip_prefix('#') {
                None => expanded.push(pattern.clone()),
                Some(name) => match self.groups.get(name) {
                    Some(group) => expanded.extend_from_slice(group),
                    None => {
                        let reason = format!(
                            "there is no category group '#{name}'\nhint: trace list groups shows \
                             them"
                        );
                        return Err(general(GeneralError::BadRequest, reason));
                    }
                },
            }
        }
        check_categories(&expanded).map_err(|it| general(GeneralError::BadRequest, it))?;
        Ok(expanded)
    }

    /// Checks the session's name, or sets it. A session replaces results of its name.
    fn choose_name(&mut self, uid: u32, config: &mut TraceConfig) -> Result<(), Refused> {
        let find = |name: &str| {
            let mut sessions = self.sessions.iter();
            let found = sessions.find(|(_, it)| it.uid() == uid && it.config.name == name);
            found.map(|(id, session)| (*id, session.is_active()))
        };
        if config.name.is_empty() {
            let mut names = (1u64..).map(|number| format!("session-{number}"));
            config.name = names.find(|name| find(name).is_none()).unwrap_or_default();
        }
        match find(&config.name) {
            Some((_, true)) => {
                let reason = format!("a session has the name '{}' already", config.name);
                return Err(general(GeneralError::NameInUse, reason));
            }
            Some((id, false)) => drop(self.remove(id)),
            None => {}
        }
        Ok(())
    }

    fn start(&mut self, ticket: Ticket, start: StartRequest, now: Time) -> Result<(), Refused> {
        let refused = |error, reason: &str| Err((ErrorCode::Start(error), reason.to_owned()));
        start.check().map_err(|reason| general(GeneralError::BadRequest, reason))?;
        let mut additional = self.expand(&start.additional_categories)?;
        let id = match self.find(ticket, &start.session) {
            Ok(id) => id,
            Err((_, reason)) => return refused(StartError::NotInitialized, &reason),
        };
        let Some(session) = self.sessions.get_mut(&id) else { return Ok(()) };
        match session.phase {
            Phase::Initialized(_) => {}
            Phase::Starting(_) | Phase::Started => {
                return refused(StartError::AlreadyStarted, "the session has started already")
            }
            Phase::Paused => return self.start_again(ticket, id, &start, &additional, now),
            Phase::Pausing(_) | Phase::Stopping => {
                return refused(StartError::Stopping, "the session is stopping")
            }
            Phase::Stopped(_) => return refused(StartError::Terminating, "the session has ended"),
        }
        // An empty list selects all categories already.
        let selects_all = session.config.categories.is_empty();
        if !selects_all {
            additional.splice(0..0, session.config.categories.iter().cloned());
            check_categories(&additional).map_err(|it| general(GeneralError::BadRequest, it))?;
        }
        let Some(caller) = self.clients.get(&ticket.client) else { return Ok(()) };
        if !self.own.contains(&ticket.client) && !self.starts.take(caller.peer.uid, now) {
            let reason = format!("more than {} sessions start in a minute", self.limits.starts);
            return Err(general(GeneralError::Quota, reason));
        }
        if !selects_all {
            session.config.categories = additional;
        }
        let starting = Phase::Starting(Starting::new(ticket));
        let Phase::Initialized(descriptor) = std::mem::replace(&mut session.phase, starting) else {
            return Ok(());
        };
        if session.config.detached {
            session.client = None;
        }
        let (config, caller, queue) =
            (session.config.clone(), session.caller, Arc::clone(&session.queue));
        let event = Reply::StateChanged(session.event());
        self.notify(id, &event);
        let descriptor = Some(descriptor);
        let is_own = self.own.contains(&ticket.client);
        let request = OpenRequest { config, descriptor, caller, queue, earlier: None, is_own };
        self.outputs.push(Output::Open(id, Box::new(request)));
        Ok(())
    }

    fn request_stop(
        &mut self,
        ticket: Ticket,
        stop: &StopRequest,
        now: Time,
    ) -> Result<(), Refused> {
        let refused = |error, reason: String| Err((ErrorCode::Stop(error), reason));
        let id = match self.find(ticket, &stop.session) {
            Ok(id) => id,
            Err((_, reason)) => return refused(StopError::NotInitialized, reason),
        };
        let Some(session) = self.sessions.get_mut(&id) else { return Ok(()) };
        if let (Some(reason), false) = (&session.no_pause, stop.write_results) {
            return Err(general(GeneralError::Unsupported, reason));
        }
        if session.aborted {
            return Err(aborted());
        }
        if matches!(session.phase, Phase::Initialized(_)) {
            return refused(StopError::NotStarted, "the session has not started".to_owned());
        }
        match stop.write_results {
            true => self.end_for(Waiting { ticket, is_stop: true }, id, false),
            false => self.pause(ticket, id, now),
        }
    }

    fn terminate(&mut self, ticket: Ticket, end: &TerminateRequest) -> Result<(), Refused> {
        let id = self.find(ticket, &end.session)?;
        if self.is_recorder && !end.write_results {
            let reason = "a recorder's session cannot be aborted\nhint: use trace stop";
            return Err(general(GeneralError::Unsupported, reason));
        }
        let has_ended = self.sessions.get(&id).filter(|session| !session.is_active());
        if let (Some(session), false) = (has_ended, end.write_results) {
            let reason = format!(
                "cannot abort session {}: it has ended\nhint: trace stop shows its results",
                session.config.name
            );
            return Err(general(GeneralError::NoSession, reason));
        }
        self.end_for(Waiting { ticket, is_stop: false }, id, !end.write_results)
    }

    /// Ends a session. The reply has the results.
    fn end_for(&mut self, waiting: Waiting, id: SessionId, aborted: bool) -> Result<(), Refused> {
        let ticket = waiting.ticket;
        let Some(session) = self.sessions.get_mut(&id) else { return Ok(()) };
        match &session.phase {
            Phase::Initialized(_) => self.reply(ticket, Reply::Terminated),
            Phase::Stopped(summary) => {
                let reply = Reply::Stopped((**summary).clone());
                self.reply(ticket, reply);
            }
            _ => {
                if !session.wait(waiting) {
                    let reason = "this connection waits for the end of the session already";
                    return Err(general(GeneralError::BadRequest, reason));
                }
                if aborted {
                    self.abort(id);
                }
            }
        }
        self.end(id);
        Ok(())
    }

    /// Fails if a session does not record.
    fn check_records(&self, id: SessionId) -> Result<(), Refused> {
        match self.sessions.get(&id).is_some_and(ControlledSession::records) {
            true => Ok(()),
            false => Err(general(GeneralError::NoSession, NOT_RECORDING)),
        }
    }

    fn flush(&mut self, ticket: Ticket, name: &str, now: Time) -> Result<(), Refused> {
        let refused = |error, reason: String| Err((ErrorCode::Flush(error), reason));
        let id = match self.find(ticket, name) {
            Ok(id) => id,
            Err((_, reason)) => return refused(FlushError::NotInitialized, reason),
        };
        if !self.sessions.get(&id).is_some_and(ControlledSession::records) {
            return refused(FlushError::NotStarted, NOT_RECORDING.to_owned());
        }
        let Some(peer) = self.peer(ticket) else { return Ok(()) };
        if !self.own.contains(&ticket.client) && !self.flushes.take(peer.uid, now) {
            let reason = format!("more than {} flushes in a second", self.limits.flushes);
            return Err(general(GeneralError::Quota, reason));
        }
        self.outputs.push(Output::Flush(id));
        self.reply(ticket, Reply::Flushed);
        Ok(())
    }

    fn snapshot(
        &mut self,
        ticket: Ticket,
        request: SnapshotRequest,
        descriptor: Option<ForeignDescriptor>,
        now: Time,
    ) -> Result<(), Refused> {
        let bad = |reason: String| general(GeneralError::BadRequest, reason);
        request.output.check().map_err(bad)?;
        let descriptor = descriptor.ok_or_else(|| bad("the output is missing".to_owned()))?;
        let id = self.find(ticket, &request.session)?;
        self.check_records(id)?;
        let Some(peer) = self.peer(ticket) else { return Ok(()) };
        let running = self.running_snapshots.get(&peer.uid).copied().unwrap_or(0);
        if running >= self.limits.running_snapshots {
            let reason = format!("{running} snapshots of user {} are not written yet", peer.uid);
            return Err(general(GeneralError::Quota, reason));
        }
        if !self.snapshots.take(peer.uid, now) {
            let reason = format!("more than {} snapshots in a minute", self.limits.snapshots);
            return Err(general(GeneralError::Quota, reason));
        }
        self.running_snapshots.insert(peer.uid, running + 1);
        let job = SnapshotJob { output: request.output, descriptor, peer };
        self.outputs.push(Output::Snapshot(id, ticket, job));
        Ok(())
    }

    fn follow(
        &mut self,
        ticket: Ticket,
        request: &FollowRequest,
        descriptor: Option<ForeignDescriptor>,
        now: Time,
    ) -> Result<(), Refused> {
        let bad = |reason: String| general(GeneralError::BadRequest, reason);
        let descriptor = descriptor.ok_or_else(|| bad("the output is missing".to_owned()))?;
        check_categories(&request.categories).map_err(bad)?;
        let categories = self.expand(&request.categories)?;
        let id = self.find(ticket, &request.session)?;
        self.check_records(id)?;
        let Some(peer) = self.peer(ticket) else { return Ok(()) };
        let lease = self.lease_stream(peer.uid)?;
        self.take_change(ticket, now)?;
        let job = FollowJob { categories, descriptor, peer, lease };
        self.outputs.push(Output::Follow(id, ticket, job));
        Ok(())
    }

    /// Changes the categories of a session that records.
    fn change_categories(
        &mut self,
        ticket: Ticket,
        change: &CategoryChange,
        now: Time,
    ) -> Result<(), Refused> {
        let bad = |reason: String| general(GeneralError::BadRequest, reason);
        let lists = [&change.add, &change.remove];
        if let Some(pattern) = lists.into_iter().flatten().find(|it| it.starts_with('-')) {
            return Err(bad(format!("'{pattern}': exclude a category by removing it")));
        }
        let (add, remove) = (self.expand(&change.add)?, self.expand(&change.remove)?);
        let id = self.find(ticket, &change.session)?;
        self.check_records(id)?;
        let Some(session) = self.sessions.get(&id) else { return Ok(()) };
        let earlier = session.category_patterns().map_err(bad)?;
        let changed = categories::change(&earlier, &add, &remove);
        check_categories(&changed).map_err(bad)?;
        if changed == earlier {
            self.reply(ticket, Reply::CategoriesChanged(changed));
            return Ok(());
        }
        self.take_change(ticket, now)?;
        self.outputs.push(Output::SetCategories(id, ticket, changed));
        Ok(())
    }

    /// Fails if the user has changed the sessions' categories, started stopped sessions again, or
    /// started live streams, too often. These take time for each program.
    pub(super) fn take_change(&mut self, ticket: Ticket, now: Time) -> Result<(), Refused> {
        let Some(peer) = self.peer(ticket) else { return Ok(()) };
        if self.own.contains(&ticket.client) || self.category_changes.take(peer.uid, now) {
            return Ok(());
        }
        let limit = self.limits.category_changes;
        let reason = format!(
            "more than {limit} category changes, further starts or live streams in a minute"
        );
        Err(general(GeneralError::Quota, reason))
    }

    /// Stores the new patterns of a session if they are set.
    pub(super) fn categories_set(
        &mut self,
        id: SessionId,
        ticket: Ticket,
        result: Result<Vec<String>, ControlError>,
    ) {
        if let (Ok(patterns), Some(session)) = (&result, self.sessions.get_mut(&id)) {
            session.set_categories(patterns.clone());
        }
        self.reply(ticket, result.map_or_else(Reply::Failed, Reply::CategoriesChanged));
    }

    fn watch(&mut self, ticket: Ticket, name: &str) -> Result<(), Refused> {
        let id = self.find(ticket, name)?;
        let Some(session) = self.sessions.get_mut(&id) else { return Ok(()) };
        let alerts = session.watch(ticket.client);
        let event = session.event();
        self.reply(ticket, Reply::Watching);
        // The first event has the present state, so that none is missed.
        let first = Ticket { id: EVENT, ..ticket };
        self.reply(first, Reply::StateChanged(event.clone()));
        for alert in alerts {
            self.reply(first, Reply::Alert((event.clone(), alert)));
        }
        Ok(())
    }
}
