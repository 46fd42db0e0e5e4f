//! From payloads to events.

mod kinds;
mod values;

use crate::byte_order::ByteOrder;
use crate::event::{Context, Entry, Event};
use crate::format::{EventFormat, Field};
use crate::page::RawEvent;
use kinds::Kind;

#[cfg(target_os = "linux")]
pub(crate) use kinds::thread_states;

/// Decodes the events of one kernel.
#[derive(Debug, Default)]
pub struct Decoder {
    order: ByteOrder,
    /// By their ids.
    events: Vec<Option<Box<Known>>>,
    /// The fields `common_pid` and `common_flags`, which all formats have at the same place.
    thread: Option<Field>,
    flags: Option<Field>,
}

/// A format with what decodes its events.
#[derive(Debug)]
struct Known {
    format: EventFormat,
    /// `None` if its events are [`Event::Other`].
    kind: Option<Kind>,
}

impl Decoder {
    /// Creates a decoder for events of these formats.
    pub fn new(order: ByteOrder, formats: impl IntoIterator<Item = EventFormat>) -> Self {
        let mut decoder = Self { order, ..Self::default() };
        for format in formats {
            if decoder.thread.is_none() {
                decoder.thread = format.field("common_pid").cloned();
                decoder.flags = format.field("common_flags").cloned();
            }
            let kind = Kind::of(&format);
            let place = usize::from(format.id);
            if decoder.events.len() <= place {
                decoder.events.resize_with(place + 1, || None);
            }
            if let Some(known) = decoder.events.get_mut(place) {
                *known = Some(Box::new(Known { format, kind }));
            }
        }
        decoder
    }

    /// Returns the byte order of payloads.
    #[must_use]
    pub fn order(&self) -> ByteOrder {
        self.order
    }

    /// Decodes an event of a CPU. One that is malformed is [`Event::Other`].
    #[must_use]
    pub fn decode<'a>(&'a self, cpu: u16, raw: &RawEvent<'a>) -> Entry<'a> {
        let event = match self.known(raw.id) {
            Some(known) => self.event(known, raw.payload),
            None => Event::Unknown { id: raw.id },
        };
        self.entry(cpu, raw, event)
    }

    /// Returns an event of a CPU as [`Event::Other`], with its fields, whatever it is.
    #[must_use]
    pub fn fields<'a>(&'a self, cpu: u16, raw: &RawEvent<'a>) -> Entry<'a> {
        let event = match self.known(raw.id) {
            Some(Known { format, .. }) => {
                Event::Other { format, payload: raw.payload, order: self.order }
            }
            None => Event::Unknown { id: raw.id },
        };
        self.entry(cpu, raw, event)
    }

    /// Returns the format of an id.
    #[must_use]
    pub fn format(&self, id: u16) -> Option<&EventFormat> {
        self.known(id).map(|known| &known.format)
    }

    fn known(&self, id: u16) -> Option<&Known> {
        self.events.get(usize::from(id))?.as_deref()
    }

    fn entry<'a>(&self, cpu: u16, raw: &RawEvent<'_>, event: Event<'a>) -> Entry<'a> {
        let value = |field: &Option<Field>| {
            let number = field.as_ref()?.integer(raw.payload, self.order)?;
            u64::try_from(number).ok()
        };
        let context = value(&self.flags).map_or(Context::Thread, Context::of_flags);
        let thread = value(&self.thread).unwrap_or(0);
        Entry { ticks: raw.time, cpu, thread, context, event }
    }

    fn event<'a>(&self, known: &'a Known, payload: &'a [u8]) -> Event<'a> {
        let other = Event::Other { format: &known.format, payload, order: self.order };
        let kind = known.kind.as_ref();
        kind.and_then(|kind| kind.event(&known.format, payload, self.order)).unwrap_or(other)
    }
}
