//! The callsites of `tracing`, and the trace points of each.

use once_cell::race::OnceBox;
use trace_runtime::context::{EventType, TracePoint};
use tracing_core::field::Field;
use tracing_core::Metadata;

/// The most arguments of a record.
pub(crate) const MAX_ARGUMENTS: usize = 15;

/// The field of an event that has its text.
const MESSAGE: &str = "message";

/// A callsite and its trace points. It is never freed, like callsites of `tracing`.
#[derive(Debug)]
pub(crate) struct Callsite {
    pub(crate) metadata: &'static Metadata<'static>,
    /// The callsite's index in the table of callsites.
    pub(crate) index: u32,
    /// The trace point of a span's duration, or of an event's instant.
    pub(crate) point: TracePoint,
    /// Whether the event has a name of its own, not the default of `tracing`.
    pub(crate) is_named: bool,
    /// The index of the key with the target, if the events are records of `log`.
    pub(crate) target: Option<usize>,
    /// The fields that are recorded, in the order of the keys.
    keys: Vec<&'static str>,
    /// The index of each field's key.
    places: Vec<Option<u8>>,
    track: OnceBox<TrackPoints>,
}

/// The trace points of tracks and later values: for spans that are asynchronous, or that get values
/// after their creation.
#[derive(Debug)]
pub(crate) struct TrackPoints {
    /// The begin of a track. Its keys are those of at most [`MAX_ARGUMENTS`]` - 1` fields, then
    /// `parent`.
    pub(crate) begin: TracePoint,
    pub(crate) end: TracePoint,
    /// Values that are recorded while the track is open.
    pub(crate) recorded: TracePoint,
    /// Another span that this one follows from.
    pub(crate) follows: TracePoint,
    /// Values that are recorded while there is no track.
    pub(crate) moment: TracePoint,
}

impl Callsite {
    pub(crate) fn new(metadata: &'static Metadata<'static>, index: u32) -> Self {
        let names: Vec<&'static str> = metadata.fields().iter().map(|field| field.name()).collect();
        let message = names.iter().position(|name| metadata.is_event() && *name == MESSAGE);
        // The text of an event comes first, so that it is not beyond the limit.
        let rest = (0..names.len()).filter(|field| Some(*field) != message);
        let order: Vec<usize> = message.into_iter().chain(rest).take(MAX_ARGUMENTS).collect();
        let keys: Vec<&'static str> =
            order.iter().filter_map(|field| names.get(*field).copied()).collect();
        let place = |field| {
            order
                .iter()
                .position(|other| *other == field)
                .and_then(|place| u8::try_from(place).ok())
        };
        let is_named = !has_default_name(metadata);
        let (event_type, name) = match (metadata.is_event(), is_named) {
            (true, true) => (EventType::Instant, metadata.name()),
            // The event's text is its name.
            (true, false) => (EventType::Instant, ""),
            (false, _) => (EventType::DurationBegin, metadata.name()),
        };
        Self {
            metadata,
            index,
            point: TracePoint::new(event_type, metadata.target(), name, &keys),
            is_named,
            target: place_of_target(metadata, &keys),
            places: (0..names.len()).map(place).collect(),
            keys,
            track: OnceBox::new(),
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

    pub(crate) fn track(&self) -> &TrackPoints {
        self.track.get_or_init(|| {
            let (target, name) = (self.metadata.target(), self.metadata.name());
            let make =
                |event_type, keys: &[&'static str]| TracePoint::new(event_type, target, name, keys);
            let fields = self.keys.iter().copied().take(MAX_ARGUMENTS - 1);
            Box::new(TrackPoints {
                begin: make(EventType::AsyncBegin, &fields.chain(["parent"]).collect::<Vec<_>>()),
                end: make(EventType::AsyncEnd, &[]),
                recorded: make(EventType::AsyncInstant, &self.keys),
                follows: make(EventType::AsyncInstant, &["follows_from"]),
                moment: make(EventType::Instant, &self.keys),
            })
        })
    }
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
