//! Records of a log for which the Fuchsia trace format has none: events of the category `xray`, and
//! arguments of ends. Both directions are here.

use std::borrow::Cow;
use std::time::Duration;

use trace_format::layout::InstantScope;
use trace_format::{Argument, Event, EventKind, Item, LargeBlob, Record, Text, Value};

use super::parts::Place;
use super::CATEGORY;
use crate::calls::End;

pub(super) const CPU: &str = "CPU";
pub(super) const WALL_CLOCK: &str = "wall clock";
pub(super) const CUSTOM_EVENT: &str = "custom event";
pub(super) const TYPED_EVENT: &str = "typed event";

/// Arguments of the events.
pub(super) const NUMBER: &str = "number";
pub(super) const NANOS: &str = "nanoseconds";
pub(super) const TYPE: &str = "type";
pub(super) const PAYLOAD: &str = "payload";
const PART: &str = "part";
const PARTS: &str = "parts";

/// Messages with a number, at the end of an archive.
pub(super) const UNWOUND_CALLS: &str = "calls that a caller's exit ends";
pub(super) const NO_ENTRY: &str = "exits without an entry";
pub(super) const BACKWARD: &str = "entries and exits before the one before them";

/// How a call ends in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Ending {
    #[default]
    Exit,
    TailExit,
    /// It has no exit, but its caller has.
    Unwound,
}

impl Ending {
    /// Returns the one of a call, `None` if it has not ended.
    pub(super) fn of(end: End) -> Option<Self> {
        match end {
            End::Exit => Some(Self::Exit),
            End::TailExit => Some(Self::TailExit),
            End::Missing => Some(Self::Unwound),
            End::Open => None,
        }
    }

    /// Returns the argument of an end, except of an exit.
    pub(super) fn argument(self) -> Option<Argument<'static>> {
        let name = match self {
            Self::Exit => return None,
            Self::TailExit => "tail_exit",
            Self::Unwound => "unwound",
        };
        Some(Argument::new(name, Value::Bool(true)))
    }

    /// Returns the one of an end with an argument of this kind.
    pub(super) fn of_event(item: &Item<'_>, event: &Event<'_>) -> Option<Self> {
        let mut arguments = event.arguments.iter();
        let argument = arguments.next().filter(|_| arguments.next().is_none())?;
        let name = item.text(argument.name);
        let known = [Self::TailExit, Self::Unwound].into_iter().find(|ending| {
            let own = ending.argument();
            own.is_some_and(|own| own.name == Text::from(&*name) && own.value == argument.value)
        });
        known.filter(|_| is_own(item, event.category))
    }
}

/// What a record of an archive is in a log.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mark<'a> {
    Cpu(u16),
    WallClock(Duration),
    Custom(Cow<'a, [u8]>),
    Typed(u16, Cow<'a, [u8]>),
    /// A part of a custom event, or of a typed event of this type.
    Part(Option<u16>, Place),
    /// It is computed from other records.
    Summary,
}

impl<'a> Mark<'a> {
    /// Returns the mark that a record is.
    pub(super) fn of(item: &Item<'a>) -> Option<Self> {
        match &item.record {
            Record::Event(event) => Self::of_event(item, event),
            Record::LargeBlob(blob) => Self::of_blob(item, blob),
            Record::Log(log) => is_summary(log.message).then_some(Self::Summary),
            _ => None,
        }
    }

    fn of_event(item: &Item<'a>, event: &Event<'a>) -> Option<Self> {
        let is_instant = event.kind == EventKind::Instant { scope: Some(InstantScope::Thread) };
        if !is_instant || !is_own(item, event.category) {
            return None;
        }
        let values: Vec<_> =
            event.arguments.iter().map(|it| (item.text(it.name), it.value)).collect();
        let values: Vec<_> = values.iter().map(|(name, value)| (&**name, *value)).collect();
        match (&*item.text(event.name), &values[..]) {
            (CPU, [(NUMBER, Value::Uint32(cpu))]) => u16::try_from(*cpu).ok().map(Self::Cpu),
            (WALL_CLOCK, [(NANOS, Value::Uint64(nanos))]) => {
                Some(Self::WallClock(Duration::from_nanos(*nanos)))
            }
            (CUSTOM_EVENT, [(PAYLOAD, value)]) => bytes(item, *value).map(Self::Custom),
            (TYPED_EVENT, [(TYPE, Value::Uint32(number)), (PAYLOAD, value)]) => {
                Some(Self::Typed(u16::try_from(*number).ok()?, bytes(item, *value)?))
            }
            _ => None,
        }
    }

    fn of_blob(item: &Item<'a>, blob: &LargeBlob<'a>) -> Option<Self> {
        let event = blob.event.filter(|_| is_own(item, blob.category))?;
        let values: Vec<_> =
            event.arguments.iter().map(|it| (item.text(it.name), it.value)).collect();
        let values: Vec<_> = values.iter().map(|(name, value)| (&**name, *value)).collect();
        let (event_type, others) = match (&*item.text(blob.name), &values[..]) {
            (CUSTOM_EVENT, others) => (None, others),
            (TYPED_EVENT, [(TYPE, Value::Uint32(number)), others @ ..]) => {
                (Some(u16::try_from(*number).ok()?), others)
            }
            _ => return None,
        };
        match (event_type, others) {
            (None, []) => Some(Self::Custom(blob.payload.into())),
            (Some(event_type), []) => Some(Self::Typed(event_type, blob.payload.into())),
            (_, [(PART, Value::Uint32(number)), (PARTS, Value::Uint32(count))]) => {
                Some(Self::Part(event_type, Place::new(*number, *count)?))
            }
            _ => None,
        }
    }
}

fn is_own(item: &Item<'_>, category: Text<'_>) -> bool {
    item.text(category) == CATEGORY
}

/// Returns the bytes of a payload, which is not empty.
fn bytes<'a>(item: &Item<'a>, value: Value<'a>) -> Option<Cow<'a, [u8]>> {
    let bytes = match value {
        Value::Blob(bytes) => bytes.into(),
        Value::String(text) => item.text(text).into_owned().into_bytes().into(),
        _ => return None,
    };
    Some(bytes).filter(|bytes: &Cow<'_, [u8]>| !bytes.is_empty())
}

/// Returns whether a message is one with a number of calls.
fn is_summary(message: &[u8]) -> bool {
    [UNWOUND_CALLS, NO_ENTRY, BACKWARD].iter().any(|text| {
        let number = message.strip_prefix(text.as_bytes()).and_then(|it| it.strip_prefix(b": "));
        number.is_some_and(|number| number.iter().all(u8::is_ascii_digit))
    })
}
