//! The configuration of a provider that several sessions record.

use trace_protocol::categories;
use trace_protocol::message::StartOptions;

use super::Coordinator;
use crate::machine::{ProviderConfig, ProviderId, SessionNumber};

impl Coordinator {
    /// Returns the options of the start of a new buffer.
    pub(super) fn start_options(&self, id: ProviderId) -> StartOptions {
        match self.sessions_of(id)[..] {
            [session] => self.sessions.get(&session).map(|it| it.start.clone()).unwrap_or_default(),
            _ => StartOptions::default(),
        }
    }

    /// Returns the combined configuration that a provider has for these sessions.
    pub(crate) fn config_for(&self, id: ProviderId, sessions: &[SessionNumber]) -> ProviderConfig {
        let configs: Vec<ProviderConfig> =
            self.configs(id, sessions).map(|(config, _)| config).collect();
        match configs.as_slice() {
            [config] => {
                ProviderConfig { categories: accepted(config.categories.clone()), ..config.clone() }
            }
            configs => ProviderConfig {
                categories: self.combine_started(id, sessions),
                ..ProviderConfig::combine(configs.iter())
            },
        }
    }

    /// Returns the configurations and starts of the sessions for a provider.
    fn configs<'a>(
        &'a self,
        id: ProviderId,
        sessions: &'a [SessionNumber],
    ) -> impl Iterator<Item = (ProviderConfig, &'a StartOptions)> {
        let name = self.providers.get(&id).map_or("", |provider| &provider.name);
        let currents = sessions.iter().filter_map(|session| self.sessions.get(session));
        currents.map(move |current| (current.config.for_provider(name), &current.start))
    }

    /// Returns the union of the sessions' categories, with those of their starts.
    pub(super) fn combine_started(
        &self,
        id: ProviderId,
        sessions: &[SessionNumber],
    ) -> Vec<String> {
        let name = self.providers.get(&id).map_or("", |provider| &provider.name);
        let mut currents = sessions.iter().filter_map(|session| self.sessions.get(session));
        let differs = currents.any(|current| current.config.differs_for(name));
        let key = (sessions.to_vec(), if differs { name.to_owned() } else { String::new() });
        let mut unions = self.unions.borrow_mut();
        unions.entry(key).or_insert_with(|| self.union(id, sessions)).clone()
    }

    fn union(&self, id: ProviderId, sessions: &[SessionNumber]) -> Vec<String> {
        let configs = self.configs(id, sessions);
        let lists: Vec<Vec<String>> =
            configs.map(|(config, start)| start.add_to(&config.categories)).collect();
        let lists: Vec<&[String]> = lists.iter().map(Vec::as_slice).collect();
        accepted(categories::union(&lists))
    }
}

/// Returns the patterns, or all categories if they are more than a provider accepts. The filter of
/// each session selects its own.
fn accepted(patterns: Vec<String>) -> Vec<String> {
    match categories::are_accepted(&patterns) {
        true => patterns,
        false => Vec::new(),
    }
}
