//! The configuration of a session.

use std::time::Duration;

use super::field::{codes, record, Field};
use crate::categories::{MAX_PATTERNS, MAX_PATTERN_BYTES};
use crate::message::body::{BodyReader, BodyWriter};
use crate::message::MAX_PROVIDER_NAME;
use crate::mode::BufferingMode;
use crate::packet::MAX_ALERT_NAME;

/// The longest name of a session, in bytes.
pub const MAX_SESSION_NAME: usize = 64;

/// The longest category pattern, in bytes: a provider's name, a slash, and a category's name.
pub const MAX_CATEGORY: usize = 201;

/// The longest relative name of an output, in bytes.
pub const MAX_NAME: usize = 1024;

/// The longest time to wait for the replies of providers.
const MAX_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest text of a trigger, in bytes.
const MAX_RULE: usize = 4096;

/// The most items of the other lists of a configuration.
const MAX_ITEMS: usize = 100;

record! {
    /// The configuration of a session. One descriptor is sent with it: the output.
    pub struct TraceConfig {
        /// The session's name: 1 to 64 letters, digits, and `-`, `_` or `.`. If it is empty, the
        /// daemon chooses one.
        pub name: String,
        /// Category patterns: a name, `prefix*`, either with a leading `-` to exclude, `#group` of
        /// the daemon's configuration, or `provider/pattern`. An empty list selects all.
        pub categories: Vec<String>,
        /// The size of each provider's buffer in bytes.
        pub buffer_size: u64,
        /// The action if a buffer is full.
        pub mode: BufferingMode,
        /// Differences for single providers.
        pub providers: Vec<ProviderSpec>,
        /// The providers that the session records.
        pub only: ProviderFilter,
        /// The time to wait for the replies to Start, at most a minute; zero for the default.
        pub start_timeout: Duration,
        /// The time to wait for the replies to Stop, at most a minute; zero for the default.
        pub stop_timeout: Duration,
        /// Keeps the records in a file of the daemon until the end. For an output that is a
        /// descriptor.
        pub defer_transfer: bool,
        /// The time after which the session stops, from the time on at which its programs record;
        /// zero if it does not stop by itself.
        pub duration: Duration,
        /// Whether the session continues when the controller's connection ends.
        pub detached: bool,
        /// The effects of alerts.
        pub triggers: Vec<TriggerSpec>,
        /// Triggers with other conditions, as the text `CONDITION[:ACTION…]`.
        pub rules: Vec<String>,
        /// The numbers of users whose programs cause actions of triggers, beside root and the user
        /// of the session; `all` for all.
        pub trigger_users: Vec<String>,
        /// The limits of snapshots that alerts take.
        pub snapshots: SnapshotOptions,
        /// When the archive is cut into parts.
        pub rotation: RotationOptions,
        /// The meaning of the descriptor.
        pub output: Output,
        /// Whether the session goes on in a next part when a daemon starts after a kill of this
        /// one.
        pub keep_alive: bool,
        /// Whether its programs stream from the start, so that no other session interrupts it.
        pub shared: bool,
    }
}

record! {
    /// Differences from the session's configuration for providers of one name.
    pub struct ProviderSpec {
        /// The provider's name.
        pub name: String,
        /// The size of its buffer in bytes; 0 for that of the session.
        pub buffer_size: u64,
        /// Further category patterns.
        pub categories: Vec<String>,
    }
}

record! {
    /// The providers that a session records: those of the ids and those of the names. All, if both
    /// lists are empty.
    pub struct ProviderFilter {
        /// Ids of registered providers ([`ProviderInfo::id`](super::ProviderInfo::id)), at most
        /// 100. They are never reused.
        pub ids: Vec<u32>,
        /// Names of providers, also of those that register later, at most 100.
        pub names: Vec<String>,
    }
}

record! {
    /// The effect of an alert.
    pub struct TriggerSpec {
        /// The alert's name.
        pub alert: String,
        /// The effect.
        pub action: TriggerAction,
    }
}

record! {
    /// The limits of snapshots that alerts take.
    pub struct SnapshotOptions {
        /// The number of snapshots that are kept.
        pub keep: u32,
        /// The shortest time between the starts of two.
        pub min_interval: Duration,
        /// The most bytes of all snapshots together.
        pub max_size: u64,
    }
}

record! {
    /// When an archive is cut into parts. Without a size and an interval, it is not.
    pub struct RotationOptions {
        /// The size in bytes at which a part ends; 0 for no limit.
        pub size: u64,
        /// The time after which a part ends; zero for no limit.
        pub interval: Duration,
        /// The number of parts that are kept; 0 for all.
        pub keep: u32,
    }
}

codes! {
    /// The effect of an alert.
    #[derive(Default)]
    pub enum TriggerAction {
        /// Stops the session.
        #[default]
        Stop = 1,
        /// Takes a snapshot beside the archive.
        Snapshot = 2,
    }
}

/// The meaning of the descriptor that is sent with a request.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Output {
    /// A file, pipe or socket, which is written from its current position.
    #[default]
    Descriptor,
    /// A directory, and the name of a new file in it. The name is relative, and neither `..` nor
    /// links lead out of the directory.
    Beneath(String),
}

impl Field for Output {
    fn write(&self, body: &mut BodyWriter) {
        let name = match self {
            Self::Descriptor => None,
            Self::Beneath(name) => Some(name.clone()),
        };
        name.write(body);
    }

    fn read(untrusted: &mut BodyReader<'_>) -> Option<Self> {
        Option::<String>::read(untrusted).map(|name| name.map_or(Self::Descriptor, Self::Beneath))
    }
}

impl TraceConfig {
    /// Checks the values that do not depend on the daemon.
    ///
    /// # Errors
    ///
    /// The first value that is wrong, with the limit.
    pub fn check(&self) -> Result<(), String> {
        if !is_session_name(&self.name) && !self.name.is_empty() {
            return Err(format!(
                "a session's name has 1 to {MAX_SESSION_NAME} letters, digits, '-', '_' or '.', \
                 and begins with a letter or digit"
            ));
        }
        if self.buffer_size == 0 {
            return Err("the buffer size is 0".to_owned());
        }
        if self.start_timeout.max(self.stop_timeout) > MAX_TIMEOUT {
            return Err(format!("a timeout is longer than {} s", MAX_TIMEOUT.as_secs()));
        }
        if self.providers.len() > MAX_ITEMS || self.triggers.len() > MAX_ITEMS {
            return Err(format!("more than {MAX_ITEMS} providers or triggers"));
        }
        if self.triggers.iter().any(|trigger| !(1..=MAX_ALERT_NAME).contains(&trigger.alert.len()))
        {
            return Err(format!("the name of an alert has 1 to {MAX_ALERT_NAME} bytes"));
        }
        if self.rules.len() > MAX_ITEMS || self.rules.iter().any(|rule| rule.len() > MAX_RULE) {
            return Err(format!(
                "more than {MAX_ITEMS} triggers, or a trigger of more than {MAX_RULE} bytes"
            ));
        }
        if self.trigger_users.len() > MAX_ITEMS {
            return Err(format!("more than {MAX_ITEMS} users of triggers"));
        }
        self.check_providers()?;
        self.check_output()
    }

    /// Checks the differences for single providers.
    fn check_providers(&self) -> Result<(), String> {
        let is_named = |spec: &ProviderSpec| (1..=MAX_PROVIDER_NAME).contains(&spec.name.len());
        let is_valid = |name: &String| (1..=MAX_PROVIDER_NAME).contains(&name.len());
        if self.only.ids.len().max(self.only.names.len()) > MAX_ITEMS {
            return Err(format!("more than {MAX_ITEMS} providers to record"));
        }
        if !self.providers.iter().all(is_named) || !self.only.names.iter().all(is_valid) {
            return Err(format!("a provider's name has 1 to {MAX_PROVIDER_NAME} bytes"));
        }
        let categories = self.providers.iter().flat_map(|spec| spec.categories.iter().cloned());
        check_categories(&self.categories.iter().cloned().chain(categories).collect::<Vec<_>>())
    }

    /// Checks that a bare descriptor suffices for the options.
    fn check_output(&self) -> Result<(), String> {
        let takes_snapshots =
            self.triggers.iter().any(|trigger| trigger.action == TriggerAction::Snapshot);
        match &self.output {
            _ if self.keep_alive && !self.detached => {
                Err("a session that goes on after a kill of the daemon has to be detached"
                    .to_owned())
            }
            Output::Descriptor if self.keep_alive => Err(
                "a session that goes on after a kill of the daemon requires a directory as the \
                 output"
                    .to_owned(),
            ),
            Output::Descriptor if takes_snapshots => {
                Err("snapshots of triggers require a directory as the output".to_owned())
            }
            Output::Descriptor if self.rotation.is_cut() => {
                Err("a rotated archive requires a directory as the output".to_owned())
            }
            Output::Beneath(_) if self.defer_transfer => {
                Err("a deferred transfer requires a descriptor as the output".to_owned())
            }
            output => output.check(),
        }
    }
}

impl RotationOptions {
    /// Returns whether the archive is cut.
    pub fn is_cut(&self) -> bool {
        self.size != 0 || !self.interval.is_zero()
    }
}

impl Output {
    /// Checks the name's length and components.
    ///
    /// # Errors
    ///
    /// If it is empty or too long, absolute, or has `..`.
    pub fn check(&self) -> Result<(), String> {
        let Self::Beneath(name) = self else { return Ok(()) };
        let is_plain = |part: &str| !matches!(part, "" | "." | "..") && !part.contains('\0');
        match name.len() <= MAX_NAME && name.split('/').all(is_plain) {
            true => Ok(()),
            false => Err(format!(
                "the output is no relative name of at most {MAX_NAME} bytes without '..'"
            )),
        }
    }
}

/// Checks the number and the lengths of category patterns.
///
/// # Errors
///
/// The limit that is exceeded.
pub fn check_categories(categories: &[String]) -> Result<(), String> {
    if categories.len() > MAX_PATTERNS {
        return Err(format!("more than {MAX_PATTERNS} categories"));
    }
    if categories.iter().map(String::len).sum::<usize>() > MAX_PATTERN_BYTES {
        return Err(format!("the categories have more than {MAX_PATTERN_BYTES} bytes"));
    }
    match categories.iter().all(|category| (1..=MAX_CATEGORY).contains(&category.len())) {
        true => Ok(()),
        false => Err(format!("a category has 1 to {MAX_CATEGORY} bytes")),
    }
}

fn is_session_name(name: &str) -> bool {
    let mut letters = name.bytes();
    let first = letters.next().is_some_and(|letter| letter.is_ascii_alphanumeric());
    let rest = |letter: u8| letter.is_ascii_alphanumeric() || b"-_.".contains(&letter);
    first && name.len() <= MAX_SESSION_NAME && letters.all(rest)
}
