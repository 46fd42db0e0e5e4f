//! The callsites of `tracing`, and the trace points of each.

use std::sync::atomic::{AtomicBool, Ordering};

use once_cell::race::OnceBox;
use trace_runtime::context::{EventType, TracePoint, Value};
use tracing_core::field::Field;
use tracing_core::Metadata;

/// The most arguments of a record.
pub(crate) const MAX_ARGUMENTS: usize = 15;

/// The most fields of an event.
const MAX_FIELDS: usize = MAX_ARGUMENTS - SITE_ARGUMENTS;

/// The field of an event that has its text.
const MESSAGE: &str = "message";

/// The arguments of an event that describe its call site: `level`, `file` and `line`.
pub(crate) const SITE_ARGUMENTS: usize = 3;

/// A callsite and its trace points. It is never freed, like callsites of `tracing`.
#[derive(Debug)]
pub(crate) struct Callsite {
    pub(crate) metadata: &'static Metadata<'static>,
    /// The callsite's index in the table of callsites.
    pub(crate) index: u32,
    /// The trace point of a span's duration, or of an event's instant.
    pub(crate) point: TracePoint,
    /// The index of the key with the target, if the events are records of `log`.
    pub(crate) target: Option<usize>,
    /// The fields that are recorded, in the order of the keys.
    keys: Vec<&'static str>,
    /// The index of each field's key.
    places: Vec<Option<u8>>,
    /// The values of [`SITE_ARGUMENTS`], after those of the fields.
    site: [Value<'static>; SITE_ARGUMENTS],
    track: OnceBox<TrackPoints>,
    /// Whether a span of this callsite was asynchronous.
    is_async: AtomicBool,
}

/// The trace points of tracks and later values: for spans that are asynchronous, or that get values
/// after their creation.
#[derive(Debug)]
pub(crate) struct TrackPoints {
    /// The begin of a track. Its keys are those of at most [`MAX_ARGUMENTS`]` - 1` fields, then
    /// `parent`.
    pub(crate) begin: TracePoint,
    /// The end of a track, with the number of polls.
    pub(crate) end: TracePoint,
    /// The duration of the first poll: at most [`MAX_ARGUMENTS`]` - 2` fields, then [`POLL_KEYS`].
    pub(crate) first_poll: TracePoint,
    /// The duration of a later poll.
    pub(crate) poll: TracePoint,
    /// An instant at the start of a duration, which is a poll or the drop of the future.
    pub(crate) bound: TracePoint,
    /// Values that are recorded while the track is open.
    pub(crate) recorded: TracePoint,
    /// Another span that this one follows from.
    pub(crate) follows: TracePoint,
    /// Values that are recorded while there is no track.
    pub(crate) moment: TracePoint,
}

/// The arguments of a poll, as traced futures have them: the track and the number of the poll.
pub(crate) const POLL_KEYS: [&str; 2] = ["task", "poll-count"];

/// The arguments of [`TrackPoints::bound`], and the text of [`DROPPED`].
const BOUND_KEYS: [&str; 3] = ["poll-count", "poll-state", "dropped"];

/// The `poll-state` of the duration in which a future is dropped.
pub(crate) const DROPPED: Value<'_> = Value::Key(2);

impl Callsite {
    pub(crate) fn new(metadata: &'static Metadata<'static>, index: u32) -> Self {
        let names: Vec<&'static str> = metadata.fields().iter().map(|field| field.name()).collect();
        let message = names.iter().position(|name| metadata.is_event() && *name == MESSAGE);
        // The text of an event comes first, so that it is not beyond the limit.
        let rest = (0..names.len()).filter(|field| Some(*field) != message);
        let most = if metadata.is_event() { MAX_FIELDS } else { MAX_ARGUMENTS };
        let order: Vec<usize> = message.into_iter().chain(rest).take(most).collect();
        let keys: Vec<&'static str> =
            order.iter().filter_map(|field| names.get(*field).copied()).collect();
        let place = |field| {
            order
                .iter()
                .position(|other| *other == field)
                .and_then(|place| u8::try_from(place).ok())
        };
        let (point, site) = match metadata.is_event() {
            true => instant(metadata, &keys),
            false => {
                let (target, name) = (metadata.target(), metadata.name());
                let point = TracePoint::new(EventType::DurationBegin, target, name, &keys);
                (point, [Value::Omitted; SITE_ARGUMENTS])
            }
        };
        Self {
            metadata,
            index,
            point,
            target: place_of_target(metadata, &keys),
            places: (0..names.len()).map(place).collect(),
            keys,
            site,
            track: OnceBox::new(),
            is_async: AtomicBool::new(false),
        }
    }

    /// The recorded fields, in order.
    pub(crate) fn keys(&self) -> &[&'static str] {
        &self.keys
    }

    /// The index of a field's key, if the field is recorded.
    pub(crate) fn place(&self, field: &Field) -> Option<usize> {
        self.places.get(field.index()).copied().flatten().map(usize::from)
    }

    /// Whether the first key is the text of the event.
    pub(crate) fn has_message(&self) -> bool {
        self.metadata.is_event() && self.keys.first() == Some(&MESSAGE)
    }

    /// Adds the level, file and line of an event to its fields.
    pub(crate) fn add_site(&self, arguments: &mut [Value<'_>; MAX_ARGUMENTS]) {
        let places = arguments.iter_mut().skip(self.keys.len());
        places.zip(self.site).for_each(|(argument, value)| *argument = value);
    }

    /// Whether a span of this callsite was asynchronous: then its other spans are, too.
    #[inline]
    pub(crate) fn is_async(&self) -> bool {
        self.is_async.load(Ordering::Relaxed)
    }

    pub(crate) fn set_async(&self) {
        // Other threads read the callsite, so its cache line is written only once.
        if !self.is_async() {
            self.is_async.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn track(&self) -> &TrackPoints {
        self.track.get_or_init(|| {
            let (target, name) = (self.metadata.target(), self.metadata.name());
            let make =
                |event_type, keys: &[&'static str]| TracePoint::new(event_type, target, name, keys);
            let fields = |most, more: &[&'static str]| -> Vec<&'static str> {
                self.keys.iter().take(most).chain(more).copied().collect()
            };
            let first = fields(MAX_ARGUMENTS - POLL_KEYS.len(), &POLL_KEYS);
            Box::new(TrackPoints {
                begin: TracePoint::operation(target, name, &fields(MAX_ARGUMENTS - 1, &["parent"])),
                end: make(EventType::AsyncEnd, &["poll-count"]),
                first_poll: TracePoint::poll(target, name, &first),
                poll: TracePoint::poll(target, name, &POLL_KEYS),
                bound: make(EventType::AsyncInstant, &BOUND_KEYS),
                recorded: make(EventType::AsyncInstant, &self.keys),
                follows: make(EventType::AsyncInstant, &["follows_from"]),
                moment: make(EventType::Instant, &self.keys),
            })
        })
    }
}

/// Returns the trace point of an event, and the arguments that all its records share.
fn instant(
    metadata: &'static Metadata<'static>,
    fields: &[&'static str],
) -> (TracePoint, [Value<'static>; SITE_ARGUMENTS]) {
    let place = match (metadata.file(), metadata.line()) {
        (Some(file), Some(line)) => Some((short_path(file), line)),
        _ => None,
    };
    let name = match (has_default_name(metadata), place) {
        (false, _) => metadata.name(),
        (true, Some((file, line))) => Box::leak(format!("{file}:{line}").into_boxed_str()),
        (true, None) => metadata.target(),
    };
    let file = metadata.file().unwrap_or_default();
    let texts = ["level", "file", "line", metadata.level().as_str(), file];
    let keys: Vec<&'static str> = fields.iter().copied().chain(texts).collect();
    let text = |place: usize| u8::try_from(fields.len() + place).map_or(Value::Omitted, Value::Key);
    let site = [
        text(3),
        metadata.file().map_or(Value::Omitted, |_| text(4)),
        metadata.line().map_or(Value::Omitted, Value::Uint32),
    ];
    (TracePoint::new(EventType::Instant, metadata.target(), name, &keys), site)
}

/// Returns a path from its package's directory on: `h2-0.4.5/src/client.rs`.
pub(crate) fn short_path(path: &str) -> &str {
    let Some(source) = path.rfind("/src/").or_else(|| path.rfind("/tests/")) else { return path };
    let package = path.get(..source).and_then(|parents| parents.rfind('/')).map_or(0, |at| at + 1);
    path.get(package..).unwrap_or(path)
}

/// Returns whether an event has the default name of `tracing`'s macros: `event src/main.rs:7`.
fn has_default_name(metadata: &Metadata<'_>) -> bool {
    metadata.is_event() && metadata.name().starts_with("event ") && metadata.name().contains(':')
}

/// The index of the key with the target, if this is a callsite of `tracing-log`, which has one for
/// each level.
fn place_of_target(metadata: &Metadata<'_>, keys: &[&str]) -> Option<usize> {
    let is_of_log = metadata.target() == "log" && keys.first() == Some(&MESSAGE);
    keys.iter().position(|key| is_of_log && metadata.is_event() && *key == "log.target")
}
