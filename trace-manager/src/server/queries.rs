//! The caller's queries.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crossbeam_channel::Sender;
use trace_protocol::message::{CategoryInfo, ToProvider};

use super::active::Active;
use super::categories_query::CategoriesQuery;
use super::state::EventLoop;
use crate::machine::ProviderId;
use crate::query::{ProviderInfo, ProviderState, ProviderStatistics, SessionInfo};

/// The time in which providers reply with their categories. The last reply of the others is used.
const CATEGORIES_TIMEOUT: Duration = Duration::from_secs(1);

impl EventLoop {
    /// Returns the registered providers.
    pub(super) fn provider_infos(&self) -> Vec<ProviderInfo> {
        self.connections.keys().filter_map(|id| self.provider_info(*id)).collect()
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
            categories: register.categories.clone(),
        })
    }

    /// Returns the sessions that have not ended, in the order of their starts.
    pub(super) fn session_infos(&self) -> Vec<SessionInfo> {
        self.active.values().map(Active::info).collect()
    }

    /// Returns the statistics of a session's providers; `None` if the session has ended.
    pub(super) fn statistics(&self, session: u64) -> Option<Vec<ProviderStatistics>> {
        let active = self.active.get(&session)?;
        Some(active.recording.statistics(self.collection.as_ref()?))
    }

    /// Requests the categories of all providers. The reply is sent when they have replied.
    pub(super) fn query_categories(&mut self, reply: Sender<Vec<CategoryInfo>>) {
        let registered = self.connections.iter().filter(|(_, it)| it.register.is_some());
        let waiting: BTreeSet<ProviderId> = registered.map(|(id, _)| *id).collect();
        for id in &waiting {
            if let Some(connection) = self.connections.get_mut(id) {
                connection.expect_categories();
            }
            self.send(*id, &ToProvider::GetKnownCategories);
        }
        let deadline = Instant::now() + CATEGORIES_TIMEOUT;
        self.category_queries.push(CategoriesQuery { waiting, deadline, reply });
        self.reply_categories();
    }

    /// Notes that a provider has replied with its categories.
    pub(super) fn categories_received(&mut self, id: ProviderId) {
        for query in &mut self.category_queries {
            query.waiting.remove(&id);
        }
        self.reply_categories();
    }

    /// Replies to the queries for which all living providers have replied, or whose time is over.
    pub(super) fn reply_categories(&mut self) {
        let (now, connections) = (Instant::now(), &self.connections);
        let mut ready = Vec::new();
        self.category_queries.retain_mut(|query| {
            query.waiting.retain(|id| connections.contains_key(id));
            let is_ready = query.waiting.is_empty() || query.deadline <= now;
            if is_ready {
                ready.push(query.reply.clone());
            }
            !is_ready
        });
        for reply in ready {
            // Fails if the caller no longer waits.
            let _ = reply.send(self.merged_categories());
        }
    }

    /// Returns the categories of all providers, each once, in the order of names. The first
    /// description that is not empty is used.
    fn merged_categories(&self) -> Vec<CategoryInfo> {
        let mut merged = BTreeMap::<&str, &str>::new();
        let registers = self.connections.values().filter_map(|it| it.register.as_ref());
        for category in registers.flat_map(|register| &register.categories) {
            let description = merged.entry(&category.name).or_default();
            if description.is_empty() {
                *description = &category.description;
            }
        }
        let info = |(name, description): (&str, &str)| CategoryInfo {
            name: name.to_owned(),
            description: description.to_owned(),
        };
        merged.into_iter().map(info).collect()
    }
}
