//! The configuration of a session.

#[cfg(test)]
mod category_changes;

use std::collections::BTreeMap;
use std::time::Duration;

use trace_protocol::buffer::header::{BufferingMode, Layout};
use trace_protocol::categories;

use crate::error::ManagerError;
use crate::machine::{
    ProviderConfig, ProviderFilter, ProviderSpec, Timeouts, Trigger, TriggerAction,
};
use crate::memory::available_memory;
use crate::snapshot_rotation::{KeepLimits, SnapshotLimits};
use crate::trigger::{Condition, TriggerRule};

/// The configuration of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionConfig {
    /// The behavior of a full buffer; default oneshot.
    pub mode: BufferingMode,
    /// The size of each provider's buffer in bytes; default 4 MiB. It is rounded up: each part has
    /// at least a page, and the durable buffer has space for the provider's strings.
    pub buffer_size: u64,
    /// Category patterns; see [`CategorySet`](trace_protocol::categories::CategorySet). An empty
    /// list selects all.
    pub categories: Vec<String>,
    /// The time to wait for providers; default 5 s, at most 60 s for each step. Longer ones are
    /// reduced to 60 s.
    pub timeouts: Timeouts,
    /// The effects of alerts; default none.
    pub triggers: Vec<Trigger>,
    /// Triggers with other conditions and actions; default none. With conditions over counters and
    /// log messages, the session is [`shared`](Self::shared): the manager gets the records while
    /// they are recorded.
    pub rules: Vec<TriggerRule>,
    /// The users whose programs cause actions of triggers, beside root; default all. Alerts of
    /// other programs are only counted.
    pub trigger_users: Option<Vec<u32>>,
    /// Whether [`Condition::Death`](crate::Condition::Death) holds when a recorded program dies;
    /// default no: the caller reports it ([`SessionHandle::hold`](crate::SessionHandle::hold)).
    pub program_deaths: bool,
    /// Limits of the snapshots that alerts take.
    pub snapshots: SnapshotLimits,
    /// When the archive is cut into parts; default never. Requires streaming mode.
    pub rotation: Option<Rotation>,
    /// The user whose providers it records; default all users.
    pub user: Option<u32>,
    /// The providers that it records; default all.
    pub only: ProviderFilter,
    /// The id of the process that [`Manager::spawn_companion`](crate::Manager::spawn_companion) has
    /// started for this session; default none.
    pub companion: Option<u32>,
    /// Differences for the providers of single names; default none.
    pub providers: Vec<ProviderSpec>,
    /// The time since the start of the machine at which an earlier recording ended that this one
    /// continues. The archive then begins with an event `recording interrupted`.
    pub interrupted_at: Option<Duration>,
    /// Whether providers may write [function records](trace_protocol::buffer::function) into their
    /// buffers, which take a third of the space; default no. The archive is the same.
    pub function_records: bool,
    /// Whether providers stream from the start, and the manager keeps the limit of a oneshot or
    /// circular session; default no. Without it, their recording is interrupted when the first
    /// other session joins. It costs the manager a copy and a check of each record, and the memory
    /// of a second buffer for each provider.
    pub shared: bool,
}

/// When an archive is cut into parts: `trace.1.fxt`, `trace.2.fxt` and so on of `trace.fxt`.
///
/// The first number follows those of parts that exist already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rotation {
    /// The size in bytes at which a part ends, at least [`MIN_SIZE`](Self::MIN_SIZE). A part may be
    /// larger by the buffers that are saved at once. It is at least four times as large as the
    /// names that it repeats.
    pub size: Option<u64>,
    /// The time after which a part ends that has records.
    pub interval: Option<Duration>,
    /// The number of parts that are kept, at least 1, beside the one that is written; default all.
    /// Parts of earlier sessions stay.
    pub keep: Option<u32>,
}

impl Rotation {
    /// The smallest size of a part, in bytes.
    pub const MIN_SIZE: u64 = 64 << 10;
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            mode: BufferingMode::Oneshot,
            buffer_size: 4 << 20,
            categories: Vec::new(),
            timeouts: Timeouts::default(),
            triggers: Vec::new(),
            rules: Vec::new(),
            trigger_users: None,
            program_deaths: false,
            snapshots: SnapshotLimits::default(),
            rotation: None,
            user: None,
            only: ProviderFilter::default(),
            companion: None,
            providers: Vec::new(),
            interrupted_at: None,
            function_records: false,
            shared: false,
        }
    }
}

/// The largest durable buffer, in bytes, that a provider gets by its hint.
const MAX_DURABLE_HINT: u64 = 64 << 20;

/// The starts of categories of the kernel whose names have a slash.
const OF_KERNEL: [&str; 3] = ["kernel:event:", "kernel:uprobe:", "kernel:uretprobe:"];

/// Returns whether a pattern is of the kernel, so that its slash does not end a provider's name.
fn is_of_kernel(pattern: &str) -> bool {
    OF_KERNEL.iter().any(|prefix| pattern.starts_with(prefix))
}

/// The longest time-out: programs of the session may be programs of other sessions, too.
const MAX_TIMEOUT: Duration = Duration::from_secs(60);

impl SessionConfig {
    /// Checks that a session can have it, and that the memory suffices for one buffer.
    pub(crate) fn check(&self) -> Result<(), ManagerError> {
        self.check_options()?;
        for buffer_size in self.buffer_sizes() {
            ProviderConfig { buffer_size, ..self.provider_config() }.layout(0)?;
        }
        Ok(())
    }

    fn buffer_sizes(&self) -> impl Iterator<Item = u64> + '_ {
        self.providers.iter().filter_map(|spec| spec.buffer_size).chain([self.buffer_size])
    }

    /// Checks that a session can have it, on any machine. The start of a session checks this, too,
    /// when its output is open.
    ///
    /// # Errors
    ///
    /// [`ManagerError::ZeroBufferSize`], [`RotationMode`](ManagerError::RotationMode) and
    /// [`RotationSize`](ManagerError::RotationSize).
    pub fn check_options(&self) -> Result<(), ManagerError> {
        if self.buffer_sizes().any(|size| size == 0) {
            return Err(ManagerError::ZeroBufferSize);
        }
        if self.rotation.is_some() && self.mode == BufferingMode::Oneshot {
            return Err(ManagerError::RotationMode);
        }
        let least = Rotation::MIN_SIZE;
        if let Some(size) = self.rotation.and_then(|it| it.size).filter(|size| *size < least) {
            return Err(ManagerError::RotationSize { size, least });
        }
        Ok(())
    }

    /// Returns the mode of the buffers of providers that no other session records.
    pub(crate) fn provider_mode(&self) -> BufferingMode {
        match self.shared || self.rules.iter().any(|it| it.condition.needs_streaming()) {
            true => BufferingMode::Streaming,
            false => self.mode,
        }
    }

    /// Returns the limits of snapshots.
    pub(crate) fn keep_limits(&self) -> KeepLimits {
        let mut own = BTreeMap::new();
        for (cause, keep) in self.rules.iter().filter_map(|rule| Some((rule.cause(), rule.keep?))) {
            // Of several triggers of a cause, the largest number counts.
            let largest = own.entry(cause).or_insert(keep);
            *largest = keep.max(*largest);
        }
        KeepLimits { limits: self.snapshots, own }
    }

    /// Selects categories by patterns, of which each may be of the form `PROVIDER/PATTERN`.
    ///
    /// A pattern without a slash is for all providers, and one with a slash for the providers of
    /// this name. If all have a slash, other providers record nothing.
    pub fn select(&mut self, patterns: &[String]) {
        self.categories.clear();
        for pattern in patterns {
            let (sign, text) = match pattern.strip_prefix('-') {
                Some(text) => ("-", text),
                None => ("", pattern.as_str()),
            };
            match text.split_once('/').filter(|_| !is_of_kernel(text)) {
                None => self.categories.push(pattern.clone()),
                Some((name, pattern)) => {
                    self.spec(name).categories.push(format!("{sign}{pattern}"))
                }
            }
        }
        if self.categories.is_empty() && !patterns.is_empty() {
            self.categories.push(categories::NONE.to_owned());
        }
    }

    /// Replaces the categories by patterns as [`select`](Self::select) does, and removes those of
    /// single providers.
    pub(crate) fn select_again(&mut self, patterns: &[String]) {
        self.providers.iter_mut().for_each(|spec| spec.categories.clear());
        self.select(patterns);
    }

    /// Returns the differences for the providers of this name.
    pub fn spec(&mut self, name: &str) -> &mut ProviderSpec {
        let found = self.providers.iter().position(|spec| spec.name == name);
        let index = found.unwrap_or_else(|| {
            let name = name.to_owned();
            self.providers.push(ProviderSpec { name, ..ProviderSpec::default() });
            self.providers.len() - 1
        });
        &mut self.providers[index]
    }

    /// Returns `categories` with those of the providers of this name.
    pub(crate) fn categories_for(&self, name: &str, categories: &[String]) -> Vec<String> {
        let categories = categories.to_vec();
        ProviderConfig { categories, ..self.provider_config() }.for_provider(name).categories
    }

    /// Returns patterns that select the categories of all providers.
    pub(crate) fn all_categories(&self) -> Vec<String> {
        let own = self.providers.iter().map(|spec| spec.categories.as_slice());
        let own = own.filter(|categories| !categories.is_empty());
        let lists: Vec<&[String]> = own.chain([self.categories.as_slice()]).collect();
        categories::union(&lists)
    }

    /// Returns the layout of the buffer for a provider that hints at `durable_hint` durable bytes.
    pub(crate) fn layout(&self, durable_hint: u64) -> Result<Layout, ManagerError> {
        self.provider_config().layout(durable_hint)
    }

    /// Returns whether the session records a provider of the user `uid`, with this number and name.
    pub(crate) fn may_record(&self, uid: u32, id: Option<u32>, name: &str) -> bool {
        self.user.is_none_or(|user| user == uid) && self.only.includes(id, name)
    }

    /// Returns whether a program of this user may cause actions of triggers.
    pub(crate) fn may_trigger(&self, uid: u32) -> bool {
        uid == 0 || self.trigger_users.as_ref().is_none_or(|users| users.contains(&uid))
    }

    /// Returns whether a trigger depends on the deaths of programs.
    pub(crate) fn awaits_deaths(&self) -> bool {
        self.program_deaths && self.rules.iter().any(|rule| rule.condition == Condition::Death)
    }

    /// Returns whether alerts may cause snapshots.
    pub(crate) fn takes_snapshots(&self) -> bool {
        self.triggers.iter().any(|trigger| trigger.action == TriggerAction::Snapshot)
            || self.rules.iter().any(|rule| rule.actions.snapshot)
    }

    /// Returns the size in bytes of the copy of a full buffer for a snapshot of a trigger, without
    /// its durable records; 0 if there are none, or if buffers are read while they are recorded.
    pub(crate) fn copied_size(&self) -> usize {
        let copies = self.takes_snapshots() && self.provider_mode() != BufferingMode::Streaming;
        let layout = copies.then(|| self.layout(0).ok()).flatten();
        layout.map_or(0, |it| it.rolling_buffers() * it.rolling_size())
    }

    pub(crate) fn provider_config(&self) -> ProviderConfig {
        ProviderConfig {
            mode: self.provider_mode(),
            categories: self.categories.clone(),
            buffer_size: self.buffer_size,
            timeouts: self.timeouts.at_most(MAX_TIMEOUT),
            user: self.user,
            only: self.only.clone(),
            companion: self.companion,
            providers: self.providers.clone(),
            watches: Vec::new(),
            function_records: self.function_records,
        }
    }
}

impl ProviderConfig {
    /// Returns the layout of the buffer for a provider that hints at `durable_hint` durable bytes.
    pub(crate) fn layout(&self, durable_hint: u64) -> Result<Layout, ManagerError> {
        let available = available_memory();
        let too_large = |size| ManagerError::BufferTooLarge { size, available };
        let size = usize::try_from(self.buffer_size).map_err(|_| too_large(self.buffer_size))?;
        let hint = durable_hint.min(MAX_DURABLE_HINT) as usize;
        let layout = Layout::plan(self.mode, size, hint).ok_or(too_large(self.buffer_size))?;
        let layout = layout.with_function_records(self.function_records);
        let total = layout.total_size() as u64;
        if total > available {
            return Err(too_large(total));
        }
        Ok(layout)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trigger::Cause;

    fn sized(buffer_size: u64) -> SessionConfig {
        SessionConfig { buffer_size, ..SessionConfig::default() }
    }

    #[test]
    fn small_and_odd_sizes_are_rounded_up() {
        for size in [1, 7, 4095, 4097, 123_457] {
            assert!(sized(size).check().is_ok(), "{size}");
            assert!(sized(size).layout(u64::from(u32::MAX)).is_ok());
        }
    }

    #[test]
    fn rotation_requires_records_before_the_end() {
        let check = |mode| {
            let rotation = Some(Rotation::default());
            SessionConfig { mode, rotation, ..SessionConfig::default() }.check()
        };
        assert!(check(BufferingMode::Streaming).is_ok());
        assert!(check(BufferingMode::Circular).is_ok(), "those of programs that have ended");
        assert!(matches!(check(BufferingMode::Oneshot), Err(ManagerError::RotationMode)));
    }

    #[test]
    fn parts_have_a_smallest_size() {
        let check = |size| {
            let rotation = Some(Rotation { size: Some(size), ..Rotation::default() });
            let mode = BufferingMode::Streaming;
            SessionConfig { mode, rotation, ..SessionConfig::default() }.check()
        };
        assert!(check(Rotation::MIN_SIZE).is_ok());
        let error = check(Rotation::MIN_SIZE - 1).unwrap_err().to_string();
        assert!(error.starts_with("parts of 65535 bytes are too small"), "{error}");
        assert!(error.ends_with("hint: use at least 64K"), "{error}");
    }

    #[test]
    fn the_largest_number_of_a_condition_counts() {
        let rules =
            ["drop:keep=5", "drop:snapshot:keep=9:status=3", "drop:keep=7", "death:keep=2", "drop"];
        let rules = rules.iter().map(|rule| rule.parse().unwrap()).collect();
        let own = SessionConfig { rules, ..SessionConfig::default() }.keep_limits().own;
        let of = |text: &str| own.get(&Cause::Condition(text.to_owned())).copied();
        assert_eq!((of("drop"), of("death"), own.len()), (Some(9), Some(2), 2));
    }

    #[test]
    fn providers_stream_for_conditions_over_records_and_shared_sessions() {
        let mode = |mode, rule: &str, shared| {
            let rules = vec![rule.parse().unwrap()];
            SessionConfig { mode, rules, shared, ..SessionConfig::default() }.provider_mode()
        };
        for of_session in [BufferingMode::Oneshot, BufferingMode::Circular] {
            for rule in ["log:error", "counter:a/b.c>1:stop"] {
                assert_eq!(mode(of_session, rule, false), BufferingMode::Streaming, "{rule}");
            }
            for rule in ["duration:a/b>1s", "slow:stop", "drop", "death", "every:1s", "at:0:00"] {
                assert_eq!(mode(of_session, rule, false), of_session, "{rule}");
                assert_eq!(mode(of_session, rule, true), BufferingMode::Streaming, "{rule}");
            }
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert!(matches!(sized(0).check(), Err(ManagerError::ZeroBufferSize)));
        // The available memory changes meanwhile.
        for size in [4 * available_memory(), 1 << 50, u64::MAX] {
            let error = sized(size).check().unwrap_err();
            assert!(matches!(error, ManagerError::BufferTooLarge { .. }), "{error}");
        }
    }

    #[test]
    fn the_durable_hint_is_limited() {
        let size = |hint| sized(1 << 20).layout(hint).unwrap().durable_size();
        assert!(size(4 << 20) >= 4 << 20 && size(4 << 20) < 5 << 20);
        assert!(size(MAX_DURABLE_HINT) > size(MAX_DURABLE_HINT / 2));
        assert_eq!(size(MAX_DURABLE_HINT), size(u64::MAX));
    }

    #[test]
    fn only_snapshot_triggers_take_snapshots() {
        let with = |actions: &[TriggerAction]| {
            let trigger = |action: &TriggerAction| Trigger { alert: "a".into(), action: *action };
            let triggers = actions.iter().map(trigger).collect();
            SessionConfig { triggers, ..SessionConfig::default() }.takes_snapshots()
        };
        assert!(!with(&[]) && !with(&[TriggerAction::Stop]));
        assert!(with(&[TriggerAction::Stop, TriggerAction::Snapshot]));
    }

    /// As the first copy of a full buffer.
    #[test]
    fn the_copied_size_is_that_of_the_rolling_buffers() {
        let size = |mode, buffer_size, action| {
            let triggers = vec![Trigger { alert: "a".into(), action }];
            SessionConfig { mode, buffer_size, triggers, ..SessionConfig::default() }.copied_size()
        };
        use {BufferingMode::*, TriggerAction::*};
        assert_eq!(size(Circular, 16 << 20, Snapshot), (8 * 1900) << 10);
        assert!(size(Oneshot, 4 << 20, Snapshot) < 4 << 20);
        assert_eq!(size(Streaming, 16 << 20, Snapshot), 0);
        assert_eq!(size(Circular, 16 << 20, Stop), 0);
    }

    #[test]
    fn patterns_with_a_slash_are_for_one_provider() {
        let list = |texts: &[&str]| texts.iter().map(|it| it.to_string()).collect::<Vec<_>>();
        let mut config = SessionConfig::default();
        config.select(&list(&["log", "web/http*", "web/-http.cache", "-db/sql", "-x"]));
        assert_eq!(config.categories, ["log", "-x"]);
        assert_eq!(config.spec("web").categories, ["http*", "-http.cache"]);
        assert_eq!(config.spec("db").categories, ["-sql"]);
        let categories = config.categories_for("web", &config.categories);
        assert_eq!(categories, ["log", "-x", "http*", "-http.cache"]);
        let changed = config.categories_for("web", &list(&["net"]));
        assert_eq!(changed, ["net", "http*", "-http.cache"], "not the session's first categories");
        let kernel = ["kernel:event:sched/*", "-kernel:event:irq/x", "kernel:uprobe:/bin/x:main"];
        config.select(&list(&[&kernel[..], &["a/b"]].concat()));
        assert_eq!(config.categories, kernel);
        config.select(&list(&["web/http"]));
        assert_eq!(config.categories, ["-*"]);
        let mut config = SessionConfig::default();
        config.select(&[]);
        assert!(config.categories.is_empty(), "all categories of all providers");
    }

    #[test]
    fn the_buffers_of_single_providers_are_checked() {
        let mut config = sized(4096);
        config.spec("web").buffer_size = Some(0);
        assert!(matches!(config.check(), Err(ManagerError::ZeroBufferSize)));
        config.spec("web").buffer_size = Some(u64::MAX);
        assert!(matches!(config.check(), Err(ManagerError::BufferTooLarge { .. })));
    }

    #[test]
    fn timeouts_are_limited() {
        let second = Duration::from_secs(1);
        let timeouts = Timeouts { start: Duration::MAX, stop: second, terminate: Duration::MAX };
        let sent = SessionConfig { timeouts, ..SessionConfig::default() }.provider_config();
        let (start, terminate) = (MAX_TIMEOUT, MAX_TIMEOUT);
        assert_eq!(sent.timeouts, Timeouts { start, stop: second, terminate });
    }

    #[test]
    fn providers_get_the_mode_categories_and_timeouts() {
        let timeouts = Timeouts { start: Duration::ZERO, ..Timeouts::default() };
        let (mode, categories) = (BufferingMode::Circular, vec!["io".to_owned()]);
        let (user, only) = (Some(7), ProviderFilter { ids: vec![3], names: Vec::new() });
        let companion = Some(4242);
        let config = SessionConfig {
            mode,
            categories,
            timeouts,
            user,
            only: only.clone(),
            companion,
            function_records: true,
            ..SessionConfig::default()
        };
        let sent = config.provider_config();
        let (categories, buffer_size) = (config.categories, config.buffer_size);
        let (providers, watches) = (config.providers, Vec::new());
        assert_eq!(
            sent,
            ProviderConfig {
                mode,
                categories,
                buffer_size,
                timeouts,
                user,
                only,
                companion,
                providers,
                watches,
                function_records: true,
            }
        );
        assert!(sent.layout(0).unwrap().has_function_records());
    }
}
