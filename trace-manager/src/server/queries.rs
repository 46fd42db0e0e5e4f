//! The caller's queries.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use trace_protocol::message::ToProvider;

use super::active::Active;
use super::categories_query::CategoriesQuery;
use super::connection::Connection;
use super::state::EventLoop;
use crate::collection::Collection;
use crate::machine::ProviderId;
use crate::query::{Categories, ProviderInfo, ProviderState, ProviderStatistics, SessionInfo};
use crate::recording::Uncounted;

/// The time in which providers reply with their categories. The last reply of the others is used.
const CATEGORIES_TIMEOUT: Duration = Duration::from_secs(1);

impl EventLoop {
    /// Returns the registered providers of one user, or all.
    pub(super) fn provider_infos(&self, user: Option<u32>) -> Vec<ProviderInfo> {
        self.registered(user).filter_map(|(id, _)| self.provider_info(id)).collect()
    }

    /// Returns the registered connections of one user, or all.
    fn registered(
        &self,
        user: Option<u32>,
    ) -> impl Iterator<Item = (ProviderId, &Connection)> + use<'_> {
        let connections = self.connections.iter().map(|(id, connection)| (*id, connection));
        connections.filter(move |(_, connection)| {
            connection.register.is_some() && user.is_none_or(|uid| uid == connection.peer.uid)
        })
    }

    fn provider_info(&self, id: ProviderId) -> Option<ProviderInfo> {
        let connection = self.connections.get(&id)?;
        let register = connection.register.as_ref()?;
        let tracee = self.coordinator.tracee(id)?;
        Some(ProviderInfo {
            id,
            pid: connection.peer.pid,
            uid: connection.peer.uid,
            name: connection.name(),
            process_name: connection.process_name(),
            registered: connection.accepted_at,
            clock: register.clock,
            state: ProviderState::of(tracee.state())?,
            sessions: self.coordinator.sessions_of(id),
            categories: Arc::clone(&connection.categories),
        })
    }

    /// Returns the sessions that have not ended, in the order of their starts.
    pub(super) fn session_infos(&self) -> Vec<SessionInfo> {
        self.active.values().map(Active::info).collect()
    }

    /// Returns the statistics of a session's providers; `None` if the session has ended.
    pub(super) fn statistics(&self, session: u64) -> Option<Vec<ProviderStatistics>> {
        let (active, collection) = (self.active.get(&session)?, self.collection.as_ref()?);
        let silent = self.silent(session, collection);
        let mut all = active.recording.statistics(collection);
        all.iter_mut().for_each(|it| it.answered_start &= !silent.contains(&it.id));
        Some(all)
    }

    /// Returns the numbers in archives of the providers that have not answered the start of a
    /// session.
    fn silent(&self, session: u64, collection: &Collection) -> BTreeSet<u32> {
        let is_silent = |id: &&ProviderId| !self.coordinator.has_answered(**id, session);
        let silent = self.connections.keys().filter(is_silent);
        silent.filter_map(|id| Some(collection.provider(*id)?.id())).collect()
    }

    /// Returns the buffers of a session's providers, to count their events on another thread.
    pub(super) fn uncounted(&self, session: u64) -> Option<Uncounted> {
        self.active.get(&session)?.recording.uncounted(self.collection.as_ref()?)
    }

    /// Requests the categories of the providers of one user, or of all. The reply is sent when they
    /// have replied. A query for the same user that still waits shares its result.
    pub(super) fn query_categories(&mut self, user: Option<u32>, reply: Sender<Vec<Categories>>) {
        if let Some(query) = self.category_queries.get_mut(&user) {
            return query.replies.push(reply);
        }
        let waiting: BTreeSet<ProviderId> = self.registered(user).map(|(id, _)| id).collect();
        for id in &waiting {
            let connection = self.connections.get_mut(id);
            if connection.is_some_and(Connection::expect_categories) {
                self.send(*id, &ToProvider::GetKnownCategories);
            }
        }
        let deadline = Instant::now() + CATEGORIES_TIMEOUT;
        let query = CategoriesQuery { waiting, deadline, replies: vec![reply] };
        self.category_queries.insert(user, query);
    }

    /// Notes that a provider has replied with its categories.
    pub(super) fn categories_received(&mut self, id: ProviderId) {
        for query in self.category_queries.values_mut() {
            query.waiting.remove(&id);
        }
    }

    /// Replies to the queries for which all living providers have replied, or whose time is over.
    pub(super) fn reply_categories(&mut self) {
        let (now, connections) = (Instant::now(), &self.connections);
        let mut ready = Vec::new();
        self.category_queries.retain(|user, query| {
            query.waiting.retain(|id| connections.contains_key(id));
            let is_ready = query.waiting.is_empty() || query.deadline <= now;
            if is_ready {
                ready.push((*user, std::mem::take(&mut query.replies)));
            }
            !is_ready
        });
        for (user, replies) in ready {
            let of_user = self.registered(user).map(|(_, it)| Arc::clone(&it.categories));
            let categories: Vec<Categories> = of_user.collect();
            for reply in replies {
                // Fails if the caller no longer waits.
                let _ = reply.send(categories.clone());
            }
        }
    }
}
