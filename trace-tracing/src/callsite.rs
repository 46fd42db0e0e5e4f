//! The callsites of `tracing`, and what each of them records with: made once.

use once_cell::race::OnceBox;
use trace_runtime::context::{EventType, TracePoint};
use tracing_core::field::Field;
use tracing_core::Metadata;

/// The most arguments of a record.
pub(crate) const MAX_ARGUMENTS: usize = 15;

/// The field of an event that has its text.
const MESSAGE: &str = "message";

/// A callsite and its trace points. Lives for ever, as callsites do.
#[derive(Debug)]
pub(crate) struct Callsite {
    pub(crate) metadata: &'static Metadata<'static>,
    /// The number under which the table of callsites has it.
    pub(crate) index: u32,
    /// The duration of a span; the instant of an event.
    pub(crate) point: TracePoint,
    /// Whether the name of the event is one that somebody chose.
    pub(crate) is_named: bool,
    /// Where its events have their target, if they are records of `log`: the place among the keys.
    pub(crate) target: Option<usize>,
    /// The fields that are recorded, in the order of the keys.
    keys: Vec<&'static str>,
    /// The place among the keys of each field.
    places: Vec<Option<u8>>,
    track: OnceBox<TrackPoints>,
}

/// The trace points of a span's life, for callsites whose spans turn out to be asynchronous, or are
/// recorded to later.
#[derive(Debug)]
pub(crate) struct TrackPoints {
    /// Has the key `parent` behind those of the fields, of which there are [`MAX_ARGUMENTS`]` - 1`
    /// at most.
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
        // The text of an event comes first, so that it is not the one that is left out.
        let others = (0..names.len()).filter(|field| Some(*field) != message);
        let order: Vec<usize> = message.into_iter().chain(others).take(MAX_ARGUMENTS).collect();
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

    /// How many fields are recorded.
    pub(crate) fn keys(&self) -> &[&'static str] {
        &self.keys
    }

    /// The place of a field among the keys, if it is recorded.
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

/// Whether the macros of `tracing` made the name of an event: `event src/main.rs:7`.
fn has_default_name(metadata: &Metadata<'_>) -> bool {
    metadata.is_event() && metadata.name().starts_with("event ") && metadata.name().contains(':')
}

/// The place of the target of a record of `log`, if it is one of `tracing-log`'s callsites, of
/// which there is one for each level.
fn place_of_target(metadata: &Metadata<'_>, keys: &[&str]) -> Option<usize> {
    let is_of_log = metadata.target() == "log" && keys.first() == Some(&MESSAGE);
    keys.iter().position(|key| is_of_log && metadata.is_event() && *key == "log.target")
}
