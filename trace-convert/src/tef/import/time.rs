//! Times of events.
//!
//! FXT has no negative times. If a document has any, all times are shifted so that the earliest one
//! is 0.

use super::draft::Draft;
use crate::tef::event::Event;
use crate::tef::field::Field;
use crate::tef::value::Value;

/// The clock of a document.
#[derive(Debug, Default)]
pub(super) struct Time {
    /// The nanoseconds that are added to all times.
    pub(super) shift: u64,
    /// The time of the last event that has one.
    pub(super) now: u64,
    /// Events that are negative in spite of the shift. Their time is 0.
    pub(super) before_start: u64,
}

impl Time {
    /// Returns the time of an event. If it is missing or FXT cannot express it, it is the time of
    /// the event before.
    #[inline]
    pub(super) fn of(&mut self, draft: &mut Draft<'_>) -> u64 {
        match (draft.event.get(Field::Timestamp), self.shift) {
            (Some(Value::Number(number)), 0) if !number.written().starts_with('-') => {
                draft.nanos(Field::Timestamp).unwrap_or(self.now)
            }
            (Some(value), _) => self.shifted(draft, value),
            (None, _) => {
                draft.lack(Field::Timestamp);
                self.now
            }
        }
    }

    #[cold]
    fn shifted<'a>(&mut self, draft: &mut Draft<'a>, value: Value<'a>) -> u64 {
        let Some((nanos, is_exact)) = Event::signed_nanos(value) else {
            draft.carry(Field::Timestamp);
            return self.now;
        };
        let ticks = nanos.saturating_add(i128::from(self.shift));
        let in_range = u64::try_from(ticks);
        if !is_exact || in_range.is_err() || matches!(value, Value::String(_)) {
            draft.carry(Field::Timestamp);
        }
        self.before_start += u64::from(ticks < 0);
        in_range.unwrap_or(if ticks < 0 { 0 } else { self.now })
    }
}
