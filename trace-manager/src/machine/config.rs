//! The configuration that a session sends to its providers.

use std::time::Duration;

use trace_protocol::buffer::header::BufferingMode;
use trace_protocol::categories::NONE;

use crate::trigger::DurationWatch;

/// The time for which the manager waits for a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// For the reply to Start; default 5 s. Then the session treats the provider as started.
    pub start: Duration,
    /// For the reply to Stop; default 5 s. Then the buffer is read as it is.
    pub stop: Duration,
    /// For the end of the packet socket after Terminate; default 5 s.
    pub terminate: Duration,
}

impl Timeouts {
    /// Returns the longer of each.
    pub(super) fn max(self, other: Self) -> Self {
        Self {
            start: self.start.max(other.start),
            stop: self.stop.max(other.stop),
            terminate: self.terminate.max(other.terminate),
        }
    }

    /// Returns the time-outs, each reduced to `limit`.
    pub(crate) fn at_most(self, limit: Duration) -> Self {
        Self {
            start: self.start.min(limit),
            stop: self.stop.min(limit),
            terminate: self.terminate.min(limit),
        }
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        let five = Duration::from_secs(5);
        Self { start: five, stop: five, terminate: five }
    }
}

/// The configuration that a session sends to its providers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderConfig {
    /// The behavior of a full buffer.
    pub mode: BufferingMode,
    /// Category patterns; see [`trace_protocol::categories`].
    pub categories: Vec<String>,
    /// The size of each provider's buffer in bytes.
    pub buffer_size: u64,
    /// The time to wait for each provider.
    pub timeouts: Timeouts,
    /// The user whose providers take part; `None` for all users.
    pub user: Option<u32>,
    /// The providers that take part.
    pub only: ProviderFilter,
    /// The process that records only for this session.
    pub companion: Option<u32>,
    /// Differences for the providers of single names.
    pub providers: Vec<ProviderSpec>,
    /// Conditions that providers compare at the end of a scope or operation.
    pub watches: Vec<DurationWatch>,
    /// Whether buffers may have function records.
    pub function_records: bool,
}

/// The providers that a session records: those of the ids and those of the names. All, if both
/// lists are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderFilter {
    /// Numbers of connected providers.
    pub ids: Vec<u32>,
    /// Names of providers.
    pub names: Vec<String>,
}

impl ProviderFilter {
    /// Returns whether it includes the provider of this number, if it has one, and of this name.
    pub fn includes(&self, id: Option<u32>, name: &str) -> bool {
        let is_all = self.ids.is_empty() && self.names.is_empty();
        let is_named = || self.names.iter().any(|it| it == name);
        is_all || id.is_some_and(|id| self.ids.contains(&id)) || is_named()
    }
}

/// Differences from a session's configuration for the providers of one name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProviderSpec {
    /// The name of the providers.
    pub name: String,
    /// The size of their buffers in bytes; `None` for that of the session.
    pub buffer_size: Option<u64>,
    /// Further category patterns.
    pub categories: Vec<String>,
}

impl ProviderConfig {
    /// Returns the configuration for the providers of this name.
    pub fn for_provider(&self, name: &str) -> Self {
        let mut config = Self { providers: Vec::new(), ..self.clone() };
        for spec in self.providers.iter().filter(|spec| spec.name == name) {
            config.buffer_size = spec.buffer_size.unwrap_or(config.buffer_size);
            config.categories = add_categories(config.categories, &spec.categories);
        }
        config
    }

    /// Returns whether there are differences for the providers of this name.
    pub(super) fn differs_for(&self, name: &str) -> bool {
        self.providers.iter().any(|spec| spec.name == name)
    }

    /// Returns the configuration of providers that several sessions share: they stream into the
    /// largest buffer, with the longest timeouts, and with function records if any session permits
    /// them. It has no categories.
    pub(super) fn combine<'a>(configs: impl Iterator<Item = &'a Self>) -> Self {
        let none = Self { mode: BufferingMode::Streaming, ..Self::default() };
        configs.fold(none, |combined, config| Self {
            buffer_size: combined.buffer_size.max(config.buffer_size),
            timeouts: combined.timeouts.max(config.timeouts),
            function_records: combined.function_records || config.function_records,
            ..combined
        })
    }
}

/// Adds the further patterns of a provider to those of its session.
pub(crate) fn add_categories(mut patterns: Vec<String>, further: &[String]) -> Vec<String> {
    if further.is_empty() {
        return patterns;
    }
    if patterns.iter().any(|pattern| pattern == NONE) {
        return further.to_vec();
    }
    // Inclusions would restrict a selection of all categories.
    let selects_all = patterns.iter().all(|pattern| pattern.starts_with('-'));
    let added = further.iter().filter(|pattern| !selects_all || pattern.starts_with('-'));
    patterns.extend(added.cloned());
    patterns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| text.to_string()).collect()
    }

    #[test]
    fn the_categories_of_a_provider_are_added() {
        for (session, further, expected) in [
            (&["a"][..], &["b", "-c"][..], &["a", "b", "-c"][..]),
            (&["a"], &[], &["a"]),
            (&[], &["b", "-c"], &["-c"]),
            (&["-a"], &["b"], &["-a"]),
            (&["-*"], &["b"], &["b"]),
            (&["-*"], &[], &["-*"]),
        ] {
            assert_eq!(add_categories(list(session), &list(further)), list(expected));
        }
    }

    /// Records are the same for all sessions, so one that permits them suffices.
    #[test]
    fn function_records_are_permitted_by_any_session() {
        let config = |function_records| ProviderConfig { function_records, ..Default::default() };
        for (first, second, expected) in
            [(false, false, false), (true, false, true), (false, true, true), (true, true, true)]
        {
            let configs = [config(first), config(second)];
            assert_eq!(ProviderConfig::combine(configs.iter()).function_records, expected);
        }
    }

    #[test]
    fn only_providers_of_the_name_differ() {
        let spec = |name: &str, buffer_size, category: &str| ProviderSpec {
            name: name.to_owned(),
            buffer_size,
            categories: list(&[category]),
        };
        let providers = vec![spec("web", Some(1 << 20), "http"), spec("web", None, "tls")];
        let session = ProviderConfig {
            categories: list(&["log"]),
            buffer_size: 7,
            providers,
            ..Default::default()
        };
        let (web, other) = (session.for_provider("web"), session.for_provider("other"));
        assert_eq!((web.buffer_size, web.categories), (1 << 20, list(&["log", "http", "tls"])));
        assert_eq!((other.buffer_size, other.categories), (7, list(&["log"])));
    }
}
