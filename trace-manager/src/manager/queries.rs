//! Queries of the manager's state.

use std::collections::BTreeMap;

use crossbeam_channel::Sender;
use trace_protocol::message::CategoryInfo;

use super::Manager;
use crate::error::ManagerError;
use crate::query::{Categories, ProviderInfo, SessionInfo};
use crate::server::{Command, Mailbox};

impl Manager {
    /// Returns how often a provider has registered or disconnected.
    pub(crate) fn provider_changes(&self) -> u64 {
        self.mailbox.provider_changes()
    }

    /// Returns the registered providers, in the order of their connections.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Ended`].
    pub fn providers(&self) -> Result<Vec<ProviderInfo>, ManagerError> {
        self.providers_of(None)
    }

    /// Returns the registered providers of the user `user`, or all.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Ended`].
    pub fn providers_of(&self, user: Option<u32>) -> Result<Vec<ProviderInfo>, ManagerError> {
        query(&self.mailbox, |reply| Command::Providers { user, reply })
    }

    /// Requests the categories of all registered providers, and returns them merged: each once, in
    /// the order of names, with the first description that is not empty.
    ///
    /// Waits for the providers for at most a second. The categories that a provider announced
    /// before stand for a missing reply.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Ended`].
    pub fn known_categories(&self) -> Result<Vec<CategoryInfo>, ManagerError> {
        self.known_categories_of(None)
    }

    /// Returns the categories of the providers of the user `user`, or of all, as
    /// [`known_categories`](Self::known_categories) does. Only these providers get the request.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Ended`].
    pub fn known_categories_of(
        &self,
        user: Option<u32>,
    ) -> Result<Vec<CategoryInfo>, ManagerError> {
        self.announced_categories(user).map(|announced| merge(&announced))
    }

    /// Returns the categories of each provider of the user `user`, or of all, as
    /// [`known_categories_of`](Self::known_categories_of) does.
    pub(crate) fn announced_categories(
        &self,
        user: Option<u32>,
    ) -> Result<Vec<Categories>, ManagerError> {
        query(&self.mailbox, |reply| Command::KnownCategories { user, reply })
    }

    /// Returns the sessions that have not ended, in the order of their starts.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Ended`].
    pub fn sessions(&self) -> Result<Vec<SessionInfo>, ManagerError> {
        query(&self.mailbox, |reply| Command::Sessions { reply })
    }
}

/// Sends a command and waits for its reply.
pub(super) fn query<T>(
    mailbox: &Mailbox,
    command: impl FnOnce(Sender<T>) -> Command,
) -> Result<T, ManagerError> {
    let (reply, replies) = crossbeam_channel::bounded(1);
    mailbox.send(command(reply))?;
    replies.recv().map_err(|_| ManagerError::Ended)
}

/// Returns the categories of providers: each once, in the order of names. The first description
/// that is not empty is used.
fn merge(announced: &[Categories]) -> Vec<CategoryInfo> {
    let mut merged = BTreeMap::<&str, &str>::new();
    for category in announced.iter().flat_map(|categories| &**categories) {
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
