//! The queries of controllers.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use trace_protocol::control::{Reply, SessionInfo};

use super::recent::Subject;
use super::{failed, no_session, ControlLoop};
use crate::control_server::convert;
use crate::control_server::machine::{Input, Query, SessionId, Ticket};
use crate::control_server::running::Running;
use crate::control_server::shared::Message;
use crate::manager::{Manager, SessionHandle};
use crate::query::{EventCounts, ProviderStatistics};

/// The shortest time between two counts of the events in the buffers of a session.
const COUNT_INTERVAL: Duration = Duration::from_secs(1);

impl ControlLoop {
    pub(super) fn query(&mut self, ticket: Ticket, query: Query) {
        match query {
            Query::Providers(_) => self.reply_counted(ticket, query),
            Query::Sessions(_) | Query::Statistics(_) => self.count(ticket, query),
        }
    }

    /// Requests the categories on another thread, because the providers may take a second.
    pub(super) fn query_categories(&mut self, user: Option<u32>) {
        if let Some(reply) = self.recent.get(Subject::KnownCategories(user), Instant::now()) {
            return self.dispatch(Input::KnownCategories(user, Box::new(reply)));
        }
        let shared = Arc::clone(&self.shared);
        let builder = thread::Builder::new().name("trace-query".to_owned());
        let spawned = builder.spawn(move || {
            let reply = Box::new(known_categories(&shared.manager, user));
            shared.finish(Message::KnownCategories(user, reply));
        });
        if let Err(error) = spawned {
            self.dispatch(Input::KnownCategories(user, Box::new(failed(&error))));
        }
    }

    /// Counts the events in the buffers on another thread, if that was not done a moment ago, and
    /// no other query does it. Then replies.
    fn count(&mut self, ticket: Ticket, query: Query) {
        let is_recent = |at: Instant| at.elapsed() < COUNT_INTERVAL;
        let handle = |id: SessionId| {
            let running = self.sessions.get(&id)?;
            let is_counted = running.counted.as_ref().is_some_and(|(at, _)| is_recent(*at));
            (!is_counted).then(|| (id, Arc::clone(&running.handle)))
        };
        let handles: Vec<_> = match &query {
            Query::Providers(_) => Vec::new(),
            Query::Sessions(sessions) => {
                sessions.iter().filter_map(|(id, _)| handle(*id)).collect()
            }
            Query::Statistics(id) => handle(*id).into_iter().collect(),
        };
        if handles.is_empty() || self.is_counting {
            return self.reply_counted(ticket, query);
        }
        let (shared, counted) = (Arc::clone(&self.shared), query.clone());
        let builder = thread::Builder::new().name("trace-count".to_owned());
        let spawned = builder.spawn(move || {
            let count =
                |(id, handle): (_, Arc<SessionHandle>)| Some((id, handle.count_events().ok()?));
            let counts = handles.into_iter().filter_map(count).collect();
            shared.finish(Message::Counted(ticket, counted, counts));
        });
        self.is_counting = spawned.is_ok();
        if !self.is_counting {
            self.reply_counted(ticket, query);
        }
    }

    /// Takes the counted events of sessions.
    pub(super) fn counted(&mut self, counts: Vec<(SessionId, EventCounts)>) {
        self.is_counting = false;
        for (id, events) in counts {
            self.recent.forget(id);
            if let Some(running) = self.sessions.get_mut(&id) {
                running.counted = Some((Instant::now(), events));
            }
        }
    }

    /// Replies with the events that were counted the last time, or collected since.
    pub(super) fn reply_counted(&mut self, ticket: Ticket, query: Query) {
        let reply = match query {
            Query::Providers(user) => {
                self.recent(Subject::Providers(user), |it| providers(&it.shared.manager, user))
            }
            Query::Sessions(sessions) => {
                let infos = sessions.into_iter().map(|(id, info)| self.with_progress(id, info));
                Reply::Sessions(infos.collect())
            }
            Query::Statistics(id) => self.recent(Subject::Statistics(id), |it| it.statistics(id)),
        };
        self.reply(ticket, reply);
    }

    /// Returns the reply to a query of a moment ago, or that of `query`.
    fn recent(&mut self, subject: Subject, query: impl FnOnce(&Self) -> Reply) -> Reply {
        self.recent.providers_changed(self.shared.manager.provider_changes());
        let recent = self.recent.get(subject, Instant::now());
        recent.unwrap_or_else(|| {
            let reply = query(self);
            self.recent.keep(subject, Instant::now(), &reply);
            reply
        })
    }

    fn with_progress(&self, id: SessionId, mut info: SessionInfo) -> SessionInfo {
        if let Some(Running { handle, output, guard_failure, counted, .. }) = self.sessions.get(&id)
        {
            let progress = handle.progress();
            info.output.clone_from(output);
            info.elapsed = progress.elapsed;
            info.providers = progress.providers as u64;
            info.joined = progress.joined as u64;
            let counted = counted.as_ref().map_or(0, |(_, events)| events.sum());
            info.events = progress.events.max(counted);
            info.bytes = progress.bytes;
            info.lost = progress.lost;
            info.refusals = progress.refusals;
            info.last_refusal = progress.last_refusal.map(convert::refusal);
            info.failure = progress.archive_failure;
            info.guard_failure = guard_failure.map(str::to_owned).or(progress.guard_failure);
        }
        info
    }

    fn statistics(&self, id: SessionId) -> Reply {
        let Some(running) = self.sessions.get(&id) else { return Reply::Failed(no_session()) };
        let counted = |provider| running.counted.as_ref().map_or(0, |(_, it)| it.of(provider));
        match running.handle.statistics() {
            Ok(of) => Reply::Statistics(
                of.into_iter()
                    .map(|it| ProviderStatistics { events: it.events.max(counted(it.id)), ..it })
                    .map(convert::statistics)
                    .collect(),
            ),
            Err(error) => failed(&error),
        }
    }
}

fn providers(manager: &Manager, user: Option<u32>) -> Reply {
    match manager.providers_of(user) {
        Ok(providers) => Reply::Providers(providers.into_iter().map(convert::provider).collect()),
        Err(error) => failed(&error),
    }
}

fn known_categories(manager: &Manager, user: Option<u32>) -> Reply {
    match manager.announced_categories(user) {
        Ok(announced) => Reply::KnownCategories(convert::known_categories(&announced)),
        Err(error) => failed(&error),
    }
}
