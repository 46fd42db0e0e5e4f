//! Changing the categories of a session that records.

use trace_protocol::archive::ClockSample;
use trace_protocol::categories;

use super::state::EventLoop;
use crate::config::SessionConfig;
use crate::error::ManagerError;
use crate::machine::{Input, ProviderId, SessionNumber};

impl EventLoop {
    /// Replaces the category patterns of a session. Its providers continue to record.
    pub(super) fn set_categories(
        &mut self,
        session: SessionNumber,
        patterns: &[String],
    ) -> Result<(), ManagerError> {
        self.pass_all_on();
        self.copy_all_for_snapshots(session);
        let active = self.active.get_mut(&session).ok_or(ManagerError::SessionEnded)?;
        if !active.recording.can_change_categories() {
            return Err(ManagerError::CategoriesOfSinks);
        }
        let mut config = active.recording.config().clone();
        config.select_again(patterns);
        let all = config.all_categories();
        let input =
            Input::SetCategories(session, config.categories.clone(), config.providers.clone());
        let earlier = active.recording.replace_config(config);
        if let Some(guard) = &active.guard {
            // Events of the earlier categories may not be collected yet.
            guard.set_categories(&categories::union(&[&earlier.all_categories(), &all]));
        }
        // Before the message: a program records new categories as soon as it receives it.
        let now = ClockSample::now();
        self.dispatch(input);
        for id in self.connections.keys().copied().collect::<Vec<_>>() {
            self.change_selection(id, session, &earlier, now);
        }
        Ok(())
    }

    /// Changes the filters of the sessions that have a provider, if this one is among them. Events
    /// from `now` on are selected by the new patterns.
    fn change_selection(
        &mut self,
        id: ProviderId,
        session: SessionNumber,
        earlier: &SessionConfig,
        now: ClockSample,
    ) {
        let recorded = self.coordinator.config_of(id).categories;
        let provider = self.collection.as_ref().and_then(|collection| collection.provider(id));
        let Some(provider) = provider.filter(|it| it.sessions().any(|it| it == session)) else {
            return;
        };
        let durable = provider.durable_records();
        let now = now.ticks(provider.identity().clock);
        for number in provider.sessions() {
            let Some(active) = self.active.get_mut(&number) else { continue };
            match number == session {
                true => {
                    active.recording.change_selection(provider, earlier, &recorded, &durable, now)
                }
                false => active.recording.widen(provider, &recorded, &durable),
            }
        }
    }
}
