//! Changing the categories of a session.

use super::Recording;
use crate::collection::ProviderData;
use crate::config::SessionConfig;

impl Recording {
    /// Returns whether the categories can change: further sinks have categories of their own.
    pub(crate) fn can_change_categories(&self) -> bool {
        !self.outputs.has_others()
    }

    /// Replaces the configuration, whose categories have changed. Returns the earlier one.
    pub(crate) fn replace_config(&mut self, config: SessionConfig) -> SessionConfig {
        self.categories.clone_from(&config.categories);
        self.outputs.set_categories(&config.categories);
        std::mem::replace(&mut self.config, config)
    }

    /// Selects the records of a provider by the new categories from the time `at` on, in its ticks.
    /// It records the categories `recorded` now, and `durable` are its durable records so far.
    pub(crate) fn change_selection(
        &mut self,
        provider: &ProviderData,
        earlier: &SessionConfig,
        recorded: &[String],
        durable: &[u64],
        at: u64,
    ) {
        let (id, name) = (provider.id(), &provider.identity().name);
        let own = self.config.categories_for(name, &self.categories);
        if !self.selection.has(id) {
            if recorded == own {
                // The provider changes them by itself, after this.
                return;
            }
            let before = earlier.categories_for(name, &earlier.categories);
            self.selection.add_late(id, &before, durable, provider.counts());
        }
        self.selection.change(id, at, &own, durable);
    }
}
